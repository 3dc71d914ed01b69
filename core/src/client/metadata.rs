//! What a client knows of the cluster, and when it must know more (Kafka's `Metadata`,
//! `ProducerMetadata` and `ConsumerMetadata`).
//!
//! A client names the topics it wants, or wants all. It asks when a topic is new, when an error says
//! that what it knows is stale, and when nothing was heard for `metadata.max.age.ms`; never twice
//! within the backoff, which grows while asking fails or tells nothing new (KIP-951's neighbour,
//! KAFKA-15020). New topics are asked for alone and at once (KIP-526).
//!
//! Invariants
//! - the leader epoch of a partition never goes back, unless the topic is another one by its id
//! - an answer without any broker changes nothing

use std::sync::Arc;

use super::{ClientConfig, ClientCx, ClientLane, ExponentialBackoff, Node};
use crate::error::ErrorCode;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::leadership::{LeaderIdAndEpoch, NodeEndpoint};
use crate::protocol::messages::metadata_request::MetadataRequestTopic;
use crate::protocol::messages::metadata_response::MetadataResponseTopic;
use crate::protocol::messages::{MetadataRequest, MetadataResponse, message};
use crate::trace::{ClientFact, EventId, Fact};
use crate::types::{BrokerId, LeaderEpoch, Millis, PartitionIndex, TopicPartition, Uuid};

mod learn;

pub use learn::is_invalid_metadata;

/// A broker as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    pub id: BrokerId,
    pub host: Arc<str>,
    pub port: u16,
    pub rack: Option<Arc<str>>,
}

/// A partition as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionMetadata {
    /// `None`: nobody leads it.
    pub leader: Option<BrokerId>,
    /// `None`: from a broker so old that it does not tell.
    pub leader_epoch: Option<LeaderEpoch>,
    pub replicas: Vec<BrokerId>,
    pub isr: Vec<BrokerId>,
    pub offline: Vec<BrokerId>,
}

/// A topic as clients see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicMetadata {
    /// Zero: from a broker so old that it does not tell.
    pub id: Uuid,
    pub internal: bool,
    /// From 0; one that was not told is `None`.
    pub partitions: Vec<Option<PartitionMetadata>>,
}

impl TopicMetadata {
    /// The partitions that somebody leads, in order (`Cluster.availablePartitionsForTopic`).
    pub fn available(&self) -> impl Iterator<Item = PartitionIndex> + '_ {
        let led = |found: &Option<PartitionMetadata>| found.as_ref().is_some_and(|p| p.leader.is_some());
        (0..)
            .zip(&self.partitions)
            .filter(move |(_, found)| led(found))
            .map(|(index, _)| index)
    }

    pub fn partition_count(&self) -> PartitionIndex {
        self.partitions.len() as PartitionIndex
    }
}

/// Which update was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedFor {
    /// Only the topics that were new.
    partial: bool,
    /// How many times topics were added by then.
    version: u64,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Metadata {
    retry_backoff: ExponentialBackoff,
    max_age_ms: Millis,
    bootstrap: Vec<Node>,
    /// Nothing but the bootstrap addresses is known.
    bootstrapping: bool,
    brokers: OrderedMap<BrokerId, Broker>,
    pub cluster_id: Option<Arc<str>>,
    pub controller: Option<BrokerId>,
    topics: OrderedMap<Arc<str>, TopicMetadata>,
    /// Of the topics whose last answer was an error.
    errors: OrderedMap<Arc<str>, ErrorCode>,
    epochs: OrderedMap<TopicPartition, LeaderEpoch>,
    allow_auto_topic_creation: bool,
    wants_all: bool,
    /// With the time at which each is forgotten, unless it is wanted again.
    wanted: OrderedMap<Arc<str>, Millis>,
    new: OrderedSet<Arc<str>>,
    needs_full: bool,
    needs_partial: bool,
    added: u64,
    /// Grows with every answer.
    updates: u64,
    last_refresh_ms: Millis,
    last_full_ms: Option<Millis>,
    /// Since when updates have failed.
    failing_since: Option<Millis>,
    not_before: Millis,
    failures: u32,
    /// Answers in a row that told nothing new.
    without_news: u32,
    /// What made an update needed.
    pub(super) cause: EventId,
}

