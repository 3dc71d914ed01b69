//! kill -9 in the middle of everything, several times on the same directory: whatever the broker had
//! acknowledged is there when it is back, in order, once.
//!
//! Topics with every kind of flush setting, since a killed process leaves the page cache behind and so
//! none of them may matter; producers that pipeline, with an id of their own or without; and meanwhile
//! topics are made and deleted, and producer ids are given.
//!
//! What was sent and not answered may be there or not. A producer with an id sends it again after the
//! restart, together with its last acknowledged batch, as a client would whose answer got lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use highwater_core::error::ErrorCode;
use highwater_core::protocol::{ApiKey, RequestBody, ResponseBody};
use highwater_core::record::compression::PureRust;
use highwater_core::record::{Batch, BatchBuilder, Codec};
use highwater_core::types::{Millis, Offset, PartitionIndex, ProducerEpoch, ProducerId, Rng, Uuid};
use highwater_tests::broker::TestBroker;
use highwater_tests::requests::*;
use highwater_tests::wire::WireClient;

/// The topics, each with a flush setting of its own, and segments small enough to roll.
const TOPICS: [(&str, &[(&str, &str)]); 3] = [
    ("flushed-by-the-system", &[("segment.bytes", "1048576")]),
    (
        "flushed-each-message",
        &[("flush.messages", "1"), ("segment.bytes", "1048576")],
    ),
    (
        "flushed-by-time",
        &[("flush.ms", "5"), ("segment.bytes", "1048576")],
    ),
];
const PARTITIONS: PartitionIndex = 2;
const RECORDS_A_BATCH: i32 = 5;
const VALUE_BYTES: usize = 200;
/// A broker remembers five batches of a producer: these and the last one that was acknowledged.
const MOST_IN_FLIGHT: usize = 4;

/// Somebody who writes numbered batches into one partition, over all the broker's lives.
struct Producer {
    name: usize,
    topic: &'static str,
    partition: PartitionIndex,
    id: Option<(ProducerId, ProducerEpoch)>,
    /// The number of the next batch; it also says what is in it.
    next: i32,
    in_flight: VecDeque<i32>,
    /// Where each acknowledged batch lies.
    acknowledged: BTreeMap<i32, Offset>,
    now: Millis,
}

impl Producer {
    fn batch(&self, number: i32) -> Bytes {
        let mut batch = BatchBuilder::new(Codec::None);
        if let Some((id, epoch)) = self.id {
            batch = batch.producer(id, epoch, number * RECORDS_A_BATCH);
        }
        for record in 0..RECORDS_A_BATCH {
            let value = format!("{}:{number}:{record}:{:VALUE_BYTES$}", self.name, "");
            batch.append(self.now, None, Some(value.as_bytes()), &[]);
        }
        batch.build()
    }

    fn send(&self, client: &mut WireClient, number: i32) -> bool {
        let request = produce_request(self.topic, self.partition, -1, self.batch(number));
        client.send(PRODUCE, &request)
    }

    /// Sends once more what the last life of the broker left unanswered; without an id nobody may.
    fn send_again(&mut self, client: &mut WireClient) {
        if self.id.is_none() {
            self.in_flight.clear();
            return;
        }
        if let Some((&number, &offset)) = self.acknowledged.last_key_value() {
            let again = produce(client, self.topic, self.partition, self.batch(number));
            assert_eq!(again, Ok(offset), "a retried batch answers its first offset");
        }
        for number in std::mem::take(&mut self.in_flight) {
            let answer = produce(client, self.topic, self.partition, self.batch(number));
            self.acknowledged
                .insert(number, answer.expect("a retried batch is taken"));
        }
    }

    /// Writes until the broker is gone, and rings for each acknowledgement.
    fn write_until_killed(&mut self, client: &mut WireClient, bell: &Bell) {
        let mut answered = client.last_sent();
        loop {
            while self.in_flight.len() < MOST_IN_FLIGHT {
                self.in_flight.push_back(self.next);
                self.next += 1;
                if !self.send(client, self.next - 1) {
                    return;
                }
            }
            answered += 1;
            let Some(answer) = client.receive(ApiKey::Produce, PRODUCE, answered) else {
                return;
            };
            let number = self.in_flight.pop_front().expect("one was sent");
            self.acknowledged
                .insert(number, produced(answer).expect("a batch is taken"));
            bell.ring();
        }
    }
}

