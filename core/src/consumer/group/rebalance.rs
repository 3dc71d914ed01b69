//! Partitions that come and go (Kafka's `ConsumerCoordinator` and `ConsumerRebalanceListenerInvoker`).
//!
//! *Eager*: before it joins again, a member commits and gives up all that it has. *Cooperative* (KIP-429):
//! it keeps everything, reads on, and gives up what the new share lacks once it knows it; then all join once
//! more, and what was given up finds its new owner. Nobody else has a partition before its owner let go of
//! it, unless the owner is out of the group: then it has *lost* it, and can commit nothing.
//!
//! Invariant: with a listener, nothing changes before the application has confirmed that it knows.

use std::sync::Arc;

use super::Group;
use super::coordinator::group_error;
use super::membership::{LastCommit, MemberState, Then};
use crate::client::ClientCx;
use crate::consumer::assignor::{LastAssignment, RebalanceProtocol};
use crate::consumer::event::{ConsumerEvent, Rebalance};
use crate::consumer::purpose::Purpose;
use crate::consumer::requests;
use crate::consumer::shared::Shared;
use crate::error::ErrorCode;
use crate::ordered::OrderedSet;
use crate::protocol::ApiKey;
use crate::protocol::consumer_protocol::Assignment;
use crate::trace::{CommitReason, ConsumerFact};
use crate::types::TopicPartition;

type Partitions = OrderedSet<TopicPartition>;

impl Group {
    /// While the application polls: joins if that is needed, and takes the share that came.
    pub(super) fn rebalance(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        if !shared.subscriptions.is_by_group() || self.member.callback.is_some() {
            return;
        }
        self.notice_changes(shared, cx);
        if self.member.share.is_some() {
            return self.take_share(shared, cx);
        }
        let member = &self.member;
        if !member.rejoin_needed || member.in_flight || member.leading.is_some() {
            return;
        }
        // Topics must have been matched against the pattern once, or nothing would be subscribed to.
        if shared.subscriptions.pattern().is_some() && shared.net.metadata.is_update_wanted() {
            return;
        }
        if !self.coordinator.is_known() {
            // Nothing is given up before there is somebody to join.
            self.coordinator.ready(shared, cx);
            return;
        }
        if member.needs_prepare && !self.prepare(shared, cx) {
            return;
        }
        self.join(shared, cx);
    }

    /// The topics may be others than when the group last joined.
    fn notice_changes(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        let is_changed = self.member.is_leader
            && self.member.state == MemberState::Stable
            && self
                .member
                .shared_out
                .as_ref()
                .is_some_and(|before| *before != self.snapshot(shared));
        let is_other = self
            .member
            .joined_topics
            .as_ref()
            .is_some_and(|joined| joined != shared.subscriptions.topics());
        if self.member.rejoin_needed {
            return;
        }
        if is_changed {
            self.member.want_rejoin(shared, cx, "cached metadata has changed");
        } else if is_other {
            self.member.want_rejoin(shared, cx, "subscription has changed");
        }
    }

    /// Gives up what must be given up before joining. True once that is done.
    fn prepare(&mut self, shared: &mut Shared, cx: &mut ClientCx) -> bool {
        let since = *self.member.preparing_since.get_or_insert(cx.now);
        if !self.committed_before(shared, cx, since) {
            return false;
        }
        let owned = shared.subscriptions.assigned();
        if self.member.generation.is_lost() {
            return match owned.is_empty() {
                true => self.prepared(shared, cx, owned),
                false => self.let_go(shared, cx, Rebalance::Lost(owned), Partitions::new()),
            };
        }
        match self.config.protocol {
            RebalanceProtocol::Eager => self.let_go(shared, cx, Rebalance::Revoked(owned), Partitions::new()),
            RebalanceProtocol::Cooperative => {
                let topics = shared.subscriptions.topics();
                let (keep, revoked): (Partitions, Partitions) = owned
                    .into_iter()
                    .partition(|partition| topics.contains(&partition.topic));
                match revoked.is_empty() {
                    true => self.prepared(shared, cx, keep),
                    false => self.let_go(shared, cx, Rebalance::Revoked(revoked), keep),
                }
            }
        }
    }

