//! Reading a log from its first record to its last, for whoever makes a state of it (a coordinator).
//!
//! A job reads one piece of one segment and says where the next begins, so that the reader gets a log of
//! any length in pieces that it can take in between other work.

use super::Log;
use super::job::Job;
use super::names::{FileKind, segment_file};
use super::walk::{Step, Walk};
use crate::disk::{DirId, ReadAt, RelPath};
use crate::error::DiskError;
use crate::record::batch::InvalidBatch;
use crate::record::compression::PURE_RUST;
use crate::record::{Batch, BatchHeader, Record};
use crate::types::Offset;

/// Most that one unpacked batch of an internal topic may come to.
const MOST_UNPACKED_BYTES: usize = 100 << 20;

/// How far a reader has come: a segment, and a byte of its `.log` where a batch begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCursor {
    segment: Offset,
    position: u64,
}

/// Read one piece of a segment.
#[derive(Clone, Debug)]
pub struct ReadBatches {
    dir: DirId,
    path: RelPath,
    cursor: ReadCursor,
    /// Bytes of the `.log` that may be read.
    end_bytes: u64,
    /// Stop after the batch that reaches so many bytes.
    enough_bytes: usize,
}

/// A batch with its records unpacked.
#[derive(Clone, Debug)]
pub struct BatchRead {
    pub header: BatchHeader,
    pub records: Vec<Record>,
}

/// What a [`ReadBatches`] found.
#[derive(Clone, Debug)]
pub struct BatchesRead {
    pub batches: Vec<BatchRead>,
    pub next: ReadCursor,
    /// What cannot be read, and why: the batch was left out, or the rest of the segment.
    pub bad: Vec<String>,
}

impl ReadBatches {
    pub fn run(&self, disk: &dyn ReadAt) -> Result<BatchesRead, DiskError> {
        let path = segment_file(&self.path, self.cursor.segment, FileKind::Log);
        let at = self.cursor.position;
        let mut walk = Walk::new(disk, self.dir, &path, at, self.end_bytes, self.enough_bytes);
        let mut found = BatchesRead {
            batches: Vec::new(),
            next: self.cursor,
            bad: Vec::new(),
        };
        while found.next.position - at < self.enough_bytes as u64 {
            let (position, header) = match walk.step()? {
                Step::Batch { position, header } => (position, header),
                Step::End => break,
                Step::Bad { position, why } => {
                    found.bad.push(format!("byte {position} of {path}: {why}"));
                    found.next.position = self.end_bytes;
                    break;
                }
            };
            let bytes = walk.bytes(position, header.size_bytes() as usize)?;
            match unpack(&Batch { header, bytes }) {
                Ok(records) => found.batches.push(BatchRead { header, records }),
                Err(why) => found.bad.push(format!("offset {}: {why}", header.base_offset)),
            }
            found.next.position = walk.position();
        }
        Ok(found)
    }
}

fn unpack(batch: &Batch) -> Result<Vec<Record>, InvalidBatch> {
    batch.check_crc()?;
    batch.records(&PURE_RUST, MOST_UNPACKED_BYTES)?.collect()
}

impl Log {
    /// Where a reader of the whole log starts.
    pub fn first_cursor(&self) -> ReadCursor {
        let first = self.closed.first().map(|segment| segment.base);
        ReadCursor {
            segment: first.unwrap_or(self.active.indexer.base),
            position: 0,
        }
    }

    /// The job that reads on from there, about `enough_bytes`; `None` when all that is written was read.
    pub fn read_on(&self, from: ReadCursor, enough_bytes: usize) -> Option<Job> {
        let later = self.closed.iter().filter(|segment| segment.base >= from.segment);
        let closed = later.map(|segment| {
            (
                segment.base,
                self.written_bytes_of(segment.base, segment.size_bytes),
            )
        });
        let active = self.active.indexer.base;
        let mut segments = closed.chain([(active, self.written_bytes_of(active, u64::MAX))]);
        let (cursor, end_bytes) = segments.find_map(|(base, end)| {
            let position = if base == from.segment { from.position } else { 0 };
            let cursor = ReadCursor {
                segment: base,
                position,
            };
            (position < end).then_some((cursor, end))
        })?;
        Some(Job::ReadBatches(ReadBatches {
            dir: self.dir,
            path: self.path.clone(),
            cursor,
            end_bytes,
            enough_bytes,
        }))
    }

    /// A roll may come before the last batches are written.
    fn written_bytes_of(&self, base: Offset, size_bytes: u64) -> u64 {
        match base.cmp(&self.written.segment) {
            std::cmp::Ordering::Less => size_bytes,
            std::cmp::Ordering::Equal => self.written.bytes,
            std::cmp::Ordering::Greater => 0,
        }
    }
}
