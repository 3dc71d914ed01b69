//! Walking the batches of a `.log` file from header to header.
//!
//! Nothing that a file says is believed before it was compared with the bytes that are there: a
//! length of zero, a negative or a giant one ends the walk and is reported, it never loops, never
//! reads past the end and never makes a buffer of its size.

use bytes::Bytes;

use crate::disk::{DirId, ReadAt};
use crate::error::DiskError;
use crate::record::crc::{crc32c, crc32c_append};
use crate::record::header::{CRC_FROM, MAGIC_V2};
use crate::record::{BatchHeader, HEADER_BYTES};
use crate::types::Offset;

/// What stands at a position of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Batch {
        position: u64,
        header: BatchHeader,
    },
    /// No batch that could have been written there; nothing behind it can be reached.
    Bad {
        position: u64,
        why: String,
    },
    /// All bytes were batches.
    End,
}

/// A walk over a part of one file.
pub struct Walk<'a> {
    disk: &'a dyn ReadAt,
    dir: DirId,
    path: &'a str,
    at: u64,
    end: u64,
    read_bytes: usize,
    chunk_at: u64,
    chunk: Bytes,
    /// No batch may start below this offset.
    least: Offset,
    /// Bytes asked of the disk so far.
    pub bytes_read: u64,
}

impl<'a> Walk<'a> {
    /// Walks from byte `at`, where a batch starts, to byte `end`, which lies within the file. Reads
    /// `read_bytes` at once.
    pub fn new(
        disk: &'a dyn ReadAt,
        dir: DirId,
        path: &'a str,
        at: u64,
        end: u64,
        read_bytes: usize,
    ) -> Self {
        Self {
            disk,
            dir,
            path,
            at,
            end,
            read_bytes: read_bytes.max(HEADER_BYTES),
            chunk_at: 0,
            chunk: Bytes::new(),
            least: 0,
            bytes_read: 0,
        }
    }

    /// Refuses batches that start below `least`.
    pub fn starting_at(mut self, least: Offset) -> Self {
        self.least = least;
        self
    }

    /// Byte position of the next batch.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// The next batch's header, of which everything is checked but the CRC.
    pub fn step(&mut self) -> Result<Step, DiskError> {
        let position = self.at;
        let left = self.end.saturating_sub(position);
        if left == 0 {
            return Ok(Step::End);
        }
        let bad = |why: String| Ok(Step::Bad { position, why });
        if left < HEADER_BYTES as u64 {
            return bad(format!("{left} bytes are too few for a batch"));
        }
        let front = self.bytes(position, HEADER_BYTES)?;
        let Some(header) = BatchHeader::parse(&front) else {
            return bad(format!("the file ends {} bytes into a batch", front.len()));
        };
        if let Some(why) = implausible(&header, left, self.least) {
            return bad(why);
        }
        self.at += header.size_bytes() as u64;
        self.least = header.next_offset();
        Ok(Step::Batch { position, header })
    }

    /// Whether the batch's checksum is right. Long batches are read piece by piece.
    pub fn crc_matches(&mut self, position: u64, header: &BatchHeader) -> Result<bool, DiskError> {
        let end = position + header.size_bytes() as u64;
        let mut at = position + CRC_FROM as u64;
        let mut crc = crc32c(&[]);
        while at < end {
            let want = (end - at).min(self.read_bytes as u64) as usize;
            let piece = self.bytes(at, want)?;
            if piece.is_empty() {
                return Ok(false);
            }
            crc = crc32c_append(crc, &piece);
            at += piece.len() as u64;
        }
        Ok(crc == header.crc)
    }

    /// `len` bytes from `at`, fewer only where the file ends. `len` is at most what one read brings, or
    /// was checked against the file's length.
    pub fn bytes(&mut self, at: u64, len: usize) -> Result<Bytes, DiskError> {
        let from = at.checked_sub(self.chunk_at).map(|from| from as usize);
        if let Some(from) = from
            && from + len <= self.chunk.len()
        {
            return Ok(self.chunk.slice(from..from + len));
        }
        let whole = (self.read_bytes.max(len) as u64).min(self.end.saturating_sub(at)) as usize;
        self.chunk = self.disk.read_at(self.dir, self.path, at, whole)?;
        self.chunk_at = at;
        self.bytes_read += self.chunk.len() as u64;
        Ok(self.chunk.slice(..len.min(self.chunk.len())))
    }
}

/// Why the header cannot be that of a batch within the `left` bytes to the end of the file, if so.
fn implausible(header: &BatchHeader, left: u64, least: Offset) -> Option<String> {
    let size = header.size_bytes();
    if header.batch_length <= 0 {
        return Some(format!("a batch of length {}", header.batch_length));
    }
    if size < HEADER_BYTES as i64 {
        return Some(format!("a batch of {size} bytes, shorter than its header"));
    }
    if size as u64 > left {
        return Some(format!("a batch of {size} bytes where {left} are left"));
    }
    if header.magic != MAGIC_V2 {
        return Some(format!("magic {} where {MAGIC_V2} should be", header.magic));
    }
    if header.last_offset_delta < 0
        || header
            .base_offset
            .checked_add(i64::from(header.last_offset_delta))
            .is_none()
    {
        return Some(format!("last offset delta {}", header.last_offset_delta));
    }
    if header.base_offset < least {
        return Some(format!(
            "offset {} where {least} or more should be",
            header.base_offset
        ));
    }
    None
}
