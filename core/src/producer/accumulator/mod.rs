//! Where records wait to be sent: a queue of batches for each partition (Kafka's `RecordAccumulator`
//! and `BufferPool`).
//!
//! A record goes into the last batch of its partition, or begins another, for which there must be
//! memory. What goes out, and when, is decided in `ready`; how a batch comes back in `again`.
//!
//! Invariants
//! - a batch is in its queue, or in a request, until it ends; then it is nowhere
//! - memory is taken when a batch begins and given back once, when it has ended and, if its time was over, no
//!   request has it any more
//! - numbered batches of a partition stay in the order of their numbers, before those without

mod again;
mod ready;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::ordered::{OrderedMap, OrderedSet};

pub(super) use ready::{Drained, Hurry};

use super::ProducerConfig;
use super::batch::{BatchId, Packed, ProducerBatch};
use super::partitioner::built_in::BuiltInPartitioner;
use super::record::RecordId;
use crate::record::Compression;
use crate::trace::EventId;
use crate::types::{BrokerId, Millis, PartitionIndex, TopicPartition};
use ready::Latency;

/// The ratio that is believed of a topic at first.
const NO_COMPRESSION: f32 = 1.0;
/// How fast a better ratio is believed, and a worse one (`CompressionRatioEstimator`).
const RATIO_IMPROVES: f32 = 0.005;
const RATIO_WORSENS: f32 = 0.05;

#[derive(Clone, Debug)]
struct TopicQueues {
    built_in: BuiltInPartitioner,
    queues: OrderedMap<PartitionIndex, VecDeque<BatchId>>,
    /// How well records of the topic were compressed lately.
    ratio: f32,
}

/// Where a record went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Appended {
    pub batch: BatchId,
    /// Bytes by which the batch grew.
    pub bytes: usize,
    pub is_new: bool,
    /// The batch takes no more.
    pub is_full: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Accumulator {
    batch_size_bytes: usize,
    compression: Compression,
    linger_ms: Millis,
    adaptive: bool,
    availability_timeout_ms: Millis,
    memory_total: u64,
    memory_used: u64,
    topics: OrderedMap<Arc<str>, TopicQueues>,
    /// Every batch that has not ended.
    pub batches: OrderedMap<BatchId, ProducerBatch>,
    by_age: OrderedSet<(Millis, BatchId)>,
    /// Memory of batches whose time was over while a request had them.
    held_bytes: OrderedMap<BatchId, usize>,
    next_batch: BatchId,
    /// Partitions of which nothing goes out before the request that has their last batch has ended.
    pub muted: OrderedSet<TopicPartition>,
    drained_last: OrderedMap<BrokerId, TopicPartition>,
    latencies: OrderedMap<BrokerId, Latency>,
}

impl Accumulator {
    pub fn new(config: &ProducerConfig) -> Self {
        Self {
            batch_size_bytes: config.batch_size_bytes.max(1),
            compression: config.compression,
            linger_ms: config.linger_ms,
            adaptive: config.adaptive,
            availability_timeout_ms: config.availability_timeout_ms,
            memory_total: config.buffer_memory_bytes,
            memory_used: 0,
            topics: OrderedMap::new(),
            batches: OrderedMap::new(),
            by_age: OrderedSet::new(),
            held_bytes: OrderedMap::new(),
            next_batch: 0,
            muted: OrderedSet::new(),
            drained_last: OrderedMap::new(),
            latencies: OrderedMap::new(),
        }
    }

    fn topic(&mut self, topic: &Arc<str>) -> &mut TopicQueues {
        let batch_size = self.batch_size_bytes;
        self.topics.entry(topic.clone()).or_insert_with(|| TopicQueues {
            built_in: BuiltInPartitioner::new(batch_size),
            queues: OrderedMap::new(),
            ratio: NO_COMPRESSION,
        })
    }

    /// The sticky choice for records of the topic that have no partition.
    pub fn built_in(&mut self, topic: &Arc<str>) -> &mut BuiltInPartitioner {
        &mut self.topic(topic).built_in
    }

    fn queue(&mut self, partition: &TopicPartition) -> &mut VecDeque<BatchId> {
        let topic = self.topic(&partition.topic);
        topic.queues.entry(partition.partition).or_default()
    }

    // ---- memory

    pub fn memory_available(&self) -> u64 {
        self.memory_total.saturating_sub(self.memory_used)
    }

    /// What a batch that begins with the record takes of the memory.
    pub fn size_of_new(&self, record: &Packed) -> usize {
        self.batch_size_bytes.max(record.most_bytes())
    }

