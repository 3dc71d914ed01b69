//! Truncation: giving up the end of the log, because a new leader never had it.
//!
//! What was appended cannot be un-appended from memory alone: where the last batch below the offset
//! ends, which index entries it had, who had produced up to there. So a truncation is two steps: a
//! [`Rebuild`] job reads what stays of the segment that is to be cut, and [`Log::truncated`] takes
//! the result and queues the cut. In between the log must not be appended to.
//!
//! Invariants
//! - afterwards the log end is the offset that was asked for, even if that cuts a batch: whole batches
//!   go, and the next one starts at the offset
//! - the recovery point is never above the log end

use std::sync::Arc;

use super::job::{Job, Progress};
use super::names::{FileKind, segment_file};
use super::producer_state::ProducerStateManager;
use super::roll::{draw_jitter, new_active};
use super::scan::{LogFile, ScanRules, Scanned, replay, scan_segment};
use super::segment::{Active, IndexFiles, Indexer};
use super::transactions::read_snapshot;
use super::{Log, Written};
use crate::cx::Cx;
use crate::disk::{DirId, DiskOp, Lane, ReadAt, RelPath, Ticket};
use crate::error::DiskError;
use crate::trace::{DeleteReason, Fact};
use crate::types::{Millis, Offset};

/// What a truncation has to wait for.
#[derive(Clone, Debug)]
pub enum Truncation {
    /// The log ends at or before the offset; epochs that began at its end are forgotten.
    Nothing,
    /// It is cut: the operations are queued.
    Done,
    /// Appends are under way: ask again when the log directory has done this.
    WaitFor(Ticket),
    /// Run it and hand the result to [`Log::truncated`].
    Rebuild(Job),
}

/// Learn what a segment holds below an offset.
#[derive(Clone, Debug)]
pub struct Rebuild {
    dir: DirId,
    path: RelPath,
    base: Offset,
    file_bytes: u64,
    log_start: Offset,
    /// The log end when the job was made.
    log_end: Offset,
    rules: ScanRules,
    /// As they were at that log end.
    producers: ProducerStateManager,
    /// Base offset and bytes of each segment up to the one that is cut, to replay batches from.
    segments: Vec<(Offset, u64)>,
    now_ms: Millis,
    producer_expiration_ms: Millis,
}

/// What a [`Rebuild`] learned.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    log_end: Offset,
    to: Offset,
    scanned: Scanned,
    producers: ProducerStateManager,
    /// Snapshots that are of no use any more.
    stale_snapshots: Vec<Offset>,
}

impl Rebuild {
    pub fn run(&self, disk: &dyn ReadAt, progress: &mut dyn FnMut(Progress)) -> Result<Rebuilt, DiskError> {
        let mut report = |done_bytes| {
            progress(Progress {
                done_bytes,
                total_bytes: self.file_bytes,
            });
        };
        let scanned = scan_segment(
            disk,
            LogFile {
                dir: self.dir,
                path: &segment_file(&self.path, self.base, FileKind::Log),
                bytes: self.file_bytes,
            },
            self.base,
            self.rules,
            None,
            &mut report,
        )?;
        let (producers, stale_snapshots) = self.reload_producers(disk)?;
        Ok(Rebuilt {
            log_end: self.log_end,
            to: self.rules.below,
            scanned,
            producers,
            stale_snapshots,
        })
    }

    /// The state of producers where the log will end: from the last snapshot before, and the batches since.
    fn reload_producers(&self, disk: &dyn ReadAt) -> Result<(ProducerStateManager, Vec<Offset>), DiskError> {
        let mut producers = self.producers.clone();
        let to = self.rules.below;
        let reloaded = producers.truncate_and_reload(
            self.log_start.min(to),
            to,
            self.now_ms,
            self.producer_expiration_ms,
            &mut |offset| read_snapshot(disk, self.dir, &self.path, offset),
        );
        if let Some(from) = reloaded.replay_from {
            let after = self.segments.partition_point(|(base, _)| *base <= from);
            for (base, bytes) in &self.segments[after.saturating_sub(1)..] {
                let log = segment_file(&self.path, *base, FileKind::Log);
                let log = LogFile {
                    dir: self.dir,
                    path: &log,
                    bytes: *bytes,
                };
                replay(disk, log, from..to, &mut producers)?;
            }
        }
        producers.advance_to(to);
        Ok((producers, reloaded.deleted))
    }
}

impl Log {
    /// Cuts the log so that it ends at `to` (`UnifiedLog.truncateTo`). Producers silent for
    /// `producer_expiration_ms` (`producer.id.expiration.ms`) are forgotten on the way.
    pub fn truncate_to(&mut self, cx: &mut Cx<'_>, to: Offset, producer_expiration_ms: Millis) -> Truncation {
        if to >= self.assigned_end {
            // An epoch that this replica led without a batch: the new leader does not know it.
            if self.epochs.truncate_from_end(self.assigned_end) {
                self.write_epochs(cx);
            }
            return Truncation::Nothing;
        }
        if to <= self.first_base() {
            self.truncate_fully_and_start_at(cx, to);
            return Truncation::Done;
        }
        if let Some(&(ticket, ..)) = self.unwritten.back() {
            return Truncation::WaitFor(ticket);
        }
        let active = (self.active.indexer.base, self.active.indexer.size_bytes);
        let closed = self
            .closed
            .iter()
            .map(|segment| (segment.base, segment.size_bytes));
        let segments: Vec<_> = closed.chain([active]).filter(|(base, _)| *base < to).collect();
        let Some(&(base, file_bytes)) = segments.last() else {
            return Truncation::Nothing;
        };
        Truncation::Rebuild(Job::Rebuild(Box::new(Rebuild {
            dir: self.dir,
            path: self.path.clone(),
            base,
            file_bytes,
            log_start: self.log_start,
            log_end: self.assigned_end,
            producers: self.producers.clone(),
            segments,
            now_ms: cx.now,
            producer_expiration_ms,
            rules: ScanRules {
                below: to,
                check_crc: false,
                index_interval_bytes: self.config.index_interval_bytes,
            },
        })))
    }

