//! Offsets that only leaders know (Kafka's `OffsetFetcher`): where to begin, whether the log is still the
//! one that was read, and what the application asks for.
//!
//! Each goes to the leader of its partition, many partitions in one request, and again after a pause when
//! the leader was the wrong one or could not say.
//!
//! Invariant: an answer counts only if what it is about has not changed since it was asked for.

use std::collections::{BTreeMap, BTreeSet};

use super::error::ConsumerError;
use super::event::{ConsumerEvent, QueryId};
use super::partition_state::{FetchPosition, FetchState};
use super::purpose::Purpose;
use super::record::OffsetAndTimestamp;
use super::requests;
use super::reset_strategy::ResetStrategy;
use super::shared::Shared;
use crate::client::{ClientCx, ClientLane, NetworkError, Node};
use crate::error::ErrorCode;
use crate::protocol::messages::{ListOffsetsResponse, OffsetForLeaderEpochResponse};
use crate::protocol::{ApiKey, RequestBody, ResponseBody};
use crate::trace::{ConsumerFact, PositionReason};
use crate::types::{BrokerId, LeaderEpoch, Millis, Offset, TopicPartition};

/// The first version of OffsetForLeaderEpoch that a consumer may use, which asks for no more rights than
/// reading.
const FIRST_FOR_CONSUMERS: i16 = 3;
/// "No offset", as on the wire.
const UNKNOWN_OFFSET: Offset = -1;
/// "No epoch", as on the wire.
const UNKNOWN_EPOCH: LeaderEpoch = -1;

/// What the application asked for.
#[derive(Clone, Debug)]
struct Query {
    /// With what is looked for: a time, or a number that stands for an end.
    left: BTreeMap<TopicPartition, Millis>,
    in_flight: BTreeSet<TopicPartition>,
    found: BTreeMap<TopicPartition, Option<OffsetAndTimestamp>>,
    not_before: Millis,
    due_ms: Millis,
    failures: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Lookups {
    queries: BTreeMap<QueryId, Query>,
    /// The application was told that there is nowhere to begin, and has not polled since.
    told: bool,
}

/// Requests that can be sent: to each leader, what it is asked.
type ByLeader<V> = BTreeMap<BrokerId, BTreeMap<TopicPartition, V>>;

impl Lookups {
    /// Topics that must be known for the application's look-ups.
    pub fn topics(&self) -> impl Iterator<Item = std::sync::Arc<str>> + '_ {
        let partitions = self.queries.values().flat_map(|query| query.left.keys());
        partitions.map(|partition| partition.topic.clone())
    }

    pub fn polled(&mut self) {
        self.told = false;
    }

    pub fn ask(&mut self, id: QueryId, asked: BTreeMap<TopicPartition, Millis>, due_ms: Millis) {
        let query = Query {
            left: asked,
            in_flight: BTreeSet::new(),
            found: BTreeMap::new(),
            not_before: 0,
            due_ms,
            failures: 0,
        };
        self.queries.insert(id, query);
    }

    /// Sends what can be sent.
    pub fn run(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        self.validate(shared, cx);
        self.reset(shared, cx);
        self.run_queries(shared, cx);
    }

    // ---- where to begin

    /// Partitions that have no committed offset begin where `auto.offset.reset` says.
    pub fn reset_initializing(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        let mut initializing = shared.subscriptions.initializing();
        if shared.config.group.is_some() {
            initializing.retain(|partition| {
                let state = shared.subscriptions.get(partition);
                state.is_some_and(|state| state.without_commit)
            });
        }
        let strategy = shared.subscriptions.default_reset;
        if initializing.is_empty() {
            return;
        }
        if strategy == ResetStrategy::None {
            if !self.told && shared.polling {
                self.told = true;
                let partitions = initializing.into_iter().collect();
                shared.fail(cx, ConsumerError::NoOffsetForPartition { partitions });
            }
            return;
        }
        for partition in initializing {
            if let Some(state) = shared.subscriptions.get_mut(&partition) {
                state.reset(strategy);
            }
            shared.emit(cx, || ConsumerFact::PositionLost {
                partition,
                offset: None,
                why: "no offset was committed".to_owned(),
            });
        }
    }

    fn reset(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        let mut asked: BTreeMap<TopicPartition, ResetStrategy> = BTreeMap::new();
        for (partition, state) in shared.subscriptions.states() {
            if let Some(strategy) = state.reset_strategy().filter(|_| state.may_look_up(cx.now)) {
                asked.insert(partition.clone(), strategy);
            }
        }
        self.wake_for_waiting(shared, cx.now);
        for (leader, asked) in by_leader(shared, cx, asked) {
            let times = |(partition, strategy): (&TopicPartition, &ResetStrategy)| {
                let time = strategy.timestamp(cx.now)?;
                Some((partition.clone(), (time, shared.leader(partition).epoch)))
            };
            let times = asked.iter().filter_map(times).collect();
            let partitions: Vec<TopicPartition> = asked.keys().cloned().collect();
            let purpose = Purpose::Reset { asked };
            if send_list_offsets(shared, cx, leader, &times, purpose) {
                mark(shared, &partitions);
            }
        }
    }

