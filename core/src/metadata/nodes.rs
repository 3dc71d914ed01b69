//! Paths and bytes of the nodes, as Kafka 3.9 has them in ZooKeeper (`kafka.zk.ZkData`).
//!
//! Fields stand in the order in which Kafka 3.9 writes them, so that a node of ours equals its own byte
//! for byte; only the entries of a large map may come in another order.
//!
//! | path | bytes |
//! |---|---|
//! | `/brokers/ids/N` | a living broker's endpoints; ephemeral, and its czxid is the broker epoch |
//! | `/brokers/topics/NAME` | version 3: topic id, replicas of each partition |
//! | `/brokers/topics/NAME/partitions/N/state` | leader, leader epoch, ISR; the node's version is the partition epoch |
//! | `/config/topics/NAME`, `/config/brokers/ID`, `/config/brokers/<default>` | settings |
//! | `/config/changes/config_change_N` | whose settings have changed |
//! | `/controller` | who holds the office; ephemeral |
//! | `/controller_epoch` | the office's number, as text |
//! | `/admin/delete_topics/NAME` | nothing: the topic is being deleted |
//! | `/admin/reassign_partitions`, `/admin/preferred_replica_election` | what tools ask of the controller |
//! | `/log_dir_event_notification/log_dir_event_N` | a broker lost a log directory |
//! | `/isr_change_notification/isr_change_N` | partitions whose state another than the controller wrote |
//! | `/cluster/id` | the cluster's id |
//! | `/latest_producer_id_block` | the last block of producer ids that was given away |
//!
//! Nodes are looked up through [`NodeSource`], so that a controller, which has loaded a part of the
//! tree, reads as whoever has all of it.

use std::sync::Arc;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::config::{Endpoint, Settings};
use crate::coordination::{Multi, Tree};
use crate::ordered::OrderedMap;
use crate::types::{BrokerId, LeaderEpoch, Millis, PartitionIndex, ProducerId, TopicPartition, Uuid};

pub const TOPICS: &str = "/brokers/topics";
pub const TOPIC_CONFIGS: &str = "/config/topics";
pub const BROKER_CONFIGS: &str = "/config/brokers";
pub const DELETE_TOPICS: &str = "/admin/delete_topics";
pub const CLUSTER_ID: &str = "/cluster/id";
pub const PRODUCER_ID_BLOCK: &str = "/latest_producer_id_block";
/// Stands for all brokers under [`BROKER_CONFIGS`].
pub const DEFAULT_ENTITY: &str = "<default>";

pub const BROKER_IDS: &str = "/brokers/ids";
pub const CONFIG_CHANGES: &str = "/config/changes";
pub const CONTROLLER: &str = "/controller";
pub const CONTROLLER_EPOCH: &str = "/controller_epoch";
pub const REASSIGN_PARTITIONS: &str = "/admin/reassign_partitions";
pub const PREFERRED_REPLICA_ELECTION: &str = "/admin/preferred_replica_election";
pub const ISR_CHANGES: &str = "/isr_change_notification";
pub const LOG_DIR_EVENTS: &str = "/log_dir_event_notification";
pub const FEATURE: &str = "/feature";

/// Nodes that every broker makes at its start if they are not there (`ZkData.PersistentZkPaths` with
/// their parents); a parent comes before its children.
pub const PERSISTENT: [&str; 18] = [
    "/admin",
    DELETE_TOPICS,
    "/brokers",
    BROKER_IDS,
    "/brokers/seqid",
    TOPICS,
    "/cluster",
    "/config",
    BROKER_CONFIGS,
    CONFIG_CHANGES,
    "/config/clients",
    "/config/ips",
    TOPIC_CONFIGS,
    "/config/users",
    "/consumers",
    ISR_CHANGES,
    PRODUCER_ID_BLOCK,
    LOG_DIR_EVENTS,
];

/// One node as a reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeView<'a> {
    pub data: &'a Bytes,
    pub version: i32,
    /// The change that created it, in the service's count.
    pub czxid: i64,
}

/// Where nodes are looked up: a whole tree, or the part of one that somebody has loaded.
pub trait NodeSource {
    fn node(&self, path: &str) -> Option<NodeView<'_>>;
    /// Names of the node's children, in order; none when there is no such node.
    fn child_names(&self, path: &str) -> Vec<Arc<str>>;
}

impl NodeSource for Tree {
    fn node(&self, path: &str) -> Option<NodeView<'_>> {
        self.get(path).map(|node| NodeView {
            data: &node.data,
            version: node.stat.version,
            czxid: node.stat.czxid,
        })
    }

    fn child_names(&self, path: &str) -> Vec<Arc<str>> {
        self.children(path).cloned().collect()
    }
}

/// A node whose bytes are not what stands at its path: nothing may be guessed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the node {path} cannot be read: {why}")]
pub struct BadNode {
    pub path: String,
    pub why: String,
}

