//! A producer: numbered records in batches, one request at a time for each partition.
//!
//! Record number n of a producer has the value `client-id:n`, so that whoever finds it anywhere knows
//! whose it is. What Kafka's producer does about failures it does too: an error that may pass is tried
//! again after a backoff, with the same sequence numbers, until `delivery.timeout.ms` is over; then the
//! records are given up, and an idempotent producer begins a new epoch before it sends more.
//!
//! Invariants
//! - every record is acknowledged, given up or still under way, and never two of these
//! - the sequence numbers of a partition are sent in order, each with the same records

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::metadata::Metadata;
use super::{ClientCx, ClientOutput, Purpose, RETRY_BACKOFF_MS, Wire, version_of};
use crate::error::ErrorCode;
use crate::io::SendId;
use crate::protocol::messages::{InitProducerIdRequest, message};
use crate::protocol::produce::{ProducePartition, ProduceRequest, ProduceTopic};
use crate::protocol::{ApiKey, RequestBody, ResponseBody};
use crate::record::{BatchBuilder, Codec};
use crate::trace::{NodeId, WorldFact};
use crate::types::{Millis, NO_PRODUCER_ID, ProducerEpoch, ProducerId, Sequence, TopicPartition};

#[derive(Clone, Debug)]
pub struct ProducerOptions {
    /// -1, 0 or 1.
    pub acks: i16,
    pub idempotent: bool,
    pub codec: Codec,
    /// How long the broker may wait for its followers (`request.timeout.ms` goes into the request).
    pub timeout_ms: i32,
    /// `delivery.timeout.ms`.
    pub delivery_timeout_ms: Millis,
    /// How often a batch is tried again (`retries`).
    pub retries: u32,
    /// Bytes that each value is filled up to.
    pub value_bytes: usize,
}

impl Default for ProducerOptions {
    fn default() -> Self {
        Self {
            acks: -1,
            idempotent: false,
            codec: Codec::None,
            timeout_ms: 30_000,
            delivery_timeout_ms: 120_000,
            retries: u32::MAX,
            value_bytes: 0,
        }
    }
}

/// Records that go together.
#[derive(Clone, Debug)]
struct Batch {
    first: u64,
    count: u32,
    created_ms: Millis,
    tries: u32,
    not_before: Millis,
    /// Set at the first try, and kept.
    sealed: Option<Bytes>,
    sent: Option<SendId>,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    batches: VecDeque<Batch>,
    next_sequence: Sequence,
}

#[derive(Clone, Debug)]
pub struct Producer {
    pub options: ProducerOptions,
    id: ProducerId,
    epoch: ProducerEpoch,
    asked_id: Option<SendId>,
    ask_id_at: Millis,
    next_number: u64,
    streams: BTreeMap<TopicPartition, Stream>,
    pub acknowledged: u64,
    pub failed: u64,
}

impl Producer {
    pub fn new(options: ProducerOptions) -> Self {
        Self {
            options,
            id: NO_PRODUCER_ID,
            epoch: -1,
            asked_id: None,
            ask_id_at: 0,
            next_number: 0,
            streams: BTreeMap::new(),
            acknowledged: 0,
            failed: 0,
        }
    }

    /// Adds one batch of so many records for the partition; the number of the first.
    pub fn add(&mut self, now: Millis, partition: &TopicPartition, count: u32) -> u64 {
        let first = self.next_number;
        self.next_number += u64::from(count);
        let stream = self.streams.entry(partition.clone()).or_default();
        stream.batches.push_back(Batch {
            first,
            count,
            created_ms: now,
            tries: 0,
            not_before: now,
            sealed: None,
            sent: None,
        });
        first
    }

    pub fn is_idle(&self) -> bool {
        self.streams.values().all(|stream| stream.batches.is_empty())
    }

    pub(super) fn next_timeout(&self, metadata: &Metadata) -> Option<Millis> {
        let mut due: Option<Millis> = None;
        let mut at = |time: Millis| due = Some(due.map_or(time, |before| before.min(time)));
        for (partition, stream) in &self.streams {
            let Some(batch) = stream.batches.front() else {
                continue;
            };
            at(batch.created_ms + self.options.delivery_timeout_ms);
            if batch.sent.is_none() && metadata.knows(partition) && !self.lacks_id() {
                at(batch.not_before);
            }
        }
        if !self.is_idle() && self.lacks_id() && self.asked_id.is_none() {
            at(self.ask_id_at);
        }
        due
    }

    fn lacks_id(&self) -> bool {
        self.options.idempotent && self.id == NO_PRODUCER_ID
    }

