//! Records of one partition on their way from an answer to the application (Kafka's
//! `CompletedFetch`).
//!
//! Batches are unpacked one by one, when the application asks for records, and only as far as it asks.
//! On the way everything drops out that is not the application's: records before the position, since a
//! batch is given whole; control records; with `read_committed` the records of aborted transactions.
//!
//! Invariants
//! - the position behind a batch is the batch's own next offset, whatever records are left in it: holes
//!   that compaction made are stepped over
//! - records before a damaged one are returned first, and nothing is returned past it

use std::collections::VecDeque;

use bytes::Bytes;

use super::config::IsolationLevel;
use super::error::ConsumerError;
use super::metrics::AnswerId;
use super::record::ConsumerRecord;
use crate::ordered::OrderedSet;
use crate::protocol::fetch::AbortedTransaction;
use crate::record::batch::Records;
use crate::record::control::ControlType;
use crate::record::{Batch, BatchHeader, Batches, Decompress, InvalidBatch, Record};
use crate::types::{LeaderEpoch, Offset, ProducerId, TopicPartition};

/// One batch unpacked has at most so many bytes; Java can hold no more either.
const MAX_UNPACKED_BYTES: usize = i32::MAX as usize;

/// How records are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadRules {
    pub isolation: IsolationLevel,
    pub check_crcs: bool,
    pub decompress: &'static dyn Decompress,
}

#[derive(Clone, Debug)]
pub(super) struct CompletedFetch {
    pub partition: TopicPartition,
    /// The answer that it came with.
    pub answer: AnswerId,
    next_offset: Offset,
    last_epoch: Option<LeaderEpoch>,
    batches: Batches,
    batch: Option<BatchHeader>,
    records: Option<Records>,
    /// By first offset.
    aborted: VecDeque<AbortedTransaction>,
    aborted_producers: OrderedSet<ProducerId>,
    /// What is wrong with the record at the position: it is said again until somebody seeks.
    broken: Option<String>,
    is_consumed: bool,
    /// What the records that were returned take in their batches.
    read_bytes: u64,
}

impl CompletedFetch {
    /// `records` are whole batches, perhaps with a part of one more.
    pub fn new(
        partition: TopicPartition,
        fetch_offset: Offset,
        records: Bytes,
        mut aborted: Vec<AbortedTransaction>,
    ) -> Self {
        aborted.sort_by_key(|transaction| transaction.first_offset);
        Self {
            partition,
            answer: 0,
            next_offset: fetch_offset,
            last_epoch: None,
            batches: Batches::new(records),
            batch: None,
            records: None,
            aborted: aborted.into(),
            aborted_producers: OrderedSet::new(),
            broken: None,
            is_consumed: false,
            read_bytes: 0,
        }
    }

