//! Finding a time: the first record, in offset order, whose timestamp reaches the target.
//!
//! Timestamps need not rise, so the time index cannot name the record. It names an offset up to which
//! no timestamp goes beyond its entry's; from there the batches are walked to the first whose
//! greatest timestamp reaches the target, and that batch's records are read, unpacked if need be.

use super::lookup::{Lookup, Scanned, SegmentToRead, StartFrom};
use super::names::FileKind;
use super::time_index::{self, TimeEntry};
use super::walk::{Step, Walk};
use crate::disk::ReadAt;
use crate::error::DiskError;
use crate::record::Batch;
use crate::record::compression::PURE_RUST;
use crate::types::{LeaderEpoch, Millis, Offset};

/// Bytes asked of the disk at once while walking headers.
const WALK_BYTES: usize = 16 << 10;
/// What entered the log was unpacked within stricter bounds; this only keeps a damaged file harmless.
const MAX_UNPACKED_BYTES: usize = 1 << 30;

/// Find the first record at or after a time.
#[derive(Clone, Debug)]
pub struct LocateTime {
    /// In offset order, from the first whose greatest timestamp reaches the target.
    pub segments: Vec<SegmentToRead>,
    pub target_ms: Millis,
    /// The log start offset: records below are gone.
    pub from: Offset,
}

/// A record found by its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOffset {
    pub timestamp_ms: Millis,
    pub offset: Offset,
    /// Of the record's batch.
    pub leader_epoch: LeaderEpoch,
}

/// One halving of the binary search in a time index of which entries `low..high` were still in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeHalving {
    pub low: usize,
    pub high: usize,
    /// The entry that was looked at.
    pub middle: usize,
    pub entry: TimeEntry,
    /// It is at or below the target: the search goes on in the upper half.
    pub at_or_below: bool,
}

/// The steps of one look-up by time, in the segment that had the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeLookup {
    pub target_ms: Millis,
    pub halvings: Vec<TimeHalving>,
    /// The entry that the halvings led to; `None`: before the first entry.
    pub entry: Option<TimeEntry>,
    /// From the entry's offset on: segment, the search in the offset index, the batches walked over.
    pub offsets: Lookup,
    pub found: Option<TimedOffset>,
}

