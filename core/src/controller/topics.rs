//! Topics and partitions that come to be: by a client's request, or by a tool that wrote their nodes.
//!
//! A request is decided elsewhere ([`metadata::topics`](crate::metadata::topics)) and handed over as a
//! multi, which brings the states of the new partitions along. A tool writes the topic's node alone;
//! then the controller makes the states, and gives the topic an id if the tool did not.

use std::sync::Arc;

use bytes::Bytes;

use super::passes::PassFor;
use super::watching::watched_data;
use super::{Controller, ReadFor};
use crate::coordination::{Multi, Stat};
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::metadata::{Decide, MetadataImage, nodes, topics::assignment_of};
use crate::ordered::OrderedSet;
use crate::types::TopicPartition;

impl Decide for Controller {
    fn image(&self) -> &Arc<MetadataImage> {
        &self.image
    }

    fn decide(&mut self, cx: &mut Cx, multi: &Multi) -> Result<(), Refused> {
        if !self.is_serving() {
            return Err(ErrorCode::NotController.into());
        }
        let touched = Touched::by(multi);
        let count = |name: &Arc<str>| {
            self.image
                .topic_even_deleting(name)
                .map_or(0, |topic| topic.partitions.len())
        };
        let before: Vec<usize> = touched.topics.iter().map(count).collect();
        self.change(multi.clone())
            .map_err(|error| Refused::new(ErrorCode::UnknownServerError, error.to_string()))?;
        for (name, known) in touched.topics.iter().zip(before) {
            self.tell_new_partitions(name, known);
        }
        if !touched.marked.is_empty() {
            self.start_deleting(cx, &touched.marked);
        }
        // An unclean election may be allowed now.
        for name in &touched.set {
            self.elect_in_topic(cx, name);
        }
        if touched.set_for_all {
            self.ask_for_pass(cx, PassFor::Elect);
            self.go_on(cx);
        }
        Ok(())
    }

    fn seal(&mut self, cx: &mut Cx) {
        self.seal_round(cx);
        self.release(cx);
    }
}

/// What a decided multi is about.
#[derive(Default)]
struct Touched {
    topics: OrderedSet<Arc<str>>,
    /// For deletion.
    marked: Vec<Arc<str>>,
    /// With other settings.
    set: OrderedSet<Arc<str>>,
    /// Settings of brokers are others.
    set_for_all: bool,
}

impl Touched {
    fn by(multi: &Multi) -> Self {
        let mut touched = Self::default();
        for op in &multi.ops {
            let path = op.path();
            let under = |parent: &str| {
                let rest = path.strip_prefix(parent)?.strip_prefix('/')?;
                rest.split('/').next()
            };
            if let Some(name) = under(nodes::TOPICS) {
                touched.topics.insert(name.into());
            } else if let Some(name) = under(nodes::DELETE_TOPICS) {
                touched.marked.push(name.into());
            } else if let Some(name) = under(nodes::TOPIC_CONFIGS) {
                touched.set.insert(name.into());
            } else if under(nodes::BROKER_CONFIGS).is_some() {
                touched.set_for_all = true;
            }
        }
        touched
    }
}

impl Controller {
    fn tell_new_partitions(&mut self, name: &str, known: usize) {
        let Some(topic) = self.image.topic(name).cloned() else {
            return;
        };
        for (index, partition) in (0..).zip(&topic.partitions).skip(known) {
            let partition_name = TopicPartition::new(topic.name.clone(), index);
            self.batch
                .leader_and_isr(&partition.replicas, &partition_name, true);
        }
    }

    /// The names under `/brokers/topics`, as another may have changed them.
    pub(super) fn topic_names_found(&mut self, cx: &mut Cx, names: &[Arc<str>]) {
        let there: OrderedSet<&Arc<str>> = names.iter().collect();
        let is_ours = |name: &str| self.pending.is_writing(&nodes::topic(name));
        let known = self.image.all_topics().map(|topic| &topic.name);
        let known: OrderedSet<Arc<str>> = known.chain(&self.watched_topics).cloned().collect();
        let gone: Vec<Arc<str>> = known
            .into_iter()
            .filter(|name| !there.contains(name) && !is_ours(name))
            .collect();
        let new = names
            .iter()
            .filter(|name| !self.mirror.contains(&nodes::topic(name)) && !is_ours(name));
        let new: Vec<Arc<str>> = new.cloned().collect();
        let unwatched = names
            .iter()
            .filter(|name| !new.contains(name) && !self.watched_topics.contains(*name));
        let unwatched: Vec<Arc<str>> = unwatched.cloned().collect();
        for name in gone {
            self.forget_topic(&name);
        }
        for name in unwatched {
            self.watched_topics.insert(name.clone());
            let reads = vec![watched_data(&nodes::topic(&name))];
            self.read(ReadFor::Topic(name), reads);
        }
        if !new.is_empty() {
            self.read_topics(cx, new, false);
        }
    }

    /// Somebody made this topic, and its nodes have been read.
    pub(super) fn topic_appeared(&mut self, cx: &mut Cx, name: &Arc<str>) {
        self.give_missing_id(cx, name);
        self.elect_in_topic(cx, name);
    }

    /// A topic's node was read again: partitions may have been added by a tool.
    pub(super) fn topic_found(&mut self, cx: &mut Cx, name: &Arc<str>, found: &Option<(Bytes, Stat)>) {
        let path: Arc<str> = nodes::topic(name).into();
        let Some((_, stat)) = found else {
            return;
        };
        let is_old = self
            .mirror
            .get(&path)
            .is_none_or(|held| held.version >= stat.version);
        if is_old || self.pending.is_writing(&path) || self.image.is_deleting(name) {
            return;
        }
        let before = (self.image.topic(name).cloned(), self.mirror.get(&path).cloned());
        self.mirror.put(&path, found);
        self.take_up_topic(name);
        if self.image.topic(name).is_none()
            && let (Some(topic), held) = before
        {
            // The new node is no good: what was known holds on.
            self.mirror.put_back(&path, held);
            Arc::make_mut(&mut self.image).keep_topic(topic);
        }
        self.elect_in_topic(cx, name);
    }

    /// A topic without an id, as old tools make them, gets one.
    pub(super) fn give_missing_id(&mut self, cx: &mut Cx, name: &str) {
        let Some(topic) = self.image.topic(name).filter(|topic| topic.id.is_zero()) else {
            return;
        };
        let mut node = assignment_of(topic);
        node.topic_id = cx.rng.uuid();
        node.version = 3;
        let multi = Multi::new().set(
            nodes::topic(&topic.name),
            nodes::write(&node),
            Some(topic.version),
        );
        let given = self.change(multi);
        debug_assert!(given.is_ok());
    }

    pub(super) fn forget_topic(&mut self, name: &Arc<str>) {
        self.watched_topics.remove(name);
        self.mirror.forget(&nodes::topic(name));
        self.mirror.forget(&nodes::topic_config(name));
        self.mirror.forget(&nodes::delete_topic(name));
        self.take_up_topic(name);
    }
}
