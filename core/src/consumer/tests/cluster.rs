//! A broker and the consumers that read from it: the broker is the one that runs natively, the consumers
//! speak to it in frames, and time moves only when a test lets it.
//!
//! The application of a consumer polls whenever it would be given something, confirms what it hears, and
//! keeps what it gets; a test can make it stop doing any of that.

use std::sync::Arc;

use crate::client::tests::{Wires, create_topic};
use crate::client::{ClientCx, ClientInput, ClientOutput};
use crate::consumer::{
    Consumer, ConsumerConfig, ConsumerError, ConsumerEvent, ConsumerRecord, LeaveBy, Rebalance,
    RebalanceListener,
};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::produce::{ProducePartition, ProduceRequest, ProduceTopic};
use crate::protocol::{RequestBody, ResponseBody};
use crate::record::compression::PURE_RUST;
use crate::record::{BatchBuilder, Codec};
use crate::sim::Host;
use crate::trace::{ConsumerFact, EventId, Fact, Trace};
use crate::types::{Millis, Offset, PartitionIndex, Rng, TopicPartition};

/// A consumer, its application, and its connections.
#[derive(Debug)]
pub struct Member {
    pub consumer: Consumer,
    rng: Rng,
    trace: Trace,
    out: Vec<ClientOutput>,
    wires: Wires,
    /// The application polls whenever there is something for it.
    pub polls: bool,
    /// It confirms what it hears of partitions at once.
    pub confirms: bool,
    /// It polled, was given nothing, and waits.
    waits: bool,
    pub records: Vec<ConsumerRecord>,
    pub events: Vec<ConsumerEvent>,
    pub facts: Vec<ConsumerFact>,
}

pub struct Cluster {
    pub host: Host,
    members: OrderedMap<u32, Member>,
    next: u32,
}

pub fn partition(topic: &str, index: PartitionIndex) -> TopicPartition {
    TopicPartition::new(topic, index)
}

pub fn partitions(of: &[(&str, PartitionIndex)]) -> OrderedSet<TopicPartition> {
    of.iter().map(|(topic, index)| partition(topic, *index)).collect()
}

pub fn names(of: &[&str]) -> OrderedSet<Arc<str>> {
    of.iter().map(|name| Arc::from(*name)).collect()
}

impl Cluster {
    pub fn new() -> Self {
        Self {
            host: Host::start(&[
                "broker.id=1",
                "log.dirs=/data",
                "offsets.topic.replication.factor=1",
                "offsets.topic.num.partitions=4",
                "group.initial.rebalance.delay.ms=0",
            ]),
            members: OrderedMap::new(),
            next: 0,
        }
    }

    pub fn create(&mut self, topic: &str, count: i32, configs: &[(&str, &str)]) {
        create_topic(&mut self.host, topic, count, configs);
    }

    /// Appends these values, with the present time.
    pub fn produce(&mut self, topic: &str, index: PartitionIndex, values: &[&str]) {
        let mut builder = BatchBuilder::new(Codec::None);
        for value in values {
            builder.append(self.host.now, None, Some(value.as_bytes()), &[]);
        }
        let body = RequestBody::Produce(ProduceRequest {
            transactional_id: None,
            acks: -1,
            timeout_ms: 1000,
            topics: vec![ProduceTopic {
                name: topic.into(),
                topic_id: Default::default(),
                partitions: vec![ProducePartition {
                    index,
                    records: Some(builder.build()),
                }],
            }],
        });
        let conn = self.host.connect();
        match self.host.ask(conn, 12, &body) {
            Some(ResponseBody::Produce(answer)) => {
                assert_eq!(answer.topics[0].partitions[0].error_code.code(), 0);
            }
            other => panic!("{other:?}"),
        }
        self.pump();
    }

    /// A consumer with these settings beside the address, and the range assignor unless another is named.
    pub fn consumer(&mut self, settings: &[(&str, &str)]) -> u32 {
        let mut all = crate::client::testing::settings(&[
            ("bootstrap.servers", "localhost:9092"),
            ("partition.assignment.strategy", "range"),
            ("auto.offset.reset", "earliest"),
        ]);
        all.extend(crate::client::testing::settings(settings));
        let config = ConsumerConfig::read(&all).unwrap();
        self.next += 1;
        let member = Member {
            consumer: Consumer::new(config, &PURE_RUST),
            rng: Rng::new(u64::from(self.next)),
            trace: Trace::recording(self.next),
            out: Vec::new(),
            wires: Wires::default(),
            polls: true,
            confirms: true,
            waits: false,
            records: Vec::new(),
            events: Vec::new(),
            facts: Vec::new(),
        };
        self.members.insert(self.next, member);
        self.next
    }

    /// One of group `g` that reads these topics, with a listener; it has joined when this returns.
    pub fn join(&mut self, settings: &[(&str, &str)], topics: &[&str]) -> u32 {
        let mut all = vec![("group.id", "g")];
        all.extend(settings);
        let id = self.consumer(&all);
        self.call(id, |consumer, cx| {
            let listener = RebalanceListener::Present;
            consumer.subscribe(cx, names(topics), listener).unwrap();
        });
        id
    }

    pub fn member(&self, id: u32) -> &Member {
        &self.members[&id]
    }

    pub fn member_mut(&mut self, id: u32) -> &mut Member {
        self.members.get_mut(&id).unwrap()
    }

    /// Calls the consumer, and lets everything follow that follows at once.
    pub fn call<T>(&mut self, id: u32, what: impl FnOnce(&mut Consumer, &mut ClientCx) -> T) -> T {
        let now = self.host.now;
        let result = self.member_mut(id).turn(now, what);
        self.pump();
        result
    }

