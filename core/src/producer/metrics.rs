//! What a producer measures, under the names of Kafka's `SenderMetricsRegistry`: folded from the facts
//! that it tells, so that nothing is counted twice in two ways.
//!
//! Of Kafka's figures those are here that the facts hold. Not kept are sizes of single records, what
//! compression achieves, the times of throttling, and figures of connections.

use std::sync::Arc;

use super::{Producer, ProducerConfig};
use crate::client::measure::{Gathered, Meter, Metric, Samples};
use crate::error::ErrorCode;
use crate::ordered::OrderedMap;
use crate::trace::{ClientFact, Event, Fact, ProducerFact};
use crate::types::{Millis, TopicPartition};

/// `KafkaProducerMetrics.GROUP`
const GROUP: &str = "producer-metrics";
const TOPIC_GROUP: &str = "producer-topic-metrics";

/// A batch that has not ended.
#[derive(Clone, Debug, Default)]
struct BatchUnderWay {
    created_ms: Millis,
    records: u32,
    /// The request that it went with last.
    request: u64,
}

#[derive(Clone, Debug, Default)]
struct OfTopic {
    sent: Meter,
    bytes: Meter,
    retried: Meter,
    failed: Meter,
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct ProducerMetrics {
    client_id: Arc<str>,
    acks: i16,
    batches: OrderedMap<u64, BatchUnderWay>,
    /// When requests that are not answered were sent.
    requests: OrderedMap<u64, Millis>,
    last_request: u64,
    batch_sizes: Samples,
    queue_times: Samples,
    latencies: Samples,
    records_per_request: Samples,
    all: OfTopic,
    topics: OrderedMap<Arc<str>, OfTopic>,
    splits: Meter,
    metadata_at: Option<Millis>,
}

impl ProducerMetrics {
    pub fn new(config: &ProducerConfig) -> Self {
        Self {
            client_id: config.client.client_id.clone(),
            acks: config.acks,
            ..Self::default()
        }
    }

    /// Takes in a fact of the producer; it wants to see all of them.
    pub fn see(&mut self, event: &Event) {
        match &event.fact {
            Fact::Client(ClientFact::MetadataUpdated { .. }) => self.metadata_at = Some(event.at_ms),
            Fact::Producer(fact) => self.see_producer(event.at_ms, fact),
            _ => {}
        }
    }

    fn see_producer(&mut self, now: Millis, fact: &ProducerFact) {
        match fact {
            ProducerFact::RecordAppended { batch, .. } => {
                let created = BatchUnderWay {
                    created_ms: now,
                    ..BatchUnderWay::default()
                };
                self.batches.entry(*batch).or_insert(created);
            }
            ProducerFact::BatchDrained {
                partition,
                batch,
                records,
                bytes,
                ..
            } => self.drained(now, partition, *batch, *records, *bytes),
            ProducerFact::RequestSent { batches, .. } => self.sent(now, batches),
            ProducerFact::BatchAcknowledged { batch, .. } => {
                self.answered(now, *batch, self.acks != 0);
                self.batches.remove(batch);
            }
            ProducerFact::BatchRetried {
                partition,
                batch,
                code,
                ..
            } => {
                // Without an answer there is no latency.
                self.answered(now, *batch, *code != ErrorCode::NetworkException);
                let records = self.batches.get(batch).map_or(0, |batch| batch.records);
                self.count(partition, |of| of.retried.record(now, records.into()));
            }
            ProducerFact::BatchSplit { batch, into, .. } => {
                self.answered(now, *batch, true);
                self.splits.record(now, 1.0);
                let big = self.batches.remove(batch).unwrap_or_default();
                self.batches.extend(into.iter().map(|part| (*part, big.clone())));
            }
            ProducerFact::BatchFailed {
                partition,
                batch,
                records,
                ..
            } => {
                self.answered(now, *batch, false);
                self.batches.remove(batch);
                self.count(partition, |of| of.failed.record(now, (*records).into()));
            }
            _ => {}
        }
    }

    fn count(&mut self, partition: &TopicPartition, count: impl Fn(&mut OfTopic)) {
        count(&mut self.all);
        count(self.topics.entry(partition.topic.clone()).or_default());
    }

    fn drained(&mut self, now: Millis, partition: &TopicPartition, batch: u64, records: u32, bytes: u64) {
        let under_way = self.batches.entry(batch).or_default();
        under_way.records = records;
        let queued_ms = now - under_way.created_ms;
        self.queue_times.record(now, queued_ms as f64);
        self.batch_sizes.record(now, bytes as f64);
        self.count(partition, |of| {
            of.sent.record(now, records.into());
            of.bytes.record(now, bytes as f64);
        });
    }

    fn sent(&mut self, now: Millis, batches: &[u64]) {
        self.last_request += 1;
        self.requests.insert(self.last_request, now);
        let mut records = 0;
        for batch in batches {
            if let Some(batch) = self.batches.get_mut(batch) {
                batch.request = self.last_request;
                records += batch.records;
            }
        }
        self.records_per_request.record(now, records.into());
    }

    /// Something has become of the batch: so the request that it went with has ended.
    fn answered(&mut self, now: Millis, batch: u64, is_answer: bool) {
        let request = self.batches.get(&batch).map(|batch| batch.request);
        let sent_ms = request.and_then(|request| self.requests.remove(&request));
        if let Some(sent_ms) = sent_ms.filter(|_| is_answer) {
            self.latencies.record(now, (now - sent_ms) as f64);
        }
    }

