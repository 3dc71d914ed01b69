//! The measurements under load. Each is made on a running broker with a topic of its own, and gives
//! figures by their ids.

use crate::broker::Broker;
use crate::meter::Cpu;
use crate::payload::{self, Messages};
use crate::plan::{Plan, STEADY_A_SECOND};
use crate::{Result, kafka, load, statistics, topics};

pub type Values = Vec<(&'static str, f64)>;

/// What all loads use.
pub struct Loads {
    pub plan: Plan,
    one_kib: Messages,
    hundred: Messages,
    json: Messages,
}

/// A measurement: its name, and what it does with a broker and the name of a topic that is not there.
pub type Load = (&'static str, fn(&Loads, &Broker, &str) -> Result<Values>);

/// In the order they are made; the steady one last, when everything is warm.
pub const ALL: [Load; 7] = [
    ("1k", Loads::one_kib),
    ("100b", Loads::hundred_bytes),
    ("lz4", Loads::lz4),
    ("zstd", Loads::zstd),
    ("six", Loads::six_partitions),
    ("java", Loads::java),
    ("steady", Loads::steady),
];

/// What some work took.
pub struct Work {
    seconds: f64,
    cpu: Cpu,
    gb: f64,
}

impl Work {
    pub fn mb_a_second(&self) -> f64 {
        self.gb * 1e3 / self.seconds
    }

    pub fn cpu_per_gb(&self) -> f64 {
        self.cpu.total_s() / self.gb
    }

    fn user_per_gb(&self) -> f64 {
        self.cpu.user_s / self.gb
    }
}

impl Loads {
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            one_kib: payload::of_size(1024),
            hundred: payload::of_size(100),
            json: payload::json(),
        }
    }

    /// Produces and fetches, so that caches are filled and Kafka's code is compiled.
    pub fn warm(&self, broker: &Broker) -> Result<()> {
        for topic in ["warm", "warm-again"] {
            topics::create(broker, topic, 1)?;
            produce(
                broker,
                topic,
                1,
                &ACKS_ALL,
                &self.one_kib,
                self.plan.warm_bytes / 2,
            )?;
            fetch(broker, topic, 1, &self.one_kib, self.plan.warm_bytes / 2)?;
            topics::delete(broker, topic)?;
        }
        Ok(())
    }

    /// So many bytes in messages of 1 KiB with acks=all.
    pub fn produce_one_kib(&self, broker: &Broker, topic: &str, bytes: u64) -> Result<Work> {
        produce(broker, topic, 1, &ACKS_ALL, &self.one_kib, bytes)
    }

    fn one_kib(&self, broker: &Broker, topic: &str) -> Result<Values> {
        topics::create(broker, topic, 1)?;
        let produced = self.produce_one_kib(broker, topic, self.plan.bytes_of_1k)?;
        let fetched = fetch(broker, topic, 1, &self.one_kib, self.plan.bytes_of_1k)?;
        topics::delete(broker, topic)?;
        Ok(vec![
            ("1k.produce", produced.mb_a_second()),
            ("1k.produce_cpu", produced.cpu_per_gb()),
            ("1k.produce_user", produced.user_per_gb()),
            ("1k.fetch", fetched.mb_a_second() / 1e3),
            ("1k.fetch_cpu", fetched.cpu_per_gb()),
        ])
    }

    fn hundred_bytes(&self, broker: &Broker, topic: &str) -> Result<Values> {
        topics::create(broker, topic, 1)?;
        let settings = [("acks", "1"), ("linger.ms", "20")];
        let produced = produce(
            broker,
            topic,
            1,
            &settings,
            &self.hundred,
            self.plan.bytes_of_100b,
        )?;
        let fetched = fetch(broker, topic, 1, &self.hundred, self.plan.bytes_of_100b)?;
        topics::delete(broker, topic)?;
        Ok(vec![
            ("100b.produce", produced.mb_a_second() / 100.0),
            ("100b.produce_cpu", produced.cpu_per_gb()),
            ("100b.produce_user", produced.user_per_gb()),
            ("100b.fetch", fetched.mb_a_second() / 1e3),
            ("100b.fetch_cpu", fetched.cpu_per_gb()),
        ])
    }

    fn lz4(&self, broker: &Broker, topic: &str) -> Result<Values> {
        let produced = self.compressed(broker, topic, "lz4")?;
        Ok(vec![
            ("lz4.produce", produced.mb_a_second()),
            ("lz4.produce_cpu", produced.cpu_per_gb()),
        ])
    }

    fn zstd(&self, broker: &Broker, topic: &str) -> Result<Values> {
        let produced = self.compressed(broker, topic, "zstd")?;
        Ok(vec![
            ("zstd.produce", produced.mb_a_second()),
            ("zstd.produce_cpu", produced.cpu_per_gb()),
        ])
    }

    /// Counted in bytes before compression.
    fn compressed(&self, broker: &Broker, topic: &str, codec: &str) -> Result<Work> {
        topics::create(broker, topic, 1)?;
        let settings = [("acks", "all"), ("linger.ms", "20"), ("compression.type", codec)];
        let produced = produce(broker, topic, 1, &settings, &self.json, self.plan.bytes_of_json)?;
        topics::delete(broker, topic)?;
        Ok(produced)
    }

    fn six_partitions(&self, broker: &Broker, topic: &str) -> Result<Values> {
        topics::create(broker, topic, 6)?;
        produce(broker, topic, 6, &ACKS_ALL, &self.one_kib, self.plan.bytes_of_1k)?;
        let fetched = fetch(broker, topic, 6, &self.one_kib, self.plan.bytes_of_1k)?;
        topics::delete(broker, topic)?;
        Ok(vec![
            ("six.fetch", fetched.mb_a_second() / 1e3),
            ("six.fetch_cpu", fetched.cpu_per_gb()),
        ])
    }

    fn java(&self, broker: &Broker, topic: &str) -> Result<Values> {
        if !kafka::java_is_there() {
            return Ok(Vec::new());
        }
        topics::create(broker, topic, 1)?;
        let count = self.plan.bytes_of_java / 100;
        let before = broker.cpu()?;
        let bytes_a_second = kafka::producer_performance(&broker.address(), topic, count)?;
        let cpu_s = broker.cpu()?.since(before).total_s();
        topics::delete(broker, topic)?;
        Ok(vec![
            ("java.produce", bytes_a_second / 1e6),
            ("java.produce_cpu", cpu_s * 1e9 / self.plan.bytes_of_java as f64),
        ])
    }

    fn steady(&self, broker: &Broker, topic: &str) -> Result<Values> {
        let (took_ms, cpu_s) = self.steadily(broker, topic)?;
        let seconds = self.plan.steady_s;
        Ok(vec![
            ("steady.p50", statistics::quantile(&took_ms, 0.5)),
            ("steady.p99", statistics::quantile(&took_ms, 0.99)),
            ("steady.p999", statistics::quantile(&took_ms, 0.999)),
            ("steady.core", cpu_s * 100.0 / f64::from(seconds)),
            (
                "steady.request",
                cpu_s * 1e6 / f64::from(STEADY_A_SECOND * seconds),
            ),
        ])
    }

    /// What each message of the steady load took in milliseconds, least first, and the processor time
    /// of all in seconds.
    pub fn steadily(&self, broker: &Broker, topic: &str) -> Result<(Vec<f64>, f64)> {
        topics::create(broker, topic, 1)?;
        // The first second finds the topic new and connections cold.
        load::produce_steadily(&broker.address(), topic, &self.hundred, STEADY_A_SECOND, 1)?;
        let before = broker.cpu()?;
        let took_ms = load::produce_steadily(
            &broker.address(),
            topic,
            &self.hundred,
            STEADY_A_SECOND,
            self.plan.steady_s,
        )?;
        let cpu_s = broker.cpu()?.since(before).total_s();
        topics::delete(broker, topic)?;
        Ok((took_ms, cpu_s))
    }
}

