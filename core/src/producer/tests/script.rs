//! A producer and two nodes whose answers to Produce a test writes. Who leads what, versions and producer
//! ids are answered by themselves.

use super::cluster::{Ended, config};
use crate::client::testing::{Bench, Heard, metadata, topic_id, versions};
use crate::client::{ClientInput, ClientOutput, Node};
use crate::error::ErrorCode;
use crate::ordered::OrderedMap;
use crate::producer::{Producer, ProducerEvent, ProducerRecord, RecordId};
use crate::protocol::messages::{InitProducerIdResponse, message};
use crate::protocol::produce::{ProducePartitionResponse, ProduceResponse, ProduceTopicResponse};
use crate::protocol::{ApiKey, RequestBody};
use crate::record::compression::PURE_RUST;
use crate::record::{Batch, BatchHeader};
use crate::trace::{Fact, ProducerFact};
use crate::types::{BrokerId, LeaderEpoch, Millis, Offset, PartitionIndex, ProducerEpoch};

pub const PRODUCER_ID: i64 = 7;

/// A batch as a node hears it.
#[derive(Clone, Debug)]
pub struct HeardBatch {
    pub index: PartitionIndex,
    pub header: BatchHeader,
    pub values: Vec<String>,
}

pub struct Script {
    pub bench: Bench,
    pub producer: Producer,
    /// Leader and epoch of each partition of `t`, as metadata has it.
    pub leaders: Vec<(BrokerId, LeaderEpoch)>,
    /// The epoch in which the next producer id begins.
    pub first_epoch: ProducerEpoch,
    ids: i64,
    /// What is answered instead of ids, the first first.
    pub id_errors: Vec<ErrorCode>,
    /// Produce requests that are not answered.
    pub open: Vec<Heard>,
    /// Connections that the producer closed.
    pub closed: Vec<Node>,
    pub ended: Ended,
    pub facts: Vec<ProducerFact>,
}

impl Script {
    pub fn new(leaders: &[(BrokerId, LeaderEpoch)], pairs: &[(&str, &str)]) -> Self {
        Self::seeded(1, leaders, pairs)
    }

    pub fn seeded(seed: u64, leaders: &[(BrokerId, LeaderEpoch)], pairs: &[(&str, &str)]) -> Self {
        Self {
            bench: Bench::seeded(seed),
            producer: Producer::new(config(pairs)).unwrap(),
            leaders: leaders.to_vec(),
            first_epoch: 0,
            ids: PRODUCER_ID,
            id_errors: Vec::new(),
            open: Vec::new(),
            closed: Vec::new(),
            ended: Ended::new(),
            facts: Vec::new(),
        }
    }

    /// One that knows its cluster and its id, and has connections to both nodes.
    pub fn warm(leaders: &[(BrokerId, LeaderEpoch)], pairs: &[(&str, &str)]) -> Self {
        let mut script = Self::new(leaders, pairs);
        for index in 0..leaders.len() as PartitionIndex {
            script.send(index, &["first"]);
        }
        script.turn(|producer, cx| producer.flush(cx));
        while script.ended.len() < leaders.len() {
            script.advance(10);
            for heard in std::mem::take(&mut script.open) {
                script.ok(&heard, 0);
            }
        }
        script.facts.clear();
        script.closed.clear();
        script
    }

    pub fn turn<T>(&mut self, what: impl FnOnce(&mut Producer, &mut crate::client::ClientCx) -> T) -> T {
        let result = what(&mut self.producer, &mut self.bench.cx());
        while let Some(event) = self.producer.next_event() {
            let (id, end) = match event {
                ProducerEvent::Acknowledged { id, metadata } => (id, Ok(metadata)),
                ProducerEvent::Failed { id, error, .. } => (id, Err(error)),
                _ => continue,
            };
            let before = self.ended.insert(id, end);
            assert_eq!(before, None, "record {id} ends twice");
        }
        for fact in self.bench.facts() {
            if let Fact::Producer(fact) = fact {
                self.facts.push(fact);
            }
        }
        result
    }

    pub fn tell(&mut self, input: &ClientInput) {
        self.turn(|producer, cx| producer.handle(cx, input));
        self.settle();
    }

    /// Answers what is not about records, until nothing of that is asked any more.
    pub fn settle(&mut self) {
        loop {
            let heard = self.bench.heard();
            for output in std::mem::take(&mut self.bench.out) {
                if let ClientOutput::Disconnect { node } = output {
                    self.closed.push(node);
                }
            }
            if heard.is_empty() {
                return;
            }
            for heard in heard {
                let answer = match heard.api() {
                    ApiKey::ApiVersions => heard.answer(versions()),
                    ApiKey::Metadata => heard.answer(metadata(&[1, 2], &[("t", &self.leaders)])),
                    ApiKey::InitProducerId => heard.answer(self.give_id()),
                    _ => {
                        self.open.push(heard);
                        continue;
                    }
                };
                self.turn(|producer, cx| producer.handle(cx, &answer));
            }
        }
    }

