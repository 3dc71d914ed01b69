//! `highwater producer-perf-test`: how fast records are written, with the options and in the lines of
//! Kafka's `kafka-producer-perf-test.sh`.

mod java_random;
mod payload;
mod stats;
mod throttle;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use highwater_core::config::Settings;
use highwater_core::producer::{
    Data, ProducerConfig, ProducerEvent, ProducerMetrics, ProducerRecord, RecordId,
};
use highwater_core::types::Millis;
use parking_lot::Mutex;

use self::payload::{KeyDistribution, Payloads};
use self::stats::Stats;
use self::throttle::Throttle;
use super::properties::{settings, tell_unknown};
use super::stop::{Interrupted, Stop};
use super::{AlreadySaid, Failure, hosting, print_metrics};
use crate::client::{KafkaProducer, Warnings};
use crate::clock::Clock;
use crate::output::{complain, say};

/// The options of `kafka-producer-perf-test.sh`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("payload").required(true).args(["record_size", "payload_file", "payload_monotonic"]))]
#[command(group = clap::ArgGroup::new("settings").required(true).multiple(true).args(["bootstrap_server", "command_property", "command_config"]))]
pub struct Arguments {
    /// The brokers to begin with, as host:port; several with commas between them.
    #[arg(long)]
    bootstrap_server: Option<String>,
    /// The topic to write to.
    #[arg(long)]
    topic: String,
    /// How many records to write.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    num_records: u64,
    /// Size of a record's value in bytes; it is random letters.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    record_size: Option<u32>,
    /// A file with values, of which one is chosen by chance for each record.
    #[arg(long, value_name = "FILE")]
    payload_file: Option<String>,
    /// What stands between the values in the file.
    #[arg(long, default_value = "\\n")]
    payload_delimiter: String,
    /// A record's value is its number.
    #[arg(long)]
    payload_monotonic: bool,
    /// Most records a second; -1 for as many as can be.
    #[arg(long, allow_hyphen_values = true)]
    throughput: f64,
    /// Settings of the producer, as key=value.
    #[arg(long, value_name = "key=value", num_args = 1.., visible_alias = "producer-props")]
    command_property: Vec<String>,
    /// A file with settings of the producer; those of --command-property count more.
    #[arg(long, value_name = "FILE", visible_alias = "producer.config")]
    command_config: Option<String>,
    /// So many records at the start are counted for themselves.
    #[arg(long, default_value_t = 0)]
    warmup_records: u64,
    /// How often a line is printed, in ms.
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(i64).range(1..))]
    reporting_interval: i64,
    /// Keys are numbers below this.
    #[arg(long, value_parser = clap::value_parser!(i32).range(1..))]
    record_key_range: Option<i32>,
    /// Which keys records have: none, one after another, or by chance.
    #[arg(long, value_enum, default_value_t = KeyDistribution::None)]
    key_distribution: KeyDistribution,
    /// What chance begins with.
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    random_seed: i64,
    /// Print at the end what the producer measured.
    #[arg(long)]
    print_metrics: bool,
    #[arg(long, hide = true)]
    transactional_id: Option<String>,
    #[arg(long, hide = true, allow_hyphen_values = true)]
    transaction_duration_ms: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.warmup_records >= arguments.num_records {
        return Err(
            "The value for --warmup-records must be strictly fewer than the number of records in the test, \
                    --num-records."
                .into(),
        );
    }
    let transactions = [
        ("--transactional-id", &arguments.transactional_id),
        ("--transaction-duration-ms", &arguments.transaction_duration_ms),
    ];
    if let Some((option, _)) = transactions.iter().find(|(_, given)| given.is_some()) {
        return Err(format!("{option}: transactions are not there yet; leave it out.").into());
    }
    let config = ProducerConfig::read(&producer_settings(arguments)?)?;
    tell_unknown(&config.unused);
    let payloads = Payloads::new(arguments)?;
    hosting::run(measure(arguments, config, payloads))
}

fn producer_settings(arguments: &Arguments) -> Result<Settings, Failure> {
    let is_bad = |pair: &&String| pair.split_once('=').is_none_or(|(_, value)| value.is_empty());
    if let Some(pair) = arguments.command_property.iter().find(is_bad) {
        return Err(format!("Invalid property: {pair}").into());
    }
    let mut all = settings(arguments.command_config.as_deref(), &arguments.command_property)?;
    if let Some(bootstrap) = &arguments.bootstrap_server {
        all.insert("bootstrap.servers".to_owned(), bootstrap.clone());
    }
    let client_id = all.entry("client.id".to_owned());
    client_id.or_insert_with(|| "perf-producer-client".to_owned());
    Ok(all)
}

