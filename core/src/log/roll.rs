//! Rolling: closing the active segment and beginning the next; and forcing bytes to the medium.
//!
//! A segment ends when the next batch would make it too large, too old in record time, or more than
//! its indexes can tell. Closing it completes its index files and asks for a sync, after which the
//! recovery point moves to the new segment's base. The sync goes aside, for it may take seconds and the
//! next append need not wait (but for the first after a truncation); until it is done the closed segment is in doubt like the active one. The
//! snapshot of producers comes behind it, so that a snapshot tells: every segment below is whole.

use std::sync::Arc;

use bytes::Bytes;
use smallvec::smallvec;

use super::checkpoint::{LEADER_EPOCH_FILE, write_epochs};
use super::names::{FileKind, segment_file};
use super::segment::{Active, IndexFiles, Indexer};
use super::time_index::TimeEntry;
use super::{Log, LogConfig};
use crate::cx::Cx;
use crate::disk::{DirId, DiskOp, FileId, Lane, Ticket};
use crate::record::BatchHeader;
use crate::trace::{Fact, RollReason};
use crate::types::{Millis, Offset};

/// The index files follow once so many entries wait.
const INDEX_ENTRIES_AT_ONCE: usize = 64;

impl Log {
    /// Closes the active segment and begins a new one at the next offset, unless it is empty.
    pub fn roll(&mut self, cx: &mut Cx<'_>) {
        if self.active.indexer.size_bytes > 0 {
            self.roll_to(cx, self.assigned_end, RollReason::Asked);
        }
    }

    // ANCHOR: must_roll
    /// Whether the batch must begin a new segment (`LogSegment.shouldRoll`).
    pub(super) fn must_roll(&self, now: Millis, header: &BatchHeader) -> Option<RollReason> {
        let indexer = &self.active.indexer;
        let config = &self.config;
        let size = header.size_bytes().max(0) as u64;
        // The age is counted in record time, and by the clock only until there is a record.
        let age_ms = match indexer.first_timestamp_ms {
            Some(first) if first >= 0 => header.max_timestamp.saturating_sub(first),
            _ => now - self.active.created_ms,
        };
        if indexer.size_bytes + size > config.segment_bytes {
            Some(RollReason::Size)
        } else if indexer.size_bytes > 0 && age_ms > config.segment_ms - self.active.jitter_ms {
            Some(RollReason::Time)
        } else if indexer.offsets.is_full(config.segment_index_bytes)
            || indexer.times.is_full(config.segment_index_bytes)
        {
            Some(RollReason::IndexFull)
        } else if !indexer.can_hold(header.last_offset()) {
            Some(RollReason::OffsetOverflow)
        } else {
            None
        }
    }
    // ANCHOR_END: must_roll

    pub(super) fn roll_for(&mut self, cx: &mut Cx<'_>, header: &BatchHeader, reason: RollReason) {
        if self.active.indexer.size_bytes == 0 && self.active.indexer.base == header.base_offset {
            return;
        }
        self.roll_to(cx, header.base_offset, reason);
    }

    /// Closes the active segment; the next one starts at `base`.
    fn roll_to(&mut self, cx: &mut Cx<'_>, base: Offset, reason: RollReason) {
        let closed = self.active.indexer.base;
        self.close_active(cx);
        // What was cut off must not come back beside a segment that took its place.
        let lane = match self.cut_unsynced {
            true => Lane::Strict,
            false => Lane::Aside,
        };
        self.close_index_files(cx, lane, true);
        self.sync(cx, lane);
        Arc::make_mut(&mut self.closed).push(self.active.to_closed());
        self.active = new_active(cx, self.dir, &self.path, base, &self.config);
        self.names_unsynced.files = true;
        self.producers.advance_to(base);
        self.write_snapshot(cx, Lane::Aside);
        cx.emit(|| Fact::SegmentRolled {
            partition: self.partition.clone(),
            closed,
            opened: base,
            reason,
        });
    }

    /// Brings the active segment's index files to what a closed segment's are: whole, with a last
    /// time entry.
    pub(super) fn close_active(&mut self, cx: &mut Cx<'_>) {
        if let Some(entry) = self.active.indexer.note_greatest() {
            self.emit_time_entry(cx, entry);
        }
        self.write_indexes(cx);
    }

    pub(super) fn emit_time_entry(&self, cx: &mut Cx<'_>, entry: TimeEntry) {
        let segment = self.active.indexer.base;
        cx.emit(|| Fact::TimeIndexEntryAdded {
            partition: self.partition.clone(),
            segment,
            timestamp_ms: entry.timestamp_ms,
            offset: segment + i64::from(entry.relative),
        });
    }

    pub(super) fn write_indexes_if_many(&mut self, cx: &mut Cx<'_>) {
        let (offsets, _) = self.active.index_files.written.unwrap_or_default();
        if self.active.indexer.offsets.entries().len() - offsets >= INDEX_ENTRIES_AT_ONCE {
            self.write_indexes(cx);
        }
    }

