//! Who counts as in sync: the ISR, and how it changes.
//!
//! A follower leaves the ISR when it has not been caught up for `replica.lag.time.max.ms`, and enters
//! it when it has reached the high watermark and the leader's epoch: nothing that is safe or may
//! become so would be missing if it led. The leader cannot decide alone, since the controller may know
//! of a new leader or of a broker's death. It *proposes* (AlterPartition, KIP-497), and until the
//! answer comes it goes by the *maximal* ISR, the stricter of before and after: new members count at
//! once, leaving ones until the controller has agreed.
//!
//! Invariants
//! - at most one proposal is under way
//! - the committed ISR is what some partition epoch says, and never an older one again

use smallvec::SmallVec;

use super::partition::Partition;
use super::replication::Replication;
use super::role::{Leader, Role};
use super::waiting::Moved;
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::trace::{Fact, FollowerLag};
use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, Millis, NO_BROKER_EPOCH, PartitionEpoch};

/// A change of the ISR that the leader asks the controller for. The leader is a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Each member with the life of its broker in which it fetched, if it did.
    pub isr: Vec<(BrokerId, BrokerEpoch)>,
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch that the change builds on.
    pub partition_epoch: PartitionEpoch,
}

/// What the controller made of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsrAnswer {
    pub isr: Vec<BrokerId>,
    pub leader_epoch: LeaderEpoch,
    pub partition_epoch: PartitionEpoch,
}

type Members = SmallVec<[BrokerId; 4]>;

#[derive(Clone, Debug, Default)]
pub(super) struct Isr {
    committed: Members,
    pending: Option<Box<Pending>>,
}

#[derive(Clone, Debug)]
struct Pending {
    proposal: Proposal,
    /// `None` for a change that only removes.
    enters: Option<BrokerId>,
    /// The controller will never carry it out; its next word on the partition ends the wait.
    given_up: bool,
}

impl Isr {
    /// The controller's word. What is pending ends with news, and when nobody works on it any more.
    pub fn commit(&mut self, isr: &[BrokerId], is_news: bool) {
        if is_news {
            self.committed = isr.into();
        }
        if is_news || self.pending.as_ref().is_some_and(|pending| pending.given_up) {
            self.pending = None;
        }
    }

    pub fn committed(&self) -> &[BrokerId] {
        &self.committed
    }

    /// Whether it is in sync or will be when the pending change is carried out.
    pub fn maximal_contains(&self, broker: BrokerId) -> bool {
        self.committed.contains(&broker) || self.enters() == Some(broker)
    }

    pub fn maximal_len(&self) -> usize {
        self.committed.len() + usize::from(self.enters().is_some())
    }

    /// Who is about to enter.
    pub fn enters(&self) -> Option<BrokerId> {
        self.pending.as_ref().and_then(|pending| pending.enters)
    }

    /// What is asked for, while the controller may yet carry it out.
    pub fn asked(&self) -> Option<Vec<BrokerId>> {
        let pending = self.pending.as_ref().filter(|pending| !pending.given_up)?;
        Some(pending.proposal.isr.iter().map(|&(id, _)| id).collect())
    }

    fn is_pending(&self, proposal: &Proposal) -> bool {
        let pending = self.pending.as_ref();
        pending.is_some_and(|pending| pending.proposal == *proposal)
    }
}

impl Partition {
    /// The ISR as the controller last confirmed it; nothing when this replica does not lead.
    pub fn isr(&self) -> &[BrokerId] {
        match &self.role {
            Role::Leader(leader) => leader.isr.committed(),
            _ => &[],
        }
    }

    /// The proposal under way, if any.
    pub fn pending_proposal(&self) -> Option<&Proposal> {
        match &self.role {
            Role::Leader(leader) => leader.isr.pending.as_ref().map(|pending| &pending.proposal),
            _ => None,
        }
    }

    /// The ISR that was asked for, while the controller may yet carry it out.
    pub fn asked_isr(&self) -> Option<Vec<BrokerId>> {
        let Role::Leader(leader) = &self.role else {
            return None;
        };
        leader.isr.asked()
    }

