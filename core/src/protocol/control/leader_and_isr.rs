//! LeaderAndIsr, versions 0 to 7: become leader or follower of these partitions.

use std::sync::Arc;

use super::{ControlRequestKind, ControlTopic, group_by_topic, name};
use crate::error::{ErrorCode, Malformed};
use crate::protocol::primitives::{Reader, Writer};
use crate::protocol::produce::decode_error_code;
use crate::types::{BrokerId, LeaderEpoch, LeaderRecoveryState, PartitionIndex, Uuid};

const FIRST_WITH_IS_NEW: i16 = 1;
/// Version 2 brought the broker's epoch too.
const FIRST_BY_TOPIC: i16 = 2;
const FIRST_WITH_REASSIGNMENT: i16 = 3;
/// Version 5 brought the kind of the request too.
const FIRST_WITH_TOPIC_ID: i16 = 5;
const FIRST_WITH_RECOVERY_STATE: i16 = 6;
const FIRST_WITH_KRAFT_FLAG: i16 = 7;

/// Least bytes of an array's items on the wire, over all versions.
const LEAST_TOPIC_BYTES: usize = 3;
const LEAST_PARTITION_BYTES: usize = 26;
const LEAST_LEADER_BYTES: usize = 10;
const LEAST_ERROR_BYTES: usize = 7;
const LEAST_TOPIC_ERROR_BYTES: usize = 18;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderAndIsrRequest {
    pub controller_id: BrokerId,
    /// Only while a cluster moves to KRaft (KIP-866); from version 7 on.
    pub is_kraft_controller: bool,
    pub controller_epoch: i32,
    /// The life of the broker that is spoken to, -1 when not known; from version 2 on.
    pub broker_epoch: i64,
    /// From version 5 on.
    pub kind: ControlRequestKind,
    pub topics: Vec<LeaderAndIsrTopic>,
    /// Where the leaders named above can be reached.
    pub live_leaders: Vec<LiveLeader>,
}

impl Default for LeaderAndIsrRequest {
    fn default() -> Self {
        Self {
            controller_id: 0,
            is_kraft_controller: false,
            controller_epoch: 0,
            broker_epoch: -1,
            kind: ControlRequestKind::Unknown,
            topics: Vec::new(),
            live_leaders: Vec::new(),
        }
    }
}

/// With its id from version 5 on.
pub type LeaderAndIsrTopic = ControlTopic<LeaderAndIsrPartition>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaderAndIsrPartition {
    pub partition_index: PartitionIndex,
    /// Epoch of the controller that last changed the partition's state.
    pub controller_epoch: i32,
    /// -1: none.
    pub leader: BrokerId,
    pub leader_epoch: LeaderEpoch,
    pub isr: Vec<BrokerId>,
    /// Version of the state node.
    pub partition_epoch: i32,
    /// The preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// Being added by a reassignment; from version 3 on.
    pub adding_replicas: Vec<BrokerId>,
    /// Being removed by a reassignment; from version 3 on.
    pub removing_replicas: Vec<BrokerId>,
    /// The replica is new on the broker: that it has no log is no loss. From version 1 on.
    pub is_new: bool,
    /// From version 6 on.
    pub leader_recovery_state: LeaderRecoveryState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveLeader {
    pub broker_id: BrokerId,
    pub host: Arc<str>,
    pub port: i32,
}

impl LeaderAndIsrRequest {
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
        if version >= FIRST_WITH_TOPIC_ID {
            request.kind = ControlRequestKind::from_code(reader.i8("request type")?);
        }
        let partition = |reader: &mut Reader| LeaderAndIsrPartition::decode(reader, version);
        request.topics = if version >= FIRST_BY_TOPIC {
            reader.array("topics", LEAST_TOPIC_BYTES, |reader| {
                LeaderAndIsrTopic::decode(
                    reader,
                    version >= FIRST_WITH_TOPIC_ID,
                    LEAST_PARTITION_BYTES,
                    partition,
                )
            })?
        } else {
            LeaderAndIsrTopic::decode_ungrouped(reader, LEAST_PARTITION_BYTES, partition)?
        };
        request.live_leaders = reader.array("live leaders", LEAST_LEADER_BYTES, LiveLeader::decode)?;
        reader.skip_tagged_fields()?;
        Ok(request)
    }

    pub fn encode(&self, writer: &mut Writer, version: i16) {
        let partition =
            |writer: &mut Writer, partition: &LeaderAndIsrPartition| partition.encode(writer, version);
        writer.i32(self.controller_id);
        if version >= FIRST_WITH_KRAFT_FLAG {
            writer.bool(self.is_kraft_controller);
        }
        writer.i32(self.controller_epoch);
        if version >= FIRST_BY_TOPIC {
            writer.i64(self.broker_epoch);
        }
        if version >= FIRST_WITH_TOPIC_ID {
            writer.i8(self.kind.code());
        }
        if version >= FIRST_BY_TOPIC {
            writer.array("topics", &self.topics, |writer, topic| {
                topic.encode(writer, version >= FIRST_WITH_TOPIC_ID, partition);
            });
        } else {
            LeaderAndIsrTopic::encode_ungrouped(&self.topics, writer, partition);
        }
        writer.array("live leaders", &self.live_leaders, |writer, leader| {
            leader.encode(writer);
        });
        writer.tagged_fields(&[]);
    }
}