    fn give_id(&mut self) -> InitProducerIdResponse {
        if !self.id_errors.is_empty() {
            let code = self.id_errors.remove(0).code();
            return message(|answer: &mut InitProducerIdResponse| answer.error_code = code);
        }
        let (id, epoch) = (self.ids, self.first_epoch);
        self.ids += 1;
        message(|answer: &mut InitProducerIdResponse| {
            answer.producer_id = id;
            answer.producer_epoch = epoch;
        })
    }

    pub fn advance(&mut self, by_ms: Millis) {
        let until = self.bench.now + by_ms;
        self.settle();
        while self.bench.now < until {
            let due = self.producer.poll_timeout().unwrap_or(until);
            self.bench.now = due.clamp(self.bench.now + 1, until);
            if self
                .producer
                .poll_timeout()
                .is_some_and(|due| due <= self.bench.now)
            {
                self.tell(&ClientInput::Tick);
            }
            self.settle();
        }
    }

    pub fn send(&mut self, index: PartitionIndex, values: &[&str]) -> Vec<RecordId> {
        let send = |value: &&str| {
            let record = ProducerRecord::new("t", *value).partition(index);
            let id = self.turn(|producer, cx| producer.send(cx, record));
            self.settle();
            id
        };
        values.iter().map(send).collect()
    }

    // ---- answers

    /// The oldest open Produce request.
    pub fn next(&mut self) -> Heard {
        self.settle();
        assert!(!self.open.is_empty(), "nothing was sent");
        self.open.remove(0)
    }

    /// Answers every partition of the request by what the function makes of its row.
    pub fn answer(&mut self, heard: &Heard, row: impl FnMut(&HeardBatch) -> ProducePartitionResponse) {
        let answer = heard.answer(answer(heard, row));
        self.tell(&answer);
    }

    pub fn ok(&mut self, heard: &Heard, base_offset: Offset) {
        self.answer(heard, |batch| stored(batch, base_offset));
    }

    pub fn refuse(&mut self, heard: &Heard, code: ErrorCode) {
        self.answer(heard, |batch| refused(batch, code));
    }

    /// Oldest request: its values in partition 0, and answers it.
    pub fn next_values(&mut self) -> Vec<String> {
        let heard = self.next();
        let values = batches(&heard).remove(0).values;
        self.ok(&heard, 0);
        values
    }

    /// How many records went to each partition.
    pub fn chosen(&self) -> OrderedMap<PartitionIndex, usize> {
        let mut chosen = OrderedMap::new();
        for fact in &self.facts {
            if let ProducerFact::RecordAppended { partition, .. } = fact {
                *chosen.entry(partition.partition).or_default() += 1;
            }
        }
        chosen
    }

    pub fn told(&self) -> Vec<String> {
        self.facts.iter().map(ToString::to_string).collect()
    }

    pub fn all_memory_is_back(&self) -> bool {
        self.producer.memory_available_bytes() == self.producer.config().buffer_memory_bytes
    }
}

pub fn batches(heard: &Heard) -> Vec<HeardBatch> {
    let RequestBody::Produce(body) = &heard.body else {
        panic!("{heard:?}");
    };
    let rows = body.topics.iter().flat_map(|topic| &topic.partitions);
    let batch = |row: &crate::protocol::produce::ProducePartition| {
        let batch = Batch::parse(row.records.as_ref().unwrap()).unwrap();
        batch.check_crc().unwrap();
        let records = batch.records(&PURE_RUST, 1 << 24).unwrap();
        let value = |record: Result<crate::record::Record, _>| {
            let value = record.unwrap().value.unwrap_or_default();
            String::from_utf8(value.to_vec()).unwrap()
        };
        HeardBatch {
            index: row.index,
            header: batch.header,
            values: records.map(value).collect(),
        }
    };
    rows.map(batch).collect()
}

pub fn answer(heard: &Heard, row: impl FnMut(&HeardBatch) -> ProducePartitionResponse) -> ProduceResponse {
    ProduceResponse {
        topics: vec![ProduceTopicResponse {
            name: "t".into(),
            topic_id: topic_id("t"),
            partitions: batches(heard).iter().map(row).collect(),
        }],
        ..ProduceResponse::default()
    }
}

pub fn stored(batch: &HeardBatch, base_offset: Offset) -> ProducePartitionResponse {
    ProducePartitionResponse {
        index: batch.index,
        base_offset,
        log_start_offset: 0,
        ..ProducePartitionResponse::default()
    }
}

pub fn refused(batch: &HeardBatch, code: ErrorCode) -> ProducePartitionResponse {
    ProducePartitionResponse {
        index: batch.index,
        error_code: code,
        ..ProducePartitionResponse::default()
    }
}

/// Sequences of open requests by partition, oldest first.
pub fn sequences(open: &[Heard]) -> OrderedMap<PartitionIndex, Vec<i32>> {
    let mut all: OrderedMap<PartitionIndex, Vec<i32>> = OrderedMap::new();
    for batch in open.iter().flat_map(batches) {
        all.entry(batch.index)
            .or_default()
            .push(batch.header.base_sequence);
    }
    all
}
