//! Which partition a record goes to, when it names none.
//!
//! The way it is decided (`KafkaProducer.partition`): the record's own partition; else a configured
//! [`Partitioner`]; else, for a record with a key, the hash of the key ([`murmur2`]), so that equal
//! keys meet; else the [`built_in`] sticky choice, which is made only when the record is put into a
//! batch, since it depends on how full batches are.
//!
//! A partitioner is a value with a state of its own, and chance comes from the client's seed.

pub mod built_in;
pub mod crc32;
pub mod murmur2;
pub mod random;
pub mod round_robin;

use std::fmt;
use std::sync::Arc;

use crate::client::TopicMetadata;
use crate::types::{PartitionIndex, Rng};

/// What a partitioner may go by.
pub struct ToPartition<'a> {
    pub topic: &'a Arc<str>,
    /// `None` for a null key; an empty one is a key too.
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    /// It has at least one partition.
    pub partitions: &'a TopicMetadata,
    pub rng: &'a mut Rng,
}

impl ToPartition<'_> {
    /// A place among all partitions by a hash.
    fn by_hash(&self, hash: u32) -> PartitionIndex {
        (hash % self.count()) as PartitionIndex
    }

    fn count(&self) -> u32 {
        self.partitions.partition_count().max(1) as u32
    }
}

/// Chooses partitions.
pub trait Partitioner: fmt::Debug + Send + Sync {
    /// For people, and for `partitioner.class`.
    fn name(&self) -> &str;

    /// The partition; a negative one, or one that is not there, fails the record.
    fn partition(&mut self, record: &mut ToPartition) -> PartitionIndex;

    /// A world is copied with all that is in it.
    fn boxed_clone(&self) -> Box<dyn Partitioner>;
}

impl Clone for Box<dyn Partitioner> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// What `partitioner.class` may name: Java's own, and librdkafka's by librdkafka's names.
pub const NAMES: &[&str] = &[
    "RoundRobinPartitioner",
    "random",
    "consistent",
    "consistent_random",
    "murmur2",
    "murmur2_random",
];

/// A partitioner by its name, a Java class with or without its package.
pub fn by_name(name: &str) -> Option<Box<dyn Partitioner>> {
    let short = name
        .strip_prefix("org.apache.kafka.clients.producer.")
        .unwrap_or(name);
    Some(match short {
        "RoundRobinPartitioner" => Box::new(round_robin::RoundRobin::default()),
        "random" => Box::new(random::Random),
        "consistent" => Box::new(crc32::Consistent),
        "consistent_random" => Box::new(crc32::ConsistentRandom),
        "murmur2" => Box::new(murmur2::Murmur2),
        "murmur2_random" => Box::new(murmur2::Murmur2Random),
        _ => return None,
    })
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use crate::client::PartitionMetadata;

    /// A topic; `led` says of each partition whether somebody leads it.
    pub fn topic(led: &[bool]) -> TopicMetadata {
        let partition = |led: &bool| {
            Some(PartitionMetadata {
                leader: led.then_some(1),
                leader_epoch: Some(0),
                replicas: vec![1],
                isr: vec![1],
                offline: Vec::new(),
            })
        };
        TopicMetadata {
            partitions: led.iter().map(partition).collect(),
            ..TopicMetadata::default()
        }
    }

    pub fn choose(
        partitioner: &mut dyn Partitioner,
        rng: &mut Rng,
        partitions: &TopicMetadata,
        key: Option<&[u8]>,
    ) -> PartitionIndex {
        partitioner.partition(&mut ToPartition {
            topic: &"t".into(),
            key,
            value: None,
            partitions,
            rng,
        })
    }

    #[test]
    fn every_name_is_known_by_itself() {
        for name in NAMES {
            assert_eq!(by_name(name).unwrap().name(), *name);
        }
        assert!(by_name("org.apache.kafka.clients.producer.RoundRobinPartitioner").is_some());
        assert!(by_name("fnv1a").is_none());
    }
}
