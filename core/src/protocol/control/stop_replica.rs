//! StopReplica, versions 0 to 4: follow these partitions no more, and perhaps delete their logs.

use std::sync::Arc;

use super::{ByTopic, group_by_topic, name};
use crate::error::{ErrorCode, Malformed};
use crate::protocol::primitives::{Reader, Writer};
use crate::protocol::produce::decode_error_code;
use crate::types::{BrokerId, LeaderEpoch, NO_EPOCH, PartitionIndex, TopicPartition};

/// Version 1 brought the broker's epoch too.
const FIRST_BY_TOPIC: i16 = 1;
/// Before, the request said once for all whether to delete.
const FIRST_BY_PARTITION: i16 = 3;
const FIRST_WITH_KRAFT_FLAG: i16 = 4;

/// Least bytes of an array's items on the wire, over all versions.
const LEAST_TOPIC_BYTES: usize = 3;
const LEAST_PARTITION_BYTES: usize = 4;
const LEAST_ERROR_BYTES: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopReplicaRequest {
    pub controller_id: BrokerId,
    /// Only while a cluster moves to KRaft (KIP-866); from version 4 on.
    pub is_kraft_controller: bool,
    pub controller_epoch: i32,
    /// The life of the broker that is spoken to, -1 when not known; from version 1 on.
    pub broker_epoch: i64,
    pub topics: Vec<StopReplicaTopic>,
}

