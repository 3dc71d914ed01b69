//! A controller's words to its brokers, and a leaving broker's to it: LeaderAndIsr (4),
//! StopReplica (5), UpdateMetadata (6), ControlledShutdown (7), as Kafka 3.9 speaks them.
//!
//! In the ZooKeeper way the controller decides and the brokers are told: LeaderAndIsr makes a
//! broker lead or follow partitions, StopReplica ends that, UpdateMetadata says what clients shall
//! be told of the cluster. ControlledShutdown goes the other way: a broker that wants to stop asks
//! for its leaderships to be moved. Each is fenced twice: by the controller's epoch, so that a
//! deposed controller is not heard, and by the broker's (the czxid of its `/brokers/ids` node), so
//! that what was meant for a broker's former life does not reach its next one.
//!
//! By hand, because Kafka 4 dropped them and no codec of today has them, and because they are more
//! than messages: a controller hands them as values to the broker that it lives in. So they hold
//! names as `Arc<str>`, copied out of the frame, and topics always stand grouped, whatever the
//! version's shape on the wire.
//!
//! Every version that Kafka 3.9 accepts is understood. They are accepted from anyone on any
//! listener, as 3.9 does without an authorizer; but they are not listed in answers to ApiVersions,
//! which name Kafka 4.4's APIs (3.9 lists them on every listener).
//!
//! Invariants
//! - what is decoded holds no slice of its frame
//! - a field that a version lacks reads as Kafka's default, and is left out when written

mod controlled_shutdown;
mod leader_and_isr;
mod stop_replica;
#[cfg(test)]
mod tests;
mod update_metadata;

pub use controlled_shutdown::{ControlledShutdownRequest, ControlledShutdownResponse};
pub use leader_and_isr::{
    LeaderAndIsrPartition, LeaderAndIsrPartitionError, LeaderAndIsrRequest, LeaderAndIsrResponse,
    LeaderAndIsrTopic, LeaderAndIsrTopicError, LiveLeader,
};
pub use stop_replica::{
    StopReplicaPartition, StopReplicaPartitionError, StopReplicaRequest, StopReplicaResponse,
    StopReplicaTopic,
};
pub use update_metadata::{
    UpdateMetadataBroker, UpdateMetadataEndpoint, UpdateMetadataPartition, UpdateMetadataRequest,
    UpdateMetadataResponse, UpdateMetadataTopic,
};

use std::sync::Arc;

use super::primitives::{Reader, Writer};
use crate::error::Malformed;
use crate::types::{BrokerId, LeaderEpoch, Uuid};

/// "Being deleted", in place of a leader (`LeaderAndIsr.LeaderDuringDelete`).
pub const LEADER_DURING_DELETE: BrokerId = -2;
/// An epoch that fences nobody, since the topic is being deleted (`LeaderAndIsr.EpochDuringDelete`).
pub const EPOCH_DURING_DELETE: LeaderEpoch = -2;

/// Whether a request names all that there is (`AbstractControlRequest.Type`, KIP-516, KIP-866). A
/// full one, which a controller sends first, also tells what no longer exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlRequestKind {
    /// The version does not say.
    #[default]
    Unknown,
    Incremental,
    Full,
}

impl ControlRequestKind {
    fn code(self) -> i8 {
        match self {
            Self::Unknown => 0,
            Self::Incremental => 1,
            Self::Full => 2,
        }
    }

    /// A number that is not known counts as unknown, as in Kafka.
    fn from_code(code: i8) -> Self {
        match code {
            1 => Self::Incremental,
            2 => Self::Full,
            _ => Self::Unknown,
        }
    }
}

/// A name that outlives its frame.
fn name(reader: &mut Reader, what: &'static str) -> Result<Arc<str>, Malformed> {
    reader.string(what).map(|name| Arc::from(&*name))
}

/// Topics by name, each with what is said of it.
type ByTopic<T> = Vec<(Arc<str>, Vec<T>)>;

/// A topic and what is said of its partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlTopic<P> {
    pub name: Arc<str>,
    /// Zero in versions that have none.
    pub topic_id: Uuid,
    pub partitions: Vec<P>,
}

impl<P> ControlTopic<P> {
    fn decode(
        reader: &mut Reader,
        has_id: bool,
        least_bytes: usize,
        partition: impl FnMut(&mut Reader) -> Result<P, Malformed>,
    ) -> Result<Self, Malformed> {
        let name = name(reader, "topic name")?;
        let topic_id = if has_id {
            reader.uuid("topic id")?
        } else {
            Uuid::ZERO
        };
        let partitions = reader.array("partitions", least_bytes, partition)?;
        reader.skip_tagged_fields()?;
        Ok(Self {
            name,
            topic_id,
            partitions,
        })
    }

    fn encode(&self, writer: &mut Writer, has_id: bool, partition: impl FnMut(&mut Writer, &P)) {
        writer.string("topic name", &self.name);
        if has_id {
            writer.uuid(self.topic_id);
        }
        writer.array("partitions", &self.partitions, partition);
        writer.tagged_fields(&[]);
    }

    /// Topics of a version that names the topic with each partition.
    fn decode_ungrouped(
        reader: &mut Reader,
        least_bytes: usize,
        mut partition: impl FnMut(&mut Reader) -> Result<P, Malformed>,
    ) -> Result<Vec<Self>, Malformed> {
        let partitions = reader.array("partitions", least_bytes, |reader| {
            let topic = name(reader, "topic name")?;
            partition(reader).map(|partition| (topic, partition))
        })?;
        let topic = |(name, partitions)| Self {
            name,
            topic_id: Uuid::ZERO,
            partitions,
        };
        Ok(group_by_topic(partitions).into_iter().map(topic).collect())
    }

    fn encode_ungrouped(topics: &[Self], writer: &mut Writer, mut partition: impl FnMut(&mut Writer, &P)) {
        writer.count(
            "partitions",
            topics.iter().map(|topic| topic.partitions.len()).sum(),
        );
        for topic in topics {
            for item in &topic.partitions {
                writer.string("topic name", &topic.name);
                partition(writer, item);
            }
        }
    }
}

/// Old versions name the topic with each partition: gathers neighbours of one topic.
fn group_by_topic<T>(items: Vec<(Arc<str>, T)>) -> ByTopic<T> {
    let mut topics = ByTopic::new();
    for (name, item) in items {
        match topics.last_mut() {
            Some((topic, items)) if *topic == name => items.push(item),
            _ => topics.push((name, vec![item])),
        }
    }
    topics
}