    /// Carries out the truncation that a [`Rebuild`] prepared. False, and nothing happens, when the log has
    /// changed since: ask again.
    pub fn truncated(&mut self, cx: &mut Cx<'_>, rebuilt: Rebuilt) -> bool {
        let Rebuilt {
            log_end,
            to,
            scanned,
            producers,
            stale_snapshots,
        } = rebuilt;
        if self.assigned_end != log_end || self.closed.last().is_some_and(|last| last.base >= log_end) {
            return false;
        }
        let base = scanned.indexer.base;
        let closed_at = self.closed.iter().position(|segment| segment.base == base);
        if closed_at.is_none() && base != self.active.indexer.base {
            return false;
        }
        // First, so that the snapshots of segments that go are taken from what is known from now on.
        self.producers = producers;
        self.unlink_snapshots(cx, stale_snapshots);
        if let Some(at) = closed_at {
            self.reopen_closed(cx, at);
        }
        let len = match scanned.indexer.size_bytes {
            _ if mutated!(CutTooShort) => 0,
            len => len,
        };
        let file = self.active.file;
        cx.disk.push(self.dir, DiskOp::Truncate { file, len });
        self.active.indexer = scanned.indexer;
        self.active.index_files.written = None;
        self.truncate_aborted(cx, to);
        self.end_at(cx, to);
        true
    }

    /// Makes the closed segment at this index the active one again; those behind it are dropped.
    fn reopen_closed(&mut self, cx: &mut Cx<'_>, at: usize) {
        self.doom_active(cx);
        let mut behind = Arc::make_mut(&mut self.closed).split_off(at);
        let reopened = behind.remove(0);
        // From the end on, and before any byte is cut: whenever the power goes, what is left has no hole.
        for segment in behind.iter().rev() {
            self.doom_segment(cx, segment, DeleteReason::Truncation);
        }
        let path = self.path.clone();
        cx.disk.push(self.dir, DiskOp::SyncDirectory { path });
        self.active = Active {
            indexer: Indexer::new(reopened.base),
            file: reopened.file,
            created_ms: cx.now,
            jitter_ms: draw_jitter(cx, &self.config),
            index_files: IndexFiles::default(),
            aborted: reopened.aborted.unwrap_or_default(),
            aborted_file: None,
        };
    }

    /// Drops everything; the log is empty and starts at `at`: for a follower whose leader no longer has
    /// what this replica has (`UnifiedLog.truncateFullyAndStartAt`).
    pub fn truncate_fully_and_start_at(&mut self, cx: &mut Cx<'_>, at: Offset) {
        self.doom_active(cx);
        for segment in std::mem::take(Arc::make_mut(&mut self.closed)) {
            self.doom_segment(cx, &segment, DeleteReason::Truncation);
        }
        self.active = new_active(cx, self.dir, &self.path, at, &self.config);
        self.names_unsynced.files = true;
        if self.epochs.clear() {
            self.write_epochs(cx);
        }
        let stale = self.producers.truncate_fully_and_start_at(at);
        self.unlink_snapshots(cx, stale);
        self.unwritten.clear();
        let before = std::mem::replace(&mut self.log_start, at);
        self.end_at(cx, at);
        if at > before {
            let partition = &self.partition;
            cx.emit(|| Fact::LogStartMoved {
                partition: partition.clone(),
                to: at,
            });
        }
    }

    fn doom_active(&mut self, cx: &mut Cx<'_>) {
        self.close_active(cx);
        self.close_index_files(cx, Lane::Strict, false);
        let segment = self.active.to_closed();
        self.doom_segment(cx, &segment, DeleteReason::Truncation);
    }

    /// The log now ends at `to`, in the active segment.
    fn end_at(&mut self, cx: &mut Cx<'_>, to: Offset) {
        let from = self.assigned_end;
        self.assigned_end = to;
        self.cut_unsynced = true;
        self.written = Written {
            end: to,
            segment: self.active.indexer.base,
            bytes: self.active.indexer.size_bytes,
        };
        self.log_start = self.log_start.min(to);
        self.recovery_point = self.recovery_point.min(to);
        self.sync_asked = self.sync_asked.min(to);
        for (.., point) in &mut self.syncing {
            *point = (*point).min(to);
        }
        if self.epochs.truncate_from_end(to) {
            self.write_epochs(cx);
        }
        if mutated!(TruncationUntold) {
            return;
        }
        let partition = &self.partition;
        cx.emit(|| Fact::LogTruncated {
            partition: partition.clone(),
            from,
            to,
        });
    }
}