async fn measure(
    arguments: &Arguments,
    config: ProducerConfig,
    mut payloads: Payloads,
) -> Result<(), Failure> {
    let mut stop = Stop::new()?;
    let clock = Clock::system();
    let metrics = Arc::new(Mutex::new(ProducerMetrics::new(&config)));
    let listener = match arguments.print_metrics {
        true => {
            let metrics = Arc::clone(&metrics);
            Warnings::beside(move |event| metrics.lock().see(event))
        }
        false => Warnings::listener(),
    };
    let producer = KafkaProducer::start(config, Some(listener))?;
    let mut run = Run::new(arguments, clock.now());
    if arguments.warmup_records > 0 {
        say!(
            "Warmup first {} records. Steady state results will print after the complete test summary.",
            arguments.warmup_records
        );
    }
    let mut throttle = Throttle::new(arguments.throughput, clock.now());
    let mut ended: Result<(), Failure> = Ok(());
    let mut events = Vec::new();
    for number in 0..arguments.num_records {
        let (key, value) = payloads.next(number);
        let bytes = value.len() as u64;
        let mut record = ProducerRecord::new(arguments.topic.as_str(), Data::Bytes(value));
        record.key = key.map_or(Data::Null, Data::Bytes);
        let began_ms = clock.now();
        if arguments.warmup_records > 0 && number == arguments.warmup_records {
            run.begin_steady_state(began_ms);
        }
        let sent = async {
            run.sent(began_ms, bytes);
            producer.send(record, &mut events).await;
            run.see(&mut events, clock.now());
            if let Some(pause) = throttle.pause(number, began_ms) {
                run.see_during(pause, &producer, &clock).await;
            }
        };
        tokio::select! {
            biased;
            () = sent => {}
            signal = stop.signalled() => {
                ended = Err(Interrupted(signal).into());
                break;
            }
        }
    }
    let closing = async {
        producer.with(|producer, cx| producer.close(cx, Millis::MAX));
        let mut is_closed = false;
        while !is_closed {
            events.extend(producer.events().await);
            is_closed = events.contains(&ProducerEvent::Closed);
            run.see(&mut events, clock.now());
        }
    };
    tokio::select! {
        () = closing => {}
        signal = stop.signalled() => ended = Err(Interrupted(signal).into()),
    }
    run.print_totals(clock.now());
    if arguments.print_metrics {
        let now = clock.now();
        let metrics = producer.with(|producer, _| metrics.lock().all(producer, now));
        print_metrics::print(&metrics);
    }
    ended?;
    match run.failed {
        0 => Ok(()),
        _ => Err(AlreadySaid.into()),
    }
}

/// A record that is under way.
struct UnderWay {
    began_ms: Millis,
    bytes: u64,
    is_steady: bool,
}

struct Run<'a> {
    arguments: &'a Arguments,
    stats: Stats,
    steady: Option<Stats>,
    /// Records from that number on, of which something may have become already.
    under_way: VecDeque<Option<UnderWay>>,
    first: RecordId,
    failed: u64,
}

impl<'a> Run<'a> {
    fn new(arguments: &'a Arguments, now: Millis) -> Self {
        Self {
            arguments,
            stats: Stats::new(arguments.num_records, arguments.reporting_interval, false, now),
            steady: None,
            under_way: VecDeque::new(),
            first: 0,
            failed: 0,
        }
    }

    fn begin_steady_state(&mut self, now: Millis) {
        let records = self.arguments.num_records - self.arguments.warmup_records;
        let interval_ms = self.arguments.reporting_interval;
        self.steady = Some(Stats::new(records, interval_ms, true, now));
        self.stats.silence();
    }

    /// Records are numbered in the order of sending.
    fn sent(&mut self, began_ms: Millis, bytes: u64) {
        self.under_way.push_back(Some(UnderWay {
            began_ms,
            bytes,
            is_steady: self.steady.is_some(),
        }));
    }

    /// Sleeps, and sees meanwhile what becomes of records as soon as it does: a latency ends with the answer,
    /// not with the next record.
    async fn see_during(&mut self, pause: Duration, producer: &KafkaProducer, clock: &Clock) {
        let until = tokio::time::Instant::now() + pause;
        while let Ok(mut events) = tokio::time::timeout_at(until, producer.events()).await {
            self.see(&mut events, clock.now());
        }
    }

    fn see(&mut self, events: &mut Vec<ProducerEvent>, now: Millis) {
        for event in events.drain(..) {
            match event {
                ProducerEvent::Acknowledged { id, .. } => {
                    let Some(record) = self.end(id) else {
                        continue;
                    };
                    let latency_ms = now - record.began_ms;
                    let steady = self.steady.as_mut().filter(|_| record.is_steady);
                    for stats in std::iter::once(&mut self.stats).chain(steady) {
                        let lines = stats.record(latency_ms, record.bytes, now);
                        lines.iter().for_each(|line| say!("{line}"));
                    }
                }
                ProducerEvent::Failed { id, error, .. } => {
                    self.failed += 1;
                    self.end(id);
                    complain!("highwater: record {id}: {error}");
                }
                ProducerEvent::Flushed { .. } | ProducerEvent::Closed => {}
            }
        }
    }

    /// Takes the record out.
    fn end(&mut self, id: RecordId) -> Option<UnderWay> {
        let at = usize::try_from(id.checked_sub(self.first)?).ok()?;
        let record = self.under_way.get_mut(at)?.take();
        while self.under_way.front().is_some_and(Option::is_none) {
            self.under_way.pop_front();
            self.first += 1;
        }
        record
    }

    fn print_totals(&mut self, now: Millis) {
        for stats in std::iter::once(&mut self.stats).chain(&mut self.steady) {
            say!("{}", stats.total_line(now));
        }
    }
}