    /// A pause of some look-up ends then.
    fn wake_for_waiting(&self, shared: &mut Shared, now: Millis) {
        let waiting = shared.subscriptions.states().filter_map(|(_, state)| {
            let waits = state.valid_position().is_none() && !state.looking_up;
            (waits && state.not_before > now).then_some(state.not_before)
        });
        if let Some(at) = waiting.min() {
            shared.wake_at(at);
        }
    }

    pub fn reset_answered(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        asked: &BTreeMap<TopicPartition, ResetStrategy>,
        result: Result<ResponseBody, NetworkError>,
    ) {
        let (found, denied) = match result {
            Ok(ResponseBody::ListOffsets(answer)) => offsets(&answer),
            _ => (BTreeMap::new(), BTreeSet::new()),
        };
        let retry_at = shared.retry_at(cx, 0);
        for (partition, strategy) in asked {
            let Some(state) = shared.subscriptions.get_mut(partition) else {
                continue;
            };
            if state.reset_strategy() != Some(*strategy) || !state.looking_up {
                continue;
            }
            match found.get(partition) {
                Some(Some(offset)) => set_position(shared, cx, partition, *offset, *strategy),
                // No record is so young: there is nothing to skip, and the end is where new ones come.
                Some(None) => state.reset(ResetStrategy::Latest),
                None => {
                    state.looking_up = false;
                    state.not_before = retry_at;
                    shared.net.metadata.request_update(false, cx.cause);
                }
            }
        }
        if !denied.is_empty() {
            shared.fail(
                cx,
                ConsumerError::TopicAuthorization {
                    topics: denied.into_iter().collect(),
                },
            );
        }
    }

    // ---- whether the log is still the one that was read

    fn validate(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        let mut asked: BTreeMap<TopicPartition, FetchPosition> = BTreeMap::new();
        for (partition, state) in shared.subscriptions.states() {
            if let FetchState::AwaitValidation(position) = state.fetch
                && state.may_look_up(cx.now)
            {
                asked.insert(partition.clone(), position);
            }
        }
        for (leader, asked) in by_leader(shared, cx, asked) {
            let Some(node) = ready(shared, cx, leader) else {
                continue;
            };
            let version = shared
                .net
                .usable_version(&node, ApiKey::OffsetForLeaderEpoch, i16::MAX);
            let Some(version) = version.ok().filter(|version| *version >= FIRST_FOR_CONSUMERS) else {
                // Too old to be asked: it is believed.
                asked.keys().for_each(|partition| {
                    if let Some(state) = shared.subscriptions.get_mut(partition) {
                        state.complete_validation();
                    }
                });
                continue;
            };
            let body = requests::epoch_ends(version, &asked);
            for (partition, position) in &asked {
                let (offset, epoch) = (position.offset, position.offset_epoch.unwrap_or(UNKNOWN_EPOCH));
                shared.emit(cx, || ConsumerFact::PositionChecked {
                    partition: partition.clone(),
                    offset,
                    epoch,
                    leader,
                });
            }
            let partitions: Vec<TopicPartition> = asked.keys().cloned().collect();
            let purpose = Purpose::Validate { asked };
            if shared.net.send(cx, &node, version, &body, purpose, 0).is_ok() {
                mark(shared, &partitions);
            }
        }
    }

    pub fn validate_answered(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        asked: &BTreeMap<TopicPartition, FetchPosition>,
        result: Result<ResponseBody, NetworkError>,
    ) {
        let (ends, denied) = match result {
            Ok(ResponseBody::OffsetForLeaderEpoch(answer)) => epoch_ends(&answer),
            _ => (BTreeMap::new(), BTreeSet::new()),
        };
        let retry_at = shared.retry_at(cx, 0);
        for (partition, position) in asked {
            let Some(state) = shared.subscriptions.get_mut(partition) else {
                continue;
            };
            if state.fetch != FetchState::AwaitValidation(*position) {
                continue;
            }
            match ends.get(partition) {
                Some(end) => complete(shared, cx, partition, position, *end),
                None => {
                    state.looking_up = false;
                    state.not_before = retry_at;
                    shared.net.metadata.request_update(false, cx.cause);
                }
            }
        }
        if !denied.is_empty() {
            shared.fail(
                cx,
                ConsumerError::TopicAuthorization {
                    topics: denied.into_iter().collect(),
                },
            );
        }
    }

