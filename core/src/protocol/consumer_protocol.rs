//! What the members of a consumer group tell each other through the coordinator: a member's
//! *subscription* (in JoinGroup) and its *assignment* (in SyncGroup), Kafka's
//! `ConsumerProtocolSubscription` and `ConsumerProtocolAssignment`, versions 0 to 3.
//!
//! Both begin with two bytes of version and are never flexible. New versions only add fields at the end,
//! so a version that is not known yet is read as the last one that is, and the first fields of a
//! subscription can be read whatever follows them. That is all that the coordinator ever looks at; the
//! rest is between the members.
//!
//! Invariants
//! - what is written is what Kafka 4.4 writes for the same value, so that one group may mix clients
//! - nothing is allocated for a count that the bytes do not have

use std::sync::Arc;

use bytes::Bytes;

use super::primitives::{Reader, Writer};
use crate::error::Malformed;
use crate::types::TopicPartition;

/// The version that is written, and the last one that is known.
const VERSION: i16 = 3;
/// A topic with its partitions takes at least so many bytes.
const LEAST_TOPIC_BYTES: usize = 6;
/// A string takes at least so many bytes.
const LEAST_STRING_BYTES: usize = 2;

/// What a member reads, and what it had before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscription {
    pub topics: Vec<Arc<str>>,
    /// The assignor's own data; `None` is null.
    pub user_data: Option<Bytes>,
    /// What the member still holds on to (version 1).
    pub owned_partitions: Vec<TopicPartition>,
    /// The generation in which it got them (version 2); `None` is -1 on the wire.
    pub generation: Option<i32>,
    /// Where the member runs (version 3, KIP-881); never empty.
    pub rack: Option<Arc<str>>,
}

impl Subscription {
    /// Writes version 3. Topics and partitions are sorted on the way.
    ///
    /// # Errors
    /// A name is longer than the wire can say.
    pub fn encode(&self) -> Result<Bytes, Malformed> {
        let mut topics: Vec<&Arc<str>> = self.topics.iter().collect();
        topics.sort();
        let mut owned: Vec<&TopicPartition> = self.owned_partitions.iter().collect();
        owned.sort();
        encode(|writer| {
            writer.array("topics", &topics, |writer, topic| {
                writer.string("a topic's name", topic);
            });
            writer.nullable_bytes("user data", self.user_data.as_deref());
            write_partitions(writer, "owned partitions", owned);
            writer.i32(self.generation.unwrap_or(-1));
            writer.nullable_string("a rack", self.rack.as_deref());
        })
    }

    /// # Errors
    /// The bytes end early, or the version is negative.
    pub fn decode(bytes: &Bytes) -> Result<Self, Malformed> {
        let (version, mut reader) = reader(bytes, "a subscription's version")?;
        let (topics, user_data) = read_first_fields(&mut reader)?;
        let owned_partitions = match version {
            1.. => read_partitions(&mut reader, "owned partitions")?,
            _ => Vec::new(),
        };
        let generation = match version {
            2.. => reader.i32("a generation")?,
            _ => -1,
        };
        let rack = match version {
            3.. => reader.nullable_string("a rack")?,
            _ => None,
        };
        Ok(Self {
            topics,
            user_data,
            owned_partitions,
            generation: (generation >= 0).then_some(generation),
            rack: rack.filter(|rack| !rack.is_empty()).map(|rack| Arc::from(&*rack)),
        })
    }

    /// Only the topics, by the fields that every version begins with.
    ///
    /// # Errors
    /// These fields end early, or the version is negative.
    pub fn decode_topics(bytes: &Bytes) -> Result<Vec<Arc<str>>, Malformed> {
        let (_, mut reader) = reader(bytes, "a subscription's version")?;
        Ok(read_first_fields(&mut reader)?.0)
    }
}

/// What a member shall read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    pub partitions: Vec<TopicPartition>,
    /// The assignor's own data; `None` is null.
    pub user_data: Option<Bytes>,
}

