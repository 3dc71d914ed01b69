//! Every configuration key of a broker and of a topic, in one table, and all that follows from it.
//!
//! The table says of each key its name, type, default, valid values, how it may change at run time,
//! and a sentence for people. From it come reading and checking `server.properties`
//! ([`BrokerConfig`]), the settings of a topic ([`TopicConfig`]), what DescribeConfigs answers
//! ([`describe`]) and what AlterConfigs may do ([`alter`]).
//!
//! Where a value comes from, the first that is there counts:
//!
//! ```text
//! topic's own -> broker's dynamic -> cluster's dynamic -> server.properties -> default
//! ```
//!
//! Invariant: names, types and defaults are Kafka 4.4's; a test compares them with lists that
//! Kafka's own classes printed.

pub mod alter;
mod broker;
mod broker_keys;
pub mod describe;
mod endpoint;
mod key;
pub mod properties;
mod topic;
mod topic_keys;

use crate::ordered::OrderedMap;

pub use broker::{BrokerConfig, ConfigError, Loaded, Setting};
pub use broker_keys::BROKER_KEYS;
pub use endpoint::Endpoint;
pub(crate) use key::keys;
pub use key::{BadValue, ConfigKey, ConfigType, Importance, UpdateMode, Valid, Value};
pub use topic::TopicConfig;
pub use topic_keys::TOPIC_KEYS;

/// Settings by key, as text.
pub type Settings = OrderedMap<String, String>;

/// The row of a broker's key.
pub fn broker_key(name: &str) -> Option<&'static ConfigKey> {
    find(BROKER_KEYS, name)
}

/// The row of a topic's key.
pub fn topic_key(name: &str) -> Option<&'static ConfigKey> {
    find(TOPIC_KEYS, name)
}

fn find(table: &'static [ConfigKey], name: &str) -> Option<&'static ConfigKey> {
    let at = table.binary_search_by(|key| key.name.cmp(name)).ok()?;
    table.get(at)
}

/// The keys that mean the same in other units, the strongest first; a key alone is its own group.
pub(crate) fn synonyms(name: &str) -> &'static [&'static str] {
    const GROUPS: &[&[&str]] = &[
        &["log.retention.ms", "log.retention.minutes", "log.retention.hours"],
        &["log.roll.ms", "log.roll.hours"],
        &["log.roll.jitter.ms", "log.roll.jitter.hours"],
    ];
    match broker_key(name) {
        // Asymmetric in Kafka too: the scheduler's interval stands in for the flush interval, not the reverse.
        Some(key) if key.name == "log.flush.interval.ms" => {
            &["log.flush.interval.ms", "log.flush.scheduler.interval.ms"]
        }
        Some(key) => GROUPS
            .iter()
            .find(|group| group.contains(&key.name))
            .copied()
            .unwrap_or(std::slice::from_ref(&key.name)),
        None => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(golden: &str) -> Vec<Vec<&str>> {
        golden
            .lines()
            .filter(|l| !l.starts_with('#'))
            .map(|l| l.split('\t').collect())
            .collect()
    }

    fn shown(valid: Valid) -> String {
        match valid {
            Valid::Any => String::new(),
            Valid::AtLeast(least) => format!("[{least},...]"),
            Valid::Between(least, most) => format!("[{least},...,{most}]"),
            Valid::OneOf(all) | Valid::EachOf(all) => format!("[{}]", all.join(", ")),
            Valid::OneOfAnyCase(all) => format!("(case insensitive) [{}]", all.join(", ")),
            Valid::GzipLevel => "[1,...,9] or -1".to_owned(),
            Valid::ThrottledReplicas => "[partitionId]:[brokerId],[partitionId]:[brokerId],...".to_owned(),
        }
    }

    #[test]
    fn topic_keys_are_kafkas() {
        let golden = rows(include_str!("kafka-4.4-topic-configs.tsv"));
        assert_eq!(golden.len(), TOPIC_KEYS.len());
        for (row, key) in golden.iter().zip(TOPIC_KEYS) {
            let fallback = key
                .fallback
                .iter()
                .map(|(name, _)| *name)
                .collect::<Vec<_>>()
                .join(",");
            let fallback = if fallback.is_empty() {
                "-".to_owned()
            } else {
                fallback
            };
            let ours = [
                key.name,
                key.kind.kafka_name(),
                key.default.unwrap_or("<null>"),
                &shown(key.valid),
                &fallback,
            ];
            assert_eq!(row[..], ours);
        }
    }

    #[test]
    fn broker_keys_are_kafkas_where_kafka_has_them() {
        let golden = rows(include_str!("kafka-4.4-broker-configs.tsv"));
        let golden: OrderedMap<&str, &Vec<&str>> = golden.iter().map(|row| (row[0], row)).collect();
        let mut compared = 0;
        // A node's own number has no default in Kafka 4.4, which knows only the KRaft way.
        for key in BROKER_KEYS
            .iter()
            .filter(|key| key.name != "node.id" && key.name != "process.roles")
        {
            let Some(row) = golden.get(key.name) else { continue };
            let update = match key.update {
                UpdateMode::ReadOnly => "read-only",
                UpdateMode::PerBroker => "per-broker",
                UpdateMode::ClusterWide => "cluster-wide",
                UpdateMode::PerTopic => "per-topic",
            };
            let default = key.default.unwrap_or(if row[2] == "<NO_DEFAULT>" {
                row[2]
            } else {
                "<null>"
            });
            assert_eq!(
                row[..],
                [
                    key.name,
                    key.kind.kafka_name(),
                    default,
                    &shown(key.valid),
                    update
                ]
            );
            compared += 1;
        }
        assert!(compared > 140, "{compared} keys compared");
    }

    #[test]
    fn the_tables_are_sorted_documented_and_agree_with_themselves() {
        for table in [TOPIC_KEYS, BROKER_KEYS] {
            assert!(
                table.windows(2).all(|pair| pair[0].name < pair[1].name),
                "sorted, for the binary search"
            );
            for key in table {
                assert!(key.doc.ends_with('.'), "{}", key.name);
                if let Some(default) = key.default {
                    assert_eq!(key.parse(default).unwrap().to_string(), default, "{}", key.name);
                }
            }
        }
        for (key, (name, _)) in TOPIC_KEYS
            .iter()
            .flat_map(|key| key.fallback.iter().map(move |f| (key, f)))
        {
            assert!(broker_key(name).is_some(), "{} falls back on {name}", key.name);
        }
    }
}