    // ---- what the application asks for

    fn run_queries(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        let ids: Vec<QueryId> = self.queries.keys().copied().collect();
        for id in ids {
            let Some(query) = self.queries.get_mut(&id) else {
                continue;
            };
            if query.left.is_empty() || query.due_ms <= cx.now {
                self.end_query(shared, id);
                continue;
            }
            shared.wake_at(query.due_ms);
            if query.not_before > cx.now {
                shared.wake_at(query.not_before);
                continue;
            }
            let open = query.left.iter();
            let open = open.filter(|(partition, _)| !query.in_flight.contains(*partition));
            let open = open.map(|(partition, time)| (partition.clone(), *time)).collect();
            let mut sent = BTreeSet::new();
            for (leader, asked) in by_leader(shared, cx, open) {
                let times: BTreeMap<_, _> = asked
                    .iter()
                    .map(|(partition, time)| (partition.clone(), (*time, shared.leader(partition).epoch)))
                    .collect();
                let asked: BTreeSet<TopicPartition> = asked.into_keys().collect();
                let purpose = Purpose::Query {
                    id,
                    asked: asked.clone(),
                };
                if send_list_offsets(shared, cx, leader, &times, purpose) {
                    sent.extend(asked);
                }
            }
            if let Some(query) = self.queries.get_mut(&id) {
                query.in_flight.extend(sent);
            }
        }
    }

    pub fn query_answered(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        id: QueryId,
        asked: &BTreeSet<TopicPartition>,
        result: Result<ResponseBody, NetworkError>,
    ) {
        let Some(query) = self.queries.get_mut(&id) else {
            return;
        };
        query.in_flight.retain(|partition| !asked.contains(partition));
        let (found, denied) = match result {
            Ok(ResponseBody::ListOffsets(answer)) => offsets(&answer),
            _ => (BTreeMap::new(), BTreeSet::new()),
        };
        if !denied.is_empty() {
            self.queries.remove(&id);
            let topics = denied.into_iter().collect();
            let result = Err(ConsumerError::TopicAuthorization { topics });
            return shared.events.push_back(ConsumerEvent::Offsets { id, result });
        }
        for (partition, offset) in found {
            if query.left.remove(&partition).is_some() {
                query.found.insert(partition, offset);
            }
        }
        if asked.iter().any(|partition| query.left.contains_key(partition)) {
            query.not_before = shared.retry_at(cx, query.failures);
            query.failures += 1;
            shared.net.metadata.request_update(false, cx.cause);
        }
    }

    fn end_query(&mut self, shared: &mut Shared, id: QueryId) {
        let Some(query) = self.queries.remove(&id) else {
            return;
        };
        let result = match query.left.is_empty() {
            true => Ok(query.found),
            false => Err(ConsumerError::Timeout {
                what: "the look-up of offsets",
                ms: shared.config.default_api_timeout_ms,
            }),
        };
        shared.events.push_back(ConsumerEvent::Offsets { id, result });
    }
}

/// A look-up of these is under way.
fn mark(shared: &mut Shared, partitions: &[TopicPartition]) {
    for partition in partitions {
        if let Some(state) = shared.subscriptions.get_mut(partition) {
            state.looking_up = true;
        }
    }
}

/// Sorts by leader; of partitions that nobody is known to lead, metadata is asked for.
fn by_leader<V>(shared: &mut Shared, cx: &mut ClientCx, asked: BTreeMap<TopicPartition, V>) -> ByLeader<V> {
    let mut sorted: ByLeader<V> = BTreeMap::new();
    for (partition, value) in asked {
        match shared.leader(&partition).leader {
            Some(leader) => {
                sorted.entry(leader).or_default().insert(partition, value);
            }
            None => shared
                .net
                .metadata
                .request_update_for_topic(&partition.topic, cx.cause),
        }
    }
    sorted
}

/// The node, if a request may be sent to it now.
fn ready(shared: &mut Shared, cx: &mut ClientCx, id: BrokerId) -> Option<Node> {
    let node = shared.net.node(id, ClientLane::Data)?;
    if shared.net.ready(cx, &node) {
        return Some(node);
    }
    if let Some(at) = shared.net.ready_at(cx.now, &node) {
        shared.wake_at(at);
    }
    None
}

fn send_list_offsets(
    shared: &mut Shared,
    cx: &mut ClientCx,
    leader: BrokerId,
    times: &BTreeMap<TopicPartition, (Millis, Option<LeaderEpoch>)>,
    purpose: Purpose,
) -> bool {
    let Some(node) = ready(shared, cx, leader) else {
        return false;
    };
    let Ok(version) = shared.net.usable_version(&node, ApiKey::ListOffsets, i16::MAX) else {
        return false;
    };
    let timeout_ms = shared.config.client.request_timeout_ms;
    let body: RequestBody = requests::list_offsets(version, shared.config.isolation_level, timeout_ms, times);
    shared.net.send(cx, &node, version, &body, purpose, 0).is_ok()
}

