//! The committed offsets of one partition of `__consumer_offsets` (Kafka's `OffsetMetadataManager`).
//!
//! Invariant: an offset is where its last record says, counted by the records' own offsets, whether that
//! came by itself or with a transaction that was committed later.

use std::sync::Arc;

use super::offset::{OffsetAndMetadata, OffsetKey};
use crate::coordinator::TimelineMap;
use crate::ordered::OrderedMap;
use crate::types::{Offset, ProducerId};

/// An offset and where its record lies.
#[derive(Clone, Debug)]
struct Stored {
    record: Offset,
    offset: OffsetAndMetadata,
}

#[derive(Clone, Debug, Default)]
pub struct Offsets {
    stored: TimelineMap<OffsetKey, Stored>,
    /// Written in transactions that are not decided.
    pending: OrderedMap<ProducerId, OrderedMap<OffsetKey, Stored>>,
}

impl Offsets {
    /// What a record at `record` says of a partition; `None` is a tombstone.
    pub(super) fn replay(
        &mut self,
        record: Offset,
        key: OffsetKey,
        offset: Option<OffsetAndMetadata>,
        producer: Option<ProducerId>,
    ) {
        match (offset, producer) {
            (Some(_), None) if mutated!(LaterCommitForgotten) && self.stored.get(&key).is_some() => {}
            (Some(offset), None) => self.stored.put(record, key, Stored { record, offset }),
            (Some(offset), Some(producer)) => {
                let pending = self.pending.entry(producer).or_default();
                pending.insert(key, Stored { record, offset });
            }
            (None, _) => {
                for pending in self.pending.values_mut() {
                    pending.remove(&key);
                }
                self.stored.remove(record, key);
            }
        }
    }

    pub(super) fn end_transaction(&mut self, producer: ProducerId, committed: bool) {
        let pending = self.pending.remove(&producer).unwrap_or_default();
        for (key, stored) in pending.into_iter().filter(|_| committed) {
            let is_newer = self.stored.get(&key).is_none_or(|now| now.record < stored.record);
            if is_newer {
                self.stored.put(stored.record, key, stored);
            }
        }
    }

    pub(super) fn committed(&mut self, below: Offset) {
        self.stored.commit(below);
    }

    /// The latest offset, committed to the log or not.
    pub fn get(&self, key: &OffsetKey) -> Option<&OffsetAndMetadata> {
        self.stored.get(key).map(|stored| &stored.offset)
    }

    /// The offset that outsiders may see.
    pub fn get_committed(&self, key: &OffsetKey) -> Option<&OffsetAndMetadata> {
        self.stored.get_committed(key).map(|stored| &stored.offset)
    }

    /// The latest offsets of a group.
    pub fn of_group(&self, group: &Arc<str>) -> impl Iterator<Item = (&OffsetKey, &OffsetAndMetadata)> {
        let own = self.stored.range(first_of(group)..);
        own.take_while(|(key, _)| key.group == *group)
            .map(|(key, stored)| (key, &stored.offset))
    }

    /// Those of a group that outsiders may see.
    pub fn of_group_committed(
        &self,
        group: &Arc<str>,
    ) -> impl Iterator<Item = (&OffsetKey, &OffsetAndMetadata)> {
        let own = self.stored.range_committed(first_of(group)..);
        own.take_while(|(key, _)| key.group == *group)
            .map(|(key, stored)| (key, &stored.offset))
    }

    /// The latest offsets after this one, of all groups.
    pub(super) fn after(
        &self,
        key: Option<&OffsetKey>,
    ) -> impl Iterator<Item = (&OffsetKey, &OffsetAndMetadata)> {
        let from = match key {
            Some(key) => std::ops::Bound::Excluded(key.clone()),
            None => std::ops::Bound::Unbounded,
        };
        let all = self.stored.range((from, std::ops::Bound::Unbounded));
        all.map(|(key, stored)| (key, &stored.offset))
    }

    /// A transaction may change it any moment.
    pub fn is_pending(&self, key: &OffsetKey) -> bool {
        self.pending.values().any(|pending| pending.contains_key(key))
    }

    pub(super) fn has_pending_of(&self, group: &str) -> bool {
        let mut keys = self.pending.values().flat_map(OrderedMap::keys);
        keys.any(|key| &*key.group == group)
    }

    pub fn len(&self) -> usize {
        self.stored.len()
    }

    pub fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }
}

/// Not after any key of the group.
fn first_of(group: &Arc<str>) -> OffsetKey {
    OffsetKey {
        group: group.clone(),
        topic: "".into(),
        partition: i32::MIN,
    }
}
