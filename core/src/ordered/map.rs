//! A map as a vector of pairs, sorted by key.
//!
//! Invariant: keys ascend strictly.

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, Index, RangeBounds};

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `get` halves, `insert` and `remove` move what is behind: for some hundred entries at most.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedMap<K, V> {
    pairs: Vec<(K, V)>,
}

impl<K, V> SortedMap<K, V> {
    pub const fn new() -> Self {
        Self { pairs: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    pub fn clear(&mut self) {
        self.pairs.clear();
    }

    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter(self.pairs.iter())
    }

    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut(self.pairs.iter_mut())
    }

    pub fn keys(&self) -> Keys<'_, K, V> {
        Keys(self.pairs.iter())
    }

    pub fn values(&self) -> Values<'_, K, V> {
        Values(self.pairs.iter())
    }

    pub fn values_mut(&mut self) -> ValuesMut<'_, K, V> {
        ValuesMut(self.pairs.iter_mut())
    }

    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator {
        self.pairs.into_iter().map(|(key, _)| key)
    }

    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.pairs.into_iter().map(|(_, value)| value)
    }

    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }

    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.pairs.is_empty()).then(|| self.pairs.remove(0))
    }

    pub fn pop_last(&mut self) -> Option<(K, V)> {
        self.pairs.pop()
    }

    pub fn retain(&mut self, mut stays: impl FnMut(&K, &mut V) -> bool) {
        self.pairs.retain_mut(|(key, value)| stays(key, value));
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Where the key is; `Err` says where it would be.
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.pairs.binary_search_by(|(other, _)| other.borrow().cmp(key))
    }

    /// Places of a range of keys; it panics where the range ends before it begins, as a tree does.
    fn places<Q: Ord + ?Sized>(&self, range: &impl RangeBounds<Q>) -> std::ops::Range<usize>
    where
        K: Borrow<Q>,
    {
        let start = match range.start_bound() {
            Bound::Included(key) => self.place(key).unwrap_or_else(|at| at),
            Bound::Excluded(key) => self.place(key).map_or_else(|at| at, |at| at + 1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(key) => self.place(key).map_or_else(|at| at, |at| at + 1),
            Bound::Excluded(key) => self.place(key).unwrap_or_else(|at| at),
            Bound::Unbounded => self.pairs.len(),
        };
        start..end
    }

    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|at| &self.pairs[at].1)
    }

    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (key, value) = &self.pairs[self.place(key).ok()?];
        Some((key, value))
    }

    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|at| &mut self.pairs[at].1)
    }

    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// The value that was there.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.pairs[at].1, value)),
            Err(at) => {
                self.pairs.insert(at, (key, value));
                None
            }
        }
    }

    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.remove_entry(key).map(|(_, value)| value)
    }

    pub fn remove_entry<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|at| self.pairs.remove(at))
    }

    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        let place = self.place(&key);
        Entry {
            map: self,
            key,
            place,
        }
    }

    pub fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        Iter(self.pairs[self.places(&range)].iter())
    }

    /// What a set's range is.
    pub(super) fn keys_in<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> Keys<'_, K, V>
    where
        K: Borrow<Q>,
    {
        Keys(self.pairs[self.places(&range)].iter())
    }

    pub fn range_mut<Q: Ord + ?Sized, R: RangeBounds<Q>>(&mut self, range: R) -> IterMut<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let places = self.places(&range);
        IterMut(self.pairs[places].iter_mut())
    }

    /// Takes the entries at the key and behind it away.
    pub fn split_off<Q: Ord + ?Sized>(&mut self, key: &Q) -> Self
    where
        K: Borrow<Q>,
    {
        let at = self.place(key).unwrap_or_else(|at| at);
        Self {
            pairs: self.pairs.split_off(at),
        }
    }

    pub fn append(&mut self, other: &mut Self) {
        self.extend(std::mem::take(other));
    }

    /// Takes away those of the range that are asked for, one with each step.
    pub fn extract_if<F: FnMut(&K, &mut V) -> bool>(
        &mut self,
        range: impl RangeBounds<K>,
        mut is_taken: F,
    ) -> impl Iterator<Item = (K, V)> {
        let places = self.places(&range);
        self.pairs
            .extract_if(places, move |(key, value)| is_taken(key, value))
    }
}

/// A place for a key, filled or not.
pub struct Entry<'a, K, V> {
    map: &'a mut SortedMap<K, V>,
    key: K,
    place: Result<usize, usize>,
}

impl<'a, K, V> Entry<'a, K, V> {
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        let at = match self.place {
            Ok(at) => at,
            Err(at) => {
                self.map.pairs.insert(at, (self.key, make()));
                at
            }
        };
        &mut self.map.pairs[at].1
    }

    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    pub fn and_modify(self, change: impl FnOnce(&mut V)) -> Self {
        if let Ok(at) = self.place {
            change(&mut self.map.pairs[at].1);
        }
        self
    }
}

/// An iterator over pairs of the vector that shows each in one way.
macro_rules! shown {
    ($name:ident, $pairs:ident, $item:ty, $show:expr) => {
        pub struct $name<'a, K, V>(std::slice::$pairs<'a, (K, V)>);

        impl<'a, K, V> Iterator for $name<'a, K, V> {
            type Item = $item;

            fn next(&mut self) -> Option<Self::Item> {
                self.0.next().map($show)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl<'a, K, V> DoubleEndedIterator for $name<'a, K, V> {
            fn next_back(&mut self) -> Option<Self::Item> {
                self.0.next_back().map($show)
            }
        }

        impl<K, V> ExactSizeIterator for $name<'_, K, V> {}
    };
}

shown!(Iter, Iter, (&'a K, &'a V), |(key, value)| (key, value));
shown!(IterMut, IterMut, (&'a K, &'a mut V), |(key, value)| (
    &*key, value
));
shown!(Keys, Iter, &'a K, |(key, _)| key);
shown!(Values, Iter, &'a V, |(_, value)| value);
shown!(ValuesMut, IterMut, &'a mut V, |(_, value)| value);

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, V> Clone for Keys<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, V> Clone for Values<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.pairs.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut SortedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        for (key, value) in pairs {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self::new();
        map.extend(pairs);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(pairs: [(K, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}

impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> Index<&Q> for SortedMap<K, V> {
    type Output = V;

    #[expect(clippy::expect_used, reason = "as the standard library's maps")]
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key has an entry")
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, K: Ord + Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for SortedMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pairs(PhantomData))
    }
}

struct Pairs<K, V>(PhantomData<(K, V)>);

impl<'de, K: Ord + Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for Pairs<K, V> {
    type Value = SortedMap<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut map = SortedMap::new();
        while let Some((key, value)) = access.next_entry()? {
            map.insert(key, value);
        }
        Ok(map)
    }
}
