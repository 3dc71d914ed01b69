//! Finding an offset, in three steps: which segment, which index entry, which batch.
//!
//! 1. The segment is the last one whose base offset is at or below the target.
//! 2. In its sparse index the greatest entry at or below the target is found by halving.
//! 3. From the entry's position the batches are walked, header by header, to the first whose *last*
//!    offset reaches the target. So a target in a hole (left by compaction) finds the next batch.
//!
//! The steps can be recorded ([`Lookup`]); it is the same code that runs, watched or not.
//!
//! An index entry is checked against the batch it points at. If they disagree the index is wrong, and
//! the walk starts from the segment's first byte: slow, but right.

use std::sync::Arc;

use super::floor::{Halving, floor_in_file};
use super::names::{FileKind, segment_file};
use super::offset_index::{self, OffsetEntry};
use super::stretch::{STRETCH_BYTES, Stretch};
use super::walk::{Step, Walk};
use crate::disk::{DirId, FileId, ReadAt};
use crate::error::DiskError;
use crate::types::Offset;

/// Bytes asked of the disk at once while walking headers.
const WALK_BYTES: usize = 4096;

/// A batch that was walked over, or the one that was found: always the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scanned {
    pub position: u64,
    pub base_offset: Offset,
    pub last_offset: Offset,
    pub size_bytes: u64,
    pub reaches_target: bool,
}

/// The steps of one look-up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lookup {
    pub target: Offset,
    /// Base offset of the segment.
    pub segment: Offset,
    pub halvings: Vec<Halving<OffsetEntry>>,
    /// The entry that the halvings led to; `None`: before the first entry, so from byte 0.
    pub entry: Option<OffsetEntry>,
    pub scanned: Vec<Scanned>,
    /// Bytes of the `.log` that were read.
    pub bytes_read: u64,
}

/// Where a walk starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartFrom {
    /// Look into the closed segment's `.index`.
    IndexFile,
    /// A look-up before has brought this entry of it along; if it is wrong by now, look into the file.
    Remembered(OffsetEntry),
    /// The active segment's index, in memory, has said so.
    Entry(Option<OffsetEntry>),
}

/// One segment, for a job.
#[derive(Clone, Debug)]
pub struct SegmentToRead {
    pub dir: DirId,
    /// The partition's directory.
    pub path: Arc<str>,
    pub base: Offset,
    /// Bytes of its `.log` that may be read.
    pub end_bytes: u64,
    pub start: StartFrom,
}

/// Find the part of a segment that answers a fetch.
#[derive(Clone, Debug)]
pub struct Locate {
    pub segment: SegmentToRead,
    /// The segment's `.log`.
    pub file: FileId,
    pub from: Offset,
    /// Batches that reach this offset are not shown (high watermark, last stable offset).
    pub limit: Offset,
    /// Base offset of the next segment: all batches here are below.
    pub next_base: Option<Offset>,
    pub max_bytes: u32,
    /// Give the first batch whole, even if it is larger than `max_bytes`.
    pub at_least_one: bool,
}

// ANCHOR: file_range
/// Bytes of an open file that answer a fetch. They start with a batch; the last batch may be cut by
/// `max_bytes`, as readers of the protocol expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRange {
    pub file: FileId,
    pub pos: u64,
    pub len: u32,
    /// Size of the first batch.
    pub first_bytes: u32,
    /// Of the first batch: at or below the offset that was asked for, or above it after a hole.
    pub base_offset: Offset,
    /// No batch of the range reaches this offset.
    pub below: Offset,
}

// ANCHOR_END: file_range

/// What a [`Locate`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    pub outcome: Outcome,
    /// Of the index, if its file was searched: for the look-ups that follow.
    pub stretch: Option<Stretch>,
    /// Base offset of the segment if its index disagrees with its `.log`; the answer is right all the same.
    pub wrong_index: Option<Offset>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Found(FileRange),
    /// Nothing below the limit, or not one batch fits.
    Empty,
    /// No batch of this segment reaches the offset: plan again from this one, where the next begins.
    Next(Offset),
    /// No batch where one must be: the medium has changed what was written.
    Corrupt {
        position: u64,
        why: String,
    },
}

impl SegmentToRead {
    pub fn file_path(&self, kind: FileKind) -> String {
        segment_file(&self.path, self.base, kind)
    }

    /// The greatest index entry at or below `offset`, and whether it points at the batch that it says.
    /// With `stretch`, what follows it in the file is brought along.
    pub(super) fn checked_floor(
        &self,
        offset: Offset,
        disk: &dyn ReadAt,
        steps: Option<&mut Lookup>,
        stretch: Option<&mut Option<Stretch>>,
    ) -> Result<(Option<OffsetEntry>, bool), DiskError> {
        let entry = match self.start {
            StartFrom::Entry(entry) => return Ok((entry, true)),
            StartFrom::Remembered(entry) if self.is_of_its_batch(entry, disk)? => {
                return Ok((Some(entry), true));
            }
            StartFrom::Remembered(_) | StartFrom::IndexFile => {
                self.search_file(offset, disk, steps, stretch)?
            }
        };
        let Some(entry) = entry else {
            return Ok((None, true));
        };
        let right = self.is_of_its_batch(entry, disk)?;
        Ok((right.then_some(entry), right))
    }

