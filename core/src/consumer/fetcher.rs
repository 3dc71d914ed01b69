//! Records from the leaders to the application (Kafka's `Fetcher`, `FetchBuffer`, `FetchCollector`).
//!
//! Each node is asked for the partitions that it leads, one request at a time, in a session. What it
//! gives waits here, unpacked only as far as the application takes it. While anything of a node waits, the
//! node is not asked again; so at most one answer of each is held, and no partition drops out of its
//! session only because its records were not taken yet.
//!
//! Invariants
//! - records are returned only if they begin at the position: what a seek or a rebalance has overtaken is
//!   dropped
//! - the position moves when records are returned, and at no other time
//! - a partition that is not fetchable gives nothing; what waits of a paused one is kept

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;

use super::completed_fetch::{CompletedFetch, ReadRules};
use super::config::ConsumerConfig;
use super::error::ConsumerError;
use super::purpose::Purpose;
use super::record::ConsumerRecord;
use super::shared::{Net, leader_of};
use super::subscription::SubscriptionState;
use crate::client::{ClientCx, ClientLane, ExponentialBackoff, NetworkError};
use crate::disk::Part;
use crate::error::ErrorCode;
use crate::protocol::fetch::{
    Built, FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse, FetchSession, Wanted,
};
use crate::protocol::{ApiKey, RequestBody, ResponseBody};
use crate::record::{Batches, Decompress, InvalidBatch};
use crate::trace::{ConsumerFact, Fact};
use crate::types::{BrokerId, Millis, NO_EPOCH, TopicPartition, Uuid};

/// The last version that names topics.
const LAST_WITH_NAMES: i16 = 12;

#[derive(Clone, Debug, Default)]
struct NodeSession {
    session: FetchSession,
    /// A request is under way.
    pending: bool,
    /// Whether the session's topics are named by ids.
    by_id: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Fetcher {
    rules: ReadRules,
    min_bytes: i32,
    max_bytes: i32,
    max_wait_ms: i32,
    max_partition_bytes: i32,
    rack: String,
    /// How long a nearer replica counts.
    preference_ms: Millis,
    retry_backoff: ExponentialBackoff,
    sessions: BTreeMap<BrokerId, NodeSession>,
    /// Answers in the order in which they came.
    buffer: VecDeque<CompletedFetch>,
}

impl Fetcher {
    pub fn new(config: &ConsumerConfig, decompress: &'static dyn Decompress) -> Self {
        Self {
            rules: ReadRules {
                isolation: config.isolation_level,
                check_crcs: config.check_crcs,
                decompress,
            },
            min_bytes: config.fetch_min_bytes,
            max_bytes: config.fetch_max_bytes,
            max_wait_ms: config.fetch_max_wait_ms,
            max_partition_bytes: config.max_partition_fetch_bytes,
            rack: config.client_rack.as_deref().unwrap_or_default().to_owned(),
            preference_ms: config.client.metadata_max_age_ms,
            retry_backoff: config.client.retry_backoff,
            sessions: BTreeMap::new(),
            buffer: VecDeque::new(),
        }
    }

    /// Whether something waits that may be returned.
    pub fn has_records(&self, subscriptions: &SubscriptionState) -> bool {
        self.buffer.iter().any(|fetch| {
            let state = subscriptions.get(&fetch.partition);
            state.is_some_and(|state| state.is_fetchable())
        })
    }

    /// Forgets what waits of partitions that are no longer assigned.
    pub fn retain_assigned(&mut self, subscriptions: &SubscriptionState) {
        self.buffer
            .retain(|fetch| subscriptions.get(&fetch.partition).is_some());
    }

    // ---- asking

    /// Asks every node that leads something fetchable, and has nothing under way and nothing waiting.
    /// When to come again, if no input will tell.
    pub fn send(
        &mut self,
        cx: &mut ClientCx,
        net: &mut Net,
        subscriptions: &mut SubscriptionState,
    ) -> Option<Millis> {
        let paused = subscriptions.states().filter_map(|(_, state)| {
            let is_paused = state.is_fetchable() && state.not_before > cx.now;
            is_paused.then_some(state.not_before)
        });
        let mut again = paused.min();
        for (id, wanted) in self.wanted(cx, net, subscriptions) {
            let Some(node) = net.node(id, ClientLane::Data) else {
                net.metadata.request_update(false, cx.cause);
                continue;
            };
            if !net.ready(cx, &node) {
                again = again.into_iter().chain(net.ready_at(cx.now, &node)).min();
                continue;
            }
            let by_id = wanted.iter().all(|(_, topic_id, _)| !topic_id.is_zero());
            let most = if by_id { i16::MAX } else { LAST_WITH_NAMES };
            let version = net.usable_version(&node, ApiKey::Fetch, most);
            let Ok(version) = version else { continue };
            let by_id = version > LAST_WITH_NAMES;
            let body = self.request(id, by_id, wanted);
            let purpose = Purpose::Fetch { node: id };
            let sent = net.send(cx, &node, version, &RequestBody::Fetch(body), purpose, 0);
            if let Some(session) = self.sessions.get_mut(&id) {
                match sent {
                    Ok(_) => session.pending = true,
                    Err(_) => session.session.failed(),
                }
            }
        }
        again
    }