    // ---- records in

    /// Puts the record into the partition's last batch, or begins another; the error is how much memory
    /// that lacks. `may_begin`: whether there may be another.
    pub fn append(
        &mut self,
        partition: &TopicPartition,
        (id, record): (RecordId, &Packed),
        begun: (Millis, EventId),
        may_begin: bool,
    ) -> Result<Appended, usize> {
        if !self.make_room(partition, record) {
            let size = self.size_of_new(record);
            if !may_begin || size as u64 > self.memory_available() {
                return Err(size);
            }
            self.begin(partition, begun, size);
        }
        let last = self.last(partition);
        let Some(batch) = last.and_then(|last| self.batches.get_mut(&last)) else {
            return Err(0);
        };
        let (before, is_new) = (batch.estimated_bytes(), batch.records.is_empty());
        batch.append(id, record);
        Ok(Appended {
            batch: batch.id,
            // With the first record comes the batch's header.
            bytes: batch.estimated_bytes() - if is_new { 0 } else { before },
            is_new,
            is_full: batch.is_full(),
        })
    }

    /// Whether the partition's last batch has room for the record; if not, it takes no more at all.
    pub fn make_room(&mut self, partition: &TopicPartition, record: &Packed) -> bool {
        let last = self.last(partition);
        let Some(batch) = last.and_then(|last| self.batches.get_mut(&last)) else {
            return false;
        };
        let has_room = batch.has_room_for(record);
        if !has_room {
            batch.close();
        }
        has_room
    }

    fn last(&mut self, partition: &TopicPartition) -> Option<BatchId> {
        self.queue(partition).back().copied()
    }

    fn begin(&mut self, partition: &TopicPartition, (now, cause): (Millis, EventId), size: usize) {
        let mut batch = self.new_batch(partition, now, cause, size);
        batch.memory_bytes = size;
        batch.is_queued = true;
        self.memory_used += size as u64;
        self.queue(partition).push_back(batch.id);
        self.insert(batch);
    }

    fn new_batch(
        &mut self,
        partition: &TopicPartition,
        created_ms: Millis,
        cause: EventId,
        limit: usize,
    ) -> ProducerBatch {
        let id = self.next_batch;
        self.next_batch += 1;
        let ratio = self.topic(&partition.topic).ratio;
        let place = (id, partition.clone());
        ProducerBatch::new(place, (created_ms, cause), self.compression, limit, ratio)
    }

    fn insert(&mut self, batch: ProducerBatch) {
        self.by_age.insert((batch.created_ms, batch.id));
        self.batches.insert(batch.id, batch);
    }

    // ---- batches out

    /// Ends a batch, whatever its fate: its memory is free again.
    pub fn remove(&mut self, id: BatchId) -> Option<ProducerBatch> {
        let batch = self.forget(id)?;
        self.memory_used -= batch.memory_bytes as u64;
        Some(batch)
    }

    /// Ends a batch whose time is over. A request may have it still, and memory is not free before that has
    /// its answer (KAFKA-19012).
    pub fn expire(&mut self, id: BatchId) -> Option<ProducerBatch> {
        if !self.batches.get(&id)?.is_under_way {
            return self.remove(id);
        }
        let batch = self.forget(id)?;
        self.held_bytes.insert(id, batch.memory_bytes);
        Some(batch)
    }

    fn forget(&mut self, id: BatchId) -> Option<ProducerBatch> {
        let batch = self.batches.remove(&id)?;
        self.by_age.remove(&(batch.created_ms, id));
        if batch.is_queued {
            self.queue(&batch.partition).retain(|queued| *queued != id);
        }
        Some(batch)
    }

    /// The request that had the batch has its answer, or will have none.
    pub fn landed(&mut self, id: BatchId) {
        if let Some(bytes) = self.held_bytes.remove(&id) {
            self.memory_used -= bytes as u64;
        }
        if let Some(batch) = self.batches.get_mut(&id) {
            batch.is_under_way = false;
        }
    }

    /// The batch that began first, with the time when it did.
    pub fn oldest(&self) -> Option<(Millis, BatchId)> {
        self.by_age.first().copied()
    }

    /// What compression achieved: better is believed slowly, worse faster.
    fn learn_ratio(&mut self, topic: &Arc<str>, observed: f32) {
        let topic = self.topic(topic);
        topic.ratio = if observed < topic.ratio {
            (topic.ratio - RATIO_IMPROVES).max(observed)
        } else if observed > topic.ratio {
            (topic.ratio + RATIO_WORSENS).max(observed)
        } else {
            observed
        };
    }
}
