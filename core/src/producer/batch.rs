//! A batch on its way: open while records are put into it, then sealed into bytes that every attempt
//! sends again (Kafka's `ProducerBatch` and `MemoryRecordsBuilder`).
//!
//! A batch has room for a record if its bytes, by what compression has lately achieved, stay within
//! `batch.size`; the first record always fits.

use bytes::Bytes;

use super::record::RecordId;
use crate::record::compression::PURE_RUST;
use crate::record::header::add_to_sequence;
use crate::record::varint::size_of_varlong;
use crate::record::{Batch, BatchBuilder, BatchHeader, Codec, Compression, HEADER_BYTES, Header, Record};
use crate::trace::EventId;
use crate::types::{LeaderEpoch, Millis, ProducerEpoch, ProducerId, Sequence, TopicPartition};

/// Numbers the batches of a producer, from 0.
pub(super) type BatchId = u64;

/// What a broker tells a repeated batch by.
pub(super) type Identity = (ProducerId, ProducerEpoch, Sequence);

/// A guess above what a record takes in a batch of its own (`estimateSizeInBytesUpperBound`).
const MOST_RECORD_OVERHEAD_BYTES: usize = 21;
/// Compression is trusted a little less than it has deserved.
const RATIO_SAFETY: f32 = 1.05;

/// A record within a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct InBatch {
    pub id: RecordId,
    pub timestamp_ms: Millis,
    /// -1 for null.
    pub key_bytes: i32,
    /// -1 for null.
    pub value_bytes: i32,
}

/// A record's bytes, with what else goes into a batch.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pub timestamp_ms: Millis,
    pub key: Option<Bytes>,
    pub value: Option<Bytes>,
    pub headers: Vec<Header>,
}

impl Packed {
    fn fields_bytes(&self) -> usize {
        let field = |field: Option<&Bytes>| match field {
            Some(bytes) => size_of_varlong(bytes.len() as i64) + bytes.len(),
            None => 1,
        };
        let header = |header: &Header| field(Some(&header.key)) + field(header.value.as_ref());
        field(self.key.as_ref())
            + field(self.value.as_ref())
            + size_of_varlong(self.headers.len() as i64)
            + self.headers.iter().map(header).sum::<usize>()
    }

    /// At most so many bytes, alone in a batch.
    pub fn most_bytes(&self) -> usize {
        HEADER_BYTES + MOST_RECORD_OVERHEAD_BYTES + self.fields_bytes()
    }

    fn bytes_at(&self, timestamp_delta: i64, offset_delta: i64) -> usize {
        let body = 1 + size_of_varlong(timestamp_delta) + size_of_varlong(offset_delta) + self.fields_bytes();
        size_of_varlong(body as i64) + body
    }
}

#[derive(Clone, Debug)]
pub(super) struct ProducerBatch {
    pub id: BatchId,
    pub partition: TopicPartition,
    pub created_ms: Millis,
    /// The event of its first record.
    pub cause: EventId,
    pub records: Vec<InBatch>,
    /// What it holds of `buffer.memory`; a part of a split batch holds none.
    pub memory_bytes: usize,
    /// Attempts that failed.
    pub attempts: u32,
    /// After a failure: not before.
    pub retry_at: Millis,
    /// The leader's epoch at the last attempt: after a failure another leader is tried at once (KIP-951).
    pub sent_epoch: Option<LeaderEpoch>,
    /// Its producer and first sequence number, once it was drained.
    pub identity: Option<Identity>,
    /// It came of a batch that was too large.
    pub is_part: bool,
    /// It waits in its partition's queue.
    pub is_queued: bool,
    /// A request has it that is not answered yet.
    pub is_under_way: bool,
    codec: Codec,
    write_limit: usize,
    /// What compression is expected to achieve.
    expected_ratio: f32,
    builder: Option<BatchBuilder>,
    closed: bool,
    sealed: Bytes,
    first_timestamp_ms: Millis,
    body_bytes: usize,
}

impl ProducerBatch {
    pub fn new(
        (id, partition): (BatchId, TopicPartition),
        (created_ms, cause): (Millis, EventId),
        compression: Compression,
        write_limit: usize,
        expected_ratio: f32,
    ) -> Self {
        Self {
            id,
            partition,
            created_ms,
            cause,
            records: Vec::new(),
            memory_bytes: 0,
            attempts: 0,
            retry_at: 0,
            sent_epoch: None,
            identity: None,
            is_part: false,
            is_queued: false,
            is_under_way: false,
            codec: compression.codec,
            write_limit,
            expected_ratio,
            builder: Some(BatchBuilder::new(compression)),
            closed: false,
            sealed: Bytes::new(),
            first_timestamp_ms: 0,
            body_bytes: 0,
        }
    }

    /// Until when it waits after an attempt that failed; not at all if its partition has another leader, or
    /// the same one anew.
    pub fn backs_off_until(&self, epoch: Option<LeaderEpoch>) -> Option<Millis> {
        (self.attempts > 0 && self.sent_epoch == epoch).then_some(self.retry_at)
    }

    /// Puts the record in. There must be room.
    pub fn append(&mut self, id: RecordId, record: &Packed) {
        let Some(builder) = &mut self.builder else {
            return;
        };
        if self.records.is_empty() {
            self.first_timestamp_ms = record.timestamp_ms;
        }
        let (key, value) = (record.key.as_deref(), record.value.as_deref());
        builder.append(record.timestamp_ms, key, value, &record.headers);
        self.body_bytes = builder.uncompressed_size_bytes() - HEADER_BYTES;
        let size = |field: Option<&[u8]>| field.map_or(-1, |bytes| bytes.len() as i32);
        self.records.push(InBatch {
            id,
            timestamp_ms: record.timestamp_ms,
            key_bytes: size(key),
            value_bytes: size(value),
        });
    }

