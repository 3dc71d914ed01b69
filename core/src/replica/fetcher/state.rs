//! One partition of a fetcher (Kafka's `PartitionFetchState`).

use super::truncation::CutId;
use crate::disk::Ticket;
use crate::trace::TruncateReason;
use crate::types::{LeaderEpoch, Millis, Offset, Uuid};

#[derive(Clone, Debug)]
pub(super) struct PartitionFetch {
    pub topic_id: Uuid,
    /// The leader epoch in which it is followed.
    pub leader_epoch: LeaderEpoch,
    pub phase: Phase,
    pub delayed_until: Option<Millis>,
    /// How often in a row the leader did not know what it was asked of.
    pub not_heard: u32,
    /// How far the leader's HW was ahead at the last fetch.
    pub lag: Option<i64>,
    /// Who got records goes behind the others.
    pub turn: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// To be fetched, unless delayed.
    Ready,
    /// Has to ask for the end of its last epoch (OffsetForLeaderEpoch).
    AsksEpoch,
    /// Was out of range: has to ask where the leader's log ends.
    AsksEnd,
    /// The leader's log goes on behind this one's end: has to ask where it begins.
    AsksStart,
    /// Its log is to end at `to`, as soon as the appends under way are written and what stays is known.
    Cutting {
        to: Offset,
        why: TruncateReason,
        then: Then,
        wait_for: Option<Ticket>,
        /// The job that is under way for it.
        job: Option<CutId>,
    },
    /// The disk has to do what was queued.
    Writing { ticket: Ticket, then: Then },
}

/// What a partition does when its log is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Fetch,
    AskEpoch,
}

impl PartitionFetch {
    pub fn new(topic_id: Uuid, leader_epoch: LeaderEpoch, turn: u64) -> Self {
        Self {
            topic_id,
            leader_epoch,
            phase: Phase::Ready,
            delayed_until: None,
            not_heard: 0,
            lag: None,
            turn,
        }
    }

    pub fn is_delayed(&self) -> bool {
        self.delayed_until.is_some()
    }

    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready && !self.is_delayed()
    }
}
