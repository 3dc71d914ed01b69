//! The index files of the segments found: believed if they look right, else built again.

use std::sync::Arc;

use bytes::Bytes;

use super::super::check::{Behind, SegmentPaths, check_indexes, offsets_rise, times_rise};
use super::super::names::{FileKind, segment_file};
use super::super::offset_index::{self, OffsetEntry, OffsetIndex};
use super::super::scan::Scanned;
use super::super::segment::{Greatest, Indexer};
use super::super::time_index::{self, TimeEntry, TimeIndex};
use super::super::transaction_index::TransactionIndex;
use super::super::walk::{Step, Walk};
use super::producers::some_aborted;
use super::{FoundSegment, Repair, Run};
use crate::error::DiskError;
use crate::types::Offset;

impl Run<'_> {
    /// Keeps what was read of a segment that is closed, and lets its index files say the same. Its size
    /// stays `size`: whoever reads to where its sound batches end hears of damage, not of the next segment.
    pub(super) fn close_scanned(
        &mut self,
        base: Offset,
        size: u64,
        mut scanned: Scanned,
        aborted: TransactionIndex,
    ) -> Result<(), DiskError> {
        let indexer = &mut scanned.indexer;
        indexer.note_greatest();
        self.replace_if_other(base, FileKind::OffsetIndex, indexer.offsets.bytes_from(0))?;
        self.replace_if_other(base, FileKind::TimeIndex, indexer.times.bytes_from(0))?;
        self.found.closed.push(FoundSegment {
            base,
            size_bytes: size,
            greatest: indexer.greatest,
            aborted: some_aborted(aborted),
        });
        Ok(())
    }

    pub(super) fn replace_if_other(
        &mut self,
        base: Offset,
        kind: FileKind,
        bytes: Vec<u8>,
    ) -> Result<(), DiskError> {
        if let Some(path) = self.files.get(&(base, kind)) {
            let dir = self.job.dir;
            let same_length = self.disk.len(dir, path)? == bytes.len() as u64;
            if same_length && self.disk.read_at(dir, path, 0, bytes.len())? == bytes {
                return Ok(());
            }
        }
        let path = segment_file(&self.job.path, base, kind);
        self.found.repairs.push(Repair::Replace(path, bytes.into()));
        Ok(())
    }

    pub(super) fn check(&self, base: Offset, size: u64) -> Result<Option<Behind>, DiskError> {
        let path = |kind| self.files.get(&(base, kind)).map(String::as_str);
        let segment = SegmentPaths {
            dir: self.job.dir,
            base,
            log: &self.files[&(base, FileKind::Log)],
            log_bytes: size,
            index: path(FileKind::OffsetIndex),
            time_index: path(FileKind::TimeIndex),
        };
        check_indexes(self.disk, &segment, self.job.index_interval_bytes)
    }

    /// A closed segment that is not in doubt: its indexes are believed if they look right, else built
    /// again. Its `.log` is left as it is.
    pub(super) fn load_closed(&mut self, base: Offset, size: u64) -> Result<bool, DiskError> {
        let aborted = self.read_aborted(base)?;
        let Some(behind) = self.check(base, size)? else {
            let scanned = self.scan(base, size, None)?;
            self.close_scanned(base, size, scanned, aborted)?;
            return Ok(true);
        };
        self.found.closed.push(FoundSegment {
            base,
            size_bytes: size,
            greatest: behind.last_time.map_or(Greatest::NONE, |entry| Greatest {
                timestamp_ms: entry.timestamp_ms,
                offset: base + i64::from(entry.relative),
            }),
            aborted: some_aborted(aborted),
        });
        Ok(true)
    }

    /// The last segment after a clean stop. If anything about it is odd it is read whole after all.
    pub(super) fn load_active(&mut self, base: Offset, size: u64) -> Result<bool, DiskError> {
        let Some(behind) = self.check(base, size)? else {
            return self.recover_segment(base, size, true);
        };
        let (Some(offsets), Some(times)) = self.read_indexes(base)? else {
            return self.recover_segment(base, size, true);
        };
        let mut indexer = Indexer::resume(base, size, OffsetIndex::new(offsets), TimeIndex::new(times));
        let first = Walk::new(
            self.disk,
            self.job.dir,
            &self.files[&(base, FileKind::Log)],
            0,
            size,
            0,
        )
        .step()?;
        if let Step::Batch { header, .. } = first {
            indexer.first_timestamp_ms = Some(header.max_timestamp);
        }
        for (position, header) in &behind.batches {
            indexer.remember(header, *position);
        }
        self.found.log_end = behind
            .batches
            .last()
            .map_or(base, |(_, header)| header.next_offset());
        self.found.active = indexer;
        self.found.active_aborted = Arc::new(self.read_aborted(base)?);
        self.found.active_indexes_sound = true;
        Ok(true)
    }

    /// Both index files whole; `None` for one that does not rise.
    #[allow(clippy::type_complexity)]
    pub(super) fn read_indexes(
        &self,
        base: Offset,
    ) -> Result<(Option<Vec<OffsetEntry>>, Option<Vec<TimeEntry>>), DiskError> {
        let read = |kind| -> Result<Bytes, DiskError> {
            let path = &self.files[&(base, kind)];
            let length = self.disk.len(self.job.dir, path)?;
            self.disk.read_at(self.job.dir, path, 0, length as usize)
        };
        let offsets = read(FileKind::OffsetIndex)?;
        let (offsets, _) = offsets.as_chunks::<{ offset_index::ENTRY_BYTES }>();
        let offsets: Vec<_> = offsets.iter().copied().map(OffsetEntry::from_bytes).collect();
        let times = read(FileKind::TimeIndex)?;
        let (times, _) = times.as_chunks::<{ time_index::ENTRY_BYTES }>();
        let times: Vec<_> = times.iter().copied().map(TimeEntry::from_bytes).collect();
        let (offsets_right, times_right) = (offsets_rise(&offsets), times_rise(&times));
        Ok((offsets_right.then_some(offsets), times_right.then_some(times)))
    }
}
