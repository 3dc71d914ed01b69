//! A new controller reads what there is.
//!
//! ```text
//! names of everything, with watches -> brokers, topics, settings -> partition states -> serve
//! ```
//!
//! The watches stand before the first look, so that whatever changes meanwhile is seen afterwards.
//! Reads go out in portions, one after the other, and each portion's topics are read into the image
//! when their states are there: 10,000 partitions are many small steps, not one long. What is found is
//! brought in order, and told, by [`passes`](super::passes); only then requests are served.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use super::passes::PassFor;
use super::watching::{ReadFor, children, data, watched_data};
use super::{Controller, Level, Stage, balance};
use crate::coordination::{Found, Multi, Read, Stat};
use crate::cx::Cx;
use crate::metadata::nodes;
use crate::ordered::OrderedSet;
use crate::types::{BrokerId, TopicPartition};

/// Topics whose nodes are asked for in one read, and partitions whose states are.
const TOPICS_AT_ONCE: usize = 250;
const STATES_AT_ONCE: usize = 1000;

/// How far the loading has come.
#[derive(Clone, Debug, Default)]
pub struct Loading {
    /// Watches that fired meanwhile.
    fired: OrderedSet<Arc<str>>,
}

/// Topics that are being read: at the start all of them, later those that others made.
#[derive(Clone, Debug, Default)]
pub struct TopicReading {
    topics: VecDeque<Arc<str>>,
    /// Of the present portion: topics, and states that are still to be asked for.
    portion: Vec<Arc<str>>,
    states: VecDeque<Arc<str>>,
}

impl TopicReading {
    /// The looks that the present portion needs.
    pub(super) fn asks(&self) -> Vec<Read> {
        let asks = self.portion.iter().flat_map(|name| {
            let topic = watched_data(&nodes::topic(name));
            [topic, data(&nodes::topic_config(name))]
        });
        asks.collect()
    }
}

impl Controller {
    pub(super) fn start_loading(&mut self) {
        let reads = vec![
            children(nodes::BROKER_IDS, true),
            children(nodes::TOPICS, true),
            children(nodes::DELETE_TOPICS, true),
            children(nodes::BROKER_CONFIGS, false),
            children(nodes::ISR_CHANGES, true),
            children(nodes::LOG_DIR_EVENTS, true),
            watched_data(nodes::REASSIGN_PARTITIONS),
            watched_data(nodes::PREFERRED_REPLICA_ELECTION),
            data(nodes::CLUSTER_ID),
            data(nodes::PRODUCER_ID_BLOCK),
            data(nodes::FEATURE),
            children(nodes::TOPIC_CONFIGS, false),
        ];
        self.read(ReadFor::Names, reads);
    }

    /// The names are known: asks for brokers and settings, then for the topics.
    pub(super) fn names_loaded(&mut self, found: &[Found]) {
        let names = |at: usize| match found.get(at) {
            Some(Found::Children(Some(names))) => names.clone(),
            _ => Vec::new(),
        };
        let single = [
            nodes::REASSIGN_PARTITIONS,
            nodes::PREFERRED_REPLICA_ELECTION,
            nodes::CLUSTER_ID,
            nodes::PRODUCER_ID_BLOCK,
            nodes::FEATURE,
        ];
        for (path, found) in single.into_iter().zip(found.iter().skip(6)) {
            if let Found::Data(found) = found {
                self.mirror.put(&path.into(), found);
            }
        }
        for name in names(2) {
            self.mirror.assume(nodes::delete_topic(&name));
        }
        let topics: OrderedSet<Arc<str>> = names(1).into_iter().collect();
        for name in names(11).iter().filter(|name| !topics.contains(*name)) {
            let path = nodes::topic_config(name);
            self.mirror.assume(path.clone());
            self.follow_single(&path);
        }
        // What was announced before is what is read now.
        for (parent, at) in [(nodes::ISR_CHANGES, 4), (nodes::LOG_DIR_EVENTS, 5)] {
            for name in names(at) {
                let gone = Multi::new().delete(format!("{parent}/{name}"), None);
                self.ops.extend(gone.ops);
            }
        }
        let broker = |name: &Arc<str>| format!("{}/{name}", nodes::BROKER_IDS);
        let config = |name: &Arc<str>| format!("{}/{name}", nodes::BROKER_CONFIGS);
        let brokers: Vec<Arc<str>> = names(0).iter().map(|name| broker(name).into()).collect();
        let configs: Vec<Arc<str>> = names(3).iter().map(|name| config(name).into()).collect();
        let mut reads: Vec<Read> = brokers.iter().map(|path| watched_data(path)).collect();
        reads.extend(configs.iter().map(|path| data(path)));
        let paths = brokers.into_iter().chain(configs).collect();
        self.read(ReadFor::Bodies(paths, names(1)), reads);
    }

