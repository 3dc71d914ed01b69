//! A fetch session as its client keeps it (KIP-227; Kafka's `FetchSessionHandler`).
//!
//! The first fetch of a session names every partition; the leader remembers them, and from then on
//! only what changes is said: partitions that are new or asked for from another offset, and those to
//! forget. Both sides count the requests; who loses count starts a new session with a full fetch,
//! which closes the old one.
//!
//! Followers and consumers keep such a session with each leader that they fetch from.
//!
//! Invariant: what is remembered here is what the leader remembers, if it got the last request.

use std::sync::Arc;

use super::{FetchPartition, FetchResponse, FetchTopic, Fetched, ForgottenTopic};
use crate::error::ErrorCode;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::StrBytes;
use crate::types::{PartitionIndex, TopicPartition, Uuid};

/// Asks for a new session; one whose id is named is closed.
const INITIAL_EPOCH: i32 = 0;
/// Closes the session that is named, and asks for none.
const FINAL_EPOCH: i32 = -1;
/// "No session".
const NO_SESSION: i32 = 0;

/// What a session must know of an answer.
pub trait SessionAnswer {
    fn error_code(&self) -> ErrorCode;
    fn session_id(&self) -> i32;
    /// Topic by name or id, and partition.
    fn named(&self) -> impl Iterator<Item = (&str, Uuid, PartitionIndex)>;
}

macro_rules! session_answers {
    ($($answer:ty)*) => {
        $(impl SessionAnswer for $answer {
            fn error_code(&self) -> ErrorCode {
                self.error_code
            }

            fn session_id(&self) -> i32 {
                self.session_id
            }

            fn named(&self) -> impl Iterator<Item = (&str, Uuid, PartitionIndex)> {
                self.topics.iter().flat_map(|topic| {
                    let partitions = topic.partitions.iter();
                    partitions.map(|partition| (&*topic.name, topic.topic_id, partition.partition))
                })
            }
        })*
    };
}

session_answers! { Fetched FetchResponse }

#[derive(Clone, Debug, Default)]
pub struct FetchSession {
    id: i32,
    /// Of the next request.
    epoch: i32,
    /// What the leader was last asked, by partition.
    asked: OrderedMap<TopicPartition, (Uuid, FetchPartition)>,
    names: OrderedMap<Uuid, Arc<str>>,
}

/// The session's part of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    pub session_id: i32,
    pub session_epoch: i32,
    pub topics: Vec<FetchTopic>,
    pub forgotten: Vec<ForgottenTopic>,
}

/// What to ask of a partition, if anything.
pub type Wanted = (TopicPartition, Option<(Uuid, FetchPartition)>);

impl FetchSession {
    /// Whether the next request names every partition.
    pub fn is_full(&self) -> bool {
        self.epoch == INITIAL_EPOCH
    }

    /// Makes the next request from what is wanted: of all partitions if it [is full](Self::is_full), else
    /// of those that may have changed. `None` when there is no partition to fetch or to forget.
    pub fn build(&mut self, wanted: Vec<Wanted>) -> Option<Built> {
        let mut topics = Topics::default();
        let mut forgotten = Forgotten::default();
        if self.is_full() {
            self.asked.clear();
            self.names.clear();
        }
        for (name, next) in wanted {
            let before = self.asked.get(&name);
            if let Some((id, _)) = before
                && next.as_ref().is_none_or(|(next_id, _)| next_id != id)
            {
                forgotten.add(&name, *id);
            }
            match next {
                None => self.forget(&name),
                Some(next) if before == Some(&next) => {}
                Some(next) => {
                    topics.add(&name, &next);
                    self.names.entry(next.0).or_insert_with(|| name.topic.clone());
                    self.asked.insert(name, next);
                }
            }
        }
        (!self.asked.is_empty() || !forgotten.0.is_empty()).then_some(Built {
            session_id: self.id,
            session_epoch: self.epoch,
            topics: topics.0,
            forgotten: forgotten.0,
        })
    }

    fn forget(&mut self, name: &TopicPartition) {
        let Some((topic_id, _)) = self.asked.remove(name) else {
            return;
        };
        let first = TopicPartition::new(name.topic.clone(), 0);
        let next = self.asked.range(first..).next();
        if next.is_none_or(|(next, _)| next.topic != name.topic) {
            self.names.remove(&topic_id);
        }
    }

