//! `highwater consumer-perf-test`: how fast records are read, with the options and in the lines of
//! Kafka's `kafka-consumer-perf-test.sh`.

mod report;

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use highwater_core::config::Settings;
use highwater_core::consumer::{
    ConsumerConfig, ConsumerError, ConsumerEvent, Rebalance, RebalanceListener, TopicPattern,
};
use highwater_core::types::{Millis, TopicPartition};
use tokio::time::Instant;

use self::report::{Counts, Report};
use super::datetime::DateFormat;
use super::properties::{settings, tell_unknown};
use super::stop::{Interrupted, Stop};
use super::{Failure, hosting, print_metrics};
use crate::client::{KafkaConsumer, Polled, Warnings};
use crate::clock::Clock;
use crate::output::say;

/// How long one poll waits, as Kafka's does.
const POLL: Duration = Duration::from_millis(100);
/// Groups that are made for one run have such a number.
const MOST_GROUPS: u64 = 100_000;

/// The options of `kafka-consumer-perf-test.sh`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The brokers to begin with, as host:port; several with commas between them.
    #[arg(long)]
    bootstrap_server: String,
    /// The topic to read.
    #[arg(long, required_unless_present = "include")]
    topic: Option<String>,
    /// Read all topics whose whole name this regular expression matches.
    #[arg(long, value_name = "regex", conflicts_with = "topic")]
    include: Option<String>,
    /// How many records to read.
    #[arg(long, visible_alias = "messages")]
    num_records: u64,
    /// The group to read as; one of its own if not given.
    #[arg(long)]
    group: Option<String>,
    /// Begin at the end where the group has committed nothing, and not at the first record.
    #[arg(long)]
    from_latest: bool,
    /// Most bytes of one partition that one fetch gives.
    #[arg(long, default_value_t = 1 << 20)]
    fetch_size: u32,
    /// Size of the socket's buffer for receiving, in bytes.
    #[arg(long, default_value_t = 2 << 20)]
    socket_buffer_size: u32,
    /// End when no record comes for so long, in ms.
    #[arg(long, default_value_t = 10_000)]
    timeout: i64,
    /// Print a line for each interval, and not one for all.
    #[arg(long)]
    show_detailed_stats: bool,
    /// Length of an interval, in ms.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(i64).range(1..))]
    reporting_interval: i64,
    /// How times are written, by a pattern of java.text.SimpleDateFormat; in UTC.
    #[arg(long, default_value = "yyyy-MM-dd HH:mm:ss:SSS", value_parser = DateFormat::new)]
    date_format: DateFormat,
    /// Leave the names of the columns out.
    #[arg(long)]
    hide_header: bool,
    /// Print at the end what the consumer measured of its fetches.
    #[arg(long)]
    print_metrics: bool,
    /// A setting of the consumer, as key=value. May be given again.
    #[arg(long, value_name = "key=value")]
    command_property: Vec<String>,
    /// A file with settings of the consumer.
    #[arg(long, value_name = "FILE", visible_alias = "consumer.config")]
    command_config: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let settings = consumer_settings(arguments)?;
    hosting::run(measure(arguments, &settings))
}

fn consumer_settings(arguments: &Arguments) -> Result<Settings, Failure> {
    let mut all = settings(arguments.command_config.as_deref(), &arguments.command_property)?;
    let own_group = || format!("perf-consumer-{}", RandomState::new().hash_one(0) % MOST_GROUPS);
    let reset = if arguments.from_latest {
        "latest"
    } else {
        "earliest"
    };
    let fixed = [
        ("bootstrap.servers", arguments.bootstrap_server.clone()),
        ("group.id", arguments.group.clone().unwrap_or_else(own_group)),
        ("receive.buffer.bytes", arguments.socket_buffer_size.to_string()),
        ("max.partition.fetch.bytes", arguments.fetch_size.to_string()),
        ("auto.offset.reset", reset.to_owned()),
        ("check.crcs", "false".to_owned()),
    ];
    all.extend(fixed.map(|(key, value)| (key.to_owned(), value)));
    let client_id = all.entry("client.id".to_owned());
    client_id.or_insert_with(|| "perf-consumer-client".to_owned());
    Ok(all)
}

