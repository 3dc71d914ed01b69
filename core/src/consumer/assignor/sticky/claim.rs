//! What a member had before, as it tells the leader: Kafka's `StickyAssignorUserData`.
//!
//! Version 0 is a list of topics with partitions, version 1 adds the generation behind it. There is no
//! number that says which: who can be read as the newer is. Data that cannot be read at all counts as a
//! claim to nothing, in no generation.

use std::sync::Arc;

use bytes::Bytes;

use super::super::LastAssignment;
use super::super::java_order::{self, JavaHash};
use crate::error::Malformed;
use crate::protocol::consumer_protocol::{read_partitions, write_partitions};
use crate::protocol::primitives::{Reader, Writer};
use crate::types::TopicPartition;

/// "No generation", as members write it.
pub(in super::super) const NO_GENERATION: i32 = -1;

/// What a member says that it had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Claim {
    pub partitions: Vec<TopicPartition>,
    /// `None`: the member said nothing about it.
    pub generation: Option<i32>,
}

/// Version 1. `None`, as if there were nothing to tell, for a name that the wire cannot say.
pub(super) fn encode(last: &LastAssignment) -> Option<Bytes> {
    let mut topics: Vec<(&Arc<str>, Vec<&TopicPartition>)> = Vec::new();
    for partition in &last.partitions {
        match topics.iter_mut().find(|(topic, _)| **topic == partition.topic) {
            Some((_, partitions)) => partitions.push(partition),
            None => topics.push((&partition.topic, vec![partition])),
        }
    }
    // Java takes them from a hash map.
    java_order::sort(&mut topics, |(topic, _)| topic.java_hash());
    let mut writer = Writer::frame(false);
    let partitions = topics.into_iter().flat_map(|(_, partitions)| partitions);
    write_partitions(&mut writer, "previous assignment", partitions);
    writer.i32(last.generation);
    let frame = writer.finish_whole_frame().ok()?;
    Some(frame.slice(size_of::<i32>()..))
}

pub(super) fn decode(user_data: Option<&Bytes>) -> Claim {
    let Some(bytes) = user_data.filter(|bytes| !bytes.is_empty()) else {
        return Claim::default();
    };
    let read = |with_generation: bool| -> Result<Claim, Malformed> {
        let mut reader = Reader::new(bytes.clone(), false);
        let partitions = read_partitions(&mut reader, "previous assignment")?;
        let generation = match with_generation {
            true => Some(reader.i32("a generation")?),
            false => None,
        };
        Ok(Claim {
            partitions,
            generation,
        })
    };
    read(true).or_else(|_| read(false)).unwrap_or(Claim {
        partitions: Vec::new(),
        generation: Some(NO_GENERATION),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_had_is_told_and_heard() {
        let partitions = vec![
            TopicPartition::new("b", 2),
            TopicPartition::new("a", 1),
            TopicPartition::new("b", 0),
        ];
        let bytes = encode(&LastAssignment {
            generation: 7,
            partitions,
        })
        .unwrap();
        assert_eq!(
            bytes[..],
            *b"\0\0\0\x02\0\x01a\0\0\0\x01\0\0\0\x01\0\x01b\0\0\0\x02\0\0\0\x02\0\0\0\0\0\0\0\x07"
        );
        let claim = decode(Some(&bytes));
        assert_eq!(claim.generation, Some(7));
        assert_eq!(claim.partitions.len(), 3);
    }

    #[test]
    fn older_data_has_no_generation_and_noise_claims_nothing() {
        let old = decode(Some(&Bytes::from_static(
            b"\0\0\0\x01\0\x01a\0\0\0\x01\0\0\0\x01",
        )));
        assert_eq!((old.partitions.len(), old.generation), (1, None));
        let noise = decode(Some(&Bytes::from_static(b"\x7f\xff\xff\xff??")));
        assert_eq!((noise.partitions.len(), noise.generation), (0, Some(-1)));
        assert_eq!(decode(None), Claim::default());
        assert_eq!(decode(Some(&Bytes::new())), Claim::default());
    }
}