    /// The process is gone, and nobody hears of it.
    pub fn kill(&mut self, id: u32) {
        let mut member = self.members.remove(&id).unwrap();
        member.wires.cut(&mut self.host, "the process is gone");
    }

    pub fn close(&mut self, id: u32) -> Member {
        self.call(id, |consumer, cx| consumer.close(cx, 30_000, LeaveBy::Default));
        // A join that waits for others holds back what is said behind it.
        for _ in 0..31 {
            if !self.member(id).consumer.is_closed() {
                self.advance(1_000);
            }
        }
        let member = self.members.remove(&id).unwrap();
        assert!(member.consumer.is_closed());
        member
    }

    /// kill -9 of the broker, and its next life.
    pub fn restart_broker(&mut self) {
        self.host.crash();
        let now = self.host.now;
        for member in self.members.values_mut() {
            for lost in member.wires.broker_died() {
                member.turn(now, |consumer, cx| consumer.handle(cx, &lost));
            }
        }
        self.host.boot();
        self.pump();
    }

    /// Lets time pass; everybody is called when they want to be.
    pub fn advance(&mut self, by_ms: Millis) {
        let until = self.host.now + by_ms;
        self.pump();
        while self.host.now < until {
            let due = self.members.values().filter_map(|m| m.consumer.poll_timeout());
            let next = due.chain(self.host.poll_timeout()).min().unwrap_or(until);
            let step = next.clamp(self.host.now + 1, until) - self.host.now;
            self.host.advance(step);
            let now = self.host.now;
            for member in self.members.values_mut() {
                if member.consumer.poll_timeout().is_some_and(|due| due <= now) {
                    member.turn(now, |consumer, cx| consumer.handle(cx, &ClientInput::Tick));
                }
                if member.polls && !member.waits {
                    member.poll(now);
                }
            }
            self.pump();
        }
    }

    /// Carries requests and answers until nothing moves any more.
    pub fn pump(&mut self) {
        for round in 0.. {
            assert!(round < 10_000, "somebody never comes to rest");
            let mut moved = false;
            for member in self.members.values_mut() {
                moved |= member.carry(&mut self.host);
            }
            if !moved {
                return;
            }
        }
    }

    /// What each member has, and that nobody shares.
    pub fn owners(&self) -> OrderedMap<u32, OrderedSet<TopicPartition>> {
        let mut all = OrderedSet::new();
        let mut owners = OrderedMap::new();
        for (id, member) in &self.members {
            let owned = member.consumer.assignment();
            for partition in &owned {
                assert!(all.insert(partition.clone()), "{partition} has two owners");
            }
            owners.insert(*id, owned);
        }
        owners
    }
}

impl Member {
    fn turn<T>(&mut self, now: Millis, what: impl FnOnce(&mut Consumer, &mut ClientCx) -> T) -> T {
        let mut cx = ClientCx {
            now,
            rng: &mut self.rng,
            trace: &mut self.trace,
            cause: EventId::NONE,
            out: &mut self.out,
        };
        let result = what(&mut self.consumer, &mut cx);
        for event in self.trace.take() {
            if let Fact::Consumer(fact) = event.fact {
                self.facts.push(fact);
            }
        }
        result
    }

    fn poll(&mut self, now: Millis) {
        let records = self.turn(now, |consumer, cx| consumer.poll(cx));
        self.waits = records.is_empty();
        self.records.extend(records);
    }

    /// One step of everything; whether anything moved.
    fn carry(&mut self, host: &mut Host) -> bool {
        let (heard, mut moved) = self.wires.carry(host, &mut self.out);
        for input in &heard {
            self.turn(host.now, |consumer, cx| consumer.handle(cx, input));
        }
        while let Some(event) = self.consumer.next_event() {
            moved = true;
            if matches!(event, ConsumerEvent::Failed(_)) {
                // It polls again a little later.
                self.waits = false;
                self.events.push(event);
                return moved;
            }
            let is_rebalance = matches!(event, ConsumerEvent::Rebalance(_));
            self.events.push(event);
            if is_rebalance && self.confirms {
                self.turn(host.now, |consumer, cx| consumer.confirm_rebalance(cx));
            }
        }
        let failed = matches!(self.events.last(), Some(ConsumerEvent::Failed(_)));
        if self.polls && (self.consumer.has_records() || !self.waits) && !failed {
            let before = self.records.len();
            let waited = self.waits;
            self.poll(host.now);
            moved |= self.records.len() > before || !waited;
        }
        moved
    }

    // ---- what a test asks

    pub fn values(&self) -> Vec<String> {
        let values = self.records.iter();
        values
            .map(|record| String::from_utf8_lossy(record.value.as_deref().unwrap_or_default()).into_owned())
            .collect()
    }

    pub fn offsets(&self) -> Vec<Offset> {
        self.records.iter().map(|record| record.offset).collect()
    }

    /// What it heard of partitions since the last call.
    pub fn rebalances(&mut self) -> Vec<Rebalance> {
        let (heard, rest) = std::mem::take(&mut self.events)
            .into_iter()
            .partition(|event| matches!(event, ConsumerEvent::Rebalance(_)));
        self.events = rest;
        let heard: Vec<ConsumerEvent> = heard;
        heard
            .into_iter()
            .filter_map(|event| match event {
                ConsumerEvent::Rebalance(what) => Some(what),
                _ => None,
            })
            .collect()
    }

    pub fn errors(&self) -> Vec<ConsumerError> {
        let events = self.events.iter();
        events
            .filter_map(|event| match event {
                ConsumerEvent::Failed(error) => Some(error.clone()),
                _ => None,
            })
            .collect()
    }
}
