//! What a log remembers of its producers: enough to store each record once, in order, and to know
//! which records are not yet decided.
//!
//! An idempotent producer numbers its records per partition. The log keeps the last five batches of
//! each producer (KIP-98; five is as many as a client may have unanswered): a batch that is among
//! them is a retry and is answered with its first offsets, one that leaves a gap is refused, one from
//! an older epoch is a zombie's. A transactional producer leaves its transaction open here until an
//! end marker comes. Reading order: [`entry`] is one producer; [`check`] decides; this file applies;
//! [`transactions`] knows what is open; [`snapshot`] is the file; [`reload`] finds the way back after
//! a restart or a truncation (Kafka's `ProducerStateManager`, `ProducerAppendInfo`).
//!
//! A producer without an entry (new, expired, or all its records deleted) may begin with any
//! sequence: Kafka 4.4 never answers UNKNOWN_PRODUCER_ID.
//!
//! Invariants
//! - the state is a function of the log's batches below [`map_end_offset`](ProducerStateManager::map_end_offset),
//!   less what has expired
//! - a transaction is open in an entry exactly when it is among the ongoing ones
//! - an empty state allocates next to nothing, a clone shares the entries until one of the two changes

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::log::transaction_index::AbortedTxn;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::record::compression::PURE_RUST;
use crate::record::control::{ControlType, EndTransactionMarker};
use crate::record::{Batch, BatchHeader};
use crate::types::{Millis, Offset, ProducerId};

pub mod check;
pub mod entry;
pub mod reload;
pub mod snapshot;
pub mod transactions;

pub use check::{AppendOrigin, TransactionVersion, Verdict};
pub use entry::{BatchMetadata, ProducerStateEntry};
use transactions::Transactions;

/// The producers of one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProducerStateManager {
    producers: Arc<OrderedMap<ProducerId, ProducerStateEntry>>,
    transactions: Transactions,
    /// Offsets of the snapshot files that are there.
    snapshots: OrderedSet<Offset>,
    map_end_offset: Offset,
    last_snapshot_offset: Offset,
}

/// A transaction that a marker has just ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletedTxn {
    pub producer_id: ProducerId,
    pub first_offset: Offset,
    /// Offset of the marker.
    pub last_offset: Offset,
    pub is_aborted: bool,
    /// First offset of the oldest transaction that is still open, or the offset after the marker.
    pub last_stable_offset: Offset,
}

/// The end marker in a control batch and its record's timestamp; `None` for any other batch, and for a
/// control batch that compaction has emptied. Control batches are never compressed.
pub fn marker_of(batch: &Batch) -> Option<(EndTransactionMarker, Millis)> {
    if !batch.header.is_control() {
        return None;
    }
    let mut records = batch.records(&PURE_RUST, batch.bytes.len()).ok()?;
    let record = records.next()?.ok()?;
    let timestamp_ms = record.timestamp;
    EndTransactionMarker::parse(&record).map(|marker| (marker, timestamp_ms))
}

impl CompletedTxn {
    /// The entry that the segment's transaction index gets; none for a commit.
    pub fn aborted(&self) -> Option<AbortedTxn> {
        self.is_aborted.then_some(AbortedTxn {
            producer_id: self.producer_id,
            first_offset: self.first_offset,
            last_offset: self.last_offset,
            last_stable_offset: self.last_stable_offset,
        })
    }
}

impl ProducerStateManager {
    /// Notes a data batch that is being appended at `base_offset`. The header is the one that goes
    /// into the log: under LogAppendTime its greatest timestamp is the broker's. Batches without a
    /// producer only move the end.
    pub fn apply(&mut self, header: &BatchHeader, base_offset: Offset) {
        let last_offset = base_offset + i64::from(header.last_offset_delta);
        self.map_end_offset = last_offset + 1;
        if !header.has_producer_id() || header.is_control() {
            return;
        }
        let entry = self.entry_mut(header.producer_id);
        let batch = BatchMetadata {
            last_sequence: header.last_sequence(),
            last_offset,
            offset_delta: header.last_offset_delta,
            timestamp_ms: header.max_timestamp,
        };
        entry.add_batch(header.producer_epoch, batch);
        if header.is_transactional() && entry.current_txn_first_offset.is_none() {
            entry.current_txn_first_offset = Some(base_offset);
            self.transactions.begin(base_offset, header.producer_id);
        }
    }

