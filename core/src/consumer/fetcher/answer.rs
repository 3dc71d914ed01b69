//! What became of a fetch: records that wait to be returned, leaders that moved, positions that are no good.

use bytes::Bytes;

use super::Fetcher;
use crate::client::{ClientCx, NetworkError};
use crate::consumer::ResetStrategy;
use crate::consumer::completed_fetch::CompletedFetch;
use crate::consumer::error::ConsumerError;
use crate::consumer::metrics::AnswerId;
use crate::consumer::shared::{Net, leader_of};
use crate::consumer::subscription::SubscriptionState;
use crate::disk::{Part, Parts};
use crate::error::ErrorCode;
use crate::protocol::fetch::{FetchPartitionResponse, FetchResponse};
use crate::protocol::{ApiKey, ResponseBody};
use crate::record::{Batches, InvalidBatch};
use crate::trace::{ConsumerFact, Fact};
use crate::types::{BrokerId, Millis, TopicPartition};

impl Fetcher {
    /// Takes in what became of a fetch; what the application must be told.
    pub(in crate::consumer) fn answered(
        &mut self,
        cx: &mut ClientCx,
        net: &mut Net,
        subscriptions: &mut SubscriptionState,
        (node, sent_ms): (BrokerId, Millis),
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
        let number = self.metrics.answered(cx.now, sent_ms);
        self.take(cx, net, subscriptions, (node, number), answer)
    }

    fn take(
        &mut self,
        cx: &mut ClientCx,
        net: &mut Net,
        subscriptions: &mut SubscriptionState,
        (node, number): (BrokerId, AnswerId),
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
                let of = (node, number, name, fetch_offset);
                let taken = self.take_partition(cx, net, subscriptions, of, part);
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
        (node, number, name, fetch_offset): (BrokerId, AnswerId, TopicPartition, i64),
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
        let mut fetch = CompletedFetch::new(name, fetch_offset, records, aborted);
        fetch.answer = number;
        self.metrics.waits(number);
        self.buffer.push_back(fetch);
        Ok(())
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
    cx.cause = cx.emit(|| {
        Fact::Consumer(ConsumerFact::FetchFailed {
            partition: partition.clone(),
            broker,
            code,
        })
    });
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
    if strategy == ResetStrategy::None {
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

/// The bytes of decoded records: a decoder never names files.
fn in_memory(records: Option<Parts>) -> Bytes {
    let mut parts = records.into_iter().flatten();
    let bytes = parts.find_map(|part| match part {
        Part::Bytes(bytes) => Some(bytes),
        Part::File { .. } => None,
    });
    bytes.unwrap_or_default()
}