    /// What may be asked of whom.
    fn wanted(
        &self,
        cx: &ClientCx,
        net: &mut Net,
        subscriptions: &mut SubscriptionState,
    ) -> BTreeMap<BrokerId, Vec<(TopicPartition, Uuid, FetchPartition)>> {
        let mut busy: BTreeSet<BrokerId> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.pending)
            .map(|(id, _)| *id)
            .collect();
        let mut waiting = BTreeSet::new();
        for fetch in &self.buffer {
            waiting.insert(fetch.partition.clone());
            if let Some(state) = subscriptions
                .get_mut(&fetch.partition)
                .filter(|state| state.is_fetchable())
            {
                let leader = state
                    .position()
                    .and_then(|position| position.current_leader.leader);
                busy.extend(state.preferred_replica(cx.now).or(leader));
            }
        }
        let mut wanted: BTreeMap<BrokerId, Vec<_>> = BTreeMap::new();
        for (partition, state) in subscriptions.states_mut() {
            let Some(position) = state
                .valid_position()
                .filter(|_| state.is_fetchable() && state.not_before <= cx.now)
                .filter(|_| !waiting.contains(partition))
            else {
                continue;
            };
            let Some(leader) = position.current_leader.leader else {
                net.metadata.request_update(false, cx.cause);
                continue;
            };
            let preferred = state.preferred_replica(cx.now);
            let node = preferred.filter(|id| is_online(net, partition, *id));
            if preferred.is_some() && node.is_none() {
                state.prefer_the_leader();
                net.metadata.request_update(false, cx.cause);
            }
            let node = node.unwrap_or(leader);
            if busy.contains(&node) {
                continue;
            }
            let topic_id = net
                .metadata
                .topic(&partition.topic)
                .map_or(Uuid::ZERO, |topic| topic.id);
            let asked = FetchPartition {
                partition: partition.partition,
                current_leader_epoch: position.current_leader.epoch.unwrap_or(NO_EPOCH),
                fetch_offset: position.offset,
                max_bytes: self.max_partition_bytes,
                ..FetchPartition::default()
            };
            wanted
                .entry(node)
                .or_default()
                .push((partition.clone(), topic_id, asked));
        }
        wanted
    }

    fn request(
        &mut self,
        node: BrokerId,
        by_id: bool,
        wanted: Vec<(TopicPartition, Uuid, FetchPartition)>,
    ) -> FetchRequest {
        let session = self.sessions.entry(node).or_default();
        if session.by_id != by_id {
            session.session.failed();
            session.by_id = by_id;
        }
        let named: BTreeSet<&TopicPartition> = wanted.iter().map(|(partition, ..)| partition).collect();
        let left = session.session.partitions();
        let mut all: Vec<Wanted> = left
            .filter(|partition| !named.contains(partition))
            .map(|partition| (partition.clone(), None))
            .collect();
        all.extend(wanted.into_iter().map(|(partition, topic_id, asked)| {
            let topic_id = if by_id { topic_id } else { Uuid::ZERO };
            (partition, Some((topic_id, asked)))
        }));
        let built = session.session.build(all);
        self.with_session(built)
    }

    fn with_session(&self, built: Option<Built>) -> FetchRequest {
        let mut request = FetchRequest {
            max_wait_ms: self.max_wait_ms,
            min_bytes: self.min_bytes,
            max_bytes: self.max_bytes,
            isolation_level: self.rules.isolation.code(),
            rack_id: self.rack.as_str().into(),
            ..FetchRequest::default()
        };
        if let Some(built) = built {
            request.session_id = built.session_id;
            request.session_epoch = built.session_epoch;
            request.topics = built.topics;
            request.forgotten_topics = built.forgotten;
        }
        request
    }

    /// Tells every node that can be told at once that its session is not needed any more.
    pub fn close(&mut self, cx: &mut ClientCx, net: &mut Net) {
        let mut sessions = std::mem::take(&mut self.sessions);
        for (id, session) in &mut sessions {
            let Some(built) = session.session.close() else {
                continue;
            };
            let Some(node) = net.node(*id, ClientLane::Data).filter(|node| net.ready(cx, node)) else {
                continue;
            };
            if let Ok(version) = net.usable_version(&node, ApiKey::Fetch, i16::MAX) {
                let body = RequestBody::Fetch(self.with_session(Some(built)));
                let _ = net.send(cx, &node, version, &body, Purpose::CloseSession, 0);
            }
        }
    }

