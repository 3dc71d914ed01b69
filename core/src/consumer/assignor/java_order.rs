//! The orders of Java that an assignor's answer depends on.
//!
//! Where several answers are equally good, Java's assignors take whatever their hash maps show first.
//! That order is no accident: `String.hashCode` and `HashMap` are specified or have not changed in many
//! years, and Java itself leans on it, since every leader of a group should come to the same answer. So
//! it is repeated here, for maps that were filled in the order of their keys.
//!
//! A `HashMap` has a power of two of buckets, at least 16, and doubles when more than three quarters as
//! many keys are in it; it never shrinks. It is walked bucket by bucket, and within a bucket in the order
//! in which keys came. (From eight keys in one bucket on Java makes a tree of them, whose walk may
//! begin with another key. With ids that nobody has chosen to collide this does not happen.)

use std::cmp::Ordering;

use crate::types::TopicPartition;

/// Java's `String.compareTo`: by UTF-16 units, which differs from ours beyond the basic plane.
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    one.encode_utf16().cmp(other.encode_utf16())
}

/// A key of a Java hash map.
pub(super) trait JavaHash {
    /// Java's `hashCode`.
    fn java_hash(&self) -> i32;
}

impl JavaHash for str {
    fn java_hash(&self) -> i32 {
        let units = self.encode_utf16();
        units.fold(0, |hash: i32, unit| {
            hash.wrapping_mul(31).wrapping_add(i32::from(unit))
        })
    }
}

impl JavaHash for TopicPartition {
    fn java_hash(&self) -> i32 {
        let partition = 31i32.wrapping_add(self.partition);
        partition.wrapping_mul(31).wrapping_add(self.topic.java_hash())
    }
}

/// Buckets of a map that has had at most `keys` keys.
fn buckets(keys: usize) -> u32 {
    let mut buckets = 16u32;
    while keys as u64 * 4 > u64::from(buckets) * 3 {
        buckets *= 2;
    }
    buckets
}

fn bucket(hash: i32, buckets: u32) -> u32 {
    let hash = hash as u32;
    (hash ^ (hash >> 16)) & (buckets - 1)
}

/// Sorts as a `HashMap` shows keys that were put in as they stand here.
pub(super) fn sort<T>(items: &mut [T], hash: impl Fn(&T) -> i32) {
    let buckets = buckets(items.len());
    items.sort_by_key(|item| bucket(hash(item), buckets));
}

/// A `HashSet`, as far as its order is concerned.
#[derive(Clone, Debug)]
pub(super) struct JavaSet<T> {
    /// With their hashes, in the order in which they came.
    keys: Vec<(i32, T)>,
    buckets: u32,
}

impl<T: PartialEq> JavaSet<T> {
    pub fn new() -> Self {
        Self {
            keys: Vec::new(),
            buckets: buckets(0),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Adds a key that is not in it.
    pub fn insert(&mut self, hash: i32, key: T) {
        self.keys.push((hash, key));
        self.buckets = self.buckets.max(buckets(self.keys.len()));
    }

    pub fn remove(&mut self, key: &T) {
        self.keys.retain(|(_, other)| other != key);
    }

    /// What its iterator shows first.
    pub fn first(&self) -> Option<&T> {
        let keys = self.keys.iter();
        let first = keys.min_by_key(|(hash, _)| bucket(*hash, self.buckets));
        first.map(|(_, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_java() {
        // What `"…".hashCode()` and `new TopicPartition(…).hashCode()` return.
        assert_eq!("".java_hash(), 0);
        assert_eq!("consumer-1".java_hash(), -166_239_206);
        assert_eq!("grüße, 😀".java_hash(), 2_126_018_286);
        assert_eq!(TopicPartition::new("topic", 7).java_hash(), 110_547_401);
    }

    #[test]
    fn maps_double_when_they_are_more_than_three_quarters_full() {
        assert_eq!([0, 12, 13, 24, 25].map(buckets), [16, 16, 32, 32, 64]);
    }

    #[test]
    fn beyond_the_basic_plane_units_are_compared() {
        assert_eq!(compare("a", "b"), Ordering::Less);
        assert_eq!(compare("\u{ffff}", "\u{1f600}"), Ordering::Greater);
        assert_eq!("\u{ffff}".cmp("\u{1f600}"), Ordering::Less);
    }

    #[test]
    fn a_set_shows_its_lowest_bucket_first_and_never_shrinks() {
        let mut partitions: Vec<_> = (0..30).map(|index| TopicPartition::new("t", index)).collect();
        let mut set = JavaSet::new();
        for partition in &partitions {
            set.insert(partition.java_hash(), partition.clone());
        }
        assert_eq!(set.buckets, 64);
        let mut shown = Vec::new();
        while let Some(first) = set.first().cloned() {
            set.remove(&first);
            shown.push(first);
        }
        sort(&mut partitions, JavaHash::java_hash);
        assert_eq!(shown, partitions);
        assert!(set.is_empty() && set.buckets == 64);
    }
}
