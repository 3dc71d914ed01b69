//! Whether a segment's index files can be believed.
//!
//! An index is a cache, so any doubt is enough to build it again: it is missing, its length is no
//! multiple of an entry, it ends in zeros (a file made in advance and never cut), it does not rise, its
//! last entry does not point at the batch that it names, or batches after the last entry should have
//! had entries too. Only the ends are looked at, so that a start costs little; what is wrong in the
//! middle is met by the look-up itself, which checks the entry it uses.

use super::offset_index::{self, OffsetEntry, full_offset};
use super::time_index::{self, TimeEntry};
use super::walk::{Step, Walk};
use crate::disk::{DirId, ReadAt};
use crate::error::DiskError;
use crate::record::BatchHeader;
use crate::types::{NO_TIMESTAMP, Offset};

/// Bytes asked of the disk at once while walking headers.
const WALK_BYTES: usize = 4096;

/// The files of one segment.
pub(super) struct SegmentPaths<'a> {
    pub dir: DirId,
    pub base: Offset,
    pub log: &'a str,
    pub log_bytes: u64,
    /// `None`: it is not there.
    pub index: Option<&'a str>,
    pub time_index: Option<&'a str>,
}

/// What the batches behind the last index entry are.
#[derive(Debug)]
pub(super) struct Behind {
    pub entry: Option<OffsetEntry>,
    pub last_time: Option<TimeEntry>,
    /// Position and header of each, the entry's own batch first.
    pub batches: Vec<(u64, BatchHeader)>,
}

/// Reads the ends of both indexes and the batches behind; `None` when they cannot be believed.
pub(super) fn check_indexes(
    disk: &dyn ReadAt,
    segment: &SegmentPaths<'_>,
    index_interval_bytes: u32,
) -> Result<Option<Behind>, DiskError> {
    let (Some(index), Some(time_index)) = (segment.index, segment.time_index) else {
        return Ok(None);
    };
    let Some(offsets) = last_two::<{ offset_index::ENTRY_BYTES }>(disk, segment.dir, index)? else {
        return Ok(None);
    };
    let Some(times) = last_two::<{ time_index::ENTRY_BYTES }>(disk, segment.dir, time_index)? else {
        return Ok(None);
    };
    let offsets: Vec<_> = offsets.into_iter().map(OffsetEntry::from_bytes).collect();
    let times: Vec<_> = times.into_iter().map(TimeEntry::from_bytes).collect();
    if !offsets_rise(&offsets) || !times_rise(&times) {
        return Ok(None);
    }
    let behind = Behind {
        entry: offsets.last().copied(),
        last_time: times.last().copied(),
        batches: Vec::new(),
    };
    walk_behind(disk, segment, index_interval_bytes, behind)
}

/// No entry lies at byte 0: the first batch never gets one, so zeros are padding.
pub(super) fn offsets_rise(entries: &[OffsetEntry]) -> bool {
    let rises =
        |pair: &[OffsetEntry]| pair[0].relative < pair[1].relative && pair[0].position < pair[1].position;
    let in_range = |entry: &OffsetEntry| entry.position > 0 && entry.relative <= i32::MAX as u32;
    entries.iter().all(in_range) && entries.windows(2).all(rises)
}

pub(super) fn times_rise(entries: &[TimeEntry]) -> bool {
    let rises = |pair: &[TimeEntry]| {
        pair[0].timestamp_ms < pair[1].timestamp_ms && pair[0].relative <= pair[1].relative
    };
    let in_range = |entry: &TimeEntry| entry.timestamp_ms >= 0 && entry.relative <= i32::MAX as u32;
    entries.iter().all(in_range) && entries.windows(2).all(rises)
}

fn walk_behind(
    disk: &dyn ReadAt,
    segment: &SegmentPaths<'_>,
    index_interval_bytes: u32,
    mut behind: Behind,
) -> Result<Option<Behind>, DiskError> {
    let start = behind.entry.map_or(0, |entry| u64::from(entry.position));
    let least = behind.entry.map_or(segment.base, |_| 0);
    let mut walk = Walk::new(
        disk,
        segment.dir,
        segment.log,
        start,
        segment.log_bytes,
        WALK_BYTES,
    )
    .starting_at(least);
    let greatest = behind.last_time.map_or(NO_TIMESTAMP, |entry| entry.timestamp_ms);
    loop {
        let (position, header) = match walk.step()? {
            Step::Batch { position, header } => (position, header),
            Step::Bad { .. } => return Ok(None),
            Step::End => break,
        };
        let should_have_one = position - start > u64::from(index_interval_bytes);
        if should_have_one || header.max_timestamp > greatest {
            return Ok(None);
        }
        behind.batches.push((position, header));
    }
    let points_right = behind.entry.is_none_or(|entry| {
        let first = behind.batches.first();
        first.is_some_and(|(_, header)| header.last_offset() == full_offset(segment.base, entry))
    });
    Ok(points_right.then_some(behind))
}

/// The last two entries of `N` bytes, or fewer where there are fewer; `None`: the length is wrong.
fn last_two<const N: usize>(
    disk: &dyn ReadAt,
    dir: DirId,
    path: &str,
) -> Result<Option<Vec<[u8; N]>>, DiskError> {
    let length = disk.len(dir, path)?;
    if length % N as u64 != 0 {
        return Ok(None);
    }
    let from = length.saturating_sub(2 * N as u64);
    let bytes = disk.read_at(dir, path, from, 2 * N)?;
    Ok(Some(
        bytes
            .chunks_exact(N)
            .filter_map(|entry| entry.try_into().ok())
            .collect(),
    ))
}
