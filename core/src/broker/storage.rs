//! What the disk says: operations done, directories failed; and the checkpoints it keeps.
//!
//! Invariant: a directory that failed answers KAFKA_STORAGE_ERROR for all its partitions from then
//! on, and no one who waited for it is told of success (KIP-112).

use super::cluster::HeldLog;
use super::directories::Then;
use super::{Phase, State};
use crate::cx::Cx;
use crate::disk::{AsideTicket, DirId, DiskOp, Lane, Ticket};
use crate::error::{DiskError, ErrorCode, Refused};
use crate::io::{Level, Output};
use crate::log::Log;
use crate::log::checkpoint::{
    LOG_START_OFFSET_FILE, RECOVERY_POINT_FILE, REPLICATION_OFFSET_FILE, write_offsets,
};
use crate::replica::Partition;
use crate::replica::partition::PartitionId;
use crate::trace::{EventId, Fact, Timer};
use crate::types::{Offset, TopicPartition};

impl State {
    pub(super) fn disk_done(&mut self, cx: &mut Cx, dir: DirId, upto: Ticket) {
        let cause = cx.cause;
        while let Some(then) = self.directories.next_due(dir, Lane::Strict, upto) {
            cx.cause = cause;
            match then {
                Then::Partition(id) => self.partition_written(cx, id, upto),
                Then::Parked(id) => self.deletion_durable(id),
                Then::Directory => self.directory_settled(cx, dir),
            }
        }
    }

    /// What went aside is done: recovery points move, and who waited for checkpoints is answered.
    pub(super) fn aside_done(&mut self, cx: &mut Cx, dir: DirId, upto: AsideTicket) {
        while let Some(then) = self.directories.next_due(dir, Lane::Aside, upto) {
            match then {
                Then::Partition(id) => {
                    if let Some(Ok(log)) = self.topics.partition_mut(id).map(Partition::log_mut) {
                        log.aside_done(upto);
                    }
                    self.checkpoints_stale(dir);
                }
                Then::Parked(id) => self.deletion_durable(id),
                Then::Directory => self.directory_settled(cx, dir),
            }
        }
    }

    fn partition_written(&mut self, cx: &mut Cx, id: PartitionId, upto: Ticket) {
        let Some(partition) = self.topics.partition_mut(id) else {
            return;
        };
        let recovery_point = |partition: &Partition| partition.log().ok().map(Log::recovery_point);
        let before = recovery_point(partition);
        let moved = partition.disk_done(cx, &self.replication, upto);
        let dir = partition.dir();
        let follows = !partition.is_leader();
        let stale = recovery_point(partition) != before;
        self.partition_moved(cx, id, moved);
        if stale {
            self.checkpoints_stale(dir);
        }
        if follows {
            self.follower_written(cx, id, upto);
        }
        self.reschedule(id);
    }

    /// The partition shall hear when everything queued so far for its directory is done.
    pub(super) fn after_partition(&mut self, cx: &Cx, dir: DirId, id: PartitionId) {
        let ticket = cx.disk.last_ticket(dir);
        self.directories
            .after(dir, Lane::Strict, ticket, Then::Partition(id));
        self.after_aside(dir, id);
    }

    /// The same for syncs that its log sent aside.
    pub(super) fn after_aside(&mut self, dir: DirId, id: PartitionId) {
        let log = self.topics.partition_mut(id).map(Partition::log_mut);
        if let Some(Ok(log)) = log
            && let Some(ticket) = log.take_new_aside()
        {
            self.directories
                .after(dir, Lane::Aside, ticket, Then::Partition(id));
        }
    }

    pub(super) fn checkpoints_stale(&mut self, dir: DirId) {
        if let Some(found) = self.directories.get_mut(dir) {
            found.checkpoints_stale = true;
        }
    }

    pub(super) fn write_stale_checkpoints(&mut self, cx: &mut Cx) {
        let stale = self
            .directories
            .iter()
            .filter(|(_, found)| found.checkpoints_stale);
        let stale: Vec<DirId> = stale.map(|(dir, _)| dir).collect();
        if !stale.is_empty() {
            cx.timer_due(Timer::Checkpoint, EventId::NONE);
        }
        for dir in stale {
            self.write_checkpoints(cx, dir, Lane::Aside);
        }
    }

