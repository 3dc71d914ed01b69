//! A committed offset and what it belongs to.

use std::sync::Arc;

use crate::types::{LeaderEpoch, Millis, Offset, PartitionIndex, TopicPartition, Uuid};

/// Whose offset it is, and of which partition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OffsetKey {
    pub group: Arc<str>,
    pub topic: Arc<str>,
    pub partition: PartitionIndex,
}

/// Where a group goes on reading (`OffsetAndMetadata`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetAndMetadata {
    /// Of the next record to read.
    pub offset: Offset,
    /// Of the last record that was read; -1: not known.
    pub leader_epoch: LeaderEpoch,
    /// The client's own words.
    pub metadata: Arc<str>,
    pub commit_timestamp_ms: Millis,
    /// When the client itself said that it expires: requests before version 5 could.
    pub expire_timestamp_ms: Option<Millis>,
    /// So that an offset of a deleted topic is not taken for one of its namesake; zero: not known.
    pub topic_id: Uuid,
}

impl OffsetKey {
    pub fn topic_partition(&self) -> TopicPartition {
        TopicPartition::new(self.topic.clone(), self.partition)
    }
}