impl LeaderAndIsrPartition {
    fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let mut partition = Self {
            partition_index: reader.i32("partition")?,
            controller_epoch: reader.i32("controller epoch")?,
            leader: reader.i32("leader")?,
            leader_epoch: reader.i32("leader epoch")?,
            isr: reader.i32_array("isr")?,
            partition_epoch: reader.i32("partition epoch")?,
            replicas: reader.i32_array("replicas")?,
            ..Self::default()
        };
        if version >= FIRST_WITH_REASSIGNMENT {
            partition.adding_replicas = reader.i32_array("adding replicas")?;
            partition.removing_replicas = reader.i32_array("removing replicas")?;
        }
        if version >= FIRST_WITH_IS_NEW {
            partition.is_new = reader.bool("is new")?;
        }
        if version >= FIRST_WITH_RECOVERY_STATE {
            let what = "leader recovery state";
            let code = reader.i8(what)?;
            partition.leader_recovery_state =
                LeaderRecoveryState::from_code(code).ok_or(Malformed::OutOfRange {
                    what,
                    value: i64::from(code),
                })?;
        }
        reader.skip_tagged_fields()?;
        Ok(partition)
    }

    fn encode(&self, writer: &mut Writer, version: i16) {
        writer.i32(self.partition_index);
        writer.i32(self.controller_epoch);
        writer.i32(self.leader);
        writer.i32(self.leader_epoch);
        writer.i32_array("isr", &self.isr);
        writer.i32(self.partition_epoch);
        writer.i32_array("replicas", &self.replicas);
        if version >= FIRST_WITH_REASSIGNMENT {
            writer.i32_array("adding replicas", &self.adding_replicas);
            writer.i32_array("removing replicas", &self.removing_replicas);
        }
        if version >= FIRST_WITH_IS_NEW {
            writer.bool(self.is_new);
        }
        if version >= FIRST_WITH_RECOVERY_STATE {
            writer.i8(self.leader_recovery_state.code());
        }
        writer.tagged_fields(&[]);
    }
}

impl LiveLeader {
    fn decode(reader: &mut Reader) -> Result<Self, Malformed> {
        let leader = Self {
            broker_id: reader.i32("broker id")?,
            host: name(reader, "host")?,
            port: reader.i32("port")?,
        };
        reader.skip_tagged_fields()?;
        Ok(leader)
    }

    fn encode(&self, writer: &mut Writer) {
        writer.i32(self.broker_id);
        writer.string("host", &self.host);
        writer.i32(self.port);
        writer.tagged_fields(&[]);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderAndIsrResponse {
    /// Of the request as a whole, for instance STALE_CONTROLLER_EPOCH; then no partition is named.
    pub error_code: ErrorCode,
    pub topics: Vec<LeaderAndIsrTopicError>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderAndIsrTopicError {
    /// Not sent from version 5 on.
    pub name: Arc<str>,
    /// Sent from version 5 on.
    pub topic_id: Uuid,
    pub partitions: Vec<LeaderAndIsrPartitionError>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderAndIsrPartitionError {
    pub partition_index: PartitionIndex,
    pub error_code: ErrorCode,
}

impl LeaderAndIsrResponse {
    pub fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let error_code = decode_error_code(reader)?;
        let topics = if version >= FIRST_WITH_TOPIC_ID {
            reader.array("topics", LEAST_TOPIC_ERROR_BYTES, |reader| {
                let topic = LeaderAndIsrTopicError {
                    name: Arc::default(),
                    topic_id: reader.uuid("topic id")?,
                    partitions: reader.array(
                        "partitions",
                        LEAST_ERROR_BYTES,
                        LeaderAndIsrPartitionError::decode,
                    )?,
                };
                reader.skip_tagged_fields()?;
                Ok(topic)
            })?
        } else {
            let partitions = reader.array("partitions", LEAST_ERROR_BYTES, |reader| {
                let topic = name(reader, "topic name")?;
                LeaderAndIsrPartitionError::decode(reader).map(|partition| (topic, partition))
            })?;
            let topic = |(name, partitions)| LeaderAndIsrTopicError {
                name,
                topic_id: Uuid::ZERO,
                partitions,
            };
            group_by_topic(partitions).into_iter().map(topic).collect()
        };
        reader.skip_tagged_fields()?;
        Ok(Self { error_code, topics })
    }

    pub fn encode(&self, writer: &mut Writer, version: i16) {
        writer.i16(self.error_code.code());
        if version >= FIRST_WITH_TOPIC_ID {
            writer.array("topics", &self.topics, |writer, topic| {
                writer.uuid(topic.topic_id);
                writer.array("partitions", &topic.partitions, |writer, partition| {
                    partition.encode(writer);
                });
                writer.tagged_fields(&[]);
            });
        } else {
            let each = |topic: &LeaderAndIsrTopicError| topic.partitions.len();
            writer.count("partitions", self.topics.iter().map(each).sum());
            for topic in &self.topics {
                for partition in &topic.partitions {
                    writer.string("topic name", &topic.name);
                    partition.encode(writer);
                }
            }
        }
        writer.tagged_fields(&[]);
    }
}

impl LeaderAndIsrPartitionError {
    fn decode(reader: &mut Reader) -> Result<Self, Malformed> {
        let partition = Self {
            partition_index: reader.i32("partition")?,
            error_code: decode_error_code(reader)?,
        };
        reader.skip_tagged_fields()?;
        Ok(partition)
    }

    fn encode(&self, writer: &mut Writer) {
        writer.i32(self.partition_index);
        writer.i16(self.error_code.code());
        writer.tagged_fields(&[]);
    }
}
