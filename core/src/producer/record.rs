//! What goes into a producer and what comes out: a record, and what became of it.

use std::sync::Arc;

use bytes::Bytes;
use thiserror::Error;

use super::serializer::Data;
use crate::error::ErrorCode;
use crate::record::Header;
use crate::types::{Millis, Offset, PartitionIndex, TopicPartition};

/// A record as an application hands it over.
#[derive(Clone, Debug, PartialEq)]
pub struct ProducerRecord {
    pub topic: Arc<str>,
    /// `None`: the partitioner chooses.
    pub partition: Option<PartitionIndex>,
    /// `None`: the time at which it is put into a batch.
    pub timestamp_ms: Option<Millis>,
    pub key: Data,
    pub value: Data,
    pub headers: Vec<Header>,
}

impl ProducerRecord {
    /// A record with a value alone.
    pub fn new(topic: impl Into<Arc<str>>, value: impl Into<Data>) -> Self {
        Self {
            topic: topic.into(),
            partition: None,
            timestamp_ms: None,
            key: Data::Null,
            value: value.into(),
            headers: Vec::new(),
        }
    }

    pub fn key(mut self, key: impl Into<Data>) -> Self {
        self.key = key.into();
        self
    }

    pub fn partition(mut self, partition: PartitionIndex) -> Self {
        self.partition = Some(partition);
        self
    }

    pub fn timestamp_ms(mut self, timestamp_ms: Millis) -> Self {
        self.timestamp_ms = Some(timestamp_ms);
        self
    }

    pub fn header(mut self, key: impl Into<Bytes>, value: Option<Bytes>) -> Self {
        self.headers.push(Header {
            key: key.into(),
            value,
        });
        self
    }
}

/// Names a record of a producer: counted from 0 in the order of sending.
pub type RecordId = u64;
/// Names a flush of a producer, counted from 0.
pub type FlushId = u64;

/// Where an acknowledged record lies (Kafka's `RecordMetadata`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordMetadata {
    pub partition: TopicPartition,
    /// -1 when the broker does not tell: with acks=0, or for a batch that it had already.
    pub offset: Offset,
    /// The broker's with LogAppendTime, else the record's own.
    pub timestamp_ms: Millis,
    /// -1 for null.
    pub serialized_key_bytes: i32,
    /// -1 for null.
    pub serialized_value_bytes: i32,
}

/// What a producer has to say. Each record ends in exactly one of the first two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProducerEvent {
    Acknowledged {
        id: RecordId,
        metadata: RecordMetadata,
    },
    Failed {
        id: RecordId,
        /// As far as it had been chosen; the partition is -1 when it had not.
        partition: TopicPartition,
        error: ProducerError,
    },
    /// Every record that was sent before the flush has ended.
    Flushed {
        id: FlushId,
    },
    /// Nothing more will come.
    Closed,
}

/// Why a record failed. The texts are Kafka's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProducerError {
    /// The broker, or the way to it, said so.
    #[error("{code}{}", .message.as_deref().map(|m| format!(": {m}")).unwrap_or_default())]
    Refused {
        code: ErrorCode,
        message: Option<String>,
    },
    #[error("Topic {topic} not present in metadata after {waited_ms} ms.")]
    UnknownTopic {
        topic: Arc<str>,
        waited_ms: Millis,
        /// What the last answer said of it.
        because: Option<ErrorCode>,
    },
    #[error(
        "Partition {partition} of topic {topic} with partition count {count} is not present in metadata after {waited_ms} ms."
    )]
    UnknownPartition {
        topic: Arc<str>,
        partition: PartitionIndex,
        count: PartitionIndex,
        waited_ms: Millis,
    },
    #[error("Invalid partition: {partition}. Partition number should always be non-negative or null.")]
    InvalidPartition { partition: PartitionIndex },
    /// A partitioner of the program's own is wrong.
    #[error("The partitioner chose partition {partition}; the topic has {count}, numbered from 0.")]
    InvalidChoice {
        partition: PartitionIndex,
        count: PartitionIndex,
    },
    #[error("Invalid timestamp: {timestamp_ms}. Timestamp should always be non-negative or null.")]
    InvalidTimestamp { timestamp_ms: Millis },
    #[error("{0}")]
    Serialization(String),
    #[error(
        "The message is {size} bytes when serialized which is larger than {limit}, which is the value of the max.request.size configuration."
    )]
    LargerThanRequest { size: usize, limit: usize },
    #[error(
        "The message is {size} bytes when serialized which is larger than the total memory buffer you have configured with the buffer.memory configuration."
    )]
    LargerThanMemory { size: usize },
    #[error(
        "Failed to allocate {size} bytes within the configured max blocking time {waited_ms} ms. Total memory: {total} bytes. Available memory: {available} bytes. Poolable size: {poolable} bytes"
    )]
    BufferExhausted {
        size: usize,
        waited_ms: Millis,
        total: u64,
        available: u64,
        poolable: usize,
    },
    #[error("Expiring {count} record(s) for {partition}:{age_ms} ms has passed since batch creation")]
    Expired {
        count: usize,
        partition: TopicPartition,
        age_ms: Millis,
    },
    /// The record itself may have been good.
    #[error("Failed to append record because it was part of a batch which had one more more invalid records")]
    AmongInvalidRecords,
    #[error("Cannot perform operation after producer has been closed")]
    Closed,
    #[error("Producer closed while send in progress")]
    ClosedWhileSending,
    #[error("Producer is closed forcefully.")]
    ClosedForcefully,
}

impl ProducerError {
    pub(super) fn not_authorized(code: ErrorCode, topic: &str) -> Self {
        let message = Some(format!("Not authorized to access topics: [{topic}]"));
        Self::Refused { code, message }
    }

    /// The code under which Kafka knows the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Refused { code, .. } => *code,
            Self::UnknownTopic { .. }
            | Self::UnknownPartition { .. }
            | Self::BufferExhausted { .. }
            | Self::Expired { .. } => ErrorCode::RequestTimedOut,
            Self::LargerThanRequest { .. } | Self::LargerThanMemory { .. } => ErrorCode::MessageTooLarge,
            _ => ErrorCode::UnknownServerError,
        }
    }

    /// Whether the same record may have better luck later.
    pub fn is_retriable(&self) -> bool {
        self.code().is_retriable()
    }
}

impl From<ErrorCode> for ProducerError {
    fn from(code: ErrorCode) -> Self {
        Self::Refused { code, message: None }
    }
}
