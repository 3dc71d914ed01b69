//! `highwater console-consumer`: prints the records of topics, with the options and in the lines of
//! Kafka's `kafka-console-consumer.sh`.
//!
//! Without `--group` it makes a group of its own and commits nothing. With one it commits what it has
//! printed, now and then and at its end, also when it ends by Ctrl-C.

mod deserializer;
mod formatter;
mod settings;

use std::collections::BTreeMap;
use std::io::{BufWriter, StdoutLock, Write};
use std::time::Duration;

use highwater_core::config::Settings;
use highwater_core::consumer::{
    ConsumerConfig, ConsumerError, ConsumerEvent, ConsumerRecord, RebalanceListener, ResetStrategy,
    TopicPattern,
};
use highwater_core::types::{Offset, TopicPartition};
use tokio::time::Instant;

use self::formatter::Formatter;
use super::properties::tell_unknown;
use super::stop::{Interrupted, Stop};
use super::{Failure, hosting};
use crate::client::{KafkaConsumer, Polled, Warnings};
use crate::output::{self, Output, complain, say};

/// The options of `kafka-console-consumer.sh`.
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
    /// Read this partition alone, from its end unless --offset says otherwise.
    #[arg(long, requires = "topic")]
    partition: Option<i32>,
    /// Where to begin in the partition: an offset, earliest or latest.
    #[arg(
        long,
        requires = "partition",
        conflicts_with = "from_beginning",
        allow_hyphen_values = true
    )]
    offset: Option<String>,
    /// Begin at the first record where the group has committed nothing.
    #[arg(long)]
    from_beginning: bool,
    /// End after so many records.
    #[arg(long, allow_hyphen_values = true)]
    max_messages: Option<i64>,
    /// End when no record comes for so long.
    #[arg(long, allow_hyphen_values = true)]
    timeout_ms: Option<i64>,
    /// The group to read as one of.
    #[arg(long)]
    group: Option<String>,
    /// Which records of transactions are read: read_uncommitted (the default) or read_committed.
    #[arg(long)]
    isolation_level: Option<String>,
    /// Go on after a record that cannot be printed.
    #[arg(long)]
    skip_message_on_error: bool,
    /// A setting of the consumer, as key=value. May be given again.
    #[arg(long, value_name = "key=value", visible_alias = "consumer-property")]
    command_property: Vec<String>,
    /// A file with settings of the consumer; those of --command-property count more.
    #[arg(long, value_name = "FILE", visible_alias = "consumer.config")]
    command_config: Option<String>,
    /// Kafka's class that prints records: DefaultMessageFormatter, LoggingMessageFormatter,
    /// NoOpMessageFormatter, OffsetsMessageFormatter, GroupMetadataMessageFormatter or
    /// TransactionLogMessageFormatter, each of org.apache.kafka.tools.consumer.
    #[arg(long, value_name = "class", default_value = formatter::DEFAULT)]
    formatter: String,
    /// A setting of the formatter, as key=value. May be given again. The default one knows
    /// print.timestamp, print.key, print.offset, print.epoch, print.partition, print.headers, print.value
    /// (true or false), key.separator, line.separator, headers.separator, null.literal,
    /// key.deserializer, value.deserializer and headers.deserializer.
    #[arg(long, value_name = "key=value", visible_alias = "property")]
    formatter_property: Vec<String>,
    /// A file with settings of the formatter; those of --formatter-property count more.
    #[arg(long, value_name = "FILE")]
    formatter_config: Option<String>,
    /// Kafka's class that reads keys.
    #[arg(long, value_name = "class")]
    key_deserializer: Option<String>,
    /// Kafka's class that reads values.
    #[arg(long, value_name = "class")]
    value_deserializer: Option<String>,
    /// Say at the end that it is the end, for Kafka's system tests.
    #[arg(long)]
    enable_systest_events: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let source = Source::of(arguments)?;
    let settings = settings::consumer(arguments)?;
    let formatter = Formatter::new(&arguments.formatter, &settings::formatter(arguments)?)?;
    let ended = hosting::run(read(arguments, &source, &settings, &formatter));
    if arguments.enable_systest_events {
        say!("shutdown_complete");
    }
    ended
}