    pub fn has_room_for(&self, record: &Packed) -> bool {
        if self.closed || self.is_full() {
            return false;
        }
        let delta = record.timestamp_ms.wrapping_sub(self.first_timestamp_ms);
        let more = record.bytes_at(delta, self.records.len() as i64);
        self.records.is_empty() || self.write_limit >= self.estimated_bytes() + more
    }

    /// Takes no more records: the next one did not fit.
    pub fn close(&mut self) {
        self.closed = true;
    }

    pub fn is_full(&self) -> bool {
        self.closed
            || self.builder.is_none()
            || (!self.records.is_empty() && self.write_limit <= self.estimated_bytes())
    }

    /// Bytes of the sealed batch, or a guess while it is open.
    pub fn estimated_bytes(&self) -> usize {
        match (&self.builder, self.codec) {
            (None, _) => self.sealed.len(),
            (Some(_), Codec::None) => HEADER_BYTES + self.body_bytes,
            (Some(_), _) => {
                HEADER_BYTES + (self.body_bytes as f32 * self.expected_ratio * RATIO_SAFETY) as usize
            }
        }
    }

    /// Packs the records, at the first attempt; the ratio that compression achieved.
    pub fn seal(&mut self) -> Option<f32> {
        let mut builder = self.builder.take()?;
        if let Some((id, epoch, sequence)) = self.identity {
            builder = builder.producer(id, epoch, sequence);
        }
        self.sealed = builder.build();
        Some(self.ratio())
    }

    /// The ratio that compression achieved, once the batch is sealed.
    pub fn ratio(&self) -> f32 {
        let packed = self.sealed.len().saturating_sub(HEADER_BYTES);
        packed as f32 / self.body_bytes.max(1) as f32
    }

    /// The bytes to send. It must be sealed.
    pub fn bytes(&self) -> Bytes {
        self.sealed.clone()
    }

    /// The sequence number of its first record, once it has one.
    pub fn base_sequence(&self) -> Option<Sequence> {
        self.identity.map(|(_, _, sequence)| sequence)
    }

    /// Gives it other sequence numbers, sealed or not. Bytes that are under way stay as they are.
    pub fn renumber(&mut self, identity: Identity) {
        self.identity = Some(identity);
        let Some(mut header) = BatchHeader::parse(&self.sealed) else {
            return;
        };
        (header.producer_id, header.producer_epoch, header.base_sequence) = identity;
        let body = &self.sealed[HEADER_BYTES..];
        header.crc = header.compute_crc(body);
        self.sealed = [&header.encode()[..], body].concat().into();
    }

    /// Its records again, to be put into smaller batches; all of them or nothing.
    pub fn unpack(&self) -> Option<Vec<(RecordId, Packed)>> {
        let batch = Batch::parse(&self.sealed).ok()?;
        let records = batch.records(&PURE_RUST, self.body_bytes).ok()?;
        let packed = |record: Record| Packed {
            timestamp_ms: record.timestamp,
            key: record.key,
            value: record.value,
            headers: record.headers,
        };
        let unpacked: Vec<Packed> = records
            .map(|record| record.ok().map(packed))
            .collect::<Option<_>>()?;
        let is_whole = unpacked.len() == self.records.len();
        let ids = self.records.iter().map(|record| record.id);
        is_whole.then(|| ids.zip(unpacked).collect())
    }
}

/// The sequence number so many records later.
pub(super) fn sequence_after(first: Sequence, records: usize) -> Sequence {
    add_to_sequence(first, i32::try_from(records).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(bytes: usize) -> Packed {
        Packed {
            timestamp_ms: 5,
            key: None,
            value: Some(vec![b'x'; bytes].into()),
            headers: Vec::new(),
        }
    }

    fn batch(limit: usize) -> ProducerBatch {
        let place = (0, TopicPartition::new("t", 0));
        ProducerBatch::new(place, (0, EventId::NONE), Compression::default(), limit, 1.0)
    }

    #[test]
    fn records_fit_up_to_the_last_byte_and_the_first_always_does() {
        let mut full = batch(300);
        while full.has_room_for(&packed(20)) {
            full.append(0, &packed(20));
        }
        full.seal();
        assert!(
            full.bytes().len() <= 300 && full.bytes().len() + 28 > 300,
            "{}",
            full.bytes().len()
        );
        let mut large = batch(100);
        assert!(large.has_room_for(&packed(500)));
        large.append(0, &packed(500));
        assert!(large.is_full() && !large.has_room_for(&packed(1)));
        assert!(packed(500).most_bytes() >= large.estimated_bytes());
    }

    #[test]
    fn other_sequence_numbers_leave_a_batch_sound() {
        let mut batch = batch(1000);
        batch.append(3, &packed(9));
        batch.append(4, &packed(9));
        batch.identity = Some((7, 0, 40));
        batch.seal();
        batch.renumber((7, 1, 0));
        let read = Batch::parse(&batch.bytes()).unwrap();
        read.check_crc().unwrap();
        assert_eq!((read.header.producer_epoch, read.header.base_sequence), (1, 0));
        let unpacked = batch.unpack().unwrap();
        assert_eq!(unpacked.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(unpacked[0].1.value.as_deref(), Some(&b"xxxxxxxxx"[..]));
    }
}
