//! Which partitions have been moved from whom to whom, so that two members do not swap partitions of one
//! topic: when one is to go from a to b and another of the topic has come from b to a, that one goes back
//! instead (Java's `PartitionMovements`).

use super::super::java_order::{JavaHash, JavaSet};
use super::group::{Group, Member, Partition, Topic};
use crate::ordered::OrderedMap;

/// The moves of one assignment. Each moved partition has one: from who had it first to who has it now.
#[derive(Default)]
pub(super) struct Movements {
    by_partition: OrderedMap<Partition, (Member, Member)>,
    by_topic: OrderedMap<(Topic, Member, Member), JavaSet<Partition>>,
}

impl Movements {
    /// Notes that a partition moves.
    pub fn add(&mut self, group: &Group, partition: Partition, from: Member, to: Member) {
        let topic = group.topic_of[partition];
        let first = match self.by_partition.remove(&partition) {
            Some((first, last)) => {
                if let Some(moved) = self.by_topic.get_mut(&(topic, first, last)) {
                    moved.remove(&partition);
                    if moved.is_empty() {
                        self.by_topic.remove(&(topic, first, last));
                    }
                }
                // Back where it came from: it has not moved at all.
                if first == to {
                    return;
                }
                first
            }
            None => from,
        };
        self.by_partition.insert(partition, (first, to));
        let moved = self
            .by_topic
            .entry((topic, first, to))
            .or_insert_with(JavaSet::new);
        moved.insert(group.partition(partition).java_hash(), partition);
    }

    /// The partition that should move to a member in place of this one.
    pub fn instead_of(&self, group: &Group, partition: Partition, from: Member, to: Member) -> Partition {
        let from = self
            .by_partition
            .get(&partition)
            .map_or(from, |(first, _)| *first);
        let back = self.by_topic.get(&(group.topic_of[partition], to, from));
        back.and_then(JavaSet::first).copied().unwrap_or(partition)
    }
}
