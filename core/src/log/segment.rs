//! Segments: a log is a row of files, each named by the offset it starts at. Only the last, the
//! *active* one, grows; the others are closed and never change until they are deleted.
//!
//! [`Indexer`] is the one place that decides which batches get an index entry: appending and
//! recovery both feed it, so an index rebuilt from the `.log` equals the one that was written.

use std::collections::VecDeque;
use std::sync::Arc;

use super::offset_index::{OffsetEntry, OffsetIndex};
use super::time_index::{TimeEntry, TimeIndex};
use super::transaction_index::TransactionIndex;
use crate::disk::FileId;
use crate::record::BatchHeader;
use crate::types::{Millis, NO_TIMESTAMP, Offset};

/// The greatest timestamp of a run of batches, and the last offset of the batch that has it; the
/// earliest such batch when several do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greatest {
    pub timestamp_ms: Millis,
    pub offset: Offset,
}

impl Greatest {
    /// Of no batch at all.
    pub const NONE: Greatest = Greatest {
        timestamp_ms: NO_TIMESTAMP,
        offset: -1,
    };
}

/// A closed segment: what the owner remembers of it. The rest is in its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset that its files are named by; no batch in it starts below.
    pub base: Offset,
    /// Bytes of its `.log`.
    pub size_bytes: u64,
    pub greatest: Greatest,
    /// Its `.log`.
    pub file: FileId,
    /// The transactions aborted in it; most segments have none.
    pub aborted: Option<Arc<TransactionIndex>>,
}

/// Where a batch of the active segment lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchPlace {
    pub base: Offset,
    pub last: Offset,
    pub position: u64,
}

/// How many of the last batches are remembered, so that readers at the tail need no file.
const TAIL_BATCHES: usize = 64;

/// Gathers what is known of a segment's batches as they come: both indexes, the greatest timestamp,
/// the places of the last batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indexer {
    pub base: Offset,
    /// Bytes of all batches seen: where the next one starts.
    pub size_bytes: u64,
    pub offsets: OffsetIndex,
    pub times: TimeIndex,
    pub greatest: Greatest,
    /// Greatest timestamp of the first batch: the age of the segment counts from it.
    pub first_timestamp_ms: Option<Millis>,
    /// The last batches, oldest first.
    pub tail: VecDeque<BatchPlace>,
    bytes_since_entry: u64,
}

/// The index entries that one batch brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewEntries {
    pub offset: OffsetEntry,
    pub time: Option<TimeEntry>,
}

impl Indexer {
    pub fn new(base: Offset) -> Self {
        Self {
            base,
            size_bytes: 0,
            offsets: OffsetIndex::default(),
            times: TimeIndex::default(),
            greatest: Greatest::NONE,
            first_timestamp_ms: None,
            tail: VecDeque::new(),
            bytes_since_entry: 0,
        }
    }

    /// Goes on behind what indexes read from files say of the first `size_bytes` bytes.
    pub fn resume(base: Offset, size_bytes: u64, offsets: OffsetIndex, times: TimeIndex) -> Self {
        let last_entry = offsets.last().map_or(0, |entry| u64::from(entry.position));
        let greatest = times.last().map_or(Greatest::NONE, |entry| Greatest {
            timestamp_ms: entry.timestamp_ms,
            offset: base + i64::from(entry.relative),
        });
        Self {
            size_bytes,
            offsets,
            times,
            greatest,
            bytes_since_entry: size_bytes.saturating_sub(last_entry),
            ..Self::new(base)
        }
    }

    /// Whether `offset` can be told relative to the base in 31 bits (`LogSegment.canConvertToRelativeOffset`).
    pub fn can_hold(&self, offset: Offset) -> bool {
        offset
            .checked_sub(self.base)
            .is_some_and(|relative| (0..=i64::from(i32::MAX)).contains(&relative))
    }