impl Assignment {
    /// Writes version 3. Topics stand in the order in which they first appear.
    ///
    /// # Errors
    /// A name is longer than the wire can say.
    pub fn encode(&self) -> Result<Bytes, Malformed> {
        encode(|writer| {
            write_partitions(writer, "assigned partitions", &self.partitions);
            writer.nullable_bytes("user data", self.user_data.as_deref());
        })
    }

    /// # Errors
    /// The bytes end early, or the version is negative.
    pub fn decode(bytes: &Bytes) -> Result<Self, Malformed> {
        let (_, mut reader) = reader(bytes, "an assignment's version")?;
        Ok(Self {
            partitions: read_partitions(&mut reader, "assigned partitions")?,
            user_data: reader.nullable_bytes("user data")?.as_ref().map(own),
        })
    }
}

fn encode(write: impl FnOnce(&mut Writer)) -> Result<Bytes, Malformed> {
    let mut writer = Writer::frame(false);
    writer.i16(VERSION);
    write(&mut writer);
    Ok(writer.finish_whole_frame()?.slice(size_of::<i32>()..))
}

/// The version, and the fields behind it.
fn reader(bytes: &Bytes, what: &'static str) -> Result<(i16, Reader), Malformed> {
    let mut reader = Reader::new(bytes.clone(), false);
    match reader.i16(what)? {
        version @ 0.. => Ok((version, reader)),
        version => Err(Malformed::OutOfRange {
            what,
            value: i64::from(version),
        }),
    }
}

fn read_first_fields(reader: &mut Reader) -> Result<(Vec<Arc<str>>, Option<Bytes>), Malformed> {
    let topics = reader.array("topics", LEAST_STRING_BYTES, |reader| {
        Ok(Arc::from(&*reader.string("a topic's name")?))
    })?;
    Ok((topics, reader.nullable_bytes("user data")?.as_ref().map(own)))
}

