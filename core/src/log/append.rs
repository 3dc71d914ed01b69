//! Appending: giving offsets, and queueing the bytes.
//!
//! A batch that was accepted gets its offsets at once, and is *written* only when the disk says so;
//! nobody may see it before. Its bytes are not touched but for the first 16, which hold the base
//! offset and the leader epoch and lie outside the checksum.
//!
//! What the producer state says comes first: a retry is answered, a gap or a zombie refused, before
//! anything changes.
//!
//! Invariants
//! - offsets are given without holes by a leader, and taken over as they are by a follower
//! - a batch that could not be accepted changes nothing

use bytes::Bytes;
use smallvec::smallvec;

use super::producer_state::{AppendOrigin, TransactionVersion, Verdict, marker_of};
use super::{Log, Written};
use crate::cx::Cx;
use crate::disk::{DiskOp, Lane};
use crate::error::{ErrorCode, Refused};
use crate::record::{Batch, BatchHeader, Validated};
use crate::trace::{EventId, Fact};
use crate::types::{LeaderEpoch, Millis, Offset};

/// Bytes of a batch that an append may change.
const HEAD_BYTES: usize = 16;

/// The offsets that an append gave. The batch is written once [`log_end`](Log::log_end) is past
/// `last_offset`: that holds for a duplicate too, whose original may still be on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    pub base_offset: Offset,
    pub last_offset: Offset,
    /// The batch was here before, at these offsets, and is not stored again.
    pub duplicate: bool,
    /// The greatest timestamp of the batch as it is stored: the answer's, under LogAppendTime.
    pub timestamp_ms: Millis,
}

impl Log {
    /// Appends a batch that was validated, as the leader in `epoch`: gives it the next offsets. A retry
    /// of an idempotent producer's batch is answered with its first offsets.
    ///
    /// Errors: RECORD_LIST_TOO_LARGE, and those of [`check`](super::producer_state::ProducerStateManager::check).
    pub fn append_as_leader(
        &mut self,
        cx: &mut Cx<'_>,
        batch: &Validated,
        epoch: LeaderEpoch,
        origin: AppendOrigin,
    ) -> Result<Appended, Refused> {
        let epoch = match epoch {
            _ if mutated!(EpochNotPatched) => batch.header.partition_leader_epoch,
            epoch => epoch,
        };
        let header = batch.header.with_head(self.assigned_end, epoch);
        let verdict = self
            .check_size(&header)
            .and_then(|()| self.producers.check(&header, origin))
            .inspect_err(|refused| self.emit_refused(cx, refused))?;
        Ok(match verdict {
            Verdict::New => self.append(cx, &header, &batch.bytes),
            Verdict::Duplicate {
                first_offset,
                last_offset,
                timestamp_ms,
            } => self.duplicate(cx, first_offset, last_offset, timestamp_ms),
        })
    }

    /// Appends the control batch that ends a transaction, as the leader in `epoch`.
    pub fn append_marker_as_leader(
        &mut self,
        cx: &mut Cx<'_>,
        batch: &Batch,
        epoch: LeaderEpoch,
        version: TransactionVersion,
    ) -> Result<Appended, Refused> {
        let header = batch.header.with_head(self.assigned_end, epoch);
        let Some((marker, _)) = marker_of(batch) else {
            let refused = Refused::new(ErrorCode::InvalidRecord, "the batch holds no transaction marker");
            return Err(refused);
        };
        self.producers
            .check_marker(&header, &marker, AppendOrigin::Coordinator, version)
            .inspect_err(|refused| self.emit_refused(cx, refused))?;
        Ok(self.append(cx, &header, &batch.bytes))
    }

    /// Appends batches as the leader has them, offsets and epochs included; the caller has checked
    /// sizes and checksums. Batches that end below the log end are refused, as is one that would go back
    /// in epoch; those before it are appended all the same.
    pub fn append_as_follower(&mut self, cx: &mut Cx<'_>, batches: &[Batch]) -> Result<(), Refused> {
        for batch in batches {
            let header = batch.header;
            if header.base_offset < self.assigned_end || header.last_offset() < header.base_offset {
                return Err(Refused::new(
                    ErrorCode::UnknownServerError,
                    format!(
                        "{}: the leader sent offset {} where {} or more should follow",
                        self.partition, header.base_offset, self.assigned_end
                    ),
                ));
            }
            if self
                .latest_epoch()
                .is_some_and(|latest| header.partition_leader_epoch < latest)
            {
                return Err(Refused::new(
                    ErrorCode::FencedLeaderEpoch,
                    format!(
                        "{}: a batch of epoch {} after epochs up to {}",
                        self.partition,
                        header.partition_leader_epoch,
                        self.latest_epoch().unwrap_or(-1)
                    ),
                ));
            }
            self.append(cx, &header, &batch.bytes);
        }
        Ok(())
    }

