//! The high watermark (HW): records below it survive the loss of any broker but all of the ISR.
//!
//! The leader raises it to the least log end over the *maximal* ISR and over every other follower that
//! is caught up and may enter the ISR: without the latter, HW would run ahead of a follower that tries
//! to reach it, for ever. While fewer than `min.insync.replicas` are in sync it stays, whatever acks
//! the records came with, since what is promised below it must survive on that many
//! (`Partition.maybeIncrementLeaderHW`, KIP-966).
//!
//! The same minimum guards acks=all: before the append, so that nothing is written that cannot be
//! acknowledged, and after, when the ISR shrank in between.
//!
//! Invariant: HW never falls within a leader epoch.

use super::follower_state::FollowerState;
use super::partition::Partition;
use super::replication::Replication;
use super::role::{Leader, Role};
use super::waiting::Moved;
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::trace::{Fact, FollowerEnd, FollowerStanding, HighWatermarkBasis, HighWatermarkHold};
use crate::types::{Millis, Offset};

impl Leader {
    // ANCHOR: safe_end
    /// How far HW may go, and what keeps it from the leader's log end.
    fn safe_end(
        &self,
        log_end: Offset,
        now: Millis,
        shared: &Replication,
    ) -> (Offset, Option<HighWatermarkHold>) {
        let (mut to, mut hold) = (log_end, None);
        for follower in &self.followers {
            if follower.log_end >= to {
                continue;
            }
            let standing = self.standing(follower, log_end, now, shared);
            if standing != FollowerStanding::Outside && !mutated!(LeaderCountsItselfOnly) {
                to = follower.log_end;
                hold = Some(HighWatermarkHold::WaitsFor {
                    broker: follower.broker,
                    log_end: follower.log_end,
                    in_isr: standing != FollowerStanding::MayEnter,
                });
            }
        }
        (to, hold)
    }
    // ANCHOR_END: safe_end

    fn standing(
        &self,
        follower: &FollowerState,
        log_end: Offset,
        now: Millis,
        shared: &Replication,
    ) -> FollowerStanding {
        if self.isr.committed().contains(&follower.broker) {
            FollowerStanding::InIsr
        } else if self.isr.maximal_contains(follower.broker) {
            FollowerStanding::Entering
        } else if follower.is_caught_up(log_end, now, shared.lag_time_max_ms)
            && shared.is_eligible(follower.broker, follower.broker_epoch)
        {
            FollowerStanding::MayEnter
        } else {
            FollowerStanding::Outside
        }
    }

    /// All log ends, whether they count or not.
    fn log_ends(&self, log_end: Offset, now: Millis, shared: &Replication) -> HighWatermarkBasis {
        let end = |follower: &FollowerState| FollowerEnd {
            broker: follower.broker,
            log_end: follower.log_end,
            standing: self.standing(follower, log_end, now, shared),
        };
        HighWatermarkBasis::LogEnds {
            own: log_end,
            followers: self.followers.iter().map(end).collect(),
        }
    }
}

impl Partition {
    /// Raises HW as far as the rule allows; something about LEO, followers, ISR or brokers has changed.
    pub(super) fn maybe_raise_high_watermark(
        &mut self,
        cx: &mut Cx,
        shared: &Replication,
        moved: &mut Moved,
    ) {
        let (Role::Leader(leader), Some(log)) = (&self.role, &self.log) else {
            return;
        };
        let log_end = log.log_end();
        if log_end <= self.high_watermark {
            return;
        }
        let least = leader.effective_min_isr(log.config().min_insync_replicas);
        let in_sync = leader.isr.committed().len();
        let (to, hold) = if in_sync < least {
            let hold = HighWatermarkHold::UnderMinIsr {
                in_sync: in_sync as u32,
                least: least as u32,
            };
            (self.high_watermark, Some(hold))
        } else {
            leader.safe_end(log_end, cx.now, shared)
        };
        let falls = mutated!(HighWatermarkFalls) && to < self.high_watermark;
        let to = if falls { to.max(log.log_start()) } else { to };
        if to > self.high_watermark || falls {
            let now = cx.now;
            self.high_watermark_moved(cx, to, || leader.log_ends(log_end, now, shared));
            self.set_high_watermark(to, moved);
        } else if let Some(why) = hold {
            cx.emit(|| Fact::HighWatermarkHeld {
                partition: self.name.clone(),
                at: self.high_watermark,
                why,
            });
        }
    }

