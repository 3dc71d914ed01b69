//! A broker's own settings: `server.properties`, `--override`, and what AlterConfigs changed since.

use thiserror::Error;

use super::endpoint::{self, Endpoint};
use super::key::Value;
use super::{Settings, broker_key, properties, synonyms};
use crate::ordered::OrderedMap;
use crate::types::{BrokerId, Millis};

/// One setting given by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub key: String,
    pub value: String,
    /// Where it stands, for complaints: `server.properties line 7`, `--override`.
    pub place: String,
}

/// A setting that cannot be taken: where it stands, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {why}")]
pub struct ConfigError {
    pub place: String,
    pub why: String,
}

/// What reading the settings gave.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub config: BrokerConfig,
    /// One line each, for the operator.
    pub warnings: Vec<String>,
}

/// The settings in force, typed where the broker uses them; [`BrokerConfig::value`] has the others.
#[derive(Clone, Debug, PartialEq)]
pub struct BrokerConfig {
    /// As given by hand.
    fixed: Settings,
    /// As AlterConfigs set for all brokers.
    cluster: Settings,
    /// As AlterConfigs set for this broker.
    own: Settings,
    /// All three laid over one another.
    effective: Settings,

    /// `node.id` or `broker.id`; -1 when neither is set.
    pub node_id: BrokerId,
    pub rack: Option<String>,
    pub listeners: Vec<Endpoint>,
    /// As given; empty when clients are told the `listeners`.
    pub advertised_listeners: Vec<Endpoint>,
    pub log_dirs: Vec<String>,
    pub auto_create_topics_enable: bool,
    pub delete_topic_enable: bool,
    pub num_partitions: i32,
    pub default_replication_factor: i16,
    pub message_max_bytes: i32,
    pub fetch_max_bytes: i32,
    pub socket_request_max_bytes: i32,
    pub socket_receive_buffer_bytes: i32,
    pub socket_send_buffer_bytes: i32,
    pub socket_listen_backlog_size: i32,
    pub socket_connection_setup_timeout_ms: Millis,
    pub connections_max_idle_ms: Millis,
    pub max_connections: i32,
    pub max_connections_per_ip: i32,
    pub max_connection_creation_rate: i32,
    pub queued_max_requests: i32,
    /// -1: no limit of its own.
    pub queued_max_request_bytes: i64,
    pub max_incremental_fetch_session_cache_slots: i32,
    pub max_request_partition_size_limit: i32,
    pub num_recovery_threads_per_data_dir: i32,
    pub log_retention_check_interval_ms: Millis,
    pub log_flush_scheduler_interval_ms: Millis,
    pub log_flush_offset_checkpoint_interval_ms: Millis,
    pub log_flush_start_offset_checkpoint_interval_ms: Millis,
    pub replica_high_watermark_checkpoint_interval_ms: Millis,
    pub replica_lag_time_max_ms: Millis,
    pub replica_fetch_max_bytes: i32,
    pub replica_fetch_min_bytes: i32,
    pub replica_fetch_wait_max_ms: i32,
    pub replica_fetch_response_max_bytes: i32,
    pub replica_fetch_backoff_ms: Millis,
    pub replica_socket_timeout_ms: Millis,
    pub controller_socket_timeout_ms: Millis,
    pub num_replica_fetchers: i32,
    /// `internal.check.broker.epochs`
    pub check_broker_epochs: bool,
    pub producer_id_expiration_ms: Millis,
    pub transaction_max_timeout_ms: Millis,
    pub request_timeout_ms: Millis,
    pub group_max_size: i32,
    pub group_min_session_timeout_ms: i32,
    pub group_max_session_timeout_ms: i32,
    pub group_initial_rebalance_delay_ms: Millis,
    pub offset_metadata_max_bytes: i32,
    pub offsets_commit_timeout_ms: Millis,
    /// `offsets.retention.minutes`
    pub offsets_retention_ms: Millis,
    pub offsets_retention_check_interval_ms: Millis,
    /// Codec of the offsets topic's batches, by its number.
    pub offsets_topic_compression_codec: i32,
    pub offsets_topic_num_partitions: i32,
    pub offsets_topic_replication_factor: i16,
    pub offsets_topic_segment_bytes: i32,
    pub controlled_shutdown_enable: bool,
    pub controlled_shutdown_max_retries: i32,
    pub controlled_shutdown_retry_backoff_ms: Millis,
    /// The listener by which brokers reach each other.
    pub inter_broker_listener: String,
    /// `None`: the state is kept in this process.
    pub zookeeper_connect: Option<String>,
    pub zookeeper_session_timeout_ms: Millis,
    /// How long a start waits for its first session.
    pub zookeeper_connection_timeout_ms: Millis,
}

