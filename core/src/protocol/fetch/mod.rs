//! Fetch, versions 4 to 18: records on their way out of a log.
//!
//! By hand, because an answer may name ranges of files instead of holding their bytes: the host
//! sends those straight from the page cache. From version 7 on a fetch may belong to a session, in
//! which only what changed is said (KIP-227); from 12 on it carries the epoch of the last record
//! fetched, so that a leader sees when the logs part ways (KIP-595); from 13 on topics are named
//! by id (KIP-516); from 16 on an answer tells the new leader (KIP-951).
//!
//! A follower is a reader too; [`Fetched`] is the leader's answer as it takes it. [`FetchSession`] is
//! what readers remember of their sessions.
//!
//! Invariant: the length of an answer is known before its first byte is sent.

mod fetched;
mod request;
mod response;
mod session;

pub use fetched::{Fetched, FetchedPartition, FetchedRecords, FetchedTopic};
pub use request::{FetchPartition, FetchRequest, FetchTopic, ForgottenTopic};
pub use response::{
    AbortedTransaction, EpochEndOffset, FetchPartitionResponse, FetchResponse, FetchTopicResponse, SnapshotId,
};
pub use session::{Built, FetchSession, SessionAnswer, Wanted};

use kafka_wire_core::StrBytes;

use super::primitives::{Reader, Writer};
use crate::error::Malformed;
use crate::types::Uuid;

const FIRST_WITH_LOG_START: i16 = 5;
const FIRST_WITH_SESSION: i16 = 7;
const FIRST_WITH_LEADER_EPOCH: i16 = 9;
const FIRST_WITH_RACK: i16 = 11;
const FIRST_WITH_LAST_FETCHED_EPOCH: i16 = 12;
const FIRST_WITH_TOPIC_ID: i16 = 13;
const FIRST_WITH_REPLICA_STATE: i16 = 15;
const FIRST_WITH_NODE_ENDPOINTS: i16 = 16;
const FIRST_WITH_DIRECTORY_ID: i16 = 17;
const FIRST_WITH_HIGH_WATERMARK: i16 = 18;

/// Least bytes of a topic on the wire: an empty name, no partitions, no tagged fields.
const LEAST_TOPIC_BYTES: usize = 3;

/// A topic by its name or, from version 13 on, by its id.
fn decode_topic(reader: &mut Reader, version: i16) -> Result<(StrBytes, Uuid), Malformed> {
    if version >= FIRST_WITH_TOPIC_ID {
        Ok((StrBytes::default(), reader.uuid("topic id")?))
    } else {
        Ok((reader.string("topic name")?, Uuid::ZERO))
    }
}

fn encode_topic(writer: &mut Writer, version: i16, name: &str, topic_id: Uuid) {
    if version >= FIRST_WITH_TOPIC_ID {
        writer.uuid(topic_id);
    } else {
        writer.string("topic name", name);
    }
}
