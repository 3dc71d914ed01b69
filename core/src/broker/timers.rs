//! What happens by the clock: retention, checkpoints, flushes, deletions.
//!
//! One ordered set of due times, so that asking for the next is a look at its first entry. A log
//! stands in it only while it has something to do; ten thousand idle logs cost nothing. Work on all
//! partitions, such as the look for old segments, is a [`Sweep`] in small steps.

use super::State;
use super::parked::Growth;
use super::work::Step;
use crate::cx::Cx;
use crate::log::DeletedLog;
use crate::ordered::OrderedSet;
use crate::replica::partition::PartitionId;
use crate::trace::{EventId, Timer};
use crate::types::Millis;

/// What is due at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// Look for segments that retention no longer keeps.
    Retention,
    /// Write the checkpoints of directories where they are stale.
    Checkpoints,
    /// A log wants to flush or to unlink.
    Log(PartitionId),
    /// A deleted partition's directory goes, by its place in the list.
    Unlink(u64),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    due: OrderedSet<(Millis, Due)>,
    deleted: crate::ordered::OrderedMap<u64, DeletedLog>,
    deletions: u64,
}

/// A look at every partition, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweep {
    pub what: SweepFor,
    pub next: PartitionId,
    pub cause: EventId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SweepFor {
    Retention,
    /// Other brokers live: a high watermark may go on without one that is gone.
    Surroundings,
    /// Close every log: the broker stops.
    Close,
}

impl Timers {
    pub fn next(&self) -> Option<Millis> {
        self.due.first().map(|&(at, _)| at)
    }

    fn set(&mut self, at: Millis, due: Due) {
        self.due.insert((at, due));
    }

    fn take(&mut self, now: Millis) -> Option<Due> {
        let &(at, due) = self.due.first()?;
        (at <= now).then(|| self.due.pop_first())?;
        Some(due)
    }

    /// The log has gone.
    pub fn cancel_log(&mut self, at: Millis, id: PartitionId) {
        self.due.remove(&(at, Due::Log(id)));
    }

    /// Remembers a deleted partition's directory until its time has come.
    pub fn unlink_later(&mut self, deleted: DeletedLog) {
        self.deletions += 1;
        self.set(deleted.unlink_at_ms, Due::Unlink(self.deletions));
        self.deleted.insert(self.deletions, deleted);
    }
}

impl State {
    /// The broker serves from now on.
    pub(super) fn start_timers(&mut self, now: Millis) {
        self.timers.set(self.next_retention(now), Due::Retention);
        self.timers.set(
            now.saturating_add(self.checkpoint_interval_ms()),
            Due::Checkpoints,
        );
    }

    fn next_retention(&self, now: Millis) -> Millis {
        now.saturating_add(self.config.log_retention_check_interval_ms.max(1))
    }

    /// One interval for the three checkpoints of a directory: they are written together, and only when a
    /// recovery point, a log start or a high watermark has changed.
    fn checkpoint_interval_ms(&self) -> Millis {
        self.config
            .log_flush_offset_checkpoint_interval_ms
            .min(self.config.log_flush_start_offset_checkpoint_interval_ms)
            .min(self.config.replica_high_watermark_checkpoint_interval_ms)
            .max(1)
    }

    pub(super) fn tick(&mut self, cx: &mut Cx) {
        self.expire(cx);
        self.cluster_tick(cx);
        self.groups_tick(cx);
        while let Some(due) = self.timers.take(cx.now) {
            match due {
                Due::Retention => {
                    // The logs of a broker that stops are closed, and must not be rolled.
                    if self.is_running() {
                        cx.timer_due(Timer::Retention, EventId::NONE);
                        self.sweep(cx, SweepFor::Retention);
                    }
                    self.timers.set(self.next_retention(cx.now), Due::Retention);
                }
                Due::Checkpoints => {
                    self.write_stale_checkpoints(cx);
                    let at = cx.now.saturating_add(self.checkpoint_interval_ms());
                    self.timers.set(at, Due::Checkpoints);
                }
                Due::Log(id) => self.tick_log(cx, id),
                Due::Unlink(number) => {
                    let deleted = self.timers.deleted.remove(&number);
                    if let Some(deleted) = deleted.filter(|deleted| self.directories.is_online(deleted.dir)) {
                        deleted.unlink(cx);
                    }
                }
            }
        }
    }

    pub(super) fn sweep(&mut self, cx: &Cx, what: SweepFor) {
        let (next, cause) = (0, cx.cause);
        self.steps.push_back(Step::Sweep(Sweep { what, next, cause }));
    }

    /// Does up to `budget` partitions of a sweep; what is left of it.
    pub(super) fn sweep_step(&mut self, cx: &mut Cx, mut sweep: Sweep, budget: &mut usize) -> Option<Sweep> {
        cx.cause = sweep.cause;
        while *budget > 0 {
            if sweep.next >= self.topics.next_partition() {
                if sweep.what == SweepFor::Close {
                    self.all_closed(cx);
                }
                return None;
            }
            *budget -= 1;
            let again = match sweep.what {
                SweepFor::Retention => self.apply_retention(cx, sweep.next),
                SweepFor::Surroundings => {
                    self.surroundings_changed(cx, sweep.next);
                    false
                }
                SweepFor::Close => {
                    self.close_log(cx, sweep.next);
                    false
                }
            };
            sweep.next += PartitionId::from(!again);
        }
        Some(sweep)
    }

    fn surroundings_changed(&mut self, cx: &mut Cx, id: PartitionId) {
        let Some(partition) = self.topics.partition_mut(id) else {
            return;
        };
        if partition.followers().iter().any(|follower| follower.log_end >= 0) {
            let moved = partition.surroundings_changed(cx, &self.replication);
            self.partition_moved(cx, id, moved);
        } else {
            self.low_watermark_moved(id);
        }
    }

    /// Drops what one log need not keep, producers long silent too; true when there may be more to drop.
    fn apply_retention(&mut self, cx: &mut Cx, id: PartitionId) -> bool {
        let expiration_ms = self.config.producer_id_expiration_ms;
        let Some(partition) = self.topics.partition_mut(id) else {
            return false;
        };
        let high_watermark = partition.high_watermark();
        let Ok(log) = partition.log_mut() else {
            return false;
        };
        log.expire_producers(cx.now, expiration_ms);
        let before = log.log_start();
        let more = log.apply_retention(cx, high_watermark);
        let moved = log.log_start() != before;
        let dir = partition.dir();
        self.after_aside(dir, id);
        if moved {
            self.checkpoints_stale(dir);
            self.tell_watchers(cx, id, Growth::NONE);
        }
        self.reschedule(id);
        more
    }

    fn tick_log(&mut self, cx: &mut Cx, id: PartitionId) {
        let Some(partition) = self.topics.partition_mut(id) else {
            return;
        };
        partition.timer = None;
        let dir = partition.dir();
        if let Ok(log) = partition.log_mut() {
            log.tick(cx);
            self.after_partition(cx, dir, id);
        }
        self.reschedule(id);
    }

    /// Takes the log's next due time into the set, if it has changed.
    pub(super) fn reschedule(&mut self, id: PartitionId) {
        let Some(partition) = self.topics.partition_mut(id) else {
            return;
        };
        let due = partition.log().ok().and_then(|log| log.poll_timeout());
        if due == partition.timer {
            return;
        }
        if let Some(before) = std::mem::replace(&mut partition.timer, due) {
            self.timers.due.remove(&(before, Due::Log(id)));
        }
        if let Some(at) = due {
            self.timers.set(at, Due::Log(id));
        }
    }
}
