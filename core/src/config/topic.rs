//! The settings of one topic, each from the topic itself, the broker, or the table.

use super::key::{ConfigKey, Value};
use super::{BrokerConfig, Settings, topic_key};
use crate::log::LogConfig;
use crate::record::{Codec, Compression, TimestampType, TopicCompression, ValidationRules};
use crate::types::Millis;

/// A topic's settings, resolved and typed (Kafka's `LogConfig`).
#[derive(Clone, Debug, PartialEq)]
pub struct TopicConfig {
    pub compact: bool,
    pub delete: bool,
    /// `compression.type` with the level of that codec.
    pub compression: TopicCompression,
    pub delete_retention_ms: Millis,
    pub file_delete_delay_ms: Millis,
    pub flush_messages: i64,
    pub flush_ms: Millis,
    pub index_interval_bytes: i32,
    pub max_compaction_lag_ms: Millis,
    pub max_decompressed_message_bytes: i32,
    pub max_message_bytes: i32,
    pub message_timestamp_after_max_ms: Millis,
    pub message_timestamp_before_max_ms: Millis,
    pub message_timestamp_type: TimestampType,
    pub min_cleanable_dirty_ratio: f64,
    pub min_compaction_lag_ms: Millis,
    pub min_insync_replicas: i32,
    pub preallocate: bool,
    /// -1: no limit.
    pub retention_bytes: i64,
    /// -1: no limit.
    pub retention_ms: Millis,
    /// `internal.segment.bytes` where it is set, else `segment.bytes`.
    pub segment_bytes: i32,
    pub segment_index_bytes: i32,
    pub segment_jitter_ms: Millis,
    pub segment_ms: Millis,
    pub unclean_leader_election_enable: bool,
}

impl TopicConfig {
    /// Resolves each key: the topic's `own` setting, else the broker's, else the default.
    pub fn resolve(broker: &BrokerConfig, own: &Settings) -> Self {
        let get = Resolver { broker, own };
        let policies = get.list("cleanup.policy");
        let has = |policy: &str| policies.iter().any(|p| p == policy);
        Self {
            compact: has("compact"),
            delete: has("delete"),
            compression: get.compression(),
            delete_retention_ms: get.number("delete.retention.ms"),
            file_delete_delay_ms: get.number("file.delete.delay.ms"),
            flush_messages: get.number("flush.messages"),
            flush_ms: get.number("flush.ms"),
            index_interval_bytes: get.number("index.interval.bytes"),
            max_compaction_lag_ms: get.number("max.compaction.lag.ms"),
            max_decompressed_message_bytes: get.number("max.decompressed.message.bytes"),
            max_message_bytes: get.number("max.message.bytes"),
            message_timestamp_after_max_ms: get.number("message.timestamp.after.max.ms"),
            message_timestamp_before_max_ms: get.number("message.timestamp.before.max.ms"),
            message_timestamp_type: match get.text("message.timestamp.type").as_str() {
                "LogAppendTime" => TimestampType::LogAppendTime,
                _ => TimestampType::CreateTime,
            },
            min_cleanable_dirty_ratio: get.double("min.cleanable.dirty.ratio"),
            min_compaction_lag_ms: get.number("min.compaction.lag.ms"),
            min_insync_replicas: get.number("min.insync.replicas"),
            preallocate: get.boolean("preallocate"),
            retention_bytes: get.number("retention.bytes"),
            retention_ms: get.number("retention.ms"),
            segment_bytes: match get.value("internal.segment.bytes") {
                Some(Value::Number(bytes)) => i32::try_from(bytes).unwrap_or(i32::MAX),
                _ => get.number("segment.bytes"),
            },
            segment_index_bytes: get.number("segment.index.bytes"),
            segment_jitter_ms: get.number("segment.jitter.ms"),
            segment_ms: get.number("segment.ms"),
            unclean_leader_election_enable: get.boolean("unclean.leader.election.enable"),
        }
    }

    /// The part that a partition's log goes by.
    pub fn log_config(&self) -> LogConfig {
        LogConfig {
            segment_bytes: unsigned(self.segment_bytes.into()),
            segment_ms: self.segment_ms,
            segment_jitter_ms: self.segment_jitter_ms,
            segment_index_bytes: unsigned(self.segment_index_bytes.into()) as u32,
            index_interval_bytes: unsigned(self.index_interval_bytes.into()) as u32,
            retention_ms: (self.retention_ms >= 0).then_some(self.retention_ms),
            retention_bytes: u64::try_from(self.retention_bytes).ok(),
            file_delete_delay_ms: self.file_delete_delay_ms,
            flush_messages: unsigned(self.flush_messages),
            flush_ms: (self.flush_ms != Millis::MAX).then_some(self.flush_ms),
            min_insync_replicas: unsigned(self.min_insync_replicas.into()) as u32,
            delete: self.delete,
            compact: self.compact,
        }
    }

    /// The part that a produced batch is checked by.
    pub fn validation_rules(&self) -> ValidationRules {
        ValidationRules {
            max_message_bytes: unsigned(self.max_message_bytes.into()) as u32,
            timestamp_type: self.message_timestamp_type,
            timestamp_before_max_ms: self.message_timestamp_before_max_ms,
            timestamp_after_max_ms: self.message_timestamp_after_max_ms,
            compacted: self.compact,
            compression: self.compression,
            max_decompressed_message_bytes: unsigned(self.max_decompressed_message_bytes.into()) as u32,
            ..ValidationRules::default()
        }
    }
}

