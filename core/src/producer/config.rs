//! The settings of a producer (Kafka's `ProducerConfig`): names, defaults and complaints are those of
//! Kafka 4.4.

use super::partitioner::{self, Partitioner};
use super::serializer::{self, Serializer};
use crate::client::config::COMMON_KEYS;
use crate::client::{ClientConfig, ClientKeys, ClientSettings, InvalidConfig};
use crate::config::{ConfigKey, ConfigType::*, Importance::*, Settings, UpdateMode::*, Valid::*, keys};
use crate::record::{Codec, Compression};
use crate::types::Millis;

/// The keys of a producer beyond those that all clients have.
pub const KEYS: ClientKeys = &[COMMON_KEYS, PRODUCER_KEYS];

/// More in flight than this, and a broker could not tell a repeated batch from a new one.
const MOST_IN_FLIGHT_IDEMPOTENT: i64 = 5;

keys! { pub static PRODUCER_KEYS =
    "acks": Text = "all" in OneOf(&["all", "-1", "0", "1"]), Low, ReadOnly,
        "Who must have a record before it counts as sent: every in-sync replica, the leader (1), nobody (0).";
    "batch.size": Int = "16384" in AtLeast(0), Medium, ReadOnly,
        "Bytes of records for one partition that are collected into one batch.";
    "buffer.memory": Long = "33554432" in AtLeast(0), High, ReadOnly,
        "Bytes of records that may wait to be sent, of all partitions together.";
    "client.rack": Text = "", Low, ReadOnly,
        "Where the client is, as the brokers' `broker.rack` has it.";
    "compression.gzip.level": Int = "-1" in GzipLevel, Medium, ReadOnly,
        "Compression level for gzip.";
    "compression.lz4.level": Int = "9" in Between(1, 17), Medium, ReadOnly,
        "Compression level for lz4; there is one here, whatever it says.";
    "compression.type": Text = "none" in OneOf(&["none", "gzip", "snappy", "lz4", "zstd"]), High, ReadOnly,
        "Codec of batches.";
    "compression.zstd.level": Int = "3" in Between(-131072, 22), Medium, ReadOnly,
        "Compression level for zstd; there is one here, whatever it says.";
    "delivery.timeout.ms": Int = "120000" in AtLeast(0), Medium, ReadOnly,
        "A record that is not acknowledged for so long, counted from its batch's first, has failed.";
    "enable.idempotence": Boolean = "true", Low, ReadOnly,
        "Number the records, so that what is sent again is stored once and in order.";
    "interceptor.classes": List = "", Low, ReadOnly,
        "What sees each record before it is sent and after; here they are given as values instead.";
    "key.serializer": Class = "org.apache.kafka.common.serialization.ByteArraySerializer", High, ReadOnly,
        "What makes bytes of a key.";
    "linger.ms": Long = "5" in AtLeast(0), Medium, ReadOnly,
        "How long a batch that is not full waits for more records.";
    "max.block.ms": Long = "60000" in AtLeast(0), Medium, ReadOnly,
        "How long a record may wait for metadata and memory before it fails.";
    "max.in.flight.requests.per.connection": Int = "5" in AtLeast(1), Low, ReadOnly,
        "How many requests to a broker may be unanswered.";
    "max.request.size": Int = "1048576" in AtLeast(0), Medium, ReadOnly,
        "Largest record, and largest sum of batches in one request, in bytes.";
    "metadata.max.idle.ms": Long = "300000" in AtLeast(5000), Low, ReadOnly,
        "A topic that nothing was sent to for so long is no more asked for.";
    "partitioner.adaptive.partitioning.enable": Boolean = "true", Low, ReadOnly,
        "Give fewer records without a key to partitions whose broker is slow.";
    "partitioner.availability.timeout.ms": Long = "0" in AtLeast(0), Low, ReadOnly,
        "Give none to partitions whose broker took nothing for so long; 0 for never.";
    "partitioner.class": Class = unset, Medium, ReadOnly,
        "What chooses the partition of a record that names none.";
    "partitioner.ignore.keys": Boolean = "false", Medium, ReadOnly,
        "Choose a partition as if records had no key.";
    "partitioner.rack.aware": Boolean = "false", Low, ReadOnly,
        "Prefer partitions that are led in the client's rack.";
    "receive.buffer.bytes": Int = "32768" in AtLeast(-1), Medium, ReadOnly,
        "Size of the socket's buffer for receiving; -1 leaves it to the system.";
    "retries": Int = "2147483647" in Between(0, 2147483647), High, ReadOnly,
        "How often a batch that failed for a passing reason is sent again.";
    "transactional.id": Text = unset, Low, ReadOnly,
        "Name under which records of several partitions become visible together.";
    "value.serializer": Class = "org.apache.kafka.common.serialization.ByteArraySerializer", High, ReadOnly,
        "What makes bytes of a value.";
}

/// What makes bytes of keys, and of values.
pub type Serializers = (Box<dyn Serializer>, Box<dyn Serializer>);

