//! What is asked of whom.

use super::Fetcher;
use crate::client::{ClientCx, ClientLane};
use crate::consumer::purpose::Purpose;
use crate::consumer::shared::Net;
use crate::consumer::subscription::SubscriptionState;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::fetch::{Built, FetchPartition, FetchRequest, Wanted};
use crate::protocol::{ApiKey, RequestBody};
use crate::types::{BrokerId, Millis, NO_EPOCH, TopicPartition, Uuid};

/// The last version that names topics.
const LAST_WITH_NAMES: i16 = 12;

impl Fetcher {
    /// Asks every node that leads something fetchable, and has nothing under way and nothing waiting.
    /// When to come again, if no input will tell.
    pub(in crate::consumer) fn send(
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
    ) -> OrderedMap<BrokerId, Vec<(TopicPartition, Uuid, FetchPartition)>> {
        let mut busy: OrderedSet<BrokerId> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.pending)
            .map(|(id, _)| *id)
            .collect();
        let mut waiting = OrderedSet::new();
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
        let mut wanted: OrderedMap<BrokerId, Vec<_>> = OrderedMap::new();
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
        let named: OrderedSet<&TopicPartition> = wanted.iter().map(|(partition, ..)| partition).collect();
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
    pub(in crate::consumer) fn close(&mut self, cx: &mut ClientCx, net: &mut Net) {
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
}

/// Whether the broker has the replica, and the replica is not known to be offline.
fn is_online(net: &Net, partition: &TopicPartition, id: BrokerId) -> bool {
    let found = net.metadata.partition(partition);
    let has = found.is_some_and(|found| found.replicas.contains(&id) && !found.offline.contains(&id));
    has && net.metadata.broker(id).is_some()
}