/// Counts acknowledgements, so that the killer strikes amid them.
#[derive(Default)]
struct Bell {
    rung: Mutex<usize>,
    more: Condvar,
}

/// A broker that acknowledges nothing for so long is broken.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(60);

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap() += 1;
        self.more.notify_one();
    }

    /// Waits for so many; false if none came for long.
    fn wait_for(&self, times: usize) -> bool {
        let mut rung = self.rung.lock().unwrap();
        while *rung < times {
            let before = *rung;
            let waited = self
                .more
                .wait_timeout_while(rung, ACKNOWLEDGED_WITHIN, |rung| *rung == before);
            let (now, waited) = waited.unwrap();
            if waited.timed_out() {
                return false;
            }
            rung = now;
        }
        true
    }
}

/// What is known of the topics that come and go.
#[derive(Default)]
struct Admin {
    made: u32,
    /// Acknowledged, and nobody asked to delete them.
    there: BTreeMap<String, Uuid>,
    /// Their deletion was acknowledged.
    gone: BTreeSet<String>,
    producer_ids: BTreeSet<ProducerId>,
}

impl Admin {
    fn take_producer_id(&mut self, client: &mut WireClient) -> (ProducerId, ProducerEpoch) {
        let given = new_producer_id(client);
        assert!(
            self.producer_ids.insert(given.0),
            "producer id {} given twice",
            given.0
        );
        given
    }

    /// Makes topics, deletes every second one and takes producer ids until the broker is gone.
    fn work_until_killed(&mut self, client: &mut WireClient) {
        while self.work(client).is_some() {}
    }

    fn work(&mut self, client: &mut WireClient) -> Option<()> {
        self.made += 1;
        let name = format!("made-{}", self.made);
        let id = created(try_ask(
            client,
            CREATE_TOPICS,
            &create_topic_request(&name, 1, &[]),
        )?)
        .expect("a topic");
        self.there.insert(name, id);
        let answer = try_ask(client, INIT_PRODUCER_ID, &init_producer_id_request())?;
        let id = given_producer_id(answer).0;
        assert!(self.producer_ids.insert(id), "producer id {id} given twice");
        if self.made.is_multiple_of(2) {
            let (name, _) = self.there.pop_first().expect("one was made");
            let deleted = deleted(try_ask(client, DELETE_TOPICS, &delete_topic_request(&name))?);
            assert_eq!(deleted, ErrorCode::None);
            self.gone.insert(name);
        }
        Some(())
    }

    fn check(&self, client: &mut WireClient) {
        let found: BTreeMap<String, Uuid> = topics(client).into_iter().collect();
        for (name, id) in &self.there {
            assert_eq!(found.get(name), Some(id), "{name} was acknowledged");
        }
        for name in &self.gone {
            assert!(!found.contains_key(name), "{name} was deleted");
        }
    }
}

/// Sends and waits; `None` when the broker is gone.
fn try_ask(client: &mut WireClient, version: i16, body: &RequestBody) -> Option<ResponseBody> {
    client.send(version, body).then_some(())?;
    client.receive(body.api(), version, client.last_sent())
}

/// Whose batch this is and its number. All its records must be those that were sent.
fn identify(batch: &Batch) -> (usize, i32) {
    let records = batch.records(&PureRust, 1 << 20).expect("records");
    let mut of = None;
    for (at, record) in records.enumerate() {
        let record = record.expect("a record");
        let value = String::from_utf8(record.value.expect("a value").to_vec()).expect("text");
        let mut parts = value.split(':');
        let mut number = || {
            parts
                .next()
                .and_then(|part| part.parse::<usize>().ok())
                .expect("a number")
        };
        let (producer, batch, place) = (number(), number() as i32, number());
        assert_eq!(place, at, "records of a batch stay in order");
        assert_eq!(*of.get_or_insert((producer, batch)), (producer, batch));
    }
    assert_eq!(batch.header.record_count, RECORDS_A_BATCH);
    of.expect("no batch is empty")
}

