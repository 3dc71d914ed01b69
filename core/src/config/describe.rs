//! What DescribeConfigs answers: each key's value in force, where it comes from, and what lies below
//! it (Kafka's `ConfigHelper`).

use super::key::{ConfigKey, ConfigType};
use super::topic::from_broker;
use super::{BROKER_KEYS, BrokerConfig, Settings, TOPIC_KEYS, UpdateMode, broker_key, synonyms};

/// Where a value stands. The number is the wire's (`DescribeConfigsResponse.ConfigSource`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum ConfigSource {
    DynamicTopic = 1,
    DynamicBroker = 2,
    DynamicDefaultBroker = 3,
    StaticBroker = 4,
    Default = 5,
}

/// A setting that has a say in a value, the strongest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synonym {
    pub name: String,
    /// `None`: not to be shown.
    pub value: Option<String>,
    pub source: ConfigSource,
}

/// One key as DescribeConfigs answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEntry {
    pub name: String,
    /// `None`: unset, or not to be shown.
    pub value: Option<String>,
    pub source: ConfigSource,
    pub read_only: bool,
    pub sensitive: bool,
    pub synonyms: Vec<Synonym>,
    /// `None`: a key that only `server.properties` knows.
    pub kind: Option<ConfigType>,
    pub documentation: Option<&'static str>,
}

/// Every setting of a topic: `own` is what the topic itself sets. `wanted` of `None` means all.
pub fn topic(broker: &BrokerConfig, own: &Settings, wanted: Option<&[&str]>) -> Vec<ConfigEntry> {
    let listed = TOPIC_KEYS
        .iter()
        .filter(|key| !key.is_internal() || own.contains_key(key.name));
    listed
        .filter(|key| wanted.is_none_or(|names| names.contains(&key.name)))
        .map(|key| topic_entry(broker, own, key))
        .collect()
}

fn topic_entry(broker: &BrokerConfig, own: &Settings, key: &'static ConfigKey) -> ConfigEntry {
    let set = own.get(key.name).and_then(|text| key.parse(text).ok());
    let value = set
        .clone()
        .or_else(|| from_broker(key, broker))
        .or_else(|| key.default_value());
    let value = value.map(|value| value.to_string());
    let mut below = Vec::new();
    if set.is_some() {
        below.push(Synonym {
            name: key.name.to_owned(),
            value: value.clone(),
            source: ConfigSource::DynamicTopic,
        });
    }
    if let Some((first, _)) = key.fallback.first() {
        below.extend(broker_synonyms(broker, first, false));
    }
    entry(key.name, value, Some(key), false, below)
}

/// Every setting of this broker.
pub fn broker(broker: &BrokerConfig, wanted: Option<&[&str]>) -> Vec<ConfigEntry> {
    let mut names: Vec<&str> = BROKER_KEYS.iter().map(|key| key.name).collect();
    let unknown = |name: &&String| broker_key(name).is_none();
    let given = broker
        .fixed()
        .keys()
        .chain(broker.cluster().keys())
        .chain(broker.own().keys());
    names.extend(given.filter(unknown).map(String::as_str));
    names.sort_unstable();
    names.dedup();
    names.retain(|name| wanted.is_none_or(|wanted| wanted.contains(name)));
    names.into_iter().map(|name| broker_entry(broker, name)).collect()
}

fn broker_entry(broker: &BrokerConfig, name: &str) -> ConfigEntry {
    let key = broker_key(name);
    // What nobody knows might be a secret.
    let sensitive = key.is_none_or(ConfigKey::is_sensitive);
    let value = broker
        .value(name)
        .filter(|_| !sensitive)
        .map(|text| shown(key, text));
    entry(
        name,
        value,
        key,
        sensitive,
        broker_synonyms(broker, name, sensitive),
    )
}

/// What is set for all brokers at once, and nothing else.
pub fn cluster(broker: &BrokerConfig, wanted: Option<&[&str]>) -> Vec<ConfigEntry> {
    let set = broker.cluster().iter();
    set.filter(|(name, _)| wanted.is_none_or(|wanted| wanted.contains(&name.as_str())))
        .map(|(name, text)| {
            let key = broker_key(name);
            let sensitive = key.is_none_or(ConfigKey::is_sensitive);
            let value = (!sensitive).then(|| text.clone());
            let source = ConfigSource::DynamicDefaultBroker;
            let below = vec![Synonym {
                name: name.clone(),
                value: value.clone(),
                source,
            }];
            entry(name, value, key, sensitive, below)
        })
        .collect()
}

fn entry(
    name: &str,
    value: Option<String>,
    key: Option<&'static ConfigKey>,
    sensitive: bool,
    synonyms: Vec<Synonym>,
) -> ConfigEntry {
    ConfigEntry {
        name: name.to_owned(),
        value,
        source: synonyms
            .first()
            .map_or(ConfigSource::Default, |first| first.source),
        read_only: key.is_none_or(|key| key.update == UpdateMode::ReadOnly),
        sensitive,
        synonyms,
        kind: key.map(|key| key.kind),
        documentation: key.map(|key| key.doc),
    }
}

