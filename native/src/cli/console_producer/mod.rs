//! `highwater console-producer`: sends lines of the standard input as records, with the options of
//! Kafka's `kafka-console-producer.sh`.
//!
//! At the end of the input, and when it is stopped, everything that was read is sent before it ends.

mod input;
mod line_reader;
mod settings;

use std::collections::BTreeMap;

use highwater_core::producer::{Data, ProducerConfig, ProducerEvent, ProducerRecord, RecordId};

use self::input::Lines;
use self::line_reader::LineReader;
use super::properties::tell_unknown;
use super::stop::{Interrupted, Stop};
use super::{AlreadySaid, Failure, hosting};
use crate::client::{KafkaProducer, Warnings};
use crate::output::complain;

/// The reader of lines, which is the only one.
const LINE_READER: &str = "org.apache.kafka.tools.LineMessageReader";

/// The options of `kafka-console-producer.sh`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The brokers to begin with, as host:port; several with commas between them.
    #[arg(long)]
    bootstrap_server: String,
    /// The topic to write to.
    #[arg(long)]
    topic: String,
    /// Wait for each record to be acknowledged before the next is read.
    #[arg(long)]
    sync: bool,
    /// Codec of batches: none, gzip, snappy, lz4 or zstd; gzip if none is named.
    #[arg(long, value_name = "codec", num_args = 0..=1, default_missing_value = "gzip")]
    compression_codec: Option<String>,
    /// A setting of the producer, as key=value. May be given again.
    #[arg(long, value_name = "key=value", visible_alias = "producer-property")]
    command_property: Vec<String>,
    /// A file with settings of the producer; those of --command-property count more.
    #[arg(long, value_name = "FILE", visible_alias = "producer.config")]
    command_config: Option<String>,
    /// A setting of the reader, as key=value. May be given again. It knows parse.key, parse.headers,
    /// ignore.error (true or false), key.separator, headers.delimiter, headers.separator,
    /// headers.key.separator and null.marker.
    #[arg(long, value_name = "key=value", visible_alias = "property")]
    reader_property: Vec<String>,
    /// A file with settings of the reader; those of --reader-property count more.
    #[arg(long, value_name = "FILE")]
    reader_config: Option<String>,
    /// Kafka's class that reads lines.
    #[arg(long, value_name = "class", default_value = LINE_READER)]
    line_reader: String,
    #[command(flatten)]
    shorthands: settings::Shorthands,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.line_reader != LINE_READER {
        let class = &arguments.line_reader;
        return Err(format!("--line-reader {class}: not known here; there is {LINE_READER}").into());
    }
    let reader = LineReader::new(&arguments.topic, &settings::reader(arguments)?)?;
    let config = ProducerConfig::read(&settings::producer(arguments)?)?;
    tell_unknown(&config.unused);
    hosting::run(send_all(arguments, config, &reader))
}

async fn send_all(arguments: &Arguments, config: ProducerConfig, reader: &LineReader) -> Result<(), Failure> {
    let mut stop = Stop::new()?;
    let producer = KafkaProducer::start(config, Some(Warnings::listener()))?;
    let mut outcome = Outcome::default();
    let ended = tokio::select! {
        ended = send_lines(arguments, &producer, reader, &mut outcome) => ended,
        signal = stop.signalled() => Err(Interrupted(signal).into()),
    };
    let mut events = Vec::new();
    producer.close(i64::MAX, &mut events).await;
    outcome.see(events);
    ended?;
    match outcome.failed {
        0 => Ok(()),
        _ => Err(AlreadySaid.into()),
    }
}

async fn send_lines(
    arguments: &Arguments,
    producer: &KafkaProducer,
    reader: &LineReader,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let mut lines = Lines::start();
    let mut number = 0;
    while let Some(line) = lines.next().await {
        number += 1;
        let record = reader.read(&line?, number)?;
        let shown = Shown::of(&record);
        let mut events = Vec::new();
        let id = producer.send(record, &mut events).await;
        outcome.sent.insert(id, shown);
        outcome.see(events);
        while arguments.sync && outcome.sent.contains_key(&id) {
            outcome.see(producer.events().await);
        }
        if arguments.sync && outcome.failed > 0 {
            return Err(AlreadySaid.into());
        }
    }
    Ok(())
}

/// What is said of a record that could not be sent.
struct Shown {
    topic: String,
    key: String,
    value: String,
}

impl Shown {
    fn of(record: &ProducerRecord) -> Self {
        let shown = |data: &Data| match data {
            Data::Bytes(bytes) => format!("{} bytes", bytes.len()),
            _ => "null".to_owned(),
        };
        Self {
            topic: record.topic.to_string(),
            key: shown(&record.key),
            value: shown(&record.value),
        }
    }
}

/// The records that are under way, and how many could not be sent.
#[derive(Default)]
struct Outcome {
    sent: BTreeMap<RecordId, Shown>,
    failed: u64,
}

impl Outcome {
    fn see(&mut self, events: Vec<ProducerEvent>) {
        for event in events {
            match event {
                ProducerEvent::Acknowledged { id, .. } => {
                    self.sent.remove(&id);
                }
                ProducerEvent::Failed { id, error, .. } => {
                    self.failed += 1;
                    if let Some(Shown { topic, key, value }) = self.sent.remove(&id) {
                        complain!(
                            "highwater: Error when sending message to topic {topic} with key: {key}, value: {value} \
                             with error: {error}"
                        );
                    }
                }
                ProducerEvent::Flushed { .. } | ProducerEvent::Closed => {}
            }
        }
    }
}
