//! Whether the log is still the one that was read (KIP-320): after a change of leaders the new one is
//! asked where the epoch of the last record read ends.

use super::{Lookups, UNKNOWN_OFFSET, ask_again, by_leader, mark, ready, tell_denied};
use crate::client::{ClientCx, NetworkError};
use crate::consumer::error::ConsumerError;
use crate::consumer::partition_state::{FetchPosition, FetchState};
use crate::consumer::purpose::Purpose;
use crate::consumer::requests;
use crate::consumer::reset_strategy::ResetStrategy;
use crate::consumer::shared::Shared;
use crate::error::ErrorCode;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::messages::OffsetForLeaderEpochResponse;
use crate::protocol::{ApiKey, ResponseBody};
use crate::trace::{ConsumerFact, PositionReason};
use crate::types::{LeaderEpoch, Offset, TopicPartition};

/// The first version of OffsetForLeaderEpoch that a consumer may use, which asks for no more rights than
/// reading.
const FIRST_FOR_CONSUMERS: i16 = 3;
/// "No epoch", as on the wire.
const UNKNOWN_EPOCH: LeaderEpoch = -1;

impl Lookups {
    pub(super) fn validate(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        let mut asked: OrderedMap<TopicPartition, FetchPosition> = OrderedMap::new();
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

    pub(in crate::consumer) fn validate_answered(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        asked: &OrderedMap<TopicPartition, FetchPosition>,
        result: Result<ResponseBody, NetworkError>,
    ) {
        let (ends, denied) = match result {
            Ok(ResponseBody::OffsetForLeaderEpoch(answer)) => epoch_ends(&answer),
            _ => (OrderedMap::new(), OrderedSet::new()),
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
                None => ask_again(shared, cx, partition, retry_at),
            }
        }
        tell_denied(shared, cx, denied);
    }
}

type Ends = OrderedMap<TopicPartition, (Offset, LeaderEpoch)>;

/// Where epochs end, and topics that may not be read. What is in neither is asked for again.
fn epoch_ends(answer: &OffsetForLeaderEpochResponse) -> (Ends, OrderedSet<String>) {
    let (mut ends, mut denied) = (OrderedMap::new(), OrderedSet::new());
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