    // ANCHOR: index_entry
    /// Takes in the next batch, which starts at byte `size_bytes`. The caller has checked that
    /// [`can_hold`](Self::can_hold) its last offset.
    pub fn add(&mut self, header: &BatchHeader, index_interval_bytes: u32) -> Option<NewEntries> {
        let last = header.last_offset();
        let position = self.size_bytes;
        let size = header.size_bytes().max(0) as u64;
        self.first_timestamp_ms.get_or_insert(header.max_timestamp);
        if header.max_timestamp > self.greatest.timestamp_ms {
            self.greatest = Greatest {
                timestamp_ms: header.max_timestamp,
                offset: last,
            };
        }
        let mut entries = None;
        if self.bytes_since_entry > u64::from(index_interval_bytes) {
            let offset = OffsetEntry {
                relative: (last - self.base) as u32,
                position: position as u32 + u32::from(mutated!(IndexEntryMisplaced)),
            };
            self.offsets.push(offset);
            entries = Some(NewEntries {
                offset,
                time: self.note_greatest(),
            });
            self.bytes_since_entry = 0;
        }
        self.bytes_since_entry += size;
        self.size_bytes += size;
        self.remember(header, position);
        entries
    }
    // ANCHOR_END: index_entry

    /// Remembers where a batch lies that the indexes know of already.
    pub fn remember(&mut self, header: &BatchHeader, position: u64) {
        if self.tail.len() == TAIL_BATCHES {
            self.tail.pop_front();
        }
        self.tail.push_back(BatchPlace {
            base: header.base_offset,
            last: header.last_offset(),
            position,
        });
    }

    /// Adds a time index entry for the greatest timestamp so far, unless the last one says it already:
    /// with each offset index entry, and when the segment is closed.
    pub fn note_greatest(&mut self) -> Option<TimeEntry> {
        let entry = TimeEntry {
            timestamp_ms: self.greatest.timestamp_ms,
            relative: u32::try_from(self.greatest.offset.checked_sub(self.base)?).ok()?
                + u32::from(mutated!(TimeEntryMisplaced)),
        };
        self.times.push_if_later(entry).then_some(entry)
    }

    /// First remembered batch whose last offset reaches `offset`, with its size; `None` when memory
    /// does not go back that far. Past the last batch the answer is the end, with size 0.
    pub fn place_in_tail(&self, offset: Offset) -> Option<(BatchPlace, u64)> {
        let first = self.tail.front();
        if self.size_bytes > 0 && first.is_none_or(|first| first.position > 0 && offset < first.base) {
            return None;
        }
        let at = self.tail.partition_point(|batch| batch.last < offset);
        let end = BatchPlace {
            base: offset,
            last: offset,
            position: self.size_bytes,
        };
        let place = self.tail.get(at).copied().unwrap_or(end);
        let next = self
            .tail
            .get(at + 1)
            .map_or(self.size_bytes, |next| next.position);
        Some((place, next - place.position))
    }
}

/// The segment that grows. Its indexes are whole in memory; their files follow behind.
#[derive(Clone, Debug)]
pub struct Active {
    pub indexer: Indexer,
    /// Its `.log`.
    pub file: FileId,
    pub created_ms: Millis,
    /// Drawn once: how much sooner than `segment.ms` this segment is closed.
    pub jitter_ms: Millis,
    pub index_files: IndexFiles,
    /// The transactions aborted in it.
    pub aborted: Arc<TransactionIndex>,
    /// Its `.txnindex`, once there is something to write.
    pub aborted_file: Option<FileId>,
}

impl Active {
    /// What is remembered of it once it is closed.
    pub fn to_closed(&self) -> Segment {
        Segment {
            base: self.indexer.base,
            size_bytes: self.indexer.size_bytes,
            greatest: self.indexer.greatest,
            file: self.file,
            aborted: (!self.aborted.entries().is_empty()).then(|| self.aborted.clone()),
        }
    }
}

/// How far the active segment's index files have followed. They are caches, and after an unclean
/// stop the active segment is read again anyway: so they may lag, and are written whole when the
/// segment or the log is closed.
#[derive(Clone, Debug, Default)]
pub struct IndexFiles {
    /// `.index` and `.timeindex`; not open before there is something to write.
    pub open: Option<(FileId, FileId)>,
    /// Entries of each that are in the files; `None`: the files hold something else and are to be
    /// cut to nothing first.
    pub written: Option<(usize, usize)>,
}
