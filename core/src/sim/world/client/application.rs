//! What an application tells its consumer to do, and what it is like itself.

use std::fmt;

use crate::consumer::ResetStrategy;
use crate::types::{Millis, Offset, TopicPartition};

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
            Self::Unsubscribe | Self::Commit | Self::Close | Self::Busy | Self::Poll => Ok(()),
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb())?;
        self.write_rest(f)
    }
}
