//! What a request was sent for: it comes back with the answer.

use super::event::{CommitId, QueryId};
use super::generation::Generation;
use super::partition_state::FetchPosition;
use super::reset_strategy::ResetStrategy;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::{BrokerId, TopicPartition};

#[derive(Clone, Debug)]
pub(super) enum Purpose {
    Fetch {
        node: BrokerId,
    },
    CloseSession,
    /// ListOffsets, for positions.
    Reset {
        asked: OrderedMap<TopicPartition, ResetStrategy>,
    },
    /// ListOffsets, for the application.
    Query {
        id: QueryId,
        asked: OrderedSet<TopicPartition>,
    },
    /// OffsetForLeaderEpoch.
    Validate {
        asked: OrderedMap<TopicPartition, FetchPosition>,
    },
    FindCoordinator,
    /// The five below carry the generation in which they were sent: an error of an older one is no news.
    Join(Generation),
    Sync(Generation),
    Heartbeat(Generation),
    Commit {
        id: CommitId,
        generation: Generation,
    },
    Leave,
    /// OffsetFetch, for positions.
    InitialOffsets {
        asked: OrderedSet<TopicPartition>,
    },
    /// OffsetFetch, for the application.
    CommittedQuery {
        id: QueryId,
    },
}