    /// Every figure, in no particular order.
    pub fn all(&self, producer: &Producer, now: Millis) -> Vec<Metric> {
        let mut all = Vec::new();
        let id = ("client-id", &*self.client_id);
        let mut out = Gathered {
            group: GROUP,
            tags: &[id],
            out: &mut all,
        };
        let (total, free) = (
            producer.config().buffer_memory_bytes,
            producer.memory_available_bytes(),
        );
        out.add("batch-size-avg", self.batch_sizes.average(now));
        out.add("batch-size-max", self.batch_sizes.greatest(now));
        out.add("batch-split-rate", self.splits.a_second(now));
        out.add("batch-split-total", self.splits.total);
        out.add("buffer-available-bytes", free as f64);
        out.add("buffer-total-bytes", total as f64);
        out.add("record-queue-time-avg", self.queue_times.average(now));
        out.add("record-queue-time-max", self.queue_times.greatest(now));
        out.add("records-per-request-avg", self.records_per_request.average(now));
        out.add("request-latency-avg", self.latencies.average(now));
        out.add("request-latency-max", self.latencies.greatest(now));
        out.add("requests-in-flight", producer.requests_in_flight() as f64);
        if let Some(at) = self.metadata_at {
            out.add("metadata-age", (now - at) as f64 / 1000.0);
        }
        self.all.add_to(&mut out, now);
        for (topic, of) in &self.topics {
            let mut out = Gathered {
                group: TOPIC_GROUP,
                tags: &[id, ("topic", topic)],
                out: &mut all,
            };
            of.add_to(&mut out, now);
            out.add("byte-rate", of.bytes.a_second(now));
            out.add("byte-total", of.bytes.total);
        }
        all
    }
}

impl OfTopic {
    fn add_to(&self, out: &mut Gathered, now: Millis) {
        out.add("record-error-rate", self.failed.a_second(now));
        out.add("record-error-total", self.failed.total);
        out.add("record-retry-rate", self.retried.a_second(now));
        out.add("record-retry-total", self.retried.total);
        out.add("record-send-rate", self.sent.a_second(now));
        out.add("record-send-total", self.sent.total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{EventId, Site};

    fn see(metrics: &mut ProducerMetrics, at_ms: Millis, fact: ProducerFact) {
        metrics.see(&Event {
            id: EventId::NONE,
            cause: EventId::NONE,
            at_ms,
            fact: Fact::Producer(fact),
            site: Site::default(),
        });
    }

    fn partition() -> TopicPartition {
        TopicPartition::new("t", 0)
    }

    fn appended(metrics: &mut ProducerMetrics, at_ms: Millis, batch: u64) {
        let fact = ProducerFact::RecordAppended {
            record: 0,
            partition: partition(),
            batch,
            batch_bytes: 100,
        };
        see(metrics, at_ms, fact);
    }

    fn drained(metrics: &mut ProducerMetrics, at_ms: Millis, batch: u64, records: u32) {
        let fact = ProducerFact::BatchDrained {
            partition: partition(),
            batch,
            records,
            bytes: 100 * u64::from(records),
            sequence: None,
            why: String::new(),
        };
        see(metrics, at_ms, fact);
    }

    fn sent(metrics: &mut ProducerMetrics, at_ms: Millis, batches: &[u64]) {
        let fact = ProducerFact::RequestSent {
            node: 1,
            batches: batches.to_vec(),
            bytes: 0,
        };
        see(metrics, at_ms, fact);
    }

    fn acknowledged(metrics: &mut ProducerMetrics, at_ms: Millis, batch: u64) {
        let fact = ProducerFact::BatchAcknowledged {
            partition: partition(),
            batch,
            base_offset: 0,
            records: 1,
        };
        see(metrics, at_ms, fact);
    }

    fn retried(metrics: &mut ProducerMetrics, at_ms: Millis, batch: u64, code: ErrorCode) {
        let fact = ProducerFact::BatchRetried {
            partition: partition(),
            batch,
            attempt: 1,
            again_ms: at_ms,
            code,
        };
        see(metrics, at_ms, fact);
    }

    #[test]
    fn a_request_is_measured_once_whatever_becomes_of_its_batches() {
        let mut metrics = ProducerMetrics {
            acks: -1,
            ..ProducerMetrics::default()
        };
        appended(&mut metrics, 0, 0);
        appended(&mut metrics, 4, 0);
        appended(&mut metrics, 6, 1);
        drained(&mut metrics, 10, 0, 2);
        drained(&mut metrics, 10, 1, 4);
        sent(&mut metrics, 10, &[0, 1]);
        acknowledged(&mut metrics, 13, 0);
        retried(&mut metrics, 13, 1, ErrorCode::NotLeaderOrFollower);
        assert_eq!(metrics.latencies.average(13), 3.0);
        assert_eq!(metrics.queue_times.average(13), 7.0, "10 ms and 4 ms");
        assert_eq!(metrics.records_per_request.average(13), 6.0);
        assert_eq!(metrics.batch_sizes.greatest(13), 400.0);
        drained(&mut metrics, 20, 1, 4);
        sent(&mut metrics, 20, &[1]);
        retried(&mut metrics, 99, 1, ErrorCode::NetworkException);
        assert_eq!(metrics.latencies.greatest(99), 3.0, "a request without an answer");
        let topic = &metrics.topics["t"];
        assert_eq!(
            (topic.sent.total, topic.retried.total),
            (10.0, 8.0),
            "as Kafka counts"
        );
        assert_eq!(topic.bytes.total, 1000.0);
        assert!(metrics.requests.is_empty());
    }
}
