//! The settings of a consumer: Kafka's keys, their defaults, and what does not go together
//! (`org.apache.kafka.clients.consumer.ConsumerConfig`).

use std::sync::Arc;

use super::assignor::{Assignor, RebalanceProtocol, parse_assignors};
use super::reset_strategy::ResetStrategy;
use crate::client::config::COMMON_KEYS;
use crate::client::{ClientConfig, ClientKeys, ClientSettings, InvalidConfig};
use crate::config::{
    BadValue, ConfigKey, ConfigType::*, Importance::*, Settings, UpdateMode::*, Valid::*, keys,
};
use crate::types::Millis;

keys! { pub static CONSUMER_KEYS =
    "allow.auto.create.topics": Boolean = "true", Medium, ReadOnly,
        "Whether a topic that is subscribed to or assigned, and does not exist, may be made by the broker.";
    "auto.commit.interval.ms": Int = "5000" in AtLeast(0), Low, ReadOnly,
        "How often positions are committed when enable.auto.commit is true.";
    "auto.offset.reset": Text = "latest", Medium, ReadOnly,
        "Where to begin when there is no committed offset, or none any more: earliest, latest, none or by_duration:PnDTnHnMn.nS.";
    "check.crcs": Boolean = "true", Low, ReadOnly,
        "Whether the checksum of each batch is compared with its bytes.";
    "client.rack": Text = "", Low, ReadOnly,
        "Where this consumer runs, as broker.rack names it.";
    "default.api.timeout.ms": Int = "60000" in AtLeast(0), Medium, ReadOnly,
        "How long an operation without a time of its own is tried.";
    "enable.auto.commit": Boolean = "true", Medium, ReadOnly,
        "Whether positions are committed by themselves now and then.";
    "exclude.internal.topics": Boolean = "true", Medium, ReadOnly,
        "Whether a pattern passes internal topics over.";
    "fetch.max.bytes": Int = "52428800" in AtLeast(0), Medium, ReadOnly,
        "Most bytes that one fetch gives; a first batch that is larger is given all the same.";
    "fetch.max.wait.ms": Int = "500" in AtLeast(0), Low, ReadOnly,
        "How long a broker may wait for fetch.min.bytes.";
    "fetch.min.bytes": Int = "1" in AtLeast(0), High, ReadOnly,
        "A fetch is answered when so many bytes are there, or fetch.max.wait.ms is over.";
    "group.id": Text = unset, High, ReadOnly,
        "The group that the consumer belongs to.";
    "group.instance.id": Text = unset, Medium, ReadOnly,
        "Makes the consumer a static member of its group by this name.";
    "group.protocol": Text = "classic" in OneOfAnyCase(&["CONSUMER", "CLASSIC"]), High, ReadOnly,
        "How members and coordinator speak; only classic is known here.";
    "group.remote.assignor": Text = unset, Medium, ReadOnly,
        "The coordinator's assignor, which only group.protocol=consumer has.";
    "heartbeat.interval.ms": Int = "3000", High, ReadOnly,
        "How often a member tells its coordinator that it is there.";
    "isolation.level": Text = "read_uncommitted" in OneOf(&["read_committed", "read_uncommitted"]), Medium, ReadOnly,
        "Whether records of open and aborted transactions are read.";
    "max.partition.fetch.bytes": Int = "1048576" in AtLeast(0), High, ReadOnly,
        "Most bytes of one partition that one fetch gives; a first batch that is larger is given all the same.";
    "max.poll.interval.ms": Int = "300000" in AtLeast(1), Medium, ReadOnly,
        "Who does not poll for so long leaves its group.";
    "max.poll.records": Int = "500" in AtLeast(1), Medium, ReadOnly,
        "Most records that one poll returns.";
    "partition.assignment.strategy": List = "class org.apache.kafka.clients.consumer.RangeAssignor,class org.apache.kafka.clients.consumer.CooperativeStickyAssignor", Medium, ReadOnly,
        "The assignors that the consumer offers its group, the best first.";
    "receive.buffer.bytes": Int = "65536" in AtLeast(-1), Medium, ReadOnly,
        "Size of the socket's buffer for receiving; -1 leaves it to the system.";
    "session.timeout.ms": Int = "45000", High, ReadOnly,
        "A member that is not heard of for so long is out of its group.";
}