/// The greatest of `count` entries at or below `target_ms`, by halving; `entry(i)` gives entry *i*.
pub fn floor_time<E>(
    count: usize,
    mut entry: impl FnMut(usize) -> Result<TimeEntry, E>,
    target_ms: Millis,
    mut steps: Option<&mut TimeLookup>,
) -> Result<Option<TimeEntry>, E> {
    let (mut low, mut high, mut found) = (0, count, None);
    while low < high {
        let middle = low + (high - low) / 2;
        let at = entry(middle)?;
        let at_or_below = at.timestamp_ms <= target_ms;
        if let Some(steps) = steps.as_deref_mut() {
            steps.halvings.push(TimeHalving {
                low,
                high,
                middle,
                entry: at,
                at_or_below,
            });
        }
        if at_or_below {
            found = Some(at);
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if let Some(steps) = steps {
        steps.entry = found;
    }
    Ok(found)
}

impl LocateTime {
    /// `None`: no record reaches the time.
    pub fn run(&self, disk: &dyn ReadAt) -> Result<Option<TimedOffset>, DiskError> {
        self.run_watched(disk, None)
    }

    /// Like [`run`](Self::run), and records the steps in `steps`, if given; it holds what the owner
    /// did in the active segment's indexes already.
    pub fn run_watched(
        &self,
        disk: &dyn ReadAt,
        mut steps: Option<&mut TimeLookup>,
    ) -> Result<Option<TimedOffset>, DiskError> {
        for segment in &self.segments {
            let mut own = steps.as_deref().map(|active| match segment.start {
                StartFrom::Entry(_) => active.clone(),
                StartFrom::IndexFile => TimeLookup::default(),
            });
            let Some(found) = self.search(segment, disk, own.as_mut())? else {
                continue;
            };
            if let (Some(steps), Some(own)) = (steps.as_deref_mut(), own) {
                *steps = own;
                steps.target_ms = self.target_ms;
                steps.offsets.segment = segment.base;
                steps.found = Some(found);
            }
            return Ok(Some(found));
        }
        Ok(None)
    }

    fn search(
        &self,
        segment: &SegmentToRead,
        disk: &dyn ReadAt,
        mut steps: Option<&mut TimeLookup>,
    ) -> Result<Option<TimedOffset>, DiskError> {
        let reached = match floor_in_file(segment, self.target_ms, disk, steps.as_deref_mut())? {
            Some(entry) => segment.base + i64::from(entry.relative),
            None => segment.base,
        };
        let mut steps = steps.map(|steps| &mut steps.offsets);
        let from = reached.max(self.from);
        let (entry, _) = segment.checked_floor(from, disk, steps.as_deref_mut())?;
        let start = entry.map_or(0, |entry| u64::from(entry.position));
        let path = segment.file_path(FileKind::Log);
        let mut walk = Walk::new(disk, segment.dir, &path, start, segment.end_bytes, WALK_BYTES);
        while let Step::Batch { position, header } = walk.step()? {
            let reaches_target = header.max_timestamp >= self.target_ms && header.last_offset() >= self.from;
            if let Some(steps) = steps.as_deref_mut() {
                steps.target = from;
                steps.scanned.push(Scanned {
                    position,
                    base_offset: header.base_offset,
                    last_offset: header.last_offset(),
                    size_bytes: header.size_bytes() as u64,
                    reaches_target,
                });
            }
            if !reaches_target {
                continue;
            }
            let bytes = walk.bytes(position, header.size_bytes() as usize)?;
            let Some(found) = self.first_record(&Batch { header, bytes }) else {
                continue;
            };
            if let Some(steps) = steps {
                steps.bytes_read = walk.bytes_read;
            }
            return Ok(Some(found));
        }
        Ok(None)
    }

    fn first_record(&self, batch: &Batch) -> Option<TimedOffset> {
        let records = batch.records(&PURE_RUST, MAX_UNPACKED_BYTES).ok()?;
        let record = records
            .map_while(Result::ok)
            .find(|record| record.timestamp >= self.target_ms && record.offset >= self.from)?;
        Some(TimedOffset {
            timestamp_ms: record.timestamp,
            offset: record.offset,
            leader_epoch: batch.header.partition_leader_epoch,
        })
    }
}

/// The greatest entry of a closed segment's `.timeindex` at or below the time. The active segment's
/// was searched by the owner, whose answer is in the segment's start.
fn floor_in_file(
    segment: &SegmentToRead,
    target_ms: Millis,
    disk: &dyn ReadAt,
    steps: Option<&mut TimeLookup>,
) -> Result<Option<TimeEntry>, DiskError> {
    if segment.start != StartFrom::IndexFile {
        return Ok(None);
    }
    let path = segment.file_path(FileKind::TimeIndex);
    let bytes = match disk.len(segment.dir, &path) {
        Err(DiskError::NotFound) => 0,
        other => other?,
    };
    let read = |at: usize| -> Result<TimeEntry, DiskError> {
        let from = (at * time_index::ENTRY_BYTES) as u64;
        let bytes = disk.read_at(segment.dir, &path, from, time_index::ENTRY_BYTES)?;
        // A file that shrank meanwhile reads as an entry beyond everything.
        Ok(bytes.first_chunk().map_or(
            TimeEntry {
                timestamp_ms: Millis::MAX,
                relative: u32::MAX,
            },
            |bytes| TimeEntry::from_bytes(*bytes),
        ))
    };
    floor_time(bytes as usize / time_index::ENTRY_BYTES, read, target_ms, steps)
}
