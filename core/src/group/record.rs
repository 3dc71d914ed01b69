//! The records of `__consumer_offsets`: Kafka's own schemas (`OffsetCommitKey/Value`,
//! `GroupMetadataKey/Value`), byte for byte.
//!
//! A key begins with two bytes that say what the record is; 0 and 1 both are offsets, 2 is a group.
//! Kafka 4.4 writes key versions 1 and 2, offsets in value version 4 (1 when the client itself said when
//! they expire) and groups in version 3. Older versions are read too. Keys of the consumer protocol
//! (3 and above) are passed over: this coordinator knows classic groups alone.

use std::sync::Arc;

use bytes::Bytes;

use super::offset::{OffsetAndMetadata, OffsetKey};
use crate::coordinator::CoordinatorRecord;
use crate::error::Malformed;
use crate::protocol::primitives::{Reader, Writer, tagged_field};
use crate::types::{Millis, NO_EPOCH, NO_TIMESTAMP};

const OFFSET_KEY: i16 = 1;
const GROUP_KEY: i16 = 2;
const OFFSET_VALUE: i16 = 4;
/// The last offset value that can hold when it expires.
const OFFSET_VALUE_WITH_EXPIRY: i16 = 1;
const GROUP_VALUE: i16 = 3;
/// From this version on values are flexible; none above is known.
const FLEXIBLE: i16 = 4;

/// What a record's key names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    Offset(OffsetKey),
    Group(Arc<str>),
    /// Of a kind that is not kept here.
    Other(i16),
}

impl Key {
    pub fn decode(key: &Bytes) -> Result<Self, Malformed> {
        let mut reader = Reader::new(key.clone(), false);
        let kind = reader.i16("the kind of a record")?;
        Ok(match kind {
            0 | OFFSET_KEY => Key::Offset(OffsetKey {
                group: name(&mut reader, "a group id")?,
                topic: name(&mut reader, "a topic's name")?,
                partition: reader.i32("a partition")?,
            }),
            GROUP_KEY => Key::Group(name(&mut reader, "a group id")?),
            other => Key::Other(other),
        })
    }
}

/// A classic group as it is stored: its last generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredGroup {
    pub protocol_type: Arc<str>,
    pub generation: i32,
    pub protocol: Option<Arc<str>>,
    pub leader: Option<Arc<str>>,
    /// -1: not known.
    pub state_since_ms: Millis,
    pub members: Vec<StoredMember>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMember {
    pub id: Arc<str>,
    pub instance_id: Option<Arc<str>>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    pub rebalance_timeout_ms: i32,
    pub session_timeout_ms: i32,
    pub subscription: Bytes,
    pub assignment: Bytes,
}

/// The record that stores an offset.
pub fn offset_record(key: &OffsetKey, offset: &OffsetAndMetadata) -> CoordinatorRecord {
    CoordinatorRecord {
        key: offset_key(key),
        value: Some(encode_offset(offset)),
    }
}

/// The record that takes an offset away.
pub fn offset_tombstone(key: &OffsetKey) -> CoordinatorRecord {
    CoordinatorRecord {
        key: offset_key(key),
        value: None,
    }
}

pub fn group_record(group: &str, stored: &StoredGroup) -> CoordinatorRecord {
    CoordinatorRecord {
        key: group_key(group),
        value: Some(encode_group(stored)),
    }
}

pub fn group_tombstone(group: &str) -> CoordinatorRecord {
    CoordinatorRecord {
        key: group_key(group),
        value: None,
    }
}

/// A version, and what `write` writes behind it.
fn bytes(flexible: bool, version: i16, write: impl FnOnce(&mut Writer)) -> Bytes {
    tagged_field(|writer| {
        writer.i16(version);
        writer.set_flexible(flexible);
        write(writer);
    })
}

fn offset_key(key: &OffsetKey) -> Bytes {
    bytes(false, OFFSET_KEY, |writer| {
        writer.string("a group id", &key.group);
        writer.string("a topic's name", &key.topic);
        writer.i32(key.partition);
    })
}

fn group_key(group: &str) -> Bytes {
    bytes(false, GROUP_KEY, |writer| writer.string("a group id", group))
}

