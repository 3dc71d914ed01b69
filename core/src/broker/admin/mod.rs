//! Answers to the admin requests, and to Metadata.
//!
//! Those that only read are functions of a [`Cluster`] and the request. Those that change something
//! decide topic by topic, each from the image that the one before left, and answer an [`Outcome`]:
//! the response to send once the change is durable, and the topics that it touched.
//!
//! Codes and messages are what a Kafka 4.4 broker answers to Kafka's own admin client.

mod change;
mod configs;
mod describe;
mod elections;
mod metadata;
mod reassignments;
mod refusal;
mod resources;
mod topics;

use std::sync::Arc;

use crate::config::BrokerConfig;
use crate::error::{ErrorCode, Refused};
use crate::metadata::MetadataImage;
use crate::protocol::StrBytes;
use crate::types::BrokerId;

pub use change::{CREATION_ON_DEMAND_VERSION, change, creation_on_demand, is_change};
pub use configs::{alter_configs, describe_configs, incremental_alter_configs};
pub use describe::{describe_cluster, describe_topic_partitions};
pub use elections::elect_leaders;
pub use metadata::{metadata, topics_to_create};
pub use reassignments::{alter_partition_reassignments, list_partition_reassignments};
pub use refusal::{NOT_THE_CONTROLLER, refuse_changes};
pub use resources::list_config_resources;
pub use topics::{create_partitions, create_topics, create_topics_on_demand, delete_topics};

/// A broker that lives, as clients on the asking listener are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub id: BrokerId,
    /// Never an address that stands for every interface.
    pub host: String,
    pub port: u16,
    pub rack: Option<String>,
}

/// What an answer is made from.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    pub image: &'a MetadataImage,
    /// This broker's settings, with what the image sets laid over them.
    pub config: &'a BrokerConfig,
    /// The brokers that live, by id.
    pub nodes: &'a [Node],
    /// -1: none.
    pub controller_id: BrokerId,
}

impl Cluster<'_> {
    fn is_alive(&self, broker: BrokerId) -> bool {
        self.nodes.iter().any(|node| node.id == broker)
    }
}

/// A response that may be sent when the change behind it is on disk.
#[derive(Clone, Debug)]
pub struct Outcome<R> {
    pub response: R,
    /// Topics that were created, marked for deletion, given more partitions or other settings.
    pub topics: Vec<Arc<str>>,
}

/// Operations on a topic that everybody is authorized for here (`AclOperation` as bits).
const TOPIC_OPERATIONS: i32 = 0b1101_1111_1000;
/// Likewise on the cluster.
const CLUSTER_OPERATIONS: i32 = 0b1_1111_1010_0000;
/// "Not asked for."
const NO_OPERATIONS: i32 = i32::MIN;

fn text(refused: &Refused) -> Option<StrBytes> {
    refused.message.as_deref().map(StrBytes::from)
}

fn invalid(message: impl Into<String>) -> Refused {
    Refused::new(ErrorCode::InvalidRequest, message)
}

/// Each that comes more than once, once.
fn duplicates<'a, T: Ord + 'a>(items: impl Iterator<Item = T>) -> crate::ordered::OrderedSet<T> {
    let mut seen = crate::ordered::OrderedSet::new();
    let mut twice = crate::ordered::OrderedSet::new();
    for item in items {
        if seen.contains(&item) {
            twice.insert(item);
        } else {
            seen.insert(item);
        }
    }
    twice
}

#[cfg(test)]
mod tests;
