//! What a request was sent for: it comes back with the answer.

use std::collections::{BTreeMap, BTreeSet};

use super::event::{CommitId, QueryId};
use super::generation::Generation;
use super::partition_state::FetchPosition;
use super::reset_strategy::ResetStrategy;
use crate::types::{BrokerId, TopicPartition};

#[derive(Clone, Debug)]
pub(super) enum Purpose {
    Fetch {
        node: BrokerId,
    },
    CloseSession,
    /// ListOffsets, for positions.
    Reset {
        asked: BTreeMap<TopicPartition, ResetStrategy>,
    },
    /// ListOffsets, for the application.
    Query {
        id: QueryId,
        asked: BTreeSet<TopicPartition>,
    },
    /// OffsetForLeaderEpoch.
    Validate {
        asked: BTreeMap<TopicPartition, FetchPosition>,
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
        asked: BTreeSet<TopicPartition>,
    },
    /// OffsetFetch, for the application.
    CommittedQuery {
        id: QueryId,
    },
}