    // ---- hearing

    /// Takes in what became of a fetch; what the application must be told.
    pub fn answered(
        &mut self,
        cx: &mut ClientCx,
        net: &mut Net,
        subscriptions: &mut SubscriptionState,
        node: BrokerId,
        result: Result<ResponseBody, NetworkError>,
    ) -> Vec<ConsumerError> {
        let Some(session) = self.sessions.get_mut(&node) else {
            return Vec::new();
        };
        session.pending = false;
        let Ok(ResponseBody::Fetch(answer)) = result else {
            session.session.failed();
            for partition in session.session.partitions() {
                if let Some(state) = subscriptions.get_mut(partition) {
                    state.prefer_the_leader();
                }
            }
            return Vec::new();
        };
        if !session.session.answered(&answer) {
            if answer.error_code == ErrorCode::FetchSessionTopicIdError {
                net.metadata.request_update(false, cx.cause);
            }
            return Vec::new();
        }
        self.take(cx, net, subscriptions, node, answer)
    }

    fn take(
        &mut self,
        cx: &mut ClientCx,
        net: &mut Net,
        subscriptions: &mut SubscriptionState,
        node: BrokerId,
        answer: FetchResponse,
    ) -> Vec<ConsumerError> {
        let (mut errors, mut leaders) = (Vec::new(), Vec::new());
        for topic in answer.topics {
            for part in topic.partitions {
                let Some(session) = self.sessions.get(&node).map(|session| &session.session) else {
                    continue;
                };
                let name = session.name_of(&topic.name, topic.topic_id, part.partition);
                let Some(name) = name else { continue };
                let Some(asked) = session.asked(&name) else {
                    continue;
                };
                let fetch_offset = asked.fetch_offset;
                let has_moved = matches!(
                    part.error_code,
                    ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch
                );
                if has_moved && part.current_leader.leader_id >= 0 && part.current_leader.leader_epoch >= 0 {
                    leaders.push((name.clone(), part.current_leader));
                }
                let taken = self.take_partition(cx, net, subscriptions, (node, name, fetch_offset), part);
                errors.extend(taken.err());
            }
        }
        let changed = net.metadata.update_leaders(cx, &leaders, &answer.node_endpoints);
        for partition in changed {
            if let Some(state) = subscriptions.get_mut(&partition) {
                state.see_leader(leader_of(net, &partition));
            }
        }
        errors
    }

    fn take_partition(
        &mut self,
        cx: &mut ClientCx,
        net: &mut Net,
        subscriptions: &mut SubscriptionState,
        (node, name, fetch_offset): (BrokerId, TopicPartition, i64),
        part: FetchPartitionResponse,
    ) -> Result<(), ConsumerError> {
        let Some(state) = subscriptions.get_mut(&name) else {
            return Ok(());
        };
        if state
            .valid_position()
            .is_none_or(|position| position.offset != fetch_offset)
        {
            return Ok(());
        }
        if part.error_code != ErrorCode::None {
            state.not_before = cx.now + self.retry_backoff.backoff_ms(0, cx.rng);
            let told = failed(cx, net, subscriptions, node, name.clone(), part.error_code);
            if let (Err(_), Some(state)) = (&told, subscriptions.get_mut(&name)) {
                state.awaits_poll = true;
            }
            return told;
        }
        let known = |offset: i64| (offset >= 0).then_some(offset);
        state.high_watermark = known(part.high_watermark).or(state.high_watermark);
        state.log_start_offset = known(part.log_start_offset).or(state.log_start_offset);
        state.last_stable_offset = known(part.last_stable_offset).or(state.last_stable_offset);
        if part.preferred_read_replica >= 0 {
            state.prefer(part.preferred_read_replica, cx.now + self.preference_ms);
        }
        let records = in_memory(part.records);
        if records.is_empty() {
            return Ok(());
        }
        if let Some(Err(InvalidBatch::Truncated { .. })) = Batches::new(records.clone()).next() {
            state.awaits_poll = true;
            return Err(ConsumerError::CorruptRecord {
                partition: name,
                offset: fetch_offset,
                why: "the broker gave a part of a batch and nothing before it".to_owned(),
            });
        }
        let aborted = part.aborted_transactions.unwrap_or_default();
        self.buffer
            .push_back(CompletedFetch::new(name, fetch_offset, records, aborted));
        Ok(())
    }

    // ---- returning