fn encode_offset(offset: &OffsetAndMetadata) -> Bytes {
    if let Some(expires_at) = offset.expire_timestamp_ms {
        return bytes(false, OFFSET_VALUE_WITH_EXPIRY, |writer| {
            writer.i64(offset.offset);
            writer.string("an offset's metadata", &offset.metadata);
            writer.i64(offset.commit_timestamp_ms);
            writer.i64(expires_at);
        });
    }
    bytes(true, OFFSET_VALUE, |writer| {
        writer.i64(offset.offset);
        writer.i32(offset.leader_epoch);
        writer.string("an offset's metadata", &offset.metadata);
        writer.i64(offset.commit_timestamp_ms);
        let topic_id = tagged_field(|writer| writer.uuid(offset.topic_id));
        match offset.topic_id.is_zero() {
            true => writer.tagged_fields(&[]),
            false => writer.tagged_fields(&[(0, topic_id)]),
        }
    })
}

fn encode_group(group: &StoredGroup) -> Bytes {
    bytes(false, GROUP_VALUE, |writer| {
        writer.string("a protocol type", &group.protocol_type);
        writer.i32(group.generation);
        writer.nullable_string("a protocol", group.protocol.as_deref());
        writer.nullable_string("a leader", group.leader.as_deref());
        writer.i64(group.state_since_ms);
        writer.array("members", &group.members, |writer, member| {
            writer.string("a member id", &member.id);
            writer.nullable_string("an instance id", member.instance_id.as_deref());
            writer.string("a client id", &member.client_id);
            writer.string("a client's host", &member.client_host);
            writer.i32(member.rebalance_timeout_ms);
            writer.i32(member.session_timeout_ms);
            writer.nullable_bytes("a subscription", Some(&member.subscription));
            writer.nullable_bytes("an assignment", Some(&member.assignment));
        });
    })
}

/// Reads the value of an offset's record.
pub fn decode_offset(value: &Bytes) -> Result<OffsetAndMetadata, Malformed> {
    let (version, mut reader) = value_reader(value)?;
    let offset = reader.i64("an offset")?;
    let leader_epoch = match version {
        3.. => reader.i32("a leader epoch")?,
        _ => NO_EPOCH,
    };
    let metadata = name(&mut reader, "an offset's metadata")?;
    let commit_timestamp_ms = reader.i64("a commit's time")?;
    let expire_timestamp_ms = match version {
        1 => Some(reader.i64("an offset's end")?).filter(|&at| at != NO_TIMESTAMP),
        _ => None,
    };
    let mut topic_id = crate::types::Uuid::ZERO;
    reader.tagged_fields(|tag, field| {
        if tag == 0 {
            topic_id = field.uuid("a topic's id")?;
        }
        Ok(tag == 0)
    })?;
    Ok(OffsetAndMetadata {
        offset,
        leader_epoch,
        metadata,
        commit_timestamp_ms,
        expire_timestamp_ms,
        topic_id,
    })
}

/// Reads the value of a group's record.
pub fn decode_group(value: &Bytes) -> Result<StoredGroup, Malformed> {
    let (version, mut reader) = value_reader(value)?;
    let group = StoredGroup {
        protocol_type: name(&mut reader, "a protocol type")?,
        generation: reader.i32("a generation")?,
        protocol: nullable_name(&mut reader, "a protocol")?,
        leader: nullable_name(&mut reader, "a leader")?,
        state_since_ms: match version {
            2.. => reader.i64("a state's time")?,
            _ => NO_TIMESTAMP,
        },
        members: reader.array("members", LEAST_MEMBER_BYTES, |reader| {
            decode_member(reader, version)
        })?,
    };
    reader.skip_tagged_fields()?;
    Ok(group)
}

/// A member takes at least so many bytes in any version.
const LEAST_MEMBER_BYTES: usize = 9;

