//! What goes out, and when (`RecordAccumulator.ready` and `drain`).
//!
//! A batch goes out when it is full, when another waits behind it, when it has waited `linger.ms`, and
//! at once while somebody waits for memory, for a flush or for the end; one that failed waits for its
//! backoff instead, unless its partition has another leader. With the one that is due go others to the
//! same node, one batch of each partition as long as they fit into a request; the next request begins
//! with the partition after the last.

use std::sync::Arc;

use super::Accumulator;
use crate::client::Metadata;
use crate::ordered::OrderedSet;
use crate::producer::batch::{BatchId, ProducerBatch};
use crate::producer::idempotence::Idempotence;
use crate::producer::partitioner::built_in::PartitionLoads;
use crate::types::{BrokerId, LeaderEpoch, Millis, TopicPartition};

/// When a node last had batches to be sent, and when it last took some.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latency {
    ready_ms: Millis,
    drained_ms: Millis,
}

/// Why nothing lingers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::producer) enum Hurry {
    Memory,
    Flush,
    Close,
}

impl Hurry {
    fn reason(self) -> &'static str {
        match self {
            Self::Memory => "memory is short",
            Self::Flush => "somebody waits for a flush",
            Self::Close => "the producer is being closed",
        }
    }
}

/// Whom to send to, and when to look again.
#[derive(Clone, Debug, Default)]
pub(in crate::producer) struct Ready {
    pub nodes: OrderedSet<BrokerId>,
    pub next_check: Option<Millis>,
    /// Topics with batches for partitions that nobody is known to lead.
    pub without_leader: OrderedSet<Arc<str>>,
}

/// A batch that goes with a request, and why now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::producer) struct Drained {
    pub batch: BatchId,
    pub why: &'static str,
}

impl Accumulator {
    /// Which nodes have batches to be sent.
    pub fn ready(&mut self, metadata: &Metadata, now: Millis, hurry: Option<Hurry>) -> Ready {
        let mut ready = Ready::default();
        let names: Vec<Arc<str>> = self.topics.keys().cloned().collect();
        for name in names {
            let loads = self.topic_ready(&name, metadata, now, hurry, &mut ready);
            if self.adaptive {
                self.built_in(&name).update_loads(loads);
            }
        }
        ready
    }

    /// The loads of the topic's partitions, once each has had a batch.
    fn topic_ready(
        &self,
        name: &Arc<str>,
        metadata: &Metadata,
        now: Millis,
        hurry: Option<Hurry>,
        ready: &mut Ready,
    ) -> Option<PartitionLoads> {
        let topic = self.topics.get(name)?;
        let mut loads = PartitionLoads::default();
        for (index, queue) in &topic.queues {
            let partition = TopicPartition::new(name.clone(), *index);
            let first = queue.front().and_then(|first| self.batches.get(first));
            let Some((leader, epoch)) = metadata.leader(&partition) else {
                if first.is_some() {
                    ready.without_leader.insert(name.clone());
                }
                continue;
            };
            match first.is_some() && self.is_slow(leader) {
                true => loads.some_left_out = true,
                false => loads.queues.push((*index, queue.len() as u32)),
            }
            let Some(first) = first.filter(|_| !self.muted.contains(&partition)) else {
                continue;
            };
            let at = self.due(first, queue.len(), epoch, hurry);
            if at <= now {
                ready.nodes.insert(leader);
            } else {
                ready.next_check = Some(ready.next_check.map_or(at, |before| before.min(at)));
            }
        }
        let partitions = metadata.topic(name)?.partitions.len();
        (topic.queues.len() >= partitions).then_some(loads)
    }

    // ANCHOR: due
    /// When the first batch of a queue is to go out.
    fn due(
        &self,
        first: &ProducerBatch,
        queued: usize,
        epoch: Option<LeaderEpoch>,
        hurry: Option<Hurry>,
    ) -> Millis {
        if let Some(until) = first.backs_off_until(epoch) {
            until
        } else if hurry.is_some() || queued > 1 || first.is_full() {
            Millis::MIN
        } else {
            first.created_ms.saturating_add(self.linger_ms)
        }
    }
    // ANCHOR_END: due

