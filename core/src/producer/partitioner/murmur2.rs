//! By the key's murmur2 hash, as Java's clients have it (`Utils.murmur2`,
//! `BuiltInPartitioner.partitionForKey`): equal keys meet in one partition, whichever client sends
//! them, as long as the topic has as many partitions.

use super::{Partitioner, ToPartition, random};
use crate::types::PartitionIndex;

/// The hash: MurmurHash2 in 32 bits by Austin Appleby, with the seed that Kafka uses.
pub fn murmur2(data: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    const R: u32 = 24;
    let mut hash = SEED ^ data.len() as u32;
    let mut words = data.chunks_exact(4);
    for word in words.by_ref() {
        let mut k = word.iter().rev().fold(0, |k, byte| k << 8 | u32::from(*byte));
        k = k.wrapping_mul(M);
        k = (k ^ k >> R).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ k;
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        hash ^= rest.iter().rev().fold(0, |k, byte| k << 8 | u32::from(*byte));
        hash = hash.wrapping_mul(M);
    }
    hash = (hash ^ hash >> 13).wrapping_mul(M);
    hash ^ hash >> 15
}

/// The hash without its sign, as Java takes it (`Utils.toPositive`).
pub fn positive(hash: u32) -> u32 {
    hash & 0x7fff_ffff
}

/// The partition of a key among so many; an empty key is hashed like any other.
pub fn partition_for_key(key: &[u8], count: PartitionIndex) -> PartitionIndex {
    (positive(murmur2(key)) % count.max(1) as u32) as PartitionIndex
}

/// librdkafka's `murmur2`: a null key counts as an empty one, so that all of them meet.
#[derive(Clone, Copy, Debug)]
pub struct Murmur2;

impl Partitioner for Murmur2 {
    fn name(&self) -> &str {
        "murmur2"
    }

    fn partition(&mut self, record: &mut ToPartition) -> PartitionIndex {
        record.by_hash(positive(murmur2(record.key.unwrap_or_default())))
    }

    fn boxed_clone(&self) -> Box<dyn Partitioner> {
        Box::new(*self)
    }
}

/// librdkafka's `murmur2_random`: a null key goes anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Murmur2Random;

impl Partitioner for Murmur2Random {
    fn name(&self) -> &str {
        "murmur2_random"
    }

    fn partition(&mut self, record: &mut ToPartition) -> PartitionIndex {
        match record.key {
            Some(key) => record.by_hash(positive(murmur2(key))),
            None => random::anywhere(record),
        }
    }

    fn boxed_clone(&self) -> Box<dyn Partitioner> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{choose, topic};
    use super::*;
    use crate::types::Rng;

    /// Printed by kafka-clients 4.4.0: the key, its hash, and its partition of 7 and of 100.
    const OF_JAVA: &[(&[u8], i32, i32, i32)] = &[
        (b"", 275_646_681, 2, 81),
        (b"a", -1_563_381_124, 5, 24),
        (b"ab", 316_155_434, 0, 34),
        (b"abc", 479_470_107, 4, 7),
        (b"abcd", -1_323_649_548, 5, 0),
        (b"foobar", -790_332_482, 0, 66),
        (b"a-little-bit-long-string", -985_981_536, 1, 12),
        (b"a-little-bit-longer-string", -1_486_304_829, 0, 19),
        (
            b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8",
            -58_897_971,
            3,
            77,
        ),
        (b"key-7", 713_419_675, 3, 75),
        ("\u{e9}\u{20ac}".as_bytes(), 1_912_689_889, 5, 89),
    ];

    #[test]
    fn hashes_and_partitions_are_javas() {
        for (key, hash, of_7, of_100) in OF_JAVA {
            assert_eq!(murmur2(key) as i32, *hash, "{key:?}");
            assert_eq!(partition_for_key(key, 7), *of_7);
            assert_eq!(partition_for_key(key, 100), *of_100);
        }
        // Bytes above 127 are no negative numbers.
        assert_eq!(murmur2(&[0xff, 0x80, 0, 0xfe, 0x81]) as i32, 1_700_763_136);
    }

    #[test]
    fn null_is_a_key_to_one_and_none_to_the_other() {
        let mut rng = Rng::new(1);
        let topic = topic(&[true; 7]);
        let mut drawn: Vec<i32> = (0..100)
            .map(|_| choose(&mut Murmur2Random, &mut rng, &topic, None))
            .collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, (0..7).collect::<Vec<_>>());
        for _ in 0..10 {
            assert_eq!(choose(&mut Murmur2, &mut rng, &topic, None), 2);
            assert_eq!(
                choose(&mut Murmur2Random, &mut rng, &topic, Some(b"")),
                2,
                "empty is a key"
            );
        }
    }
}
