//! Paths and bytes of the nodes, as Kafka 3.9 has them in ZooKeeper (`kafka.zk.ZkData`).
//!
//! | path | bytes |
//! |---|---|
//! | `/brokers/topics/NAME` | version 3: topic id, replicas of each partition |
//! | `/brokers/topics/NAME/partitions/N/state` | leader, leader epoch, ISR; the node's version is the partition epoch |
//! | `/config/topics/NAME`, `/config/brokers/ID`, `/config/brokers/<default>` | settings |
//! | `/admin/delete_topics/NAME` | nothing: the topic is being deleted |
//! | `/cluster/id` | the cluster's id |
//! | `/latest_producer_id_block` | the last block of producer ids that was given away |

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::config::Settings;
use crate::coordination::{Multi, Tree};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, ProducerId, Uuid};

pub const TOPICS: &str = "/brokers/topics";
pub const TOPIC_CONFIGS: &str = "/config/topics";
pub const BROKER_CONFIGS: &str = "/config/brokers";
pub const DELETE_TOPICS: &str = "/admin/delete_topics";
pub const CLUSTER_ID: &str = "/cluster/id";
pub const PRODUCER_ID_BLOCK: &str = "/latest_producer_id_block";
/// Stands for all brokers under [`BROKER_CONFIGS`].
pub const DEFAULT_ENTITY: &str = "<default>";

/// Nodes that are always there; a parent comes before its children.
const PERSISTENT: [&str; 9] = [
    "/admin",
    DELETE_TOPICS,
    "/brokers",
    "/brokers/ids",
    TOPICS,
    "/cluster",
    "/config",
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
];

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

pub fn delete_topic(name: &str) -> String {
    format!("{DELETE_TOPICS}/{name}")
}

/// Creates what a tree must have and this one has not.
pub fn missing_nodes(tree: &Tree, cluster_id: &str) -> Multi {
    let missing = PERSISTENT.iter().filter(|path| !tree.exists(path));
    let multi = missing.fold(Multi::new(), |multi, path| multi.create(*path, ""));
    if tree.exists(CLUSTER_ID) {
        return multi;
    }
    let id = ClusterId {
        version: "1".to_owned(),
        id: cluster_id.to_owned(),
    };
    multi.create(CLUSTER_ID, write(&id))
}

/// Bytes of `/brokers/topics/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicAssignment {
    /// Of a moving partition, those that come.
    #[serde(default)]
    pub adding_replicas: BTreeMap<PartitionIndex, Vec<BrokerId>>,
    /// Brokers of each partition, the preferred leader first.
    pub partitions: BTreeMap<PartitionIndex, Vec<BrokerId>>,
    /// Of a moving partition, those that go.
    #[serde(default)]
    pub removing_replicas: BTreeMap<PartitionIndex, Vec<BrokerId>>,
    #[serde(with = "id_as_text")]
    pub topic_id: Uuid,
    pub version: i32,
}

impl TopicAssignment {
    pub fn new(topic_id: Uuid, replicas: &[Vec<BrokerId>]) -> Self {
        Self {
            adding_replicas: BTreeMap::new(),
            partitions: (0..).zip(replicas.iter().cloned()).collect(),
            removing_replicas: BTreeMap::new(),
            topic_id,
            version: 3,
        }
    }
}

/// Bytes of `/brokers/topics/NAME/partitions/N/state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionState {
    pub controller_epoch: i32,
    pub isr: Vec<BrokerId>,
    /// -1: none.
    pub leader: BrokerId,
    pub leader_epoch: LeaderEpoch,
    pub version: i32,
}

/// Bytes of a node under `/config`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityConfig {
    pub config: Settings,
    pub version: i32,
}

impl EntityConfig {
    pub fn new(config: Settings) -> Self {
        Self { config, version: 1 }
    }
}

/// Bytes of `/cluster/id`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterId {
    pub id: String,
    pub version: String,
}

/// Bytes of `/latest_producer_id_block`. Both ends belong to the block; Kafka writes them as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProducerIdBlock {
    #[serde(with = "number_as_text")]
    pub block_end: ProducerId,
    #[serde(with = "number_as_text")]
    pub block_start: ProducerId,
    pub broker: BrokerId,
    pub version: i32,
}

/// A node's value as JSON.
pub fn write(value: &impl Serialize) -> Bytes {
    // Maps with text or number keys and plain fields always have a JSON form.
    serde_json::to_vec(value).unwrap_or_default().into()
}

/// The value at the path; `None` when there is no node or it holds nothing.
pub fn read<T: DeserializeOwned>(tree: &Tree, path: &str) -> Result<Option<T>, BadNode> {
    match tree.get(path) {
        Some(node) if !node.data.is_empty() => {
            serde_json::from_slice(&node.data)
                .map(Some)
                .map_err(|error| BadNode {
                    path: path.to_owned(),
                    why: error.to_string(),
                })
        }
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
