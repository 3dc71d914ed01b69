//! One partition as its leader sees it (Kafka's `Partition`).
//!
//! Two offsets matter beside the log's own. The *log end offset* (LEO) is what this replica has
//! written; the *high watermark* (HW) is what every in-sync replica has. Consumers see records below
//! HW, acks=1 waits for LEO, acks=all for HW. With one replica HW follows LEO at once.
//!
//! Invariants
//! - log start <= HW <= LEO, and HW never falls while this broker leads
//! - an operation that waits here is named by id, and is told once: when its offset is reached, or
//!   when the partition goes away

use std::collections::{BTreeSet, VecDeque};

use smallvec::SmallVec;

use super::purgatory::ParkedId;
use crate::cx::Cx;
use crate::disk::{DirId, Ticket};
use crate::error::{ErrorCode, Refused};
use crate::log::producer_state::AppendOrigin;
use crate::log::{Appended, Log};
use crate::record::Validated;
use crate::trace::Fact;
use crate::types::{LeaderEpoch, Millis, Offset, TopicPartition, Uuid};

/// Number of a partition object within its broker; never given twice, so that a stale one finds nothing.
pub type PartitionId = u32;

/// A part of a parked operation: which, and which of its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiting {
    pub parked: ParkedId,
    pub part: u32,
}

/// Who wants to know of new records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watcher {
    /// A parked fetch outside any session.
    Fetch(ParkedId),
    /// An entry of a fetch session, for as long as the entry lives.
    Session { session: i32, slot: usize },
}

/// What has moved, for the broker to act on.
#[derive(Clone, Debug, Default)]
pub struct Moved {
    /// Parts whose acknowledgement is due.
    pub acknowledged: Vec<Waiting>,
    /// Bytes of records that consumers can see now and could not before.
    pub visible_bytes: u64,
    /// Something that a fetch answer says has changed: HW, log start.
    pub news: bool,
}

#[derive(Clone, Debug)]
pub struct Partition {
    name: TopicPartition,
    topic_id: Uuid,
    dir: DirId,
    leader_epoch: LeaderEpoch,
    /// `None`: its log directory is offline.
    log: Option<Log>,
    high_watermark: Offset,
    /// Appended and not yet below HW: end offset of each batch, and its size.
    unseen: VecDeque<(Offset, u32)>,
    /// Wait until HW reaches the offset (acks=all).
    until_high_watermark: BTreeSet<(Offset, Waiting)>,
    /// Wait until LEO reaches the offset (acks=1).
    until_written: BTreeSet<(Offset, Waiting)>,
    watchers: SmallVec<[Watcher; 2]>,
    /// When the broker shall call the log's `tick`, as it has noted.
    pub timer: Option<Millis>,
}

impl Partition {
    /// A partition led by this broker, which is its only replica: all that is written is below HW.
    pub fn new(mut log: Log, leader_epoch: LeaderEpoch) -> Self {
        log.on_high_watermark(log.log_end());
        Self {
            name: log.partition().clone(),
            topic_id: log.topic_id(),
            dir: log.dir(),
            leader_epoch,
            high_watermark: log.log_end(),
            log: Some(log),
            unseen: VecDeque::new(),
            until_high_watermark: BTreeSet::new(),
            until_written: BTreeSet::new(),
            watchers: SmallVec::new(),
            timer: None,
        }
    }

