//! What a broker gives: per partition its offsets, an error or records.

use kafka_wire_core::StrBytes;

use super::*;
use crate::disk::{Part, Parts};
use crate::error::ErrorCode;
use crate::protocol::leadership::{LeaderIdAndEpoch, NodeEndpoint};
use crate::protocol::primitives::tagged_field;
use crate::protocol::produce::decode_error_code;
use crate::types::{BrokerId, LeaderEpoch, NO_EPOCH, Offset, PartitionIndex, ProducerId};

const LEAST_PARTITION_BYTES: usize = 30;
const LEAST_ABORTED_BYTES: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchResponse {
    pub throttle_time_ms: i32,
    /// An error of the session; sent from version 7 on.
    pub error_code: ErrorCode,
    /// 0 when there is no session; sent from version 7 on.
    pub session_id: i32,
    pub topics: Vec<FetchTopicResponse>,
    /// Addresses of the leaders named below; sent from version 16 on.
    pub node_endpoints: Vec<NodeEndpoint>,
}

impl Default for FetchResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode::None,
            session_id: 0,
            topics: Vec::new(),
            node_endpoints: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchTopicResponse {
    /// Not sent from version 13 on.
    pub name: StrBytes,
    /// Sent from version 13 on.
    pub topic_id: Uuid,
    pub partitions: Vec<FetchPartitionResponse>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchPartitionResponse {
    pub partition: PartitionIndex,
    pub error_code: ErrorCode,
    /// -1 on an error.
    pub high_watermark: Offset,
    /// -1 on an error.
    pub last_stable_offset: Offset,
    /// -1 on an error; sent from version 5 on.
    pub log_start_offset: Offset,
    /// Where the reader's log and the leader's part ways; sent from version 12 on.
    pub diverging_epoch: EpochEndOffset,
    /// The new leader on a leadership error; sent from version 12 on.
    pub current_leader: LeaderIdAndEpoch,
    /// A snapshot to fetch instead (KRaft); sent from version 12 on.
    pub snapshot_id: SnapshotId,
    /// With READ_COMMITTED the aborted transactions of the range; null otherwise.
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// A replica that is nearer to the consumer, or -1; sent from version 11 on.
    pub preferred_read_replica: BrokerId,
    /// Whole record batches, in order; `None` is null, no part is empty.
    pub records: Option<Parts>,
}

impl Default for FetchPartitionResponse {
    fn default() -> Self {
        Self {
            partition: 0,
            error_code: ErrorCode::None,
            high_watermark: -1,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging_epoch: EpochEndOffset::default(),
            current_leader: LeaderIdAndEpoch::default(),
            snapshot_id: SnapshotId::default(),
            aborted_transactions: None,
            preferred_read_replica: -1,
            records: Some(Parts::new()),
        }
    }
}

/// The largest epoch up to the one asked about, and where it ends; -1 and -1 for "none".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEndOffset {
    pub epoch: LeaderEpoch,
    pub end_offset: Offset,
}

impl Default for EpochEndOffset {
    fn default() -> Self {
        Self {
            epoch: NO_EPOCH,
            end_offset: -1,
        }
    }
}

/// A KRaft snapshot; -1 and -1 for "none".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotId {
    pub end_offset: Offset,
    pub epoch: LeaderEpoch,
}

impl Default for SnapshotId {
    fn default() -> Self {
        Self {
            end_offset: -1,
            epoch: NO_EPOCH,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedTransaction {
    pub producer_id: ProducerId,
    pub first_offset: Offset,
}

impl FetchResponse {
    pub fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let mut response = Self {
            throttle_time_ms: reader.i32("throttle time")?,
            ..Self::default()
        };
        if version >= FIRST_WITH_SESSION {
            response.error_code = decode_error_code(reader)?;
            response.session_id = reader.i32("session id")?;
        }
        response.topics = reader.array("topics", LEAST_TOPIC_BYTES, |reader| {
            FetchTopicResponse::decode(reader, version)
        })?;
        reader.tagged_fields(|tag, field| {
            if tag != 0 || version < FIRST_WITH_NODE_ENDPOINTS {
                return Ok(false);
            }
            response.node_endpoints =
                field.array("node endpoints", NodeEndpoint::LEAST_BYTES, NodeEndpoint::decode)?;
            Ok(true)
        })?;
        Ok(response)
    }

    /// Writes the answer; records are spliced in, not copied.
    pub fn encode(&self, writer: &mut Writer, version: i16) {
        writer.i32(self.throttle_time_ms);
        if version >= FIRST_WITH_SESSION {
            writer.i16(self.error_code.code());
            writer.i32(self.session_id);
        }
        writer.array("topics", &self.topics, |writer, topic| {
            encode_topic(writer, version, &topic.name, topic.topic_id);
            writer.array("partitions", &topic.partitions, |writer, partition| {
                partition.encode(writer, version);
            });
            writer.tagged_fields(&[]);
        });
        let mut tags = Vec::new();
        if version >= FIRST_WITH_NODE_ENDPOINTS && !self.node_endpoints.is_empty() {
            let nodes = tagged_field(|writer| {
                writer.array("node endpoints", &self.node_endpoints, |writer, node| {
                    node.encode(writer);
                });
            });
            tags.push((0, nodes));
        }
        writer.tagged_fields(&tags);
    }
}

impl FetchTopicResponse {
    fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let (name, topic_id) = decode_topic(reader, version)?;
        let partitions = reader.array("partitions", LEAST_PARTITION_BYTES, |reader| {
            FetchPartitionResponse::decode(reader, version)
        })?;
        reader.skip_tagged_fields()?;
        Ok(Self {
            name,
            topic_id,
            partitions,
        })
    }
}

impl FetchPartitionResponse {
    /// Bytes of the records.
    pub fn records_len(&self) -> u64 {
        let parts = self.records.iter().flatten();
        parts.map(crate::protocol::primitives::part_len).sum()
    }

