//! Retention: dropping whole segments from the front.
//!
//! A segment may go when it lies wholly below the high watermark and is too old (by its greatest
//! timestamp), or the log is too large without it, or it lies below the log start offset. When that
//! holds of the active segment too, it is rolled first. Its files are renamed to `.deleted` at once
//! and unlinked after `file.delete.delay.ms`, so that readers under way find what they were promised.

use std::sync::Arc;

use super::Log;
use super::lifecycle::Doomed;
use super::names::{DELETED, FileKind, segment_file};
use super::segment::Segment;
use crate::cx::Cx;
use crate::disk::{DiskOp, RelPath};
use crate::error::{ErrorCode, Refused};
use crate::trace::{DeleteReason, Fact};
use crate::types::{Millis, Offset};

/// Segments dropped in one call; a call stays short.
const SEGMENTS_AT_ONCE: usize = 32;

impl Log {
    /// Drops segments from the front that retention no longer keeps, given the high watermark. True when
    /// there may be more to drop: call again.
    pub fn apply_retention(&mut self, cx: &mut Cx<'_>, high_watermark: Offset) -> bool {
        for _ in 0..SEGMENTS_AT_ONCE {
            let Some(reason) = self.first_segment_breaches(cx.now, high_watermark) else {
                return false;
            };
            if self.closed.is_empty() {
                self.roll(cx);
            }
            let segment = Arc::make_mut(&mut self.closed).remove(0);
            self.doom_segment(cx, &segment, reason);
            let first = self.first_base();
            if first > self.log_start {
                self.set_log_start(cx, first);
            }
        }
        true
    }

    /// Moves the log start (DeleteRecords, or a follower after its leader): records below `to` are
    /// gone for readers at once, their segments at the next retention check. Answers the log start;
    /// `OFFSET_OUT_OF_RANGE` beyond the high watermark.
    pub fn move_log_start(
        &mut self,
        cx: &mut Cx<'_>,
        to: Offset,
        high_watermark: Offset,
    ) -> Result<Offset, Refused> {
        if to > high_watermark || to > self.written.end {
            return Err(Refused::new(
                ErrorCode::OffsetOutOfRange,
                format!(
                    "the log of {} cannot start at {to}, beyond its high watermark {high_watermark}",
                    self.partition
                ),
            ));
        }
        if to > self.log_start {
            self.set_log_start(cx, to);
        }
        Ok(self.log_start)
    }

    fn set_log_start(&mut self, cx: &mut Cx<'_>, to: Offset) {
        self.log_start = to;
        self.producers.on_log_start_moved(to);
        if self.epochs.truncate_from_start(to) {
            self.write_epochs(cx);
        }
        let partition = &self.partition;
        cx.emit(|| Fact::LogStartMoved {
            partition: partition.clone(),
            to,
        });
    }

    /// Why the first segment shall go, if it shall.
    fn first_segment_breaches(&self, now: Millis, high_watermark: Offset) -> Option<DeleteReason> {
        let (size, greatest_ms, end) = match self.closed.first() {
            Some(first) => (
                first.size_bytes,
                first.greatest.timestamp_ms,
                self.segment_end(first.base),
            ),
            None => (
                self.active.indexer.size_bytes,
                self.active.indexer.greatest.timestamp_ms,
                self.assigned_end,
            ),
        };
        // ANCHOR: first_segment_breaches
        let held_back = high_watermark < end && !mutated!(RetentionPassesHighWatermark);
        if size == 0 && self.closed.is_empty() || held_back {
            return None;
        }
        if !self.closed.is_empty() && end <= self.log_start {
            return Some(DeleteReason::LogStartOffset);
        }
        if !self.config.delete {
            return None;
        }
        let too_large = |keep: u64| self.size_bytes().saturating_sub(keep) >= size;
        if self.config.retention_bytes.is_some_and(too_large) && self.size_bytes() > 0 {
            return Some(DeleteReason::RetentionSize);
        }
        let too_old = |keep: Millis| greatest_ms >= 0 && now.saturating_sub(greatest_ms) > keep;
        self.config
            .retention_ms
            .is_some_and(too_old)
            .then_some(DeleteReason::RetentionTime)
        // ANCHOR_END: first_segment_breaches
    }

    /// Renames the files of a closed segment away and remembers to unlink them.
    pub(super) fn doom_segment(&mut self, cx: &mut Cx<'_>, segment: &Segment, reason: DeleteReason) {
        let unlink_at_ms = cx.now.saturating_add(self.config.file_delete_delay_ms);
        let aborted = segment.aborted.as_ref().map(|_| FileKind::TransactionIndex);
        // After a truncation the producer state itself says which snapshots are of use.
        let snapshot = reason != DeleteReason::Truncation && self.producers.remove_snapshot(segment.base);
        let kinds = [FileKind::Log, FileKind::OffsetIndex, FileKind::TimeIndex]
            .into_iter()
            .chain(aborted)
            .chain(snapshot.then_some(FileKind::ProducerSnapshot));
        for kind in kinds {
            let from = segment_file(&self.path, segment.base, kind);
            let to: RelPath = format!("{from}{DELETED}").into();
            cx.disk.push(
                self.dir,
                DiskOp::Rename {
                    from: from.into(),
                    to: to.clone(),
                },
            );
            self.doomed.push_back(Doomed {
                unlink_at_ms,
                path: to,
                file: (kind == FileKind::Log).then_some(segment.file),
            });
        }
        cx.emit(|| Fact::SegmentDeleted {
            partition: self.partition.clone(),
            segment: segment.base,
            size_bytes: segment.size_bytes,
            reason,
        });
    }
}
