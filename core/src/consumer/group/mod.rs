//! What a consumer does as one of a group: finds the coordinator, is a member, commits.
//!
//! Reading order: `coordinator` who it is; `membership` the state of a member, `joining` JoinGroup and
//! SyncGroup, `rebalance` partitions that come and go, `heartbeat`; `commits` and `committed` offsets.
//! A consumer whose partitions are assigned by hand uses only the first and the last two.

mod commits;
mod committed;
mod coordinator;
mod heartbeat;
mod joining;
mod membership;
mod rebalance;

use commits::Commits;
use committed::CommittedOffsets;
use coordinator::Coordinator;
use membership::{LastCommit, Membership};
pub use rebalance::LeaveBy;

use super::config::{ConsumerConfig, GroupConfig};
use super::error::ConsumerError;
use super::event::{CommitId, QueryId};
use super::purpose::Purpose;
use super::record::OffsetAndMetadata;
use super::shared::Shared;
use crate::client::ClientCx;
use crate::client::network::Answer;
use crate::full::OnlyInFull;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::trace::CommitReason;
use crate::types::{Millis, TopicPartition};

#[derive(Clone, Debug)]
pub(super) struct Group {
    pub config: GroupConfig,
    retry_backoff_ms: Millis,
    coordinator: Coordinator,
    member: Membership,
    commits: Commits,
    committed: CommittedOffsets,
    next_auto_commit_ms: Millis,
    /// The application confirms what it hears of partitions.
    pub has_listener: bool,
    pub leave_by: LeaveBy,
    /// LeaveGroup is under way.
    leaving: bool,
    /// The member gave everything up, and is out or will be.
    pub left: bool,
    _only_in_full: OnlyInFull,
}

impl Group {
    /// `None` in a build without groups.
    pub fn new(config: &ConsumerConfig, group: &GroupConfig) -> Option<Self> {
        Some(Self {
            config: group.clone(),
            retry_backoff_ms: config.client.retry_backoff.initial_ms,
            coordinator: Coordinator::new(group.group.clone()),
            member: Membership::new(group.group.clone()),
            commits: Commits::default(),
            committed: CommittedOffsets::default(),
            next_auto_commit_ms: 0,
            has_listener: false,
            leave_by: LeaveBy::Default,
            leaving: false,
            left: false,
            _only_in_full: OnlyInFull::get()?,
        })
    }

    /// Whether the application must confirm before anything is returned.
    pub fn awaits_confirmation(&self) -> bool {
        self.member.callback.is_some()
    }

    /// Member id and generation, once there are any.
    pub fn membership(&self) -> (&str, i32) {
        (&self.member.generation.member, self.member.generation.id)
    }

    pub fn is_stable(&self) -> bool {
        self.member.state == membership::MemberState::Stable && self.member.share.is_none()
    }

    /// Does everything that can be done now.
    pub fn run(&mut self, shared: &mut Shared, cx: &mut ClientCx, is_closing: bool) {
        self.beat(shared, cx);
        self.lead(shared, cx);
        if shared.polling && !is_closing {
            self.auto_commit(shared, cx);
            self.rebalance(shared, cx);
        }
        self.run_commits(shared, cx);
        if !is_closing {
            let group = self.config.group.clone();
            self.committed.run(&group, &mut self.coordinator, shared, cx);
        }
    }

    fn run_commits(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        let Self {
            config,
            coordinator,
            member,
            commits,
            ..
        } = self;
        for own in commits.run(config, coordinator, member, shared, cx) {
            let is_retriable = matches!(own.result, Err(ConsumerError::RetriableCommitFailed { .. }));
            match own.reason {
                CommitReason::Rebalance if is_retriable => {
                    member.last_commit = LastCommit::NotBegun;
                    member.not_before = cx.now + self.retry_backoff_ms;
                }
                CommitReason::Rebalance => member.last_commit = LastCommit::Done,
                CommitReason::Interval if is_retriable => {
                    self.next_auto_commit_ms = cx.now + self.retry_backoff_ms;
                }
                _ => {}
            }
        }
    }

    /// Commits what was returned, if it is time.
    fn auto_commit(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        if !self.config.auto_commit {
            return;
        }
        if self.next_auto_commit_ms == 0 {
            self.next_auto_commit_ms = cx.now + self.config.auto_commit_interval_ms;
        }
        if self.next_auto_commit_ms > cx.now {
            return shared.wake_at(self.next_auto_commit_ms);
        }
        self.next_auto_commit_ms = cx.now + self.config.auto_commit_interval_ms;
        let offsets = shared.subscriptions.all_consumed();
        if !offsets.is_empty() {
            let due_ms = cx.now + shared.config.default_api_timeout_ms;
            self.commits.add(offsets, CommitReason::Interval, due_ms);
        }
    }

    pub fn commit(
        &mut self,
        offsets: OrderedMap<TopicPartition, OffsetAndMetadata>,
        reason: CommitReason,
        due_ms: Millis,
    ) -> CommitId {
        self.commits.add(offsets, reason, due_ms)
    }

    pub fn has_commits(&self) -> bool {
        !self.commits.is_empty()
    }

    /// Something was said to the coordinator that is not answered yet.
    pub fn is_leaving(&self) -> bool {
        self.leaving
    }

    pub fn ask_committed(&mut self, id: QueryId, partitions: OrderedSet<TopicPartition>, due_ms: Millis) {
        self.committed.ask(id, partitions, due_ms);
    }

    /// Takes in what became of a request to the coordinator, or about it.
    pub fn answered(&mut self, shared: &mut Shared, cx: &mut ClientCx, answer: Answer<Purpose>) {
        let result = answer.result;
        let group = self.config.group.clone();
        match answer.purpose {
            Purpose::FindCoordinator => {
                if self.coordinator.found(shared, cx, result) {
                    let session_ms = self.config.session_timeout_ms;
                    self.member.heartbeat.session_due_ms = cx.now + session_ms;
                }
            }
            Purpose::Join(sent) => self.join_answered(shared, cx, &sent, result),
            Purpose::Sync(sent) => self.sync_answered(shared, cx, &sent, result),
            Purpose::Heartbeat(sent) => self.beat_answered(shared, cx, &sent, result),
            Purpose::Leave => self.leaving = false,
            Purpose::Commit { id, generation } => self.commits.answered(
                &self.config,
                &mut self.coordinator,
                &mut self.member,
                shared,
                cx,
                (id, &generation),
                result,
            ),
            Purpose::InitialOffsets { asked } => {
                let coordinator = &mut self.coordinator;
                self.committed
                    .initial_answered(&group, coordinator, shared, cx, &asked, result);
            }
            Purpose::CommittedQuery { id } => {
                let coordinator = &mut self.coordinator;
                self.committed
                    .query_answered(&group, coordinator, shared, cx, id, result);
            }
            Purpose::Fetch { .. }
            | Purpose::CloseSession
            | Purpose::Reset { .. }
            | Purpose::Query { .. }
            | Purpose::Validate { .. } => {}
        }
    }

    /// Forgets the membership: the application subscribes to something else later.
    pub fn forget_subscription(&mut self) {
        self.member.joined_topics = None;
        self.left = false;
    }
}
