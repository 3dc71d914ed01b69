//! A DeleteRecords that is not answered yet (Kafka's `DelayedDeleteRecords`).
//!
//! A partition is done when its *low watermark*, the least log start of its live replicas, has reached
//! the offset asked for. A follower says its log start with each fetch, so the leader hears of it one
//! fetch after the follower heard of the leader's.
//!
//! Invariants
//! - no success is answered before the new log start is in its checkpoint
//! - a partition that waits here stands in [`WaitingDeletions`], and no other does

use super::NO_LOW_WATERMARK;
use crate::broker::State;
use crate::broker::caller::Caller;
use crate::broker::directories::Then;
use crate::broker::parked::Parked;
use crate::cx::Cx;
use crate::disk::{DirId, Lane};
use crate::error::ErrorCode;
use crate::ordered::OrderedSet;
use crate::protocol::messages::delete_records_response::{
    DeleteRecordsPartitionResult, DeleteRecordsTopicResult,
};
use crate::protocol::messages::{DeleteRecordsResponse, message};
use crate::replica::partition::PartitionId;
use crate::replica::{ParkedId, Waiting};
use crate::types::{Millis, Offset};

/// The answer is complete but for the rows that wait.
#[derive(Clone, Debug)]
pub(in crate::broker) struct DeletionWait {
    caller: Caller,
    answer: DeleteRecordsResponse,
    parts: Vec<Part>,
    pending: u32,
    /// Directories whose checkpoints are not written yet.
    checkpoints: u32,
}

/// A partition in which records were deleted.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Its place in the answer.
    topic: u32,
    row: u32,
    id: PartitionId,
    to: Offset,
    done: bool,
}

/// Who waits for the low watermark of which partition.
#[derive(Clone, Debug, Default)]
pub(in crate::broker) struct WaitingDeletions {
    by_partition: OrderedSet<(PartitionId, Waiting)>,
}

impl WaitingDeletions {
    fn of(&self, id: PartitionId) -> Vec<Waiting> {
        let (first, last) = (
            Waiting { parked: 0, part: 0 },
            Waiting {
                parked: ParkedId::MAX,
                part: u32::MAX,
            },
        );
        let waiting = self.by_partition.range((id, first)..=(id, last));
        waiting.map(|&(_, waiting)| waiting).collect()
    }
}

impl DeletionWait {
    pub fn new(caller: Caller) -> Self {
        Self {
            caller,
            answer: message(|_: &mut DeleteRecordsResponse| {}),
            parts: Vec::new(),
            pending: 0,
            checkpoints: 0,
        }
    }

    /// The name is copied: the request's frame shall not wait with the answer.
    pub fn begin_topic(&mut self, name: &str) {
        let row = message(|row: &mut DeleteRecordsTopicResult| row.name = name.into());
        self.answer.topics.push(row);
    }

    /// Adds a row of the topic begun last; `deleted` tells of which partition, and up to where.
    pub fn add(&mut self, row: DeleteRecordsPartitionResult, deleted: Option<(PartitionId, Offset)>) {
        let topic = self.answer.topics.len() as u32 - 1;
        let Some(rows) = self.answer.topics.last_mut().map(|topic| &mut topic.partitions) else {
            return;
        };
        self.parts.extend(deleted.map(|(id, to)| Part {
            topic,
            row: rows.len() as u32,
            id,
            to,
            done: false,
        }));
        rows.push(row);
    }

    fn settle(&mut self, part: u32, outcome: Result<Offset, ErrorCode>) {
        let Some(part) = self.parts.get_mut(part as usize).filter(|part| !part.done) else {
            return;
        };
        part.done = true;
        self.pending -= 1;
        let topic = self.answer.topics.get_mut(part.topic as usize);
        if let Some(row) = topic.and_then(|topic| topic.partitions.get_mut(part.row as usize)) {
            match outcome {
                Ok(low_watermark) => row.low_watermark = low_watermark,
                // What was reached until then is told too.
                Err(ErrorCode::RequestTimedOut) => row.error_code = ErrorCode::RequestTimedOut.code(),
                Err(code) => (row.error_code, row.low_watermark) = (code.code(), NO_LOW_WATERMARK),
            }
        }
    }
}

