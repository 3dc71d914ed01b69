//! One partition as a replica of it sees it (Kafka's `Partition`).
//!
//! Two offsets matter beside the log's own. The *log end offset* (LEO) is what this replica has
//! written; the *high watermark* (HW) is what every in-sync replica has. Consumers see records below
//! HW, acks=1 waits for LEO, acks=all for HW. With one replica HW follows LEO at once.
//!
//! Invariants
//! - log start <= HW <= LEO, and HW never falls while this broker leads
//! - only a leader appends what producers send
//! - an operation that waits here is named by id, and is told once: when its offset is reached, or
//!   when the leadership or the partition goes away

use smallvec::SmallVec;

use super::replication::Replication;
use super::role::Role;
use super::unseen::Unseen;
use super::waiting::{Acks, Moved, Waiting, Watcher};
use crate::cx::Cx;
use crate::disk::{DirId, Ticket};
use crate::error::{ErrorCode, Refused};
use crate::log::producer_state::AppendOrigin;
use crate::log::{Appended, Log};
use crate::record::Validated;
use crate::types::{LeaderEpoch, Millis, NO_EPOCH, Offset, PartitionEpoch, TopicPartition, Uuid};

/// Number of a partition object within its broker; never given twice, so that a stale one finds nothing.
pub type PartitionId = u32;

#[derive(Clone, Debug)]
pub struct Partition {
    pub(super) name: TopicPartition,
    topic_id: Uuid,
    pub(super) dir: DirId,
    pub(super) leader_epoch: LeaderEpoch,
    pub(super) partition_epoch: PartitionEpoch,
    pub(super) role: Role,
    /// `None`: its log directory is offline.
    pub(super) log: Option<Log>,
    pub(super) high_watermark: Offset,
    pub(super) unseen: Unseen,
    pub(super) acks: Acks,
    watchers: SmallVec<[Watcher; 2]>,
    /// When the broker shall call the log's `tick`, as it has noted.
    pub timer: Option<Millis>,
}

impl Partition {
    /// A partition whose log was opened or begun. `high_watermark` is the checkpoint's; the log bounds it.
    /// It neither leads nor follows until the controller says.
    pub fn new(mut log: Log, high_watermark: Offset) -> Self {
        let high_watermark = high_watermark.max(log.log_start()).min(log.log_end());
        log.on_high_watermark(high_watermark);
        let (name, topic_id, dir) = (log.partition().clone(), log.topic_id(), log.dir());
        Self {
            log: Some(log),
            high_watermark,
            ..Self::offline(name, topic_id, dir)
        }
    }

    /// A partition whose log directory is offline.
    pub fn offline(name: TopicPartition, topic_id: Uuid, dir: DirId) -> Self {
        Self {
            name,
            topic_id,
            dir,
            leader_epoch: NO_EPOCH,
            partition_epoch: 0,
            role: Role::Unassigned,
            log: None,
            high_watermark: 0,
            unseen: Unseen::default(),
            acks: Acks::default(),
            watchers: SmallVec::new(),
            timer: None,
        }
    }

    pub fn name(&self) -> &TopicPartition {
        &self.name
    }

    pub fn topic_id(&self) -> Uuid {
        self.topic_id
    }

    pub fn dir(&self) -> DirId {
        self.dir
    }

    pub fn leader_epoch(&self) -> LeaderEpoch {
        self.leader_epoch
    }

    pub fn partition_epoch(&self) -> PartitionEpoch {
        self.partition_epoch
    }

    pub fn high_watermark(&self) -> Offset {
        self.high_watermark
    }

    /// Below it every transaction is decided; read_committed consumers see records below.
    pub fn last_stable_offset(&self) -> Offset {
        let log = self.log.as_ref();
        log.map_or(self.high_watermark, |log| {
            log.last_stable_offset(self.high_watermark)
        })
    }

    /// The largest epoch at or below the one asked for, and where it ends; (-1, -1) when none is known.
    pub fn end_offset_for(&self, epoch: LeaderEpoch) -> Result<(LeaderEpoch, Offset), Refused> {
        let log = self.log()?;
        Ok(log.epochs().end_offset_for(epoch, log.log_end()))
    }

    pub fn is_online(&self) -> bool {
        self.log.is_some()
    }

    /// The log, or KAFKA_STORAGE_ERROR.
    pub fn log(&self) -> Result<&Log, Refused> {
        self.log.as_ref().ok_or_else(|| storage_error(&self.name))
    }

    pub fn log_mut(&mut self) -> Result<&mut Log, Refused> {
        self.log.as_mut().ok_or_else(|| storage_error(&self.name))
    }

