//! One replica, as its broker has it.

use serde::{Deserialize, Serialize};

use super::batches::{BatchList, BatchSpan};
use super::set;
use crate::ordered::OrderedMap;
use crate::trace::Fact;
use crate::types::{BrokerId, LeaderEpoch, NO_EPOCH, Offset};

/// A replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaView {
    pub log_start: Offset,
    pub log_end: Offset,
    pub high_watermark: Offset,
    pub leader_epoch: LeaderEpoch,
    pub role: RoleView,
    /// What its log holds.
    pub batches: BatchList,
}

/// What the broker takes itself to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoleView {
    /// Nobody has told it yet.
    #[default]
    Untold,
    Leader {
        isr: Vec<BrokerId>,
        /// Each follower's log end, as this leader heard it last; `None` before the first fetch.
        followers: OrderedMap<BrokerId, Option<Offset>>,
        /// The ISR that it has asked for and is not answered about.
        proposed: Option<Vec<BrokerId>>,
    },
    Follower {
        leader: BrokerId,
    },
}

impl Default for ReplicaView {
    fn default() -> Self {
        Self {
            log_start: 0,
            log_end: 0,
            high_watermark: 0,
            leader_epoch: NO_EPOCH,
            role: RoleView::Untold,
            batches: BatchList::default(),
        }
    }
}

impl ReplicaView {
    /// Whether the log holds the record of that epoch at the offset.
    pub fn holds(&self, offset: Offset, epoch: LeaderEpoch) -> bool {
        let is_within = (self.log_start..self.log_end).contains(&offset);
        is_within && self.batches.holds(offset, epoch)
    }

    /// Takes in a fact of the broker `me`, which has the replica.
    pub(super) fn apply(&mut self, me: BrokerId, fact: &Fact) -> bool {
        match fact {
            Fact::BatchAppended {
                base_offset,
                last_offset,
                segment,
                epoch,
                ..
            } => {
                self.batches.push(BatchSpan {
                    base: *base_offset,
                    last: *last_offset,
                    epoch: *epoch,
                    segment: *segment,
                });
                false
            }
            Fact::BatchWritten { log_end, .. } => set(&mut self.log_end, *log_end),
            Fact::LogTruncated { to, .. } => {
                let changed = set(&mut self.log_end, *to);
                self.log_start = self.log_start.min(*to);
                self.high_watermark = self.high_watermark.min(*to);
                self.batches.cut_back(*to);
                changed
            }
            Fact::LogStartMoved { to, .. } => {
                self.batches.begin_at(*to);
                set(&mut self.log_start, *to)
            }
            Fact::HighWatermarkMoved { to, .. } => set(&mut self.high_watermark, *to),
            Fact::LeadershipTaken {
                epoch, isr, replicas, ..
            } => {
                self.leader_epoch = *epoch;
                self.lead(me, isr, replicas);
                true
            }
            Fact::LeaderFollowed { epoch, leader, .. } => {
                self.leader_epoch = *epoch;
                self.role = RoleView::Follower { leader: *leader };
                true
            }
            fact => self.role.apply(fact),
        }
    }

    /// A leader that goes on leading remembers its followers; one that begins knows nothing of them.
    fn lead(&mut self, me: BrokerId, isr: &[BrokerId], replicas: &[BrokerId]) {
        let before = match std::mem::take(&mut self.role) {
            RoleView::Leader { followers, .. } => followers,
            _ => OrderedMap::new(),
        };
        let heard = |id: &BrokerId| (*id, before.get(id).copied().flatten());
        self.role = RoleView::Leader {
            isr: isr.to_vec(),
            followers: replicas.iter().filter(|id| **id != me).map(heard).collect(),
            proposed: None,
        };
    }
}

impl RoleView {
    fn apply(&mut self, fact: &Fact) -> bool {
        let Self::Leader {
            isr,
            followers,
            proposed,
        } = self
        else {
            return false;
        };
        match fact {
            Fact::FollowerProgressed { replica, log_end, .. } => followers
                .get_mut(replica)
                .is_some_and(|heard| set(heard, Some(*log_end))),
            Fact::IsrProposed { isr: asked, .. } => set(proposed, Some(asked.clone())),
            Fact::IsrProposalRefused { again: false, .. } => set(proposed, None),
            Fact::IsrChanged { isr: now, .. } => {
                let answered = set(proposed, None);
                set(isr, now.clone()) || answered
            }
            _ => false,
        }
    }
}