    /// With auto-commit, what was returned is committed first; for as long as a rebalance may take.
    fn committed_before(&mut self, shared: &mut Shared, cx: &mut ClientCx, since: i64) -> bool {
        let due_ms = since.saturating_add(self.config.max_poll_interval_ms);
        match self.member.last_commit {
            _ if !self.config.auto_commit || cx.now >= due_ms => true,
            LastCommit::Done => true,
            LastCommit::UnderWay => {
                shared.wake_at(due_ms);
                false
            }
            LastCommit::NotBegun if self.member.not_before > cx.now => {
                shared.wake_at(self.member.not_before);
                false
            }
            LastCommit::NotBegun => {
                if self.config.protocol == RebalanceProtocol::Eager {
                    for (_, state) in shared.subscriptions.states_mut() {
                        state.pending_revocation = true;
                    }
                }
                let offsets = shared.subscriptions.all_consumed();
                self.commits.add(offsets, CommitReason::Rebalance, due_ms);
                self.member.last_commit = LastCommit::UnderWay;
                shared.again = true;
                false
            }
        }
    }

    /// True if the application need not be waited for.
    fn let_go(&mut self, shared: &mut Shared, cx: &mut ClientCx, what: Rebalance, keep: Partitions) -> bool {
        self.tell(shared, cx, what, Then::Join { keep });
        self.member.callback.is_none()
    }

    fn prepared(&mut self, shared: &mut Shared, _cx: &mut ClientCx, keep: Partitions) -> bool {
        self.assign(shared, keep);
        shared.subscriptions.set_group_topics(OrderedSet::new());
        let member = &mut self.member;
        member.is_leader = false;
        member.shared_out = None;
        member.preparing_since = None;
        member.last_commit = LastCommit::NotBegun;
        member.needs_prepare = false;
        true
    }

    fn assign(&self, shared: &mut Shared, partitions: Partitions) {
        let Shared {
            subscriptions,
            fetcher,
            ..
        } = shared;
        subscriptions.assign_from_group(partitions);
        fetcher.retain_assigned(subscriptions);
        shared.again = true;
    }

    /// Takes the share that the leader handed out.
    fn take_share(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        let Some(share) = self.member.share.take() else {
            return;
        };
        let member = &mut self.member;
        if member.generation.is_lost() || member.state != MemberState::Stable {
            return member.reset(
                shared,
                cx,
                "the generation was lost before its share was taken",
                true,
            );
        }
        member.needs_prepare = true;
        if !member.is_leader {
            member.shared_out = None;
        }
        let assigned: Partitions = match Assignment::decode(&share) {
            Ok(assignment) => assignment.partitions.into_iter().collect(),
            Err(_) => {
                member.want_rejoin(shared, cx, "the share cannot be read");
                let error = group_error(&self.config.group, ErrorCode::InconsistentGroupProtocol);
                return shared.fail(cx, error);
            }
        };
        if !shared.subscriptions.matches(assigned.iter()) {
            let why = "received assignment does not match the current subscription";
            return member.want_rejoin(shared, cx, why);
        }
        let owned = shared.subscriptions.assigned();
        let revoked: Partitions = owned.difference(&assigned).cloned().collect();
        if self.config.protocol == RebalanceProtocol::Cooperative && !revoked.is_empty() {
            member.want_rejoin(shared, cx, "need to revoke partitions and re-join");
            return self.tell(shared, cx, Rebalance::Revoked(revoked), Then::Take { assigned });
        }
        self.take(shared, cx, assigned);
    }

    fn take(&mut self, shared: &mut Shared, cx: &mut ClientCx, assigned: Partitions) {
        let owned = shared.subscriptions.assigned();
        let added: Partitions = assigned.difference(&owned).cloned().collect();
        if shared.subscriptions.pattern().is_some() {
            // The leader may have seen a topic that matches before this member did.
            let topics = assigned.iter().map(|partition| partition.topic.clone());
            let mut topics: OrderedSet<Arc<str>> = topics.collect();
            topics.extend(shared.subscriptions.topics().iter().cloned());
            shared.subscriptions.subscribe_from_pattern(topics.clone());
            self.member.joined_topics = Some(topics);
        }
        let generation = self.member.generation.id;
        if let Some(assignor) = self.assignor(self.member.generation.protocol.as_deref()) {
            let partitions = assigned.iter().cloned().collect();
            let last = LastAssignment {
                generation,
                partitions,
            };
            self.member.last_assignments.insert(assignor.name(), last);
        }
        self.next_auto_commit_ms = cx.now + self.config.auto_commit_interval_ms;
        self.assign(shared, assigned);
        for partition in &added {
            if let Some(state) = shared.subscriptions.get_mut(partition) {
                state.pending_assigned = true;
            }
        }
        self.tell(shared, cx, Rebalance::Assigned(added), Then::Read);
    }

