//! What applications are told to do, and what they and their clients are like.

use std::fmt;

use super::interceptor::Double;
use crate::consumer::ResetStrategy;
use crate::types::{Millis, Offset, TopicPartition};

/// A producer, as far as it differs from the usual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerOptions {
    /// Kafka's keys with their values; later ones win.
    pub settings: Vec<(String, String)>,
    /// In the order of their calls.
    pub interceptors: Vec<Double>,
    /// Bytes that each value is filled up to.
    pub value_bytes: usize,
}

/// Records that an application is to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    pub to: Target,
    pub count: u32,
    /// They have so many keys in turn; none for 0.
    pub keys: u32,
    /// Time between two of them.
    pub every_ms: Millis,
}

/// Where records go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Each names its partition.
    Partition(TopicPartition),
    /// The producer chooses.
    Topic(String),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Partition(partition) => partition.fmt(f),
            Self::Topic(topic) => f.write_str(topic),
        }
    }
}

/// When an application commits what it was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Commits {
    /// Never: `enable.auto.commit` does, or nobody.
    #[default]
    ByItself,
    /// Before it processes it: each record at most once.
    Before,
    /// After it has processed it: each record at least once.
    After,
}

/// A consumer, as far as it differs from the usual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerOptions {
    /// Kafka's keys with their values; later ones win.
    pub settings: Vec<(String, String)>,
    pub commits: Commits,
    /// How long it processes what a poll gave.
    pub takes_ms: Millis,
}

/// One thing that an application does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Subscribe(Vec<String>),
    Unsubscribe,
    Assign(Vec<TopicPartition>),
    Seek(TopicPartition, Offset),
    SeekTo(TopicPartition, ResetStrategy),
    /// What was returned so far, and waits for it.
    Commit,
    Close,
    /// It does not poll any more.
    Busy,
    /// It polls again.
    Poll,
    /// What a producer has is sent without lingering.
    Flush,
}

impl Act {
    /// The word that scripts have for it.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Subscribe(_) => "subscribe",
            Self::Unsubscribe => "unsubscribe",
            Self::Assign(_) => "assign",
            Self::Seek(..) | Self::SeekTo(..) => "seek",
            Self::Commit => "commit",
            Self::Close => "close",
            Self::Busy => "busy",
            Self::Poll => "poll",
            Self::Flush => "flush",
        }
    }

    /// What stands behind the word and the consumer's name, each with a blank before it.
    pub fn write_rest(&self, f: &mut impl fmt::Write) -> fmt::Result {
        match self {
            Self::Subscribe(topics) => topics.iter().try_for_each(|topic| write!(f, " {topic}")),
            Self::Assign(partitions) => partitions
                .iter()
                .try_for_each(|partition| write!(f, " {partition}")),
            Self::Seek(partition, offset) => write!(f, " {partition} {offset}"),
            Self::SeekTo(partition, strategy) => write!(f, " {partition} {strategy}"),
            Self::Unsubscribe | Self::Commit | Self::Close | Self::Busy | Self::Poll | Self::Flush => Ok(()),
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb())?;
        self.write_rest(f)
    }
}
