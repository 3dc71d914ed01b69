//! A producer's picture: one record on its way, the queues of batches, memory, and what is under way.
//!
//! It follows from what the producer's own facts have told ([`ProducerView`]), like everything on a stage.

use super::message::records;
use super::names::Names;
use super::{Element, own_partitions};
use crate::ordered::OrderedMap;
use crate::types::{BrokerId, Millis, TopicPartition};
use crate::view::{BatchView, ClusterView, ProducerView, Tally, Way};

/// Queues that have room on a stage.
const MOST_QUEUES: usize = 4;

/// A producer, as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerPicture {
    /// `producer`, or `producer 2` where there are several.
    pub name: String,
    /// Its settings, each with its value: `linger.ms=5`.
    pub settings: Vec<String>,
    pub stations: Vec<Station>,
    pub queues: Vec<Queue>,
    pub memory: MemoryGauge,
    pub senders: Vec<Sender>,
    pub tally: Tally,
}

/// A stage of a record's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Station {
    pub name: &'static str,
    /// What became of the record there; `None`: it has not come so far.
    pub done: Option<String>,
    /// The last one that it has come to.
    pub here: bool,
}

/// The batches of a partition that have not gone out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    pub partition: TopicPartition,
    pub batches: Vec<Waiting>,
}

/// A batch that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub batch: u64,
    /// Where each record ends in it, in bytes.
    pub ends: Vec<u64>,
    pub bytes: u64,
    pub limit_bytes: u64,
    pub waited_ms: Millis,
    pub linger_ms: Millis,
    /// It has failed once, and goes out again.
    pub again: bool,
    /// Another one is behind it: it takes no more.
    pub closed: bool,
}

/// How much of `buffer.memory` is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryGauge {
    pub used: u64,
    pub total: u64,
    /// Records that wait in `send`, and why the first of them does.
    pub blocked: usize,
    pub why: Option<String>,
}

/// What is under way to one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    pub broker: BrokerId,
    /// Requests, in the order of sending, each as its batches: `orders-1: 3 records`.
    pub requests: Vec<String>,
    pub most: u32,
}

impl ProducerPicture {
    /// Of the producer that was last given something to send; `None` before.
    pub fn of(view: &ClusterView) -> Option<Self> {
        let node = view.given_to?;
        let seen = view.producers.get(&node)?;
        Some(Self {
            name: Names::of(view).of_node(node),
            settings: settings(seen),
            stations: stations(&seen.way, seen),
            queues: queues(view, seen),
            memory: MemoryGauge {
                used: seen.memory_used(),
                total: seen.settings.buffer_memory_bytes,
                blocked: seen.blocked.len(),
                why: seen.blocked.values().next().cloned(),
            },
            senders: view.brokers.keys().map(|&broker| sender(broker, seen)).collect(),
            tally: seen.tally,
        })
    }

    /// Everything that is drawn, in the order of reading.
    pub fn elements(&self) -> Vec<Element> {
        let mut all = vec![element("settings", self.say_settings())];
        all.extend(
            self.stations
                .iter()
                .map(|station| element(&station.key(), station.say())),
        );
        for queue in &self.queues {
            all.push(element(&queue.key(), queue.say()));
            let batches = queue.batches.iter();
            all.extend(batches.map(|batch| element(&batch.key(&queue.partition), batch.say())));
        }
        all.push(element("memory", self.memory.say()));
        all.extend(
            self.senders
                .iter()
                .map(|sender| element(&sender.key(), sender.say())),
        );
        all.push(element("tally", self.say_tally()));
        all
    }

    pub fn say_settings(&self) -> String {
        format!("{}: {}", self.name, self.settings.join(", "))
    }

    /// What became of the records that it was last given.
    pub fn say_tally(&self) -> String {
        let Tally {
            given,
            acknowledged,
            failed,
            requests,
            longest_ms,
            ..
        } = self.tally;
        let failed = match failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        format!(
            "of {given} acknowledged: {acknowledged}{failed}; requests: {requests}; longest wait: {longest_ms} ms"
        )
    }
}

fn element(key: &str, say: String) -> Element {
    Element {
        key: key.to_owned(),
        say,
    }
}

fn settings(seen: &ProducerView) -> Vec<String> {
    let set = &seen.settings;
    vec![
        format!("batch.size={}", set.batch_size_bytes),
        format!("linger.ms={}", set.linger_ms),
        format!("buffer.memory={}", set.buffer_memory_bytes),
        format!("compression.type={}", set.compression),
    ]
}

fn stations(way: &Way, seen: &ProducerView) -> Vec<Station> {
    let blocked = way.record.and_then(|record| seen.blocked.get(&record));
    let is_beyond = way.serialized.is_some() || way.batch.is_some();
    let send = way.record.map(|record| match blocked {
        Some(why) => format!("record {record} waits: {why}"),
        None => format!("record {record}"),
    });
    let send = send.or((!way.interceptors.is_empty()).then(|| "a record".to_owned()));
    let seen_by = way.interceptors.iter().map(|(by, changed)| match changed {
        true => format!("{by} changes it"),
        false => format!("{by} sees it"),
    });
    let seen_by: Vec<String> = seen_by.collect();
    let intercepted = match seen_by.is_empty() {
        true => is_beyond.then(|| "there are none".to_owned()),
        false => Some(seen_by.join(", ")),
    };
    let serialized = way.serialized.map(|(key, value)| {
        let bytes = |bytes: Option<u32>| bytes.map_or("none".to_owned(), |bytes| format!("{bytes} bytes"));
        format!("key: {}, value: {}", bytes(key), bytes(value))
    });
    let chosen = way.partition.as_ref();
    let chosen = chosen.map(|(partition, why)| format!("{partition}: {why}"));
    let appended = way.batch.map(|batch| format!("batch {batch}"));
    let all = [
        ("send", send),
        ("interceptors", intercepted),
        ("serializer", serialized),
        ("partitioner", chosen),
        ("accumulator", appended),
    ];
    let last = all.iter().rposition(|(_, done)| done.is_some());
    let station = |(at, (name, done))| Station {
        name,
        done,
        here: Some(at) == last,
    };
    all.into_iter().enumerate().map(station).collect()
}

