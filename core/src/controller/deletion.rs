//! Deleting a topic to the end (`kafka.controller.TopicDeletionManager`).
//!
//! A node under `/admin/delete_topics` marks the topic. From then on nobody sees it: the brokers are
//! told to forget it. Each broker that holds a replica is told to delete the files; when every one has
//! said that it did, the topic's nodes go and last the mark. Until then the name is taken, so a topic
//! of that name never meets old files.
//!
//! How the deletions under way stand is looked at topic by topic, in steps ([`passes`](super::passes)); a
//! topic is looked at whole, as it is made whole.
//!
//! A replica whose broker is away, or could not delete, holds the deletion up until its broker comes.
//! A partition that moves is deleted where it is and where it was going.

use std::collections::VecDeque;
use std::ops::Bound;
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

/// Which deletions are looked at.
#[derive(Clone, Debug)]
pub(super) enum DeletionPass {
    /// Of these topics, which are left.
    Of(VecDeque<Arc<str>>),
    /// All of them, behind this topic: these brokers are in another state now.
    All {
        brokers: Vec<BrokerId>,
        state: ReplicaState,
        behind: Option<Arc<str>>,
    },
}

impl DeletionPass {
    pub fn of(topics: impl IntoIterator<Item = Arc<str>>) -> Self {
        Self::Of(topics.into_iter().collect())
    }

    pub fn lost(brokers: Vec<BrokerId>) -> Self {
        Self::all(brokers, ReplicaState::DeletionIneligible)
    }

    pub fn come(brokers: Vec<BrokerId>) -> Self {
        Self::all(brokers, ReplicaState::Offline)
    }

    fn all(brokers: Vec<BrokerId>, state: ReplicaState) -> Self {
        Self::All {
            brokers,
            state,
            behind: None,
        }
    }
}

/// The deletions under way, and who waits for their end.
#[derive(Clone, Debug, Default)]
pub struct Deletions {
    /// `None`: the topic is marked, and no broker is told yet.
    topics: OrderedMap<Arc<str>, Option<OrderedMap<Replica, ReplicaState>>>,
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

    /// The replicas of the topic, once brokers are told.
    fn replicas(&mut self, topic: &str) -> Option<&mut OrderedMap<Replica, ReplicaState>> {
        self.topics.get_mut(topic)?.as_mut()
    }

    /// What these brokers have of the topic is in another state.
    fn step_all(&mut self, topic: &str, brokers: &[BrokerId], next: ReplicaState) {
        for ((_, broker), state) in self.replicas(topic).into_iter().flatten() {
            if brokers.contains(broker) {
                *state = state.step(next);
            }
        }
    }

    fn step(&mut self, name: &TopicPartition, broker: BrokerId, next: ReplicaState) {
        let replicas = self.replicas(&name.topic);
        if let Some(state) = replicas.and_then(|replicas| replicas.get_mut(&(name.partition, broker))) {
            *state = state.step(next);
        }
    }

    /// The first topic by name behind this one.
    fn behind(&self, topic: Option<&Arc<str>>) -> Option<Arc<str>> {
        let from = topic.map_or(Bound::Unbounded, |topic| Bound::Excluded(topic.clone()));
        let mut rest = self.topics.range::<Arc<str>, _>((from, Bound::Unbounded));
        rest.next().map(|(name, _)| name.clone())
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
            if self.image.topic_even_deleting(name).is_none() {
                // Its node cannot be read, so nobody knows whose files should go.
                continue;
            }
            note(cx, || ControlFact::TopicDeletionStarted {
                topic: name.to_string(),
            });
            self.deletions.topics.insert(name.clone(), None);
        }
        self.forget_wishes_for(names);
        self.ask_to_go_on_deleting(cx, names.iter().cloned());
    }

    /// Looks at deletions until `budget` partitions are looked at; true when the pass is over.
    pub(super) fn deletion_step(&mut self, cx: &mut Cx, pass: &mut DeletionPass, budget: &mut usize) -> bool {
        while *budget > 0 {
            let next = match pass {
                DeletionPass::Of(topics) => topics.pop_front(),
                DeletionPass::All { behind, .. } => self.deletions.behind(behind.as_ref()),
            };
            let Some(name) = next else {
                return true;
            };
            if let DeletionPass::All {
                brokers,
                state,
                behind,
            } = pass
            {
                self.deletions.step_all(&name, brokers, *state);
                *behind = Some(name.clone());
            }
            let topic = self.image.topic_even_deleting(&name);
            let partitions = topic.map_or(0, |topic| topic.partitions.len());
            *budget = budget.saturating_sub(partitions.max(1));
            self.go_on_deleting(cx, &name);
        }
        false
    }

    /// Tells brokers to delete what can be deleted now of the topic, and ends what is deleted.
    fn go_on_deleting(&mut self, cx: &mut Cx, name: &Arc<str>) {
        if self.deletions.topics.get(name).is_some_and(Option::is_none) {
            self.begin_deleting(name);
        }
        let Some(replicas) = self.deletions.replicas(name) else {
            return;
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
        let is_done = self.deletions.replicas(name).is_some_and(|replicas| {
            replicas
                .values()
                .all(|state| state.may_become(ReplicaState::NonExistent))
        });
        if is_done {
            self.end_deletion(cx, name);
        }
    }

    /// Every broker is to forget the topic, and who holds a replica to delete its files.
    fn begin_deleting(&mut self, name: &Arc<str>) {
        let topic = self.image.topic_even_deleting(name).cloned();
        let mut replicas = OrderedMap::new();
        for (index, partition) in (0..).zip(topic.iter().flat_map(|topic| &topic.partitions)) {
            self.batch.update(&TopicPartition::new(name.clone(), index));
            let offline = |broker: &BrokerId| ((index, *broker), ReplicaState::Offline);
            replicas.extend(partition.replicas.iter().map(offline));
        }
        self.deletions.topics.insert(name.clone(), Some(replicas));
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
        let stopped = answer.partitions.iter().map(|stopped| &stopped.partition.topic);
        let deleting: OrderedSet<&Arc<str>> =
            stopped.filter(|topic| self.deletions.contains(topic)).collect();
        if !deleting.is_empty() {
            self.ask_to_go_on_deleting(cx, deleting.into_iter().cloned());
        }
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