    /// What is known of brokers, or `min.insync.replicas`, has changed: HW may rise, and the low watermark.
    pub fn surroundings_changed(&mut self, cx: &mut Cx, shared: &Replication) -> Moved {
        let mut moved = Moved {
            low_watermark: true,
            ..Moved::default()
        };
        self.maybe_raise_high_watermark(cx, shared, &mut moved);
        moved.proposal = self.expand_isr_by_any(cx, shared);
        moved
    }

    /// HW is about to move.
    #[track_caller]
    pub(super) fn high_watermark_moved(
        &self,
        cx: &mut Cx,
        to: Offset,
        by: impl FnOnce() -> HighWatermarkBasis,
    ) {
        cx.emit(|| Fact::HighWatermarkMoved {
            partition: self.name.clone(),
            from: self.high_watermark,
            to,
            by: by(),
        });
    }

    pub(super) fn set_high_watermark(&mut self, to: Offset, moved: &mut Moved) {
        self.high_watermark = to;
        if let Some(log) = &mut self.log {
            log.on_high_watermark(to);
        }
        moved.visible_bytes += self.unseen.seen_upto(to);
        moved.news = true;
        self.acks.take_reached(true, to, &mut moved.acknowledged);
    }

    /// Whether a batch may be appended: this replica leads, and for acks=all enough are in sync. A fact tells
    /// of a refusal.
    ///
    /// Errors: KAFKA_STORAGE_ERROR, NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS.
    pub fn check_append(&self, cx: &mut Cx, all_replicas: bool) -> Result<(), Refused> {
        self.may_append(all_replicas).inspect_err(|refused| {
            cx.emit(|| Fact::BatchRefused {
                partition: self.name.clone(),
                code: refused.code,
            });
        })
    }

    // ANCHOR: may_append
    fn may_append(&self, all_replicas: bool) -> Result<(), Refused> {
        let log = self.log()?;
        let Role::Leader(leader) = &self.role else {
            return Err(self.not_leading());
        };
        let least = leader.effective_min_isr(log.config().min_insync_replicas);
        let in_sync = leader.isr.committed().len();
        if !all_replicas || in_sync >= least {
            return Ok(());
        }
        Err(Refused::new(
            ErrorCode::NotEnoughReplicas,
            format!(
                "{}: {in_sync} of the {least} replicas that acks=all needs (min.insync.replicas) are in sync",
                self.name
            ),
        ))
    }
    // ANCHOR_END: may_append

    /// For acks=all, when HW has passed the records: whether enough replicas are in sync still
    /// (`Partition.checkEnoughReplicasReachOffset`).
    pub(super) fn check_acknowledged(&self, leader: &Leader) -> Result<(), Refused> {
        let min = self.log()?.config().min_insync_replicas;
        if leader.isr.maximal_len() >= leader.effective_min_isr(min) {
            return Ok(());
        }
        let why = "the records are in the log, but too few replicas are in sync since (min.insync.replicas)";
        Err(Refused::new(ErrorCode::NotEnoughReplicasAfterAppend, why))
    }

    /// Whether a consumer may be told the latest offset: OFFSET_NOT_AVAILABLE until a new leader's HW has
    /// reached its epoch's start, since the HW that it began with may lag behind what others were told
    /// (KIP-207).
    pub fn check_offset_available(&self) -> Result<(), Refused> {
        match &self.role {
            Role::Leader(leader) if leader.epoch_start > self.high_watermark => Err(Refused::new(
                ErrorCode::OffsetNotAvailable,
                format!(
                    "the high watermark {} of {} has not reached {}, where leader epoch {} begins",
                    self.high_watermark, self.name, leader.epoch_start, self.leader_epoch
                ),
            )),
            _ => Ok(()),
        }
    }
}