    /// Writes a directory's three offset checkpoints. A recovery point counts only what is synced, so
    /// it is true whenever it gets to the medium.
    pub(super) fn write_checkpoints(&mut self, cx: &mut Cx, dir: DirId, lane: Lane) {
        let Some(found) = self
            .directories
            .get_mut(dir)
            .filter(|found| found.failed.is_none())
        else {
            return;
        };
        found.checkpoints_stale = false;
        let recovery_point = |_: &Partition, log: &Log| Some(log.recovery_point());
        let held_point = |held: &HeldLog| Some(held.recovered.recovery_point);
        self.write_checkpoint(cx, (dir, lane), RECOVERY_POINT_FILE, recovery_point, held_point);
        let high_watermark = |partition: &Partition, _: &Log| Some(partition.high_watermark());
        let held_watermark = |held: &HeldLog| Some(held.high_watermark);
        self.write_checkpoint(
            cx,
            (dir, lane),
            REPLICATION_OFFSET_FILE,
            high_watermark,
            held_watermark,
        );
        let log_start = |_: &Partition, log: &Log| log.log_start_to_checkpoint();
        let held_start = |held: &HeldLog| Some(held.recovered.log_start).filter(|&start| start > 0);
        self.write_checkpoint(cx, (dir, lane), LOG_START_OFFSET_FILE, log_start, held_start);
    }

    fn write_checkpoint(
        &self,
        cx: &mut Cx,
        (dir, lane): (DirId, Lane),
        file: &str,
        offset: impl Fn(&Partition, &Log) -> Option<Offset>,
        offset_of_held: impl Fn(&HeldLog) -> Option<Offset>,
    ) {
        let held = self.cluster.held.iter();
        let held = held
            .filter(|(_, held)| held.recovered.dir == dir)
            .filter_map(|(name, held)| Some((name, offset_of_held(held)?)));
        let entries: Vec<(&TopicPartition, Offset)> = self
            .topics
            .iter()
            .flat_map(|topic| topic.partitions.values())
            .filter_map(|&id| self.topics.partition(id))
            .filter(|partition| partition.dir() == dir)
            .filter_map(|partition| Some((partition.name(), offset(partition, partition.log().ok()?)?)))
            .chain(held)
            .collect();
        let op = DiskOp::Replace {
            path: file.into(),
            bytes: write_offsets(entries),
        };
        cx.disk.push_in(dir, lane, op);
    }

    /// A log directory is lost: its partitions are offline, the others go on; without any the broker stops.
    pub(super) fn directory_failed(&mut self, cx: &mut Cx, dir: DirId, error: DiskError) {
        let Some(waited) = self.directories.fail(dir, error) else {
            return;
        };
        let path = self.path_of(dir);
        let is_last = self.directories.online().next().is_none();
        // Of the last one the host says, as the reason why the broker ends.
        if !is_last {
            let text = format!(
                "log directory {path} is offline: {error}; its partitions answer KAFKA_STORAGE_ERROR"
            );
            self.out.say(Level::Error, text);
        }
        cx.emit(|| Fact::DirectoryFailed {
            dir,
            reason: error.to_string(),
        });
        let lost: Vec<PartitionId> = self
            .topics
            .partitions()
            .filter(|(_, partition)| partition.dir() == dir)
            .map(|(id, _)| id)
            .collect();
        let refused = Refused::new(
            ErrorCode::KafkaStorageError,
            format!("the log directory failed: {error}"),
        );
        for id in lost {
            self.partition_lost(cx, id, &refused);
        }
        self.cluster.held.retain(|_, held| held.recovered.dir != dir);
        self.tell_of_lost_directory();
        let mut settles = false;
        for then in waited {
            match then {
                Then::Parked(id) => self.deletion_failed(id),
                Then::Directory => settles = true,
                Then::Partition(_) => {}
            }
        }
        if is_last {
            let failed = Some(format!("the last log directory, {path}, is offline: {error}"));
            self.phase = Phase::Stopped;
            self.out.push(Output::Stopped { failed });
        } else if settles {
            self.directory_settled(cx, dir);
        }
    }

    /// What boot or the stop asked of a directory is done, or will never be.
    fn directory_settled(&mut self, cx: &mut Cx, dir: DirId) {
        match self.phase {
            Phase::Booting(_) => self.directory_ready(cx),
            Phase::Stopping(_) => self.directory_stops(cx, dir),
            Phase::Running | Phase::Stopped => {}
        }
    }

    fn partition_lost(&mut self, cx: &mut Cx, id: PartitionId, refused: &Refused) {
        let Some(partition) = self.topics.partition_mut(id) else {
            return;
        };
        if partition.is_online() {
            cx.emit(|| Fact::ReplicaClosed {
                partition: partition.name().clone(),
            });
        }
        for waiting in partition.fail() {
            self.produce_part_done(waiting, Some(refused));
        }
        self.groups_leave(cx, id);
        self.reschedule(id);
        self.wake_watchers(cx, id);
        self.low_watermark_moved(id);
    }
}
