//! What goes out: for each node that has batches to be sent and can take a request, one request
//! (`Sender.sendProducerData`).

use std::sync::Arc;

use super::accumulator::{Drained, Hurry};
use super::ending::Life;
use super::purpose::{Purpose, SentBatch, SentBatches};
use super::sending::WaitsFor;
use super::{Producer, emit};
use crate::client::{ClientCx, ClientLane, Node};
use crate::ordered::OrderedMap;
use crate::protocol::produce::{ProducePartition, ProduceRequest, ProduceTopic};
use crate::protocol::{ApiKey, RequestBody};
use crate::trace::ProducerFact;
use crate::types::{BrokerId, Uuid};

/// The last version that names topics; later ones have their ids (KIP-516).
const LAST_WITH_NAMES: i16 = 12;

impl Producer {
    /// Sends what is due to every node that can take it.
    pub(super) fn send_ready(&mut self, cx: &mut ClientCx) {
        let hurry = self.hurry();
        let ready = self.accumulator.ready(&self.net.metadata, cx.now, hurry);
        for topic in &ready.without_leader {
            let until_ms = cx.now + self.config.metadata_max_idle_ms;
            self.net.metadata.want(topic, until_ms, cx.cause);
        }
        if !ready.without_leader.is_empty() {
            self.net.metadata.request_update(false, cx.cause);
        }
        if let Some(at) = ready.next_check {
            self.wake_at(at);
        }
        for id in ready.nodes {
            self.send_to(cx, id, hurry);
        }
    }

    fn hurry(&self) -> Option<Hurry> {
        let waits_for_memory = |waits_for| matches!(waits_for, Some(WaitsFor::Memory(_)));
        if self.life != Life::Open {
            Some(Hurry::Close)
        } else if self.is_flushing() {
            Some(Hurry::Flush)
        } else if self
            .blocked
            .iter()
            .any(|unsent| waits_for_memory(unsent.waits_for))
        {
            Some(Hurry::Memory)
        } else {
            None
        }
    }

    fn send_to(&mut self, cx: &mut ClientCx, id: BrokerId, hurry: Option<Hurry>) {
        let Some(node) = self.net.node(id, ClientLane::Data) else {
            return;
        };
        let takes = self.net.ready(cx, &node);
        self.accumulator.note_latency(id, cx.now, takes);
        if !takes {
            // In between an answer or a lost connection may tell.
            if let Some(at) = self.net.ready_at(cx.now, &node) {
                self.wake_at(at);
            }
            return;
        }
        let (metadata, limit) = (&self.net.metadata, self.config.max_request_size_bytes);
        let drained = self
            .accumulator
            .drain(id, metadata, (cx.now, limit), hurry, &mut self.idempotence);
        if !drained.is_empty() {
            self.request(cx, &node, &drained);
            self.again = true;
        }
    }

    fn request(&mut self, cx: &mut ClientCx, node: &Node, drained: &[Drained]) {
        let mut sent = SentBatches::default();
        let mut by_topic: OrderedMap<Arc<str>, Vec<ProducePartition>> = OrderedMap::new();
        let mut bytes = 0;
        for Drained { batch, why } in drained {
            let Some(batch) = self.accumulator.batches.get(batch) else {
                continue;
            };
            let (partition, records) = (batch.partition.clone(), batch.bytes());
            emit(cx, || ProducerFact::BatchDrained {
                partition: partition.clone(),
                batch: batch.id,
                records: batch.records.len() as u32,
                bytes: records.len() as u64,
                sequence: batch.base_sequence(),
                why: (*why).to_owned(),
            });
            bytes += records.len() as u64;
            let rows = by_topic.entry(partition.topic.clone()).or_default();
            rows.push(ProducePartition {
                index: partition.partition,
                records: Some(records),
            });
            // With one request in flight order is kept across a change of the leader, too.
            if self.config.max_in_flight == 1 {
                self.accumulator.muted.insert(partition.clone());
            }
            sent.batches.push(SentBatch {
                batch: batch.id,
                partition,
                identity: batch.identity,
                records: batch.records.len(),
            });
        }
        emit(cx, || ProducerFact::RequestSent {
            node: node.id,
            batches: sent.batches.iter().map(|sent| sent.batch).collect(),
            bytes,
        });
        self.put(cx, node, by_topic, sent);
    }

    fn put(
        &mut self,
        cx: &mut ClientCx,
        node: &Node,
        by_topic: OrderedMap<Arc<str>, Vec<ProducePartition>>,
        mut sent: SentBatches,
    ) {
        let id = |topic: &str| {
            self.net
                .metadata
                .topic(topic)
                .map_or(Uuid::ZERO, |topic| topic.id)
        };
        let ids: Vec<Uuid> = by_topic.keys().map(|topic| id(topic)).collect();
        let have_ids = ids.iter().all(|id| !id.is_zero());
        let most = if have_ids { i16::MAX } else { LAST_WITH_NAMES };
        let version = match self.net.usable_version(node, ApiKey::Produce, most) {
            Ok(version) => version,
            Err(error) => return self.produce_answered(cx, &sent, Err(error)),
        };
        let names_ids = version > LAST_WITH_NAMES;
        if names_ids {
            sent.names = ids.iter().copied().zip(by_topic.keys().cloned()).collect();
        }
        let topics = by_topic.into_iter().zip(ids);
        let topics = topics.map(|((name, partitions), id)| ProduceTopic {
            name: if names_ids {
                Default::default()
            } else {
                (&*name).into()
            },
            topic_id: if names_ids { id } else { Uuid::ZERO },
            partitions,
        });
        let body = RequestBody::Produce(ProduceRequest {
            transactional_id: None,
            acks: self.config.acks,
            timeout_ms: i32::try_from(self.config.client.request_timeout_ms).unwrap_or(i32::MAX),
            topics: topics.collect(),
        });
        let purpose = Purpose::Produce(sent.clone());
        if let Err(error) = self.net.send(cx, node, version, &body, purpose, 0) {
            self.produce_answered(cx, &sent, Err(error));
        }
    }
}
