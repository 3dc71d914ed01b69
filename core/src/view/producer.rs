//! One producer: where its records are, from being given to being acknowledged.
//!
//! Nothing of it changes what replicas hold, so none of its facts is a visible change of a cluster; who
//! shows a producer looks at what has changed here ([`ProducerView::apply`] says it).
//!
//! Invariants
//! - a record is in at most one batch, and a batch ends once
//! - memory is taken with a batch's first record, and free when the batch has ended

use serde::{Deserialize, Serialize};

use crate::ordered::OrderedMap;
use crate::trace::ProducerFact;
use crate::types::{BrokerId, Millis, TopicPartition};

/// What a producer has and does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProducerView {
    pub settings: ProducerSettings,
    /// When it did something last.
    pub now_ms: Millis,
    /// The record that it had in hand last.
    pub way: Way,
    /// Records that wait in `send`, in the order of waiting, each with the reason.
    pub blocked: OrderedMap<u64, String>,
    /// Batches that have not ended.
    pub batches: OrderedMap<u64, BatchView>,
    /// Requests of which something is not answered yet, in the order of sending.
    pub requests: Vec<RequestView>,
    /// What became of the records that it was last given.
    pub tally: Tally,
    /// Records that are in no batch yet, each with the time at which it was sent.
    begun: OrderedMap<u64, Millis>,
}

/// What it was told to do, as far as it decides when a batch goes out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProducerSettings {
    pub batch_size_bytes: u64,
    pub linger_ms: Millis,
    pub buffer_memory_bytes: u64,
    /// Kafka's name of the codec.
    pub compression: String,
    /// Requests to one broker that may be unanswered.
    pub max_in_flight: u32,
}

/// How far a record has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    pub record: Option<u64>,
    /// Each interceptor that has seen it, and whether that made another record of it.
    pub interceptors: Vec<(String, bool)>,
    /// Bytes of key and value.
    pub serialized: Option<(Option<u32>, Option<u32>)>,
    /// The partition, and why that one.
    pub partition: Option<(TopicPartition, String)>,
    pub batch: Option<u64>,
}

/// A batch, from its first record until it is acknowledged or given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchView {
    pub partition: TopicPartition,
    pub created_ms: Millis,
    /// Where each record ends in it, in bytes.
    pub ends: Vec<u64>,
    pub bytes: u64,
    /// Of `buffer.memory`.
    memory: u64,
    /// It takes no more and has gone out; the reason.
    pub drained: Option<String>,
    /// It goes out again.
    pub again: bool,
    /// When each record was sent.
    sent_ms: Vec<Millis>,
}

/// A request under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestView {
    pub node: BrokerId,
    /// Those that it is still to be answered for.
    pub batches: Vec<u64>,
    pub bytes: u64,
}

/// Counts of what was last given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub given: u64,
    pub acknowledged: u64,
    pub failed: u64,
    pub requests: u64,
    /// Between sending a record and its acknowledgement.
    pub longest_ms: Millis,
    pub sum_ms: Millis,
}

impl ProducerView {
    /// It is to send so many records more; what it was given before is counted no more.
    pub(super) fn given(&mut self, count: u32) {
        self.tally = Tally {
            given: u64::from(count),
            ..Tally::default()
        };
    }

    /// Bytes of `buffer.memory` that batches have.
    pub fn memory_used(&self) -> u64 {
        self.batches.values().map(|batch| batch.memory).sum()
    }

    /// Takes in what it does at that time.
    pub(super) fn apply(&mut self, at_ms: Millis, fact: &ProducerFact) {
        self.now_ms = at_ms;
        match fact {
            ProducerFact::ProducerConfigured {
                batch_size_bytes,
                linger_ms,
                buffer_memory_bytes,
                compression,
                max_in_flight,
            } => {
                self.settings = ProducerSettings {
                    batch_size_bytes: *batch_size_bytes,
                    linger_ms: *linger_ms,
                    buffer_memory_bytes: *buffer_memory_bytes,
                    compression: compression.clone(),
                    max_in_flight: *max_in_flight,
                }
            }
            ProducerFact::RecordIntercepted { by, changed } => {
                if self.way.record.is_some() {
                    self.way = Way::default();
                }
                self.way.interceptors.push((by.clone(), *changed));
            }
            ProducerFact::RecordBlocked { record, why, .. } => {
                self.has_in_hand(*record);
                self.blocked.insert(*record, why.clone());
                self.begun.entry(*record).or_insert(at_ms);
            }
            ProducerFact::RecordSerialized {
                record,
                key_bytes,
                value_bytes,
            } => {
                self.has_in_hand(*record);
                self.way.serialized = Some((*key_bytes, *value_bytes));
                self.begun.entry(*record).or_insert(at_ms);
            }
            ProducerFact::PartitionChosen {
                record,
                partition,
                why,
            } => {
                self.has_in_hand(*record);
                self.way.partition = Some((partition.clone(), why.clone()));
            }
            ProducerFact::RecordAppended {
                record,
                partition,
                batch,
                batch_bytes,
            } => {
                self.has_in_hand(*record);
                self.way.batch = Some(*batch);
                self.blocked.remove(record);
                self.append(*record, partition, *batch, *batch_bytes);
            }
            ProducerFact::RecordFailed { record, .. } => {
                self.blocked.remove(record);
                self.begun.remove(record);
                self.tally.failed += 1;
            }
            fact => self.apply_batch(fact),
        }
    }

