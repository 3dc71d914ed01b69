//! The numbers by which a broker stores a repeated batch once and in order (the idempotent half of
//! Kafka's `TransactionManager`; KIP-98, KIP-360).
//!
//! A producer has an id and an epoch, and numbers its records for each partition. As long as a batch
//! may still end well its numbers are its own. A batch that is given up leaves a gap, or does not, and
//! nobody knows: the partition is *unresolved*, and nothing new is numbered for it until all that is
//! numbered has ended. Then either every number below the next one is acknowledged, or the epoch is
//! raised and the partition begins at 0. A batch that a broker has refused for good surely left a gap:
//! what comes after it is numbered anew, in a higher epoch.
//!
//! A broker that knows nothing of a producer takes the first number that comes for the first there is. So
//! until it has acknowledged a batch of the producer there is one under way, for each partition.
//!
//! Invariants
//! - batches of a partition are numbered in the order in which they were filled, and go again in it
//! - a number is never given to other records within an epoch
//! - a batch keeps its numbers while one before it may have been stored

use std::collections::VecDeque;

use super::batch::{BatchId, Identity, ProducerBatch, sequence_after};
use crate::error::ErrorCode;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::{NO_PRODUCER_ID, Offset, ProducerEpoch, ProducerId, Sequence, TopicPartition};

/// The numbers of one partition.
#[derive(Clone, Debug)]
struct Numbers {
    id: ProducerId,
    epoch: ProducerEpoch,
    next: Sequence,
    /// The number after the last one that was acknowledged.
    acked: Sequence,
    /// A batch of this id was acknowledged: the leader tells a gap when it sees one.
    is_known: bool,
    /// Numbered batches that have not ended, under way or waiting for another attempt, in order.
    open: VecDeque<BatchId>,
}

/// The epoch was raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bumped {
    pub id: ProducerId,
    pub epoch: ProducerEpoch,
    /// These begin at 0 now.
    pub partitions: Vec<TopicPartition>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Idempotence {
    enabled: bool,
    identity: Option<(ProducerId, ProducerEpoch)>,
    /// Nothing was numbered under the identity yet.
    is_fresh: bool,
    partitions: OrderedMap<TopicPartition, Numbers>,
    /// With the number after the batch whose outcome is not known.
    unresolved: OrderedMap<TopicPartition, Sequence>,
    /// To begin anew, as soon as these have ended: batches before the gap, which keep their numbers.
    gaps: OrderedMap<TopicPartition, OrderedSet<BatchId>>,
}

impl Idempotence {
    pub fn new(enabled: bool) -> Self {
        Self {
            enabled,
            ..Self::default()
        }
    }

    pub fn needs_id(&self) -> bool {
        self.enabled && self.identity.is_none()
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    pub fn assigned(&mut self, id: ProducerId, epoch: ProducerEpoch) {
        self.identity = Some((id, epoch));
        self.is_fresh = true;
    }

    fn numbers(&mut self, partition: &TopicPartition) -> &mut Numbers {
        self.partitions.entry(partition.clone()).or_insert(Numbers {
            id: NO_PRODUCER_ID,
            epoch: -1,
            next: 0,
            acked: 0,
            is_known: false,
            open: VecDeque::new(),
        })
    }

    // ---- on the way out

    /// Whether the batch may go out now.
    pub fn may_send(&mut self, batch: &ProducerBatch) -> bool {
        if !self.enabled {
            return true;
        }
        let Some(identity) = self.identity else {
            return false;
        };
        let is_settled =
            !self.unresolved.contains_key(&batch.partition) && !self.gaps.contains_key(&batch.partition);
        let numbers = self.numbers(&batch.partition);
        let first = numbers.open.front();
        match batch.identity {
            // One that goes again is the first that has not ended.
            Some(_) => first.is_none_or(|first| *first == batch.id),
            None if first.is_some() => {
                is_settled && numbers.is_known && (numbers.id, numbers.epoch) == identity
            }
            None => is_settled,
        }
    }

    /// Numbers for a batch that goes out for the first time; `None` without idempotence.
    pub fn number(&mut self, batch: &ProducerBatch) -> Option<Identity> {
        let (id, epoch) = self.identity.filter(|_| self.enabled)?;
        self.is_fresh = false;
        let numbers = self.numbers(&batch.partition);
        if (numbers.id, numbers.epoch) != (id, epoch) && numbers.open.is_empty() {
            numbers.begin(id, epoch);
        }
        let sequence = numbers.next;
        numbers.next = sequence_after(sequence, batch.records.len());
        numbers.open.push_back(batch.id);
        Some((id, epoch, sequence))
    }

    /// Numbered batches of the partition that have not ended, in order.
    fn open(&self, partition: &TopicPartition) -> impl Iterator<Item = BatchId> + '_ {
        let numbers = self.partitions.get(partition).into_iter();
        numbers.flat_map(|numbers| numbers.open.iter().copied())
    }

