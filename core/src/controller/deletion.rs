//! Deleting a topic to the end (`kafka.controller.TopicDeletionManager`).
//!
//! A node under `/admin/delete_topics` marks the topic. From then on nobody sees it: the brokers are
//! told to forget it. Each broker that holds a replica is told to delete the files; when every one has
//! said that it did, the topic's nodes go and last the mark. Until then the name is taken, so a topic
//! of that name never meets old files.
//!
//! A replica whose broker is away, or could not delete, holds the deletion up until its broker comes.
//! A partition that moves is deleted where it is and where it was going.

use std::sync::Arc;

use super::replica_state::ReplicaState;
use super::{CallerToken, Controller, Level, note};
use crate::coordination::Multi;
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::metadata::nodes;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::ResponseBody;
use crate::protocol::control::StopReplicaResponse;
use crate::trace::ControlFact;
use crate::types::{BrokerId, Millis, PartitionIndex, TopicPartition};

/// A replica of a topic that is being deleted.
type Replica = (PartitionIndex, BrokerId);

/// The deletions under way, and who waits for their end.
#[derive(Clone, Debug, Default)]
pub struct Deletions {
    topics: OrderedMap<Arc<str>, OrderedMap<Replica, ReplicaState>>,
    waiting: Vec<Waiting>,
}

/// A client that asked for deletions and is answered when they are done, or at its time-out.
#[derive(Clone, Debug)]
struct Waiting {
    caller: CallerToken,
    topics: OrderedSet<Arc<str>>,
    by: Millis,
    body: Box<ResponseBody>,
}

impl Deletions {
    fn contains(&self, topic: &str) -> bool {
        self.topics.contains_key(topic)
    }

    pub fn brokers_lost(&mut self, lost: &[BrokerId]) {
        self.step_where(ReplicaState::DeletionIneligible, |broker| lost.contains(&broker));
    }

    pub fn brokers_come(&mut self, come: &[BrokerId]) {
        self.step_where(ReplicaState::Offline, |broker| come.contains(&broker));
    }

    fn step_where(&mut self, next: ReplicaState, of: impl Fn(BrokerId) -> bool) {
        let replicas = self.topics.values_mut().flatten();
        for ((_, broker), state) in replicas {
            if of(*broker) {
                *state = state.step(next);
            }
        }
    }

    fn step(&mut self, name: &TopicPartition, broker: BrokerId, next: ReplicaState) {
        let topic = self.topics.get_mut(&name.topic);
        if let Some(state) = topic.and_then(|topic| topic.get_mut(&(name.partition, broker))) {
            *state = state.step(next);
        }
    }

    pub fn next_at(&self) -> Option<Millis> {
        self.waiting.iter().map(|waiting| waiting.by).min()
    }

    pub fn abandon(&mut self) -> Vec<CallerToken> {
        std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|waiting| waiting.caller)
            .collect()
    }
}

impl Controller {
    /// Answers when these topics are gone, or at this time: they are marked and nobody sees them, but
    /// their names are not free yet.
    pub fn answer_when_deleted(
        &mut self,
        cx: &mut Cx,
        caller: CallerToken,
        topics: &[Arc<str>],
        by: Millis,
        body: impl Into<ResponseBody>,
    ) {
        let left = topics
            .iter()
            .filter(|name| self.deletions.contains(name))
            .cloned();
        let left: OrderedSet<Arc<str>> = left.collect();
        if left.is_empty() {
            return self.answer(cx, caller, body);
        }
        self.deletions.waiting.push(Waiting {
            caller,
            topics: left,
            by,
            body: Box::new(body.into()),
        });
    }

    pub(super) fn answer_late_deletions(&mut self, now: Millis) {
        self.answer_waiting(|waiting| waiting.by <= now);
    }

