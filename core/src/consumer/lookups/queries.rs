//! Offsets that the application asks for.

use super::{Lookups, by_leader, offsets, send_list_offsets};
use crate::client::{ClientCx, NetworkError};
use crate::consumer::error::ConsumerError;
use crate::consumer::event::{ConsumerEvent, QueryId};
use crate::consumer::purpose::Purpose;
use crate::consumer::record::OffsetAndTimestamp;
use crate::consumer::shared::Shared;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::ResponseBody;
use crate::types::{Millis, TopicPartition};

/// What the application asked for.
#[derive(Clone, Debug)]
pub(super) struct Query {
    /// With what is looked for: a time, or a number that stands for an end.
    pub left: OrderedMap<TopicPartition, Millis>,
    in_flight: OrderedSet<TopicPartition>,
    found: OrderedMap<TopicPartition, Option<OffsetAndTimestamp>>,
    not_before: Millis,
    due_ms: Millis,
    failures: u32,
}

impl Query {
    pub fn new(asked: OrderedMap<TopicPartition, Millis>, due_ms: Millis) -> Self {
        Self {
            left: asked,
            in_flight: OrderedSet::new(),
            found: OrderedMap::new(),
            not_before: 0,
            due_ms,
            failures: 0,
        }
    }
}

impl Lookups {
    pub(super) fn run_queries(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
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
            let mut sent = OrderedSet::new();
            for (leader, asked) in by_leader(shared, cx, open) {
                let times: OrderedMap<_, _> = asked
                    .iter()
                    .map(|(partition, time)| (partition.clone(), (*time, shared.leader(partition).epoch)))
                    .collect();
                let asked: OrderedSet<TopicPartition> = asked.into_keys().collect();
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

    pub(in crate::consumer) fn query_answered(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        id: QueryId,
        asked: &OrderedSet<TopicPartition>,
        result: Result<ResponseBody, NetworkError>,
    ) {
        let Some(query) = self.queries.get_mut(&id) else {
            return;
        };
        query.in_flight.retain(|partition| !asked.contains(partition));
        let (found, denied) = match result {
            Ok(ResponseBody::ListOffsets(answer)) => offsets(&answer),
            _ => (OrderedMap::new(), OrderedSet::new()),
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