impl Metadata {
    /// Knows the bootstrap addresses and wants nothing yet.
    pub fn new(config: &ClientConfig, allow_auto_topic_creation: bool) -> Self {
        let bootstrap = config
            .bootstrap_servers
            .iter()
            .zip(1..)
            .map(|((host, port), number)| Node {
                id: -number,
                host: host.clone(),
                port: *port,
                lane: ClientLane::Data,
            });
        Self {
            retry_backoff: config.retry_backoff,
            max_age_ms: config.metadata_max_age_ms,
            bootstrap: bootstrap.collect(),
            bootstrapping: true,
            brokers: OrderedMap::new(),
            cluster_id: None,
            controller: None,
            topics: OrderedMap::new(),
            errors: OrderedMap::new(),
            epochs: OrderedMap::new(),
            allow_auto_topic_creation,
            wants_all: false,
            wanted: OrderedMap::new(),
            new: OrderedSet::new(),
            needs_full: true,
            needs_partial: false,
            added: 0,
            updates: 0,
            last_refresh_ms: 0,
            last_full_ms: None,
            failing_since: None,
            not_before: 0,
            failures: 0,
            without_news: 0,
            cause: EventId::NONE,
        }
    }

    // ---- what is known

    /// Whom to ask: the brokers, or the bootstrap addresses while none is known.
    pub fn nodes(&self) -> Vec<Node> {
        if self.bootstrapping {
            return self.bootstrap.clone();
        }
        self.brokers
            .values()
            .map(|broker| broker.node(ClientLane::Data))
            .collect()
    }

    pub fn node(&self, id: BrokerId, lane: ClientLane) -> Option<Node> {
        self.brokers.get(&id).map(|broker| broker.node(lane))
    }

    pub fn brokers(&self) -> impl Iterator<Item = &Broker> {
        self.brokers.values()
    }

    pub fn broker(&self, id: BrokerId) -> Option<&Broker> {
        self.brokers.get(&id)
    }

    /// Every topic that was told, by name. One whose last answer was an error is not among them.
    pub fn topics(&self) -> impl Iterator<Item = (&Arc<str>, &TopicMetadata)> {
        self.topics.iter()
    }

    pub fn topic(&self, name: &str) -> Option<&TopicMetadata> {
        self.topics.get(name)
    }

    pub fn topic_name(&self, id: Uuid) -> Option<&Arc<str>> {
        self.topics
            .iter()
            .find(|(_, topic)| topic.id == id)
            .map(|(name, _)| name)
    }

    /// Why the topic's last answer said nothing more.
    pub fn topic_error(&self, name: &str) -> Option<ErrorCode> {
        self.errors.get(name).copied()
    }

    pub fn partition(&self, partition: &TopicPartition) -> Option<&PartitionMetadata> {
        let topic = self.topics.get(&partition.topic)?;
        topic
            .partitions
            .get(usize::try_from(partition.partition).ok()?)?
            .as_ref()
    }

    /// The partition's leader and its epoch, when both are known and nothing newer was heard of
    /// (`Metadata.currentLeader`).
    pub fn leader(&self, partition: &TopicPartition) -> Option<(BrokerId, Option<LeaderEpoch>)> {
        let found = self.partition(partition)?;
        let is_current = self
            .epochs
            .get(partition)
            .is_none_or(|seen| found.leader_epoch == Some(*seen));
        let leader = found
            .leader
            .filter(|leader| is_current && self.brokers.contains_key(leader))?;
        Some((leader, found.leader_epoch))
    }

    /// The newest leader epoch that was seen anywhere.
    pub fn last_seen_epoch(&self, partition: &TopicPartition) -> Option<LeaderEpoch> {
        self.epochs.get(partition).copied()
    }

    /// How many answers there were: grows when something may have changed.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    // ---- what is wanted

    /// The topic is wanted until then. A new one is asked for at once.
    pub fn want(&mut self, topic: &Arc<str>, until_ms: Millis, cause: EventId) {
        if self.wanted.insert(topic.clone(), until_ms).is_none() {
            self.new.insert(topic.clone());
            self.request_update_for_new_topics(cause);
        }
    }

    /// Exactly these topics are wanted, for good.
    pub fn want_only(&mut self, topics: impl IntoIterator<Item = Arc<str>>, cause: EventId) {
        let topics: OrderedMap<Arc<str>, Millis> =
            topics.into_iter().map(|topic| (topic, Millis::MAX)).collect();
        self.wants_all = false;
        self.new.retain(|topic| topics.contains_key(topic));
        let unknown = topics
            .keys()
            .filter(|topic| !self.wanted.contains_key(*topic))
            .cloned();
        let unknown: Vec<Arc<str>> = unknown.collect();
        self.wanted = topics;
        if !unknown.is_empty() {
            self.new.extend(unknown);
            self.request_update_for_new_topics(cause);
        }
    }

    /// All topics are wanted, as by a subscription to a pattern.
    pub fn want_all(&mut self, cause: EventId) {
        if !std::mem::replace(&mut self.wants_all, true) {
            self.request_update(true, cause);
        }
    }

    pub fn wants(&self, topic: &str) -> bool {
        self.wants_all || self.wanted.contains_key(topic)
    }

    /// What is asked for next follows from the first wish for it.
    fn because(&mut self, cause: EventId) {
        if !self.is_update_wanted() || self.cause == EventId::NONE {
            self.cause = cause;
        }
    }

