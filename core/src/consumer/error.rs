//! What a consumer tells its application when something went wrong. One line each: what is wrong,
//! where, what to do.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::error::ErrorCode;
use crate::types::{LeaderEpoch, Millis, Offset, TopicPartition};

/// Named after Kafka's exceptions where there is one.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ConsumerError {
    // ---- calls that cannot be
    #[error("Subscription to topics, partitions and pattern are mutually exclusive: unsubscribe first")]
    MixedSubscription,
    #[error("Consumer is not subscribed to any topics or assigned any partitions")]
    NotSubscribed,
    #[error("{partition} is not assigned to this consumer")]
    NotAssigned { partition: TopicPartition },
    #[error("seek offset must not be a negative number, as {offset} is")]
    NegativeOffset { offset: Offset },
    #[error("{timestamp} is no time to look for: it must not be negative")]
    NegativeTimestamp { timestamp: Millis },
    #[error("'{pattern}' is no pattern for topics: {why}")]
    InvalidPattern { pattern: String, why: String },
    #[error("'{topic}' is no name of a topic")]
    InvalidTopic { topic: String },
    #[error(
        "To use the group management or offset commit APIs, you must provide a valid group.id in the consumer configuration."
    )]
    NoGroup,
    #[error("This consumer has already been closed.")]
    Closed,

    // ---- positions
    #[error("Undefined offset with no reset policy for partitions: {}", Listed(.partitions))]
    NoOffsetForPartition { partitions: Vec<TopicPartition> },
    #[error(
        "Fetch position {offset} is out of range for partition {partition}, and auto.offset.reset is none: seek to an offset that is there"
    )]
    OffsetOutOfRange {
        partition: TopicPartition,
        offset: Offset,
    },
    #[error(
        "{partition}: the log was cut since it was read up to offset {offset}{}, and auto.offset.reset is none: seek to where to go on",
        DivergesAt(.diverges_at)
    )]
    LogTruncation {
        partition: TopicPartition,
        offset: Offset,
        /// Where what was read and what is there now part ways, if the leader knows.
        diverges_at: Option<(Offset, LeaderEpoch)>,
    },
    #[error(
        "Received exception when fetching the next record from {partition}. If needed, please seek past the record to continue consumption. At offset {offset}: {why}"
    )]
    CorruptRecord {
        partition: TopicPartition,
        offset: Offset,
        why: String,
    },

    // ---- the group
    #[error("group {group}: {code}: {hint}")]
    Group {
        group: String,
        code: ErrorCode,
        hint: &'static str,
    },
    #[error(
        "Offset commit cannot be completed since the consumer is not part of an active group for auto partition assignment; it is likely that the consumer was kicked out of the group."
    )]
    CommitFailed,
    #[error(
        "Offset commit cannot be completed since the consumer is undergoing a rebalance for auto partition assignment. You can try completing the rebalance by calling poll() and then retry the operation."
    )]
    RebalanceInProgress,
    #[error(
        "Offset commit failed with a retriable exception. You should retry committing the latest consumed offsets. ({why})"
    )]
    RetriableCommitFailed { why: String },

    // ---- everything
    #[error("not authorized to access topics: {}", .topics.join(", "))]
    TopicAuthorization { topics: Vec<String> },
    #[error("{what} was not done within {ms} ms")]
    Timeout { what: &'static str, ms: Millis },
    /// The broker is too old for what is asked.
    #[error("{0}")]
    Unsupported(String),
    #[error("unexpected error {code} in the answer to {api}")]
    Unexpected { api: &'static str, code: i16 },
}

struct Listed<'a>(&'a [TopicPartition]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(TopicPartition::to_string).collect();
        write!(f, "[{}]", names.join(", "))
    }
}

struct DivergesAt<'a>(&'a Option<(Offset, LeaderEpoch)>);

impl fmt::Display for DivergesAt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((offset, epoch)) => write!(f, " (epoch {epoch} ends at {offset} now)"),
            None => Ok(()),
        }
    }
}
