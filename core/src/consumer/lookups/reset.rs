//! Where to begin: at the end, at the beginning, at a time, as `auto.offset.reset` or a seek says.

use super::{Lookups, ask_again, by_leader, mark, offsets, send_list_offsets, tell_denied};
use crate::client::{ClientCx, NetworkError};
use crate::consumer::error::ConsumerError;
use crate::consumer::partition_state::FetchPosition;
use crate::consumer::purpose::Purpose;
use crate::consumer::record::OffsetAndTimestamp;
use crate::consumer::reset_strategy::ResetStrategy;
use crate::consumer::shared::Shared;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::ResponseBody;
use crate::trace::{ConsumerFact, PositionReason};
use crate::types::{Millis, TopicPartition};

impl Lookups {
    /// Partitions that have no committed offset begin where `auto.offset.reset` says.
    pub(in crate::consumer) fn reset_initializing(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
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

    pub(super) fn reset(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        let mut asked: OrderedMap<TopicPartition, ResetStrategy> = OrderedMap::new();
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

    pub(in crate::consumer) fn reset_answered(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        asked: &OrderedMap<TopicPartition, ResetStrategy>,
        result: Result<ResponseBody, NetworkError>,
    ) {
        let (found, denied) = match result {
            Ok(ResponseBody::ListOffsets(answer)) => offsets(&answer),
            _ => (OrderedMap::new(), OrderedSet::new()),
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
                None => ask_again(shared, cx, partition, retry_at),
            }
        }
        tell_denied(shared, cx, denied);
    }
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
