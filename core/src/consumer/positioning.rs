//! Where the consumer is, and where it shall go on: seeks, pauses, and offsets that leaders know.

use super::partition_state::FetchPosition;
use super::{
    Consumer, ConsumerError, EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, OffsetAndMetadata, QueryId, ResetStrategy,
};
use crate::client::ClientCx;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::trace::{ConsumerFact, PositionReason};
use crate::types::{Millis, Offset, TopicPartition};

impl Consumer {
    /// Goes on from that offset. With the epoch of the record before it, if that is known, a log that was
    /// cut since is noticed.
    ///
    /// # Errors
    /// The partition is not assigned, or the offset negative.
    pub fn seek(
        &mut self,
        cx: &mut ClientCx,
        partition: &TopicPartition,
        to: &OffsetAndMetadata,
    ) -> Result<(), ConsumerError> {
        if to.offset < 0 {
            return Err(ConsumerError::NegativeOffset { offset: to.offset });
        }
        let position = FetchPosition {
            offset: to.offset,
            offset_epoch: to.leader_epoch,
            current_leader: self.shared.leader(partition),
        };
        self.shared
            .subscriptions
            .assigned_mut(partition)?
            .seek_unvalidated(position);
        if let Some(epoch) = to.leader_epoch {
            self.shared.net.metadata.saw_epoch(partition, epoch, cx.cause);
        }
        self.shared.emit(cx, || ConsumerFact::PositionSet {
            partition: partition.clone(),
            offset: to.offset,
            why: PositionReason::Seek,
        });
        self.go_on(cx);
        Ok(())
    }

    /// Goes on where that strategy says (`seekToBeginning`, `seekToEnd`), once the leader has told.
    ///
    /// # Errors
    /// One of them is not assigned.
    pub fn seek_to(
        &mut self,
        cx: &mut ClientCx,
        partitions: &[TopicPartition],
        strategy: ResetStrategy,
    ) -> Result<(), ConsumerError> {
        for partition in partitions {
            let state = self.shared.subscriptions.assigned_mut(partition)?;
            let offset = state.position().map(|position| position.offset);
            state.reset(strategy);
            self.shared.emit(cx, || ConsumerFact::PositionLost {
                partition: partition.clone(),
                offset,
                why: format!("the application seeks to {strategy}"),
            });
        }
        self.go_on(cx);
        Ok(())
    }

    /// Next to be read; `None` while that is not known, or being checked.
    pub fn position(&self, partition: &TopicPartition) -> Option<Offset> {
        let state = self.shared.subscriptions.get(partition)?;
        state.valid_position().map(|position| position.offset)
    }

    /// The same, even while it is being checked.
    pub fn reached(&self, partition: &TopicPartition) -> Option<Offset> {
        let state = self.shared.subscriptions.get(partition)?;
        state.position().map(|position| position.offset)
    }

    /// How many records are left to be read, as far as the last fetch told.
    pub fn lag(&self, partition: &TopicPartition) -> Option<i64> {
        let state = self.shared.subscriptions.get(partition)?;
        let end = state.end(self.shared.config.isolation_level)?;
        Some(end - state.position()?.offset)
    }

    /// Returns nothing of these until they are resumed. They stay assigned.
    ///
    /// # Errors
    /// One of them is not assigned.
    pub fn pause(&mut self, partitions: &[TopicPartition]) -> Result<(), ConsumerError> {
        self.set_paused(partitions, true)
    }

    /// # Errors
    /// One of them is not assigned.
    pub fn resume(&mut self, cx: &mut ClientCx, partitions: &[TopicPartition]) -> Result<(), ConsumerError> {
        self.set_paused(partitions, false)?;
        self.go_on(cx);
        Ok(())
    }

    fn set_paused(&mut self, partitions: &[TopicPartition], paused: bool) -> Result<(), ConsumerError> {
        for partition in partitions {
            self.shared.subscriptions.assigned_mut(partition)?.paused = paused;
        }
        Ok(())
    }

    pub fn paused(&self) -> OrderedSet<TopicPartition> {
        let states = self.shared.subscriptions.states();
        let paused = states.filter(|(_, state)| state.paused);
        paused.map(|(partition, _)| partition.clone()).collect()
    }

    /// For each partition the first record whose time is not before the one given. The answer is an event.
    ///
    /// # Errors
    /// A time is negative.
    pub fn offsets_for_times(
        &mut self,
        cx: &mut ClientCx,
        times: OrderedMap<TopicPartition, Millis>,
    ) -> Result<QueryId, ConsumerError> {
        match times.values().find(|time| **time < 0) {
            Some(time) => Err(ConsumerError::NegativeTimestamp { timestamp: *time }),
            None => Ok(self.look_up(cx, times)),
        }
    }

    /// The log start offsets. The answer is an event.
    pub fn beginning_offsets(&mut self, cx: &mut ClientCx, partitions: &[TopicPartition]) -> QueryId {
        self.look_up(cx, ends(partitions, EARLIEST_TIMESTAMP))
    }

    /// The high watermarks, or with `read_committed` the last stable offsets. The answer is an event.
    pub fn end_offsets(&mut self, cx: &mut ClientCx, partitions: &[TopicPartition]) -> QueryId {
        self.look_up(cx, ends(partitions, LATEST_TIMESTAMP))
    }

    fn look_up(&mut self, cx: &mut ClientCx, asked: OrderedMap<TopicPartition, Millis>) -> QueryId {
        self.next_query += 1;
        let due_ms = cx.now + self.shared.config.default_api_timeout_ms;
        self.lookups.ask(self.next_query, asked, due_ms);
        self.go_on(cx);
        self.next_query
    }
}

fn ends(partitions: &[TopicPartition], timestamp: Millis) -> OrderedMap<TopicPartition, Millis> {
    partitions
        .iter()
        .map(|partition| (partition.clone(), timestamp))
        .collect()
}