    /// Brokers and settings are here.
    pub(super) fn bodies_loaded(
        &mut self,
        cx: &mut Cx,
        paths: &[Arc<str>],
        found: Vec<Found>,
        topics: Vec<Arc<str>>,
    ) {
        for (path, found) in paths.iter().zip(found) {
            if let Found::Data(found) = found {
                self.mirror.put(path, &found);
            }
        }
        self.read_topics(cx, topics, true);
    }

    /// Reads these topics into the image, portion after portion.
    pub(super) fn read_topics(&mut self, cx: &mut Cx, names: Vec<Arc<str>>, at_start: bool) {
        let reading = TopicReading {
            topics: names.into(),
            ..TopicReading::default()
        };
        self.next_portion(cx, reading, at_start);
    }

    fn next_portion(&mut self, cx: &mut Cx, mut reading: TopicReading, at_start: bool) {
        let count = reading.topics.len().min(TOPICS_AT_ONCE);
        reading.portion = reading.topics.drain(..count).collect();
        if reading.portion.is_empty() {
            if at_start {
                self.begin_to_serve(cx);
            }
            return;
        }
        let reads = reading.asks();
        self.watched_topics.extend(reading.portion.iter().cloned());
        self.read(ReadFor::Topics(Box::new(reading), at_start), reads);
    }

    /// The nodes of a portion of topics are here: asks for their partitions' states.
    pub(super) fn topics_loaded(
        &mut self,
        cx: &mut Cx,
        mut reading: TopicReading,
        at_start: bool,
        found: Vec<Found>,
    ) {
        let mut found = found.into_iter().map(|found| match found {
            Found::Data(found) => found,
            Found::Children(_) => None,
        });
        for name in reading.portion.clone() {
            let (topic, config) = (found.next().flatten(), found.next().flatten());
            self.mirror.put(&nodes::topic(&name).into(), &topic);
            self.mirror.put(&nodes::topic_config(&name).into(), &config);
            let assignment: Result<Option<nodes::TopicAssignment>, _> =
                nodes::read(&self.mirror, &nodes::topic(&name));
            // What cannot be read is said when the image is made.
            for index in assignment
                .ok()
                .flatten()
                .iter()
                .flat_map(|node| node.partitions.keys())
            {
                reading
                    .states
                    .push_back(nodes::partition_state(&name, *index).into());
            }
        }
        self.next_states(cx, reading, at_start);
    }

    fn next_states(&mut self, cx: &mut Cx, mut reading: TopicReading, at_start: bool) {
        let count = reading.states.len().min(STATES_AT_ONCE);
        if count == 0 {
            for name in std::mem::take(&mut reading.portion) {
                self.take_up_topic(&name);
                if !at_start {
                    self.topic_appeared(cx, &name);
                }
            }
            return self.next_portion(cx, reading, at_start);
        }
        let paths: Vec<Arc<str>> = reading.states.drain(..count).collect();
        let reads = paths.iter().map(|path| data(path)).collect();
        self.read(ReadFor::States(Box::new(reading), at_start, paths), reads);
    }

    pub(super) fn states_loaded(
        &mut self,
        cx: &mut Cx,
        reading: TopicReading,
        at_start: bool,
        paths: &[Arc<str>],
        found: Vec<Found>,
    ) {
        for (path, found) in paths.iter().zip(found) {
            if let Found::Data(found) = found {
                self.state_found(path, &found);
            }
        }
        self.next_states(cx, reading, at_start);
    }

    /// Takes up a state, and with it that the nodes above are there.
    pub(super) fn state_found(&mut self, path: &Arc<str>, found: &Option<(Bytes, Stat)>) {
        self.mirror.put(path, found);
        if found.is_none() {
            return;
        }
        if let Some((partition, _)) = path.rsplit_once('/') {
            self.mirror.assume(partition.to_owned());
            if let Some((partitions, _)) = partition.rsplit_once('/') {
                self.mirror.assume(partitions.to_owned());
            }
        }
    }