    fn decode(reader: &mut Reader, version: i16) -> Result<Self, Malformed> {
        let mut partition = Self {
            partition: reader.i32("partition")?,
            error_code: decode_error_code(reader)?,
            high_watermark: reader.i64("high watermark")?,
            last_stable_offset: reader.i64("last stable offset")?,
            ..Self::default()
        };
        if version >= FIRST_WITH_LOG_START {
            partition.log_start_offset = reader.i64("log start offset")?;
        }
        partition.aborted_transactions =
            reader.nullable_array("aborted transactions", LEAST_ABORTED_BYTES, |reader| {
                let aborted = AbortedTransaction {
                    producer_id: reader.i64("producer id")?,
                    first_offset: reader.i64("first offset")?,
                };
                reader.skip_tagged_fields()?;
                Ok(aborted)
            })?;
        if version >= FIRST_WITH_RACK {
            partition.preferred_read_replica = reader.i32("preferred read replica")?;
        }
        partition.records = reader.nullable_bytes("records")?.map(|bytes| {
            if bytes.is_empty() {
                Parts::new()
            } else {
                Parts::from_iter([Part::Bytes(bytes)])
            }
        });
        reader.tagged_fields(|tag, field| partition.decode_tagged(tag, field))?;
        Ok(partition)
    }

    fn decode_tagged(&mut self, tag: u32, field: &mut Reader) -> Result<bool, Malformed> {
        match tag {
            0 => {
                self.diverging_epoch = EpochEndOffset {
                    epoch: field.i32("epoch")?,
                    end_offset: field.i64("end offset")?,
                };
                field.skip_tagged_fields()?;
            }
            1 => self.current_leader = LeaderIdAndEpoch::decode(field)?,
            2 => {
                self.snapshot_id = SnapshotId {
                    end_offset: field.i64("end offset")?,
                    epoch: field.i32("epoch")?,
                };
                field.skip_tagged_fields()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn encode(&self, writer: &mut Writer, version: i16) {
        writer.i32(self.partition);
        writer.i16(self.error_code.code());
        writer.i64(self.high_watermark);
        writer.i64(self.last_stable_offset);
        if version >= FIRST_WITH_LOG_START {
            writer.i64(self.log_start_offset);
        }
        let aborted = self.aborted_transactions.as_deref();
        writer.nullable_array("aborted transactions", aborted, |writer, aborted| {
            writer.i64(aborted.producer_id);
            writer.i64(aborted.first_offset);
            writer.tagged_fields(&[]);
        });
        if version >= FIRST_WITH_RACK {
            writer.i32(self.preferred_read_replica);
        }
        writer.spliced_bytes("records", self.records.as_deref());
        writer.tagged_fields(&self.tagged());
    }

    fn tagged(&self) -> Vec<(u32, bytes::Bytes)> {
        let mut tags = Vec::new();
        if self.diverging_epoch != EpochEndOffset::default() {
            let diverging = tagged_field(|writer| {
                writer.i32(self.diverging_epoch.epoch);
                writer.i64(self.diverging_epoch.end_offset);
                writer.tagged_fields(&[]);
            });
            tags.push((0, diverging));
        }
        if self.current_leader != LeaderIdAndEpoch::default() {
            tags.push((1, tagged_field(|writer| self.current_leader.encode(writer))));
        }
        if self.snapshot_id != SnapshotId::default() {
            let snapshot = tagged_field(|writer| {
                writer.i64(self.snapshot_id.end_offset);
                writer.i32(self.snapshot_id.epoch);
                writer.tagged_fields(&[]);
            });
            tags.push((2, snapshot));
        }
        tags
    }
}