    /// Whether `first` was numbered before `second`, both open.
    pub fn precedes(&self, partition: &TopicPartition, first: BatchId, second: BatchId) -> bool {
        let place = |id| self.open(partition).position(|other| other == id);
        matches!((place(first), place(second)), (Some(first), Some(second)) if first < second)
    }

    /// Parts take the place of the batch that was split.
    pub fn replace(&mut self, batch: &ProducerBatch, parts: &[BatchId]) {
        let open = &mut self.numbers(&batch.partition).open;
        if let Some(place) = open.iter().position(|id| *id == batch.id) {
            open.remove(place);
            parts.iter().rev().for_each(|part| open.insert(place, *part));
        }
    }

    // ---- how it ends

    fn close(&mut self, batch: &ProducerBatch) {
        if batch.identity.is_none() {
            return;
        }
        let numbers = self.numbers(&batch.partition);
        numbers.open.retain(|open| *open != batch.id);
        if let Some(earlier) = self.gaps.get_mut(&batch.partition) {
            earlier.remove(&batch.id);
        }
    }

    /// Some records are acknowledged under the numbers with which they were sent. `batch`: `None` when it
    /// was given up before.
    pub fn acknowledged(
        &mut self,
        partition: &TopicPartition,
        sent: Option<Identity>,
        records: usize,
        batch: Option<&ProducerBatch>,
    ) {
        let Some((id, epoch, first)) = sent else {
            return;
        };
        if let Some(batch) = batch {
            self.close(batch);
        }
        let numbers = self.numbers(partition);
        numbers.is_known |= numbers.id == id;
        if (numbers.id, numbers.epoch) == (id, epoch) {
            let end = sequence_after(first, records);
            if is_later(end, numbers.acked) {
                numbers.acked = end;
            }
        } else if batch.is_some() {
            // It was numbered anew meanwhile, in vain: what comes after it begins anew once more.
            self.gaps.insert(partition.clone(), OrderedSet::new());
        }
    }

    /// The batch is given up, and whether it was stored is not known. The number after it, if it has any.
    pub fn gave_up(&mut self, batch: &ProducerBatch) -> Option<Sequence> {
        self.close(batch);
        let next = sequence_after(batch.base_sequence()?, batch.records.len());
        let known = self.unresolved.entry(batch.partition.clone()).or_insert(next);
        if is_later(next, *known) {
            *known = next;
        }
        Some(*known)
    }

    /// The broker has refused the batch for good: what comes after it begins anew.
    pub fn refused(&mut self, batch: &ProducerBatch) {
        if batch.identity.is_some() {
            self.gap_before(batch);
            self.close(batch);
        }
    }

    /// The broker misses what came before the batch, or the batch itself will never come.
    fn gap_before(&mut self, batch: &ProducerBatch) {
        let open = &self.numbers(&batch.partition).open;
        let earlier: OrderedSet<BatchId> = open.iter().copied().take_while(|id| *id != batch.id).collect();
        let known = self
            .gaps
            .entry(batch.partition.clone())
            .or_insert(earlier.clone());
        known.retain(|id| earlier.contains(id));
    }

