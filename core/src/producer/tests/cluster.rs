//! A producer and the broker that it sends to: the broker is the one that runs natively, they speak in
//! frames, and time moves only when a test lets it.

use crate::client::testing::settings;
use crate::client::tests::{Wires, create_topic, read_partition};
use crate::client::{ClientCx, ClientInput, ClientOutput};
use crate::error::ErrorCode;
use crate::ordered::OrderedMap;
use crate::producer::{
    Producer, ProducerConfig, ProducerError, ProducerEvent, ProducerRecord, RecordId, RecordMetadata, Stages,
};
use crate::sim::Host;
use crate::trace::{EventId, Fact, ProducerFact, Trace};
use crate::types::{Millis, PartitionIndex, Rng};

pub type Ended = OrderedMap<RecordId, Result<RecordMetadata, ProducerError>>;

pub struct Scene {
    pub host: Host,
    pub producer: Producer,
    pub wires: Wires,
    rng: Rng,
    trace: Trace,
    out: Vec<ClientOutput>,
    /// Flushes and the end, in order.
    pub signals: Vec<ProducerEvent>,
    pub ended: Ended,
    pub facts: Vec<ProducerFact>,
}

pub fn config(pairs: &[(&str, &str)]) -> ProducerConfig {
    let mut all = settings(&[
        ("bootstrap.servers", "localhost:9092"),
        ("key.serializer", "StringSerializer"),
        ("value.serializer", "StringSerializer"),
    ]);
    all.extend(settings(pairs));
    ProducerConfig::read(&all).unwrap()
}

impl Scene {
    /// A broker with topic `t` of so many partitions, and a producer with these settings.
    pub fn new(partitions: i32, pairs: &[(&str, &str)]) -> Self {
        Self::on(&[], partitions, &[], pairs)
    }

    pub fn on(broker: &[&str], partitions: i32, topic: &[(&str, &str)], pairs: &[(&str, &str)]) -> Self {
        let config = config(pairs);
        let stages = Stages::named(&config).unwrap();
        Self::staged(broker, partitions, topic, config, stages)
    }

    pub fn staged(
        broker: &[&str],
        partitions: i32,
        topic: &[(&str, &str)],
        config: ProducerConfig,
        stages: Stages,
    ) -> Self {
        let mut settings = vec!["broker.id=1", "log.dirs=/data"];
        settings.extend(broker);
        let mut host = Host::start(&settings);
        if partitions > 0 {
            create_topic(&mut host, "t", partitions, topic);
        }
        Self {
            host,
            producer: Producer::with_stages(config, stages),
            wires: Wires::default(),
            rng: Rng::new(1),
            trace: Trace::recording(1),
            out: Vec::new(),
            signals: Vec::new(),
            ended: Ended::new(),
            facts: Vec::new(),
        }
    }

    pub fn seed(&mut self, seed: u64) {
        self.rng = Rng::new(seed);
    }

    pub fn turn<T>(&mut self, what: impl FnOnce(&mut Producer, &mut ClientCx) -> T) -> T {
        let mut cx = ClientCx {
            now: self.host.now,
            rng: &mut self.rng,
            trace: &mut self.trace,
            cause: EventId::NONE,
            out: &mut self.out,
        };
        let result = what(&mut self.producer, &mut cx);
        for event in self.trace.take() {
            if let Fact::Producer(fact) = event.fact {
                self.facts.push(fact);
            }
        }
        self.hear();
        result
    }

    /// Takes what the producer says; no record may end twice.
    fn hear(&mut self) {
        while let Some(event) = self.producer.next_event() {
            let (id, end) = match event {
                ProducerEvent::Acknowledged { id, metadata } => (id, Ok(metadata)),
                ProducerEvent::Failed { id, error, .. } => (id, Err(error)),
                signal => {
                    self.signals.push(signal);
                    continue;
                }
            };
            let before = self.ended.insert(id, end);
            assert_eq!(before, None, "record {id} ends twice");
        }
    }

