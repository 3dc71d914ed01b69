//! Reads and watches: what others write is taken up.
//!
//! A watch tells once that something changed; the node is read again, under a new watch. Answers come
//! in the order of the questions, so what a read does not show yet are exactly the writes that are
//! still under way: nodes that they touch are passed over, and their own watch comes later.
//!
//! | node | taken up as |
//! |---|---|
//! | `/brokers/ids` | brokers that came, went, bounced ([`brokers`](super::brokers)) |
//! | `/brokers/topics`, a topic's node | topics and partitions that a tool made ([`topics`](super::topics)) |
//! | `/admin/delete_topics` | topics to be deleted ([`deletion`](super::deletion)) |
//! | `/admin/reassign_partitions` | moves ([`moving`](super::moving)) |
//! | `/admin/preferred_replica_election` | elections ([`elections`](super::elections)) |
//! | `/log_dir_event_notification` | failed directories |
//! | `/isr_change_notification` | states that another than the controller wrote |

use std::sync::Arc;

use bytes::Bytes;

use super::loading::TopicReading;
use super::passes::PassFor;
use super::pending::Evidence;
use super::{Controller, ControllerOutput, Level, Stage};
use crate::coordination::{CoordinationOp, Found, Multi, OpId, Read, Stat, WatchKind};
use crate::cx::Cx;
use crate::metadata::nodes;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::{BrokerId, TopicPartition};

