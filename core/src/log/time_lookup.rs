//! Finding a time: the first record, in offset order, whose timestamp reaches the target.
//!
//! Timestamps need not rise, so the time index cannot name the record. It names an offset up to which
//! no timestamp goes beyond its entry's; from there the batches are walked to the first whose
//! greatest timestamp reaches the target, and that batch's records are read, unpacked if need be.

use super::lookup::SegmentToRead;
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

impl LocateTime {
    /// `None`: no record reaches the time.
    pub fn run(&self, disk: &dyn ReadAt) -> Result<Option<TimedOffset>, DiskError> {
        for segment in &self.segments {
            if let Some(found) = self.search(segment, disk)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn search(&self, segment: &SegmentToRead, disk: &dyn ReadAt) -> Result<Option<TimedOffset>, DiskError> {
        let reached = match floor_in_file(segment, self.target_ms, disk)? {
            Some(entry) => segment.base + i64::from(entry.relative),
            None => segment.base,
        };
        let (entry, _) = segment.checked_floor(reached.max(self.from), disk, None)?;
        let start = entry.map_or(0, |entry| u64::from(entry.position));
        let path = segment.file_path(FileKind::Log);
        let mut walk = Walk::new(disk, segment.dir, &path, start, segment.end_bytes, WALK_BYTES);
        while let Step::Batch { position, header } = walk.step()? {
            if header.max_timestamp < self.target_ms || header.last_offset() < self.from {
                continue;
            }
            let bytes = walk.bytes(position, header.size_bytes() as usize)?;
            let Some(found) = self.first_record(&Batch { header, bytes }) else {
                continue;
            };
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
) -> Result<Option<TimeEntry>, DiskError> {
    if segment.start != super::lookup::StartFrom::IndexFile {
        return Ok(None);
    }
    let path = segment.file_path(FileKind::TimeIndex);
    let bytes = match disk.len(segment.dir, &path) {
        Err(DiskError::NotFound) => 0,
        other => other?,
    };
    let (mut low, mut high, mut found) = (0, bytes / time_index::ENTRY_BYTES as u64, None);
    while low < high {
        let middle = low + (high - low) / 2;
        let at = middle * time_index::ENTRY_BYTES as u64;
        let bytes = disk.read_at(segment.dir, &path, at, time_index::ENTRY_BYTES)?;
        let entry = bytes.first_chunk().map(|bytes| TimeEntry::from_bytes(*bytes));
        match entry {
            Some(entry) if entry.timestamp_ms <= target_ms => {
                found = Some(entry);
                low = middle + 1;
            }
            _ => high = middle,
        }
    }
    Ok(found)
}
