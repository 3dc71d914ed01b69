//! Commits, and committed offsets, as the application asks for them.

use super::{CommitId, Consumer, ConsumerError, OffsetAndMetadata, QueryId};
use crate::client::ClientCx;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::trace::CommitReason;
use crate::types::TopicPartition;

impl Consumer {
    /// Commits these offsets, or with `None` what was returned so far, and tries again until it is done or
    /// `default.api.timeout.ms` is over. The outcome is an event.
    ///
    /// # Errors
    /// There is no group, or an offset is negative.
    pub fn commit_sync(
        &mut self,
        cx: &mut ClientCx,
        offsets: Option<OrderedMap<TopicPartition, OffsetAndMetadata>>,
    ) -> Result<CommitId, ConsumerError> {
        self.commit(cx, offsets, CommitReason::Sync)
    }

    /// The same, tried once: the next commit covers what this one could not. The outcome is an event.
    ///
    /// # Errors
    /// There is no group, or an offset is negative.
    pub fn commit_async(
        &mut self,
        cx: &mut ClientCx,
        offsets: Option<OrderedMap<TopicPartition, OffsetAndMetadata>>,
    ) -> Result<CommitId, ConsumerError> {
        self.commit(cx, offsets, CommitReason::Async)
    }

    fn commit(
        &mut self,
        cx: &mut ClientCx,
        offsets: Option<OrderedMap<TopicPartition, OffsetAndMetadata>>,
        reason: CommitReason,
    ) -> Result<CommitId, ConsumerError> {
        self.check_open()?;
        let group = self.group.as_mut().ok_or(ConsumerError::NoGroup)?;
        let offsets = offsets.unwrap_or_else(|| self.shared.subscriptions.all_consumed());
        if let Some(negative) = offsets.values().find(|offset| offset.offset < 0) {
            return Err(ConsumerError::NegativeOffset {
                offset: negative.offset,
            });
        }
        let due_ms = cx.now + self.shared.config.default_api_timeout_ms;
        let id = group.commit(offsets, reason, due_ms);
        self.go_on(cx);
        Ok(id)
    }

    /// The offsets that the group committed. The answer is an event.
    ///
    /// # Errors
    /// There is no group.
    pub fn committed(
        &mut self,
        cx: &mut ClientCx,
        partitions: OrderedSet<TopicPartition>,
    ) -> Result<QueryId, ConsumerError> {
        self.check_open()?;
        let group = self.group.as_mut().ok_or(ConsumerError::NoGroup)?;
        self.next_query += 1;
        let due_ms = cx.now + self.shared.config.default_api_timeout_ms;
        group.ask_committed(self.next_query, partitions, due_ms);
        self.go_on(cx);
        Ok(self.next_query)
    }
}