    /// Lets the index files follow what is in memory; makes them if they are not there.
    fn write_indexes(&mut self, cx: &mut Cx<'_>) {
        let (dir, base) = (self.dir, self.active.indexer.base);
        let (index, time_index) = match self.active.index_files.open {
            Some(files) => files,
            None => {
                let mut open = |kind| open_file(cx, dir, segment_file(&self.path, base, kind));
                let files = (open(FileKind::OffsetIndex), open(FileKind::TimeIndex));
                self.active.index_files.open = Some(files);
                files
            }
        };
        let (offsets, times) = match self.active.index_files.written {
            Some(written) => written,
            None => {
                for file in [index, time_index] {
                    cx.disk.push(dir, DiskOp::Truncate { file, len: 0 });
                }
                (0, 0)
            }
        };
        let indexer = &self.active.indexer;
        let mut follow = |file, at: usize, bytes: Vec<u8>| {
            if !bytes.is_empty() {
                let bufs = smallvec![Bytes::from(bytes)];
                let at = at as u64;
                cx.disk.push(dir, DiskOp::Append { file, at, bufs });
            }
        };
        follow(
            index,
            offsets * super::offset_index::ENTRY_BYTES,
            indexer.offsets.bytes_from(offsets),
        );
        follow(
            time_index,
            times * super::time_index::ENTRY_BYTES,
            indexer.times.bytes_from(times),
        );
        self.active.index_files.written =
            Some((indexer.offsets.entries().len(), indexer.times.entries().len()));
    }

    /// Closes the active segment's index files, forced to the medium if `sync`.
    pub(super) fn close_index_files(&mut self, cx: &mut Cx<'_>, lane: Lane, sync: bool) {
        let indexes = self.active.index_files.open.take();
        let indexes = indexes
            .into_iter()
            .flat_map(|(index, time_index)| [index, time_index]);
        for file in indexes.chain(self.active.aborted_file.take()) {
            if sync {
                cx.disk.push_in(self.dir, lane, DiskOp::Sync { file });
            }
            cx.disk.push_in(self.dir, lane, DiskOp::Close { file });
        }
    }

    /// Forces everything appended so far to the medium; the recovery point follows when it is done.
    /// `None`: there was nothing to force.
    pub fn flush(&mut self, cx: &mut Cx<'_>) -> Option<Ticket> {
        let all_synced = self.sync_asked >= self.assigned_end && !self.names_unsynced.files;
        if all_synced || self.was_never_written() {
            return None;
        }
        Some(self.sync(cx, Lane::Strict))
    }

    /// Of such a log a loss of power can take nothing. Thousands of partitions that idle would else make
    /// a stop last minutes.
    pub(super) fn was_never_written(&self) -> bool {
        self.assigned_end == 0 && !self.cut_unsynced
    }

    /// Forces the active segment to the medium, and the names of the segments where they are not.
    fn sync(&mut self, cx: &mut Cx<'_>, lane: Lane) -> Ticket {
        let file = self.active.file;
        let mut ticket = cx.disk.push_in(self.dir, lane, DiskOp::Sync { file });
        self.cut_unsynced = false;
        let unsynced = std::mem::take(&mut self.names_unsynced);
        let file_names = unsynced.files.then(|| self.path.clone());
        let directory_name = unsynced.directory.then(|| Arc::from(""));
        for path in file_names.into_iter().chain(directory_name) {
            ticket = cx.disk.push_in(self.dir, lane, DiskOp::SyncDirectory { path });
        }
        self.note_sync(lane, ticket, self.assigned_end);
        ticket
    }

    /// `flush.messages`: so many records may wait for a sync.
    pub(super) fn flush_if_many(&mut self, cx: &mut Cx<'_>) -> Option<Ticket> {
        let waiting = (self.assigned_end - self.sync_asked).max(0) as u64;
        (waiting >= self.config.flush_messages)
            .then(|| self.flush(cx))
            .flatten()
    }

    fn note_sync(&mut self, lane: Lane, ticket: Ticket, upto: Offset) {
        self.sync_asked = upto;
        self.dirty_since_ms = None;
        self.syncing.push_back((lane, ticket, upto));
        if lane == Lane::Aside {
            self.new_aside = Some(ticket);
        }
    }

    /// Writes the state of producers at the log end, unless a snapshot of it is there.
    pub(super) fn write_snapshot(&mut self, cx: &mut Cx<'_>, lane: Lane) {
        if let Some((offset, bytes)) = self.producers.take_snapshot() {
            let path = segment_file(&self.path, offset, FileKind::ProducerSnapshot).into();
            cx.disk.push_in(self.dir, lane, DiskOp::Replace { path, bytes });
        }
    }

    pub(super) fn write_epochs(&self, cx: &mut Cx<'_>) {
        self.write_epochs_in(cx, Lane::Strict);
    }

    pub(super) fn write_epochs_in(&self, cx: &mut Cx<'_>, lane: Lane) {
        let path = format!("{}/{LEADER_EPOCH_FILE}", self.path).into();
        let bytes = write_epochs(self.epochs.entries());
        cx.disk.push_in(self.dir, lane, DiskOp::Replace { path, bytes });
    }
}

/// Begins a segment at `base`.
pub(super) fn new_active(
    cx: &mut Cx<'_>,
    dir: DirId,
    path: &str,
    base: Offset,
    config: &LogConfig,
) -> Active {
    Active {
        indexer: Indexer::new(base),
        file: open_file(cx, dir, segment_file(path, base, FileKind::Log)),
        created_ms: cx.now,
        jitter_ms: draw_jitter(cx, config),
        index_files: IndexFiles {
            open: None,
            written: Some((0, 0)),
        },
        aborted: Arc::default(),
        aborted_file: None,
    }
}

/// How much sooner than `segment.ms` a segment is closed (`LogConfig.randomSegmentJitter`).
pub(super) fn draw_jitter(cx: &mut Cx<'_>, config: &LogConfig) -> Millis {
    let most = config.segment_jitter_ms.min(config.segment_ms).max(0);
    if most == 0 {
        0
    } else {
        cx.rng.below(most as u64) as Millis
    }
}

pub(super) fn open_file(cx: &mut Cx<'_>, dir: DirId, path: String) -> FileId {
    let file = cx.disk.new_file(dir);
    cx.disk.push(
        dir,
        DiskOp::Open {
            file,
            path: path.into(),
        },
    );
    file
}