/// The broker's settings that have a say in `name`, layer by layer. Kafka drops those that come
/// before the first that bears the name itself, and so do we.
fn broker_synonyms(broker: &BrokerConfig, name: &str, sensitive: bool) -> Vec<Synonym> {
    let names = synonyms(name);
    let alone = [name];
    let names: &[&str] = if names.is_empty() { &alone } else { names };
    let layers = [
        (broker.own(), ConfigSource::DynamicBroker),
        (broker.cluster(), ConfigSource::DynamicDefaultBroker),
        (broker.fixed(), ConfigSource::StaticBroker),
    ];
    let mut found = Vec::new();
    let mut add = |name: &str, value: &str, source| {
        let value = (!sensitive).then(|| value.to_owned());
        found.push(Synonym {
            name: name.to_owned(),
            value,
            source,
        });
    };
    for (layer, source) in layers {
        for name in names {
            if let Some(value) = layer.get(*name) {
                add(name, value, source);
            }
        }
    }
    for name in names {
        if let Some(default) = broker_key(name).and_then(|key| key.default) {
            add(name, default, ConfigSource::Default);
        }
    }
    found
        .into_iter()
        .skip_while(|synonym| synonym.name != name)
        .collect()
}

/// The value as its type shows it: ` TRUE ` is `true`.
fn shown(key: Option<&ConfigKey>, text: &str) -> String {
    key.and_then(|key| key.parse(text).ok())
        .map_or_else(|| text.to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(pairs: &[(&str, &str)]) -> Settings {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    }

    fn line(entry: &ConfigEntry) -> String {
        let synonyms: Vec<String> = entry
            .synonyms
            .iter()
            .map(|s| {
                format!(
                    "{:?}:{}={}",
                    s.source,
                    s.name,
                    s.value.as_deref().unwrap_or("null")
                )
            })
            .collect();
        let value = entry.value.as_deref().unwrap_or("null");
        format!(
            "{} {} {:?} {} {}",
            entry.name,
            value,
            entry.source,
            entry.read_only,
            synonyms.join(",")
        )
    }

    #[test]
    fn a_topic_without_overrides_shows_what_lies_below() {
        // As Kafka 4.4 answered with log.retention.hours=24 in its file and log.retention.ms altered for all.
        let file = BrokerConfig::load("f", "log.retention.hours=24", &[])
            .unwrap()
            .config;
        let altered = file.with_dynamic(&set(&[("log.retention.ms", "7000000")]), &Settings::new());
        let one = |broker: &BrokerConfig, own: &[(&str, &str)], name: &str| {
            line(&topic(broker, &set(own), Some(&[name]))[0])
        };
        assert_eq!(
            one(&altered, &[], "retention.ms"),
            "retention.ms 7000000 DynamicDefaultBroker false DynamicDefaultBroker:log.retention.ms=7000000,\
             StaticBroker:log.retention.hours=24,Default:log.retention.hours=168"
        );
        assert_eq!(
            one(&file, &[("retention.ms", "1000")], "retention.ms"),
            "retention.ms 1000 DynamicTopic false DynamicTopic:retention.ms=1000"
        );
        assert_eq!(
            one(&file, &[("cleanup.policy", "compact")], "cleanup.policy"),
            "cleanup.policy compact DynamicTopic false DynamicTopic:cleanup.policy=compact,Default:log.cleanup.policy=delete"
        );
        assert_eq!(
            one(&file, &[], "flush.ms"),
            "flush.ms 9223372036854775807 Default false "
        );
        assert_eq!(
            one(&file, &[], "remote.storage.enable"),
            "remote.storage.enable false Default false "
        );
    }

    #[test]
    fn a_topic_lists_every_key_but_the_internal_one() {
        let broker = BrokerConfig::default();
        assert_eq!(
            topic(&broker, &Settings::new(), None).len(),
            37,
            "as many as Kafka 4.4"
        );
        let entries = topic(&broker, &set(&[("internal.segment.bytes", "1000")]), None);
        assert!(entries.iter().any(|entry| entry.name == "internal.segment.bytes"));
    }

    #[test]
    fn a_broker_shows_its_layers() {
        let file = BrokerConfig::load("f", "broker.id=1\nlog.retention.hours=24\nsecret=x", &[])
            .unwrap()
            .config;
        let altered = file.with_dynamic(
            &set(&[("log.retention.ms", "7000000")]),
            &set(&[("log.cleaner.threads", "2")]),
        );
        let one = |name: &str| line(&broker(&altered, Some(&[name]))[0]);
        assert_eq!(
            one("broker.id"),
            "broker.id 1 StaticBroker true StaticBroker:broker.id=1,Default:broker.id=-1"
        );
        assert_eq!(
            one("log.cleaner.threads"),
            "log.cleaner.threads 2 DynamicBroker false DynamicBroker:log.cleaner.threads=2,Default:log.cleaner.threads=1"
        );
        assert_eq!(
            one("log.retention.hours"),
            "log.retention.hours 168 StaticBroker true StaticBroker:log.retention.hours=24,Default:log.retention.hours=168"
        );
        assert_eq!(
            one("log.retention.minutes"),
            "log.retention.minutes null Default true "
        );
        assert_eq!(
            one("secret"),
            "secret null StaticBroker true StaticBroker:secret=null",
            "shown to nobody"
        );
        let all = cluster(&altered, None);
        assert_eq!(all.len(), 1);
        assert_eq!(
            line(&all[0]),
            "log.retention.ms 7000000 DynamicDefaultBroker false DynamicDefaultBroker:log.retention.ms=7000000"
        );
    }
}