    /// A partition whose log directory is offline.
    pub fn offline(name: TopicPartition, topic_id: Uuid, dir: DirId, leader_epoch: LeaderEpoch) -> Self {
        Self {
            name,
            topic_id,
            dir,
            leader_epoch,
            log: None,
            high_watermark: 0,
            unseen: VecDeque::new(),
            until_high_watermark: BTreeSet::new(),
            until_written: BTreeSet::new(),
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
        if epoch == self.leader_epoch {
            return Ok((epoch, log.log_end()));
        }
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

    /// Checks the leader epoch that a client knows (KIP-320); -1 is not checked.
    pub fn check_epoch(&self, known: LeaderEpoch) -> Result<(), Refused> {
        let code = match known {
            ..0 => return Ok(()),
            _ if known < self.leader_epoch => ErrorCode::FencedLeaderEpoch,
            _ if known > self.leader_epoch => ErrorCode::UnknownLeaderEpoch,
            _ => return Ok(()),
        };
        Err(Refused::new(
            code,
            format!(
                "{} is in leader epoch {}, not {known}",
                self.name, self.leader_epoch
            ),
        ))
    }

    /// Appends a validated batch. The ticket names the last disk operation behind it.
    pub fn append(&mut self, cx: &mut Cx, batch: &Validated) -> Result<(Appended, Ticket), Refused> {
        let epoch = self.leader_epoch;
        let appended = self
            .log_mut()?
            .append_as_leader(cx, batch, epoch, AppendOrigin::Client)?;
        if !appended.duplicate {
            self.unseen
                .push_back((appended.last_offset + 1, batch.bytes.len() as u32));
        }
        Ok((appended, cx.disk.last_ticket(self.dir)))
    }

    /// Holds a part back until everything below `offset` is acknowledged: by all in-sync replicas, or
    /// by this one. False: it is already.
    pub fn wait(&mut self, offset: Offset, all_replicas: bool, waiting: Waiting) -> bool {
        let (reached, waiters) = if all_replicas {
            (self.high_watermark, &mut self.until_high_watermark)
        } else {
            let log_end = self.log.as_ref().map_or(0, Log::log_end);
            (log_end, &mut self.until_written)
        };
        offset > reached && waiters.insert((offset, waiting))
    }

    /// Takes a part back, whose operation is over.
    pub fn stop_waiting(&mut self, offset: Offset, all_replicas: bool, waiting: Waiting) {
        let waiters = if all_replicas {
            &mut self.until_high_watermark
        } else {
            &mut self.until_written
        };
        waiters.remove(&(offset, waiting));
    }

    /// The disk operations up to this ticket are done: LEO may rise, and HW with it.
    pub fn disk_done(&mut self, cx: &mut Cx, upto: Ticket) -> Moved {
        let Some(log) = &mut self.log else {
            return Moved::default();
        };
        if !log.disk_done(cx, upto) {
            return Moved::default();
        }
        let log_end = log.log_end();
        let mut moved = Moved::default();
        take_reached(&mut self.until_written, log_end, &mut moved.acknowledged);
        self.raise_high_watermark(cx, log_end, &mut moved);
        moved
    }

    fn raise_high_watermark(&mut self, cx: &mut Cx, to: Offset, moved: &mut Moved) {
        let from = self.high_watermark;
        if to <= from {
            return;
        }
        self.high_watermark = to;
        let partition = &self.name;
        cx.emit(|| Fact::HighWatermarkMoved {
            partition: partition.clone(),
            from,
            to,
        });
        while let Some((_, size)) = self.unseen.pop_front_if(|(end, _)| *end <= to) {
            moved.visible_bytes += u64::from(size);
        }
        if let Some(log) = &mut self.log {
            log.on_high_watermark(to);
        }
        moved.news = true;
        take_reached(&mut self.until_high_watermark, to, &mut moved.acknowledged);
    }

    /// The log, for deleting it.
    pub fn into_log(self) -> Option<Log> {
        self.log
    }

    /// The log directory is gone. Whoever waits here is to be told.
    pub fn fail(&mut self) -> Vec<Waiting> {
        self.log = None;
        self.unseen.clear();
        self.take_waiting()
    }

    /// Everyone who waits for an acknowledgement.
    pub fn take_waiting(&mut self) -> Vec<Waiting> {
        let taken = [&mut self.until_high_watermark, &mut self.until_written];
        taken
            .into_iter()
            .flat_map(std::mem::take)
            .map(|(_, waiting)| waiting)
            .collect()
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

fn take_reached(waiters: &mut BTreeSet<(Offset, Waiting)>, upto: Offset, into: &mut Vec<Waiting>) {
    while let Some(&(offset, waiting)) = waiters.first()
        && offset <= upto
    {
        waiters.pop_first();
        into.push(waiting);
    }
}

fn storage_error(name: &TopicPartition) -> Refused {
    Refused::new(
        ErrorCode::KafkaStorageError,
        format!("the log directory of {name} is offline"),
    )
}