    pub(super) fn go_on(
        &mut self,
        cx: &mut ClientCx,
        wire: &mut Wire,
        metadata: &mut Metadata,
        client: NodeId,
    ) {
        self.give_up_late(cx, client);
        if self.is_idle() {
            return;
        }
        if self.lacks_id() {
            return self.ask_id(cx, wire, metadata);
        }
        let partitions: Vec<TopicPartition> = self.streams.keys().cloned().collect();
        for partition in partitions {
            self.send_next(cx, wire, metadata, client, &partition);
        }
    }

    fn ask_id(&mut self, cx: &mut ClientCx, wire: &mut Wire, metadata: &mut Metadata) {
        if self.asked_id.is_some() || cx.now < self.ask_id_at {
            return;
        }
        let body = message(|body: &mut InitProducerIdRequest| {
            body.transactional_id = None;
            body.transaction_timeout_ms = i32::MAX;
            body.producer_id = -1;
            body.producer_epoch = -1;
        });
        let broker = metadata.any();
        let version = version_of(ApiKey::InitProducerId);
        let id = wire.send(
            cx,
            broker,
            version,
            &RequestBody::InitProducerId(body),
            Purpose::Own,
        );
        self.asked_id = Some(id);
    }

    fn send_next(
        &mut self,
        cx: &mut ClientCx,
        wire: &mut Wire,
        metadata: &mut Metadata,
        client: NodeId,
        partition: &TopicPartition,
    ) {
        let (producer, epoch, options) = (self.id, self.epoch, self.options.clone());
        let Some(stream) = self.streams.get_mut(partition) else {
            return;
        };
        while let Some(batch) = stream.batches.front_mut() {
            if batch.sent.is_some() || batch.not_before > cx.now {
                return;
            }
            let Some((leader, _)) = metadata.leader(cx.now, partition) else {
                return;
            };
            let sequence = &mut stream.next_sequence;
            let records = batch.sealed.get_or_insert_with(|| {
                let sealed = seal(
                    cx.now,
                    client,
                    batch.first,
                    batch.count,
                    &options,
                    (producer, epoch, *sequence),
                );
                *sequence = sequence.wrapping_add(batch.count as i32) & i32::MAX;
                sealed
            });
            let body = RequestBody::Produce(ProduceRequest {
                transactional_id: None,
                acks: options.acks,
                timeout_ms: options.timeout_ms,
                topics: vec![ProduceTopic {
                    name: (&*partition.topic).into(),
                    topic_id: Default::default(),
                    partitions: vec![ProducePartition {
                        index: partition.partition,
                        records: Some(records.clone()),
                    }],
                }],
            });
            batch.tries += 1;
            let id = wire.send(cx, leader, version_of(ApiKey::Produce), &body, Purpose::Own);
            if options.acks != 0 {
                batch.sent = Some(id);
                return;
            }
            // Nobody will say anything, so it counts as stored.
            let (first, count) = (batch.first, batch.count);
            stream.batches.pop_front();
            self.acknowledged += u64::from(count);
            cx.out.push(ClientOutput::Fact(WorldFact::RecordsAcknowledged {
                client,
                partition: partition.clone(),
                base_offset: -1,
                first,
                count,
                acks: 0,
            }));
        }
    }

    fn give_up_late(&mut self, cx: &mut ClientCx, client: NodeId) {
        let limit = self.options.delivery_timeout_ms;
        let partitions: Vec<TopicPartition> = self.streams.keys().cloned().collect();
        for partition in partitions {
            while self
                .streams
                .get(&partition)
                .and_then(|stream| stream.batches.front())
                .is_some_and(|batch| batch.created_ms + limit <= cx.now)
            {
                self.fail_first(cx, client, &partition, ErrorCode::RequestTimedOut);
            }
        }
    }

    fn fail_first(&mut self, cx: &mut ClientCx, client: NodeId, partition: &TopicPartition, code: ErrorCode) {
        let Some(stream) = self.streams.get_mut(partition) else {
            return;
        };
        let Some(batch) = stream.batches.pop_front() else {
            return;
        };
        self.failed += u64::from(batch.count);
        if batch.sealed.is_some() && self.options.idempotent {
            // Whether the sequence numbers were used is not known: new ones, under a new identity.
            self.id = NO_PRODUCER_ID;
            for stream in self.streams.values_mut() {
                stream.next_sequence = 0;
                stream.batches.iter_mut().for_each(|batch| batch.sealed = None);
            }
        }
        cx.out.push(ClientOutput::Fact(WorldFact::RecordsFailed {
            client,
            partition: partition.clone(),
            first: batch.first,
            count: batch.count,
            code,
        }));
    }