    fn is_of_its_batch(&self, entry: OffsetEntry, disk: &dyn ReadAt) -> Result<bool, DiskError> {
        let path = self.file_path(FileKind::Log);
        let at = u64::from(entry.position);
        let step = Walk::new(disk, self.dir, &path, at, self.end_bytes, WALK_BYTES).step()?;
        Ok(matches!(step, Step::Batch { header, .. }
            if header.last_offset() == offset_index::full_offset(self.base, entry)))
    }

    fn search_file(
        &self,
        offset: Offset,
        disk: &dyn ReadAt,
        mut steps: Option<&mut Lookup>,
        stretch: Option<&mut Option<Stretch>>,
    ) -> Result<Option<OffsetEntry>, DiskError> {
        let path = self.file_path(FileKind::OffsetIndex);
        let relative = relative_to(self.base, offset);
        let is_at_or_below = |entry: &OffsetEntry| entry.relative <= relative;
        let mut place = None;
        let found = floor_in_file(disk, self.dir, &path, is_at_or_below, |halving| {
            if halving.at_or_below {
                place = Some(halving.middle);
            }
            if let Some(steps) = steps.as_deref_mut() {
                steps.halvings.push(halving);
            }
        })?;
        if let (Some(stretch), Some(place)) = (stretch, place) {
            let at = (place * offset_index::ENTRY_BYTES) as u64;
            let bytes = disk.read_at(self.dir, &path, at, STRETCH_BYTES)?;
            *stretch = Stretch::read(self.base, &bytes);
        }
        if let Some(steps) = steps {
            steps.entry = found;
        }
        Ok(found)
    }
}

/// An offset as the indexes of the segment at `base` have it.
pub(super) fn relative_to(base: Offset, offset: Offset) -> u32 {
    (offset - base).clamp(0, i64::from(u32::MAX)) as u32
}

impl Locate {
    pub fn run(&self, disk: &dyn ReadAt) -> Result<Located, DiskError> {
        self.run_watched(disk, None)
    }

    /// Like [`run`](Self::run), and records the steps in `steps`, if given.
    pub fn run_watched(
        &self,
        disk: &dyn ReadAt,
        mut steps: Option<&mut Lookup>,
    ) -> Result<Located, DiskError> {
        let segment = &self.segment;
        let mut stretch = None;
        let (entry, index_right) =
            segment.checked_floor(self.from, disk, steps.as_deref_mut(), Some(&mut stretch))?;
        let path = segment.file_path(FileKind::Log);
        let start = entry.map_or(0, |entry| u64::from(entry.position));
        let mut walk = Walk::new(disk, segment.dir, &path, start, segment.end_bytes, WALK_BYTES);
        let outcome = self.walk(&mut walk, steps.as_deref_mut())?;
        if let Some(steps) = steps {
            steps.bytes_read = walk.bytes_read;
        }
        Ok(Located {
            outcome,
            stretch: stretch.filter(|_| index_right),
            wrong_index: (!index_right).then_some(segment.base),
        })
    }

    fn walk(&self, walk: &mut Walk<'_>, mut steps: Option<&mut Lookup>) -> Result<Outcome, DiskError> {
        loop {
            let (position, header) = match walk.step()? {
                Step::Batch { position, header } => (position, header),
                Step::End => return Ok(self.next_base.map_or(Outcome::Empty, Outcome::Next)),
                Step::Bad { position, why } => return Ok(Outcome::Corrupt { position, why }),
            };
            let reaches_target = header.last_offset() >= self.from;
            if let Some(steps) = steps.as_deref_mut() {
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
            if header.last_offset() >= self.limit {
                return Ok(Outcome::Empty);
            }
            let first = header.size_bytes() as u64;
            let wanted = u64::from(self.max_bytes).max(if self.at_least_one { first } else { 0 });
            if wanted < first {
                return Ok(Outcome::Empty);
            }
            let end = self.end_below_limit(walk, position.saturating_add(wanted))?;
            let len = (end - position).min(wanted);
            return Ok(Outcome::Found(FileRange {
                file: self.file,
                pos: position,
                len: len as u32,
                first_bytes: first as u32,
                base_offset: header.base_offset,
                below: self.next_base.map_or(self.limit, |next| next.min(self.limit)),
            }));
        }
    }

    /// Where the batches below the limit end; the walk stops once it is past `enough`.
    fn end_below_limit(&self, walk: &mut Walk<'_>, enough: u64) -> Result<u64, DiskError> {
        if self.next_base.is_some_and(|next| next <= self.limit) {
            return Ok(self.segment.end_bytes);
        }
        loop {
            let here = walk.position();
            if here >= enough {
                return Ok(here);
            }
            match walk.step()? {
                Step::Batch { header, .. } if header.last_offset() < self.limit => {}
                Step::Batch { position, .. } | Step::Bad { position, .. } => return Ok(position),
                Step::End => return Ok(here),
            }
        }
    }
}
