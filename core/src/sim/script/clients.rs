//! The words of scripts for consumers and their applications, read and written.
//!
//! ```text
//! consumer reader t-0 from 5                 reads one partition without a group
//! consumer one group.id=g takes=200ms        Kafka's keys; how long the application processes what a poll gave
//! subscribe one t u                          and unsubscribe, assign, seek, commit, close
//! busy one                                   polls no more, until `poll one`
//! kill one                                   kill -9
//! ```

use std::fmt;

use super::command::{Command, ConsumerSpec};
use super::parse::{Bad, Words, partition, time};
use super::write::Time;
use crate::consumer::ResetStrategy;
use crate::consumer::config::KEYS;
use crate::sim::world::client::{Act, Commits, ConsumerOptions};
use crate::types::Offset;

impl Words<'_> {
    /// A command that begins with that word, if it is one of a client's.
    pub(super) fn client_command(&mut self, first: &str) -> Result<Option<Command>, Bad> {
        if !matches!(
            first,
            "subscribe" | "unsubscribe" | "assign" | "seek" | "commit" | "close" | "busy" | "poll" | "kill"
        ) {
            return Ok(None);
        }
        let name = self.want("a consumer's name")?.to_owned();
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
            key if KEYS.iter().any(|keys| keys.iter().any(|known| known.name == key)) => {
                options.settings.push((key.to_owned(), value.to_owned()));
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }
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
