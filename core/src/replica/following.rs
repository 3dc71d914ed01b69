//! What a follower does with its log: append what the leader sent, take its high watermark and log
//! start over, and give up what the leader never had.
//!
//! Invariants
//! - HW is at most the follower's own written end; it falls only when the log is cut below it
//! - what a fetch reports as this replica's end is written, and synced if `flush.messages` asks for it

use super::partition::Partition;
use super::role::Role;
use super::waiting::Moved;
use crate::cx::Cx;
use crate::disk::Ticket;
use crate::error::{ErrorCode, Refused};
use crate::log::{Rebuilt, Truncation};
use crate::record::Batch;
use crate::trace::HighWatermarkBasis;
use crate::types::{BrokerId, Millis, Offset};

/// What a follower knows of its leader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Following {
    pub leader: BrokerId,
    /// As the leader last said; taken over as far as the log reaches.
    high_watermark: Offset,
    log_start: Offset,
}

impl Following {
    pub fn new(leader: BrokerId) -> Self {
        Self {
            leader,
            high_watermark: -1,
            log_start: -1,
        }
    }
}

impl Partition {
    /// Appends what the leader sent, as it is. The ticket names the last disk operation behind it; only
    /// when that is done is the log's end what the next fetch may report.
    ///
    /// Errors: NOT_LEADER_OR_FOLLOWER when this replica does not follow; those of
    /// [`append_as_follower`](crate::log::Log::append_as_follower).
    pub fn append_as_follower(&mut self, cx: &mut Cx, batches: &[Batch]) -> Result<Ticket, Refused> {
        if !matches!(self.role, Role::Follower(_)) {
            let why = format!("this broker does not follow {}", self.name);
            return Err(Refused::new(ErrorCode::NotLeaderOrFollower, why));
        }
        let log = self.log()?;
        if let Some(first) = batches.first() {
            let (base, last) = (first.header.base_offset, first.header.last_offset());
            let end = log.assigned_end();
            // The leader's log starts within its first batch, where this log is to begin: it begins with
            // that batch (`appendRecordsToFollowerOrFutureReplica`).
            if log.log_start() == end && base < end && last >= end {
                self.truncate_fully_and_start_at(cx, base)?;
            }
        }
        self.log_mut()?.append_as_follower(cx, batches)?;
        Ok(cx.disk.last_ticket(self.dir))
    }

    /// Takes over what an answer of the leader says of its log, now and as this log grows.
    pub fn hear_leader(&mut self, cx: &mut Cx, high_watermark: Offset, log_start: Offset) -> Moved {
        if let Role::Follower(following) = &mut self.role {
            following.high_watermark = high_watermark;
            following.log_start = log_start;
        }
        let mut moved = Moved::default();
        self.follow_leader(cx, &mut moved);
        moved
    }

    pub(super) fn follow_leader(&mut self, cx: &mut Cx, moved: &mut Moved) {
        let (Role::Follower(following), Some(log)) = (&self.role, &mut self.log) else {
            return;
        };
        let Following {
            leader,
            high_watermark,
            log_start,
            ..
        } = *following;
        let to = match high_watermark {
            _ if mutated!(FollowerHearsNoHighWatermark) => return,
            _ if mutated!(FollowerTakesHighWatermarkUnseen) => high_watermark,
            _ => high_watermark.min(log.log_end()),
        };
        if to > self.high_watermark {
            self.high_watermark_moved(cx, to, || HighWatermarkBasis::Told {
                leader,
                high_watermark,
            });
            self.set_high_watermark(to, moved);
        }
        let high_watermark = self.high_watermark;
        let log = self.log.as_mut().filter(|log| log_start > log.log_start());
        if let Some(log) = log
            && log.move_log_start(cx, log_start, high_watermark).is_ok()
        {
            moved.news = true;
        }
    }

    /// Cuts the log so that it ends at `to`. With [`Truncation::WaitFor`] and [`Truncation::Rebuild`] it is
    /// not cut yet.
    pub fn truncate_to(
        &mut self,
        cx: &mut Cx,
        to: Offset,
        producer_expiration_ms: Millis,
    ) -> Result<Truncation, Refused> {
        let truncation = self.log_mut()?.truncate_to(cx, to, producer_expiration_ms);
        self.clamp_high_watermark(cx);
        Ok(truncation)
    }

    /// Carries out what a [`Rebuild`](crate::log::Rebuild) prepared; false when the log has changed since.
    pub fn truncated(&mut self, cx: &mut Cx, rebuilt: Rebuilt) -> Result<bool, Refused> {
        let done = self.log_mut()?.truncated(cx, rebuilt);
        self.clamp_high_watermark(cx);
        Ok(done)
    }

    /// Drops the whole log and begins again at `at`.
    pub fn truncate_fully_and_start_at(&mut self, cx: &mut Cx, at: Offset) -> Result<(), Refused> {
        self.log_mut()?.truncate_fully_and_start_at(cx, at);
        if self.high_watermark != at {
            self.cut_high_watermark(cx, at);
        }
        Ok(())
    }

    /// The log may end below HW now.
    fn clamp_high_watermark(&mut self, cx: &mut Cx) {
        let end = self.log.as_ref().map_or(0, |log| log.log_end());
        if self.high_watermark > end {
            self.cut_high_watermark(cx, end);
        }
    }

    fn cut_high_watermark(&mut self, cx: &mut Cx, to: Offset) {
        self.high_watermark_moved(cx, to, || HighWatermarkBasis::LogCut);
        self.set_high_watermark(to, &mut Moved::default());
    }
}
