//! Produce, versions 3 to 13: records on their way into a log.
//!
//! By hand, because nothing else may touch the records: [`ProducePartition::records`] is a slice
//! of the frame as it came from the socket, and goes into the log as it is. From version 13 on a
//! topic is named by its id (KIP-516); from 10 on an answer tells the new leader (KIP-951).

use bytes::Bytes;
use kafka_wire_core::StrBytes;

use super::leadership::{LeaderIdAndEpoch, NodeEndpoint};
use super::primitives::{Reader, Writer, tagged_field};
use crate::error::{ErrorCode, Malformed};
use crate::types::{Millis, NO_TIMESTAMP, Offset, PartitionIndex, Uuid};

const FIRST_WITH_LOG_START: i16 = 5;
const FIRST_WITH_RECORD_ERRORS: i16 = 8;
const FIRST_WITH_LEADER: i16 = 10;
const FIRST_WITH_TOPIC_ID: i16 = 13;

/// Least bytes of an array's items on the wire, over all versions.
const LEAST_TOPIC_BYTES: usize = 3;
const LEAST_PARTITION_BYTES: usize = 6;
const LEAST_PARTITION_ANSWER_BYTES: usize = 22;
const LEAST_RECORD_ERROR_BYTES: usize = 6;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProduceRequest {
    pub transactional_id: Option<StrBytes>,
    /// -1 (all in-sync replicas), 1 (the leader) or 0 (nobody: no answer is sent).
    pub acks: i16,
    pub timeout_ms: i32,
    pub topics: Vec<ProduceTopic>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProduceTopic {
    /// Empty from version 13 on.
    pub name: StrBytes,
    /// Zero before version 13.
    pub topic_id: Uuid,
    pub partitions: Vec<ProducePartition>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducePartition {
    pub index: PartitionIndex,
    /// Record batches, a slice of the frame; null is allowed by the protocol.
    pub records: Option<Bytes>,
}

impl ProduceRequest {
    pub fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let request = Self {
            transactional_id: reader.nullable_string("transactional id")?,
            acks: reader.i16("acks")?,
            timeout_ms: reader.i32("timeout")?,
            topics: reader.array("topics", LEAST_TOPIC_BYTES, |reader| {
                ProduceTopic::decode(reader, version)
            })?,
        };
        reader.skip_tagged_fields()?;
        Ok(request)
    }

    pub fn encode(&self, writer: &mut Writer, version: i16) {
        writer.nullable_string("transactional id", self.transactional_id.as_deref());
        writer.i16(self.acks);
        writer.i32(self.timeout_ms);
        writer.array("topics", &self.topics, |writer, topic| {
            encode_topic(writer, version, &topic.name, topic.topic_id);
            writer.array("partitions", &topic.partitions, |writer, partition| {
                writer.i32(partition.index);
                writer.nullable_bytes("records", partition.records.as_deref());
                writer.tagged_fields(&[]);
            });
            writer.tagged_fields(&[]);
        });
        writer.tagged_fields(&[]);
    }
}

impl ProduceTopic {
    fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let (name, topic_id) = decode_topic(reader, version)?;
        let partitions = reader.array("partitions", LEAST_PARTITION_BYTES, |reader| {
            let partition = ProducePartition {
                index: reader.i32("partition")?,
                records: reader.nullable_bytes("records")?,
            };
            reader.skip_tagged_fields()?;
            Ok(partition)
        })?;
        reader.skip_tagged_fields()?;
        Ok(Self {
            name,
            topic_id,
            partitions,
        })
    }
}

/// A topic by its name or, from version 13 on, by its id.
fn decode_topic(reader: &mut Reader, version: i16) -> Result<(StrBytes, Uuid), Malformed> {
    if version >= FIRST_WITH_TOPIC_ID {
        Ok((StrBytes::default(), reader.uuid("topic id")?))
    } else {
        Ok((reader.string("topic name")?, Uuid::ZERO))
    }
}

