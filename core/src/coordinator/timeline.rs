//! A map that remembers what it held at the last committed offset (Kafka's `TimelineHashMap`).
//!
//! A change is made at the offset of its record, at once. Until that offset is committed the value before
//! is kept beside it, for readers who may see only what is committed.
//!
//! Invariants
//! - a reader of committed state sees exactly the changes of records below the committed offset
//! - what is committed costs one value a key

use std::collections::VecDeque;
use std::ops::RangeBounds;

use smallvec::SmallVec;

use crate::ordered::OrderedMap;
use crate::types::Offset;

/// The values of one key; each holds from its offset on.
#[derive(Clone, Debug)]
struct Versions<V> {
    now: Option<V>,
    since: Offset,
    /// What was before, oldest first; only while `now` is not committed.
    before: SmallVec<[(Offset, Option<V>); 1]>,
}

impl<V> Versions<V> {
    fn at(&self, committed: Offset) -> Option<&V> {
        if self.since <= committed {
            return self.now.as_ref();
        }
        let mut before = self.before.iter().rev();
        before
            .find(|(since, _)| *since <= committed)
            .and_then(|(_, value)| value.as_ref())
    }

    /// Forgets what no reader can see any more. True when nothing is left of the key.
    fn settle(&mut self, committed: Offset) -> bool {
        if self.since <= committed {
            self.before.clear();
        } else if let Some(seen) = self.before.iter().rposition(|(since, _)| *since <= committed) {
            self.before.drain(..seen);
        }
        self.now.is_none() && self.before.is_empty()
    }
}

#[derive(Clone, Debug)]
pub struct TimelineMap<K, V> {
    entries: OrderedMap<K, Versions<V>>,
    /// Keys that changed above the committed offset, and where, in order.
    changed: VecDeque<(Offset, K)>,
    committed: Offset,
}

impl<K, V> Default for TimelineMap<K, V> {
    fn default() -> Self {
        Self {
            entries: OrderedMap::new(),
            changed: VecDeque::new(),
            committed: 0,
        }
    }
}

impl<K: Clone + Ord, V> TimelineMap<K, V> {
    /// The latest value, committed or not.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)?.now.as_ref()
    }

    pub fn get_committed(&self, key: &K) -> Option<&V> {
        self.entries.get(key)?.at(self.committed)
    }

    /// The latest values of these keys, in order.
    pub fn range(&self, keys: impl RangeBounds<K>) -> impl Iterator<Item = (&K, &V)> {
        let entries = self.entries.range(keys);
        entries.filter_map(|(key, versions)| Some((key, versions.now.as_ref()?)))
    }

    pub fn range_committed(&self, keys: impl RangeBounds<K>) -> impl Iterator<Item = (&K, &V)> {
        let entries = self.entries.range(keys);
        entries.filter_map(|(key, versions)| Some((key, versions.at(self.committed)?)))
    }

    /// The record at `offset` says so. Offsets come in order.
    pub fn put(&mut self, offset: Offset, key: K, value: V) {
        self.change(offset, key, Some(value));
    }

    /// The record at `offset` takes the key away.
    pub fn remove(&mut self, offset: Offset, key: K) {
        if self.get(&key).is_some() {
            self.change(offset, key, None);
        }
    }

    fn change(&mut self, offset: Offset, key: K, value: Option<V>) {
        let since = offset + 1;
        let versions = self.entries.entry(key.clone()).or_insert(Versions {
            now: None,
            since: 0,
            before: SmallVec::new(),
        });
        let before = std::mem::replace(&mut versions.now, value);
        versions.before.push((versions.since, before));
        versions.since = since;
        if versions.settle(self.committed) {
            self.entries.remove(&key);
        }
        if since > self.committed {
            self.changed.push_back((since, key));
        }
    }

    /// Everything below `offset` is committed.
    pub fn commit(&mut self, offset: Offset) {
        self.committed = self.committed.max(offset);
        while let Some((since, _)) = self.changed.front()
            && *since <= self.committed
            && let Some((_, key)) = self.changed.pop_front()
        {
            let versions = self.entries.get_mut(&key);
            if versions.is_some_and(|versions| versions.settle(self.committed)) {
                self.entries.remove(&key);
            }
        }
    }

    /// How many keys there are, those that are going included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_committed_is_seen_by_its_owner_alone() {
        let mut map = TimelineMap::default();
        map.put(0, "k", 1);
        assert_eq!((map.get(&"k"), map.get_committed(&"k")), (Some(&1), None));
        map.commit(1);
        assert_eq!(map.get_committed(&"k"), Some(&1));
        map.put(1, "k", 2);
        map.put(2, "k", 3);
        assert_eq!((map.get(&"k"), map.get_committed(&"k")), (Some(&3), Some(&1)));
        map.commit(2);
        assert_eq!(map.get_committed(&"k"), Some(&2));
        map.remove(3, "k");
        assert_eq!((map.get(&"k"), map.get_committed(&"k")), (None, Some(&2)));
        map.commit(4);
        assert_eq!((map.get_committed(&"k"), map.len()), (None, 0));
    }

    #[test]
    fn a_key_that_came_and_went_leaves_nothing() {
        let mut map = TimelineMap::default();
        for offset in 0..100 {
            map.put(2 * offset, offset % 3, ());
            map.remove(2 * offset + 1, offset % 3);
        }
        map.commit(200);
        assert!(map.is_empty() && map.changed.is_empty());
    }

    #[cfg(not(target_arch = "wasm32"))]
    proptest::proptest! {
        /// Against a log of all changes, replayed up to the committed offset.
        #[test]
        fn the_committed_state_is_the_replay_up_to_there(
            changes in proptest::collection::vec((0u8..5, proptest::option::of(0u8..9), 0i64..3), 0..200)
        ) {
            let mut map = TimelineMap::default();
            let (mut log, mut committed) = (Vec::new(), 0);
            for (key, value, further) in changes {
                let offset = log.len() as Offset;
                match value {
                    Some(value) => map.put(offset, key, value),
                    None => map.remove(offset, key),
                }
                log.push((key, value));
                committed = (committed + further).min(log.len() as Offset);
                map.commit(committed);
                let replay = |upto: usize| {
                    let mut state = OrderedMap::new();
                    for &(key, value) in &log[..upto] {
                        match value {
                            Some(value) => state.insert(key, value),
                            None => state.remove(&key),
                        };
                    }
                    state
                };
                let copy = |(&key, &value): (&u8, &u8)| (key, value);
                let seen: OrderedMap<u8, u8> = map.range(..).map(copy).collect();
                proptest::prop_assert_eq!(seen, replay(log.len()));
                let seen: OrderedMap<u8, u8> = map.range_committed(..).map(copy).collect();
                proptest::prop_assert_eq!(seen, replay(committed as usize));
            }
        }
    }
}
