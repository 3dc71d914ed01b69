//! DeleteRecords: records below an offset are gone for readers at once.
//!
//! The new log start is written to its checkpoint before the answer, so that a kill brings nothing
//! back; the segments follow at the next look for old ones. The answer also waits ([`wait`]) until
//! every live replica has followed: who leads next shall not show the records again.

mod wait;

use super::State;
use super::caller::Caller;
use crate::cx::Cx;
use crate::disk::{DirId, Lane};
use crate::error::{ErrorCode, Refused};
use crate::metadata::is_internal;
use crate::ordered::OrderedSet;
use crate::protocol::messages::delete_records_request::DeleteRecordsPartition;
use crate::protocol::messages::delete_records_response::DeleteRecordsPartitionResult;
use crate::protocol::messages::{DeleteRecordsRequest, message};
use crate::replica::partition::PartitionId;
use crate::types::{Millis, NO_EPOCH, Offset, Uuid};

pub(super) use wait::{DeletionWait, WaitingDeletions};

/// Stands for the high watermark.
const UP_TO_HIGH_WATERMARK: Offset = -1;
/// "Not known", of a low watermark.
const NO_LOW_WATERMARK: Offset = -1;

/// What was done of one partition's wish.
struct Deleted {
    id: PartitionId,
    dir: DirId,
    /// Records below are to be gone.
    to: Offset,
    /// Below it they are gone on every live replica already.
    low_watermark: Offset,
}

impl State {
    pub(super) fn delete_records(&mut self, cx: &mut Cx, caller: &Caller, request: &DeleteRecordsRequest) {
        cx.cause = caller.cause;
        let mut wait = DeletionWait::new(*caller);
        let mut dirs = OrderedSet::new();
        for topic in request.topics.iter().filter(|topic| !topic.partitions.is_empty()) {
            wait.begin_topic(&topic.name);
            for asked in &topic.partitions {
                let deleted = self.delete_below(cx, &topic.name, asked);
                let row = message(|row: &mut DeleteRecordsPartitionResult| {
                    row.partition_index = asked.partition_index;
                    row.low_watermark = NO_LOW_WATERMARK;
                    match &deleted {
                        Ok(deleted) => row.low_watermark = deleted.low_watermark,
                        Err(refused) => row.error_code = refused.code.code(),
                    }
                });
                dirs.extend(deleted.as_ref().ok().map(|deleted| deleted.dir));
                wait.add(row, deleted.ok().map(|deleted| (deleted.id, deleted.to)));
            }
        }
        for &dir in &dirs {
            self.write_checkpoints(cx, dir, Lane::Aside);
        }
        let deadline = cx.now.saturating_add(Millis::from(request.timeout_ms.max(0)));
        self.await_deletions(cx, wait, &dirs, deadline);
    }

    fn delete_below(
        &mut self,
        cx: &mut Cx,
        topic: &str,
        asked: &DeleteRecordsPartition,
    ) -> Result<Deleted, Refused> {
        let id = self.find_replica(topic, Uuid::ZERO, asked.partition_index)?;
        if is_internal(topic) {
            return Err(ErrorCode::InvalidTopicException.into());
        }
        let found = self.topics.by_name(topic);
        if found.is_some_and(|found| !found.log_config.delete) {
            let why = "records of a topic whose cleanup.policy has no delete cannot be deleted";
            return Err(Refused::new(ErrorCode::PolicyViolation, why));
        }
        let partition = self.topics.partition_mut(id);
        let partition = partition.ok_or(Refused::from(ErrorCode::UnknownTopicOrPartition))?;
        partition.check_leader(NO_EPOCH)?;
        let high_watermark = partition.high_watermark();
        let to = match asked.offset {
            UP_TO_HIGH_WATERMARK => high_watermark,
            offset if offset < 0 => return Err(ErrorCode::OffsetOutOfRange.into()),
            offset => offset,
        };
        let dir = partition.dir();
        partition.log_mut()?.move_log_start(cx, to, high_watermark)?;
        let low_watermark = partition.low_watermark(&self.replication)?;
        // Followers that wait for records hear of the new start at once.
        self.wake_watchers(cx, id);
        Ok(Deleted {
            id,
            dir,
            to,
            low_watermark,
        })
    }
}
