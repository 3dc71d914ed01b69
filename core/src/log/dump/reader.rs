//! Walks the batches of a `.log`, one in memory at a time, as far as Kafka's `FileLogInputStream`
//! does: a tail that is no whole batch ends the walk in silence.

use crate::disk::{DirId, ReadAt};
use crate::record::batch::{Batch, InvalidBatch, check_size};
use crate::record::header::{BYTES_TO_MAGIC, LOG_OVERHEAD_BYTES};

use super::{DumpError, corrupt, disk_error};

/// The least length of any format; below it Kafka calls the file corrupt.
const SMALLEST_LENGTH: i32 = 14;

pub(super) struct LogReader<'a> {
    disk: &'a dyn ReadAt,
    dir: DirId,
    path: &'a str,
    at: u64,
    end: u64,
}

impl<'a> LogReader<'a> {
    /// Walks from byte `from`, and not past `max_bytes` more.
    pub fn new(
        disk: &'a dyn ReadAt,
        dir: DirId,
        path: &'a str,
        from: u64,
        max_bytes: u32,
    ) -> Result<Self, DumpError> {
        let len = disk.len(dir, path).map_err(|e| disk_error(path, e))?;
        if from > len {
            let why = format!("position {from} lies beyond its end, {len}");
            return Err(corrupt(path, why));
        }
        Ok(Self {
            disk,
            dir,
            path,
            at: from,
            end: len.min(from.saturating_add(u64::from(max_bytes))),
        })
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    /// Where the next batch begins.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// The next whole batch, its checksum not compared.
    pub fn next(&mut self) -> Result<Option<Batch>, DumpError> {
        let left = self.end - self.at;
        if left <= BYTES_TO_MAGIC as u64 {
            return Ok(None);
        }
        let front = self.read(BYTES_TO_MAGIC)?;
        // Whatever its format is said to be, what is cut short ends the walk.
        let &[_, _, _, _, _, _, _, _, a, b, c, d, ..] = &front[..] else {
            return Ok(None);
        };
        let length = i32::from_be_bytes([a, b, c, d]);
        if length < SMALLEST_LENGTH {
            return Err(self.corrupt(&InvalidBatch::TooSmall { length }));
        }
        if length as u64 + LOG_OVERHEAD_BYTES as u64 > left {
            return Ok(None);
        }
        let size = match check_size(&front, left) {
            Ok(size) => size,
            Err(why) => return Err(self.corrupt(&why)),
        };
        let bytes = self.read(size as usize)?;
        let batch = Batch::parse(&bytes).map_err(|why| self.corrupt(&why))?;
        self.at += size;
        Ok(Some(batch))
    }

    fn read(&self, len: usize) -> Result<bytes::Bytes, DumpError> {
        self.disk
            .read_at(self.dir, self.path, self.at, len)
            .map_err(|error| disk_error(self.path, error))
    }

    fn corrupt(&self, why: &InvalidBatch) -> DumpError {
        corrupt(self.path, format!("at byte {}: {why}", self.at))
    }
}