    /// Notes an end marker that is being appended at `base_offset`; `timestamp_ms` is its record's.
    /// `None`: the producer had nothing open here, so nothing is decided by it.
    pub fn apply_marker(
        &mut self,
        header: &BatchHeader,
        marker: &EndTransactionMarker,
        base_offset: Offset,
        timestamp_ms: Millis,
    ) -> Option<CompletedTxn> {
        let producer_id = header.producer_id;
        let entry = self.entry_mut(producer_id);
        let first_offset = entry.current_txn_first_offset.take();
        entry.end_transaction(header.producer_epoch, marker.coordinator_epoch, timestamp_ms);
        self.map_end_offset = base_offset + i64::from(header.last_offset_delta) + 1;
        let first_offset = first_offset?;
        let open_before = self.transactions.complete(first_offset, base_offset);
        Some(CompletedTxn {
            producer_id,
            first_offset,
            last_offset: base_offset,
            is_aborted: marker.control_type == ControlType::Abort,
            last_stable_offset: open_before.unwrap_or(base_offset + 1),
        })
    }

    /// Notes a batch read back from the log, which nobody doubts any more. `marker` is the first record
    /// of a control batch; a control batch that compaction has emptied has none.
    pub fn replay(
        &mut self,
        header: &BatchHeader,
        marker: Option<(&EndTransactionMarker, Millis)>,
    ) -> Option<CompletedTxn> {
        match marker.filter(|_| header.is_control() && header.has_producer_id()) {
            Some((marker, timestamp_ms)) => {
                self.apply_marker(header, marker, header.base_offset, timestamp_ms)
            }
            None => {
                self.apply(header, header.base_offset);
                None
            }
        }
    }

    /// Forgets producers that have been silent for `expiration_ms` (`producer.id.expiration.ms`) and
    /// have nothing open; answers how many.
    pub fn remove_expired(&mut self, now: Millis, expiration_ms: Millis) -> usize {
        let mut silent = self.producers.values();
        if !silent.any(|entry| entry.is_expired(now, expiration_ms)) {
            return 0;
        }
        let before = self.producers.len();
        Arc::make_mut(&mut self.producers).retain(|_, entry| !entry.is_expired(now, expiration_ms));
        before - self.producers.len()
    }

    /// The first offset that `read_committed` must not pass: of the oldest transaction that is open,
    /// or whose marker is not yet below the high watermark.
    pub fn first_unstable_offset(&self) -> Option<Offset> {
        self.transactions.first_unstable()
    }

    /// The first offset of the oldest transaction without a marker.
    pub fn first_undecided_offset(&self) -> Option<Offset> {
        self.transactions.first_undecided()
    }

    /// Markers below the high watermark make their transactions stable.
    pub fn on_high_watermark(&mut self, high_watermark: Offset) {
        self.transactions.replicated_below(high_watermark);
    }

    /// The state holds all batches below this offset.
    pub fn map_end_offset(&self) -> Offset {
        self.map_end_offset
    }

    /// What is known of a producer.
    pub fn last_entry(&self, producer_id: ProducerId) -> Option<&ProducerStateEntry> {
        self.producers.get(&producer_id)
    }

    /// All producers, by id.
    pub fn active_producers(&self) -> impl Iterator<Item = &ProducerStateEntry> {
        self.producers.values()
    }

    /// Whether nobody is remembered and nothing is open.
    pub fn is_empty(&self) -> bool {
        self.producers.is_empty() && self.transactions.is_empty()
    }

    fn entry_mut(&mut self, producer_id: ProducerId) -> &mut ProducerStateEntry {
        let producers = Arc::make_mut(&mut self.producers);
        producers
            .entry(producer_id)
            .or_insert_with(|| ProducerStateEntry::empty(producer_id))
    }
}

#[cfg(test)]
mod fixtures_tests;
#[cfg(test)]
mod tests;
