//! A leader's answer as its follower takes it: the records checked, batch by batch.
//!
//! A follower appends what it is given as it is, so this is where bytes that a disk or a network
//! spoiled are kept out of a second log. Checking reads every byte, and needs nothing of the broker;
//! so it is done before the owner sees the answer. One partition's bad batch spoils nothing of
//! another's.
//!
//! Invariants
//! - each batch is whole, of format 2, of a known codec, and its checksum fits its bytes
//! - nothing is copied: a batch is a slice of the frame
//! - a last batch that was cut short by the fetch's limit is left out, as Kafka does

use bytes::Bytes;
use kafka_wire_core::StrBytes;

use super::{EpochEndOffset, FetchPartitionResponse, FetchResponse, FetchTopicResponse};
use crate::disk::{Part, Parts};
use crate::error::ErrorCode;
use crate::protocol::leadership::{LeaderIdAndEpoch, NodeEndpoint};
use crate::record::{Batch, Batches, InvalidBatch};
use crate::types::{Offset, PartitionIndex, Uuid};

/// An answer to a follower's fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// An error of the session, or of the request as a whole; then no partition is named.
    pub error_code: ErrorCode,
    /// 0 when there is no session.
    pub session_id: i32,
    pub topics: Vec<FetchedTopic>,
    /// Addresses of the leaders named below.
    pub node_endpoints: Vec<NodeEndpoint>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedTopic {
    /// Empty from version 13 on.
    pub name: StrBytes,
    /// Zero before version 13.
    pub topic_id: Uuid,
    pub partitions: Vec<FetchedPartition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedPartition {
    pub partition: PartitionIndex,
    pub error_code: ErrorCode,
    /// The leader's; -1 on an error.
    pub high_watermark: Offset,
    /// The leader's; -1 on an error.
    pub log_start_offset: Offset,
    /// Where the two logs part ways: truncate, and ask again. There are no records then.
    pub diverging_epoch: Option<EpochEndOffset>,
    /// A newer leader, on a leadership error.
    pub current_leader: Option<LeaderIdAndEpoch>,
    /// Why none of them may be appended, if one is bad.
    pub records: Result<FetchedRecords, InvalidBatch>,
}

/// Batches to append, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchedRecords {
    pub batches: Vec<Batch>,
    /// Bytes of a last batch that did not fit into the answer. With no batch before it, the batch is
    /// larger than the leader would give.
    pub cut_off_bytes: u64,
}

impl FetchResponse {
    /// Checks the records of a decoded answer.
    pub fn check(self) -> Fetched {
        Fetched {
            error_code: self.error_code,
            session_id: self.session_id,
            topics: self.topics.into_iter().map(FetchTopicResponse::check).collect(),
            node_endpoints: self.node_endpoints,
        }
    }
}

impl FetchTopicResponse {
    fn check(self) -> FetchedTopic {
        let partitions = self.partitions.into_iter();
        FetchedTopic {
            name: self.name,
            topic_id: self.topic_id,
            partitions: partitions.map(FetchPartitionResponse::check).collect(),
        }
    }
}

impl FetchPartitionResponse {
    fn check(self) -> FetchedPartition {
        FetchedPartition {
            partition: self.partition,
            error_code: self.error_code,
            high_watermark: self.high_watermark,
            log_start_offset: self.log_start_offset,
            diverging_epoch: Some(self.diverging_epoch).filter(|found| *found != EpochEndOffset::default()),
            current_leader: Some(self.current_leader).filter(|found| *found != LeaderIdAndEpoch::default()),
            records: FetchedRecords::check(in_memory(self.records)),
        }
    }
}

/// The bytes of decoded records: a decoder never names files.
fn in_memory(records: Option<Parts>) -> Bytes {
    let mut parts = records.into_iter().flatten();
    let bytes = parts.find_map(|part| match part {
        Part::Bytes(bytes) => Some(bytes),
        Part::File { .. } => None,
    });
    bytes.unwrap_or_default()
}

impl FetchedRecords {
    fn check(records: Bytes) -> Result<Self, InvalidBatch> {
        let mut left = records.len() as u64;
        let mut batches = Vec::new();
        for batch in Batches::new(records) {
            match batch {
                Ok(batch) => {
                    check_batch(&batch)?;
                    left -= batch.bytes.len() as u64;
                    batches.push(batch);
                }
                // Always the last.
                Err(InvalidBatch::Truncated { .. }) => {}
                Err(invalid) => return Err(invalid),
            }
        }
        Ok(Self {
            batches,
            cut_off_bytes: left,
        })
    }
}

fn check_batch(batch: &Batch) -> Result<(), InvalidBatch> {
    batch.check_crc()?;
    let header = &batch.header;
    if header.codec().is_none() {
        return Err(InvalidBatch::UnknownCodec(header.codec_id()));
    }
    match header.record_count {
        count if count < 0 => Err(InvalidBatch::RecordCount { count }),
        _ => Ok(()),
    }
}