    /// Calls the producer, and lets everything follow that follows at once.
    pub fn call<T>(&mut self, what: impl FnOnce(&mut Producer, &mut ClientCx) -> T) -> T {
        let result = self.turn(what);
        self.pump();
        result
    }

    pub fn tell(&mut self, inputs: &[ClientInput]) {
        for input in inputs {
            self.turn(|producer, cx| producer.handle(cx, input));
        }
    }

    /// Carries requests and answers until nothing moves any more.
    pub fn pump(&mut self) {
        for round in 0.. {
            assert!(round < 10_000, "somebody never comes to rest");
            if !self.carry() {
                return;
            }
        }
    }

    /// One step of that; whether anything moved.
    pub fn carry(&mut self) -> bool {
        let (heard, moved) = self.wires.carry(&mut self.host, &mut self.out);
        self.tell(&heard);
        moved
    }

    /// Lets time pass; producer and broker are called when they want to be.
    pub fn advance(&mut self, by_ms: Millis) {
        let until = self.host.now + by_ms;
        self.pump();
        while self.host.now < until {
            let due = self.producer.poll_timeout().into_iter();
            let next = due.chain(self.host.poll_timeout()).min().unwrap_or(until);
            let step = next.clamp(self.host.now + 1, until) - self.host.now;
            self.host.advance(step);
            if self
                .producer
                .poll_timeout()
                .is_some_and(|due| due <= self.host.now)
            {
                self.tell(&[ClientInput::Tick]);
            }
            self.pump();
        }
    }

    /// The producer has found its cluster, and record 0 lies in partition 0.
    pub fn warm(mut self) -> Self {
        self.send(0, &["first"]);
        self.turn(|producer, cx| producer.flush(cx));
        self.advance(1_000);
        assert!(self.ended[&0].is_ok(), "{:?}", self.ended);
        self.facts.clear();
        self.signals.clear();
        self
    }

    pub fn cut(&mut self) {
        let lost = self.wires.cut(&mut self.host, "the connection was cut");
        self.tell(&lost);
    }

    /// kill -9 of the broker, and its next life.
    pub fn restart_broker(&mut self) {
        self.host.crash();
        let lost = self.wires.broker_died();
        self.tell(&lost);
        self.host.boot();
    }

    // ---- the application

    pub fn send_record(&mut self, record: ProducerRecord) -> RecordId {
        self.turn(|producer, cx| producer.send(cx, record))
    }

    /// Sends values to a partition of `t`, and lets nothing else happen.
    pub fn send(&mut self, index: PartitionIndex, values: &[&str]) {
        for value in values {
            self.send_record(ProducerRecord::new("t", *value).partition(index));
        }
    }

    // ---- what a test asks

    /// The values in a partition of `t`, in order.
    pub fn stored(&mut self, index: PartitionIndex) -> Vec<String> {
        let records = read_partition(&mut self.host, "t", index).into_iter();
        let value = |value: Option<bytes::Bytes>| value.unwrap_or_default().to_vec();
        records
            .map(|record| String::from_utf8(value(record.value)).unwrap())
            .collect()
    }

    pub fn code(&self, id: RecordId) -> Option<ErrorCode> {
        self.ended.get(&id)?.as_ref().err().map(ProducerError::code)
    }

    pub fn error(&self, id: RecordId) -> String {
        self.ended[&id].as_ref().unwrap_err().to_string()
    }

    /// Records of each batch that went out, with the reason.
    pub fn drained(&self) -> Vec<(u32, &str)> {
        let drained = self.facts.iter().filter_map(|fact| match fact {
            ProducerFact::BatchDrained { records, why, .. } => Some((*records, why.as_str())),
            _ => None,
        });
        drained.collect()
    }

    pub fn count(&self, is_meant: impl Fn(&ProducerFact) -> bool) -> usize {
        self.facts.iter().filter(|fact| is_meant(fact)).count()
    }
}