    /// Checks that the log is there, the leader epoch that a client knows (KIP-320; -1 is not checked), and
    /// that this broker leads (`Partition.getLocalLog`).
    ///
    /// Errors: KAFKA_STORAGE_ERROR, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER.
    pub fn check_leader(&self, known: LeaderEpoch) -> Result<(), Refused> {
        self.log()?;
        let code = match known {
            ..0 => ErrorCode::None,
            _ if known < self.leader_epoch => ErrorCode::FencedLeaderEpoch,
            _ if known > self.leader_epoch => ErrorCode::UnknownLeaderEpoch,
            _ => ErrorCode::None,
        };
        match (code, &self.role) {
            (ErrorCode::None, Role::Leader(_)) => Ok(()),
            (ErrorCode::None, _) => Err(self.not_leading()),
            _ => Err(Refused::new(
                code,
                format!(
                    "{} is in leader epoch {}, not {known}",
                    self.name, self.leader_epoch
                ),
            )),
        }
    }

    /// Appends a validated batch, after [`check_append`](Self::check_append). The ticket names the last
    /// disk operation behind it.
    pub fn append(&mut self, cx: &mut Cx, batch: &Validated) -> Result<(Appended, Ticket), Refused> {
        if !self.is_leader() {
            return Err(self.not_leading());
        }
        let epoch = self.leader_epoch;
        let appended = self
            .log_mut()?
            .append_as_leader(cx, batch, epoch, AppendOrigin::Client)?;
        if !appended.duplicate {
            self.unseen
                .push(appended.last_offset + 1, batch.bytes.len() as u32);
        }
        Ok((appended, cx.disk.last_ticket(self.dir)))
    }

    /// Holds a part back until everything below `offset`, appended in leader epoch `epoch`, is
    /// acknowledged: by all in-sync replicas, or by this one. False: it is already.
    ///
    /// Errors: KAFKA_STORAGE_ERROR; NOT_LEADER_OR_FOLLOWER when the leadership was lost since, even if it was
    /// won again; NOT_ENOUGH_REPLICAS_AFTER_APPEND.
    pub fn wait(
        &mut self,
        offset: Offset,
        epoch: LeaderEpoch,
        all_replicas: bool,
        waiting: Waiting,
    ) -> Result<bool, Refused> {
        let all_replicas = all_replicas && !mutated!(AcknowledgedTooEarly);
        let log_end = self.log()?.log_end();
        let Role::Leader(leader) = &self.role else {
            return Err(self.not_leading());
        };
        if epoch < leader.since {
            return Err(self.not_leading());
        }
        // ANCHOR: acks
        let reached = if all_replicas {
            self.high_watermark
        } else {
            log_end
        };
        if offset > reached {
            return Ok(self.acks.insert(offset, all_replicas, waiting));
        }
        // ANCHOR_END: acks
        if all_replicas {
            self.check_acknowledged(leader)?;
        }
        Ok(false)
    }

    /// Takes a part back, whose operation is over.
    pub fn stop_waiting(&mut self, offset: Offset, all_replicas: bool, waiting: Waiting) {
        self.acks.remove(offset, all_replicas, waiting);
    }

    /// The disk operations up to this ticket are done: LEO may rise, and HW with it.
    pub fn disk_done(&mut self, cx: &mut Cx, shared: &Replication, upto: Ticket) -> Moved {
        let mut moved = Moved::default();
        let Some(log) = &mut self.log else {
            return moved;
        };
        let (before, was_open) = (log.log_end(), log.is_open());
        let has_grown = log.disk_done(cx, upto);
        // Whoever found nothing in a log that was not open yet looks again.
        moved.wake = !was_open && log.is_open();
        if !has_grown {
            return moved;
        }
        let log_end = log.log_end();
        moved.written_bytes = self.unseen.written_upto(log_end);
        self.acks.take_reached(false, log_end, &mut moved.acknowledged);
        match &mut self.role {
            Role::Unassigned => {}
            Role::Leader(leader) => {
                for follower in &mut leader.followers {
                    follower.leader_grows(cx.now, before);
                }
                self.maybe_raise_high_watermark(cx, shared, &mut moved);
            }
            Role::Follower(_) => self.follow_leader(cx, &mut moved),
        }
        moved
    }

    /// The log, for deleting it.
    pub fn into_log(self) -> Option<Log> {
        self.log
    }

    /// The log directory is gone. Whoever waits here is to be told.
    pub fn fail(&mut self) -> Vec<Waiting> {
        self.log = None;
        self.role = Role::Unassigned;
        self.unseen.clear();
        self.take_waiting()
    }

    /// Everyone who waits for an acknowledgement.
    pub fn take_waiting(&mut self) -> Vec<Waiting> {
        self.acks.take_all()
    }

    pub fn watch(&mut self, watcher: Watcher) {
        if !self.watchers.contains(&watcher) {
            self.watchers.push(watcher);
        }
    }

    pub fn unwatch(&mut self, watcher: Watcher) {
        if let Some(at) = self.watchers.iter().position(|w| *w == watcher) {
            self.watchers.swap_remove(at);
        }
    }

    pub fn watchers(&self) -> &[Watcher] {
        &self.watchers
    }
}

pub(super) fn storage_error(name: &TopicPartition) -> Refused {
    Refused::new(
        ErrorCode::KafkaStorageError,
        format!("the log directory of {name} is offline"),
    )
}
