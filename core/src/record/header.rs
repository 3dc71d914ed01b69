//! The 61 bytes at the front of each batch (Kafka's `DefaultRecordBatch`).
//!
//! Everything that appends, looks up, cuts or serves whole batches needs only these; the records
//! behind them stay packed.

use serde::{Deserialize, Serialize};

use super::compression::Codec;
use super::crc::{crc32c, crc32c_append};
use crate::types::{LeaderEpoch, Millis, NO_PRODUCER_ID, Offset, ProducerEpoch, ProducerId, Sequence};

/// Bytes of a batch's header.
pub const HEADER_BYTES: usize = 61;
/// Base offset and length: what must be read to know where a batch ends. The length counts from here.
pub const LOG_OVERHEAD_BYTES: usize = 12;
/// Up to and with the magic byte, which tells the format of the rest.
pub const BYTES_TO_MAGIC: usize = 17;
/// Where the checksum's range begins: the attributes.
pub const CRC_FROM: usize = 21;
/// The only format in use since Kafka 0.11.
pub const MAGIC_V2: i8 = 2;
/// "No sequence", as in a batch of a producer without idempotence.
pub const NO_SEQUENCE: Sequence = -1;

const CODEC_MASK: i16 = 0x07;
const TIMESTAMP_TYPE: i16 = 0x08;
const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;
const DELETE_HORIZON: i16 = 0x40;

/// Who set the timestamps (`message.timestamp.type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimestampType {
    /// The producer, record by record.
    #[default]
    CreateTime,
    /// The broker, one time for the whole batch: its max timestamp.
    LogAppendTime,
}

impl TimestampType {
    /// As in configurations and in what tools print.
    pub fn name(self) -> &'static str {
        match self {
            Self::CreateTime => "CreateTime",
            Self::LogAppendTime => "LogAppendTime",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Self::CreateTime, Self::LogAppendTime]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// A batch's header, decoded. The fields are the bytes as they stand; meanings are methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchHeader {
    pub base_offset: Offset,
    /// Bytes of the batch after the first 12.
    pub batch_length: i32,
    pub partition_leader_epoch: LeaderEpoch,
    pub magic: i8,
    pub crc: u32,
    pub attributes: i16,
    /// Offset of the last record less the base offset. Compaction may take the record and leave this.
    pub last_offset_delta: i32,
    /// Timestamp from which the records' deltas count; with the delete horizon flag, the horizon.
    pub base_timestamp: Millis,
    pub max_timestamp: Millis,
    pub producer_id: ProducerId,
    pub producer_epoch: ProducerEpoch,
    pub base_sequence: Sequence,
    pub record_count: i32,
}