/// A producer's settings, checked and typed.
#[derive(Clone, Debug, PartialEq)]
pub struct ProducerConfig {
    pub client: ClientConfig,
    /// -1 for all, 1 for the leader, 0 for nobody.
    pub acks: i16,
    pub batch_size_bytes: usize,
    pub buffer_memory_bytes: u64,
    pub client_rack: String,
    pub compression: Compression,
    pub delivery_timeout_ms: Millis,
    pub idempotent: bool,
    pub linger_ms: Millis,
    pub max_block_ms: Millis,
    pub max_in_flight: u32,
    pub max_request_size_bytes: usize,
    pub metadata_max_idle_ms: Millis,
    pub adaptive: bool,
    pub availability_timeout_ms: Millis,
    pub ignore_keys: bool,
    pub rack_aware: bool,
    pub retries: u32,
    /// Keys that were set and that nobody knows, for a warning.
    pub unused: Vec<String>,
    /// What was changed to make the settings agree, for a log line each.
    pub notes: Vec<String>,
    key_serializer: String,
    value_serializer: String,
    partitioner: String,
}

impl ProducerConfig {
    /// Reads, checks and types settings.
    pub fn read(settings: &Settings) -> Result<Self, InvalidConfig> {
        let settings = ClientSettings::read(KEYS, settings)?;
        let number = |key| settings.number(key);
        let size = |key| usize::try_from(settings.number(key)).unwrap_or_default();
        let mut config = Self {
            client: ClientConfig::resolve(&settings)?,
            acks: match settings.text("acks") {
                "0" => 0,
                "1" => 1,
                _ => -1,
            },
            batch_size_bytes: size("batch.size"),
            buffer_memory_bytes: number("buffer.memory").max(0) as u64,
            client_rack: settings.text("client.rack").to_owned(),
            compression: compression(&settings),
            delivery_timeout_ms: number("delivery.timeout.ms"),
            idempotent: settings.boolean("enable.idempotence"),
            linger_ms: number("linger.ms"),
            max_block_ms: number("max.block.ms"),
            max_in_flight: number("max.in.flight.requests.per.connection") as u32,
            max_request_size_bytes: size("max.request.size"),
            metadata_max_idle_ms: number("metadata.max.idle.ms"),
            adaptive: settings.boolean("partitioner.adaptive.partitioning.enable"),
            availability_timeout_ms: number("partitioner.availability.timeout.ms"),
            ignore_keys: settings.boolean("partitioner.ignore.keys"),
            rack_aware: settings.boolean("partitioner.rack.aware"),
            retries: number("retries") as u32,
            unused: settings.unused.clone(),
            notes: Vec::new(),
            key_serializer: settings.text("key.serializer").to_owned(),
            value_serializer: settings.text("value.serializer").to_owned(),
            partitioner: settings.text("partitioner.class").to_owned(),
        };
        config.check_names(&settings)?;
        config.settle_idempotence(&settings)?;
        config.settle_delivery_timeout(&settings)?;
        Ok(config)
    }

    /// What makes bytes of keys and of values.
    pub fn serializers(&self) -> Result<Serializers, InvalidConfig> {
        let named = |key, name: &str| {
            serializer::by_name(name).ok_or_else(|| {
                InvalidConfig::Combination(format!(
                    "Invalid value {name} for configuration {key}: Class {name} could not be found."
                ))
            })
        };
        Ok((
            named("key.serializer", &self.key_serializer)?,
            named("value.serializer", &self.value_serializer)?,
        ))
    }

    /// The partitioner that is named; `None`: the built-in one.
    pub fn partitioner(&self) -> Result<Option<Box<dyn Partitioner>>, InvalidConfig> {
        let name = &*self.partitioner;
        if name.is_empty() {
            return Ok(None);
        }
        let unknown = || {
            InvalidConfig::Combination(format!(
                "Invalid value {name} for configuration partitioner.class: Class {name} could not be found; \
                 known are {}.",
                partitioner::NAMES.join(", ")
            ))
        };
        partitioner::by_name(name).map(Some).ok_or_else(unknown)
    }

    fn check_names(&self, settings: &ClientSettings) -> Result<(), InvalidConfig> {
        self.serializers()?;
        self.partitioner()?;
        let line = if settings.is_set("transactional.id") {
            "transactional.id: transactions are not there yet; leave it out."
        } else if !settings.list("interceptor.classes").is_empty() {
            "interceptor.classes: there are no classes here; hand the interceptors to the producer as values."
        } else {
            return Ok(());
        };
        Err(InvalidConfig::Combination(line.to_owned()))
    }