fn decode_member(reader: &mut Reader, version: i16) -> Result<StoredMember, Malformed> {
    let id = name(reader, "a member id")?;
    let instance_id = match version {
        3.. => nullable_name(reader, "an instance id")?,
        _ => None,
    };
    let client_id = name(reader, "a client id")?;
    let client_host = name(reader, "a client's host")?;
    let rebalance_timeout_ms = match version {
        1.. => reader.i32("a rebalance timeout")?,
        _ => -1,
    };
    let session_timeout_ms = reader.i32("a session timeout")?;
    let member = StoredMember {
        id,
        instance_id,
        client_id,
        client_host,
        rebalance_timeout_ms: match rebalance_timeout_ms {
            -1 => session_timeout_ms,
            own => own,
        },
        session_timeout_ms,
        subscription: reader.nullable_bytes("a subscription")?.unwrap_or_default(),
        assignment: reader.nullable_bytes("an assignment")?.unwrap_or_default(),
    };
    reader.skip_tagged_fields()?;
    Ok(member)
}

fn value_reader(value: &Bytes) -> Result<(i16, Reader), Malformed> {
    let mut reader = Reader::new(value.clone(), false);
    let version = reader.i16("a value's version")?;
    if !(0..=FLEXIBLE).contains(&version) {
        let value = i64::from(version);
        return Err(Malformed::OutOfRange {
            what: "a value's version",
            value,
        });
    }
    reader.set_flexible(version >= FLEXIBLE);
    Ok((version, reader))
}

/// A copy: what is kept shall not hold the whole batch.
fn name(reader: &mut Reader, what: &'static str) -> Result<Arc<str>, Malformed> {
    Ok(Arc::from(&*reader.string(what)?))
}

fn nullable_name(reader: &mut Reader, what: &'static str) -> Result<Option<Arc<str>>, Malformed> {
    Ok(reader.nullable_string(what)?.map(|text| Arc::from(&*text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Batches;
    use crate::record::compression::PURE_RUST;

    const LOGS: [&[u8]; 2] = [
        include_bytes!("../../../tests/fixtures/__consumer_offsets-0/00000000000000000000.log"),
        include_bytes!("../../../tests/fixtures/__consumer_offsets-1/00000000000000000000.log"),
    ];

    /// Every record that Kafka 4.4 wrote is read, and written again to the same bytes.
    #[test]
    fn the_records_of_kafka_4_4_are_written_to_the_same_bytes() {
        let (mut offsets, mut groups, mut others) = (0, 0, 0);
        for log in LOGS {
            for batch in Batches::new(Bytes::from_static(log)) {
                let batch = batch.unwrap();
                if batch.header.is_control() {
                    continue;
                }
                for record in batch.records(&PURE_RUST, 1 << 20).unwrap() {
                    let record = record.unwrap();
                    let kafka = CoordinatorRecord {
                        key: record.key.unwrap(),
                        value: record.value,
                    };
                    let ours = match (Key::decode(&kafka.key).unwrap(), &kafka.value) {
                        (Key::Offset(key), Some(value)) => {
                            offsets += 1;
                            offset_record(&key, &decode_offset(value).unwrap())
                        }
                        (Key::Group(group), Some(value)) => {
                            groups += 1;
                            group_record(&group, &decode_group(value).unwrap())
                        }
                        _ => {
                            others += 1;
                            continue;
                        }
                    };
                    assert_eq!(ours, kafka);
                }
            }
        }
        assert_eq!((offsets, groups), (9, 3));
        assert!(others > 0);
    }

    #[test]
    fn older_values_are_read() {
        let value = [
            &[0, 1][..],
            &7i64.to_be_bytes(),
            &[0, 1, b'm'],
            &5i64.to_be_bytes(),
            &9i64.to_be_bytes(),
        ];
        let offset = decode_offset(&value.concat().into()).unwrap();
        assert_eq!((offset.offset, &*offset.metadata), (7, "m"));
        assert_eq!(
            (offset.commit_timestamp_ms, offset.expire_timestamp_ms),
            (5, Some(9))
        );
        assert_eq!(&encode_offset(&offset)[..], value.concat());
        assert!(
            decode_offset(&Bytes::from_static(&[0, 5, 0])).is_err(),
            "a version of the future"
        );
    }

    #[cfg(not(target_arch = "wasm32"))]
    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), version in 0u8..6) {
            let value = Bytes::from([&[0, version][..], &bytes].concat());
            let _ = (Key::decode(&value), decode_offset(&value), decode_group(&value));
        }
    }
}
