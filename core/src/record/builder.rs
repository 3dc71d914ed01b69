//! Writing batches: records in, the bytes of one batch out.
//!
//! Used by whoever makes batches of its own (producers, coordinators, the cleaner, tests) and by the
//! validator where Kafka re-encodes. The first record's timestamp becomes the base timestamp, as in
//! Kafka's `MemoryRecordsBuilder`; the same calls give the same bytes on every target.

use bytes::Bytes;

use super::compression::Compression;
use super::control::EndTransactionMarker;
use super::crc::crc32c;
use super::header::{
    BatchHeader, CRC_FROM, HEADER_BYTES, LOG_OVERHEAD_BYTES, MAGIC_V2, NO_SEQUENCE, TimestampType,
};
use super::record::{Header, RawRecord, write_headers};
use crate::types::{
    LeaderEpoch, Millis, NO_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP, Offset, ProducerEpoch, ProducerId, Sequence,
};

/// Collects the records of one batch.
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    compression: Compression,
    base_offset: Offset,
    leader_epoch: LeaderEpoch,
    producer_id: ProducerId,
    producer_epoch: ProducerEpoch,
    base_sequence: Sequence,
    transactional: bool,
    control: bool,
    log_append_time_ms: Option<Millis>,
    delete_horizon_ms: Option<Millis>,
    last_offset: Option<Offset>,
    base_timestamp: Option<Millis>,
    max_timestamp: Millis,
    last_offset_delta: i32,
    record_count: i32,
    body: Vec<u8>,
    headers: Vec<u8>,
}

impl BatchBuilder {
    /// An empty batch at offset 0, with create time, without producer and leader epoch.
    pub fn new(compression: impl Into<Compression>) -> Self {
        Self {
            compression: compression.into(),
            base_offset: 0,
            leader_epoch: NO_EPOCH,
            producer_id: NO_PRODUCER_ID,
            producer_epoch: -1,
            base_sequence: NO_SEQUENCE,
            transactional: false,
            control: false,
            log_append_time_ms: None,
            delete_horizon_ms: None,
            last_offset: None,
            base_timestamp: None,
            max_timestamp: NO_TIMESTAMP,
            last_offset_delta: -1,
            record_count: 0,
            body: Vec::new(),
            headers: Vec::new(),
        }
    }

    pub fn base_offset(mut self, offset: Offset) -> Self {
        self.base_offset = offset;
        self
    }

    pub fn leader_epoch(mut self, epoch: LeaderEpoch) -> Self {
        self.leader_epoch = epoch;
        self
    }

    /// Makes the batch idempotent: its first record has `base_sequence`.
    pub fn producer(mut self, id: ProducerId, epoch: ProducerEpoch, base_sequence: Sequence) -> Self {
        self.producer_id = id;
        self.producer_epoch = epoch;
        self.base_sequence = base_sequence;
        self
    }

    pub fn transactional(mut self, transactional: bool) -> Self {
        self.transactional = transactional;
        self
    }

    /// Marks the batch as the broker's own; its records are control records.
    pub fn control(mut self, control: bool) -> Self {
        self.control = control;
        self
    }

    /// Sets timestamp type LogAppendTime and this time as the time of all records.
    pub fn log_append_time(mut self, time_ms: Option<Millis>) -> Self {
        self.log_append_time_ms = time_ms;
        self
    }

    /// Stores the horizon in place of the base timestamp. Call it before the first record.
    pub fn delete_horizon(mut self, horizon_ms: Option<Millis>) -> Self {
        self.delete_horizon_ms = horizon_ms;
        self.base_timestamp = horizon_ms;
        self
    }

    /// Overrides the last offset, so that a compacted batch still covers what it covered.
    pub fn last_offset(mut self, offset: Offset) -> Self {
        self.last_offset = Some(offset);
        self
    }

    /// Appends a record at the offset after the one before.
    pub fn append(
        &mut self,
        timestamp: Millis,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header],
    ) -> &mut Self {
        let delta = self.last_offset_delta.wrapping_add(1);
        self.append_at_delta(delta, timestamp, key, value, headers)
    }

    /// Appends a record `offset_delta` after the base offset, leaving a gap.
    pub fn append_at_delta(
        &mut self,
        offset_delta: i32,
        timestamp: Millis,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header],
    ) -> &mut Self {
        let mut packed = std::mem::take(&mut self.headers);
        packed.clear();
        write_headers(&mut packed, headers);
        let record = RawRecord {
            timestamp_delta: 0,
            offset_delta,
            key,
            value,
            header_count: headers.len() as i32,
            headers: &packed,
        };
        self.append_raw(record, timestamp);
        self.headers = packed;
        self
    }

    pub(super) fn append_raw(&mut self, record: RawRecord<'_>, timestamp: Millis) {
        let base = *self.base_timestamp.get_or_insert(timestamp);
        let record = RawRecord {
            timestamp_delta: timestamp.wrapping_sub(base),
            ..record
        };
        record.write(&mut self.body);
        self.last_offset_delta = record.offset_delta;
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.record_count += 1;
    }

    pub fn record_count(&self) -> i32 {
        self.record_count
    }

    /// Bytes of the batch so far, were it not compressed.
    pub fn uncompressed_size_bytes(&self) -> usize {
        HEADER_BYTES + self.body.len()
    }

    /// The batch's bytes.
    pub fn build(self) -> Bytes {
        let mut out = Vec::with_capacity(HEADER_BYTES + self.body.len());
        out.resize(HEADER_BYTES, 0);
        self.compression.compress(&self.body, &mut out);
        let timestamp_type = match self.log_append_time_ms {
            Some(_) => TimestampType::LogAppendTime,
            None => TimestampType::CreateTime,
        };
        let mut header = BatchHeader {
            base_offset: self.base_offset,
            batch_length: (out.len() - LOG_OVERHEAD_BYTES) as i32,
            partition_leader_epoch: self.leader_epoch,
            magic: MAGIC_V2,
            crc: 0,
            attributes: BatchHeader::pack_attributes(
                self.compression.codec,
                timestamp_type,
                self.transactional,
                self.control,
                self.delete_horizon_ms.is_some(),
            ),
            last_offset_delta: self.last_offset.map_or(self.last_offset_delta, |last| {
                last.wrapping_sub(self.base_offset) as i32
            }),
            base_timestamp: self.base_timestamp.unwrap_or(NO_TIMESTAMP),
            max_timestamp: self.log_append_time_ms.unwrap_or(self.max_timestamp),
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            base_sequence: self.base_sequence,
            record_count: self.record_count,
        };
        out[..HEADER_BYTES].copy_from_slice(&header.encode());
        header.crc = crc32c(&out[CRC_FROM..]);
        out[..HEADER_BYTES].copy_from_slice(&header.encode());
        out.into()
    }
}

/// The control batch that ends a producer's transaction in a partition
/// (`MemoryRecords.withEndTransactionMarker`).
pub fn end_transaction_batch(
    marker: EndTransactionMarker,
    producer_id: ProducerId,
    producer_epoch: ProducerEpoch,
    now: Millis,
) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::default())
        .producer(producer_id, producer_epoch, NO_SEQUENCE)
        .transactional(true)
        .control(true);
    let (key, value) = (marker.control_type.key(), marker.value());
    builder.append(now, Some(&key), Some(&value), &[]);
    builder.build()
}
