//! A set as a sorted vector.
//!
//! Invariant: items ascend strictly.

use std::borrow::Borrow;
use std::fmt;
use std::ops::RangeBounds;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::map::{Keys, SortedMap};

/// A [`SortedMap`] to nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<T> {
    map: SortedMap<T, ()>,
}

impl<T> SortedSet<T> {
    pub const fn new() -> Self {
        Self {
            map: SortedMap::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.map.len()
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub fn clear(&mut self) {
        self.map.clear();
    }

    pub fn iter(&self) -> Iter<'_, T> {
        self.map.keys()
    }

    pub fn first(&self) -> Option<&T> {
        self.iter().next()
    }

    pub fn last(&self) -> Option<&T> {
        self.iter().next_back()
    }

    pub fn pop_first(&mut self) -> Option<T> {
        self.map.pop_first().map(|(item, ())| item)
    }

    pub fn pop_last(&mut self) -> Option<T> {
        self.map.pop_last().map(|(item, ())| item)
    }

    pub fn retain(&mut self, mut stays: impl FnMut(&T) -> bool) {
        self.map.retain(|item, ()| stays(item));
    }
}

impl<T: Ord> SortedSet<T> {
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.map.contains_key(item)
    }

    pub fn get<Q: Ord + ?Sized>(&self, item: &Q) -> Option<&T>
    where
        T: Borrow<Q>,
    {
        self.map.get_key_value(item).map(|(item, ())| item)
    }

    /// Whether it is new.
    pub fn insert(&mut self, item: T) -> bool {
        self.map.insert(item, ()).is_none()
    }

    /// Whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.map.remove(item).is_some()
    }

    pub fn take<Q: Ord + ?Sized>(&mut self, item: &Q) -> Option<T>
    where
        T: Borrow<Q>,
    {
        self.map.remove_entry(item).map(|(item, ())| item)
    }

    pub fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> Iter<'_, T>
    where
        T: Borrow<Q>,
    {
        self.map.keys_in(range)
    }

    /// Takes the items from this one on away.
    pub fn split_off<Q: Ord + ?Sized>(&mut self, item: &Q) -> Self
    where
        T: Borrow<Q>,
    {
        Self {
            map: self.map.split_off(item),
        }
    }

    pub fn append(&mut self, other: &mut Self) {
        self.map.append(&mut other.map);
    }

    pub fn extract_if<F: FnMut(&T) -> bool>(
        &mut self,
        range: impl RangeBounds<T>,
        mut is_taken: F,
    ) -> impl Iterator<Item = T> {
        let taken = self.map.extract_if(range, move |item, ()| is_taken(item));
        taken.map(|(item, ())| item)
    }

    pub fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> + Clone {
        self.iter().filter(|&item| !other.contains(item))
    }

    pub fn intersection<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> + Clone {
        self.iter().filter(|&item| other.contains(item))
    }

    pub fn union<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        let both: SortedMap<&T, ()> = self.iter().chain(other).map(|item| (item, ())).collect();
        both.into_keys()
    }

    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|item| other.contains(item))
    }

    pub fn is_superset(&self, other: &Self) -> bool {
        other.is_subset(self)
    }

    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.intersection(other).next().is_none()
    }
}

pub type Iter<'a, T> = Keys<'a, T, ()>;

pub struct IntoIter<T>(std::vec::IntoIter<(T, ())>);

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.next().map(|(item, ())| item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> DoubleEndedIterator for IntoIter<T> {
    fn next_back(&mut self) -> Option<T> {
        self.0.next_back().map(|(item, ())| item)
    }
}

impl<T> ExactSizeIterator for IntoIter<T> {}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter(self.map.into_iter())
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.insert(item);
        }
    }
}

impl<'a, T: Ord + Copy> Extend<&'a T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, items: I) {
        self.extend(items.into_iter().copied());
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut set = Self::new();
        set.extend(items);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<T: Serialize> Serialize for SortedSet<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de, T: Ord + Deserialize<'de>> Deserialize<'de> for SortedSet<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::<T>::deserialize(deserializer)?;
        Ok(items.into_iter().collect())
    }
}