    fn duplicate(
        &self,
        cx: &mut Cx<'_>,
        base_offset: Offset,
        last_offset: Offset,
        timestamp_ms: Millis,
    ) -> Appended {
        cx.emit(|| Fact::DuplicateBatch {
            partition: self.partition.clone(),
            base_offset,
            last_offset,
        });
        Appended {
            base_offset,
            last_offset,
            duplicate: true,
            timestamp_ms,
        }
    }

    fn emit_refused(&self, cx: &mut Cx<'_>, refused: &Refused) {
        cx.emit(|| Fact::BatchRefused {
            partition: self.partition.clone(),
            code: refused.code,
        });
    }

    /// A batch must fit into a segment (`RECORD_LIST_TOO_LARGE`).
    fn check_size(&self, header: &BatchHeader) -> Result<(), Refused> {
        let size = header.size_bytes();
        if size <= self.config.segment_bytes as i64 {
            return Ok(());
        }
        Err(Refused::new(
            ErrorCode::RecordListTooLarge,
            format!(
                "a batch of {size} bytes does not fit into a segment of {} (segment.bytes)",
                self.config.segment_bytes
            ),
        ))
    }

    /// Queues the batch, whose header has its final offset and epoch.
    fn append(&mut self, cx: &mut Cx<'_>, header: &BatchHeader, bytes: &Bytes) -> Appended {
        if let Some(reason) = self.must_roll(cx.now, header) {
            self.roll_for(cx, header, reason);
        }
        self.note_epoch(cx, header.partition_leader_epoch, header.base_offset);
        let position = self.active.indexer.size_bytes;
        let head = match header.partition_leader_epoch {
            2.. if mutated!(EpochForgotten) => header.patch_head(header.base_offset, 0),
            epoch => header.patch_head(header.base_offset, epoch),
        };
        let tail = match mutated!(AppendCutShort) {
            true => bytes.slice(HEAD_BYTES..bytes.len() - 1),
            false => bytes.slice(HEAD_BYTES..),
        };
        // ANCHOR: append
        let ticket = cx.disk.push(
            self.dir,
            DiskOp::Append {
                file: self.active.file,
                at: position,
                bufs: smallvec![Bytes::copy_from_slice(&head), tail],
            },
        );
        let appended = self.emit_appended(cx, header, position);
        self.add_to_indexes(cx, header);
        self.note_producer(cx, header, bytes);
        self.assigned_end = header.next_offset();
        // ANCHOR_END: append
        self.dirty_since_ms.get_or_insert(cx.now);
        let ticket = self.flush_if_many(cx).unwrap_or(ticket);
        self.unwritten.push_back((
            ticket,
            Written {
                end: self.assigned_end,
                segment: self.active.indexer.base,
                bytes: self.active.indexer.size_bytes,
            },
            appended,
        ));
        Appended {
            base_offset: header.base_offset,
            last_offset: header.last_offset(),
            duplicate: false,
            timestamp_ms: header.max_timestamp,
        }
    }

    fn emit_appended(&self, cx: &mut Cx<'_>, header: &BatchHeader, position: u64) -> EventId {
        cx.emit(|| Fact::BatchAppended {
            partition: self.partition.clone(),
            base_offset: header.base_offset,
            last_offset: header.last_offset(),
            segment: self.active.indexer.base,
            position,
            size_bytes: header.size_bytes() as u32,
            epoch: header.partition_leader_epoch,
        })
    }

    fn add_to_indexes(&mut self, cx: &mut Cx<'_>, header: &BatchHeader) {
        let Some(new) = self.active.indexer.add(header, self.config.index_interval_bytes) else {
            return;
        };
        let segment = self.active.indexer.base;
        cx.emit(|| Fact::IndexEntryAdded {
            partition: self.partition.clone(),
            segment,
            offset: segment + i64::from(new.offset.relative),
            position: u64::from(new.offset.position),
        });
        if let Some(time) = new.time {
            self.emit_time_entry(cx, time);
        }
        self.write_indexes_if_many(cx);
    }

    /// This replica leads from now on: its epoch begins at the offset that it gives next, which it answers.
    /// Known before the first batch, so that a follower that asks where an earlier epoch ended learns of
    /// this one (`UnifiedLog.maybeAssignEpochStartOffset`, KIP-279).
    pub fn begin_epoch(&mut self, cx: &mut Cx<'_>, epoch: LeaderEpoch) -> Offset {
        let start = self.assigned_end;
        if mutated!(EpochEntryLost) && !self.epochs.entries().is_empty() {
            return start;
        }
        if self.epochs.assign(epoch, start) {
            // Aside: what a loss of power takes here is no batch's epoch yet.
            self.write_epochs_in(cx, Lane::Aside);
        }
        start
    }

    /// Remembers where an epoch began, in `leader-epoch-checkpoint` too.
    pub(super) fn note_epoch(&mut self, cx: &mut Cx<'_>, epoch: LeaderEpoch, start: Offset) {
        if mutated!(EpochEntryLost) && !self.epochs.entries().is_empty() {
            return;
        }
        if self.epochs.assign(epoch, start) {
            self.write_epochs(cx);
        }
    }
}
