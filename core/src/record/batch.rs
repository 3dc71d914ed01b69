//! Reading batches: one, or the run of them that a fetch or a segment holds.

use bytes::Bytes;
use thiserror::Error;

use super::compression::{Codec, Decompress, InvalidCompression};
use super::crc::crc32c;
use super::header::{
    BYTES_TO_MAGIC, BatchHeader, CRC_FROM, HEADER_BYTES, LOG_OVERHEAD_BYTES, MAGIC_V2, TimestampType,
};
use super::record::{InvalidRecord, RawRecord, Record};

/// Why bytes are no batch.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidBatch {
    #[error("the batch ends early: it needs {needed} bytes, {left} are left")]
    Truncated { needed: u64, left: u64 },
    #[error("the batch's length of {length} is too small for a header")]
    TooSmall { length: i32 },
    #[error("the batch has format {0}, which is not known")]
    UnknownMagic(i8),
    #[error("the batch has the old format {0}; only format 2 is taken")]
    OldMagic(i8),
    #[error("the batch is corrupt: its checksum says {stored:#010x}, its bytes give {computed:#010x}")]
    Crc { stored: u32, computed: u32 },
    #[error("the batch names compression codec {0}, which is not known")]
    UnknownCodec(u8),
    #[error("the batch claims {count} records")]
    RecordCount { count: i32 },
    #[error("the batch's records cannot be unpacked: {0}")]
    Compression(#[from] InvalidCompression),
    #[error("record {index} of the batch is invalid: {why}")]
    Record { index: i32, why: InvalidRecord },
    #[error("{left} bytes follow the last record of the batch")]
    LeftOver { left: u64 },
}

/// A whole batch: its decoded header and its bytes, nothing copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub header: BatchHeader,
    /// From the base offset to the last packed byte.
    pub bytes: Bytes,
}

impl Batch {
    /// Takes the first batch of `bytes`, checking size and format, not the checksum.
    pub fn parse(bytes: &Bytes) -> Result<Self, InvalidBatch> {
        let size = check_size(bytes, bytes.len() as u64)?;
        let header = BatchHeader::parse(bytes).ok_or(InvalidBatch::Truncated {
            needed: HEADER_BYTES as u64,
            left: bytes.len() as u64,
        })?;
        Ok(Self {
            header,
            bytes: bytes.slice(..size as usize),
        })
    }

    /// The records, packed.
    pub fn body(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..]
    }

    /// Compares the checksum with the bytes.
    pub fn check_crc(&self) -> Result<(), InvalidBatch> {
        let stored = self.header.crc;
        let computed = crc32c(&self.bytes[CRC_FROM..]);
        if stored == computed {
            Ok(())
        } else {
            Err(InvalidBatch::Crc { stored, computed })
        }
    }

    /// Decodes the records one by one. A packed body is unpacked here, into at most
    /// `max_decompressed_bytes`.
    pub fn records(
        &self,
        decompress: &dyn Decompress,
        max_decompressed_bytes: usize,
    ) -> Result<Records, InvalidBatch> {
        let header = self.header;
        let codec = header
            .codec()
            .ok_or(InvalidBatch::UnknownCodec(header.codec_id()))?;
        let count = header.record_count;
        if count < 0 {
            return Err(InvalidBatch::RecordCount { count });
        }
        let body = if count == 0 {
            // The cleaner leaves such batches behind, to keep a producer's last sequence.
            Bytes::new()
        } else if codec == Codec::None {
            self.bytes.slice(HEADER_BYTES..)
        } else {
            let mut out = Vec::new();
            decompress.decompress(codec, self.body(), max_decompressed_bytes, &mut out)?;
            out.into()
        };
        Ok(Records {
            header,
            body,
            at: 0,
            index: 0,
        })
    }
}

/// Reads the first batch's size and format from its first [`BYTES_TO_MAGIC`] bytes, of `available`
/// that are there in all, without looking further. Gives the size of the whole batch.
pub fn check_size(front: &[u8], available: u64) -> Result<u64, InvalidBatch> {
    let truncated = |needed: u64| InvalidBatch::Truncated {
        needed,
        left: available,
    };
    let &[.., l0, l1, l2, l3, _, _, _, _, magic] = front
        .first_chunk::<BYTES_TO_MAGIC>()
        .ok_or(truncated(BYTES_TO_MAGIC as u64))?;
    let length = i32::from_be_bytes([l0, l1, l2, l3]);
    match magic as i8 {
        MAGIC_V2 => {}
        old @ (0 | 1) => return Err(InvalidBatch::OldMagic(old)),
        other => return Err(InvalidBatch::UnknownMagic(other)),
    }
    if length < (HEADER_BYTES - LOG_OVERHEAD_BYTES) as i32 {
        return Err(InvalidBatch::TooSmall { length });
    }
    let size = length as u64 + LOG_OVERHEAD_BYTES as u64;
    if size > available {
        return Err(truncated(size));
    }
    Ok(size)
}

/// Iterates over the batches in `bytes`. The last may be cut short, as in the answer to a fetch: then
/// the last item is [`InvalidBatch::Truncated`].
#[derive(Clone, Debug)]
pub struct Batches {
    rest: Bytes,
}

impl Batches {
    pub fn new(bytes: Bytes) -> Self {
        Self { rest: bytes }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, InvalidBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let batch = Batch::parse(&self.rest);
        // After an error nobody knows where the next batch begins.
        self.rest = match &batch {
            Ok(batch) => self.rest.slice(batch.bytes.len()..),
            Err(_) => Bytes::new(),
        };
        Some(batch)
    }
}

/// The records of one batch; ends after the first error.
#[derive(Clone, Debug)]
pub struct Records {
    header: BatchHeader,
    body: Bytes,
    at: usize,
    index: i32,
}

impl Records {
    /// How many bytes of the batch's body, decompressed, are read.
    pub fn position_bytes(&self) -> usize {
        self.at
    }

    fn read(&mut self) -> Result<Record, InvalidBatch> {
        let index = self.index;
        let raw =
            RawRecord::read(&self.body, &mut self.at).map_err(|why| InvalidBatch::Record { index, why })?;
        let left = (self.body.len() - self.at) as u64;
        if index + 1 == self.header.record_count && left > 0 {
            return Err(InvalidBatch::LeftOver { left });
        }
        let timestamp = match self.header.timestamp_type() {
            TimestampType::CreateTime => self.header.base_timestamp.wrapping_add(raw.timestamp_delta),
            TimestampType::LogAppendTime => self.header.max_timestamp,
        };
        let offset = self.header.base_offset.wrapping_add(i64::from(raw.offset_delta));
        Ok(raw.to_record(&self.body, offset, timestamp))
    }
}

impl Iterator for Records {
    type Item = Result<Record, InvalidBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.index >= self.header.record_count {
            return None;
        }
        let record = self.read();
        self.index = match record {
            Ok(_) => self.index + 1,
            Err(_) => self.header.record_count,
        };
        Some(record)
    }
}
