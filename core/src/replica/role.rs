//! Becoming leader or follower, as the controller decides (LeaderAndIsr).
//!
//! A decision carries two counters. The *leader epoch* rises with each leader: an older one is of a
//! leadership that is over. The *partition epoch* rises with each change of leader, ISR or replicas: an
//! older one was overtaken. So a decision may come twice, or late, and harms nothing
//! (`Partition.makeLeader`, `makeFollower`).
//!
//! Invariants
//! - within one leader epoch there is one leader: this replica never changes sides without a new one
//! - a new leader knows its epoch's start before it appends
//! - who loses the leadership leaves nobody waiting for an acknowledgement

use super::follower_state::FollowerState;
use super::following::Following;
use super::isr::Isr;
use super::partition::{Partition, storage_error};
use super::replication::Replication;
use super::waiting::Moved;
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::trace::Fact;
use crate::types::{BrokerId, LeaderEpoch, NO_BROKER, Offset, PartitionEpoch};

/// What the controller decided about a partition (`LeaderAndIsrPartitionState`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionState {
    /// [`NO_BROKER`] when there is none.
    pub leader: BrokerId,
    pub leader_epoch: LeaderEpoch,
    pub partition_epoch: PartitionEpoch,
    pub isr: Vec<BrokerId>,
    /// All replicas, those that a reassignment adds or removes among them.
    pub replicas: Vec<BrokerId>,
    pub adding_replicas: Vec<BrokerId>,
    pub removing_replicas: Vec<BrokerId>,
}

/// What a decision changed.
#[derive(Clone, Debug, Default)]
pub struct Transition {
    /// The leader epoch is new: a follower's fetcher begins anew.
    pub new_epoch: bool,
    /// It was not leader, or not follower, before.
    pub new_role: bool,
    pub moved: Moved,
}

/// What this replica is.
#[derive(Clone, Debug)]
pub(super) enum Role {
    /// Nobody has said yet.
    Unassigned,
    Leader(Box<Leader>),
    Follower(Following),
}

#[derive(Clone, Debug)]
pub(super) struct Leader {
    /// The first epoch of this broker's leadership, unbroken since: of what was appended in it, all is
    /// still there.
    pub since: LeaderEpoch,
    /// Where the present epoch begins.
    pub epoch_start: Offset,
    /// In the order of the assignment.
    pub replicas: Vec<BrokerId>,
    pub adding: Vec<BrokerId>,
    pub isr: Isr,
    /// All replicas but this one.
    pub followers: Vec<FollowerState>,
}

impl Leader {
    pub fn follower(&self, broker: BrokerId) -> Option<&FollowerState> {
        self.followers.iter().find(|follower| follower.broker == broker)
    }

    pub fn follower_mut(&mut self, broker: BrokerId) -> Option<&mut FollowerState> {
        self.followers
            .iter_mut()
            .find(|follower| follower.broker == broker)
    }

    /// `min.insync.replicas`, or the number of replicas if that is less.
    pub fn effective_min_isr(&self, min_insync_replicas: u32) -> usize {
        (min_insync_replicas as usize).min(self.followers.len() + 1)
    }

    fn assign(&mut self, me: BrokerId, state: &PartitionState) {
        let before = std::mem::take(&mut self.followers);
        let others = state.replicas.iter().filter(|&&replica| replica != me);
        self.followers = others
            .map(|&replica| {
                let known = before.iter().find(|follower| follower.broker == replica);
                known.copied().unwrap_or(FollowerState::new(replica))
            })
            .collect();
        self.replicas.clone_from(&state.replicas);
        self.adding.clone_from(&state.adding_replicas);
    }
}

