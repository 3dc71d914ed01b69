//! How a leader serves a follower: is the fetch of this epoch and this life, do the logs agree, and
//! what does its offset say (`Partition.fetchRecords`).
//!
//! A follower's fetch offset is the end of its log, so that each fetch is an acknowledgement too. It
//! counts only if the follower's log is a prefix of the leader's: with the epoch of its last record the
//! leader sees at once where the two part ways (KIP-595, KIP-279).
//!
//! Invariant: a fetch that diverges, is out of range, of an older leader epoch or of an older life of
//! its broker changes nothing.

use super::partition::Partition;
use super::replication::Replication;
use super::role::Role;
use super::waiting::Moved;
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::trace::Fact;
use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, Offset};

/// What a follower's fetch says of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowerFetch {
    pub replica: BrokerId,
    /// The life of its broker, -1 when not said (before Fetch version 15).
    pub broker_epoch: BrokerEpoch,
    /// End of its log.
    pub offset: Offset,
    pub log_start: Offset,
    /// The leader epoch that it follows, -1 when not said.
    pub current_leader_epoch: LeaderEpoch,
    /// Epoch of its last record, -1 when not said.
    pub last_fetched_epoch: LeaderEpoch,
}

/// The largest epoch at or below one that was asked for, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEnd {
    pub epoch: LeaderEpoch,
    pub end_offset: Offset,
}

/// What a follower's fetch comes to.
#[derive(Clone, Debug)]
pub enum FollowerRead {
    /// The logs part ways: no records, but this.
    Diverges(EpochEnd),
    /// It may read from its offset up to the log end.
    Reads(Moved),
}

impl Partition {
    /// Takes a follower's fetch in. HW may rise by it, and the ISR may be proposed to grow.
    ///
    /// Errors: those of [`check_leader`](Self::check_leader); UNKNOWN_LEADER_EPOCH for a broker that is no
    /// replica as far as is known here; NOT_LEADER_OR_FOLLOWER for an earlier life of a broker;
    /// OFFSET_OUT_OF_RANGE.
    pub fn follower_fetches(
        &mut self,
        cx: &mut Cx,
        shared: &Replication,
        fetch: &FollowerFetch,
    ) -> Result<FollowerRead, Refused> {
        self.check_follower(shared, fetch)?;
        if let Some(end) = self.diverging_epoch(fetch.last_fetched_epoch, fetch.offset)? {
            cx.emit(|| Fact::LogsDiverge {
                partition: self.name.clone(),
                follower: fetch.replica,
                fetch_offset: fetch.offset,
                last_fetched_epoch: fetch.last_fetched_epoch,
                epoch: end.epoch,
                end_offset: end.end_offset,
            });
            return Ok(FollowerRead::Diverges(end));
        }
        Ok(FollowerRead::Reads(self.update_follower(cx, shared, fetch)?))
    }

    fn check_follower(&self, shared: &Replication, fetch: &FollowerFetch) -> Result<(), Refused> {
        self.check_leader(fetch.current_leader_epoch)?;
        let Role::Leader(leader) = &self.role else {
            return Err(self.not_leading());
        };
        let Some(follower) = leader.follower(fetch.replica) else {
            let code = match fetch.current_leader_epoch {
                // It may know of a reassignment that this broker has yet to hear of.
                0.. => ErrorCode::UnknownLeaderEpoch,
                _ => ErrorCode::NotLeaderOrFollower,
            };
            return Err(Refused::new(
                code,
                format!("broker {} is no replica of {}", fetch.replica, self.name),
            ));
        };
        let heard_since = shared.check_broker_epochs
            && follower
                .broker_epoch
                .is_some_and(|last| last > fetch.broker_epoch)
            && fetch.broker_epoch >= 0;
        if heard_since || shared.is_stale(fetch.replica, fetch.broker_epoch) {
            return Err(Refused::new(
                ErrorCode::NotLeaderOrFollower,
                format!(
                    "broker {} was started again since broker epoch {}",
                    fetch.replica, fetch.broker_epoch
                ),
            ));
        }
        Ok(())
    }

    /// Where the reader's log and this one part ways, given the epoch of its last record and the offset
    /// after that; `None` when it is a prefix of this one, or the reader does not say (-1).
    ///
    /// Errors: OFFSET_OUT_OF_RANGE when nothing is known of the epoch, or the offset lies before the log.
    pub fn diverging_epoch(
        &self,
        last_fetched_epoch: LeaderEpoch,
        fetch_offset: Offset,
    ) -> Result<Option<EpochEnd>, Refused> {
        if last_fetched_epoch < 0 || mutated!(DivergenceUnseen) {
            return Ok(None);
        }
        let (epoch, end_offset) = self.end_offset_for(last_fetched_epoch)?;
        if epoch < 0 || end_offset < 0 || fetch_offset < self.log()?.log_start() {
            return Err(ErrorCode::OffsetOutOfRange.into());
        }
        let diverges = epoch < last_fetched_epoch || end_offset < fetch_offset;
        Ok(diverges.then_some(EpochEnd { epoch, end_offset }))
    }

    /// Notes how far the follower is (`Partition.updateFollowerFetchState`).
    fn update_follower(
        &mut self,
        cx: &mut Cx,
        shared: &Replication,
        fetch: &FollowerFetch,
    ) -> Result<Moved, Refused> {
        let log = self.log()?;
        let (log_start, log_end) = (log.log_start(), log.log_end());
        if fetch.offset < log_start || fetch.offset > log_end {
            return Err(Refused::new(
                ErrorCode::OffsetOutOfRange,
                format!(
                    "offset {} of {} is outside {log_start}..{log_end}",
                    fetch.offset, self.name
                ),
            ));
        }
        let Role::Leader(leader) = &mut self.role else {
            return Err(self.not_leading());
        };
        let Some(follower) = leader.follower_mut(fetch.replica) else {
            return Err(ErrorCode::UnknownLeaderEpoch.into());
        };
        let before = *follower;
        follower.fetched(cx.now, fetch.offset, fetch.log_start, log_end, fetch.broker_epoch);
        let mut moved = Moved {
            low_watermark: before.log_start != fetch.log_start,
            ..Moved::default()
        };
        if before.log_end != fetch.offset {
            cx.cause = cx.emit(|| Fact::FollowerProgressed {
                partition: self.name.clone(),
                replica: fetch.replica,
                log_end: fetch.offset,
            });
        }
        moved.proposal = self.maybe_expand_isr(cx, shared, fetch.replica);
        if before.log_end != fetch.offset {
            self.maybe_raise_high_watermark(cx, shared, &mut moved);
        }
        Ok(moved)
    }

    /// Records below it are gone on every live replica: the answer to DeleteRecords
    /// (`Partition.lowWatermarkIfLeader`). -1 while a live follower has not fetched yet.
    pub fn low_watermark(&self, shared: &Replication) -> Result<Offset, Refused> {
        let log_start = self.log()?.log_start();
        let Role::Leader(leader) = &self.role else {
            return Err(self.not_leading());
        };
        let live = leader.followers.iter();
        let live = live.filter(|follower| shared.is_alive(follower.broker));
        Ok(live
            .map(|follower| follower.log_start)
            .fold(log_start, Offset::min))
    }
}