impl BatchHeader {
    /// Decodes the first 61 bytes; `None` when there are fewer. Believes nothing and checks nothing:
    /// see [`Batch::parse`](super::batch::Batch::parse).
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        Some(Self {
            base_offset: i64::from_be_bytes(part(bytes, 0)),
            batch_length: i32::from_be_bytes(part(bytes, 8)),
            partition_leader_epoch: i32::from_be_bytes(part(bytes, 12)),
            magic: bytes[16] as i8,
            crc: u32::from_be_bytes(part(bytes, 17)),
            attributes: i16::from_be_bytes(part(bytes, 21)),
            last_offset_delta: i32::from_be_bytes(part(bytes, 23)),
            base_timestamp: i64::from_be_bytes(part(bytes, 27)),
            max_timestamp: i64::from_be_bytes(part(bytes, 35)),
            producer_id: i64::from_be_bytes(part(bytes, 43)),
            producer_epoch: i16::from_be_bytes(part(bytes, 51)),
            base_sequence: i32::from_be_bytes(part(bytes, 53)),
            record_count: i32::from_be_bytes(part(bytes, 57)),
        })
    }

    /// The 61 bytes, with the checksum as it stands in [`crc`](Self::crc).
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        out[..16].copy_from_slice(&self.patch_head(self.base_offset, self.partition_leader_epoch));
        out[16] = self.magic as u8;
        out[17..21].copy_from_slice(&self.crc.to_be_bytes());
        out[21..23].copy_from_slice(&self.attributes.to_be_bytes());
        out[23..27].copy_from_slice(&self.last_offset_delta.to_be_bytes());
        out[27..35].copy_from_slice(&self.base_timestamp.to_be_bytes());
        out[35..43].copy_from_slice(&self.max_timestamp.to_be_bytes());
        out[43..51].copy_from_slice(&self.producer_id.to_be_bytes());
        out[51..53].copy_from_slice(&self.producer_epoch.to_be_bytes());
        out[53..57].copy_from_slice(&self.base_sequence.to_be_bytes());
        out[57..].copy_from_slice(&self.record_count.to_be_bytes());
        out
    }

    // ANCHOR: patch_head
    /// The 16 bytes that stand outside the checksum, with the offset and epoch that an append gives:
    /// what is written is `[these, the batch from byte 16 on]`.
    pub fn patch_head(&self, base_offset: Offset, leader_epoch: LeaderEpoch) -> [u8; 16] {
        let mut out = [0; 16];
        out[..8].copy_from_slice(&base_offset.to_be_bytes());
        out[8..12].copy_from_slice(&self.batch_length.to_be_bytes());
        out[12..].copy_from_slice(&leader_epoch.to_be_bytes());
        out
    }

    /// The header as it stands after [`patch_head`](Self::patch_head).
    pub fn with_head(mut self, base_offset: Offset, leader_epoch: LeaderEpoch) -> Self {
        self.base_offset = base_offset;
        self.partition_leader_epoch = leader_epoch;
        self
    }
    // ANCHOR_END: patch_head

    /// The checksum that this header and `body`, the packed records, should have.
    pub fn compute_crc(&self, body: &[u8]) -> u32 {
        crc32c_append(crc32c(&self.encode()[CRC_FROM..]), body)
    }

    /// Bytes of the whole batch; negative or absurd when the length is.
    pub fn size_bytes(&self) -> i64 {
        i64::from(self.batch_length) + LOG_OVERHEAD_BYTES as i64
    }

    pub fn last_offset(&self) -> Offset {
        self.base_offset.wrapping_add(i64::from(self.last_offset_delta))
    }

    /// The offset after this batch.
    pub fn next_offset(&self) -> Offset {
        self.last_offset().wrapping_add(1)
    }

    /// `None`: bits 0 to 2 name no codec.
    pub fn codec(&self) -> Option<Codec> {
        Codec::from_id((self.attributes & CODEC_MASK) as u8)
    }

    pub fn codec_id(&self) -> u8 {
        (self.attributes & CODEC_MASK) as u8
    }

    pub fn timestamp_type(&self) -> TimestampType {
        if self.attributes & TIMESTAMP_TYPE == 0 {
            TimestampType::CreateTime
        } else {
            TimestampType::LogAppendTime
        }
    }

    pub fn is_transactional(&self) -> bool {
        self.attributes & TRANSACTIONAL != 0
    }

    /// Holds a marker of the broker's own, never shown to consumers.
    pub fn is_control(&self) -> bool {
        self.attributes & CONTROL != 0
    }

    /// When the cleaner may drop the batch's tombstones or markers (KIP-534).
    pub fn delete_horizon_ms(&self) -> Option<Millis> {
        (self.attributes & DELETE_HORIZON != 0).then_some(self.base_timestamp)
    }

    pub fn has_producer_id(&self) -> bool {
        self.producer_id > NO_PRODUCER_ID
    }

    /// Sequence of the last record, wrapped past `i32::MAX` to 0; -1 when the batch has none.
    pub fn last_sequence(&self) -> Sequence {
        if self.base_sequence == NO_SEQUENCE {
            return NO_SEQUENCE;
        }
        add_to_sequence(self.base_sequence, self.last_offset_delta)
    }

    /// Packs the flags as Kafka does: unknown bits of what was there are dropped.
    pub(super) fn pack_attributes(
        codec: Codec,
        timestamp_type: TimestampType,
        transactional: bool,
        control: bool,
        delete_horizon: bool,
    ) -> i16 {
        let flag = |on: bool, bit: i16| if on { bit } else { 0 };
        i16::from(codec.id())
            | flag(timestamp_type == TimestampType::LogAppendTime, TIMESTAMP_TYPE)
            | flag(transactional, TRANSACTIONAL)
            | flag(control, CONTROL)
            | flag(delete_horizon, DELETE_HORIZON)
    }
}

/// `sequence + step` in a producer's ring of sequences, 0 to `i32::MAX`
/// (`DefaultRecordBatch.incrementSequence`).
pub fn add_to_sequence(sequence: Sequence, step: i32) -> Sequence {
    if sequence > i32::MAX.wrapping_sub(step) {
        step.wrapping_sub(i32::MAX.wrapping_sub(sequence)).wrapping_sub(1)
    } else {
        sequence.wrapping_add(step)
    }
}

fn part<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted() -> [u8; HEADER_BYTES] {
        std::array::from_fn(|i| i as u8 + 1)
    }

    #[test]
    fn encoding_gives_back_the_bytes() {
        let header = BatchHeader::parse(&counted()).unwrap();
        assert_eq!(header.encode(), counted());
        assert_eq!(header.magic, 17);
        assert_eq!(header.base_sequence, i32::from_be_bytes([54, 55, 56, 57]));
        assert_eq!(BatchHeader::parse(&counted()[..60]), None);
    }

    #[test]
    fn a_patched_head_changes_offset_and_epoch_only() {
        let header = BatchHeader::parse(&counted()).unwrap();
        let mut bytes = counted();
        bytes[..16].copy_from_slice(&header.patch_head(77, 5));
        assert_eq!(BatchHeader::parse(&bytes), Some(header.with_head(77, 5)));
        assert_eq!(header.with_head(77, 5).batch_length, header.batch_length);
    }

    #[test]
    fn sequences_wrap_to_zero() {
        assert_eq!(add_to_sequence(i32::MAX, 0), i32::MAX);
        assert_eq!(add_to_sequence(i32::MAX, 1), 0);
        assert_eq!(add_to_sequence(i32::MAX - 2, 5), 2);
        assert_eq!(add_to_sequence(7, 3), 10);
    }

    #[test]
    fn attributes_read_back() {
        let mut header = BatchHeader::parse(&counted()).unwrap();
        header.attributes =
            BatchHeader::pack_attributes(Codec::Lz4, TimestampType::LogAppendTime, true, false, true);
        assert_eq!(header.codec(), Some(Codec::Lz4));
        assert_eq!(header.timestamp_type(), TimestampType::LogAppendTime);
        assert!(header.is_transactional() && !header.is_control());
        assert_eq!(header.delete_horizon_ms(), Some(header.base_timestamp));
        header.attributes = 7;
        assert_eq!(header.codec(), None);
        assert_eq!(header.delete_horizon_ms(), None);
    }
}