    /// What is known is stale. `without_backoff`: something new is at hand, so that the pause does not
    /// grow from what was asked in vain before.
    pub fn request_update(&mut self, without_backoff: bool, cause: EventId) {
        self.because(cause);
        self.needs_full = true;
        if without_backoff && self.without_news > 0 {
            self.without_news = 0;
            self.not_before = self
                .not_before
                .min(self.last_refresh_ms + self.retry_backoff.initial_ms);
        }
    }

    /// What is known of the topic is not enough: asked for alone when it is new.
    pub fn request_update_for_topic(&mut self, topic: &str, cause: EventId) {
        if self.new.contains(topic) {
            self.request_update_for_new_topics(cause);
        } else {
            self.request_update(false, cause);
        }
    }

    fn request_update_for_new_topics(&mut self, cause: EventId) {
        self.because(cause);
        self.needs_partial = true;
        self.without_news = 0;
        self.not_before = 0;
        self.added += 1;
    }

    /// A newer leader epoch was seen elsewhere than in metadata: what is known is stale
    /// (`updateLastSeenEpochIfNewer`).
    pub fn saw_epoch(&mut self, partition: &TopicPartition, epoch: LeaderEpoch, cause: EventId) -> bool {
        match self.epochs.get_mut(partition) {
            Some(seen) if *seen < epoch => {
                *seen = epoch;
                self.request_update(false, cause);
                true
            }
            _ => false,
        }
    }

    // ---- when to ask, and what

    pub fn is_update_wanted(&self) -> bool {
        self.needs_full || self.needs_partial
    }

    /// When to ask: the backoff's end if something is wanted, else when what is known is too old.
    pub fn update_at(&self) -> Millis {
        let wanted_at = match self.last_full_ms {
            _ if self.is_update_wanted() => 0,
            Some(at) => at.saturating_add(self.max_age_ms),
            None => 0,
        };
        wanted_at.max(self.not_before)
    }

    /// The request, in a version that the node knows, and what to hand back with its answer.
    pub(super) fn request(&self, now: Millis, version: i16) -> (MetadataRequest, AskedFor) {
        let partial = !self.needs_full && self.needs_partial && !self.is_too_old(now);
        let names = if partial {
            self.new.iter().cloned().collect()
        } else {
            self.wanted.keys().cloned().collect::<Vec<_>>()
        };
        let all = self.wants_all && !partial;
        let body = message(|body: &mut MetadataRequest| {
            // Version 0 has an empty list for "all", later ones null.
            body.topics = if all {
                (version == 0).then(Vec::new)
            } else {
                Some(names.iter().map(|name| asked(name)).collect())
            };
            if version >= 4 {
                body.allow_auto_topic_creation = self.allow_auto_topic_creation;
            }
        });
        let version = self.added;
        (body, AskedFor { partial, version })
    }

    fn is_too_old(&self, now: Millis) -> bool {
        self.last_full_ms
            .is_none_or(|at| at.saturating_add(self.max_age_ms) <= now)
    }

    /// No answer, or one that is of no use.
    pub(super) fn failed(&mut self, cx: &mut ClientCx, why: &str) {
        self.last_refresh_ms = cx.now;
        self.failing_since.get_or_insert(cx.now);
        self.not_before = cx.now + self.retry_backoff.backoff_ms(self.failures, cx.rng);
        self.failures += 1;
        self.without_news = 0;
        let again_ms = self.not_before;
        self.cause = cx.emit(|| {
            Fact::Client(ClientFact::MetadataFailed {
                again_ms,
                why: why.to_owned(),
            })
        });
    }

    /// Whether nobody has told anything for so long.
    pub(super) fn fails_for(&self, now: Millis, at_least_ms: Millis) -> bool {
        self.failing_since.is_some_and(|since| now - since >= at_least_ms)
    }

    /// Forgets the brokers, to begin anew with the bootstrap addresses (KIP-899).
    pub(super) fn rebootstrap(&mut self, cx: &mut ClientCx, why: &str) {
        self.bootstrapping = true;
        self.brokers.clear();
        self.needs_full = true;
        self.failing_since = None;
        let why = why.to_owned();
        cx.emit(|| Fact::Client(ClientFact::Rebootstrapped { why }));
    }

    pub fn is_bootstrapping(&self) -> bool {
        self.bootstrapping
    }
}

impl Broker {
    fn node(&self, lane: ClientLane) -> Node {
        Node {
            id: self.id,
            host: self.host.clone(),
            port: self.port,
            lane,
        }
    }
}

fn asked(name: &str) -> MetadataRequestTopic {
    message(|topic: &mut MetadataRequestTopic| topic.name = Some(name.into()))
}

#[cfg(test)]
mod tests;