impl BrokerConfig {
    /// Reads the text of a properties file, called `file` in complaints, and lays the overrides over it.
    pub fn load(file: &str, text: &str, overrides: &[(String, String)]) -> Result<Loaded, ConfigError> {
        let lines = properties::parse(text).map_err(|line| ConfigError {
            place: format!("{file} line {line}"),
            why: "\\u must be followed by four hexadecimal digits".to_owned(),
        })?;
        let mut settings: Vec<Setting> = lines
            .into_iter()
            .map(|p| Setting {
                key: p.key,
                value: p.value,
                place: format!("{file} line {}", p.line),
            })
            .collect();
        settings.extend(overrides.iter().map(|(key, value)| Setting {
            key: key.clone(),
            value: value.clone(),
            place: format!("--override {key}={value}"),
        }));
        Self::from_settings(settings)
    }

    /// The settings from any source; a later one of the same key replaces an earlier.
    pub fn from_settings(settings: Vec<Setting>) -> Result<Loaded, ConfigError> {
        let mut warnings = Vec::new();
        let (mut fixed, mut places) = (Settings::new(), OrderedMap::new());
        for Setting { key, value, place } in settings {
            if broker_key(&key).is_none() {
                warnings.push(format!("{place}: unknown key '{key}' is ignored"));
            }
            places.insert(key.clone(), place);
            fixed.insert(key, value);
        }
        let place = |key: &str| {
            places
                .get(key)
                .cloned()
                .unwrap_or_else(|| format!("default of {key}"))
        };
        for (key, value) in &fixed {
            if let Some(Err(bad)) = broker_key(key).map(|row| row.parse(value)) {
                return Err(ConfigError {
                    place: place(key),
                    why: bad.to_string(),
                });
            }
        }
        join_node_id(&mut fixed, place)?;
        let config = Self::layered(fixed, Settings::new(), Settings::new()).map_err(|bad| ConfigError {
            place: place(&bad.key),
            why: bad.to_string(),
        })?;
        Ok(Loaded { config, warnings })
    }

    /// The same broker after AlterConfigs: what is now set for all brokers and for this one. What was
    /// never valid does not get here; a listener list that cannot be read leaves things as they were.
    #[must_use]
    pub fn with_dynamic(&self, cluster: &Settings, own: &Settings) -> Self {
        Self::layered(self.fixed.clone(), cluster.clone(), own.clone()).unwrap_or_else(|_| self.clone())
    }

    /// The value in force, as text; `None` when the key is unset or unknown.
    pub fn value(&self, key: &str) -> Option<&str> {
        let set = self.effective.get(key).map(String::as_str);
        set.or_else(|| broker_key(key)?.default)
    }

    /// The value in force if somebody set it.
    pub(super) fn set_value(&self, key: &str) -> Option<&str> {
        self.effective.get(key).map(String::as_str)
    }

    /// Everything given by hand, unknown keys too.
    pub fn fixed(&self) -> &Settings {
        &self.fixed
    }

    /// What AlterConfigs set for all brokers.
    pub fn cluster(&self) -> &Settings {
        &self.cluster
    }

    /// What AlterConfigs set for this broker.
    pub fn own(&self) -> &Settings {
        &self.own
    }

    /// Addresses that clients are told. An address that means "every interface" is told as `host_name`,
    /// since no client could connect to it.
    pub fn advertised(&self, host_name: &str) -> Vec<Endpoint> {
        let told = if self.advertised_listeners.is_empty() {
            &self.listeners
        } else {
            &self.advertised_listeners
        };
        told.iter()
            .map(|endpoint| Endpoint {
                host: if endpoint.is_wildcard() {
                    host_name.to_owned()
                } else {
                    endpoint.host.clone()
                },
                ..endpoint.clone()
            })
            .collect()
    }

