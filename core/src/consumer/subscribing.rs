//! What is read, by whose choice: topics by name or pattern, shared with the group, or partitions by hand.

use std::sync::Arc;

use super::shared::Shared;
use super::{Consumer, ConsumerError, RebalanceListener, TopicPattern};
use crate::client::ClientCx;
use crate::ordered::OrderedSet;
use crate::trace::ConsumerFact;
use crate::types::TopicPartition;

impl Consumer {
    /// Reads these topics, as one of the group. In place of the topics before; none is like
    /// [`unsubscribe`](Self::unsubscribe).
    ///
    /// # Errors
    /// There is no group, a name is empty, or the consumer reads by pattern or by hand.
    pub fn subscribe(
        &mut self,
        cx: &mut ClientCx,
        topics: OrderedSet<Arc<str>>,
        listener: RebalanceListener,
    ) -> Result<(), ConsumerError> {
        self.check_open()?;
        let group = self.group.as_mut().ok_or(ConsumerError::NoGroup)?;
        if topics.is_empty() {
            return self.unsubscribe(cx);
        }
        if let Some(topic) = topics.iter().find(|topic| topic.trim().is_empty()) {
            return Err(ConsumerError::InvalidTopic {
                topic: topic.to_string(),
            });
        }
        let names: Vec<String> = topics.iter().map(|topic| topic.to_string()).collect();
        self.shared.subscriptions.subscribe(topics)?;
        group.has_listener = listener == RebalanceListener::Present;
        self.shared
            .emit(cx, || ConsumerFact::Subscribed { topics: names });
        self.go_on(cx);
        Ok(())
    }

    /// Reads every topic whose whole name matches, also those that come later.
    ///
    /// # Errors
    /// There is no group, or the consumer reads by name or by hand.
    pub fn subscribe_pattern(
        &mut self,
        cx: &mut ClientCx,
        pattern: TopicPattern,
        listener: RebalanceListener,
    ) -> Result<(), ConsumerError> {
        self.check_open()?;
        let group = self.group.as_mut().ok_or(ConsumerError::NoGroup)?;
        let topics = vec![pattern.as_str().to_owned()];
        self.shared.subscriptions.subscribe_pattern(pattern)?;
        group.has_listener = listener == RebalanceListener::Present;
        self.shared.emit(cx, || ConsumerFact::Subscribed { topics });
        self.shared.net.metadata.want_all(cx.cause);
        self.match_pattern();
        self.go_on(cx);
        Ok(())
    }

    /// Gives everything up and leaves the group.
    ///
    /// # Errors
    /// The consumer is closed.
    pub fn unsubscribe(&mut self, cx: &mut ClientCx) -> Result<(), ConsumerError> {
        self.check_open()?;
        self.unsubscribing = true;
        if let Some(group) = &mut self.group {
            group.begin_leaving(&mut self.shared, cx, "the consumer unsubscribed from all topics");
        }
        self.go_on(cx);
        Ok(())
    }

    /// The topics that are read, by name or by pattern.
    pub fn subscription(&self) -> OrderedSet<Arc<str>> {
        match self.shared.subscriptions.is_by_group() {
            true => self.shared.subscriptions.topics().clone(),
            false => OrderedSet::new(),
        }
    }

    /// Takes these partitions, and no others, without a group.
    ///
    /// # Errors
    /// The consumer is subscribed to topics.
    pub fn assign(
        &mut self,
        cx: &mut ClientCx,
        partitions: OrderedSet<TopicPartition>,
    ) -> Result<(), ConsumerError> {
        self.check_open()?;
        let taken = partitions.iter().cloned().collect();
        self.shared.subscriptions.assign_by_hand(partitions)?;
        self.shared
            .emit(cx, || ConsumerFact::Assigned { partitions: taken });
        let Shared {
            fetcher,
            subscriptions,
            ..
        } = &mut self.shared;
        fetcher.retain_assigned(subscriptions);
        self.go_on(cx);
        Ok(())
    }

    pub fn assignment(&self) -> OrderedSet<TopicPartition> {
        self.shared.subscriptions.assigned()
    }
}
