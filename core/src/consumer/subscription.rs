//! What a consumer reads, by whose choice, and how far it is (Kafka's `SubscriptionState`).
//!
//! Topics by name, topics by pattern, and partitions by hand exclude each other. With the first two the
//! group decides which partitions are this consumer's; with the third the application does.
//!
//! Invariants
//! - there is a position only for what is assigned, and what is given up loses it
//! - a partition that is assigned before and after a rebalance keeps its position

use std::sync::Arc;

use super::error::ConsumerError;
use super::partition_state::{FetchState, PartitionState};
use super::pattern::TopicPattern;
use super::record::OffsetAndMetadata;
use super::reset_strategy::ResetStrategy;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::TopicPartition;

/// By whose choice partitions are assigned.
#[derive(Clone, Debug, Default)]
pub(super) enum SubscriptionKind {
    #[default]
    None,
    Topics,
    Pattern(TopicPattern),
    Assigned,
}

#[derive(Clone, Debug)]
pub(super) struct SubscriptionState {
    kind: SubscriptionKind,
    /// What was asked for; with a pattern, what it matches; with partitions, their topics.
    topics: OrderedSet<Arc<str>>,
    /// What the whole group asks for, while this consumer leads it.
    group_topics: OrderedSet<Arc<str>>,
    assignment: OrderedMap<TopicPartition, PartitionState>,
    pub default_reset: ResetStrategy,
}

impl SubscriptionState {
    pub fn new(default_reset: ResetStrategy) -> Self {
        Self {
            kind: SubscriptionKind::None,
            topics: OrderedSet::new(),
            group_topics: OrderedSet::new(),
            assignment: OrderedMap::new(),
            default_reset,
        }
    }

    /// True if the topics are others than before.
    pub fn subscribe(&mut self, topics: OrderedSet<Arc<str>>) -> Result<bool, ConsumerError> {
        match self.kind {
            SubscriptionKind::None | SubscriptionKind::Topics => self.kind = SubscriptionKind::Topics,
            _ => return Err(ConsumerError::MixedSubscription),
        }
        Ok(self.change(topics))
    }

    pub fn subscribe_pattern(&mut self, pattern: TopicPattern) -> Result<(), ConsumerError> {
        match self.kind {
            SubscriptionKind::None | SubscriptionKind::Pattern(_) => {
                self.kind = SubscriptionKind::Pattern(pattern);
                Ok(())
            }
            _ => Err(ConsumerError::MixedSubscription),
        }
    }

    /// Topics that match the pattern, in place of those before; true if they are others.
    pub fn subscribe_from_pattern(&mut self, topics: OrderedSet<Arc<str>>) -> bool {
        self.change(topics)
    }

    /// Partitions by hand. What was assigned before keeps its position.
    pub fn assign_by_hand(&mut self, partitions: OrderedSet<TopicPartition>) -> Result<(), ConsumerError> {
        match self.kind {
            SubscriptionKind::None | SubscriptionKind::Assigned => self.kind = SubscriptionKind::Assigned,
            _ => return Err(ConsumerError::MixedSubscription),
        }
        self.topics = partitions
            .iter()
            .map(|partition| partition.topic.clone())
            .collect();
        self.set_assignment(partitions);
        Ok(())
    }

    /// Partitions from the group.
    pub fn assign_from_group(&mut self, partitions: OrderedSet<TopicPartition>) {
        self.set_assignment(partitions);
    }

    fn set_assignment(&mut self, partitions: OrderedSet<TopicPartition>) {
        let mut before = std::mem::take(&mut self.assignment);
        let kept = |partition: TopicPartition| {
            let state = before.remove(&partition).unwrap_or_else(PartitionState::new);
            (partition, state)
        };
        self.assignment = partitions.into_iter().map(kept).collect();
    }

    fn change(&mut self, topics: OrderedSet<Arc<str>>) -> bool {
        let is_other = self.topics != topics;
        self.topics = topics;
        is_other
    }

    pub fn unsubscribe(&mut self) {
        *self = Self::new(self.default_reset);
    }

    /// Whether a group decides what is assigned.
    pub fn is_by_group(&self) -> bool {
        matches!(self.kind, SubscriptionKind::Topics | SubscriptionKind::Pattern(_))
    }

    pub fn is_none(&self) -> bool {
        matches!(self.kind, SubscriptionKind::None)
    }

    pub fn pattern(&self) -> Option<&TopicPattern> {
        match &self.kind {
            SubscriptionKind::Pattern(pattern) => Some(pattern),
            _ => None,
        }
    }

    pub fn topics(&self) -> &OrderedSet<Arc<str>> {
        &self.topics
    }

    /// Topics that must be known: its own and, for a leader, those of the whole group.
    pub fn metadata_topics(&self) -> OrderedSet<Arc<str>> {
        self.topics.union(&self.group_topics).cloned().collect()
    }

    pub fn set_group_topics(&mut self, topics: OrderedSet<Arc<str>>) {
        self.group_topics = topics;
    }