    // ---- the application's part

    /// Tells the application, and goes on at once if it has no listener.
    fn tell(&mut self, shared: &mut Shared, cx: &mut ClientCx, what: Rebalance, then: Then) {
        let group = self.config.group.clone();
        match &what {
            Rebalance::Revoked(partitions) => {
                shared.emit(cx, || ConsumerFact::PartitionsRevoked {
                    group,
                    partitions: partitions.iter().cloned().collect(),
                });
            }
            Rebalance::Lost(partitions) => {
                shared.emit(cx, || ConsumerFact::PartitionsLost {
                    group,
                    partitions: partitions.iter().cloned().collect(),
                });
            }
            Rebalance::Assigned(partitions) => {
                let owned = shared.subscriptions.assigned().into_iter().collect();
                shared.emit(cx, || ConsumerFact::PartitionsAssigned {
                    group,
                    partitions: partitions.iter().cloned().collect(),
                    owned,
                });
            }
        }
        shared.events.push_back(ConsumerEvent::Rebalance(what));
        if self.has_listener {
            self.member.callback = Some(then);
        } else {
            self.go_on_with(shared, cx, then);
        }
    }

    /// The application knows: what waited for that goes on.
    pub(in crate::consumer) fn confirmed(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        if let Some(then) = self.member.callback.take() {
            self.go_on_with(shared, cx, then);
        }
    }

    fn go_on_with(&mut self, shared: &mut Shared, cx: &mut ClientCx, then: Then) {
        shared.again = true;
        match then {
            Then::Join { keep } => _ = self.prepared(shared, cx, keep),
            Then::Take { assigned } => self.take(shared, cx, assigned),
            Then::Read => {
                for (_, state) in shared.subscriptions.states_mut() {
                    state.pending_assigned = false;
                }
            }
            Then::Leave { why } => {
                self.assign(shared, Partitions::new());
                self.leave(shared, cx, why, self.leave_by);
                self.left = true;
            }
        }
    }

    // ---- leaving

    /// Gives everything up and leaves the group; done when [`left`](Self::left) is true.
    pub(in crate::consumer) fn begin_leaving(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        why: &'static str,
    ) {
        self.left = false;
        // A question that is still open is about what is given up now.
        self.member.callback = None;
        let owned = shared.subscriptions.assigned();
        let then = Then::Leave { why };
        if !shared.subscriptions.is_by_group() || owned.is_empty() {
            return self.go_on_with(shared, cx, then);
        }
        let is_lost = self.member.generation.is_lost() || self.member.is_rebalancing();
        let what = match is_lost {
            true => Rebalance::Lost(owned),
            false => Rebalance::Revoked(owned),
        };
        self.tell(shared, cx, what, then);
    }

    /// Tells the coordinator that the member goes, unless it is a static one, whose place is kept until its
    /// session is over (KIP-345), or there is nobody to tell. It is not tried twice.
    pub(super) fn leave(&mut self, shared: &mut Shared, cx: &mut ClientCx, why: &str, by: LeaveBy) {
        let tells = match by {
            LeaveBy::Default => self.config.instance.is_none(),
            LeaveBy::Leaving => true,
            LeaveBy::Remaining => false,
        };
        let member = self.member.generation.member.clone();
        let is_in = self.member.state != MemberState::Unjoined && self.member.generation.is_member();
        let node = self.coordinator.node().filter(|_| tells && is_in).cloned();
        if let Some(node) = node.filter(|node| shared.net.ready(cx, node))
            && let Ok(version) = shared.net.usable_version(&node, ApiKey::LeaveGroup, i16::MAX)
        {
            let body = requests::leave_group(version, &self.config, &member, why);
            let group = self.config.group.clone();
            shared.emit(cx, || ConsumerFact::LeaveSent {
                group,
                member,
                why: why.to_owned(),
            });
            let sent = shared.net.send(cx, &node, version, &body, Purpose::Leave, 0);
            self.leaving = sent.is_ok();
        }
        self.member
            .reset(shared, cx, "consumer pro-actively leaving the group", true);
    }
}

/// Whether the coordinator is told when a consumer closes (KIP-1092).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeaveBy {
    /// A dynamic member leaves, a static one remains.
    #[default]
    Default,
    Leaving,
    Remaining,
}
