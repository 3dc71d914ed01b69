//! Offsets that only leaders know (Kafka's `OffsetFetcher`): where to begin, whether the log is still the
//! one that was read, and what the application asks for.
//!
//! Each goes to the leader of its partition, many partitions in one request, and again after a pause when
//! the leader was the wrong one or could not say.
//!
//! Invariant: an answer counts only if what it is about has not changed since it was asked for.

mod queries;
mod reset;
mod validation;

use queries::Query;

use super::error::ConsumerError;
use super::event::QueryId;
use super::purpose::Purpose;
use super::record::OffsetAndTimestamp;
use super::requests;
use super::shared::Shared;
use crate::client::{ClientCx, ClientLane, Node};
use crate::error::ErrorCode;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::messages::ListOffsetsResponse;
use crate::protocol::{ApiKey, RequestBody};
use crate::types::{BrokerId, LeaderEpoch, Millis, Offset, TopicPartition};

/// "No offset", as on the wire.
const UNKNOWN_OFFSET: Offset = -1;

#[derive(Clone, Debug, Default)]
pub(super) struct Lookups {
    queries: OrderedMap<QueryId, Query>,
    /// The application was told that there is nowhere to begin, and has not polled since.
    told: bool,
}

/// Requests that can be sent: to each leader, what it is asked.
type ByLeader<V> = OrderedMap<BrokerId, OrderedMap<TopicPartition, V>>;

impl Lookups {
    /// Topics that must be known for the application's look-ups.
    pub fn topics(&self) -> impl Iterator<Item = std::sync::Arc<str>> + '_ {
        let partitions = self.queries.values().flat_map(|query| query.left.keys());
        partitions.map(|partition| partition.topic.clone())
    }

    pub fn polled(&mut self) {
        self.told = false;
    }

    pub fn ask(&mut self, id: QueryId, asked: OrderedMap<TopicPartition, Millis>, due_ms: Millis) {
        self.queries.insert(id, Query::new(asked, due_ms));
    }

    /// Sends what can be sent.
    pub fn run(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        self.validate(shared, cx);
        self.reset(shared, cx);
        self.run_queries(shared, cx);
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

/// The look-up brought nothing, perhaps because another leads: it is made again after a pause.
fn ask_again(shared: &mut Shared, cx: &mut ClientCx, partition: &TopicPartition, retry_at: Millis) {
    if let Some(state) = shared.subscriptions.get_mut(partition) {
        state.looking_up = false;
        state.not_before = retry_at;
        shared.net.metadata.request_update(false, cx.cause);
    }
}

/// Tells the application of topics that it may not read, if there are any.
fn tell_denied(shared: &mut Shared, cx: &mut ClientCx, denied: OrderedSet<String>) {
    if !denied.is_empty() {
        let topics = denied.into_iter().collect();
        shared.fail(cx, ConsumerError::TopicAuthorization { topics });
    }
}

/// Sorts by leader; of partitions that nobody is known to lead, metadata is asked for.
fn by_leader<V>(shared: &mut Shared, cx: &mut ClientCx, asked: OrderedMap<TopicPartition, V>) -> ByLeader<V> {
    let mut sorted: ByLeader<V> = OrderedMap::new();
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
    times: &OrderedMap<TopicPartition, (Millis, Option<LeaderEpoch>)>,
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

type Found = OrderedMap<TopicPartition, Option<OffsetAndTimestamp>>;

/// Offsets that were found (`None`: there is no such record), and topics that may not be read. What is in
/// neither is asked for again.
fn offsets(answer: &ListOffsetsResponse) -> (Found, OrderedSet<String>) {
    let (mut found, mut denied) = (OrderedMap::new(), OrderedSet::new());
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
