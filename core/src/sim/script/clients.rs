//! The words of scripts for clients and their applications, read and written.
//!
//! ```text
//! producer safe linger.ms=20 bytes=100       Kafka's keys; bytes that each value is filled up to
//! produce t-0 3 acks=all                     by a producer that has these options
//! produce t 20 by safe keys 3 every 5ms      the producer chooses partitions
//! flush safe                                 and close
//! consumer reader t-0 from 5                 reads one partition without a group
//! consumer one group.id=g takes=200ms        how long the application processes what a poll gave
//! subscribe one t u                          and unsubscribe, assign, seek, commit, close
//! busy one                                   polls no more, until `poll one`
//! kill one                                   kill -9
//! ```

use std::fmt;

use super::command::{Command, ConsumerSpec};
use super::parse::{Bad, Words, partition, time};
use super::write::Time;
use crate::client::ClientKeys;
use crate::consumer::{self, ResetStrategy};
use crate::producer;
use crate::sim::world::client::{Act, Commits, ConsumerOptions, Double, ProducerOptions, Sending, Target};
use crate::types::Offset;

impl Words<'_> {
    /// A command that begins with that word, if it is one of a client's.
    pub(super) fn client_command(&mut self, first: &str) -> Result<Option<Command>, Bad> {
        if !matches!(
            first,
            "subscribe"
                | "unsubscribe"
                | "assign"
                | "seek"
                | "commit"
                | "close"
                | "busy"
                | "poll"
                | "flush"
                | "kill"
        ) {
            return Ok(None);
        }
        let name = self.want("a client's name")?.to_owned();
        let act = match first {
            "subscribe" => Act::Subscribe(self.topics()?),
            "unsubscribe" => Act::Unsubscribe,
            "assign" => {
                let mut partitions = vec![self.partition()?];
                while self.peek().is_some() {
                    partitions.push(self.partition()?);
                }
                Act::Assign(partitions)
            }
            "seek" => self.seek()?,
            "commit" => Act::Commit,
            "close" => Act::Close,
            "busy" => Act::Busy,
            "poll" => Act::Poll,
            "flush" => Act::Flush,
            _ => return Ok(Some(Command::Kill(name))),
        };
        Ok(Some(Command::Act(name, act)))
    }

    fn topics(&mut self) -> Result<Vec<String>, Bad> {
        let mut topics = vec![self.want("a topic")?.to_owned()];
        while let Some(topic) = self.next() {
            topics.push(topic.to_owned());
        }
        Ok(topics)
    }

    fn seek(&mut self) -> Result<Act, Bad> {
        let partition = self.partition()?;
        for strategy in [ResetStrategy::Earliest, ResetStrategy::Latest] {
            if self.takes(&strategy.to_string()) {
                return Ok(Act::SeekTo(partition, strategy));
            }
        }
        Ok(Act::Seek(partition, self.number("an offset")?))
    }

    // ---- producers

    pub(super) fn produce(&mut self) -> Result<Command, Bad> {
        let to = self.want("a partition or a topic")?;
        let mut sending = Sending {
            to: partition(to).map_or_else(|| Target::Topic(to.to_owned()), Target::Partition),
            count: self.number("a number of records")?,
            keys: 0,
            every_ms: 0,
        };
        let mut by = None;
        if self.takes("by") {
            by = Some(self.want("a producer")?.to_owned());
        }
        if self.takes("keys") {
            sending.keys = self.number("a number of keys")?;
        }
        if self.takes("every") {
            sending.every_ms = self.time("the time between two records")?;
        }
        let by = match by {
            Some(name) => Ok(name),
            None => Err(self.producer_options()?),
        };
        Ok(Command::Produce(sending, by))
    }

    pub(super) fn producer_options(&mut self) -> Result<ProducerOptions, Bad> {
        let mut options = ProducerOptions::default();
        while let Some(word) = self.next() {
            self.producer_option(word, &mut options)?;
        }
        Ok(options)
    }

    fn producer_option(&self, word: &str, options: &mut ProducerOptions) -> Result<(), Bad> {
        let unknown = || self.bad(word, format!("`{word}` is no option of a producer"));
        let (key, value) = word.split_once('=').ok_or_else(unknown)?;
        let wrong = || self.bad(word, format!("`{value}` is no value of {key}"));
        match key {
            "bytes" => options.value_bytes = value.parse().map_err(|_| wrong())?,
            "interceptors" => {
                let named = |word| Double::ALL.into_iter().find(|double| double.word() == word);
                let all: Option<Vec<Double>> = value.split(',').map(named).collect();
                options.interceptors = all.ok_or_else(wrong)?;
            }
            key if knows(producer::config::KEYS, key) => {
                options.settings.push((key.to_owned(), value.to_owned()));
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    // ---- consumers

    pub(super) fn consumer(&mut self) -> Result<Command, Bad> {
        let name = self.want("a name")?.to_owned();
        let mut spec = ConsumerSpec::default();
        if let Some(reads) = self.peek().and_then(partition) {
            self.next();
            let from = match self.takes("from") {
                true => self.number::<Offset>("an offset")?,
                false => 0,
            };
            spec.reads = Some((reads, from));
        }
        while let Some(word) = self.next() {
            self.consumer_option(word, &mut spec.options)?;
        }
        Ok(Command::Consumer(name, spec))
    }

    fn consumer_option(&self, word: &str, options: &mut ConsumerOptions) -> Result<(), Bad> {
        let unknown = || self.bad(word, format!("`{word}` is no option of a consumer"));
        let (key, value) = word.split_once('=').ok_or_else(unknown)?;
        let wrong = || self.bad(word, format!("`{value}` is no value of {key}"));
        match key {
            "commits" => {
                options.commits = match value {
                    "before" => Commits::Before,
                    "after" => Commits::After,
                    _ => return Err(wrong()),
                }
            }
            "takes" => options.takes_ms = time(value).ok_or_else(wrong)?,
            key if knows(consumer::config::KEYS, key) => {
                options.settings.push((key.to_owned(), value.to_owned()));
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

fn knows(keys: ClientKeys, key: &str) -> bool {
    keys.iter().any(|keys| keys.iter().any(|known| known.name == key))
}

impl fmt::Display for ProducerOptions {
    /// Each option with a blank before it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut settings = self.settings.iter();
        settings.try_for_each(|(key, value)| write!(f, " {key}={value}"))?;
        if self.value_bytes > 0 {
            write!(f, " bytes={}", self.value_bytes)?;
        }
        let mut lead = " interceptors=";
        for double in &self.interceptors {
            write!(f, "{lead}{double}")?;
            lead = ",";
        }
        Ok(())
    }
}

/// What stands behind `produce`.
pub(super) fn write_produce(
    f: &mut fmt::Formatter<'_>,
    sending: &Sending,
    by: &Result<String, ProducerOptions>,
) -> fmt::Result {
    let Sending {
        to,
        count,
        keys,
        every_ms,
    } = sending;
    write!(f, "produce {to} {count}")?;
    by.iter().try_for_each(|name| write!(f, " by {name}"))?;
    if *keys > 0 {
        write!(f, " keys {keys}")?;
    }
    if *every_ms > 0 {
        write!(f, " every {}", Time(*every_ms))?;
    }
    by.as_ref()
        .err()
        .into_iter()
        .try_for_each(|options| write!(f, "{options}"))
}

impl fmt::Display for ConsumerSpec {
    /// Each part with a blank before it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((partition, from)) = &self.reads {
            write!(f, " {partition} from {from}")?;
        }
        let ConsumerOptions {
            settings,
            commits,
            takes_ms,
        } = &self.options;
        let mut settings = settings.iter();
        settings.try_for_each(|(key, value)| write!(f, " {key}={value}"))?;
        match commits {
            Commits::ByItself => {}
            Commits::Before => write!(f, " commits=before")?,
            Commits::After => write!(f, " commits=after")?,
        }
        match takes_ms {
            0 => Ok(()),
            ms => write!(f, " takes={}", Time(*ms)),
        }
    }
}