    fn layered(fixed: Settings, cluster: Settings, own: Settings) -> Result<Self, super::BadValue> {
        let mut effective = fixed.clone();
        for (key, value) in cluster.iter().chain(&own) {
            // A dynamic value also hides those that mean the same in other units.
            for synonym in synonyms(key) {
                effective.remove(*synonym);
            }
            effective.insert(key.clone(), value.clone());
        }
        let typed = Typed(&effective);
        let protocols = typed.text("listener.security.protocol.map").unwrap_or_default();
        let listeners = endpoint::parse_all(
            "listeners",
            &typed.text("listeners").unwrap_or_default(),
            &protocols,
        )?;
        let advertised_listeners = match typed.text("advertised.listeners") {
            Some(text) => endpoint::parse_all("advertised.listeners", &text, &protocols)?,
            None => Vec::new(),
        };
        if let Some(wildcard) = advertised_listeners
            .iter()
            .find(|endpoint| endpoint.is_wildcard())
        {
            return Err(super::BadValue {
                key: "advertised.listeners".to_owned(),
                value: format!("{}://{}:{}", wildcard.name, wildcard.host, wildcard.port),
                why: "Clients cannot connect to every interface; name one host".to_owned(),
            });
        }
        let log_dirs = log_dirs(&typed)?;
        check_fetch_wait(&typed)?;
        Ok(Self {
            node_id: typed.number("node.id"),
            rack: typed.text("broker.rack"),
            inter_broker_listener: inter_broker_listener(&typed, &listeners),
            listeners,
            advertised_listeners,
            log_dirs,
            auto_create_topics_enable: typed.boolean("auto.create.topics.enable"),
            delete_topic_enable: typed.boolean("delete.topic.enable"),
            num_partitions: typed.number("num.partitions"),
            default_replication_factor: typed.number("default.replication.factor"),
            message_max_bytes: typed.number("message.max.bytes"),
            fetch_max_bytes: typed.number("fetch.max.bytes"),
            socket_request_max_bytes: typed.number("socket.request.max.bytes"),
            socket_receive_buffer_bytes: typed.number("socket.receive.buffer.bytes"),
            socket_send_buffer_bytes: typed.number("socket.send.buffer.bytes"),
            socket_listen_backlog_size: typed.number("socket.listen.backlog.size"),
            socket_connection_setup_timeout_ms: typed.number("socket.connection.setup.timeout.ms"),
            connections_max_idle_ms: typed.number("connections.max.idle.ms"),
            max_connections: typed.number("max.connections"),
            max_connections_per_ip: typed.number("max.connections.per.ip"),
            max_connection_creation_rate: typed.number("max.connection.creation.rate"),
            queued_max_requests: typed.number("queued.max.requests"),
            queued_max_request_bytes: typed.number("queued.max.request.bytes"),
            max_incremental_fetch_session_cache_slots: typed
                .number("max.incremental.fetch.session.cache.slots"),
            max_request_partition_size_limit: typed.number("max.request.partition.size.limit"),
            num_recovery_threads_per_data_dir: typed.number("num.recovery.threads.per.data.dir"),
            log_retention_check_interval_ms: typed.number("log.retention.check.interval.ms"),
            log_flush_scheduler_interval_ms: typed.number("log.flush.scheduler.interval.ms"),
            log_flush_offset_checkpoint_interval_ms: typed.number("log.flush.offset.checkpoint.interval.ms"),
            log_flush_start_offset_checkpoint_interval_ms: typed
                .number("log.flush.start.offset.checkpoint.interval.ms"),
            replica_high_watermark_checkpoint_interval_ms: typed
                .number("replica.high.watermark.checkpoint.interval.ms"),
            replica_lag_time_max_ms: typed.number("replica.lag.time.max.ms"),
            replica_fetch_max_bytes: typed.number("replica.fetch.max.bytes"),
            replica_fetch_min_bytes: typed.number("replica.fetch.min.bytes"),
            replica_fetch_wait_max_ms: typed.number("replica.fetch.wait.max.ms"),
            replica_fetch_response_max_bytes: typed.number("replica.fetch.response.max.bytes"),
            replica_fetch_backoff_ms: typed.number("replica.fetch.backoff.ms"),
            replica_socket_timeout_ms: typed.number("replica.socket.timeout.ms"),
            controller_socket_timeout_ms: typed.number("controller.socket.timeout.ms"),
            num_replica_fetchers: typed.number("num.replica.fetchers"),
            check_broker_epochs: typed.boolean("internal.check.broker.epochs"),
            producer_id_expiration_ms: typed.number("producer.id.expiration.ms"),
            transaction_max_timeout_ms: typed.number("transaction.max.timeout.ms"),
            request_timeout_ms: typed.number("request.timeout.ms"),
            group_max_size: typed.number("group.max.size"),
            group_min_session_timeout_ms: typed.number("group.min.session.timeout.ms"),
            group_max_session_timeout_ms: typed.number("group.max.session.timeout.ms"),
            group_initial_rebalance_delay_ms: typed.number("group.initial.rebalance.delay.ms"),
            offset_metadata_max_bytes: typed.number("offset.metadata.max.bytes"),
            offsets_commit_timeout_ms: typed.number("offsets.commit.timeout.ms"),
            offsets_retention_ms: typed.number::<Millis>("offsets.retention.minutes") * 60_000,
            offsets_retention_check_interval_ms: typed.number("offsets.retention.check.interval.ms"),
            offsets_topic_compression_codec: typed.number("offsets.topic.compression.codec"),
            offsets_topic_num_partitions: typed.number("offsets.topic.num.partitions"),
            offsets_topic_replication_factor: typed.number("offsets.topic.replication.factor"),
            offsets_topic_segment_bytes: typed.number("offsets.topic.segment.bytes"),
            controlled_shutdown_enable: typed.boolean("controlled.shutdown.enable"),
            zookeeper_connect: typed.text("zookeeper.connect").filter(|text| !text.is_empty()),
            controlled_shutdown_max_retries: typed.number("controlled.shutdown.max.retries"),
            controlled_shutdown_retry_backoff_ms: typed.number("controlled.shutdown.retry.backoff.ms"),
            zookeeper_session_timeout_ms: typed.number("zookeeper.session.timeout.ms"),
            zookeeper_connection_timeout_ms: typed
                .text("zookeeper.connection.timeout.ms")
                .and_then(|text| text.parse().ok())
                .unwrap_or_else(|| typed.number("zookeeper.session.timeout.ms")),
            fixed,
            cluster,
            own,
            effective,
        })
    }
}