impl Default for StopReplicaRequest {
    fn default() -> Self {
        Self {
            controller_id: 0,
            is_kraft_controller: false,
            controller_epoch: 0,
            broker_epoch: -1,
            topics: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopReplicaTopic {
    pub name: Arc<str>,
    pub partitions: Vec<StopReplicaPartition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopReplicaPartition {
    pub partition_index: PartitionIndex,
    /// Fences the request (KIP-570); -1: not known, [`EPOCH_DURING_DELETE`](super::EPOCH_DURING_DELETE):
    /// whatever the epoch is. From version 3 on.
    pub leader_epoch: LeaderEpoch,
    /// Before version 3 the same for all partitions of a request.
    pub delete_partition: bool,
}

impl StopReplicaRequest {
    pub fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let mut request = Self {
            controller_id: reader.i32("controller id")?,
            ..Self::default()
        };
        if version >= FIRST_WITH_KRAFT_FLAG {
            request.is_kraft_controller = reader.bool("KRaft flag")?;
        }
        request.controller_epoch = reader.i32("controller epoch")?;
        if version >= FIRST_BY_TOPIC {
            request.broker_epoch = reader.i64("broker epoch")?;
        }
        request.topics = if version >= FIRST_BY_PARTITION {
            reader.array("topics", LEAST_TOPIC_BYTES, StopReplicaTopic::decode)?
        } else {
            let delete_partition = reader.bool("delete partitions")?;
            let partition = |partition_index| StopReplicaPartition {
                partition_index,
                leader_epoch: NO_EPOCH,
                delete_partition,
            };
            let topic = |(name, indexes): (_, Vec<_>)| StopReplicaTopic {
                name,
                partitions: indexes.into_iter().map(partition).collect(),
            };
            let topics = decode_indexes(reader, version)?;
            topics.into_iter().map(topic).collect()
        };
        reader.skip_tagged_fields()?;
        Ok(request)
    }

    pub fn encode(&self, writer: &mut Writer, version: i16) {
        writer.i32(self.controller_id);
        if version >= FIRST_WITH_KRAFT_FLAG {
            writer.bool(self.is_kraft_controller);
        }
        writer.i32(self.controller_epoch);
        if version >= FIRST_BY_TOPIC {
            writer.i64(self.broker_epoch);
        }
        if version >= FIRST_BY_PARTITION {
            writer.array("topics", &self.topics, |writer, topic| topic.encode(writer));
        } else {
            self.encode_indexes(writer, version);
        }
        writer.tagged_fields(&[]);
    }

    fn encode_indexes(&self, writer: &mut Writer, version: i16) {
        let partitions = || self.topics.iter().flat_map(|topic| &topic.partitions);
        let deleted = partitions()
            .filter(|partition| partition.delete_partition)
            .count();
        let all = partitions().count();
        if deleted > 0 && deleted < all {
            writer.cannot_say("partitions to delete among others", deleted);
        }
        writer.bool(deleted > 0);
        if version >= FIRST_BY_TOPIC {
            writer.array("topics", &self.topics, |writer, topic| {
                writer.string("topic name", &topic.name);
                writer.array("partitions", &topic.partitions, |writer, partition| {
                    writer.i32(partition.partition_index);
                });
                writer.tagged_fields(&[]);
            });
        } else {
            writer.count("partitions", all);
            for topic in &self.topics {
                for partition in &topic.partitions {
                    writer.string("topic name", &topic.name);
                    writer.i32(partition.partition_index);
                }
            }
        }
    }
}

/// The topics of a version that says nothing but numbers of each.
fn decode_indexes(reader: &mut Reader, version: i16) -> Result<ByTopic<PartitionIndex>, Malformed> {
    if version >= FIRST_BY_TOPIC {
        return reader.array("topics", LEAST_TOPIC_BYTES, |reader| {
            let topic = name(reader, "topic name")?;
            let partitions = reader.i32_array("partitions")?;
            reader.skip_tagged_fields()?;
            Ok((topic, partitions))
        });
    }
    let partitions = reader.array("partitions", LEAST_PARTITION_BYTES, |reader| {
        let topic = name(reader, "topic name")?;
        Ok((topic, reader.i32("partition")?))
    })?;
    Ok(group_by_topic(partitions))
}

impl StopReplicaTopic {
    fn decode(reader: &mut Reader) -> Result<Self, Malformed> {
        let topic = Self {
            name: name(reader, "topic name")?,
            partitions: reader.array("partitions", LEAST_PARTITION_BYTES, StopReplicaPartition::decode)?,
        };
        reader.skip_tagged_fields()?;
        Ok(topic)
    }

    fn encode(&self, writer: &mut Writer) {
        writer.string("topic name", &self.name);
        writer.array("partitions", &self.partitions, |writer, partition| {
            partition.encode(writer);
        });
        writer.tagged_fields(&[]);
    }
}

impl StopReplicaPartition {
    fn decode(reader: &mut Reader) -> Result<Self, Malformed> {
        let partition = Self {
            partition_index: reader.i32("partition")?,
            leader_epoch: reader.i32("leader epoch")?,
            delete_partition: reader.bool("delete partition")?,
        };
        reader.skip_tagged_fields()?;
        Ok(partition)
    }

    fn encode(&self, writer: &mut Writer) {
        writer.i32(self.partition_index);
        writer.i32(self.leader_epoch);
        writer.bool(self.delete_partition);
        writer.tagged_fields(&[]);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopReplicaResponse {
    /// Of the request as a whole, for instance STALE_CONTROLLER_EPOCH.
    pub error_code: ErrorCode,
    pub partitions: Vec<StopReplicaPartitionError>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopReplicaPartitionError {
    pub partition: TopicPartition,
    pub error_code: ErrorCode,
}

impl StopReplicaResponse {
    pub fn decode(reader: &mut Reader, _version: i16) -> Result<Self, Malformed> {
        let response = Self {
            error_code: decode_error_code(reader)?,
            partitions: reader.array("partitions", LEAST_ERROR_BYTES, |reader| {
                let partition = StopReplicaPartitionError {
                    partition: TopicPartition {
                        topic: name(reader, "topic name")?,
                        partition: reader.i32("partition")?,
                    },
                    error_code: decode_error_code(reader)?,
                };
                reader.skip_tagged_fields()?;
                Ok(partition)
            })?,
        };
        reader.skip_tagged_fields()?;
        Ok(response)
    }

    pub fn encode(&self, writer: &mut Writer, _version: i16) {
        writer.i16(self.error_code.code());
        writer.array("partitions", &self.partitions, |writer, partition| {
            writer.string("topic name", &partition.partition.topic);
            writer.i32(partition.partition.partition);
            writer.i16(partition.error_code.code());
            writer.tagged_fields(&[]);
        });
        writer.tagged_fields(&[]);
    }
}