    /// Bytes of the records that were returned since the last call.
    pub fn take_read_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.read_bytes)
    }

    /// The position after what was read of it.
    pub fn next_offset(&self) -> Offset {
        self.next_offset
    }

    /// Of the batch that was read last.
    pub fn last_epoch(&self) -> Option<LeaderEpoch> {
        self.last_epoch
    }

    /// Nothing is left in it.
    pub fn is_consumed(&self) -> bool {
        self.is_consumed
    }

    /// Appends at most `most` records to `out`.
    ///
    /// # Errors
    /// The next record cannot be read. Records before it were returned by earlier calls.
    pub fn read(
        &mut self,
        most: usize,
        rules: &ReadRules,
        out: &mut Vec<ConsumerRecord>,
    ) -> Result<(), ConsumerError> {
        let before = out.len();
        while out.len() - before < most && !self.is_consumed {
            let why = match &self.broken {
                Some(why) => why.clone(),
                None => match self.next_record(rules) {
                    Ok(Some(record)) => {
                        self.next_offset = record.offset + 1;
                        out.push(record);
                        continue;
                    }
                    Ok(None) => continue,
                    Err(error) => self.broken.insert(error.to_string()).clone(),
                },
            };
            if out.len() > before {
                break;
            }
            return Err(ConsumerError::CorruptRecord {
                partition: self.partition.clone(),
                offset: self.next_offset,
                why,
            });
        }
        Ok(())
    }

    /// The next record for the application; `None` when a batch or all of it came to an end.
    fn next_record(&mut self, rules: &ReadRules) -> Result<Option<ConsumerRecord>, InvalidBatch> {
        let (Some(batch), Some(records)) = (self.batch, &mut self.records) else {
            self.next_batch(rules)?;
            return Ok(None);
        };
        loop {
            let at = records.position_bytes();
            let Some(record) = records.next().transpose()? else {
                break;
            };
            if record.offset < self.next_offset {
                continue;
            }
            if batch.is_control() {
                self.next_offset = record.offset + 1;
                continue;
            }
            self.read_bytes += (records.position_bytes() - at) as u64;
            return Ok(Some(to_consumer_record(&self.partition, &batch, record)));
        }
        self.records = None;
        Ok(None)
    }

    /// Begins the next batch that is not to be passed over, or ends.
    fn next_batch(&mut self, rules: &ReadRules) -> Result<(), InvalidBatch> {
        if let Some(batch) = self.batch.take() {
            self.next_offset = self.next_offset.max(batch.next_offset());
        }
        let batch = match self.batches.next() {
            None | Some(Err(InvalidBatch::Truncated { .. })) => {
                self.is_consumed = true;
                return Ok(());
            }
            Some(batch) => batch?,
        };
        if rules.check_crcs {
            batch.check_crc()?;
        }
        let epoch = batch.header.partition_leader_epoch;
        self.last_epoch = (epoch >= 0).then_some(epoch);
        self.batch = Some(batch.header);
        if !self.is_aborted(&batch, rules)? {
            self.records = Some(batch.records(rules.decompress, MAX_UNPACKED_BYTES)?);
        }
        Ok(())
    }

    /// Whether the batch is of a transaction that was aborted. Markers end what the list began.
    fn is_aborted(&mut self, batch: &Batch, rules: &ReadRules) -> Result<bool, InvalidBatch> {
        let header = &batch.header;
        if rules.isolation == IsolationLevel::ReadUncommitted || !header.has_producer_id() {
            return Ok(false);
        }
        while let Some(transaction) = self
            .aborted
            .pop_front_if(|transaction| transaction.first_offset <= header.last_offset())
        {
            self.aborted_producers.insert(transaction.producer_id);
        }
        if is_abort_marker(batch, rules)? {
            self.aborted_producers.remove(&header.producer_id);
            return Ok(false);
        }
        Ok(header.is_transactional() && self.aborted_producers.contains(&header.producer_id))
    }
}

fn is_abort_marker(batch: &Batch, rules: &ReadRules) -> Result<bool, InvalidBatch> {
    if !batch.header.is_control() {
        return Ok(false);
    }
    let mut records = batch.records(rules.decompress, MAX_UNPACKED_BYTES)?;
    let first = records.next().transpose()?;
    let key = first.and_then(|record| record.key);
    Ok(key.and_then(|key| ControlType::parse(&key)) == Some(ControlType::Abort))
}