    fn apply_batch(&mut self, fact: &ProducerFact) {
        match fact {
            ProducerFact::BatchDrained {
                batch, bytes, why, ..
            } => {
                if let Some(batch) = self.batches.get_mut(batch) {
                    batch.drained = Some(why.clone());
                    batch.bytes = *bytes;
                }
            }
            ProducerFact::RequestSent { node, batches, bytes } => {
                self.tally.requests += 1;
                self.requests.push(RequestView {
                    node: *node,
                    batches: batches.clone(),
                    bytes: *bytes,
                });
            }
            ProducerFact::BatchAcknowledged { batch, records, .. } => {
                self.tally.acknowledged += u64::from(*records);
                for sent_ms in self.end(*batch).into_iter().flat_map(|batch| batch.sent_ms) {
                    let waited = self.now_ms - sent_ms;
                    self.tally.sum_ms += waited;
                    self.tally.longest_ms = self.tally.longest_ms.max(waited);
                }
            }
            ProducerFact::BatchFailed { batch, records, .. } => {
                self.end(*batch);
                self.tally.failed += u64::from(*records);
            }
            ProducerFact::BatchRetried { batch, .. } => {
                self.answered(*batch);
                if let Some(batch) = self.batches.get_mut(batch) {
                    (batch.drained, batch.again) = (None, true);
                }
            }
            ProducerFact::BatchSplit { batch, into, .. } => self.split(*batch, into),
            _ => {}
        }
    }

    /// Another record is looked at now.
    fn has_in_hand(&mut self, record: u64) {
        let is_it = self.way.record.is_none_or(|before| before == record);
        if !is_it {
            self.way = Way::default();
        }
        self.way.record = Some(record);
    }

    fn append(&mut self, record: u64, partition: &TopicPartition, batch: u64, bytes: u64) {
        let sent_ms = self.begun.remove(&record).unwrap_or(self.now_ms);
        let (now, least) = (self.now_ms, self.settings.batch_size_bytes);
        let batch = self
            .batches
            .entry(batch)
            .or_insert_with(|| BatchView::new(partition, now, least.max(bytes)));
        batch.bytes = bytes;
        batch.ends.push(bytes);
        batch.sent_ms.push(sent_ms);
    }

    /// The batch is neither in the accumulator nor in a request any more.
    fn end(&mut self, batch: u64) -> Option<BatchView> {
        self.answered(batch);
        self.batches.remove(&batch)
    }

    /// The request that had the batch is answered as far as that goes.
    fn answered(&mut self, batch: u64) {
        for request in &mut self.requests {
            request.batches.retain(|had| *had != batch);
        }
        self.requests.retain(|request| !request.batches.is_empty());
    }

    /// The first part stands for what is in all of them, until they go out.
    fn split(&mut self, batch: u64, into: &[u64]) {
        let Some(big) = self.end(batch) else { return };
        for (part, sent_ms) in into
            .iter()
            .zip([big.sent_ms].into_iter().chain(std::iter::repeat(Vec::new())))
        {
            let mut small = BatchView::new(&big.partition, big.created_ms, 0);
            (small.again, small.sent_ms) = (true, sent_ms);
            self.batches.insert(*part, small);
        }
    }
}

impl BatchView {
    fn new(partition: &TopicPartition, created_ms: Millis, memory: u64) -> Self {
        Self {
            partition: partition.clone(),
            created_ms,
            ends: Vec::new(),
            bytes: 0,
            memory,
            drained: None,
            again: false,
            sent_ms: Vec::new(),
        }
    }
}
