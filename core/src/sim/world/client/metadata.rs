//! What a client knows of the cluster, and how it comes to know more (Kafka's `Metadata`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{ClientCx, Purpose, RETRY_BACKOFF_MS, Wire, version_of};
use crate::protocol::messages::metadata_request::MetadataRequestTopic;
use crate::protocol::messages::{MetadataRequest, message};
use crate::protocol::{ApiKey, RequestBody, ResponseBody};
use crate::types::{BrokerId, LeaderEpoch, Millis, TopicPartition};

/// Without need it is asked again after so long (`metadata.max.age.ms`).
const MAX_AGE_MS: Millis = 300_000;

/// Who leads what, as a broker said.
#[derive(Clone, Debug)]
pub(super) struct Metadata {
    /// All that there may be; asked in turn, since a client knows its bootstrap servers only.
    bootstrap: Vec<BrokerId>,
    turn: usize,
    topics: BTreeSet<Arc<str>>,
    leaders: BTreeMap<TopicPartition, (BrokerId, LeaderEpoch)>,
    pub controller: Option<BrokerId>,
    asked: bool,
    /// When to ask next; `None`: nobody needs it yet.
    ask_at: Option<Millis>,
    asked_ms: Millis,
}

impl Metadata {
    pub fn new(bootstrap: Vec<BrokerId>) -> Self {
        Self {
            bootstrap,
            turn: 0,
            topics: BTreeSet::new(),
            leaders: BTreeMap::new(),
            controller: None,
            asked: false,
            ask_at: None,
            asked_ms: 0,
        }
    }

    /// The leader, with the epoch in which it leads; asks for the topic if it is new.
    pub fn leader(&mut self, now: Millis, partition: &TopicPartition) -> Option<(BrokerId, LeaderEpoch)> {
        if self.topics.insert(partition.topic.clone()) {
            self.ask_at = Some(now);
        }
        self.leaders.get(partition).copied()
    }

    pub fn knows(&self, partition: &TopicPartition) -> bool {
        self.leaders.contains_key(partition)
    }

    /// The next broker that may be asked anything.
    pub fn any(&mut self) -> BrokerId {
        self.turn += 1;
        let count = self.bootstrap.len().max(1);
        self.bootstrap.get(self.turn % count).copied().unwrap_or(1)
    }

    /// What is known was wrong, or not enough: asks again, not sooner than the backoff allows.
    pub fn refresh(&mut self, now: Millis) {
        let at = (self.asked_ms + RETRY_BACKOFF_MS).max(now);
        self.ask_at = Some(self.ask_at.map_or(at, |before| before.min(at)));
    }

    /// The partition's leader cannot be had.
    pub fn forget(&mut self, now: Millis, partition: &TopicPartition) {
        self.leaders.remove(partition);
        self.refresh(now);
    }

    pub fn next_timeout(&self) -> Option<Millis> {
        self.ask_at.filter(|_| !self.asked)
    }

    pub fn tick(&mut self, cx: &mut ClientCx, wire: &mut Wire) {
        if self.asked || self.ask_at.is_none_or(|at| at > cx.now) {
            return;
        }
        self.asked = true;
        self.asked_ms = cx.now;
        self.ask_at = None;
        let topics = self
            .topics
            .iter()
            .map(|name| message(|topic: &mut MetadataRequestTopic| topic.name = Some((&**name).into())));
        let topics = topics.collect();
        let body = message(|body: &mut MetadataRequest| {
            body.topics = Some(topics);
            body.allow_auto_topic_creation = false;
        });
        let broker = self.any();
        wire.send(
            cx,
            broker,
            version_of(ApiKey::Metadata),
            &RequestBody::Metadata(body),
            Purpose::Metadata,
        );
    }

    pub fn answered(&mut self, cx: &mut ClientCx, body: Option<ResponseBody>) {
        self.asked = false;
        let Some(ResponseBody::Metadata(answer)) = body else {
            return self.refresh(cx.now);
        };
        self.controller = (answer.controller_id >= 0).then_some(answer.controller_id);
        self.ask_at.get_or_insert(cx.now + MAX_AGE_MS);
        for topic in &answer.topics {
            let name: Arc<str> = topic.name.as_deref().unwrap_or_default().into();
            if topic.error_code != 0 {
                self.refresh(cx.now);
            }
            for found in &topic.partitions {
                let partition = TopicPartition::new(name.clone(), found.partition_index);
                let known = self.leaders.get(&partition).map(|(_, epoch)| *epoch);
                // A broker that knows less than another has told is not believed.
                if known.is_some_and(|known| found.leader_epoch < known) {
                    self.refresh(cx.now);
                } else if found.leader_id < 0 {
                    self.leaders.remove(&partition);
                    self.refresh(cx.now);
                } else {
                    self.leaders
                        .insert(partition, (found.leader_id, found.leader_epoch));
                }
            }
        }
    }
}
