//! What an application is told beside records: the partitions it is given and must give up, what became
//! of commits and look-ups, and errors.

use super::error::ConsumerError;
use super::record::{OffsetAndMetadata, OffsetAndTimestamp};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::TopicPartition;

/// Names a commit of this consumer; grows.
pub type CommitId = u64;
/// Names a look-up of this consumer; grows.
pub type QueryId = u64;

/// Partitions that come or go (`ConsumerRebalanceListener`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebalance {
    /// To be given up in order: what was processed may still be committed.
    Revoked(OrderedSet<TopicPartition>),
    /// New ones, beside those that stayed. Positions may be set before anything is read.
    Assigned(OrderedSet<TopicPartition>),
    /// Somebody else may have them already: nothing can be committed any more.
    Lost(OrderedSet<TopicPartition>),
}

/// See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConsumerEvent {
    /// With a listener: the consumer waits for
    /// [`confirm_rebalance`](super::Consumer::confirm_rebalance).
    Rebalance(Rebalance),
    /// A commit ended. They end in the order in which they were asked for.
    Committed {
        id: CommitId,
        offsets: OrderedMap<TopicPartition, OffsetAndMetadata>,
        result: Result<(), ConsumerError>,
    },
    /// The committed offsets; `None`: none was ever committed.
    CommittedOffsets {
        id: QueryId,
        result: Result<OrderedMap<TopicPartition, Option<OffsetAndMetadata>>, ConsumerError>,
    },
    /// What was looked up; `None`: there is no such record.
    Offsets {
        id: QueryId,
        result: Result<OrderedMap<TopicPartition, Option<OffsetAndTimestamp>>, ConsumerError>,
    },
    /// What Java's `poll` throws: the consumer goes on at the next poll.
    Failed(ConsumerError),
    Closed,
}