/// A copy, so that a few bytes do not keep a large frame.
fn own(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

/// Reads topics with their partitions, as one list. Sticky assignors write their own data so, too.
pub(crate) fn read_partitions(
    reader: &mut Reader,
    what: &'static str,
) -> Result<Vec<TopicPartition>, Malformed> {
    let topics = reader.array(what, LEAST_TOPIC_BYTES, |reader| {
        let topic: Arc<str> = Arc::from(&*reader.string("a topic's name")?);
        Ok((topic, reader.i32_array("partitions")?))
    })?;
    let named = |(topic, partitions): (Arc<str>, Vec<i32>)| {
        partitions
            .into_iter()
            .map(move |partition| TopicPartition::new(topic.clone(), partition))
    };
    Ok(topics.into_iter().flat_map(named).collect())
}

/// Writes partitions by topic, in the order in which the topics first appear.
pub(crate) fn write_partitions<'a>(
    writer: &mut Writer,
    what: &'static str,
    partitions: impl IntoIterator<Item = &'a TopicPartition>,
) {
    let mut topics: Vec<(&Arc<str>, Vec<i32>)> = Vec::new();
    let mut places = crate::ordered::OrderedMap::new();
    for TopicPartition { topic, partition } in partitions {
        let place = *places.entry(topic).or_insert_with(|| {
            topics.push((topic, Vec::new()));
            topics.len() - 1
        });
        topics[place].1.push(*partition);
    }
    writer.array(what, &topics, |writer, (topic, partitions)| {
        writer.string("a topic's name", topic);
        writer.i32_array("partitions", partitions);
    });
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use kafka_wire::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
    use kafka_wire_core::{ApiVersion, DecodeLimits, KafkaDecode, KafkaEncode};

    use super::*;

    fn partition(topic: &str, partition: i32) -> TopicPartition {
        TopicPartition::new(topic, partition)
    }

    fn subscription() -> Subscription {
        Subscription {
            topics: vec!["a".into(), "b".into()],
            user_data: Some(Bytes::from_static(b"own")),
            owned_partitions: vec![partition("a", 0), partition("a", 7), partition("b", 1)],
            generation: Some(5),
            rack: Some("r1".into()),
        }
    }

    /// The codec that is generated from Kafka's schemas reads it, and writes it back in `version`.
    fn by_schema<T: KafkaDecode + KafkaEncode>(bytes: &Bytes, version: i16) -> Bytes {
        let body = bytes.slice(2..);
        let message = T::decode_from_bytes(body, ApiVersion::new(VERSION), DecodeLimits::default()).unwrap();
        let mut written = BytesMut::from(&version.to_be_bytes()[..]);
        written.extend_from_slice(&message.encode_to_bytes(ApiVersion::new(version)).unwrap());
        written.freeze()
    }

    #[test]
    fn subscriptions_are_those_of_kafkas_schemas_in_every_version() {
        let written = subscription().encode().unwrap();
        for version in 0..=VERSION {
            let theirs = by_schema::<ConsumerProtocolSubscription>(&written, version);
            let mut expected = subscription();
            if version < 1 {
                expected.owned_partitions.clear();
            }
            if version < 2 {
                expected.generation = None;
            }
            if version < 3 {
                expected.rack = None;
            }
            assert_eq!(Subscription::decode(&theirs), Ok(expected), "version {version}");
        }
        assert_eq!(
            by_schema::<ConsumerProtocolSubscription>(&written, VERSION),
            written
        );
    }

    #[test]
    fn assignments_are_those_of_kafkas_schemas_in_every_version() {
        let assignment = Assignment {
            partitions: vec![partition("b", 1), partition("a", 3), partition("b", 0)],
            user_data: None,
        };
        let written = assignment.encode().unwrap();
        let in_order = vec![partition("b", 1), partition("b", 0), partition("a", 3)];
        for version in 0..=VERSION {
            let theirs = by_schema::<ConsumerProtocolAssignment>(&written, version);
            let read = Assignment::decode(&theirs).unwrap();
            assert_eq!(read.partitions, in_order, "by topic, as they first appear");
            assert_eq!(read.user_data, None);
        }
        assert_eq!(
            by_schema::<ConsumerProtocolAssignment>(&written, VERSION),
            written
        );
    }

    #[test]
    fn nothing_is_a_value_too() {
        let nothing = Subscription::default();
        assert_eq!(
            nothing.encode().unwrap()[..],
            *b"\0\x03\0\0\0\0\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\xff\xff"
        );
        assert_eq!(Subscription::decode(&nothing.encode().unwrap()), Ok(nothing));
        let none = Assignment::default();
        assert_eq!(none.encode().unwrap()[..], *b"\0\x03\0\0\0\0\xff\xff\xff\xff");
        assert_eq!(Assignment::decode(&none.encode().unwrap()), Ok(none));
    }

    #[test]
    fn a_newer_version_is_read_as_far_as_it_is_known() {
        let mut newer = BytesMut::from(&subscription().encode().unwrap()[..]);
        newer[1] = 9;
        newer.extend_from_slice(b"more");
        assert_eq!(Subscription::decode(&newer.freeze()), Ok(subscription()));
    }

    #[test]
    fn topics_are_read_whatever_follows_the_first_fields() {
        let of = |bytes: &'static [u8]| Subscription::decode_topics(&Bytes::from_static(bytes));
        let topics = of(b"\0\x03\0\0\0\x02\0\x01a\0\x02bb\xff\xff\xff\xffwhatever").unwrap();
        assert_eq!(topics, ["a".into(), "bb".into()]);
        assert!(
            of(b"\0\0\x7f\xff\xff\xff").is_err(),
            "a count that the bytes do not have"
        );
        assert!(of(b"\0\0\0\0\0\0").is_err(), "user data is missing");
        assert!(
            of(b"\xff\xff\0\0\0\0\xff\xff\xff\xff").is_err(),
            "a negative version"
        );
        assert!(of(b"").is_err());
    }

    #[test]
    fn what_ends_early_is_refused_at_every_length() {
        let whole = subscription().encode().unwrap();
        for length in 0..whole.len() {
            assert!(Subscription::decode(&whole.slice(..length)).is_err(), "{length}");
        }
    }

    #[test]
    fn a_name_that_the_wire_cannot_say_is_refused() {
        let long = Subscription {
            rack: Some("r".repeat(40_000).into()),
            ..Subscription::default()
        };
        assert!(long.encode().is_err());
    }
}