type Found = BTreeMap<TopicPartition, Option<OffsetAndTimestamp>>;

/// Offsets that were found (`None`: there is no such record), and topics that may not be read. What is in
/// neither is asked for again.
fn offsets(answer: &ListOffsetsResponse) -> (Found, BTreeSet<String>) {
    let (mut found, mut denied) = (BTreeMap::new(), BTreeSet::new());
    for topic in &answer.topics {
        for row in &topic.partitions {
            let partition = TopicPartition::new(&*topic.name, row.partition_index);
            match ErrorCode::from_code(row.error_code) {
                Some(ErrorCode::None) => {
                    let offset = OffsetAndTimestamp {
                        offset: row.offset,
                        timestamp: row.timestamp,
                        leader_epoch: (row.leader_epoch >= 0).then_some(row.leader_epoch),
                    };
                    found.insert(partition, Some(offset).filter(|_| row.offset != UNKNOWN_OFFSET));
                }
                Some(ErrorCode::UnsupportedForMessageFormat) => _ = found.insert(partition, None),
                Some(ErrorCode::TopicAuthorizationFailed) => _ = denied.insert(topic.name.to_string()),
                _ => {}
            }
        }
    }
    (found, denied)
}

/// A position that `auto.offset.reset` or a seek to an end gives is not checked: it is the leader's own.
fn set_position(
    shared: &mut Shared,
    cx: &mut ClientCx,
    partition: &TopicPartition,
    found: OffsetAndTimestamp,
    strategy: ResetStrategy,
) {
    if let Some(epoch) = found.leader_epoch {
        shared.net.metadata.saw_epoch(partition, epoch, cx.cause);
    }
    let position = FetchPosition {
        offset: found.offset,
        offset_epoch: None,
        current_leader: shared.leader(partition),
    };
    if let Some(state) = shared.subscriptions.get_mut(partition) {
        state.seek_validated(position);
    }
    shared.emit(cx, || ConsumerFact::PositionSet {
        partition: partition.clone(),
        offset: found.offset,
        why: PositionReason::Reset {
            strategy: strategy.to_string(),
        },
    });
}

type Ends = BTreeMap<TopicPartition, (Offset, LeaderEpoch)>;

/// Where epochs end, and topics that may not be read. What is in neither is asked for again.
fn epoch_ends(answer: &OffsetForLeaderEpochResponse) -> (Ends, BTreeSet<String>) {
    let (mut ends, mut denied) = (BTreeMap::new(), BTreeSet::new());
    for topic in &answer.topics {
        for row in &topic.partitions {
            match ErrorCode::from_code(row.error_code) {
                Some(ErrorCode::None) => {
                    let partition = TopicPartition::new(&*topic.topic, row.partition);
                    ends.insert(partition, (row.end_offset, row.leader_epoch));
                }
                Some(ErrorCode::TopicAuthorizationFailed) => _ = denied.insert(topic.topic.to_string()),
                _ => {}
            }
        }
    }
    (ends, denied)
}

/// The leader has told where the epoch of the last record read ends (`maybeCompleteValidation`).
fn complete(
    shared: &mut Shared,
    cx: &mut ClientCx,
    partition: &TopicPartition,
    position: &FetchPosition,
    (end, epoch): (Offset, LeaderEpoch),
) {
    let strategy = shared.subscriptions.default_reset;
    let Some(state) = shared.subscriptions.get_mut(partition) else {
        return;
    };
    let is_unknown = end == UNKNOWN_OFFSET || epoch == UNKNOWN_EPOCH;
    if !is_unknown && end >= position.offset {
        return state.complete_validation();
    }
    if strategy == ResetStrategy::None {
        state.looking_up = false;
        state.awaits_poll = true;
        state.not_before = cx.now + shared.config.client.retry_backoff.initial_ms;
        let error = ConsumerError::LogTruncation {
            partition: partition.clone(),
            offset: position.offset,
            diverges_at: (!is_unknown).then_some((end, epoch)),
        };
        return shared.fail(cx, error);
    }
    if is_unknown {
        state.reset(strategy);
        return shared.emit(cx, || ConsumerFact::PositionLost {
            partition: partition.clone(),
            offset: Some(position.offset),
            why: "the log was cut since it was read".to_owned(),
        });
    }
    state.seek_validated(FetchPosition {
        offset: end,
        offset_epoch: Some(epoch),
        current_leader: position.current_leader,
    });
    shared.emit(cx, || ConsumerFact::PositionSet {
        partition: partition.clone(),
        offset: end,
        why: PositionReason::Truncation,
    });
}
