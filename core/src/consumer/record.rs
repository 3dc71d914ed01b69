//! What an application is given, and what it gives back: records and offsets.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::record::{Header, TimestampType};
use crate::types::{LeaderEpoch, Millis, Offset, TopicPartition};

/// A record as an application gets it (`ConsumerRecord`). Key, value and headers are slices of what was
/// fetched: who keeps a few of many copies them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerRecord {
    pub partition: TopicPartition,
    pub offset: Offset,
    /// Of the leader that appended it.
    pub leader_epoch: Option<LeaderEpoch>,
    pub timestamp: Millis,
    pub timestamp_type: TimestampType,
    pub key: Option<Bytes>,
    pub value: Option<Bytes>,
    pub headers: Vec<Header>,
}

/// An offset to commit, or a committed one (`OffsetAndMetadata`): the next to be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetAndMetadata {
    pub offset: Offset,
    /// Of the last record read before it.
    pub leader_epoch: Option<LeaderEpoch>,
    /// Whatever the application wants to remember.
    pub metadata: String,
}

impl From<Offset> for OffsetAndMetadata {
    fn from(offset: Offset) -> Self {
        Self {
            offset,
            leader_epoch: None,
            metadata: String::new(),
        }
    }
}

/// An offset that was looked up (`OffsetAndTimestamp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetAndTimestamp {
    pub offset: Offset,
    /// Of the record there; -1 for an end of the log.
    pub timestamp: Millis,
    pub leader_epoch: Option<LeaderEpoch>,
}
