//! What a producer does with a record, stage by stage.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::error::ErrorCode;
use crate::types::{
    BrokerId, Millis, Offset, PartitionIndex, ProducerEpoch, ProducerId, Sequence, TopicPartition,
};

/// Facts of a producer. Records and batches are numbered by it, from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[non_exhaustive]
pub enum ProducerFact {
    /// It begins, with these settings in force.
    ProducerConfigured {
        batch_size_bytes: u64,
        linger_ms: Millis,
        buffer_memory_bytes: u64,
        compression: String,
        max_in_flight: u32,
    },
    /// An interceptor has seen the record, and perhaps made another of it.
    RecordIntercepted {
        by: String,
        changed: bool,
    },
    /// An interceptor failed; it is passed over, and nothing else is.
    InterceptorFailed {
        by: String,
        why: String,
    },
    /// The record waits for metadata or memory, at most until then; the application sends no more meanwhile.
    RecordBlocked {
        record: u64,
        until_ms: Millis,
        why: String,
    },
    /// Sizes of key and value; none for null.
    RecordSerialized {
        record: u64,
        key_bytes: Option<u32>,
        value_bytes: Option<u32>,
    },
    PartitionChosen {
        record: u64,
        partition: TopicPartition,
        why: String,
    },
    /// Records without a key go elsewhere from now on; each candidate with its weight.
    StickySwitched {
        topic: Arc<str>,
        from: Option<PartitionIndex>,
        to: PartitionIndex,
        weights: Vec<(PartitionIndex, u64)>,
    },
    RecordAppended {
        record: u64,
        partition: TopicPartition,
        batch: u64,
        batch_bytes: u64,
    },
    /// The batch takes no more and goes out.
    BatchDrained {
        partition: TopicPartition,
        batch: u64,
        records: u32,
        bytes: u64,
        sequence: Option<Sequence>,
        why: String,
    },
    RequestSent {
        node: BrokerId,
        batches: Vec<u64>,
        bytes: u64,
    },
    BatchAcknowledged {
        partition: TopicPartition,
        batch: u64,
        base_offset: Offset,
        records: u32,
    },
    /// It failed for a reason that may pass, and is sent again.
    BatchRetried {
        partition: TopicPartition,
        batch: u64,
        attempt: u32,
        again_ms: Millis,
        code: ErrorCode,
    },
    /// The broker finds it too large: its records go in these.
    BatchSplit {
        partition: TopicPartition,
        batch: u64,
        into: Vec<u64>,
    },
    BatchFailed {
        partition: TopicPartition,
        batch: u64,
        records: u32,
        why: String,
    },
    /// The record never came into a batch.
    RecordFailed {
        record: u64,
        why: String,
    },
    ProducerIdAssigned {
        id: ProducerId,
        epoch: ProducerEpoch,
    },
    /// A broker gives it no id.
    ProducerIdRefused {
        code: ErrorCode,
        again_ms: Millis,
    },
    /// What became of some sequence numbers is not known, or the broker misses some: they begin anew.
    EpochBumped {
        id: ProducerId,
        epoch: ProducerEpoch,
        partitions: Vec<TopicPartition>,
    },
    /// Whether the batch was stored is not known; nothing new goes to the partition until it is settled.
    SequenceUnresolved {
        partition: TopicPartition,
        next: Sequence,
    },
    /// Every record that was sent before it has ended.
    FlushEnded {
        flush: u64,
    },
    Closed,
}