    /// Takes at most `most` records out, and moves the positions past them.
    ///
    /// # Errors
    /// There are none, since the first that would be next cannot be read.
    pub fn collect(
        &mut self,
        cx: &mut ClientCx,
        subscriptions: &mut SubscriptionState,
        most: usize,
    ) -> Result<Vec<ConsumerRecord>, ConsumerError> {
        let (mut records, mut kept, mut error) = (Vec::new(), VecDeque::new(), None);
        while records.len() < most {
            let Some(mut fetch) = self.buffer.pop_front() else {
                break;
            };
            let Some(state) = subscriptions.get_mut(&fetch.partition) else {
                continue;
            };
            let position = state.valid_position().map(|position| position.offset);
            if position != Some(fetch.next_offset()) {
                continue;
            }
            if !state.is_fetchable() {
                if state.paused {
                    kept.push_back(fetch);
                }
                continue;
            }
            let (from, before) = (fetch.next_offset(), records.len());
            let read = fetch.read(most - before, &self.rules, &mut records);
            if fetch.next_offset() > from {
                state.advance(fetch.next_offset(), fetch.last_epoch());
                let count = (records.len() - before) as u32;
                cx.emit(|| {
                    Fact::Consumer(ConsumerFact::RecordsReturned {
                        partition: fetch.partition.clone(),
                        from,
                        to: fetch.next_offset(),
                        count,
                    })
                });
            }
            if !fetch.is_consumed() {
                self.buffer.push_front(fetch);
            }
            if let Err(why) = read {
                error = Some(why).filter(|_| records.is_empty());
                break;
            }
        }
        self.buffer.append(&mut kept);
        error.map_or(Ok(records), Err)
    }
}

/// What a partition's error means.
fn failed(
    cx: &mut ClientCx,
    net: &mut Net,
    subscriptions: &mut SubscriptionState,
    broker: BrokerId,
    partition: TopicPartition,
    code: ErrorCode,
) -> Result<(), ConsumerError> {
    let fact = ConsumerFact::FetchFailed {
        partition: partition.clone(),
        broker,
        code,
    };
    cx.cause = cx.emit(|| Fact::Consumer(fact));
    match code {
        ErrorCode::NotLeaderOrFollower
        | ErrorCode::ReplicaNotAvailable
        | ErrorCode::KafkaStorageError
        | ErrorCode::FencedLeaderEpoch
        | ErrorCode::OffsetNotAvailable
        | ErrorCode::UnknownTopicOrPartition
        | ErrorCode::UnknownTopicId
        | ErrorCode::InconsistentTopicId => {
            net.metadata.request_update(false, cx.cause);
            if let Some(state) = subscriptions.get_mut(&partition) {
                state.prefer_the_leader();
            }
            Ok(())
        }
        ErrorCode::OffsetOutOfRange => out_of_range(cx, subscriptions, partition),
        ErrorCode::TopicAuthorizationFailed => Err(ConsumerError::TopicAuthorization {
            topics: vec![partition.topic.to_string()],
        }),
        ErrorCode::UnknownLeaderEpoch | ErrorCode::UnknownServerError => Ok(()),
        ErrorCode::CorruptMessage => Err(ConsumerError::CorruptRecord {
            offset: subscriptions
                .get(&partition)
                .and_then(|state| state.position())
                .map_or(-1, |position| position.offset),
            partition,
            why: "the broker says that its log is corrupt there".to_owned(),
        }),
        code => Err(ConsumerError::Unexpected {
            api: ApiKey::Fetch.name(),
            code: code.code(),
        }),
    }
}

/// The position is not in the log. A nearer replica may merely be behind: then the leader is asked.
fn out_of_range(
    cx: &mut ClientCx,
    subscriptions: &mut SubscriptionState,
    partition: TopicPartition,
) -> Result<(), ConsumerError> {
    let strategy = subscriptions.default_reset;
    let Some(state) = subscriptions.get_mut(&partition) else {
        return Ok(());
    };
    if state.prefer_the_leader() {
        return Ok(());
    }
    let Some(position) = state.valid_position() else {
        return Ok(());
    };
    if strategy == super::ResetStrategy::None {
        let offset = position.offset;
        return Err(ConsumerError::OffsetOutOfRange { partition, offset });
    }
    cx.emit(|| {
        Fact::Consumer(ConsumerFact::PositionLost {
            partition,
            offset: Some(position.offset),
            why: "it is out of range".to_owned(),
        })
    });
    state.reset(strategy);
    Ok(())
}

/// Whether the broker has the replica, and the replica is not known to be offline.
fn is_online(net: &Net, partition: &TopicPartition, id: BrokerId) -> bool {
    let found = net.metadata.partition(partition);
    let has = found.is_some_and(|found| found.replicas.contains(&id) && !found.offline.contains(&id));
    has && net.metadata.broker(id).is_some()
}

/// The bytes of decoded records: a decoder never names files.
fn in_memory(records: Option<crate::disk::Parts>) -> Bytes {
    let mut parts = records.into_iter().flatten();
    let bytes = parts.find_map(|part| match part {
        Part::Bytes(bytes) => Some(bytes),
        Part::File { .. } => None,
    });
    bytes.unwrap_or_default()
}