pub fn topic(name: &str) -> String {
    format!("{TOPICS}/{name}")
}

pub fn partitions(name: &str) -> String {
    format!("{TOPICS}/{name}/partitions")
}

pub fn partition(name: &str, partition: PartitionIndex) -> String {
    format!("{TOPICS}/{name}/partitions/{partition}")
}

pub fn partition_state(name: &str, partition: PartitionIndex) -> String {
    format!("{TOPICS}/{name}/partitions/{partition}/state")
}

/// The partition whose state lies there; `None` for any other path.
pub fn partition_of_state(path: &str) -> Option<TopicPartition> {
    let inner = path
        .strip_prefix(TOPICS)?
        .strip_prefix('/')?
        .strip_suffix("/state")?;
    let (topic, number) = inner.split_once("/partitions/")?;
    Some(TopicPartition::new(topic, number.parse().ok()?))
}

pub fn topic_config(name: &str) -> String {
    format!("{TOPIC_CONFIGS}/{name}")
}

/// `None`: all brokers.
pub fn broker_config(broker: Option<BrokerId>) -> String {
    match broker {
        Some(id) => format!("{BROKER_CONFIGS}/{id}"),
        None => format!("{BROKER_CONFIGS}/{DEFAULT_ENTITY}"),
    }
}

/// A new one gets its number behind it.
pub fn log_dir_event_prefix() -> String {
    format!("{LOG_DIR_EVENTS}/log_dir_event_")
}

/// A living broker.
pub fn broker(id: BrokerId) -> String {
    format!("{BROKER_IDS}/{id}")
}

pub fn delete_topic(name: &str) -> String {
    format!("{DELETE_TOPICS}/{name}")
}

/// Creates what a tree must have and this one has not; a new cluster's id is asked for only then.
pub fn missing_nodes(exists: impl Fn(&str) -> bool, cluster_id: impl FnOnce() -> String) -> Multi {
    let missing = PERSISTENT.iter().filter(|path| !exists(path));
    let multi = missing.fold(Multi::new(), |multi, path| multi.create(*path, ""));
    if exists(CLUSTER_ID) {
        return multi;
    }
    multi.create(CLUSTER_ID, write(&ClusterId::new(cluster_id())))
}

/// Bytes of `/brokers/topics/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicAssignment {
    /// Brokers of each partition, the preferred leader first.
    pub partitions: OrderedMap<PartitionIndex, Vec<BrokerId>>,
    /// Zero: written by a tool that knows of no ids; the controller gives one.
    #[serde(default, with = "id_as_text")]
    pub topic_id: Uuid,
    /// Of a moving partition, those that come.
    #[serde(default)]
    pub adding_replicas: OrderedMap<PartitionIndex, Vec<BrokerId>>,
    /// Of a moving partition, those that go.
    #[serde(default)]
    pub removing_replicas: OrderedMap<PartitionIndex, Vec<BrokerId>>,
    pub version: i32,
}

impl TopicAssignment {
    pub fn new(topic_id: Uuid, replicas: &[Vec<BrokerId>]) -> Self {
        Self {
            adding_replicas: OrderedMap::new(),
            partitions: (0..).zip(replicas.iter().cloned()).collect(),
            removing_replicas: OrderedMap::new(),
            topic_id,
            version: 3,
        }
    }
}

/// Bytes of `/brokers/topics/NAME/partitions/N/state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionState {
    pub controller_epoch: i32,
    /// -1: none.
    pub leader: BrokerId,
    pub version: i32,
    /// [`LeaderRecoveryState`](crate::types::LeaderRecoveryState) as its number; 0 is not written.
    #[serde(default, skip_serializing_if = "is_recovered")]
    pub leader_recovery_state: i8,
    pub leader_epoch: LeaderEpoch,
    pub isr: Vec<BrokerId>,
}

fn is_recovered(state: &i8) -> bool {
    *state == 0
}

/// Bytes of a node under `/config`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityConfig {
    pub version: i32,
    pub config: Settings,
}

impl EntityConfig {
    pub fn new(config: Settings) -> Self {
        Self { config, version: 1 }
    }
}

/// Bytes of `/cluster/id`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterId {
    pub version: String,
    pub id: String,
}

impl ClusterId {
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            version: "1".to_owned(),
        }
    }
}

/// Bytes of `/brokers/ids/N`, version 5.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broker {
    #[serde(default)]
    pub features: OrderedMap<String, serde_json::Value>,
    /// Listener name to security protocol.
    #[serde(default)]
    pub listener_security_protocol_map: OrderedMap<String, String>,
    /// `NAME://host:port`, each as clients are told.
    pub endpoints: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    pub jmx_port: i32,
    pub port: i32,
    pub host: Option<String>,
    pub version: i32,
    /// When it registered, in ms since the Unix epoch.
    #[serde(with = "number_as_text")]
    pub timestamp: Millis,
}

