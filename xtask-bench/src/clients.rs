//! Producers and consumers as whole programs on one broker, a Highwater: ours and Kafka's own in Java by their
//! tools of the same name, librdkafka in this process.
//!
//! Rates are what the tools print, without the time that a program takes to start; processor time is that of the
//! whole program, its start included.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::broker::Broker;
use crate::loads::Values;
use crate::meter::{self, Cpu};
use crate::{Result, kafka, load, payload, program, topics};

const TOPIC: &str = "by-clients";
const RECORD_BYTES: usize = 1024;
/// What Kafka's producer does by itself.
const SETTINGS: [(&str, &str); 2] = [("acks", "all"), ("linger.ms", "5")];

/// The same work for each client.
pub struct Work<'a> {
    pub broker: &'a Broker,
    pub records: u64,
}

/// What a client did.
struct Done {
    bytes_a_second: f64,
    cpu: Cpu,
}

impl Work<'_> {
    /// `highwater producer-perf-test` and `consumer-perf-test`.
    pub fn ours(&self, binary: &Path) -> Result<Values> {
        let command = |name: &str| {
            let mut command = Command::new(binary);
            command.arg(name);
            command
        };
        self.by_tools(command("producer-perf-test"), command("consumer-perf-test"))
            .map(|[produced, fetched]| self.values(CLIENTS, &produced, &fetched))
    }

    /// `kafka-producer-perf-test.sh` and `kafka-consumer-perf-test.sh`; nothing where Java is not there.
    pub fn java(&self) -> Result<Values> {
        if !kafka::java_is_there() {
            return Ok(Vec::new());
        }
        let producer = kafka::tool("org.apache.kafka.tools.ProducerPerformance")?;
        let consumer = kafka::tool("org.apache.kafka.tools.ConsumerPerformance")?;
        self.by_tools(producer, consumer)
            .map(|[produced, fetched]| self.values(CLIENTS, &produced, &fetched))
    }

    pub fn librdkafka(&self) -> Result<Values> {
        topics::create(self.broker, TOPIC, 1)?;
        let address = self.broker.address();
        let messages = payload::of_size(RECORD_BYTES);
        let produced = self.here(|| load::produce(&address, TOPIC, 1, &SETTINGS, &messages, self.records))?;
        let fetched = self.here(|| load::consume(&address, TOPIC, 1, self.records))?;
        topics::delete(self.broker, TOPIC)?;
        Ok(self.values(LIBRDKAFKA, &produced, &fetched))
    }

    fn here(&self, work: impl FnOnce() -> Result<Duration>) -> Result<Done> {
        let before = meter::cpu_of(std::process::id())?;
        let took = work()?;
        Ok(Done {
            bytes_a_second: self.bytes() / took.as_secs_f64(),
            cpu: meter::cpu_of(std::process::id())?.since(before),
        })
    }

    fn by_tools(&self, mut producer: Command, mut consumer: Command) -> Result<[Done; 2]> {
        topics::create(self.broker, TOPIC, 1)?;
        let records = self.records.to_string();
        let common = [
            "--topic",
            TOPIC,
            "--num-records",
            &records,
            "--bootstrap-server",
            &self.broker.address(),
        ];
        producer
            .args(common)
            .args(["--throughput", "-1", "--record-size"]);
        producer.arg(RECORD_BYTES.to_string()).arg("--command-property");
        producer.args(SETTINGS.map(|(key, value)| format!("{key}={value}")));
        let produced = self.by_tool(&mut producer, program::records_a_second)?;
        // The group's first rebalance is not what is measured: the column counts fetching alone.
        let fetched = self.by_tool(consumer.args(common), program::fetched_a_second)?;
        topics::delete(self.broker, TOPIC)?;
        Ok([produced, fetched])
    }

    fn by_tool(&self, tool: &mut Command, records_a_second: fn(&str) -> Option<f64>) -> Result<Done> {
        let before = meter::cpu_of_ended_children()?;
        let said = program::run(tool)?;
        let rate = records_a_second(&said).ok_or_else(|| format!("{tool:?} said:\n{said}"))?;
        Ok(Done {
            bytes_a_second: rate * RECORD_BYTES as f64,
            cpu: meter::cpu_of_ended_children()?.since(before),
        })
    }

    fn bytes(&self) -> f64 {
        (self.records * RECORD_BYTES as u64) as f64
    }

    fn values(&self, ids: [&'static str; 4], produced: &Done, fetched: &Done) -> Values {
        let cpu_per_gb = |done: &Done| done.cpu.total_s() / (self.bytes() / 1e9);
        let values = [
            produced.bytes_a_second / 1e6,
            cpu_per_gb(produced),
            fetched.bytes_a_second / 1e6,
            cpu_per_gb(fetched),
        ];
        ids.into_iter().zip(values).collect()
    }
}

const CLIENTS: [&str; 4] = [
    "clients.produce",
    "clients.produce_cpu",
    "clients.fetch",
    "clients.fetch_cpu",
];
const LIBRDKAFKA: [&str; 4] = [
    "librdkafka_produce",
    "librdkafka_produce_cpu",
    "librdkafka_fetch",
    "librdkafka_fetch_cpu",
];

/// Records of [`RECORD_BYTES`] that make about so many bytes.
pub fn records_of(bytes: u64) -> u64 {
    bytes / RECORD_BYTES as u64
}
