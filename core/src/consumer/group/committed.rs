//! Committed offsets (OffsetFetch): where to begin in a partition that was just assigned, and what the
//! application asks for.

use super::coordinator::{Coordinator, group_error};
use crate::client::{ClientCx, NetworkError};
use crate::consumer::error::ConsumerError;
use crate::consumer::event::{ConsumerEvent, QueryId};
use crate::consumer::partition_state::{FetchPosition, FetchState};
use crate::consumer::purpose::Purpose;
use crate::consumer::record::OffsetAndMetadata;
use crate::consumer::requests;
use crate::consumer::shared::Shared;
use crate::error::ErrorCode;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::messages::OffsetFetchResponse;
use crate::protocol::{ApiKey, ResponseBody};
use crate::trace::{ConsumerFact, PositionReason};
use crate::types::{Millis, TopicPartition};

type Found = OrderedMap<TopicPartition, Option<OffsetAndMetadata>>;

#[derive(Clone, Debug)]
struct Query {
    partitions: OrderedSet<TopicPartition>,
    in_flight: bool,
    not_before: Millis,
    failures: u32,
    due_ms: Millis,
}

#[derive(Clone, Debug, Default)]
pub(super) struct CommittedOffsets {
    queries: OrderedMap<QueryId, Query>,
    not_before: Millis,
    failures: u32,
}

/// What an answer means.
enum Answered {
    Found(Found),
    Again,
    Failed(ConsumerError),
}

impl CommittedOffsets {
    pub fn ask(&mut self, id: QueryId, partitions: OrderedSet<TopicPartition>, due_ms: Millis) {
        let query = Query {
            partitions,
            in_flight: false,
            not_before: 0,
            failures: 0,
            due_ms,
        };
        self.queries.insert(id, query);
    }

    pub fn run(
        &mut self,
        group: &str,
        coordinator: &mut Coordinator,
        shared: &mut Shared,
        cx: &mut ClientCx,
    ) {
        self.run_initial(group, coordinator, shared, cx);
        let ids: Vec<QueryId> = self.queries.keys().copied().collect();
        for id in ids {
            let Some(query) = self.queries.get_mut(&id) else {
                continue;
            };
            if query.due_ms <= cx.now {
                self.queries.remove(&id);
                let ms = shared.config.default_api_timeout_ms;
                let what = "the look-up of committed offsets";
                let result = Err(ConsumerError::Timeout { what, ms });
                shared
                    .events
                    .push_back(ConsumerEvent::CommittedOffsets { id, result });
                continue;
            }
            shared.wake_at(query.due_ms);
            if query.in_flight {
                continue;
            }
            if query.not_before > cx.now {
                shared.wake_at(query.not_before);
                continue;
            }
            let purpose = Purpose::CommittedQuery { id };
            query.in_flight = send(group, coordinator, shared, cx, &query.partitions, purpose);
        }
    }

    /// Asks for the partitions of which nobody has said where to begin.
    fn run_initial(
        &mut self,
        group: &str,
        coordinator: &mut Coordinator,
        shared: &mut Shared,
        cx: &mut ClientCx,
    ) {
        let mut asked = shared.subscriptions.initializing();
        asked.retain(|partition| {
            let state = shared.subscriptions.get(partition);
            state.is_some_and(|state| !state.looking_up && !state.without_commit)
        });
        if asked.is_empty() {
            return;
        }
        if self.not_before > cx.now {
            return shared.wake_at(self.not_before);
        }
        let purpose = Purpose::InitialOffsets { asked: asked.clone() };
        if send(group, coordinator, shared, cx, &asked, purpose) {
            for partition in &asked {
                if let Some(state) = shared.subscriptions.get_mut(partition) {
                    state.looking_up = true;
                }
            }
        }
    }

    pub fn initial_answered(
        &mut self,
        group: &str,
        coordinator: &mut Coordinator,
        shared: &mut Shared,
        cx: &mut ClientCx,
        asked: &OrderedSet<TopicPartition>,
        result: Result<ResponseBody, NetworkError>,
    ) {
        let answered = read(group, coordinator, shared, cx, result);
        let found = match answered {
            Answered::Found(found) => {
                self.failures = 0;
                found
            }
            Answered::Again | Answered::Failed(_) => {
                self.not_before = shared.retry_at(cx, self.failures);
                self.failures += 1;
                if let Answered::Failed(error) = answered {
                    shared.fail(cx, error);
                }
                Found::new()
            }
        };
        for partition in asked {
            let leader = shared.leader(partition);
            let Some(state) = shared.subscriptions.get_mut(partition) else {
                continue;
            };
            if state.fetch != FetchState::Initializing {
                continue;
            }
            state.looking_up = false;
            match found.get(partition) {
                Some(Some(committed)) => {
                    state.seek_unvalidated(FetchPosition {
                        offset: committed.offset,
                        offset_epoch: committed.leader_epoch,
                        current_leader: leader,
                    });
                    if let Some(epoch) = committed.leader_epoch {
                        shared.net.metadata.saw_epoch(partition, epoch, cx.cause);
                    }
                    shared.emit(cx, || ConsumerFact::PositionSet {
                        partition: partition.clone(),
                        offset: committed.offset,
                        why: PositionReason::Committed,
                    });
                }
                Some(None) => state.without_commit = true,
                None => {}
            }
        }
    }