impl fmt::Display for ProducerFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProducerConfigured {
                batch_size_bytes,
                linger_ms,
                buffer_memory_bytes,
                compression,
                max_in_flight,
            } => write!(
                f,
                "begins with batch.size={batch_size_bytes}, linger.ms={linger_ms}, buffer.memory={buffer_memory_bytes}, compression.type={compression}, at most {max_in_flight} requests in flight"
            ),
            Self::RecordIntercepted { by, changed: true } => write!(f, "interceptor {by} changes the record"),
            Self::RecordIntercepted { by, changed: false } => write!(f, "interceptor {by} sees the record"),
            Self::InterceptorFailed { by, why } => write!(f, "interceptor {by} fails: {why}"),
            Self::RecordBlocked {
                record,
                until_ms,
                why,
            } => {
                write!(f, "record {record} waits until {until_ms} ms at most: {why}")
            }
            Self::RecordSerialized {
                record,
                key_bytes,
                value_bytes,
            } => {
                write!(f, "record {record}: ")?;
                sized(f, "key", *key_bytes)?;
                f.write_str(", ")?;
                sized(f, "value", *value_bytes)
            }
            Self::PartitionChosen {
                record,
                partition,
                why,
            } => write!(f, "record {record} goes to {partition}: {why}"),
            Self::StickySwitched { topic, from, to, .. } => {
                write!(f, "records of {topic} without a key go to partition {to} now")?;
                let mut left = from.iter().filter(|from| *from != to);
                left.try_for_each(|from| write!(f, ", no more to {from}"))
            }
            Self::RecordAppended {
                record,
                partition,
                batch,
                batch_bytes,
            } => {
                write!(
                    f,
                    "{partition}: record {record} is in batch {batch} of {batch_bytes} bytes"
                )
            }
            Self::BatchDrained {
                partition,
                batch,
                records,
                bytes,
                sequence,
                why,
            } => {
                write!(
                    f,
                    "{partition}: batch {batch} goes out with {records} records, {bytes} bytes ({why})"
                )?;
                sequence
                    .iter()
                    .try_for_each(|first| write!(f, ", from sequence {first}"))
            }
            Self::RequestSent { node, batches, bytes } => {
                write!(f, "sends batches {batches:?} to broker {node}, {bytes} bytes")
            }
            Self::BatchAcknowledged {
                partition,
                batch,
                base_offset,
                records,
            } => {
                write!(
                    f,
                    "{partition}: batch {batch} is acknowledged, {records} records from offset {base_offset}"
                )
            }
            Self::BatchRetried {
                partition,
                batch,
                attempt,
                again_ms,
                code,
            } => {
                write!(
                    f,
                    "{partition}: batch {batch} failed with {code}, attempt {attempt}; again at {again_ms} ms"
                )
            }
            Self::BatchSplit {
                partition,
                batch,
                into,
            } => {
                write!(f, "{partition}: batch {batch} is too large, split into {into:?}")
            }
            Self::BatchFailed {
                partition,
                batch,
                records,
                why,
            } => {
                write!(f, "{partition}: batch {batch} of {records} records failed: {why}")
            }
            Self::RecordFailed { record, why } => write!(f, "record {record} failed: {why}"),
            Self::ProducerIdAssigned { id, epoch } => write!(f, "is producer {id} in epoch {epoch}"),
            Self::ProducerIdRefused { code, again_ms } => {
                write!(f, "is given no producer id: {code}; asks again at {again_ms} ms")
            }
            Self::EpochBumped {
                id,
                epoch,
                partitions,
            } => {
                write!(f, "producer {id} begins epoch {epoch}")?;
                partitions
                    .iter()
                    .try_for_each(|partition| write!(f, ", {partition} from sequence 0"))
            }
            Self::SequenceUnresolved { partition, next } => {
                write!(
                    f,
                    "{partition}: whether all below sequence {next} is stored is not known"
                )
            }
            Self::FlushEnded { flush } => write!(f, "flush {flush} is done"),
            Self::Closed => f.write_str("the producer is closed"),
        }
    }
}

fn sized(f: &mut fmt::Formatter<'_>, what: &str, bytes: Option<u32>) -> fmt::Result {
    match bytes {
        Some(bytes) => write!(f, "{what} of {bytes} bytes"),
        None => write!(f, "{what} null"),
    }
}