impl Default for BrokerConfig {
    /// Every key at its default: one broker without a number, listening on 9092.
    fn default() -> Self {
        match Self::layered(Settings::new(), Settings::new(), Settings::new()) {
            Ok(config) => config,
            Err(bad) => unreachable!("a default is refused: {bad}"),
        }
    }
}

/// `inter.broker.listener.name`; else the listener that is called as `security.inter.broker.protocol`, or
/// the first one.
fn inter_broker_listener(typed: &Typed<'_>, listeners: &[Endpoint]) -> String {
    if let Some(named) = typed
        .text("inter.broker.listener.name")
        .filter(|name| !name.is_empty())
    {
        return named.to_ascii_uppercase();
    }
    let protocol = typed.text("security.inter.broker.protocol").unwrap_or_default();
    let called = listeners.iter().find(|endpoint| endpoint.name == protocol);
    called
        .or(listeners.first())
        .map_or(protocol, |endpoint| endpoint.name.clone())
}

/// `log.dirs`, or `log.dir` if that is not set: at least one, and none twice.
fn log_dirs(typed: &Typed<'_>) -> Result<Vec<String>, super::BadValue> {
    let (key, dirs) = match typed.list("log.dirs") {
        Some(dirs) => ("log.dirs", dirs),
        None => ("log.dir", typed.list("log.dir").unwrap_or_default()),
    };
    let bad = |why: String| super::BadValue {
        key: key.to_owned(),
        value: dirs.join(","),
        why,
    };
    if dirs.iter().all(|dir| dir.is_empty()) {
        return Err(bad("Name at least one directory".to_owned()));
    }
    let mut seen = crate::ordered::OrderedSet::new();
    if let Some(twice) = dirs.iter().find(|dir| !seen.insert(dir.as_str())) {
        return Err(bad(format!("{twice} is named twice")));
    }
    Ok(dirs)
}

/// A follower's fetch may wait at the leader only for less than anybody waits for the follower.
fn check_fetch_wait(typed: &Typed<'_>) -> Result<(), super::BadValue> {
    const KEY: &str = "replica.fetch.wait.max.ms";
    let wait_ms: Millis = typed.number(KEY);
    for least in ["replica.socket.timeout.ms", "replica.lag.time.max.ms"] {
        let least_ms: Millis = typed.number(least);
        if wait_ms > least_ms {
            return Err(super::BadValue {
                key: KEY.to_owned(),
                value: wait_ms.to_string(),
                why: format!("It must be at most {least}, which is {least_ms}"),
            });
        }
    }
    Ok(())
}