/// Every key that a consumer knows.
pub const KEYS: ClientKeys = &[COMMON_KEYS, CONSUMER_KEYS];

/// Which records of transactions are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    ReadUncommitted,
    /// Up to the last stable offset, and none of an aborted transaction.
    ReadCommitted,
}

impl IsolationLevel {
    /// The number on the wire.
    pub fn code(self) -> i8 {
        match self {
            Self::ReadUncommitted => 0,
            Self::ReadCommitted => 1,
        }
    }
}

/// How a consumer belongs to a group (`GroupRebalanceConfig`).
#[derive(Clone, Debug)]
pub struct GroupConfig {
    pub group: Arc<str>,
    /// A static member's name (KIP-345).
    pub instance: Option<Arc<str>>,
    pub heartbeat_interval_ms: Millis,
    pub session_timeout_ms: Millis,
    /// The rebalance timeout too, as in Kafka.
    pub max_poll_interval_ms: Millis,
    /// The best first.
    pub assignors: Vec<&'static dyn Assignor>,
    /// The most advanced way that all assignors follow.
    pub protocol: RebalanceProtocol,
    pub auto_commit: bool,
    pub auto_commit_interval_ms: Millis,
}

/// What a consumer goes by.
#[derive(Clone, Debug)]
pub struct ConsumerConfig {
    pub client: ClientConfig,
    /// `None`: the consumer belongs to no group; it can only be assigned partitions, and commits nothing.
    pub group: Option<GroupConfig>,
    pub allow_auto_create_topics: bool,
    pub auto_offset_reset: ResetStrategy,
    pub check_crcs: bool,
    pub client_rack: Option<Arc<str>>,
    pub default_api_timeout_ms: Millis,
    pub exclude_internal_topics: bool,
    pub fetch_max_bytes: i32,
    pub fetch_max_wait_ms: i32,
    pub fetch_min_bytes: i32,
    pub isolation_level: IsolationLevel,
    pub max_partition_fetch_bytes: i32,
    pub max_poll_records: usize,
    /// Keys that nobody knows, to be told of.
    pub unused: Vec<String>,
}

impl ConsumerConfig {
    /// Reads settings as text.
    ///
    /// # Errors
    /// The first value that its key does not allow, or two that do not go together.
    pub fn read(settings: &Settings) -> Result<Self, InvalidConfig> {
        let settings = ClientSettings::read(KEYS, settings)?;
        let number = |key| i32::try_from(settings.number(key)).unwrap_or(i32::MAX);
        let group = group(&settings)?;
        let mut client = ClientConfig::resolve(&settings)?;
        if client.client_id.is_empty() {
            client.client_id = client_id(group.as_ref());
        }
        let rack = settings.text("client.rack");
        Ok(Self {
            client,
            group,
            allow_auto_create_topics: settings.boolean("allow.auto.create.topics"),
            auto_offset_reset: auto_offset_reset(settings.text("auto.offset.reset"))?,
            check_crcs: settings.boolean("check.crcs"),
            client_rack: (!rack.is_empty()).then(|| rack.into()),
            default_api_timeout_ms: settings.number("default.api.timeout.ms"),
            exclude_internal_topics: settings.boolean("exclude.internal.topics"),
            fetch_max_bytes: number("fetch.max.bytes"),
            fetch_max_wait_ms: number("fetch.max.wait.ms"),
            fetch_min_bytes: number("fetch.min.bytes"),
            isolation_level: match settings.text("isolation.level") {
                "read_committed" => IsolationLevel::ReadCommitted,
                _ => IsolationLevel::ReadUncommitted,
            },
            max_partition_fetch_bytes: number("max.partition.fetch.bytes"),
            max_poll_records: settings.number("max.poll.records") as usize,
            unused: settings.unused.clone(),
        })
    }
}

/// As Java names a consumer that has no name; there it counts its consumers.
fn client_id(group: Option<&GroupConfig>) -> Arc<str> {
    let name = group.map_or("null", |group| &group.group);
    let instance = group.and_then(|group| group.instance.as_deref());
    format!("consumer-{name}-{}", instance.unwrap_or("1")).into()
}

