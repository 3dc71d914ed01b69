//! An index that a look-up has found wrong is built again while the broker runs.
//!
//! The look-up itself is answered all the same, by walking; but every other one would have to walk too.
//! A job reads the closed segment and the owner replaces its two index files whole, so that a look-up
//! under way reads the old one or the new one, never a mixture.

use bytes::Bytes;

use super::Log;
use super::job::{Job, Progress};
use super::names::{FileKind, segment_file};
use super::scan::{LogFile, ScanRules, scan_segment};
use crate::cx::Cx;
use crate::disk::{DirId, DiskOp, ReadAt, RelPath};
use crate::error::DiskError;
use crate::types::Offset;

/// Read a closed segment for its indexes.
#[derive(Clone, Debug)]
pub struct Reindex {
    dir: DirId,
    path: RelPath,
    base: Offset,
    file_bytes: u64,
    index_interval_bytes: u32,
}

/// The index files that a closed segment should have.
#[derive(Clone, Debug)]
pub struct Reindexed {
    base: Offset,
    file_bytes: u64,
    index: Bytes,
    time_index: Bytes,
}

impl Reindex {
    pub fn run(&self, disk: &dyn ReadAt, progress: &mut dyn FnMut(Progress)) -> Result<Reindexed, DiskError> {
        let path = segment_file(&self.path, self.base, FileKind::Log);
        let log = LogFile {
            dir: self.dir,
            path: &path,
            bytes: self.file_bytes,
        };
        let rules = ScanRules {
            below: Offset::MAX,
            check_crc: false,
            index_interval_bytes: self.index_interval_bytes,
        };
        let mut report = |done_bytes| {
            progress(Progress {
                done_bytes,
                total_bytes: self.file_bytes,
            });
        };
        let scanned = scan_segment(disk, log, self.base, rules, None, &mut report)?;
        let mut indexer = scanned.indexer;
        indexer.note_greatest();
        Ok(Reindexed {
            base: self.base,
            file_bytes: self.file_bytes,
            index: indexer.offsets.bytes_from(0).into(),
            time_index: indexer.times.bytes_from(0).into(),
        })
    }
}

impl Log {
    /// The job that reads the closed segment at `base` for its indexes; hand its result to
    /// [`Log::reindexed`]. `None`: there is no such closed segment.
    pub fn reindex(&self, base: Offset) -> Option<Job> {
        let segment = self.closed.iter().find(|segment| segment.base == base)?;
        Some(Job::Reindex(Reindex {
            dir: self.dir,
            path: self.path.clone(),
            base,
            file_bytes: segment.size_bytes,
            index_interval_bytes: self.config.index_interval_bytes,
        }))
    }

    /// Replaces the segment's index files, if the segment is still what the job read.
    pub fn reindexed(&self, cx: &mut Cx<'_>, made: Reindexed) {
        let mut closed = self.closed.iter();
        if !closed.any(|segment| segment.base == made.base && segment.size_bytes == made.file_bytes) {
            return;
        }
        let files = [
            (FileKind::OffsetIndex, made.index),
            (FileKind::TimeIndex, made.time_index),
        ];
        for (kind, bytes) in files {
            let path = segment_file(&self.path, made.base, kind).into();
            cx.disk.push(self.dir, DiskOp::Replace { path, bytes });
        }
    }
}
