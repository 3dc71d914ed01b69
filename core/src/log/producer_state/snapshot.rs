//! The `.snapshot` file: the producers of a log below the offset in the file's name.
//!
//! Big-endian: version (2, always 1), CRC-32C (4) of all that follows, number of entries (4), then 46
//! bytes for each producer: id (8), epoch (2), last sequence (4), last offset (8), offset delta (4),
//! timestamp (8), coordinator epoch (4), first offset of the open transaction (8, -1 for none). Of the
//! five batches only the last is kept (Kafka's `ProducerSnapshot`).

use bytes::{BufMut, Bytes, BytesMut};
use smallvec::SmallVec;
use thiserror::Error;

use super::entry::{BatchMetadata, ProducerStateEntry};
use crate::record::header::NO_SEQUENCE;
use crate::types::{Offset, ProducerId};

const VERSION: i16 = 1;
const HEADER_BYTES: usize = 10;
const ENTRY_BYTES: usize = 46;
const CRC_FROM: usize = 6;
const NO_OFFSET: Offset = -1;

/// What makes a file no snapshot (Kafka's `CorruptSnapshotException`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CorruptSnapshot {
    #[error("its {0} bytes are too few for a header")]
    TooShort(usize),
    #[error("it has version {0}, expected {VERSION}")]
    Version(i16),
    #[error("it says it has {said} entries, its length is {len_bytes} bytes")]
    Length { said: i32, len_bytes: usize },
    #[error("its checksum is {computed:#010x} and not {stored:#010x}")]
    Checksum { stored: u32, computed: u32 },
    #[error("the entry of producer {0} holds numbers that cannot be")]
    Entry(ProducerId),
}

/// The whole file.
pub fn write<'a>(entries: impl ExactSizeIterator<Item = &'a ProducerStateEntry>) -> Bytes {
    let mut file = BytesMut::with_capacity(HEADER_BYTES + ENTRY_BYTES * entries.len());
    file.put_i16(VERSION);
    file.put_u32(0);
    file.put_i32(entries.len() as i32);
    for entry in entries {
        let last = entry.batches.last();
        file.put_i64(entry.producer_id);
        file.put_i16(entry.producer_epoch);
        file.put_i32(last.map_or(NO_SEQUENCE, |batch| batch.last_sequence));
        file.put_i64(last.map_or(NO_OFFSET, |batch| batch.last_offset));
        file.put_i32(last.map_or(0, |batch| batch.offset_delta));
        file.put_i64(entry.last_timestamp_ms);
        file.put_i32(entry.coordinator_epoch);
        file.put_i64(entry.current_txn_first_offset.unwrap_or(NO_OFFSET));
    }
    let crc = crate::record::crc::crc32c(&file[CRC_FROM..]);
    file[2..CRC_FROM].copy_from_slice(&crc.to_be_bytes());
    file.freeze()
}

/// The producers that the file holds, in its order.
pub fn read(file: &[u8]) -> Result<Vec<ProducerStateEntry>, CorruptSnapshot> {
    let Some((&header, body)) = file.split_first_chunk::<HEADER_BYTES>() else {
        return Err(CorruptSnapshot::TooShort(file.len()));
    };
    let [v0, v1, c0, c1, c2, c3, n0, n1, n2, n3] = header;
    let version = i16::from_be_bytes([v0, v1]);
    if version != VERSION {
        return Err(CorruptSnapshot::Version(version));
    }
    let said = i32::from_be_bytes([n0, n1, n2, n3]);
    let (entries, rest) = body.as_chunks::<ENTRY_BYTES>();
    if !rest.is_empty() || usize::try_from(said) != Ok(entries.len()) {
        let len_bytes = file.len();
        return Err(CorruptSnapshot::Length { said, len_bytes });
    }
    let stored = u32::from_be_bytes([c0, c1, c2, c3]);
    let computed = crate::record::crc::crc32c(&file[CRC_FROM..]);
    if stored != computed {
        return Err(CorruptSnapshot::Checksum { stored, computed });
    }
    entries.iter().map(read_entry).collect()
}

fn read_entry(bytes: &[u8; ENTRY_BYTES]) -> Result<ProducerStateEntry, CorruptSnapshot> {
    let producer_id = i64::from_be_bytes(part(bytes, 0));
    let last_offset = i64::from_be_bytes(part(bytes, 14));
    let timestamp_ms = i64::from_be_bytes(part(bytes, 26));
    let current_txn_first_offset = i64::from_be_bytes(part(bytes, 38));
    let last = BatchMetadata {
        last_sequence: i32::from_be_bytes(part(bytes, 10)),
        last_offset,
        offset_delta: i32::from_be_bytes(part(bytes, 22)),
        timestamp_ms,
    };
    let possible = last.last_sequence >= NO_SEQUENCE
        && last.offset_delta >= 0
        && (last_offset < 0 || i64::from(last.offset_delta) <= last_offset);
    if producer_id < 0 || !possible {
        return Err(CorruptSnapshot::Entry(producer_id));
    }
    Ok(ProducerStateEntry {
        producer_id,
        producer_epoch: i16::from_be_bytes(part(bytes, 8)),
        coordinator_epoch: i32::from_be_bytes(part(bytes, 34)),
        last_timestamp_ms: timestamp_ms,
        current_txn_first_offset: (current_txn_first_offset >= 0).then_some(current_txn_first_offset),
        batches: (last_offset >= 0)
            .then_some(last)
            .into_iter()
            .collect::<SmallVec<_>>(),
    })
}

/// `N` bytes of the entry from byte `at`; positions and widths are those of the table above.
fn part<const N: usize>(bytes: &[u8; ENTRY_BYTES], at: usize) -> [u8; N] {
    let mut taken = [0; N];
    taken.copy_from_slice(&bytes[at..at + N]);
    taken
}