    /// Idempotence is there unless a setting speaks against it; asked for by name, that is an error.
    fn settle_idempotence(&mut self, settings: &ClientSettings) -> Result<(), InvalidConfig> {
        if !self.idempotent {
            return Ok(());
        }
        let in_flight = i64::from(self.max_in_flight);
        let (line, why) = if self.retries == 0 {
            (
                "Must set retries to non-zero when using the idempotent producer.",
                "retries is set to 0",
            )
        } else if self.acks != -1 {
            (
                "Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence.",
                "acks is not set to 'all'",
            )
        } else if in_flight > MOST_IN_FLIGHT_IDEMPOTENT {
            (
                "Must set max.in.flight.requests.per.connection to at most 5 to use the idempotent producer.",
                "max.in.flight.requests.per.connection is greater than 5",
            )
        } else {
            return Ok(());
        };
        if settings.is_set("enable.idempotence") || in_flight > MOST_IN_FLIGHT_IDEMPOTENT {
            return Err(InvalidConfig::Combination(line.to_owned()));
        }
        self.idempotent = false;
        self.notes
            .push(format!("Idempotence will be disabled because {why}."));
        Ok(())
    }

    fn settle_delivery_timeout(&mut self, settings: &ClientSettings) -> Result<(), InvalidConfig> {
        let least = self.linger_ms.saturating_add(self.client.request_timeout_ms);
        if self.delivery_timeout_ms >= least {
            return Ok(());
        }
        let line = "delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms";
        if settings.is_set("delivery.timeout.ms") {
            return Err(InvalidConfig::Combination(line.to_owned()));
        }
        self.delivery_timeout_ms = least;
        self.notes.push(format!("{line}. Setting it to {least}."));
        Ok(())
    }
}

fn compression(settings: &ClientSettings) -> Compression {
    let codec = Codec::from_name(settings.text("compression.type")).unwrap_or_default();
    let level = codec
        .levels()
        .map(|_| settings.number(&format!("compression.{}.level", codec.name())) as i32);
    Compression { codec, level }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::testing::settings;

    fn read(pairs: &[(&str, &str)]) -> Result<ProducerConfig, InvalidConfig> {
        let mut all = settings(&[("bootstrap.servers", "a:1")]);
        all.extend(settings(pairs));
        ProducerConfig::read(&all)
    }

    #[test]
    fn keys_are_kafkas() {
        let golden = include_str!("kafka-4.4-producer-configs.tsv");
        let rows: Vec<Vec<&str>> = golden
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split('\t').collect())
            .collect();
        // Kafka has no default for these; here there is one, since a program may hand over bytes.
        let own = [
            "bootstrap.servers",
            "key.serializer",
            "value.serializer",
            "security.protocol",
        ];
        for key in KEYS
            .iter()
            .flat_map(|table| table.iter())
            .filter(|key| !own.contains(&key.name))
        {
            let row = rows
                .iter()
                .find(|row| row[0] == key.name)
                .unwrap_or_else(|| panic!("{}", key.name));
            let default = key.default.unwrap_or("<null>");
            assert_eq!(row[..3], [key.name, key.kind.kafka_name(), default]);
        }
        for table in KEYS {
            assert!(table.is_sorted_by_key(|key| key.name));
        }
    }

    #[test]
    fn defaults_are_kafkas() {
        let config = read(&[]).unwrap();
        assert!(config.idempotent && config.adaptive && config.acks == -1);
        assert_eq!((config.linger_ms, config.batch_size_bytes), (5, 16_384));
        assert!(config.notes.is_empty());
    }

    #[test]
    fn idempotence_yields_unless_it_was_asked_for() {
        for (key, value) in [("retries", "0"), ("acks", "1"), ("acks", "0")] {
            let config = read(&[(key, value)]).unwrap();
            assert!(!config.idempotent && config.notes.len() == 1);
            let error = read(&[(key, value), ("enable.idempotence", "true")])
                .unwrap_err()
                .to_string();
            assert!(error.starts_with("Must set "), "{error}");
        }
        let error = read(&[("max.in.flight.requests.per.connection", "6")])
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "Must set max.in.flight.requests.per.connection to at most 5 to use the idempotent producer."
        );
        read(&[
            ("max.in.flight.requests.per.connection", "6"),
            ("enable.idempotence", "false"),
        ])
        .unwrap();
    }

    #[test]
    fn the_delivery_timeout_covers_a_request_and_the_wait_before_it() {
        let config = read(&[("linger.ms", "100000")]).unwrap();
        assert_eq!(config.delivery_timeout_ms, 130_000);
        let error = read(&[("delivery.timeout.ms", "30004")]).unwrap_err().to_string();
        assert_eq!(
            error,
            "delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms"
        );
        read(&[("delivery.timeout.ms", "30005")]).unwrap();
    }

    #[test]
    fn wrong_values_are_said_in_one_line() {
        let line = |key, value| read(&[(key, value)]).unwrap_err().to_string();
        assert_eq!(
            line("acks", "2"),
            "Invalid value 2 for configuration acks: String must be one of: all, -1, 0, 1"
        );
        assert_eq!(
            line("batch.size", "big"),
            "Invalid value big for configuration batch.size: Not a number of type INT"
        );
        assert!(line("partitioner.class", "x.Y").contains("Class x.Y could not be found; known are"));
        assert!(line("value.serializer", "x.Y").contains("Class x.Y could not be found"));
        assert!(line("transactional.id", "t").contains("not there yet"));
    }
}