/// What the broker's keys say for a topic that sets nothing: the first that is set, in the topic's unit.
pub(super) fn from_broker(key: &ConfigKey, broker: &BrokerConfig) -> Option<Value> {
    let (text, factor) = key
        .fallback
        .iter()
        .find_map(|(name, factor)| Some((broker.set_value(name)?, *factor)))?;
    if factor == 1 {
        return key.parse(text).ok();
    }
    let count: i64 = text.trim().parse().ok()?;
    // Any negative retention in minutes or hours means "no limit".
    Some(Value::Number(if count < 0 {
        -1
    } else {
        count.saturating_mul(factor)
    }))
}

/// Sizes and counts were checked not to be negative when they were set.
fn unsigned(number: i64) -> u64 {
    number.max(0) as u64
}

struct Resolver<'a> {
    broker: &'a BrokerConfig,
    own: &'a Settings,
}

impl Resolver<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        let key = topic_key(name)?;
        let own = self.own.get(name).and_then(|text| key.parse(text).ok());
        own.or_else(|| from_broker(key, self.broker))
            .or_else(|| key.default_value())
    }

    fn compression(&self) -> TopicCompression {
        let level = |key| Some(self.number::<i32>(key));
        let (codec, level) = match self.text("compression.type").as_str() {
            "uncompressed" => (Codec::None, None),
            "gzip" => (
                Codec::Gzip,
                level("compression.gzip.level").filter(|level| *level != -1),
            ),
            "snappy" => (Codec::Snappy, None),
            "lz4" => (Codec::Lz4, level("compression.lz4.level")),
            "zstd" => (Codec::Zstd, level("compression.zstd.level")),
            _ => return TopicCompression::Producer,
        };
        TopicCompression::Fixed(Compression { codec, level })
    }

    fn number<N: TryFrom<i64> + Default>(&self, name: &str) -> N {
        match self.value(name) {
            Some(Value::Number(number)) => N::try_from(number).unwrap_or_default(),
            _ => N::default(),
        }
    }

    fn double(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Double(number)) => number,
            _ => 0.0,
        }
    }

    fn boolean(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Boolean(true)))
    }

    fn text(&self, name: &str) -> String {
        self.value(name)
            .map(|value| value.to_string())
            .unwrap_or_default()
    }

    fn list(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Some(Value::List(members)) => members,
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broker(text: &str) -> BrokerConfig {
        BrokerConfig::load("server.properties", text, &[]).unwrap().config
    }

    fn retention(file: &str, own: &[(&str, &str)]) -> Millis {
        let own = own
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        TopicConfig::resolve(&broker(file), &own).retention_ms
    }

    #[test]
    fn retention_comes_from_the_strongest_that_is_set() {
        let hours = "log.retention.hours=2";
        let minutes = "log.retention.hours=2\nlog.retention.minutes=3";
        let ms = "log.retention.hours=2\nlog.retention.minutes=3\nlog.retention.ms=4";
        assert_eq!(retention("", &[]), 604_800_000);
        assert_eq!(retention(hours, &[]), 7_200_000);
        assert_eq!(retention(minutes, &[]), 180_000);
        assert_eq!(retention(ms, &[]), 4);
        assert_eq!(retention(ms, &[("retention.ms", "5")]), 5);
        assert_eq!(retention("log.retention.hours=-1", &[]), -1, "for ever");
    }

    #[test]
    fn a_dynamic_broker_setting_lies_between_the_topic_and_the_file() {
        let dynamic = Settings::from([("log.retention.ms".to_owned(), "9".to_owned())]);
        let broker = broker("log.retention.minutes=3").with_dynamic(&dynamic, &Settings::new());
        assert_eq!(TopicConfig::resolve(&broker, &Settings::new()).retention_ms, 9);
    }

    #[test]
    fn small_segments_for_tests_and_both_policies_at_once() {
        let own = Settings::from([
            ("internal.segment.bytes".to_owned(), "100".to_owned()),
            ("cleanup.policy".to_owned(), "compact,delete".to_owned()),
            ("compression.type".to_owned(), "zstd".to_owned()),
        ]);
        let config = TopicConfig::resolve(&BrokerConfig::default(), &own);
        assert_eq!(
            (config.segment_bytes, config.compact, config.delete),
            (100, true, true)
        );
        let zstd = Compression {
            codec: Codec::Zstd,
            level: Some(3),
        };
        assert_eq!(config.compression, TopicCompression::Fixed(zstd));
        assert_eq!(
            TopicConfig::resolve(&BrokerConfig::default(), &Settings::new()).segment_bytes,
            1 << 30
        );
    }

    #[test]
    fn a_topic_that_sets_nothing_has_the_defaults_of_log_and_validator() {
        let config = TopicConfig::resolve(&BrokerConfig::default(), &Settings::new());
        assert_eq!(config.log_config(), LogConfig::default());
        assert_eq!(config.validation_rules(), ValidationRules::default());
    }
}