fn encode_topic(writer: &mut Writer, version: i16, name: &str, topic_id: Uuid) {
    if version >= FIRST_WITH_TOPIC_ID {
        writer.uuid(topic_id);
    } else {
        writer.string("topic name", name);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProduceResponse {
    pub topics: Vec<ProduceTopicResponse>,
    pub throttle_time_ms: i32,
    /// Addresses of the leaders named below; sent from version 10 on.
    pub node_endpoints: Vec<NodeEndpoint>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProduceTopicResponse {
    /// Not sent from version 13 on.
    pub name: StrBytes,
    /// Sent from version 13 on.
    pub topic_id: Uuid,
    pub partitions: Vec<ProducePartitionResponse>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducePartitionResponse {
    pub index: PartitionIndex,
    pub error_code: ErrorCode,
    /// Offset that the first record got; -1 on an error.
    pub base_offset: Offset,
    /// The broker's time with LogAppendTime, else -1.
    pub log_append_time_ms: Millis,
    /// Sent from version 5 on; -1 on an error.
    pub log_start_offset: Offset,
    /// The records that made the batch be refused; sent from version 8 on.
    pub record_errors: Vec<RecordError>,
    /// Sent from version 8 on.
    pub error_message: Option<StrBytes>,
    /// The new leader on a leadership error; sent from version 10 on.
    pub current_leader: LeaderIdAndEpoch,
}

impl Default for ProducePartitionResponse {
    fn default() -> Self {
        Self {
            index: 0,
            error_code: ErrorCode::None,
            base_offset: -1,
            log_append_time_ms: NO_TIMESTAMP,
            log_start_offset: -1,
            record_errors: Vec::new(),
            error_message: None,
            current_leader: LeaderIdAndEpoch::default(),
        }
    }
}

/// Why one record of a batch was refused (KIP-467).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    /// Number of the record within its batch, from 0.
    pub batch_index: i32,
    pub message: Option<StrBytes>,
}

impl ProduceResponse {
    pub fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let topics = reader.array("topics", LEAST_TOPIC_BYTES, |reader| {
            let (name, topic_id) = decode_topic(reader, version)?;
            let partitions = reader.array("partitions", LEAST_PARTITION_ANSWER_BYTES, |reader| {
                ProducePartitionResponse::decode(reader, version)
            })?;
            reader.skip_tagged_fields()?;
            Ok(ProduceTopicResponse {
                name,
                topic_id,
                partitions,
            })
        })?;
        let throttle_time_ms = reader.i32("throttle time")?;
        let mut node_endpoints = Vec::new();
        reader.tagged_fields(|tag, field| {
            if tag != 0 || version < FIRST_WITH_LEADER {
                return Ok(false);
            }
            node_endpoints =
                field.array("node endpoints", NodeEndpoint::LEAST_BYTES, NodeEndpoint::decode)?;
            Ok(true)
        })?;
        Ok(Self {
            topics,
            throttle_time_ms,
            node_endpoints,
        })
    }

    pub fn encode(&self, writer: &mut Writer, version: i16) {
        writer.array("topics", &self.topics, |writer, topic| {
            encode_topic(writer, version, &topic.name, topic.topic_id);
            writer.array("partitions", &topic.partitions, |writer, partition| {
                partition.encode(writer, version);
            });
            writer.tagged_fields(&[]);
        });
        writer.i32(self.throttle_time_ms);
        let mut tags = Vec::new();
        if version >= FIRST_WITH_LEADER && !self.node_endpoints.is_empty() {
            tags.push((
                0,
                tagged_field(|writer| {
                    writer.array("node endpoints", &self.node_endpoints, |writer, node| {
                        node.encode(writer);
                    });
                }),
            ));
        }
        writer.tagged_fields(&tags);
    }
}

impl ProducePartitionResponse {
    fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let mut partition = Self {
            index: reader.i32("partition")?,
            error_code: decode_error_code(reader)?,
            base_offset: reader.i64("base offset")?,
            log_append_time_ms: reader.i64("log append time")?,
            ..Self::default()
        };
        if version >= FIRST_WITH_LOG_START {
            partition.log_start_offset = reader.i64("log start offset")?;
        }
        if version >= FIRST_WITH_RECORD_ERRORS {
            partition.record_errors = reader.array("record errors", LEAST_RECORD_ERROR_BYTES, |reader| {
                let error = RecordError {
                    batch_index: reader.i32("batch index")?,
                    message: reader.nullable_string("record error message")?,
                };
                reader.skip_tagged_fields()?;
                Ok(error)
            })?;
            partition.error_message = reader.nullable_string("error message")?;
        }
        reader.tagged_fields(|tag, field| {
            if tag != 0 || version < FIRST_WITH_LEADER {
                return Ok(false);
            }
            partition.current_leader = LeaderIdAndEpoch::decode(field)?;
            Ok(true)
        })?;
        Ok(partition)
    }

    fn encode(&self, writer: &mut Writer, version: i16) {
        writer.i32(self.index);
        writer.i16(self.error_code.code());
        writer.i64(self.base_offset);
        writer.i64(self.log_append_time_ms);
        if version >= FIRST_WITH_LOG_START {
            writer.i64(self.log_start_offset);
        }
        if version >= FIRST_WITH_RECORD_ERRORS {
            writer.array("record errors", &self.record_errors, |writer, error| {
                writer.i32(error.batch_index);
                writer.nullable_string("record error message", error.message.as_deref());
                writer.tagged_fields(&[]);
            });
            writer.nullable_string("error message", self.error_message.as_deref());
        }
        let mut tags = Vec::new();
        if version >= FIRST_WITH_LEADER && self.current_leader != LeaderIdAndEpoch::default() {
            tags.push((0, tagged_field(|writer| self.current_leader.encode(writer))));
        }
        writer.tagged_fields(&tags);
    }
}

/// An error code; one that is not known yet counts as UNKNOWN_SERVER_ERROR, as in Kafka's clients.
pub(super) fn decode_error_code(reader: &mut Reader) -> Result<ErrorCode, Malformed> {
    let code = reader.i16("error code")?;
    Ok(ErrorCode::from_code(code).unwrap_or(ErrorCode::UnknownServerError))
}