/// What is read, and from where.
#[derive(Debug)]
enum Source {
    Topic(String),
    Pattern(TopicPattern),
    Partition(TopicPartition, Start),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    At(Offset),
    By(ResetStrategy),
}

impl Source {
    fn of(arguments: &Arguments) -> Result<Self, Failure> {
        if let Some(pattern) = &arguments.include {
            return Ok(Self::Pattern(TopicPattern::new(pattern)?));
        }
        let topic = arguments.topic.as_deref().unwrap_or_default();
        let Some(index) = arguments.partition else {
            return Ok(Self::Topic(topic.to_owned()));
        };
        let start = match arguments.offset.as_deref() {
            None if arguments.from_beginning => Start::By(ResetStrategy::Earliest),
            None => Start::By(ResetStrategy::Latest),
            Some(text) => parse_offset(text)?,
        };
        Ok(Self::Partition(TopicPartition::new(topic, index), start))
    }

    fn attach(&self, consumer: &KafkaConsumer) -> Result<(), ConsumerError> {
        let listener = RebalanceListener::Absent;
        consumer.with(|consumer, cx| match self {
            Self::Topic(topic) => consumer.subscribe(cx, [topic.as_str().into()].into(), listener),
            Self::Pattern(pattern) => consumer.subscribe_pattern(cx, pattern.clone(), listener),
            Self::Partition(partition, start) => {
                consumer.assign(cx, [partition.clone()].into())?;
                match *start {
                    Start::At(offset) => consumer.seek(cx, partition, &offset.into()),
                    Start::By(strategy) => consumer.seek_to(cx, std::slice::from_ref(partition), strategy),
                }
            }
        })
    }
}

fn parse_offset(text: &str) -> Result<Start, Failure> {
    match text.to_lowercase().as_str() {
        "earliest" => return Ok(Start::By(ResetStrategy::Earliest)),
        "latest" => return Ok(Start::By(ResetStrategy::Latest)),
        _ => {}
    }
    let offset = text.parse().ok().filter(|offset| *offset >= 0);
    let offset = offset.ok_or_else(|| {
        format!(
            "The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a \
             non-negative long."
        )
    })?;
    Ok(Start::At(offset))
}

async fn read(
    arguments: &Arguments,
    source: &Source,
    settings: &Settings,
    formatter: &Formatter,
) -> Result<(), Failure> {
    let config = ConsumerConfig::read(settings)?;
    tell_unknown(&config.unused);
    let mut stop = Stop::new()?;
    let consumer = KafkaConsumer::start(config, Some(Warnings::listener()));
    source.attach(&consumer)?;
    let mut printer = Printer {
        formatter,
        out: BufWriter::new(output::stdout()),
        skip_bad: arguments.skip_message_on_error,
        // Without a limit, as with -1.
        left: arguments.max_messages.and_then(|most| u64::try_from(most).ok()),
        count: 0,
        line: Vec::new(),
    };
    let ended = print_all(arguments, &consumer, &mut stop, &mut printer).await;
    let (printed, unprinted) = match ended {
        Ok(unprinted) => (Ok(()), unprinted),
        Err(Ended { why, unprinted }) => (Err(why), unprinted),
    };
    give_back(&consumer, &unprinted);
    hosting::close(consumer).await;
    complain!("Processed a total of {} messages", printer.count);
    printed
}

/// An end that is no good one, and the records that were not printed by then.
struct Ended {
    why: Failure,
    unprinted: Vec<ConsumerRecord>,
}