impl Partition {
    /// This broker leads from now on, or goes on leading with what else is new. Idempotent.
    ///
    /// Errors: STALE_CONTROLLER_EPOCH for a leader epoch that is over, KAFKA_STORAGE_ERROR offline.
    pub fn make_leader(
        &mut self,
        cx: &mut Cx,
        shared: &Replication,
        state: &PartitionState,
    ) -> Result<Transition, Refused> {
        if !self.is_fresh(state, matches!(self.role, Role::Follower(_)))? {
            return Ok(Transition::default());
        }
        let Some(log) = &mut self.log else {
            return Err(storage_error(&self.name));
        };
        let new_role = !matches!(self.role, Role::Leader(_));
        let new_epoch = new_role || state.leader_epoch > self.leader_epoch;
        if new_role {
            self.role = Role::Leader(Box::new(Leader {
                since: state.leader_epoch,
                epoch_start: log.assigned_end(),
                replicas: Vec::new(),
                adding: Vec::new(),
                isr: Isr::default(),
                followers: Vec::new(),
            }));
            self.unseen
                .begin(self.high_watermark, log.log_end(), log.assigned_end());
        }
        let Role::Leader(leader) = &mut self.role else {
            return Ok(Transition::default());
        };
        leader.assign(shared.me, state);
        let before = leader.isr.committed().to_vec();
        let asked = leader.isr.asked().is_some();
        leader.isr.commit(
            &state.isr,
            state.partition_epoch > self.partition_epoch || new_epoch,
        );
        // A wish that the controller's word has ended is news too.
        let other_isr = before != leader.isr.committed() || asked != leader.isr.asked().is_some();
        if new_epoch {
            leader.epoch_start = log.begin_epoch(cx, state.leader_epoch);
            for follower in &mut leader.followers {
                let in_sync = state.isr.contains(&follower.broker);
                follower.reset(cx.now, leader.epoch_start, new_role, in_sync);
            }
        }
        let start_offset = leader.epoch_start;
        self.leader_epoch = state.leader_epoch;
        self.partition_epoch = state.partition_epoch;
        if new_epoch {
            cx.cause = cx.emit(|| Fact::LeadershipTaken {
                partition: self.name.clone(),
                epoch: state.leader_epoch,
                start_offset,
                isr: state.isr.clone(),
                replicas: state.replicas.clone(),
            });
        }
        if other_isr && !new_epoch {
            cx.cause = cx.emit(|| Fact::IsrChanged {
                partition: self.name.clone(),
                isr: state.isr.clone(),
                partition_epoch: state.partition_epoch,
            });
        }
        let mut moved = Moved {
            wake: new_epoch,
            ..Moved::default()
        };
        // The ISR may be down to this one.
        self.maybe_raise_high_watermark(cx, shared, &mut moved);
        Ok(Transition {
            new_epoch,
            new_role,
            moved,
        })
    }

    /// Another broker leads from now on, or none. Idempotent; with a new epoch the fetcher begins anew.
    /// Parts that wait for an acknowledgement are refused.
    ///
    /// Errors: STALE_CONTROLLER_EPOCH for a leader epoch that is over.
    pub fn make_follower(&mut self, cx: &mut Cx, state: &PartitionState) -> Result<Transition, Refused> {
        if !self.is_fresh(state, matches!(self.role, Role::Leader(_)))? {
            return Ok(Transition::default());
        }
        let new_role = !matches!(self.role, Role::Follower(_));
        let new_epoch = new_role || state.leader_epoch > self.leader_epoch;
        self.partition_epoch = state.partition_epoch;
        if !new_epoch {
            return Ok(Transition::default());
        }
        self.leader_epoch = state.leader_epoch;
        self.role = Role::Follower(Following::new(state.leader));
        self.unseen.clear();
        cx.cause = cx.emit(|| Fact::LeaderFollowed {
            partition: self.name.clone(),
            epoch: state.leader_epoch,
            leader: state.leader,
        });
        let lost = self.acks.take_all().into_iter();
        Ok(Transition {
            new_epoch,
            new_role,
            moved: Moved {
                refused: lost
                    .map(|waiting| (waiting, ErrorCode::NotLeaderOrFollower))
                    .collect(),
                wake: true,
                ..Moved::default()
            },
        })
    }

    /// Whether the decision is not older than what is known; an error when its leader epoch is over.
    fn is_fresh(&self, state: &PartitionState, other_side: bool) -> Result<bool, Refused> {
        let is_over =
            state.leader_epoch < self.leader_epoch || (state.leader_epoch == self.leader_epoch && other_side);
        if is_over {
            return Err(Refused::new(
                ErrorCode::StaleControllerEpoch,
                format!(
                    "{} is in leader epoch {} already; a decision of epoch {} comes too late",
                    self.name, self.leader_epoch, state.leader_epoch
                ),
            ));
        }
        Ok(state.partition_epoch >= self.partition_epoch)
    }

    pub fn is_leader(&self) -> bool {
        matches!(self.role, Role::Leader(_))
    }

    /// Replicas that must be in sync for acks=all; `None` when this one does not lead, or has no log.
    pub fn effective_min_isr(&self) -> Option<usize> {
        let min = self.log().ok()?.config().min_insync_replicas;
        match &self.role {
            Role::Leader(leader) => Some(leader.effective_min_isr(min)),
            _ => None,
        }
    }

    /// The leader as far as this replica was told; `None` when there is none, or nobody has said.
    pub fn leader(&self, shared: &Replication) -> Option<BrokerId> {
        match &self.role {
            Role::Unassigned => None,
            Role::Leader(_) => Some(shared.me),
            Role::Follower(following) => Some(following.leader).filter(|&leader| leader != NO_BROKER),
        }
    }

    /// All replicas in the order of the assignment; nothing when this one does not lead.
    pub fn replicas(&self) -> &[BrokerId] {
        match &self.role {
            Role::Leader(leader) => &leader.replicas,
            _ => &[],
        }
    }

    /// What is known of the followers; nothing when this replica does not lead.
    pub fn followers(&self) -> &[FollowerState] {
        match &self.role {
            Role::Leader(leader) => &leader.followers,
            _ => &[],
        }
    }

    pub(super) fn not_leading(&self) -> Refused {
        Refused::new(
            ErrorCode::NotLeaderOrFollower,
            format!("this broker does not lead {}", self.name),
        )
    }
}
