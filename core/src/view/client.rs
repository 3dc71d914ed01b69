//! One client: who it is and what it was told.

use serde::{Deserialize, Serialize};

use super::{by_name, set};
use crate::ordered::OrderedMap;
use crate::trace::{ClientKind, ConsumerFact};
use crate::types::{Offset, TopicPartition};

/// What a client was told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientView {
    pub kind: ClientKind,
    /// Records that it was told are stored, or that it sent with acks=0.
    pub acknowledged: u64,
    /// Records that it gave up.
    pub failed: u64,
    /// Its process was killed.
    pub dead: bool,
    /// The partitions that a consumer has, each with the next offset that it reads, once it knows it.
    #[serde(with = "by_name")]
    pub assigned: OrderedMap<TopicPartition, Option<Offset>>,
}

impl ClientView {
    /// What a consumer does with partitions.
    pub(super) fn apply(&mut self, fact: &ConsumerFact) -> bool {
        match fact {
            ConsumerFact::Assigned { partitions: owned } | ConsumerFact::PartitionsAssigned { owned, .. } => {
                self.has_now(owned)
            }
            ConsumerFact::PartitionsRevoked { partitions, .. }
            | ConsumerFact::PartitionsLost { partitions, .. } => {
                let before = self.assigned.len();
                self.assigned
                    .retain(|partition, _| !partitions.contains(partition));
                self.assigned.len() < before
            }
            ConsumerFact::PositionSet {
                partition, offset, ..
            } => self.is_at(partition, Some(*offset)),
            ConsumerFact::RecordsReturned { partition, to, .. } => self.is_at(partition, Some(*to)),
            ConsumerFact::PositionLost { partition, .. } => self.is_at(partition, None),
            ConsumerFact::Unsubscribed | ConsumerFact::Closed => {
                let had_any = !self.assigned.is_empty();
                self.assigned.clear();
                had_any
            }
            _ => false,
        }
    }

    fn has_now(&mut self, owned: &[TopicPartition]) -> bool {
        let before = self.assigned.clone();
        let kept = |partition: &TopicPartition| {
            let position = before.get(partition).copied().flatten();
            (partition.clone(), position)
        };
        self.assigned = owned.iter().map(kept).collect();
        self.assigned != before
    }

    fn is_at(&mut self, partition: &TopicPartition, position: Option<Offset>) -> bool {
        let seen = self.assigned.get_mut(partition);
        seen.is_some_and(|seen| set(seen, position))
    }
}