fn queues(view: &ClusterView, seen: &ProducerView) -> Vec<Queue> {
    let mut queues: OrderedMap<&TopicPartition, Vec<Waiting>> = OrderedMap::new();
    queues.extend(own_partitions(view).map(|partition| (partition, Vec::new())));
    for (&id, batch) in &seen.batches {
        let waiting = queues.entry(&batch.partition).or_default();
        if batch.drained.is_none() {
            for before in waiting.iter_mut() {
                before.closed = true;
            }
            waiting.push(waiting_of(id, batch, seen));
        }
    }
    let queue = |(partition, batches): (&TopicPartition, Vec<Waiting>)| Queue {
        partition: partition.clone(),
        batches,
    };
    queues.into_iter().take(MOST_QUEUES).map(queue).collect()
}

fn waiting_of(batch: u64, seen: &BatchView, producer: &ProducerView) -> Waiting {
    Waiting {
        batch,
        ends: seen.ends.clone(),
        bytes: seen.bytes,
        limit_bytes: producer.settings.batch_size_bytes.max(seen.bytes),
        waited_ms: producer.now_ms - seen.created_ms,
        linger_ms: producer.settings.linger_ms,
        again: seen.again,
        closed: false,
    }
}

fn sender(broker: BrokerId, seen: &ProducerView) -> Sender {
    let requests = seen.requests.iter().filter(|request| request.node == broker);
    let said = requests.map(|request| {
        let batches = request.batches.iter().filter_map(|id| seen.batches.get(id));
        let said: Vec<String> = batches
            .map(|batch| format!("{}: {}", batch.partition, records(batch.ends.len() as u64)))
            .collect();
        said.join(", ")
    });
    Sender {
        broker,
        requests: said.collect(),
        most: seen.settings.max_in_flight,
    }
}

impl Station {
    pub fn key(&self) -> String {
        format!("way:{}", self.name)
    }

    pub fn say(&self) -> String {
        let here = if self.here { ", here it is now" } else { "" };
        match &self.done {
            Some(done) => format!("{}: {done}{here}", self.name),
            None => format!("{}: not yet", self.name),
        }
    }
}

impl Queue {
    pub fn key(&self) -> String {
        format!("queue:{}", self.partition)
    }

    pub fn say(&self) -> String {
        let partition = &self.partition;
        match self.batches.len() {
            0 => format!("{partition}: nothing waits"),
            1 => format!("{partition}: 1 batch waits"),
            count => format!("{partition}: {count} batches wait"),
        }
    }
}

impl Waiting {
    pub fn key(&self, of: &TopicPartition) -> String {
        format!("queue:{of}:{}", self.batch)
    }

    /// `2 records, 279 of 600 bytes`.
    pub fn filled(&self) -> String {
        format!(
            "{}, {} of {} bytes",
            records(self.ends.len() as u64),
            self.bytes,
            self.limit_bytes
        )
    }

    /// `waits 4 of 20 ms`.
    pub fn waits(&self) -> String {
        let Self {
            waited_ms, linger_ms, ..
        } = self;
        match (self.again, self.closed) {
            (true, _) => "goes out again".to_owned(),
            (false, true) => "full, goes out next".to_owned(),
            (false, false) if waited_ms >= linger_ms => "linger.ms is over, goes out next".to_owned(),
            (false, false) => format!("waits {waited_ms} of {linger_ms} ms"),
        }
    }

    pub fn say(&self) -> String {
        format!("batch {}: {}, {}", self.batch, self.filled(), self.waits())
    }
}

impl MemoryGauge {
    /// `600 of 1800 bytes`.
    pub fn filled(&self) -> String {
        format!("{} of {} bytes", self.used, self.total)
    }

    pub fn blocks(&self) -> String {
        match (self.blocked, &self.why) {
            (0, _) | (_, None) => "no send is blocked".to_owned(),
            (1, Some(why)) => format!("a send is blocked: {why}"),
            (count, Some(why)) => format!("{count} sends are blocked: {why}"),
        }
    }

    pub fn say(&self) -> String {
        format!("buffer.memory: {}, {}", self.filled(), self.blocks())
    }
}

impl Sender {
    pub fn key(&self) -> String {
        format!("requests:{}", self.broker)
    }

    pub fn in_flight(&self) -> String {
        format!("{} of {} in flight", self.requests.len(), self.most)
    }

    pub fn say(&self) -> String {
        let lead = if self.requests.is_empty() { "" } else { ": " };
        format!(
            "requests to broker {}: {}{lead}{}",
            self.broker,
            self.in_flight(),
            self.requests.join("; ")
        )
    }
}
