//! The coordinator goes where the leadership of its partitions goes
//! (`GroupCoordinatorService.onElection`, `onResignation`).
//!
//! A partition that this broker comes to lead is read from its first record, a piece at a time, and then its
//! groups are made ready, some at a time; clients hear COORDINATOR_LOAD_IN_PROGRESS meanwhile. One that it leads no more is forgotten at once, and
//! whoever waits for it hears NOT_COORDINATOR.

use crate::broker::State;
use crate::broker::jobs::JobFor;
use crate::broker::work::Step;
use crate::cx::Cx;
use crate::error::DiskError;
use crate::group::{GroupShard, OFFSETS_TOPIC};
use crate::io::Level;
use crate::log::BatchesRead;
use crate::replica::Partition;
use crate::replica::partition::PartitionId;
use crate::trace::EventId;
use crate::types::{LeaderEpoch, PartitionIndex, Uuid};

/// Bytes of the log that one job reads.
const PIECE_BYTES: usize = 256 << 10;

/// A partition that is read, and whose groups are made ready one after the other.
#[derive(Clone, Copy, Debug)]
pub(in crate::broker) struct GettingReady {
    index: PartitionIndex,
    epoch: LeaderEpoch,
    cause: EventId,
}

impl State {
    /// This broker leads the partition: if groups live in it, they are coordinated here from now on.
    pub(in crate::broker) fn groups_follow_leadership(&mut self, cx: &mut Cx, id: PartitionId) {
        let Some(partition) = self
            .topics
            .partition(id)
            .filter(|partition| is_of_groups(partition))
        else {
            return;
        };
        let index = partition.name().partition;
        let log = partition.log().ok().filter(|_| partition.is_leader());
        let Some(cursor) = log.map(crate::log::Log::first_cursor) else {
            return self.groups_leave(cx, id);
        };
        let epoch = partition.leader_epoch();
        if self.groups.coordinators.epoch(index) == Some(epoch) {
            return;
        }
        self.groups.led.insert(index, id);
        self.groups.loading.insert(index, Some(cursor));
        let empty = GroupShard::new(index, self.groups.settings.clone());
        self.with_groups(cx, index, |groups, cx, _| groups.elected(cx, index, epoch, empty));
        self.groups_read_on(cx, index);
    }

    /// This broker does not lead the partition any more, or has lost it.
    pub(in crate::broker) fn groups_leave(&mut self, cx: &mut Cx, id: PartitionId) {
        let mut led = self.groups.led.iter();
        let Some(index) = led.find(|(_, led)| **led == id).map(|(&index, _)| index) else {
            return;
        };
        self.groups.led.remove(&index);
        self.groups.loading.remove(&index);
        self.with_groups(cx, index, |groups, cx, _| groups.resigned(cx, index));
    }

    /// The partition has moved: more may be committed, or there is more to read.
    pub(in crate::broker) fn groups_hear(&mut self, cx: &mut Cx, id: PartitionId) {
        if self.groups.led.is_empty() {
            return;
        }
        let partition = self
            .topics
            .partition(id)
            .filter(|partition| is_of_groups(partition));
        let Some(index) = partition.map(|partition| partition.name().partition) else {
            return;
        };
        if self.groups.loading.contains_key(&index) {
            self.groups_read_on(cx, index);
        } else {
            self.with_groups(cx, index, |groups, cx, log| {
                groups.high_watermark_moved(cx, index, log);
            });
        }
    }

    /// Has the next piece read; when there is none left, the shard serves.
    fn groups_read_on(&mut self, cx: &mut Cx, index: PartitionIndex) {
        let Some(Some(cursor)) = self.groups.loading.get(&index).copied() else {
            return;
        };
        let id = self.groups.led.get(&index);
        let log = id.and_then(|&id| self.topics.partition(id)?.log().ok());
        let (Some(log), Some(epoch)) = (log, self.groups.coordinators.epoch(index)) else {
            return;
        };
        if let Some(job) = log.read_on(cursor, PIECE_BYTES) {
            self.groups.loading.insert(index, None);
            let whom = JobFor::Groups {
                partition: index,
                epoch,
            };
            return self.start_log_job(job, whom);
        }
        // What a follower had queued before it became leader is still on its way to the disk.
        if log.log_end() < log.assigned_end() {
            return;
        }
        self.groups.loading.remove(&index);
        let cause = cx.cause;
        self.run_or_queue(cx, Step::Groups(GettingReady { index, epoch, cause }));
    }

    /// Makes about `budget` groups of the partition ready; true when it serves, or is led here no more.
    pub(in crate::broker) fn groups_step(
        &mut self,
        cx: &mut Cx,
        GettingReady { index, epoch, cause }: GettingReady,
        budget: &mut usize,
    ) -> bool {
        if self.groups.coordinators.epoch(index) != Some(epoch) {
            return true;
        }
        cx.cause = cause;
        let at_once = std::mem::take(budget);
        let serves = self.with_groups(cx, index, |groups, cx, log| {
            groups.loaded(cx, index, log, at_once)
        });
        serves.unwrap_or(true)
    }

    /// A piece was read.
    pub(in crate::broker) fn groups_read(
        &mut self,
        cx: &mut Cx,
        index: PartitionIndex,
        epoch: LeaderEpoch,
        found: Result<BatchesRead, DiskError>,
    ) {
        if self.groups.coordinators.epoch(index) != Some(epoch) {
            return;
        }
        let read = match found {
            Ok(read) => read,
            Err(error) => {
                let id = self.groups.led.get(&index);
                let dir = id.and_then(|&id| self.topics.partition(id)).map(Partition::dir);
                return self.read_failed(cx, dir, error);
            }
        };
        for why in &read.bad {
            let line = format!("{OFFSETS_TOPIC}-{index}: a part cannot be read and is left out: {why}");
            self.out.say(Level::Error, line);
        }
        self.groups.loading.insert(index, Some(read.next));
        self.with_groups(cx, index, |groups, cx, log| {
            groups.loaded_batches(cx.now, index, &read.batches, log);
        });
        self.groups_read_on(cx, index);
    }

    /// A topic is deleted: nobody needs its offsets.
    pub(in crate::broker) fn groups_forget_topic(
        &mut self,
        cx: &mut Cx,
        topic: &std::sync::Arc<str>,
        id: Uuid,
    ) {
        let led: Vec<PartitionIndex> = self.groups.led.keys().copied().collect();
        for index in led {
            self.with_groups(cx, index, |groups, cx, log| {
                groups.decide_unasked(cx, index, log, |shard, turn| {
                    shard.topic_deleted(turn, topic.clone(), id);
                });
            });
        }
    }
}

fn is_of_groups(partition: &Partition) -> bool {
    &*partition.name().topic == OFFSETS_TOPIC
}