fn to_consumer_record(partition: &TopicPartition, batch: &BatchHeader, record: Record) -> ConsumerRecord {
    let epoch = batch.partition_leader_epoch;
    ConsumerRecord {
        partition: partition.clone(),
        offset: record.offset,
        leader_epoch: (epoch >= 0).then_some(epoch),
        timestamp: record.timestamp,
        timestamp_type: batch.timestamp_type(),
        key: record.key,
        value: record.value,
        headers: record.headers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::compression::PURE_RUST;
    use crate::record::control::EndTransactionMarker;
    use crate::record::{BatchBuilder, Codec};

    fn rules(isolation: IsolationLevel) -> ReadRules {
        ReadRules {
            isolation,
            check_crcs: true,
            decompress: &PURE_RUST,
        }
    }

    const UNCOMMITTED: IsolationLevel = IsolationLevel::ReadUncommitted;

    fn batch(base_offset: Offset, count: usize, codec: Codec) -> BatchBuilder {
        let mut builder = BatchBuilder::new(codec).base_offset(base_offset).leader_epoch(3);
        for at in 0..count {
            let value = format!("v{}", base_offset + at as i64);
            builder.append(1000, Some(b"k"), Some(value.as_bytes()), &[]);
        }
        builder
    }

    fn fetch(from: Offset, batches: &[Bytes]) -> CompletedFetch {
        CompletedFetch::new(
            TopicPartition::new("t", 0),
            from,
            batches.concat().into(),
            Vec::new(),
        )
    }

    fn offsets(fetch: &mut CompletedFetch, most: usize, isolation: IsolationLevel) -> Vec<Offset> {
        let mut out = Vec::new();
        fetch.read(most, &rules(isolation), &mut out).unwrap();
        out.iter().map(|record| record.offset).collect()
    }

    #[test]
    fn records_come_in_pieces_and_from_the_position_on() {
        for codec in Codec::ALL {
            let mut fetch = fetch(2, &[batch(0, 4, codec).build(), batch(4, 2, codec).build()]);
            assert_eq!(offsets(&mut fetch, 1, UNCOMMITTED), [2]);
            assert_eq!(fetch.next_offset(), 3);
            assert_eq!(offsets(&mut fetch, 2, UNCOMMITTED), [3, 4]);
            assert_eq!(offsets(&mut fetch, 9, UNCOMMITTED), [5]);
            assert!(fetch.is_consumed());
            assert_eq!((fetch.next_offset(), fetch.last_epoch()), (6, Some(3)));
        }
    }

    #[test]
    fn holes_are_stepped_over() {
        let compacted = batch(3, 1, Codec::None).last_offset(8).build();
        let emptied = BatchBuilder::new(Codec::None)
            .base_offset(9)
            .last_offset(11)
            .build();
        let mut fetch = fetch(0, &[compacted, emptied]);
        assert_eq!(offsets(&mut fetch, 5, UNCOMMITTED), [3]);
        assert!(fetch.is_consumed());
        assert_eq!(fetch.next_offset(), 12);
    }

    #[test]
    fn a_batch_that_was_cut_off_is_left_for_the_next_fetch() {
        let second = batch(2, 2, Codec::None).build();
        let mut fetch = fetch(
            0,
            &[batch(0, 2, Codec::None).build(), second.slice(..second.len() - 1)],
        );
        assert_eq!(offsets(&mut fetch, 9, UNCOMMITTED), [0, 1]);
        assert!(fetch.is_consumed());
        assert_eq!(fetch.next_offset(), 2);
    }

    fn marker(at: Offset, producer: ProducerId, control_type: ControlType) -> Bytes {
        let mut builder = BatchBuilder::new(Codec::None)
            .base_offset(at)
            .producer(producer, 0, -1)
            .transactional(true)
            .control(true);
        let marker = EndTransactionMarker {
            control_type,
            coordinator_epoch: 0,
        };
        builder.append(1000, Some(&control_type.key()), Some(&marker.value()), &[]);
        builder.build()
    }

    fn transactional(at: Offset, count: usize, producer: ProducerId) -> Bytes {
        batch(at, count, Codec::None)
            .producer(producer, 0, 0)
            .transactional(true)
            .build()
    }

    #[test]
    fn markers_are_never_returned_and_aborted_records_only_to_who_wants_them() {
        let batches = [
            transactional(0, 2, 7),
            transactional(2, 1, 8),
            marker(3, 7, ControlType::Abort),
            transactional(4, 1, 7),
            marker(5, 8, ControlType::Commit),
            marker(6, 7, ControlType::Commit),
        ];
        let aborted = vec![AbortedTransaction {
            producer_id: 7,
            first_offset: 0,
        }];
        let all = || {
            let partition = TopicPartition::new("t", 0);
            CompletedFetch::new(partition, 0, batches.concat().into(), aborted.clone())
        };
        let mut fetch = all();
        assert_eq!(offsets(&mut fetch, 99, UNCOMMITTED), [0, 1, 2, 4]);
        assert_eq!(fetch.next_offset(), 7, "past the last marker");
        let mut fetch = all();
        assert_eq!(offsets(&mut fetch, 99, IsolationLevel::ReadCommitted), [2, 4]);
        assert_eq!(fetch.next_offset(), 7);
    }

    #[test]
    fn what_is_damaged_is_said_after_what_comes_before_it_and_never_passed() {
        let mut bad = batch(2, 1, Codec::None).build().to_vec();
        *bad.last_mut().unwrap() ^= 1;
        let mut fetch = fetch(0, &[batch(0, 2, Codec::None).build(), bad.into()]);
        assert_eq!(offsets(&mut fetch, 99, UNCOMMITTED), [0, 1]);
        for _ in 0..2 {
            let mut out = Vec::new();
            let error = fetch.read(99, &rules(UNCOMMITTED), &mut out).unwrap_err();
            assert!(
                matches!(error, ConsumerError::CorruptRecord { offset: 2, .. }),
                "{error}"
            );
            assert!(out.is_empty());
        }
    }

    #[test]
    fn without_check_crcs_a_wrong_checksum_is_not_seen() {
        let mut bad = batch(0, 1, Codec::None).build().to_vec();
        bad[17] ^= 1;
        let mut fetch = fetch(0, &[bad.into()]);
        let mut lenient = rules(UNCOMMITTED);
        lenient.check_crcs = false;
        let mut out = Vec::new();
        fetch.read(9, &lenient, &mut out).unwrap();
        assert_eq!(out.len(), 1);
    }
}
