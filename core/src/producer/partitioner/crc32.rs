//! By the key's CRC-32, as librdkafka has it from old (`consistent`, and its default
//! `consistent_random`). Java's clients put the same key elsewhere.

use super::{Partitioner, ToPartition, random};
use crate::types::PartitionIndex;

/// The checksum of zlib and gzip.
fn crc32(data: &[u8]) -> u32 {
    // One small table: keys are short, and in the page tables weigh more than time.
    static CRC: crc::Crc<u32, crc::Table<1>> = crc::Crc::<u32, crc::Table<1>>::new(&crc::CRC_32_ISO_HDLC);
    CRC.checksum(data)
}

/// librdkafka's `consistent`: a null key counts as an empty one, so that all of them meet.
#[derive(Clone, Copy, Debug)]
pub struct Consistent;

impl Partitioner for Consistent {
    fn name(&self) -> &str {
        "consistent"
    }

    fn partition(&mut self, record: &mut ToPartition) -> PartitionIndex {
        record.by_hash(crc32(record.key.unwrap_or_default()))
    }

    fn boxed_clone(&self) -> Box<dyn Partitioner> {
        Box::new(*self)
    }
}

/// librdkafka's `consistent_random`: a null key and an empty one go anywhere.
#[derive(Clone, Copy, Debug)]
pub struct ConsistentRandom;

impl Partitioner for ConsistentRandom {
    fn name(&self) -> &str {
        "consistent_random"
    }

    fn partition(&mut self, record: &mut ToPartition) -> PartitionIndex {
        match record.key {
            Some(key) if !key.is_empty() => record.by_hash(crc32(key)),
            _ => random::anywhere(record),
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

    #[test]
    fn it_is_the_checksum_of_zlib() {
        // The check value of the algorithm's catalogue.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn keys_meet_and_what_has_none_goes_anywhere() {
        let mut rng = Rng::new(1);
        let topic = topic(&[true; 7]);
        for (key, expected) in [(&b"123456789"[..], 0xcbf4_3926_u32 % 7), (b"a", 0xe8b7_be43 % 7)] {
            for partitioner in [&mut Consistent as &mut dyn Partitioner, &mut ConsistentRandom] {
                assert_eq!(choose(partitioner, &mut rng, &topic, Some(key)), expected as i32);
            }
        }
        assert_eq!(choose(&mut Consistent, &mut rng, &topic, None), 0);
        for key in [None, Some(&b""[..])] {
            let drawn: Vec<i32> = (0..100)
                .map(|_| choose(&mut ConsistentRandom, &mut rng, &topic, key))
                .collect();
            assert!((0..7).all(|partition| drawn.contains(&partition)));
        }
    }
}
