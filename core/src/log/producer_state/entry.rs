//! What is known of one producer in one partition.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::record::header::NO_SEQUENCE;
use crate::types::{Millis, Offset, ProducerEpoch, ProducerId, Sequence};

/// As many batches as a client may have unanswered.
pub const BATCHES_TO_RETAIN: usize = 5;
/// "No epoch": of a producer that has only just been met.
pub const NO_PRODUCER_EPOCH: ProducerEpoch = -1;

/// One batch, by its last record (Kafka's `BatchMetadata`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchMetadata {
    pub last_sequence: Sequence,
    pub last_offset: Offset,
    /// Last offset less first offset.
    pub offset_delta: i32,
    /// The batch's greatest timestamp.
    pub timestamp_ms: Millis,
}

impl BatchMetadata {
    /// Sequences wrap: after `i32::MAX` comes 0.
    pub fn first_sequence(&self) -> Sequence {
        self.last_sequence.wrapping_sub(self.offset_delta) & i32::MAX
    }

    pub fn first_offset(&self) -> Offset {
        self.last_offset - i64::from(self.offset_delta)
    }
}

/// Kafka's `ProducerStateEntry`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProducerStateEntry {
    pub producer_id: ProducerId,
    pub producer_epoch: ProducerEpoch,
    /// Of the coordinator that wrote the last end marker; -1 when there was none.
    pub coordinator_epoch: i32,
    /// Of the last batch or marker.
    pub last_timestamp_ms: Millis,
    /// Where the open transaction began.
    pub current_txn_first_offset: Option<Offset>,
    /// The last batches of the present epoch, oldest first, at most [`BATCHES_TO_RETAIN`].
    pub batches: SmallVec<[BatchMetadata; BATCHES_TO_RETAIN]>,
}

impl ProducerStateEntry {
    /// A producer of whom nothing is known.
    pub fn empty(producer_id: ProducerId) -> Self {
        Self {
            producer_id,
            producer_epoch: NO_PRODUCER_EPOCH,
            coordinator_epoch: -1,
            last_timestamp_ms: crate::types::NO_TIMESTAMP,
            current_txn_first_offset: None,
            batches: SmallVec::new(),
        }
    }

    /// -1 when no batch of the present epoch is remembered.
    pub fn last_sequence(&self) -> Sequence {
        self.batches
            .last()
            .map_or(NO_SEQUENCE, |batch| batch.last_sequence)
    }

    // ANCHOR: find_duplicate
    /// The remembered batch with exactly these sequences in this epoch.
    pub fn find_duplicate(
        &self,
        epoch: ProducerEpoch,
        first: Sequence,
        last: Sequence,
    ) -> Option<&BatchMetadata> {
        let same = |batch: &&BatchMetadata| batch.first_sequence() == first && batch.last_sequence == last;
        self.batches
            .iter()
            .find(same)
            .filter(|_| epoch == self.producer_epoch)
    }
    // ANCHOR_END: find_duplicate

    pub(super) fn add_batch(&mut self, epoch: ProducerEpoch, batch: BatchMetadata) {
        self.enter_epoch(epoch);
        if self.batches.len() == BATCHES_TO_RETAIN {
            self.batches.remove(0);
        }
        self.batches.push(batch);
        self.last_timestamp_ms = batch.timestamp_ms;
    }

    pub(super) fn end_transaction(
        &mut self,
        epoch: ProducerEpoch,
        coordinator_epoch: i32,
        timestamp_ms: Millis,
    ) {
        self.enter_epoch(epoch);
        self.coordinator_epoch = coordinator_epoch;
        self.current_txn_first_offset = None;
        self.last_timestamp_ms = timestamp_ms;
    }

    pub(super) fn is_expired(&self, now: Millis, expiration_ms: Millis) -> bool {
        self.current_txn_first_offset.is_none() && now.saturating_sub(self.last_timestamp_ms) >= expiration_ms
    }

    /// Sequences begin anew with each epoch.
    fn enter_epoch(&mut self, epoch: ProducerEpoch) {
        if self.producer_epoch != epoch {
            self.producer_epoch = epoch;
            self.batches.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sequence_of_a_batch_may_lie_before_the_wrap() {
        let first = |last_sequence, offset_delta| {
            let batch = BatchMetadata {
                last_sequence,
                last_offset: 100,
                offset_delta,
                timestamp_ms: 0,
            };
            batch.first_sequence()
        };
        assert_eq!(first(9, 4), 5);
        assert_eq!(first(4, 4), 0);
        assert_eq!(first(0, 1), i32::MAX);
        assert_eq!(first(1, 3), i32::MAX - 1);
        assert_eq!(first(i32::MAX, 0), i32::MAX);
    }
}