async fn measure(arguments: &Arguments, settings: &Settings) -> Result<(), Failure> {
    let config = ConsumerConfig::read(settings)?;
    tell_unknown(&config.unused);
    let mut stop = Stop::new()?;
    let clock = Clock::system();
    let mut report = Report::begin(arguments, clock.now());
    let consumer = KafkaConsumer::start(config, Some(Warnings::listener()));
    subscribe(&consumer, arguments)?;
    let mut run = Run {
        arguments,
        clock: &clock,
        joins: Joins::new(clock.now()),
        counts: Counts::default(),
        last_record_ms: clock.now(),
    };
    let ended = tokio::select! {
        ended = run.read(&consumer, &mut report) => ended,
        signal = stop.signalled() => Err(Interrupted(signal).into()),
    };
    if ended.is_ok() && run.counts.records < arguments.num_records {
        say!(
            "WARNING: Exiting before consuming the expected number of records: timeout ({} ms) exceeded. You can \
             use the --timeout option to increase the timeout.",
            arguments.timeout
        );
    }
    let (counts, join_ms, end_ms) = (run.counts, run.joins.total_ms, clock.now());
    let metrics = consumer.with(|consumer, _| consumer.metrics(end_ms));
    hosting::close(consumer).await;
    ended?;
    report.end(counts, join_ms, end_ms);
    if arguments.print_metrics {
        print_metrics::print(&metrics);
    }
    Ok(())
}

fn subscribe(consumer: &KafkaConsumer, arguments: &Arguments) -> Result<(), ConsumerError> {
    let listener = RebalanceListener::Present;
    consumer.with(|consumer, cx| match &arguments.include {
        Some(pattern) => consumer.subscribe_pattern(cx, TopicPattern::new(pattern)?, listener),
        None => {
            let topic = arguments.topic.as_deref().unwrap_or_default();
            consumer.subscribe(cx, [topic.into()].into(), listener)
        }
    })
}

struct Run<'a> {
    arguments: &'a Arguments,
    clock: &'a Clock,
    joins: Joins,
    counts: Counts,
    last_record_ms: Millis,
}

impl Run<'_> {
    async fn read(&mut self, consumer: &KafkaConsumer, report: &mut Report<'_>) -> Result<(), Failure> {
        let mut now = self.clock.now();
        while self.counts.records < self.arguments.num_records
            && now - self.last_record_ms <= self.arguments.timeout
        {
            match consumer.poll(Some(Instant::now() + POLL)).await {
                Polled::Records(records) => {
                    now = self.clock.now();
                    self.last_record_ms = now;
                    for record in &records {
                        self.counts.add(record);
                        report.tell(self.counts, &mut self.joins.round_ms, now);
                    }
                }
                Polled::Event(ConsumerEvent::Rebalance(rebalance)) => {
                    self.joins.see(rebalance, self.clock.now());
                    consumer.with(|consumer, cx| consumer.confirm_rebalance(cx));
                }
                Polled::Event(ConsumerEvent::Failed(error)) => return Err(error.into()),
                Polled::Event(_) | Polled::Nothing => {}
            }
            now = self.clock.now();
        }
        Ok(())
    }
}

/// How long the consumer was without partitions.
struct Joins {
    assigned: BTreeSet<TopicPartition>,
    began_ms: Millis,
    total_ms: Millis,
    /// Since the last report.
    round_ms: Millis,
}

impl Joins {
    fn new(now: Millis) -> Self {
        Self {
            assigned: BTreeSet::new(),
            began_ms: now,
            total_ms: 0,
            round_ms: 0,
        }
    }

    fn see(&mut self, rebalance: Rebalance, now: Millis) {
        match rebalance {
            Rebalance::Revoked(gone) | Rebalance::Lost(gone) => {
                self.assigned.retain(|partition| !gone.contains(partition));
                if self.assigned.is_empty() {
                    self.began_ms = now;
                }
            }
            Rebalance::Assigned(new) => {
                if self.assigned.is_empty() {
                    self.total_ms += now - self.began_ms;
                    self.round_ms += now - self.began_ms;
                }
                self.assigned.extend(new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_without_partitions_is_counted() {
        let partitions = |indexes: &[i32]| {
            indexes
                .iter()
                .map(|index| TopicPartition::new("t", *index))
                .collect()
        };
        let mut joins = Joins::new(100);
        joins.see(Rebalance::Assigned(partitions(&[0, 1])), 130);
        joins.see(Rebalance::Revoked(partitions(&[0])), 200);
        joins.see(Rebalance::Assigned(partitions(&[2])), 250);
        assert_eq!((joins.total_ms, joins.round_ms), (30, 30), "one was always there");
        joins.round_ms = 0;
        joins.see(Rebalance::Lost(partitions(&[1, 2])), 300);
        joins.see(Rebalance::Assigned(partitions(&[1])), 340);
        assert_eq!((joins.total_ms, joins.round_ms), (70, 40));
    }
}