    pub(super) fn answered(
        &mut self,
        cx: &mut ClientCx,
        metadata: &mut Metadata,
        client: NodeId,
        id: SendId,
        body: Option<ResponseBody>,
    ) {
        if self.asked_id == Some(id) {
            self.asked_id = None;
            match body {
                Some(ResponseBody::InitProducerId(answer)) if answer.error_code == 0 => {
                    self.id = answer.producer_id;
                    self.epoch = answer.producer_epoch;
                }
                _ => self.ask_id_at = cx.now + RETRY_BACKOFF_MS,
            }
            return;
        }
        let is_it = |stream: &Stream| stream.batches.front().is_some_and(|batch| batch.sent == Some(id));
        let found = self.streams.iter().find(|(_, stream)| is_it(stream));
        // Given up meanwhile.
        let Some(partition) = found.map(|(partition, _)| partition.clone()) else {
            return;
        };
        let answer = match body {
            Some(ResponseBody::Produce(answer)) => {
                let parts = answer.topics.into_iter().flat_map(|topic| topic.partitions);
                parts
                    .into_iter()
                    .next()
                    .map(|part| (part.error_code, part.base_offset))
            }
            _ => None,
        };
        match answer {
            Some((ErrorCode::None | ErrorCode::DuplicateSequenceNumber, base_offset)) => {
                self.acknowledge_first(cx, client, &partition, base_offset);
            }
            Some((code, _)) if !code.is_retriable() => self.fail_first(cx, client, &partition, code),
            Some((code, _)) => self.retry(cx, metadata, client, &partition, code),
            None => self.retry(cx, metadata, client, &partition, ErrorCode::NetworkException),
        }
    }

    fn acknowledge_first(
        &mut self,
        cx: &mut ClientCx,
        client: NodeId,
        partition: &TopicPartition,
        base_offset: i64,
    ) {
        let stream = self.streams.get_mut(partition);
        let Some(batch) = stream.and_then(|stream| stream.batches.pop_front()) else {
            return;
        };
        self.acknowledged += u64::from(batch.count);
        cx.out.push(ClientOutput::Fact(WorldFact::RecordsAcknowledged {
            client,
            partition: partition.clone(),
            base_offset,
            first: batch.first,
            count: batch.count,
            acks: self.options.acks,
        }));
    }

    fn retry(
        &mut self,
        cx: &mut ClientCx,
        metadata: &mut Metadata,
        client: NodeId,
        partition: &TopicPartition,
        code: ErrorCode,
    ) {
        let retries = self.options.retries;
        let Some(batch) = self
            .streams
            .get_mut(partition)
            .and_then(|stream| stream.batches.front_mut())
        else {
            return;
        };
        if batch.tries > retries {
            return self.fail_first(cx, client, partition, code);
        }
        batch.sent = None;
        batch.not_before = cx.now + RETRY_BACKOFF_MS;
        let first = batch.first;
        match code {
            ErrorCode::NotEnoughReplicas
            | ErrorCode::NotEnoughReplicasAfterAppend
            | ErrorCode::RequestTimedOut => {
                metadata.refresh(cx.now);
            }
            _ => metadata.forget(cx.now, partition),
        }
        cx.out.push(ClientOutput::Fact(WorldFact::ProduceRetried {
            client,
            partition: partition.clone(),
            first,
            why: code.kafka_name().to_owned(),
        }));
    }
}

/// The value of a client's record.
pub fn value(client: NodeId, number: u64, bytes: usize) -> Vec<u8> {
    let mut value = format!("{client}:{number}").into_bytes();
    value.resize(value.len().max(bytes), b' ');
    value
}

/// Whose record it is, and its number; `None` for a value that no producer of a world writes.
pub fn read_value(value: &[u8]) -> Option<(NodeId, u64)> {
    let text = std::str::from_utf8(value).ok()?.trim_end();
    let (client, number) = text.split_once(':')?;
    Some((client.parse().ok()?, number.parse().ok()?))
}

fn seal(
    now: Millis,
    client: NodeId,
    first: u64,
    count: u32,
    options: &ProducerOptions,
    identity: (ProducerId, ProducerEpoch, Sequence),
) -> Bytes {
    let mut builder = BatchBuilder::new(options.codec);
    if options.idempotent {
        let (id, epoch, sequence) = identity;
        builder = builder.producer(id, epoch, sequence);
    }
    for number in first..first + u64::from(count) {
        builder.append(now, None, Some(&value(client, number, options.value_bytes)), &[]);
    }
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_tells_whose_it_is() {
        assert_eq!(read_value(&value(101, 7, 0)), Some((101, 7)));
        assert_eq!(read_value(&value(101, 7, 40)), Some((101, 7)));
        assert_eq!(value(101, 7, 40).len(), 40);
        assert_eq!(read_value(b"something else"), None);
    }
}