/// Prints until enough is printed, nothing comes any more, or somebody stops it; what was read and not
/// printed.
async fn print_all(
    arguments: &Arguments,
    consumer: &KafkaConsumer,
    stop: &mut Stop,
    printer: &mut Printer<'_>,
) -> Result<Vec<ConsumerRecord>, Ended> {
    let timeout = arguments.timeout_ms.and_then(|ms| u64::try_from(ms).ok());
    while printer.left != Some(0) {
        let until = timeout.map(|ms| Instant::now() + Duration::from_millis(ms));
        let polled = loop {
            let polled = tokio::select! {
                polled = consumer.poll(until) => polled,
                signal = stop.signalled() => {
                    let why = Interrupted(signal).into();
                    return Err(Ended { why, unprinted: Vec::new() });
                }
            };
            // Partitions come and go; that is not what is waited for.
            if !matches!(
                polled,
                Polled::Event(ConsumerEvent::Rebalance(_) | ConsumerEvent::Committed { .. })
            ) {
                break polled;
            }
        };
        match polled {
            Polled::Records(records) => {
                let mut records = records.into_iter();
                let printed = printer.print(&mut records);
                let unprinted: Vec<_> = records.collect();
                match printed {
                    Ok(true) if unprinted.is_empty() => {}
                    Ok(_) => return Ok(unprinted),
                    Err(why) => return Err(Ended { why, unprinted }),
                }
            }
            Polled::Event(ConsumerEvent::Failed(error)) => {
                let unprinted = Vec::new();
                return Err(Ended {
                    why: error.into(),
                    unprinted,
                });
            }
            Polled::Event(_) => {}
            Polled::Nothing => break,
        }
    }
    Ok(Vec::new())
}

/// What was not printed shall not be committed.
fn give_back(consumer: &KafkaConsumer, unprinted: &[ConsumerRecord]) {
    let mut first: BTreeMap<&TopicPartition, Offset> = BTreeMap::new();
    for record in unprinted {
        first.entry(&record.partition).or_insert(record.offset);
    }
    consumer.with(|consumer, cx| {
        for (partition, offset) in first {
            // A partition that is not ours any more is somebody else's to commit.
            let _ = consumer.seek(cx, partition, &offset.into());
        }
    });
}

struct Printer<'a> {
    formatter: &'a Formatter,
    out: BufWriter<Output<StdoutLock<'static>>>,
    skip_bad: bool,
    left: Option<u64>,
    count: u64,
    line: Vec<u8>,
}

impl Printer<'_> {
    /// Prints what may be printed of these; true while more may come. Everything is written when it
    /// comes back.
    fn print(&mut self, records: &mut impl Iterator<Item = ConsumerRecord>) -> Result<bool, Failure> {
        let mut ended = Ok(());
        let mut written = Ok(());
        while self.left != Some(0) && written.is_ok() && ended.is_ok() {
            let Some(record) = records.next() else {
                break;
            };
            self.count += 1;
            self.left = self.left.map(|left| left - 1);
            self.line.clear();
            ended = self.formatter.write(&record, &mut self.line);
            written = self.out.write_all(&self.line);
            if let Err(why) = &ended {
                let which = format!("{} at offset {}", record.partition, record.offset);
                let why = format!("{which} cannot be printed: {why}");
                if self.skip_bad {
                    complain!("highwater: {why}; skipped");
                    ended = Ok(());
                } else {
                    ended = Err(why);
                }
            }
        }
        if written.and_then(|()| self.out.flush()).is_err() {
            complain!("Unable to write to standard out, closing consumer.");
            return Ok(false);
        }
        ended?;
        Ok(self.left != Some(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_a_number_or_an_end() {
        assert_eq!(parse_offset("7").unwrap(), Start::At(7));
        assert_eq!(
            parse_offset("Earliest").unwrap(),
            Start::By(ResetStrategy::Earliest)
        );
        assert_eq!(parse_offset("latest").unwrap(), Start::By(ResetStrategy::Latest));
        for wrong in ["-1", "", "soon", "9223372036854775808"] {
            let line = parse_offset(wrong).unwrap_err().to_string();
            assert!(line.contains(&format!("'{wrong}'")), "{line}");
        }
    }
}