    /// Reads the topic from the mirror; one that cannot be read is said and left alone.
    pub(super) fn take_up_topic(&mut self, name: &Arc<str>) {
        let read = Arc::make_mut(&mut self.image).follow(&self.mirror, &nodes::topic(name));
        if let Err(bad) = read {
            self.say(Level::Error, format!("{bad}; topic {name} is left as it is"));
        }
    }

    /// Everything is loaded: brings the cluster in order and tells everybody.
    fn begin_to_serve(&mut self, cx: &mut Cx) {
        for path in [nodes::CLUSTER_ID, nodes::PRODUCER_ID_BLOCK] {
            self.follow_single(path);
        }
        for parent in [nodes::BROKER_CONFIGS, nodes::BROKER_IDS] {
            for name in nodes::NodeSource::child_names(&self.mirror, parent) {
                self.follow_single(&format!("{parent}/{name}"));
            }
        }
        self.make_feature_node();
        self.coming = self.image.brokers().map(|broker| broker.id).collect();
        self.ask_for_pass(cx, PassFor::TakeOver);
    }

    /// Every partition is in order: what was wished for while nobody was in office.
    pub(super) fn taken_over(&mut self, cx: &mut Cx) {
        let marked = nodes::NodeSource::child_names(&self.mirror, nodes::DELETE_TOPICS);
        self.deletions_marked(cx, &marked);
        self.wanted_moves(cx);
        self.wanted_elections(cx);
        self.schedule_balance(cx, balance::FIRST_CHECK_MS);
    }

    /// Everybody is told: what happened meanwhile is taken up.
    pub(super) fn serve(&mut self, cx: &mut Cx) {
        let Stage::Loading(loading) = std::mem::replace(&mut self.stage, Stage::Serving) else {
            return;
        };
        let (topics, brokers) = (self.image.topics().count(), self.image.brokers().count());
        let text = format!(
            "in office with epoch {}: {brokers} brokers, {topics} topics",
            self.epoch
        );
        self.say(Level::Info, text);
        for path in loading.fired {
            self.look_again(&path);
        }
        for event in std::mem::take(&mut self.early) {
            self.handle(cx, event);
        }
    }

    fn follow_single(&mut self, path: &str) {
        let read = Arc::make_mut(&mut self.image).follow(&self.mirror, path);
        if let Err(bad) = read {
            self.say(Level::Error, bad.to_string());
        }
    }

    /// Kafka 3.9's controller makes `/feature` when it is not there.
    fn make_feature_node(&mut self) {
        if !self.mirror.contains(nodes::FEATURE) {
            let node = nodes::Feature {
                features: Default::default(),
                status: 1,
                version: 2,
            };
            let made = self.change(Multi::new().create(nodes::FEATURE, nodes::write(&node)));
            debug_assert!(made.is_ok());
        }
    }

    /// Brings one partition in order. A leader that died, one that was restarted, a replica that is gone, a
    /// move that could end: while nobody was in office, nobody acted on it.
    pub(super) fn take_over(&mut self, cx: &mut Cx, name: &TopicPartition) {
        if name.partition == 0 {
            self.give_missing_id(cx, &name.topic);
        }
        let leader = self.partition(name).map(|partition| partition.leader);
        let bounced = leader.is_some_and(|leader| self.has_bounced(name, leader));
        self.elect_if_missing(cx, name);
        if bounced {
            self.raise_epoch(cx, name);
        }
        let members = self
            .partition(name)
            .map(|partition| partition.isr.clone())
            .unwrap_or_default();
        let dead: Vec<BrokerId> = members.into_iter().filter(|id| !self.is_alive(*id)).collect();
        if !dead.is_empty() {
            self.remove_from_isr(cx, name, &dead);
        }
        self.resume_move(cx, name, None);
    }

    /// The broker registered after the partition's state was last written: whatever it led, it led in a
    /// former life.
    fn has_bounced(&self, name: &TopicPartition, leader: BrokerId) -> bool {
        let state = self
            .mirror
            .get(&nodes::partition_state(&name.topic, name.partition));
        let written = state.and_then(|held| held.mzxid);
        let registered = self.image.broker(leader).map(|broker| broker.epoch);
        written
            .zip(registered)
            .is_some_and(|(written, registered)| registered > written)
    }

    /// A watch fired before everything was loaded.
    pub(super) fn remember_watch(&mut self, path: &Arc<str>) {
        if let Stage::Loading(loading) = &mut self.stage {
            loading.fired.insert(path.clone());
        }
    }
}