/// What a read was asked for.
#[derive(Clone, Debug)]
pub enum ReadFor {
    Names,
    /// Brokers and settings; then these topics are read.
    Bodies(Vec<Arc<str>>, Vec<Arc<str>>),
    /// Nodes and settings of a portion of topics.
    Topics(Box<TopicReading>, bool),
    States(Box<TopicReading>, bool, Vec<Arc<str>>),
    BrokerIds,
    Brokers(Vec<Arc<str>>),
    TopicNames,
    /// One topic's node, which others may have changed.
    Topic(Arc<str>),
    DeleteTopics,
    /// A node that tools write and the controller takes away.
    Wish(&'static str),
    /// Announcements under this parent: their names, then their bytes.
    Announcements(&'static str),
    Announced(&'static str, Vec<Arc<str>>),
    /// States that another has written.
    WrittenStates(Vec<TopicPartition>),
    /// Settings that another has written.
    Config(Arc<str>),
    /// Whether a write happened.
    Settle(OpId, Evidence),
}

pub fn data(path: &str) -> Read {
    Read::Data {
        path: path.into(),
        watch: false,
    }
}

pub fn watched_data(path: &str) -> Read {
    Read::Data {
        path: path.into(),
        watch: true,
    }
}

pub fn children(path: &str, watch: bool) -> Read {
    Read::Children {
        path: path.into(),
        watch,
    }
}

impl Controller {
    pub(super) fn read(&mut self, whom: ReadFor, reads: Vec<Read>) {
        let id = self.next_op();
        self.reads.insert(id, whom);
        let op = CoordinationOp::Read(reads);
        self.out.push_back(ControllerOutput::Coordinate { id, op });
    }

    /// Something that is watched has changed.
    pub fn watch(&mut self, cx: &mut Cx, path: &Arc<str>, what: WatchKind) {
        match self.stage {
            Stage::Resigned => return,
            Stage::Loading(_) => self.remember_watch(path),
            // The controller itself took it away; the next one that is written must be seen.
            Stage::Serving if what == WatchKind::Deleted => match &**path {
                nodes::REASSIGN_PARTITIONS | nodes::PREFERRED_REPLICA_ELECTION => self.look_again(path),
                _ => {}
            },
            Stage::Serving => self.look_again(path),
        }
        self.seal_round(cx);
        self.release(cx);
    }

    /// Settings at this path under `/config` (`topics/NAME`, `brokers/ID`) were changed by another.
    pub fn config_changed(&mut self, entity_path: &str) {
        let path = format!("/config/{entity_path}");
        if self.is_serving() {
            self.read(ReadFor::Config(path.as_str().into()), vec![data(&path)]);
        }
    }

    pub(super) fn look_again(&mut self, path: &Arc<str>) {
        let under = |parent: &str| path.strip_prefix(parent).and_then(|rest| rest.strip_prefix('/'));
        match &**path {
            nodes::TOPICS => self.read(ReadFor::TopicNames, vec![children(path, true)]),
            nodes::DELETE_TOPICS => self.read(ReadFor::DeleteTopics, vec![children(path, true)]),
            nodes::REASSIGN_PARTITIONS => self.look_at_wish(nodes::REASSIGN_PARTITIONS),
            nodes::PREFERRED_REPLICA_ELECTION => self.look_at_wish(nodes::PREFERRED_REPLICA_ELECTION),
            nodes::ISR_CHANGES => self.look_at_announcements(nodes::ISR_CHANGES),
            nodes::LOG_DIR_EVENTS => self.look_at_announcements(nodes::LOG_DIR_EVENTS),
            nodes::BROKER_IDS => self.read(ReadFor::BrokerIds, vec![children(path, true)]),
            _ if under(nodes::BROKER_IDS).is_some() => {
                // A node of its own: the list stands, and so does its watch.
                let known = self.image.brokers().map(|broker| nodes::broker(broker.id).into());
                let paths: Vec<Arc<str>> = known.collect();
                self.look_at_brokers(paths);
            }
            _ => {
                if let Some(name) = under(nodes::TOPICS).filter(|name| !name.contains('/')) {
                    self.read(ReadFor::Topic(name.into()), vec![watched_data(path)]);
                }
            }
        }
    }

    fn look_at_wish(&mut self, path: &'static str) {
        self.read(ReadFor::Wish(path), vec![watched_data(path)]);
    }

    fn look_at_announcements(&mut self, parent: &'static str) {
        self.read(ReadFor::Announcements(parent), vec![children(parent, true)]);
    }

    fn look_at_brokers(&mut self, paths: Vec<Arc<str>>) {
        let reads = paths.iter().map(|path| watched_data(path)).collect();
        self.read(ReadFor::Brokers(paths), reads);
    }

    /// The connection was lost meanwhile: the same question again.
    pub(super) fn ask_again(&mut self, whom: ReadFor) {
        match whom {
            ReadFor::Names => self.start_loading(),
            ReadFor::Settle(id, evidence) => self.settle(id, evidence),
            ReadFor::BrokerIds | ReadFor::Brokers(_) => self.look_again(&nodes::BROKER_IDS.into()),
            ReadFor::TopicNames => self.look_again(&nodes::TOPICS.into()),
            ReadFor::Topic(name) => self.look_again(&nodes::topic(&name).into()),
            ReadFor::DeleteTopics => self.look_again(&nodes::DELETE_TOPICS.into()),
            ReadFor::Wish(path) | ReadFor::Announcements(path) | ReadFor::Announced(path, _) => {
                self.look_again(&path.into());
            }
            ReadFor::Bodies(paths, topics) => {
                let reads = paths.iter().map(|path| watched_data(path)).collect();
                self.read(ReadFor::Bodies(paths, topics), reads);
            }
            ReadFor::Topics(reading, at_start) => {
                let reads = reading.asks();
                self.read(ReadFor::Topics(reading, at_start), reads);
            }
            ReadFor::States(reading, at_start, paths) => {
                let reads = paths.iter().map(|path| data(path)).collect();
                self.read(ReadFor::States(reading, at_start, paths), reads);
            }
            ReadFor::WrittenStates(names) => self.look_at_states(names),
            ReadFor::Config(path) => {
                let reads = vec![data(&path)];
                self.read(ReadFor::Config(path), reads);
            }
        }
    }

    pub(super) fn read_done(&mut self, cx: &mut Cx, whom: ReadFor, found: Vec<Found>) {
        match whom {
            ReadFor::Names => self.names_loaded(&found),
            ReadFor::Bodies(paths, topics) => self.bodies_loaded(cx, &paths, found, topics),
            ReadFor::Topics(reading, at_start) => self.topics_loaded(cx, *reading, at_start, found),
            ReadFor::States(reading, at_start, paths) => {
                self.states_loaded(cx, *reading, at_start, &paths, found);
            }
            ReadFor::BrokerIds => {
                let path = |name: &Arc<str>| format!("{}/{name}", nodes::BROKER_IDS).into();
                self.look_at_brokers(names_in(&found).iter().map(path).collect());
            }
            ReadFor::Brokers(paths) => self.brokers_found(cx, &paths, found),
            ReadFor::TopicNames => self.topic_names_found(cx, &names_in(&found)),
            ReadFor::Topic(name) => self.topic_found(cx, &name, &data_in(found)),
            ReadFor::DeleteTopics => self.deletions_marked(cx, &names_in(&found)),
            ReadFor::Wish(path) => {
                if !self.pending.is_writing(path) {
                    self.mirror.put(&path.into(), &data_in(found));
                    match path {
                        nodes::REASSIGN_PARTITIONS => self.wanted_moves(cx),
                        _ => self.wanted_elections(cx),
                    }
                }
            }
            ReadFor::Announcements(parent) => {
                let names = names_in(&found);
                if !names.is_empty() {
                    let path = |name: &Arc<str>| data(&format!("{parent}/{name}"));
                    let reads = names.iter().map(path).collect();
                    self.read(ReadFor::Announced(parent, names), reads);
                }
            }
            ReadFor::Announced(parent, names) => self.announced(cx, parent, &names, found),
            ReadFor::WrittenStates(names) => self.states_written(cx, &names, found),
            ReadFor::Config(path) => self.config_found(cx, &path, &data_in(found)),
            ReadFor::Settle(id, evidence) => {
                let version = data_in(found).map(|(_, stat)| stat.version);
                match evidence.holds(version) {
                    true => self.pending.done(id),
                    false => self.resign(cx, "a write was lost with the connection".to_owned()),
                }
            }
        }
    }

    pub(super) fn settle(&mut self, id: OpId, evidence: Evidence) {
        let reads = vec![data(evidence.path())];
        self.read(ReadFor::Settle(id, evidence), reads);
    }

    fn brokers_found(&mut self, cx: &mut Cx, paths: &[Arc<str>], found: Vec<Found>) {
        let mut registered = OrderedMap::new();
        for (path, found) in paths.iter().zip(found) {
            let id = path
                .rsplit('/')
                .next()
                .and_then(|name| name.parse::<BrokerId>().ok());
            match (id, found) {
                (Some(id), Found::Data(Some(node))) => drop(registered.insert(id, node)),
                (None, _) => self.say(
                    Level::Error,
                    format!("the node {path} cannot be read: its name is no broker id"),
                ),
                _ => {}
            }
        }
        self.ask_for_pass(cx, PassFor::Registered(registered));
    }

    /// What brokers announce is acted on, and the announcement taken away.
    fn announced(&mut self, cx: &Cx, parent: &'static str, names: &[Arc<str>], found: Vec<Found>) {
        let mut brokers = OrderedSet::new();
        let mut partitions = OrderedSet::new();
        for (name, found) in names.iter().zip(found) {
            let Found::Data(Some((bytes, _))) = found else {
                continue;
            };
            let path = format!("{parent}/{name}");
            let read = match parent {
                nodes::LOG_DIR_EVENTS => nodes::parse::<nodes::LogDirEvent>(&path, &bytes)
                    .map(|event| brokers.extend([event.broker])),
                _ => nodes::parse::<nodes::NamedPartitions>(&path, &bytes)
                    .map(|named| partitions.extend(named.partitions)),
            };
            if let Err(bad) = read {
                self.say(Level::Error, bad.to_string());
            }
            self.ops.extend(Multi::new().delete(path, None).ops);
        }
        if !brokers.is_empty() {
            self.ask_for_pass(cx, PassFor::DirectoriesFailed(brokers));
        }
        if !partitions.is_empty() {
            self.look_at_states(partitions.into_iter().collect());
        }
    }

    fn look_at_states(&mut self, names: Vec<TopicPartition>) {
        let state = |name: &TopicPartition| data(&nodes::partition_state(&name.topic, name.partition));
        let reads = names.iter().map(state).collect();
        self.read(ReadFor::WrittenStates(names), reads);
    }

    /// Another wrote these states, as brokers did before AlterPartition: everybody is told.
    fn states_written(&mut self, cx: &mut Cx, names: &[TopicPartition], found: Vec<Found>) {
        let mut topics = OrderedSet::new();
        for (name, found) in names.iter().zip(found) {
            let path: Arc<str> = nodes::partition_state(&name.topic, name.partition).into();
            if let Found::Data(found @ Some(_)) = found
                && self.partition(name).is_some()
                && !self.pending.is_writing(&path)
            {
                self.state_found(&path, &found);
                topics.insert(name.topic.clone());
                self.batch.update(name);
            }
        }
        for topic in &topics {
            self.take_up_topic(topic);
        }
        for name in names {
            self.complete_move(cx, name);
        }
    }

    fn config_found(&mut self, cx: &mut Cx, path: &Arc<str>, found: &Option<(Bytes, Stat)>) {
        if self.pending.is_writing(path) {
            return;
        }
        self.mirror.put(path, found);
        if let Err(bad) = Arc::make_mut(&mut self.image).follow(&self.mirror, path) {
            self.say(Level::Error, bad.to_string());
        }
        // An unclean election may be allowed now.
        let topic = path.strip_prefix(nodes::TOPIC_CONFIGS);
        match topic.and_then(|rest| rest.strip_prefix('/')) {
            Some(topic) => self.elect_in_topic(cx, &topic.into()),
            None => self.ask_for_pass(cx, PassFor::Elect),
        }
    }
}

fn names_in(found: &[Found]) -> Vec<Arc<str>> {
    match found.first() {
        Some(Found::Children(Some(names))) => names.clone(),
        _ => Vec::new(),
    }
}

fn data_in(found: Vec<Found>) -> Option<(Bytes, Stat)> {
    match found.into_iter().next() {
        Some(Found::Data(found)) => found,
        _ => None,
    }
}