fn auto_offset_reset(text: &str) -> Result<ResetStrategy, InvalidConfig> {
    ResetStrategy::parse(text).ok_or_else(|| {
        InvalidConfig::Value(BadValue {
            key: "auto.offset.reset".to_owned(),
            value: text.to_owned(),
            why: format!(
                "Invalid value `{text}` for configuration auto.offset.reset. The value must be either 'earliest', \
                 'latest', 'none' or of the format 'by_duration:<PnDTnHnMn.nS.>'."
            ),
        })
    })
}

fn group(settings: &ClientSettings) -> Result<Option<GroupConfig>, InvalidConfig> {
    let refuse = |line: &str| Err(InvalidConfig::Combination(line.to_owned()));
    if settings.text("group.protocol").eq_ignore_ascii_case("consumer") {
        return refuse(
            "group.protocol=consumer is not known here: set group.protocol=classic, which every broker knows",
        );
    }
    if !settings.text("group.remote.assignor").is_empty() {
        return refuse("group.remote.assignor cannot be set when group.protocol=CLASSIC");
    }
    if !settings.is_set("group.id") {
        if settings.is_set("enable.auto.commit") && settings.boolean("enable.auto.commit") {
            return refuse("enable.auto.commit cannot be set to true when default group id (null) is used.");
        }
        return Ok(None);
    }
    let name = settings.text("group.id");
    if name.trim().is_empty() {
        return refuse("The configured group.id should not be an empty string or whitespace.");
    }
    let instance = settings.text("group.instance.id");
    if settings.is_set("group.instance.id") {
        check_instance(instance)?;
    }
    let (session, heartbeat) = (
        settings.number("session.timeout.ms"),
        settings.number("heartbeat.interval.ms"),
    );
    if heartbeat >= session {
        return refuse("Heartbeat must be set lower than the session timeout");
    }
    let assignors = assignors(settings.list("partition.assignment.strategy"))?;
    Ok(Some(GroupConfig {
        group: name.into(),
        instance: (!instance.is_empty()).then(|| instance.into()),
        heartbeat_interval_ms: heartbeat,
        session_timeout_ms: session,
        max_poll_interval_ms: settings.number("max.poll.interval.ms"),
        protocol: common_protocol(&assignors)?,
        assignors,
        auto_commit: settings.boolean("enable.auto.commit"),
        auto_commit_interval_ms: settings.number("auto.commit.interval.ms"),
    }))
}

/// A static member's name goes by the rules of topic names (`JoinGroupRequest.validateGroupInstanceId`).
fn check_instance(name: &str) -> Result<(), InvalidConfig> {
    let is_sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let why = match name {
        "" => {
            return Err(InvalidConfig::Value(BadValue {
                key: "group.instance.id".to_owned(),
                value: String::new(),
                why: "String must be non-empty".to_owned(),
            }));
        }
        "." | ".." => format!("'{name}' is not allowed"),
        _ if name.len() > 249 => {
            format!("the length of '{name}' is longer than the max allowed length 249")
        }
        _ if !name.chars().all(is_sound) => format!(
            "'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
        ),
        _ => return Ok(()),
    };
    Err(InvalidConfig::Combination(format!(
        "Group instance id is invalid: {why}"
    )))
}

fn assignors(list: &[String]) -> Result<Vec<&'static dyn Assignor>, InvalidConfig> {
    // Kafka shows its default as Java shows a class.
    let names: Vec<&str> = list
        .iter()
        .map(|name| name.strip_prefix("class ").unwrap_or(name))
        .collect();
    parse_assignors(&names.join(",")).map_err(|error| InvalidConfig::Combination(error.to_string()))
}

fn common_protocol(assignors: &[&'static dyn Assignor]) -> Result<RebalanceProtocol, InvalidConfig> {
    let all_follow = |protocol: &RebalanceProtocol| {
        let mut all = assignors.iter();
        all.all(|assignor| assignor.protocols().contains(protocol))
    };
    [RebalanceProtocol::Cooperative, RebalanceProtocol::Eager]
        .into_iter()
        .find(all_follow)
        .ok_or_else(|| {
            let names: Vec<&str> = assignors.iter().map(|assignor| assignor.name()).collect();
            InvalidConfig::Combination(format!(
                "Specified assignors [{}] do not have commonly supported rebalance protocol",
                names.join(", ")
            ))
        })
}