    /// Whether the batch may go again after this error, sent under these numbers; notes a gap that the
    /// error shows (`TransactionManager.canRetry`).
    pub fn may_retry(
        &mut self,
        batch: &ProducerBatch,
        sent: Option<Identity>,
        code: ErrorCode,
        log_start: Offset,
    ) -> bool {
        let was_renumbered = batch.identity != sent;
        match code {
            ErrorCode::InvalidProducerEpoch if was_renumbered => true,
            ErrorCode::UnknownProducerId if batch.identity.is_some() => {
                if log_start >= 0 && !was_renumbered {
                    self.gap_before(batch);
                }
                true
            }
            ErrorCode::OutOfOrderSequenceNumber if batch.identity.is_some() => {
                if !was_renumbered && self.shows_a_gap(batch) {
                    self.gap_before(batch);
                }
                true
            }
            code => code.is_retriable(),
        }
    }

    /// The broker misses what comes before the batch, and that is not merely late.
    fn shows_a_gap(&mut self, batch: &ProducerBatch) -> bool {
        let first = batch.base_sequence();
        match self.unresolved.get(&batch.partition) {
            Some(next) => first == Some(*next),
            None => first == Some(self.numbers(&batch.partition).acked),
        }
    }

    // ---- settling

    /// Settles what can be settled now that nothing numbered is open.
    pub fn resolve(&mut self) {
        let partitions: Vec<TopicPartition> = self.unresolved.keys().cloned().collect();
        for partition in partitions {
            let numbers = self.numbers(&partition);
            if !numbers.open.is_empty() {
                continue;
            }
            let is_whole = numbers.acked == numbers.next;
            self.unresolved.remove(&partition);
            if !is_whole {
                self.gaps.entry(partition).or_default();
            }
        }
    }

    /// Raises the epoch if a partition is to begin anew, and numbers its open batches again, in order.
    /// Nothing happens while one before them is open: it may have been stored under its old numbers.
    pub fn bump(&mut self, batches: &mut OrderedMap<BatchId, ProducerBatch>) -> Option<Bumped> {
        let partitions = self.due();
        let (id, epoch) = self.identity.filter(|_| !partitions.is_empty())?;
        let epoch = if self.is_fresh {
            Some(epoch)
        } else {
            epoch.checked_add(1)
        };
        let Some(epoch) = epoch else {
            // The last epoch is used up: another id is asked for.
            self.identity = None;
            return None;
        };
        self.identity = Some((id, epoch));
        self.is_fresh = false;
        for partition in &partitions {
            self.gaps.remove(partition);
            self.unresolved.remove(partition);
            let numbers = self.numbers(partition);
            numbers.begin(id, epoch);
            for open in &numbers.open {
                if let Some(batch) = batches.get_mut(open) {
                    batch.renumber((id, epoch, numbers.next));
                    numbers.next = sequence_after(numbers.next, batch.records.len());
                }
            }
        }
        Some(Bumped {
            id,
            epoch,
            partitions,
        })
    }

    fn due(&self) -> Vec<TopicPartition> {
        let gaps = self.gaps.iter().filter(|(_, earlier)| earlier.is_empty());
        gaps.map(|(partition, _)| partition.clone()).collect()
    }
}

impl Numbers {
    fn begin(&mut self, id: ProducerId, epoch: ProducerEpoch) {
        self.is_known &= self.id == id;
        (self.id, self.epoch, self.next, self.acked) = (id, epoch, 0, 0);
    }
}

/// Of two numbers in a ring the later one is the one that is reached in fewer steps.
fn is_later(number: Sequence, than: Sequence) -> bool {
    let steps = number.wrapping_sub(than) & Sequence::MAX;
    steps > 0 && steps < Sequence::MAX / 2
}