    /// Whether what the group gave is what was asked for.
    pub fn matches<'a>(&self, mut partitions: impl Iterator<Item = &'a TopicPartition>) -> bool {
        partitions.all(|partition| match &self.kind {
            SubscriptionKind::Pattern(pattern) => pattern.matches(&partition.topic),
            _ => self.topics.contains(&partition.topic),
        })
    }

    // ---- assigned partitions

    pub fn assigned(&self) -> OrderedSet<TopicPartition> {
        self.assignment.keys().cloned().collect()
    }

    pub fn states(&self) -> impl Iterator<Item = (&TopicPartition, &PartitionState)> {
        self.assignment.iter()
    }

    pub fn states_mut(&mut self) -> impl Iterator<Item = (&TopicPartition, &mut PartitionState)> {
        self.assignment.iter_mut()
    }

    pub fn get(&self, partition: &TopicPartition) -> Option<&PartitionState> {
        self.assignment.get(partition)
    }

    pub fn get_mut(&mut self, partition: &TopicPartition) -> Option<&mut PartitionState> {
        self.assignment.get_mut(partition)
    }

    /// # Errors
    /// It is not assigned.
    pub fn assigned_mut(&mut self, partition: &TopicPartition) -> Result<&mut PartitionState, ConsumerError> {
        self.assignment
            .get_mut(partition)
            .ok_or_else(|| ConsumerError::NotAssigned {
                partition: partition.clone(),
            })
    }

    /// Partitions of which nobody has said yet where to begin.
    pub fn initializing(&self) -> OrderedSet<TopicPartition> {
        let waiting = self
            .states()
            .filter(|(_, state)| state.fetch == FetchState::Initializing && !state.pending_assigned);
        waiting.map(|(partition, _)| partition.clone()).collect()
    }

    /// What was returned to the application so far, which is what may be committed.
    pub fn all_consumed(&self) -> OrderedMap<TopicPartition, OffsetAndMetadata> {
        let consumed = self.states().filter_map(|(partition, state)| {
            let position = state.valid_position()?;
            let offset = OffsetAndMetadata {
                offset: position.offset + i64::from(mutated!(CommittedTooFar)),
                leader_epoch: position.offset_epoch,
                metadata: String::new(),
            };
            Some((partition.clone(), offset))
        });
        consumed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consumer::partition_state::{FetchPosition, LeaderAndEpoch};

    fn names(names: &[&str]) -> OrderedSet<Arc<str>> {
        names.iter().map(|name| Arc::from(*name)).collect()
    }

    fn partitions(of: &[(&str, i32)]) -> OrderedSet<TopicPartition> {
        of.iter()
            .map(|(topic, partition)| TopicPartition::new(*topic, *partition))
            .collect()
    }

    fn state() -> SubscriptionState {
        SubscriptionState::new(ResetStrategy::Latest)
    }

    #[test]
    fn the_three_ways_exclude_each_other() {
        let mut by_name = state();
        assert_eq!(by_name.subscribe(names(&["a"])), Ok(true));
        assert_eq!(by_name.subscribe(names(&["a"])), Ok(false));
        let pattern = TopicPattern::new("a.*").unwrap();
        assert_eq!(
            by_name.subscribe_pattern(pattern),
            Err(ConsumerError::MixedSubscription)
        );
        assert_eq!(
            by_name.assign_by_hand(partitions(&[("a", 0)])),
            Err(ConsumerError::MixedSubscription)
        );
        by_name.unsubscribe();
        assert_eq!(by_name.assign_by_hand(partitions(&[("a", 0)])), Ok(()));
        assert_eq!(
            by_name.subscribe(names(&["a"])),
            Err(ConsumerError::MixedSubscription)
        );
    }

    #[test]
    fn what_stays_assigned_keeps_its_position() {
        let mut state = state();
        state.subscribe(names(&["a"])).unwrap();
        state.assign_from_group(partitions(&[("a", 0), ("a", 1)]));
        let position = FetchPosition {
            offset: 7,
            offset_epoch: Some(2),
            current_leader: LeaderAndEpoch::default(),
        };
        for partition in state.assigned() {
            state.assigned_mut(&partition).unwrap().seek_validated(position);
        }
        state.assign_from_group(partitions(&[("a", 1), ("a", 2)]));
        let consumed = state.all_consumed();
        assert_eq!(consumed.len(), 1);
        let kept = &consumed[&TopicPartition::new("a", 1)];
        assert_eq!((kept.offset, kept.leader_epoch), (7, Some(2)));
        assert_eq!(state.initializing(), partitions(&[("a", 2)]));
        state.assign_from_group(partitions(&[("a", 0)]));
        assert!(state.all_consumed().is_empty(), "given up, it was forgotten");
    }

    #[test]
    fn what_the_group_gives_must_be_what_was_asked_for() {
        let mut by_name = state();
        by_name.subscribe(names(&["a"])).unwrap();
        assert!(by_name.matches(partitions(&[("a", 3)]).iter()));
        assert!(!by_name.matches(partitions(&[("a", 3), ("b", 0)]).iter()));
        let mut by_pattern = state();
        by_pattern
            .subscribe_pattern(TopicPattern::new("a.*").unwrap())
            .unwrap();
        assert!(by_pattern.matches(partitions(&[("ab", 0)]).iter()));
        assert!(!by_pattern.matches(partitions(&[("ba", 0)]).iter()));
    }

    #[test]
    fn a_leader_must_know_what_the_whole_group_asks_for() {
        let mut state = state();
        state.subscribe(names(&["a"])).unwrap();
        state.set_group_topics(names(&["b", "c"]));
        assert_eq!(state.metadata_topics(), names(&["a", "b", "c"]));
        state.set_group_topics(names(&[]));
        assert_eq!(state.metadata_topics(), names(&["a"]));
    }
}
