//! Finding a time: the first record, in offset order, whose timestamp reaches the target.
//!
//! Timestamps need not rise, so the time index cannot name the record. It names an offset up to which
//! no timestamp goes beyond its entry's; from there the batches are walked to the first whose
//! greatest timestamp reaches the target, and that batch's records are read, unpacked if need be.
//!
//! An entry is checked against the batch it speaks of. If they disagree the index is wrong, and the
//! segment is walked from its first byte.

use super::floor::{Halving, floor_in_file};
use super::lookup::{Lookup, Scanned, SegmentToRead, StartFrom};
use super::names::FileKind;
use super::time_index::TimeEntry;
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

/// What a [`LocateTime`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeLocated {
    /// `None`: no record reaches the time.
    pub found: Option<TimedOffset>,
    /// Base offset of a segment whose indexes disagree with its `.log`; the answer is right all the same.
    pub wrong_index: Option<Offset>,
}

/// The steps of one look-up by time, in the segment that had the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeLookup {
    pub target_ms: Millis,
    pub halvings: Vec<Halving<TimeEntry>>,
    /// The entry that the halvings led to; `None`: before the first entry.
    pub entry: Option<TimeEntry>,
    /// From the entry's offset on: segment, the search in the offset index, the batches walked over.
    pub offsets: Lookup,
    pub found: Option<TimedOffset>,
}

impl LocateTime {
    pub fn run(&self, disk: &dyn ReadAt) -> Result<TimeLocated, DiskError> {
        self.run_watched(disk, None)
    }

    /// Like [`run`](Self::run), and records the steps in `steps`, if given; it holds what the owner
    /// did in the active segment's indexes already.
    pub fn run_watched(
        &self,
        disk: &dyn ReadAt,
        mut steps: Option<&mut TimeLookup>,
    ) -> Result<TimeLocated, DiskError> {
        let mut located = TimeLocated::default();
        for segment in &self.segments {
            let mut own = steps.as_deref().map(|active| match segment.start {
                StartFrom::Entry(_) => active.clone(),
                StartFrom::Remembered(_) | StartFrom::IndexFile => TimeLookup::default(),
            });
            let (found, index_right) = self.search(segment, disk, own.as_mut())?;
            if !index_right {
                located.wrong_index = Some(segment.base);
            }
            let Some(found) = found else { continue };
            if let (Some(steps), Some(own)) = (steps.as_deref_mut(), own) {
                *steps = own;
                steps.target_ms = self.target_ms;
                steps.offsets.segment = segment.base;
                steps.found = Some(found);
            }
            located.found = Some(found);
            return Ok(located);
        }
        Ok(located)
    }

    /// The first record of the segment that reaches the time, and whether the indexes were right.
    fn search(
        &self,
        segment: &SegmentToRead,
        disk: &dyn ReadAt,
        mut steps: Option<&mut TimeLookup>,
    ) -> Result<(Option<TimedOffset>, bool), DiskError> {
        let time = search_file(segment, self.target_ms, disk, steps.as_deref_mut())?;
        // A wrong entry could lead past the record: then the whole segment is walked.
        let time_right = match time {
            Some(entry) => is_right(segment, entry, disk)?,
            None => true,
        };
        let reached = match time.filter(|_| time_right) {
            Some(entry) => segment.base + i64::from(entry.relative),
            None => segment.base,
        };
        let mut steps = steps.map(|steps| &mut steps.offsets);
        let from = reached.max(self.from);
        let (entry, offsets_right) = segment.checked_floor(from, disk, steps.as_deref_mut(), None)?;
        let index_right = time_right && offsets_right;
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
            return Ok((Some(found), index_right));
        }
        Ok((None, index_right))
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
fn search_file(
    segment: &SegmentToRead,
    target_ms: Millis,
    disk: &dyn ReadAt,
    mut steps: Option<&mut TimeLookup>,
) -> Result<Option<TimeEntry>, DiskError> {
    if segment.start != StartFrom::IndexFile {
        return Ok(None);
    }
    let path = segment.file_path(FileKind::TimeIndex);
    let is_at_or_below = |entry: &TimeEntry| entry.timestamp_ms <= target_ms;
    let found = floor_in_file(disk, segment.dir, &path, is_at_or_below, |halving| {
        if let Some(steps) = steps.as_deref_mut() {
            steps.halvings.push(halving);
        }
    })?;
    if let Some(steps) = steps {
        steps.entry = found;
    }
    Ok(found)
}

/// Whether the batch that has the entry's offset carries its time.
fn is_right(segment: &SegmentToRead, entry: TimeEntry, disk: &dyn ReadAt) -> Result<bool, DiskError> {
    let offset = segment.base + i64::from(entry.relative);
    let (start, _) = segment.checked_floor(offset, disk, None, None)?;
    let start = start.map_or(0, |entry| u64::from(entry.position));
    let path = segment.file_path(FileKind::Log);
    let mut walk = Walk::new(disk, segment.dir, &path, start, segment.end_bytes, WALK_BYTES);
    while let Step::Batch { header, .. } = walk.step()? {
        if header.last_offset() >= offset {
            return Ok(header.base_offset <= offset && header.max_timestamp == entry.timestamp_ms);
        }
    }
    Ok(false)
}