/// `broker.id` and `node.id` are one number: whichever is set stands for both, and they may not differ.
fn join_node_id(fixed: &mut Settings, place: impl Fn(&str) -> String) -> Result<(), ConfigError> {
    match (fixed.get("node.id").cloned(), fixed.get("broker.id").cloned()) {
        (Some(node), None) => drop(fixed.insert("broker.id".to_owned(), node)),
        (None, Some(broker)) => drop(fixed.insert("node.id".to_owned(), broker)),
        (Some(node), Some(broker)) if node.trim() != broker.trim() => {
            let why = format!("broker.id is {broker}, but node.id is {node}; set one of them, or both alike");
            return Err(ConfigError {
                place: place("broker.id"),
                why,
            });
        }
        _ => {}
    }
    Ok(())
}

/// Reads values that were checked when they were set; an unset key gives its default.
struct Typed<'a>(&'a Settings);

impl Typed<'_> {
    fn value(&self, key: &str) -> Option<Value> {
        let row = broker_key(key)?;
        let set = self.0.get(key).and_then(|text| row.parse(text).ok());
        set.or_else(|| row.default_value())
    }

    /// Keys with a default only; a number too large for `N` was refused by the key's type.
    fn number<N: TryFrom<i64> + Default>(&self, key: &str) -> N {
        match self.value(key) {
            Some(Value::Number(number)) => N::try_from(number).unwrap_or_default(),
            _ => N::default(),
        }
    }

    fn boolean(&self, key: &str) -> bool {
        matches!(self.value(key), Some(Value::Boolean(true)))
    }

    fn text(&self, key: &str) -> Option<String> {
        self.value(key).map(|value| value.to_string())
    }

    fn list(&self, key: &str) -> Option<Vec<String>> {
        match self.value(key) {
            Some(Value::List(members)) => Some(members),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Loaded, ConfigError> {
        BrokerConfig::load("server.properties", text, &[])
    }

    #[test]
    fn the_file_then_the_overrides() {
        let overrides = [("num.partitions".to_owned(), "7".to_owned())];
        let text = "broker.id=3\nnum.partitions=4\nlog.dirs=/a, /b\nlisteners=PLAINTEXT://0.0.0.0:0\n";
        let loaded = BrokerConfig::load("server.properties", text, &overrides).unwrap();
        let config = loaded.config;
        assert_eq!((config.node_id, config.num_partitions), (3, 7));
        assert_eq!(config.log_dirs, ["/a", "/b"]);
        assert_eq!(config.value("node.id"), Some("3"));
        assert_eq!(config.value("num.io.threads"), Some("8"));
        assert_eq!(
            config.advertised("here")[0].host,
            "here",
            "0.0.0.0 is never advertised"
        );
        assert_eq!(loaded.warnings, Vec::<String>::new());
    }

    #[test]
    fn complaints_name_the_key_and_the_line() {
        let error = load("# a comment\n\nnum.partitions=none\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "server.properties line 3: Invalid value none for configuration num.partitions: Not a number of type INT"
        );
        let error = load("broker.id=1\nnode.id=2").unwrap_err();
        assert_eq!(error.place, "server.properties line 1");
        let error = load("advertised.listeners=PLAINTEXT://0.0.0.0:9092").unwrap_err();
        assert_eq!(error.place, "server.properties line 1");
        assert!(
            load("listeners=SSL://:9093").is_err(),
            "no promise of security that is not kept"
        );
        let error = load("replica.lag.time.max.ms=400").unwrap_err();
        assert!(
            error
                .why
                .ends_with("It must be at most replica.lag.time.max.ms, which is 400"),
            "{error}"
        );
        assert!(load("replica.fetch.wait.max.ms=400\nreplica.socket.timeout.ms=300").is_err());
        let loaded = load("no.such.key=1\n").unwrap();
        assert_eq!(
            loaded.warnings,
            ["server.properties line 1: unknown key 'no.such.key' is ignored"]
        );
    }

    #[test]
    fn dynamic_settings_lie_over_the_file() {
        let config = load("num.io.threads=5\nlog.retention.hours=24").unwrap().config;
        let cluster = Settings::from([
            ("log.retention.ms".into(), "1000".into()),
            ("num.io.threads".into(), "6".into()),
        ]);
        let own = Settings::from([("num.io.threads".into(), "7".into())]);
        let config = config.with_dynamic(&cluster, &own);
        assert_eq!(config.value("num.io.threads"), Some("7"));
        assert_eq!(config.value("log.retention.ms"), Some("1000"));
        assert_eq!(
            config.value("log.retention.hours"),
            Some("168"),
            "hidden by the ms, as in Kafka"
        );
        let config = config.with_dynamic(&Settings::new(), &Settings::new());
        assert_eq!(config.value("log.retention.hours"), Some("24"));
    }
}