    /// The session's part of a request that closes it; `None` when there is none.
    pub fn close(&mut self) -> Option<Built> {
        let session_id = std::mem::replace(&mut self.id, NO_SESSION);
        self.start_anew();
        (session_id != NO_SESSION).then_some(Built {
            session_id,
            session_epoch: FINAL_EPOCH,
            topics: Vec::new(),
            forgotten: Vec::new(),
        })
    }

    /// Every partition that the last request left in the session.
    pub fn partitions(&self) -> impl Iterator<Item = &TopicPartition> {
        self.asked.keys()
    }

    /// What was asked of the partition in the last request that named it.
    pub fn asked(&self, name: &TopicPartition) -> Option<&FetchPartition> {
        self.asked.get(name).map(|(_, asked)| asked)
    }

    /// The partition that a part of an answer is of.
    pub fn name_of(&self, topic: &str, topic_id: Uuid, partition: i32) -> Option<TopicPartition> {
        let name = if topic_id.is_zero() {
            TopicPartition::new(topic, partition)
        } else {
            TopicPartition::new(self.names.get(&topic_id)?.clone(), partition)
        };
        self.asked.contains_key(&name).then_some(name)
    }

    /// Takes an answer in; false when its partitions must not be looked at (`handleResponse`).
    pub fn answered(&mut self, answer: &impl SessionAnswer) -> bool {
        if answer.error_code() != ErrorCode::None {
            if answer.error_code() == ErrorCode::FetchSessionIdNotFound {
                self.start_anew();
            } else {
                self.failed();
            }
            return false;
        }
        if !self.is_of_this(answer) {
            if self.is_full() {
                self.start_anew();
            } else {
                self.failed();
            }
            return false;
        }
        if answer.session_id() == NO_SESSION {
            self.start_anew();
        } else if self.is_full() {
            (self.id, self.epoch) = (answer.session_id(), 1);
        } else {
            self.epoch = self.epoch.checked_add(1).unwrap_or(1);
        }
        true
    }

    /// The leader may not have got the last request, or not as it was meant: the next one closes the
    /// session and asks for a new one.
    pub fn failed(&mut self) {
        self.epoch = INITIAL_EPOCH;
    }

    fn start_anew(&mut self) {
        (self.id, self.epoch) = (NO_SESSION, INITIAL_EPOCH);
    }

    /// Whether the answer names only what was asked for and, if that was everything, all of it.
    fn is_of_this(&self, answer: &impl SessionAnswer) -> bool {
        let mut named = OrderedSet::new();
        for (topic, topic_id, partition) in answer.named() {
            match self.name_of(topic, topic_id, partition) {
                Some(name) if self.is_full() => _ = named.insert(name),
                Some(_) => {}
                None => return false,
            }
        }
        !self.is_full() || named.len() == self.asked.len()
    }
}

/// Topics of a request, partitions of one topic together as long as they come one after the other.
#[derive(Default)]
struct Topics(Vec<FetchTopic>);

impl Topics {
    fn add(&mut self, name: &TopicPartition, (topic_id, asked): &(Uuid, FetchPartition)) {
        match self.0.last_mut() {
            Some(last) if last.topic_id == *topic_id && *last.name == *name.topic => {
                last.partitions.push(asked.clone());
            }
            _ => self.0.push(FetchTopic {
                name: StrBytes::from(name.topic.to_string()),
                topic_id: *topic_id,
                partitions: vec![asked.clone()],
            }),
        }
    }
}

#[derive(Default)]
struct Forgotten(Vec<ForgottenTopic>);

impl Forgotten {
    fn add(&mut self, name: &TopicPartition, topic_id: Uuid) {
        match self.0.last_mut() {
            Some(last) if last.topic_id == topic_id && *last.name == *name.topic => {
                last.partitions.push(name.partition);
            }
            _ => self.0.push(ForgottenTopic {
                name: StrBytes::from(name.topic.to_string()),
                topic_id,
                partitions: vec![name.partition],
            }),
        }
    }
}