impl State {
    /// Answers, or parks the request until its partitions are done and these directories' checkpoints,
    /// queued already, are written.
    pub(super) fn await_deletions(
        &mut self,
        cx: &Cx,
        mut wait: DeletionWait,
        dirs: &OrderedSet<DirId>,
        deadline: Millis,
    ) {
        if dirs.is_empty() {
            return self.out.answer(&wait.caller, wait.answer);
        }
        wait.checkpoints = dirs.len() as u32;
        wait.pending = wait.parts.len() as u32;
        let (conn, parts) = (wait.caller.conn, wait.parts.clone());
        let wait = Parked::Deletion(Box::new(wait));
        let id = self.purgatory.park(conn, Some(deadline), wait);
        for &dir in dirs {
            self.directories
                .after(dir, Lane::Aside, cx.disk.last_aside(dir), Then::Parked(id));
        }
        for (part, of) in (0..).zip(parts) {
            let waiting = Waiting { parked: id, part };
            self.waiting_deletions.by_partition.insert((of.id, waiting));
            self.look_at_low_watermark(of.id, waiting);
        }
    }

    /// The partition's low watermark may have moved, or it cannot be known here any more.
    pub(in crate::broker) fn low_watermark_moved(&mut self, id: PartitionId) {
        for waiting in self.waiting_deletions.of(id) {
            self.look_at_low_watermark(id, waiting);
        }
    }

    fn look_at_low_watermark(&mut self, id: PartitionId, waiting: Waiting) {
        let partition = self.topics.partition(id);
        let low_watermark = match partition.map(|partition| partition.low_watermark(&self.replication)) {
            None => Err(ErrorCode::UnknownTopicOrPartition),
            Some(known) => known.map_err(|refused| refused.code),
        };
        let Some(Parked::Deletion(wait)) = self.purgatory.get_mut(waiting.parked) else {
            return;
        };
        let part = wait.parts.get(waiting.part as usize);
        if part.is_some_and(|part| low_watermark.is_ok_and(|reached| reached < part.to)) {
            return;
        }
        wait.settle(waiting.part, low_watermark);
        self.waiting_deletions.by_partition.remove(&(id, waiting));
        self.answer_deletion(waiting.parked);
    }

    /// One of the directories has its checkpoints.
    pub(in crate::broker) fn deletion_durable(&mut self, id: ParkedId) {
        if let Some(Parked::Deletion(wait)) = self.purgatory.get_mut(id) {
            wait.checkpoints -= 1;
            self.answer_deletion(id);
        }
    }

    /// What the request waited for will never be known to be durable: no answer can be true.
    pub(in crate::broker) fn deletion_failed(&mut self, id: ParkedId) {
        if let Some(Parked::Deletion(wait)) = self.purgatory.take(id) {
            self.deletion_stops(id, &wait);
            self.out.close(
                wait.caller.conn,
                "the log directory failed while the change was being written; its outcome is not known",
            );
        }
    }

    /// Not every live replica has followed in time. What is done here is made durable all the same.
    pub(in crate::broker) fn deletion_timed_out(&mut self, id: ParkedId) {
        self.purgatory.forget_deadline(id);
        let Some(Parked::Deletion(wait)) = self.purgatory.get_mut(id) else {
            return;
        };
        for (part, of) in (0..).zip(wait.parts.clone()) {
            wait.settle(part, Err(ErrorCode::RequestTimedOut));
            let waiting = Waiting { parked: id, part };
            self.waiting_deletions.by_partition.remove(&(of.id, waiting));
        }
        self.answer_deletion(id);
    }

    /// Nobody waits for the answer any more: `wait` is out of the purgatory already.
    pub(in crate::broker) fn deletion_stops(&mut self, id: ParkedId, wait: &DeletionWait) {
        for (part, of) in (0..).zip(&wait.parts) {
            let waiting = Waiting { parked: id, part };
            self.waiting_deletions.by_partition.remove(&(of.id, waiting));
        }
    }

    /// Answers if nothing is waited for any more.
    fn answer_deletion(&mut self, id: ParkedId) {
        if let Some(Parked::Deletion(wait)) = self.purgatory.get_mut(id)
            && wait.pending == 0
            && wait.checkpoints == 0
            && let Some(Parked::Deletion(wait)) = self.purgatory.take(id)
        {
            self.out.answer(&wait.caller, wait.answer);
        }
    }
}