    /// When [`maybe_shrink_isr`](Self::maybe_shrink_isr) may have something to do; `None` while every
    /// member has all there is, or a change is under way. It falls due earlier only by an append or a
    /// fetch of an older offset, later by any fetch: who keeps it in a set may let an early time stand and
    /// ask again then.
    pub fn next_lag_check(&self, shared: &Replication) -> Option<Millis> {
        let (Role::Leader(leader), Some(log)) = (&self.role, &self.log) else {
            return None;
        };
        if leader.isr.pending.is_some() {
            return None;
        }
        let members = leader.followers.iter();
        let members = members.filter(|follower| leader.isr.committed.contains(&follower.broker));
        members
            .filter_map(|follower| follower.lags_at(log.log_end(), shared.lag_time_max_ms))
            .min()
    }

    /// Proposes an ISR without the members that are stuck or too slow: not caught up within
    /// `replica.lag.time.max.ms` (`Partition.maybeShrinkIsr`).
    pub fn maybe_shrink_isr(&mut self, cx: &mut Cx, shared: &Replication) -> Option<Proposal> {
        let (Role::Leader(leader), Some(log)) = (&self.role, &self.log) else {
            return None;
        };
        if leader.isr.pending.is_some() {
            return None;
        }
        let log_end = log.log_end();
        let lags = |broker: BrokerId| {
            broker != shared.me
                && leader
                    .follower(broker)
                    .is_none_or(|follower| !follower.is_caught_up(log_end, cx.now, shared.lag_time_max_ms))
        };
        let members = leader.isr.committed.iter().copied();
        let (lagging, keeps): (Members, Members) = members.partition(|&id| lags(id));
        if lagging.is_empty() {
            return None;
        }
        self.emit_proposed(cx, &keeps, &lagging);
        self.propose(shared, &keeps, None)
    }

    /// Proposes to take a follower in that has just fetched, if it is far enough and may
    /// (`Partition.maybeExpandIsr`).
    pub(super) fn maybe_expand_isr(
        &mut self,
        cx: &mut Cx,
        shared: &Replication,
        broker: BrokerId,
    ) -> Option<Proposal> {
        let Role::Leader(leader) = &self.role else {
            return None;
        };
        let is_member = leader.isr.committed.contains(&broker) || mutated!(IsrNeverGrows);
        if leader.isr.pending.is_some() || is_member {
            return None;
        }
        let follower = leader.follower(broker)?;
        let far_enough = follower.log_end >= self.high_watermark && follower.log_end >= leader.epoch_start;
        if !far_enough || !shared.is_eligible(broker, follower.broker_epoch) {
            return None;
        }
        let mut members = leader.isr.committed.clone();
        members.push(broker);
        self.emit_proposed(cx, &members, &[broker]);
        self.propose(shared, &members, Some(broker))
    }

    /// The same for any follower whose fetch came while something stood in its way, a proposal under way or
    /// a broker not yet known to live. In an idle session no later fetch brings it up again.
    pub(super) fn expand_isr_by_any(&mut self, cx: &mut Cx, shared: &Replication) -> Option<Proposal> {
        let (Role::Leader(leader), Some(log)) = (&self.role, &self.log) else {
            return None;
        };
        let log_end = log.log_end();
        let caught_up = leader
            .followers
            .iter()
            .filter(|follower| follower.is_caught_up(log_end, cx.now, shared.lag_time_max_ms));
        let caught_up: Members = caught_up.map(|follower| follower.broker).collect();
        caught_up
            .into_iter()
            .find_map(|broker| self.maybe_expand_isr(cx, shared, broker))
    }

    fn propose(
        &mut self,
        shared: &Replication,
        members: &[BrokerId],
        enters: Option<BrokerId>,
    ) -> Option<Proposal> {
        let (leader_epoch, partition_epoch) = (self.leader_epoch, self.partition_epoch);
        let Role::Leader(leader) = &mut self.role else {
            return None;
        };
        let members = members.iter().map(|&id| (id, leader.life_of(shared, id)));
        let proposal = Proposal {
            isr: members.collect(),
            leader_epoch,
            partition_epoch,
        };
        leader.isr.pending = Some(Box::new(Pending {
            proposal: proposal.clone(),
            enters,
            given_up: false,
        }));
        Some(proposal)
    }