impl Broker {
    /// A broker that clients reach in plain text by these endpoints, one per listener.
    pub fn new(advertised: &[Endpoint], rack: Option<&str>, now: Millis) -> Self {
        let plain = advertised.first();
        let protocols = advertised
            .iter()
            .map(|endpoint| (endpoint.name.clone(), "PLAINTEXT".to_owned()));
        Self {
            features: OrderedMap::new(),
            listener_security_protocol_map: protocols.collect(),
            endpoints: advertised.iter().map(ToString::to_string).collect(),
            jmx_port: -1,
            port: plain.map_or(-1, |endpoint| i32::from(endpoint.port)),
            host: plain.map(|endpoint| endpoint.host.clone()),
            rack: rack.map(str::to_owned),
            version: 5,
            timestamp: now,
        }
    }

    /// The endpoints that can be read.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        self.endpoints
            .iter()
            .filter_map(|text| Endpoint::parse(text))
            .collect()
    }
}

/// Bytes of `/controller`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controller {
    pub version: i32,
    pub brokerid: BrokerId,
    #[serde(with = "number_as_text")]
    pub timestamp: Millis,
    #[serde(default = "no_epoch", rename = "kraftControllerEpoch")]
    pub kraft_controller_epoch: i32,
}

impl Controller {
    pub fn new(brokerid: BrokerId, now: Millis) -> Self {
        Self {
            version: 2,
            brokerid,
            timestamp: now,
            kraft_controller_epoch: no_epoch(),
        }
    }
}

fn no_epoch() -> i32 {
    -1
}

/// Bytes of a node under `/config/changes`: the owner is `topics/NAME`, `brokers/ID` and so on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigChange {
    pub version: i32,
    pub entity_path: String,
}

/// Bytes of a node under `/log_dir_event_notification`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogDirEvent {
    pub version: i32,
    pub broker: BrokerId,
    /// 1: a directory failed.
    pub event: i32,
}

impl LogDirEvent {
    pub fn failure(broker: BrokerId) -> Self {
        Self {
            broker,
            event: 1,
            version: 1,
        }
    }
}

/// Bytes of `/admin/preferred_replica_election` and of a node under `/isr_change_notification`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedPartitions {
    #[serde(default)]
    pub version: i32,
    pub partitions: Vec<TopicPartition>,
}

/// Bytes of `/admin/reassign_partitions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reassignments {
    #[serde(default)]
    pub version: i32,
    pub partitions: Vec<WantedReplicas>,
}

/// One partition of [`Reassignments`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedReplicas {
    pub topic: Arc<str>,
    pub partition: PartitionIndex,
    pub replicas: Vec<BrokerId>,
}

/// Bytes of `/feature`, version 2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// What is finalized, by name.
    pub features: OrderedMap<String, FinalizedVersion>,
    pub version: i32,
    /// 1: enabled.
    pub status: i32,
}

impl Feature {
    /// Features are enabled, and none is finalized.
    pub fn none() -> Self {
        Self {
            features: OrderedMap::new(),
            version: 2,
            status: 1,
        }
    }
}

/// One entry of [`Feature`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalizedVersion {
    pub max_version_level: i16,
}

/// Bytes of `/latest_producer_id_block`. Both ends belong to the block; Kafka writes them as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProducerIdBlock {
    pub version: i32,
    pub broker: BrokerId,
    #[serde(with = "number_as_text")]
    pub block_start: ProducerId,
    #[serde(with = "number_as_text")]
    pub block_end: ProducerId,
}

/// A node's value as JSON.
pub fn write(value: &impl Serialize) -> Bytes {
    // Maps with text or number keys and plain fields always have a JSON form.
    serde_json::to_vec(value).unwrap_or_default().into()
}

/// The value of a node that was read.
pub fn parse<T: DeserializeOwned>(path: &str, data: &[u8]) -> Result<T, BadNode> {
    serde_json::from_slice(data).map_err(|error| BadNode {
        path: path.to_owned(),
        why: error.to_string(),
    })
}

/// The value at the path; `None` when there is no node or it holds nothing.
pub fn read<T: DeserializeOwned>(source: &impl NodeSource, path: &str) -> Result<Option<T>, BadNode> {
    match source.node(path) {
        Some(node) if !node.data.is_empty() => parse(path, node.data).map(Some),
        _ => Ok(None),
    }
}

mod id_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::types::Uuid;

    pub fn serialize<S: Serializer>(id: &Uuid, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(id)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uuid, D::Error> {
        let text = String::deserialize(deserializer)?;
        Uuid::parse(&text).ok_or_else(|| D::Error::custom(format!("'{text}' is no topic id")))
    }
}

mod number_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(number: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|_| D::Error::custom(format!("'{text}' is no number")))
    }
}

#[cfg(test)]
mod tests;