    fn is_slow(&self, node: BrokerId) -> bool {
        let latency = self.latencies.get(&node);
        self.availability_timeout_ms > 0
            && latency.is_some_and(|l| l.ready_ms - l.drained_ms > self.availability_timeout_ms)
    }

    /// The node has batches to be sent, and takes them or not.
    pub fn note_latency(&mut self, node: BrokerId, now: Millis, takes: bool) {
        if self.availability_timeout_ms <= 0 {
            return;
        }
        let fresh = Latency {
            ready_ms: now,
            drained_ms: now,
        };
        let latency = self.latencies.entry(node).or_insert(fresh);
        latency.ready_ms = now;
        if takes {
            latency.drained_ms = now;
        }
    }

    /// Takes from the queues what goes with one request to the node: at most one batch a partition.
    pub fn drain(
        &mut self,
        node: BrokerId,
        metadata: &Metadata,
        (now, most_bytes): (Millis, usize),
        hurry: Option<Hurry>,
        idempotence: &mut Idempotence,
    ) -> Vec<Drained> {
        let mut drained = Vec::new();
        let mut bytes = 0;
        for partition in self.partitions_of(node, metadata) {
            let epoch = metadata.leader(&partition).and_then(|(_, epoch)| epoch);
            let queue = self.queue(&partition);
            let (first, queued) = (queue.front().copied(), queue.len());
            let Some(batch) = first.and_then(|first| self.batches.get(&first)) else {
                continue;
            };
            let backs_off = batch.backs_off_until(epoch).is_some_and(|until| until > now);
            if backs_off || !idempotence.may_send(batch) {
                continue;
            }
            if !drained.is_empty() && bytes + batch.estimated_bytes() > most_bytes {
                break;
            }
            let (id, why) = (batch.id, self.reason(batch, queued, now, hurry));
            bytes += self.take(id, epoch, idempotence);
            self.drained_last.insert(node, partition);
            drained.push(Drained { batch: id, why });
        }
        drained
    }

    /// Takes the batch out of its queue, numbered and sealed; its bytes.
    fn take(&mut self, id: BatchId, epoch: Option<LeaderEpoch>, idempotence: &mut Idempotence) -> usize {
        let Some(batch) = self.batches.get_mut(&id) else {
            return 0;
        };
        if batch.identity.is_none() {
            batch.identity = idempotence.number(batch);
        }
        let ratio = batch.seal();
        batch.sent_epoch = epoch;
        (batch.is_queued, batch.is_under_way) = (false, true);
        let (partition, bytes) = (batch.partition.clone(), batch.estimated_bytes());
        self.queue(&partition).pop_front();
        if let Some(ratio) = ratio {
            self.learn_ratio(&partition.topic, ratio);
        }
        bytes
    }

    fn reason(
        &self,
        batch: &ProducerBatch,
        queued: usize,
        now: Millis,
        hurry: Option<Hurry>,
    ) -> &'static str {
        if batch.attempts > 0 {
            "it is sent again"
        } else if batch.is_part {
            "it is a part of one that was too large"
        } else if queued > 1 || batch.is_full() {
            "it is full"
        } else if batch.created_ms.saturating_add(self.linger_ms) <= now {
            "linger.ms is over"
        } else {
            hurry.map_or("a request goes there anyway", Hurry::reason)
        }
    }

    /// Partitions with batches that the node leads, beginning after the one that went last.
    fn partitions_of(&self, node: BrokerId, metadata: &Metadata) -> Vec<TopicPartition> {
        let queued = self.topics.iter().flat_map(|(name, topic)| {
            let queues = topic.queues.iter().filter(|(_, queue)| !queue.is_empty());
            queues.map(|(index, _)| TopicPartition::new(name.clone(), *index))
        });
        let led = |partition: &TopicPartition| metadata.leader(partition).is_some_and(|(l, _)| l == node);
        let mut all: Vec<TopicPartition> = queued
            .filter(|partition| !self.muted.contains(partition) && led(partition))
            .collect();
        if let Some(last) = self.drained_last.get(&node) {
            let begin = all.partition_point(|partition| partition <= last);
            all.rotate_left(begin);
        }
        all
    }
}