const ACKS_ALL: [(&str, &str); 2] = [("acks", "all"), ("linger.ms", "20")];

fn produce(
    broker: &Broker,
    topic: &str,
    partitions: i32,
    settings: &[(&str, &str)],
    messages: &[&'static [u8]],
    bytes: u64,
) -> Result<Work> {
    let count = count_of(messages, bytes);
    let before = broker.cpu()?;
    let took = load::produce(&broker.address(), topic, partitions, settings, messages, count)?;
    let cpu = broker.cpu()?.since(before);
    Ok(Work {
        seconds: took.as_secs_f64(),
        cpu,
        gb: size_of(messages, count) as f64 / 1e9,
    })
}

fn fetch(
    broker: &Broker,
    topic: &str,
    partitions: i32,
    messages: &[&'static [u8]],
    bytes: u64,
) -> Result<Work> {
    let count = count_of(messages, bytes);
    let before = broker.cpu()?;
    let took = load::consume(&broker.address(), topic, partitions, count)?;
    let cpu = broker.cpu()?.since(before);
    Ok(Work {
        seconds: took.as_secs_f64(),
        cpu,
        gb: size_of(messages, count) as f64 / 1e9,
    })
}

/// Messages that make about so many bytes.
fn count_of(messages: &[&'static [u8]], bytes: u64) -> u64 {
    let all: usize = messages.iter().map(|message| message.len()).sum();
    bytes * messages.len() as u64 / all as u64
}

fn size_of(messages: &[&'static [u8]], count: u64) -> u64 {
    let (rounds, rest) = (count / messages.len() as u64, count % messages.len() as u64);
    let sum = |part: &[&'static [u8]]| part.iter().map(|message| message.len() as u64).sum::<u64>();
    rounds * sum(messages) + sum(&messages[..rest as usize])
}