/// Compares all partitions with what their producers were told.
fn check(client: &mut WireClient, producers: &[Producer]) {
    let mut stored: BTreeMap<(usize, i32), Offset> = BTreeMap::new();
    for (topic, _) in TOPICS {
        for partition in 0..PARTITIONS {
            let mut end = 0;
            let mut last: BTreeMap<usize, i32> = BTreeMap::new();
            for batch in read_log(client, topic, partition, 0) {
                let offset = batch.header.base_offset;
                assert_eq!(offset, end, "{topic}-{partition} has no gap");
                end = batch.header.next_offset();
                let (name, number) = identify(&batch);
                let place = &producers[name];
                assert_eq!((place.topic, place.partition), (topic, partition));
                let twice = stored.insert((name, number), offset);
                assert_eq!(twice, None, "batch {number} of producer {name} is stored once");
                let before = last.insert(name, number);
                assert!(
                    before < Some(number),
                    "producer {name}: {before:?}, then {number}"
                );
            }
        }
    }
    for producer in producers {
        for (number, offset) in &producer.acknowledged {
            assert_eq!(
                stored.get(&(producer.name, *number)),
                Some(offset),
                "batch {number} of producer {} ({}) was acknowledged at {offset}",
                producer.name,
                producer.topic
            );
        }
    }
}

/// Kills a broker this many times under load, at moments drawn from the seed.
fn kill_under_load(rounds: u32, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut broker = TestBroker::start(&["auto.create.topics.enable=false"]);
    let mut client = WireClient::connect(&broker.address());
    let mut admin = Admin::default();
    for (topic, configs) in TOPICS {
        create_topic(&mut client, topic, PARTITIONS, configs).expect("a topic");
    }
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("a clock");
    let mut producers = Vec::new();
    for (topic, _) in TOPICS {
        for (partition, with_id) in [(0, true), (0, false), (1, true)] {
            producers.push(Producer {
                name: producers.len(),
                topic,
                partition,
                id: with_id.then(|| admin.take_producer_id(&mut client)),
                next: 0,
                in_flight: VecDeque::new(),
                acknowledged: BTreeMap::new(),
                now: now.as_millis() as Millis,
            });
        }
    }
    for _ in 0..rounds {
        let (bell, address) = (Bell::default(), broker.address());
        let strikes_after = 100 + rng.below(900) as usize;
        std::thread::scope(|scope| {
            for producer in &mut producers {
                let (bell, mut client) = (&bell, WireClient::connect(&address));
                scope.spawn(move || producer.write_until_killed(&mut client, bell));
            }
            let mut client = WireClient::connect(&address);
            let admin = &mut admin;
            scope.spawn(move || admin.work_until_killed(&mut client));
            let rang = bell.wait_for(strikes_after);
            // The others write until it is gone.
            broker.kill();
            assert!(rang, "no acknowledgements");
        });
        broker.restart();
        let mut client = WireClient::connect(&broker.address());
        check(&mut client, &producers);
        for producer in &mut producers {
            producer.send_again(&mut client);
        }
        check(&mut client, &producers);
        admin.check(&mut client);
    }
    for producer in producers.iter().filter(|producer| producer.id.is_some()) {
        let acknowledged: Vec<i32> = producer.acknowledged.keys().copied().collect();
        assert_eq!(
            acknowledged,
            (0..producer.next).collect::<Vec<_>>(),
            "nothing was lost on the way"
        );
    }
    assert!(broker.stop().success());
}

#[test]
fn what_was_acknowledged_survives_kill_9_in_order_and_once() {
    kill_under_load(4, 1);
}

/// How long the long run goes on.
const LONG_RUN: Duration = Duration::from_secs(600);

#[test]
#[ignore = "ten minutes: cargo xtask test --soak"]
fn what_was_acknowledged_survives_ten_minutes_of_kill_9() {
    let start = Instant::now();
    for seed in 2.. {
        if start.elapsed() > LONG_RUN {
            return;
        }
        kill_under_load(8, seed);
    }
}
