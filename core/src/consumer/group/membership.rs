//! A member of a group, by the classic protocol (Kafka's `AbstractCoordinator`).
//!
//! ```text
//! Unjoined ── JoinGroup ──► PreparingRebalance ── its answer, SyncGroup ──► CompletingRebalance
//!    ▲                                                                             │ its answer
//!    └── unknown member, old generation, leaving ── Stable ◄───────────────────────┘
//! ```
//!
//! A first JoinGroup is answered with a member id and nothing else (KIP-394); the second one joins. Of
//! those who joined one leads: it hears what all of them read, and shares the partitions out.
//!
//! Invariant: an error that speaks of a generation that is over changes nothing.

use std::sync::Arc;

use bytes::Bytes;

use crate::client::ClientCx;
use crate::consumer::assignor::{LastAssignment, TopicsForAssignment};
use crate::consumer::generation::Generation;
use crate::consumer::shared::Shared;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::messages::JoinGroupResponse;
use crate::trace::ConsumerFact;
use crate::types::{Millis, TopicPartition};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberState {
    /// In no group.
    Unjoined,
    /// JoinGroup was sent.
    PreparingRebalance,
    /// Joined; its share is not known yet.
    CompletingRebalance,
    Stable,
}

/// The offsets that are committed before partitions are given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastCommit {
    NotBegun,
    UnderWay,
    /// Or given up.
    Done,
}

/// What goes on once the application knows of partitions that come or go.
#[derive(Clone, Debug)]
pub(super) enum Then {
    /// Joins, with what is left.
    Join { keep: OrderedSet<TopicPartition> },
    /// Takes the new share.
    Take { assigned: OrderedSet<TopicPartition> },
    /// Reads.
    Read,
    /// Leaves the group.
    Leave { why: &'static str },
}

/// When to say that the member is there, and when it was last heard.
#[derive(Clone, Debug, Default)]
pub(super) struct Heartbeat {
    pub next_ms: Millis,
    /// No answer until then: the coordinator is given up.
    pub session_due_ms: Millis,
    pub in_flight: bool,
    pub failures: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Membership {
    pub group: Arc<str>,
    pub state: MemberState,
    pub generation: Generation,
    pub rejoin_needed: bool,
    pub rejoin_reason: String,
    /// Partitions are to be given up before the next JoinGroup.
    pub needs_prepare: bool,
    /// Since when that goes on.
    pub preparing_since: Option<Millis>,
    pub last_commit: LastCommit,
    /// JoinGroup or SyncGroup is under way.
    pub in_flight: bool,
    pub not_before: Millis,
    /// The topics that it said it reads when it last joined.
    pub joined_topics: Option<OrderedSet<Arc<str>>>,
    /// It leads, and has yet to share out; with the number of metadata answers that it waits for.
    pub leading: Option<(Box<JoinGroupResponse>, u64)>,
    pub is_leader: bool,
    /// What it shared out: when that changes, the group must join anew.
    pub shared_out: Option<TopicsForAssignment>,
    /// Its share, while it was not taken yet.
    pub share: Option<Bytes>,
    /// What it waits for the application with.
    pub callback: Option<Then>,
    pub heartbeat: Heartbeat,
    pub last_poll_ms: Millis,
    pub last_assignments: OrderedMap<&'static str, LastAssignment>,
}

impl Membership {
    pub fn new(group: Arc<str>) -> Self {
        Self {
            group,
            state: MemberState::Unjoined,
            generation: Generation::default(),
            rejoin_needed: true,
            rejoin_reason: String::new(),
            needs_prepare: true,
            preparing_since: None,
            last_commit: LastCommit::NotBegun,
            in_flight: false,
            not_before: 0,
            joined_topics: None,
            leading: None,
            is_leader: false,
            shared_out: None,
            share: None,
            callback: None,
            heartbeat: Heartbeat::default(),
            last_poll_ms: 0,
            last_assignments: OrderedMap::new(),
        }
    }

    /// Whether a rebalance is between JoinGroup and the answer to SyncGroup.
    pub fn is_rebalancing(&self) -> bool {
        matches!(
            self.state,
            MemberState::PreparingRebalance | MemberState::CompletingRebalance
        )
    }

    /// Whether the coordinator expects heartbeats.
    pub fn beats(&self) -> bool {
        matches!(self.state, MemberState::CompletingRebalance | MemberState::Stable)
    }

    /// The member joins again at the next poll.
    pub fn want_rejoin(&mut self, shared: &mut Shared, cx: &mut ClientCx, why: &str) {
        let group = self.group.clone();
        shared.emit(cx, || ConsumerFact::RejoinWanted {
            group,
            why: why.to_owned(),
        });
        why.clone_into(&mut self.rejoin_reason);
        self.rejoin_needed = true;
        shared.again = true;
    }

    /// The member is in no generation any more, and with `forget` is no member either.
    pub fn reset(&mut self, shared: &mut Shared, cx: &mut ClientCx, why: &str, forget: bool) {
        self.state = MemberState::Unjoined;
        self.generation = match forget {
            true => Generation::default(),
            false => Generation::of_member(self.generation.member.clone()),
        };
        self.leading = None;
        self.share = None;
        self.needs_prepare = true;
        self.want_rejoin(shared, cx, why);
    }

    /// From now on heartbeats are expected.
    pub fn begin_heartbeats(&mut self, now: Millis, interval_ms: Millis, session_ms: Millis) {
        self.heartbeat = Heartbeat {
            next_ms: now + interval_ms,
            session_due_ms: now + session_ms,
            in_flight: false,
            failures: 0,
        };
        self.last_poll_ms = now;
    }
}