    /// The controller has answered a proposal, or could not be reached (any retriable error). With
    /// [`Moved::proposal`] the same is to be asked again, after a short while.
    pub fn proposal_done(
        &mut self,
        cx: &mut Cx,
        shared: &Replication,
        proposal: &Proposal,
        answer: Result<IsrAnswer, ErrorCode>,
    ) -> Moved {
        let mut moved = Moved::default();
        match answer {
            Ok(answer) => {
                if self.take_isr(cx, &answer, proposal) {
                    // The ISR may be down to this one.
                    self.maybe_raise_high_watermark(cx, shared, &mut moved);
                    moved.proposal = self.expand_isr_by_any(cx, shared);
                }
            }
            Err(code) => {
                moved.proposal = self.proposal_failed(cx, proposal, code);
                // Who was to enter counts no longer. It may be gone, with all others at the end already:
                // then no fetch and no append would look again.
                self.maybe_raise_high_watermark(cx, shared, &mut moved);
                // The next proposal comes of a fetch, as in Kafka, where each fetch looks at each partition.
                moved.visit_followers = self.pending_proposal().is_none();
            }
        }
        moved
    }

    /// Takes the confirmed ISR over, unless something newer is known (`handleAlterPartitionUpdate`). It is
    /// the controller's word even if the proposal has been given up since.
    fn take_isr(&mut self, cx: &mut Cx, answer: &IsrAnswer, proposal: &Proposal) -> bool {
        let Role::Leader(leader) = &mut self.role else {
            return false;
        };
        let is_pending = leader.isr.is_pending(proposal);
        // At the partition epoch known here nothing changed: the ISR was as proposed already.
        let is_news = answer.partition_epoch > self.partition_epoch
            || (answer.partition_epoch == self.partition_epoch && is_pending);
        if answer.leader_epoch != self.leader_epoch || !is_news {
            return false;
        }
        leader.isr.commit(&answer.isr, true);
        self.partition_epoch = answer.partition_epoch;
        cx.cause = cx.emit(|| Fact::IsrChanged {
            partition: self.name.clone(),
            isr: answer.isr.clone(),
            partition_epoch: answer.partition_epoch,
        });
        true
    }

    /// What to do about an error, as `Partition.handleAlterPartitionError`: the proposal to try again, or
    /// nothing.
    fn proposal_failed(&mut self, cx: &mut Cx, proposal: &Proposal, code: ErrorCode) -> Option<Proposal> {
        let Role::Leader(leader) = &mut self.role else {
            return None;
        };
        if !leader.isr.is_pending(proposal) {
            return None;
        }
        let pending = leader.isr.pending.as_mut()?;
        let again = match code {
            // The partition epoch is right, and the change was not carried out: as if never asked. Which
            // member is not eligible is not said: it may be another than the one that was to enter.
            ErrorCode::OperationNotAttempted | ErrorCode::IneligibleReplica => {
                leader.isr.pending = None;
                false
            }
            // What is known here is old: the controller's next word will come.
            ErrorCode::UnknownTopicOrPartition
            | ErrorCode::UnknownTopicId
            | ErrorCode::FencedLeaderEpoch
            | ErrorCode::InvalidUpdateVersion
            | ErrorCode::InvalidRequest
            | ErrorCode::NewLeaderElected => {
                pending.given_up = true;
                false
            }
            _ => true,
        };
        cx.cause = cx.emit(|| Fact::IsrProposalRefused {
            partition: self.name.clone(),
            code,
            again,
        });
        again.then(|| proposal.clone())
    }

    fn emit_proposed(&self, cx: &mut Cx, members: &[BrokerId], about: &[BrokerId]) {
        let Role::Leader(leader) = &self.role else {
            return;
        };
        cx.emit(|| Fact::IsrProposed {
            partition: self.name.clone(),
            isr: members.to_vec(),
            partition_epoch: self.partition_epoch,
            because: about.iter().map(|&id| leader.lag_of(id)).collect(),
        });
    }
}

impl Leader {
    fn life_of(&self, shared: &Replication, broker: BrokerId) -> BrokerEpoch {
        if broker == shared.me {
            return shared.broker_epoch;
        }
        let known = self.follower(broker).and_then(|follower| follower.broker_epoch);
        known.unwrap_or(NO_BROKER_EPOCH)
    }

    fn lag_of(&self, broker: BrokerId) -> FollowerLag {
        let known = self.follower(broker);
        FollowerLag {
            broker,
            log_end: known.map_or(-1, |follower| follower.log_end),
            last_caught_up_ms: known.map_or(0, |follower| follower.last_caught_up_ms),
        }
    }
}
