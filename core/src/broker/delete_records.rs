//! DeleteRecords: records below an offset are gone for readers at once.
//!
//! The new log start is written to its checkpoint before the answer, so that a kill brings nothing
//! back; the segments follow at the next look for old ones.

use std::collections::BTreeSet;

use super::State;
use super::caller::Caller;
use super::changes::DurableWait;
use super::directories::Then;
use super::parked::{Growth, Parked};
use crate::cx::Cx;
use crate::disk::{DirId, Lane};
use crate::error::{ErrorCode, Refused};
use crate::metadata::is_internal;
use crate::protocol::messages::delete_records_request::DeleteRecordsPartition;
use crate::protocol::messages::delete_records_response::{
    DeleteRecordsPartitionResult, DeleteRecordsTopicResult,
};
use crate::protocol::messages::{DeleteRecordsRequest, DeleteRecordsResponse, message};
use crate::types::{NO_EPOCH, Offset, Uuid};

/// Stands for the high watermark.
const UP_TO_HIGH_WATERMARK: Offset = -1;

impl State {
    pub(super) fn delete_records(&mut self, cx: &mut Cx, caller: &Caller, request: &DeleteRecordsRequest) {
        cx.cause = caller.cause;
        let mut moved = BTreeSet::new();
        let answer = message(|answer: &mut DeleteRecordsResponse| {
            for topic in request.topics.iter().filter(|topic| !topic.partitions.is_empty()) {
                let rows = topic.partitions.iter().map(|asked| {
                    let deleted = self.delete_below(cx, &topic.name, asked);
                    message(|row: &mut DeleteRecordsPartitionResult| {
                        row.partition_index = asked.partition_index;
                        row.low_watermark = -1;
                        match deleted {
                            Ok((dir, log_start)) => {
                                moved.insert(dir);
                                row.low_watermark = log_start;
                            }
                            Err(refused) => row.error_code = refused.code.code(),
                        }
                    })
                });
                let rows = rows.collect();
                answer.topics.push(message(|row: &mut DeleteRecordsTopicResult| {
                    row.name = topic.name.clone();
                    row.partitions = rows;
                }));
            }
        });
        for &dir in &moved {
            self.write_checkpoints(cx, dir, Lane::Aside);
        }
        self.answer_after_all(cx, caller, &moved, answer);
    }

    fn delete_below(
        &mut self,
        cx: &mut Cx,
        topic: &str,
        asked: &DeleteRecordsPartition,
    ) -> Result<(DirId, Offset), Refused> {
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
        let log_start = partition.log_mut()?.move_log_start(cx, to, high_watermark)?;
        self.tell_watchers(cx, id, Growth::NONE);
        Ok((dir, log_start))
    }

    /// Answers when the checkpoints queued for each of these directories are written: the last of them
    /// answers.
    fn answer_after_all(
        &mut self,
        cx: &Cx,
        caller: &Caller,
        dirs: &BTreeSet<DirId>,
        answer: DeleteRecordsResponse,
    ) {
        if dirs.is_empty() {
            return self.out.answer(caller, answer);
        }
        let wait = DurableWait {
            caller: *caller,
            answer: answer.into(),
            left: dirs.len() as u32,
        };
        let id = self
            .purgatory
            .park(caller.conn, None, Parked::Durable(Box::new(wait)));
        for &dir in dirs {
            self.directories
                .after(dir, Lane::Aside, cx.disk.last_aside(dir), Then::Parked(id));
        }
    }
}