    fn answer_waiting(&mut self, is_over: impl Fn(&Waiting) -> bool) {
        let waiting = std::mem::take(&mut self.deletions.waiting);
        let (over, left): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_over);
        self.deletions.waiting = left;
        for waiting in over {
            self.say_answer(waiting.caller, *waiting.body);
        }
    }

    /// The names under `/admin/delete_topics`, as another may have written them.
    pub(super) fn deletions_marked(&mut self, cx: &mut Cx, names: &[Arc<str>]) {
        let mut topics = Vec::new();
        for name in names {
            let path = nodes::delete_topic(name);
            if self.pending.is_writing(&path) || self.deletions.contains(name) {
                continue;
            }
            self.mirror.assume(path.clone());
            let is_there = self.mirror.contains(&nodes::topic(name));
            if !is_there || !self.config.delete_topic_enable {
                let why = if is_there {
                    "delete.topic.enable is false"
                } else {
                    "there is no such topic"
                };
                self.say(Level::Warn, format!("topic {name} is not deleted: {why}"));
                let unmarked = self.change(Multi::new().delete(path, None));
                debug_assert!(unmarked.is_ok());
                continue;
            }
            self.take_up_topic(name);
            topics.push(name.clone());
        }
        self.start_deleting(cx, &topics);
    }

    /// These topics are marked: nobody sees them any more, and their files go.
    pub(super) fn start_deleting(&mut self, cx: &mut Cx, names: &[Arc<str>]) {
        for name in names {
            let Some(topic) = self.image.topic_even_deleting(name).cloned() else {
                // Its node cannot be read, so nobody knows whose files should go.
                continue;
            };
            note(cx, || ControlFact::TopicDeletionStarted {
                topic: name.to_string(),
            });
            let mut replicas = OrderedMap::new();
            for (index, partition) in (0..).zip(&topic.partitions) {
                self.batch.update(&TopicPartition::new(name.clone(), index));
                replicas.extend(
                    partition
                        .replicas
                        .iter()
                        .map(|broker| ((index, *broker), ReplicaState::Offline)),
                );
            }
            self.deletions.topics.insert(name.clone(), replicas);
        }
        self.forget_wishes_for(names);
        self.go_on_deleting(cx);
    }

    /// Tells brokers to delete what can be deleted now, and ends what is deleted.
    pub(super) fn go_on_deleting(&mut self, cx: &mut Cx) {
        let names: Vec<Arc<str>> = self.deletions.topics.keys().cloned().collect();
        for name in names {
            let Some(replicas) = self.deletions.topics.get(&name) else {
                continue;
            };
            let waiting = replicas
                .iter()
                .filter(|(_, state)| **state == ReplicaState::Offline);
            let waiting: Vec<Replica> = waiting.map(|(replica, _)| *replica).collect();
            for (index, broker) in waiting {
                let partition = TopicPartition::new(name.clone(), index);
                let next = match self.is_online(broker, &partition) {
                    true => ReplicaState::DeletionStarted,
                    false => ReplicaState::DeletionIneligible,
                };
                self.deletions.step(&partition, broker, next);
                if next == ReplicaState::DeletionStarted {
                    self.batch.stop_replica(broker, &partition, true);
                }
            }
            let replicas = self.deletions.topics.get(&name);
            let is_done = replicas.is_some_and(|replicas| {
                replicas
                    .values()
                    .all(|state| state.may_become(ReplicaState::NonExistent))
            });
            if is_done {
                self.end_deletion(cx, &name);
            }
        }
    }

    pub(super) fn replicas_stopped(&mut self, cx: &mut Cx, broker: BrokerId, answer: &StopReplicaResponse) {
        for stopped in &answer.partitions {
            let is_done = answer.error_code == ErrorCode::None && stopped.error_code == ErrorCode::None;
            let next = match is_done {
                true => ReplicaState::DeletionSuccessful,
                false => ReplicaState::DeletionIneligible,
            };
            self.deletions.step(&stopped.partition, broker, next);
        }
        self.go_on_deleting(cx);
    }

    /// Every file is gone: so are the nodes, and the name is free.
    fn end_deletion(&mut self, cx: &mut Cx, name: &Arc<str>) {
        self.deletions.topics.remove(name);
        let partitions = self
            .image
            .topic_even_deleting(name)
            .map_or(0, |topic| topic.partitions.len());
        let mut multi = Multi::new();
        let mut delete = |path: String| {
            if self.mirror.contains(&path) {
                multi = std::mem::take(&mut multi).delete(path, None);
            }
        };
        for index in 0..partitions as PartitionIndex {
            delete(nodes::partition_state(name, index));
            delete(nodes::partition(name, index));
        }
        delete(nodes::partitions(name));
        delete(nodes::topic_config(name));
        delete(nodes::topic(name));
        delete(nodes::delete_topic(name));
        let removed = self.change(multi);
        debug_assert!(removed.is_ok());
        note(cx, || ControlFact::TopicDeleted {
            topic: name.to_string(),
        });
        self.forget_topic(name);
        self.seal_round(cx);
        for waiting in &mut self.deletions.waiting {
            waiting.topics.remove(name);
        }
        self.answer_waiting(|waiting| waiting.topics.is_empty());
    }
}