    pub fn query_answered(
        &mut self,
        group: &str,
        coordinator: &mut Coordinator,
        shared: &mut Shared,
        cx: &mut ClientCx,
        id: QueryId,
        result: Result<ResponseBody, NetworkError>,
    ) {
        let answered = read(group, coordinator, shared, cx, result);
        let Some(query) = self.queries.get_mut(&id) else {
            return;
        };
        let result = match answered {
            Answered::Found(found) => Ok(found),
            Answered::Failed(error) => Err(error),
            Answered::Again => {
                query.in_flight = false;
                query.not_before = shared.retry_at(cx, query.failures);
                query.failures += 1;
                return;
            }
        };
        self.queries.remove(&id);
        shared
            .events
            .push_back(ConsumerEvent::CommittedOffsets { id, result });
    }
}

fn send(
    group: &str,
    coordinator: &mut Coordinator,
    shared: &mut Shared,
    cx: &mut ClientCx,
    partitions: &OrderedSet<TopicPartition>,
    purpose: Purpose,
) -> bool {
    let Some(node) = coordinator.ready(shared, cx) else {
        return false;
    };
    let most = requests::LAST_OFFSET_FETCH_WITH_NAMES;
    let Ok(version) = shared.net.usable_version(&node, ApiKey::OffsetFetch, most) else {
        return false;
    };
    let body = requests::offset_fetch(version, group, partitions);
    shared.net.send(cx, &node, version, &body, purpose, 0).is_ok()
}

fn read(
    group: &str,
    coordinator: &mut Coordinator,
    shared: &mut Shared,
    cx: &mut ClientCx,
    result: Result<ResponseBody, NetworkError>,
) -> Answered {
    let answer = match result {
        Ok(ResponseBody::OffsetFetch(answer)) => answer,
        Ok(_) => return Answered::Again,
        Err(error) => {
            coordinator.lost(shared, cx, &error.to_string());
            return Answered::Again;
        }
    };
    let code = answer
        .groups
        .first()
        .map_or(answer.error_code, |group| group.error_code);
    match ErrorCode::from_code(code).unwrap_or(ErrorCode::UnknownServerError) {
        ErrorCode::None => rows(&answer),
        code @ (ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator) => {
            coordinator.give_up(shared, cx, code.kafka_name());
            Answered::Again
        }
        code if code.is_retriable() => Answered::Again,
        code => Answered::Failed(group_error(group, code)),
    }
}

/// The offsets, from version 8 on below the group; or the first error among them.
fn rows(answer: &OffsetFetchResponse) -> Answered {
    let mut rows = Vec::new();
    for topic in answer.groups.iter().flat_map(|group| &group.topics) {
        rows.extend(topic.partitions.iter().map(|row| {
            let partition = TopicPartition::new(&*topic.name, row.partition_index);
            let committed = (row.committed_offset, row.committed_leader_epoch, &row.metadata);
            (partition, committed, row.error_code)
        }));
    }
    for topic in &answer.topics {
        rows.extend(topic.partitions.iter().map(|row| {
            let partition = TopicPartition::new(&*topic.name, row.partition_index);
            let committed = (row.committed_offset, row.committed_leader_epoch, &row.metadata);
            (partition, committed, row.error_code)
        }));
    }
    let mut found = Found::new();
    for (partition, (offset, epoch, metadata), code) in rows {
        match ErrorCode::from_code(code).unwrap_or(ErrorCode::UnknownServerError) {
            ErrorCode::None => {
                let committed = OffsetAndMetadata {
                    offset,
                    leader_epoch: (epoch >= 0).then_some(epoch),
                    metadata: metadata.as_deref().unwrap_or_default().to_owned(),
                };
                found.insert(partition, Some(committed).filter(|_| offset >= 0));
            }
            // A transaction may still change it.
            ErrorCode::UnstableOffsetCommit => return Answered::Again,
            ErrorCode::TopicAuthorizationFailed => {
                return Answered::Failed(ConsumerError::TopicAuthorization {
                    topics: vec![partition.topic.to_string()],
                });
            }
            _ => {
                return Answered::Failed(ConsumerError::Unexpected {
                    api: ApiKey::OffsetFetch.name(),
                    code,
                });
            }
        }
    }
    Answered::Found(found)
}
