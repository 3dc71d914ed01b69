//! What the log keeps for producers: their state as batches are appended, the transactions that were
//! aborted, and the last stable offset, beyond which `read_committed` does not see.

use std::sync::Arc;

use bytes::Bytes;
use smallvec::smallvec;

use super::Log;
use super::names::{FileKind, segment_file};
use super::producer_state::{CompletedTxn, marker_of};
use super::roll::open_file;
use super::transaction_index::{AbortedTxn, TransactionIndex};
use crate::cx::Cx;
use crate::disk::{DirId, DiskOp, ReadAt};
use crate::error::DiskError;
use crate::record::{Batch, BatchHeader};
use crate::types::{Millis, Offset};

/// A larger snapshot or index file is none of ours.
const MAX_FILE_BYTES: u64 = 256 << 20;

impl Log {
    /// Tells the log the high watermark, which makes decided transactions below it stable.
    pub fn on_high_watermark(&mut self, high_watermark: Offset) {
        self.producers.on_high_watermark(high_watermark);
    }

    /// First offset that `read_committed` must not see: that of the oldest undecided transaction, or
    /// the high watermark.
    pub fn last_stable_offset(&self, high_watermark: Offset) -> Offset {
        let unstable = self.producers.first_unstable_offset();
        unstable.map_or(high_watermark, |offset| offset.min(high_watermark))
    }

    /// The aborted transactions that have records in `from..below`: `below` of a
    /// [`FileRange`](super::FileRange) read from `from`.
    pub fn aborted_transactions(&self, from: Offset, below: Offset) -> Vec<AbortedTxn> {
        let after = self.closed.partition_point(|segment| segment.base <= from);
        let closed = self.closed.get(after.saturating_sub(1)..).unwrap_or_default();
        let closed = closed.iter().filter_map(|segment| segment.aborted.as_deref());
        let mut aborted = Vec::new();
        for index in closed.chain([&*self.active.aborted]) {
            let found = index.collect(from, below);
            aborted.extend(found.aborted);
            if found.complete {
                break;
            }
        }
        aborted
    }

    /// Forgets producers that have been silent for so long (`producer.id.expiration.ms`); says how many.
    pub fn expire_producers(&mut self, now_ms: Millis, expiration_ms: Millis) -> usize {
        self.producers.remove_expired(now_ms, expiration_ms)
    }

    /// Lets the state of producers follow a batch that is being appended.
    pub(super) fn note_producer(&mut self, cx: &mut Cx<'_>, header: &BatchHeader, bytes: &Bytes) {
        let control = header.is_control().then(|| Batch {
            header: *header,
            bytes: bytes.clone(),
        });
        let marker = control.as_ref().and_then(marker_of);
        let marker = marker
            .as_ref()
            .map(|(marker, timestamp_ms)| (marker, *timestamp_ms));
        let completed = self.producers.replay(header, marker);
        if let Some(aborted) = completed.as_ref().and_then(CompletedTxn::aborted) {
            self.note_aborted(cx, aborted);
        }
    }

    fn note_aborted(&mut self, cx: &mut Cx<'_>, aborted: AbortedTxn) {
        let (dir, base) = (self.dir, self.active.indexer.base);
        let path = &self.path;
        let file = *self
            .active
            .aborted_file
            .get_or_insert_with(|| open_file(cx, dir, segment_file(path, base, FileKind::TransactionIndex)));
        let index = Arc::make_mut(&mut self.active.aborted);
        let at = index.len_bytes();
        let bufs = smallvec![index.append(aborted)];
        cx.disk.push(dir, DiskOp::Append { file, at, bufs });
    }

    /// Forgets the transactions that ended at `log_end` or later, in the active segment's file too.
    pub(super) fn truncate_aborted(&mut self, cx: &mut Cx<'_>, log_end: Offset) {
        let index = Arc::make_mut(&mut self.active.aborted);
        if index.truncate_to(log_end).is_none() {
            return;
        }
        if let Some(file) = self.active.aborted_file.take() {
            cx.disk.push(self.dir, DiskOp::Close { file });
        }
        let path = segment_file(&self.path, self.active.indexer.base, FileKind::TransactionIndex).into();
        let op = match self.active.aborted.to_bytes() {
            none if none.is_empty() => DiskOp::Unlink { path },
            bytes => DiskOp::Replace { path, bytes },
        };
        cx.disk.push(self.dir, op);
    }

    /// Removes snapshots for good: one that came back would tell of segments that are gone.
    pub(super) fn unlink_snapshots(&self, cx: &mut Cx<'_>, offsets: Vec<Offset>) {
        let any = !offsets.is_empty();
        for offset in offsets {
            let path = segment_file(&self.path, offset, FileKind::ProducerSnapshot).into();
            cx.disk.push(self.dir, DiskOp::Unlink { path });
        }
        if any {
            let path = self.path.clone();
            cx.disk.push(self.dir, DiskOp::SyncDirectory { path });
        }
    }
}

/// The bytes of a producer snapshot; `None` when it cannot be had, which a replay makes up for.
pub(super) fn read_snapshot(disk: &dyn ReadAt, dir: DirId, path: &str, offset: Offset) -> Option<Bytes> {
    let path = segment_file(path, offset, FileKind::ProducerSnapshot);
    let length = disk.len(dir, &path).ok()?;
    if length > MAX_FILE_BYTES {
        return None;
    }
    disk.read_at(dir, &path, 0, length as usize).ok()
}

/// The transaction index of a segment; empty when the file cannot be believed.
pub(super) fn read_aborted(
    disk: &dyn ReadAt,
    dir: DirId,
    path: &str,
    base: Offset,
) -> Result<TransactionIndex, DiskError> {
    let length = disk.len(dir, path)?.min(MAX_FILE_BYTES);
    let bytes = disk.read_at(dir, path, 0, length as usize)?;
    Ok(TransactionIndex::from_bytes(base, &bytes).unwrap_or_default())
}
