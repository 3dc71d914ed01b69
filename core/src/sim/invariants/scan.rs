//! What a disk really holds: batches read from the files, with nothing believed but their bytes.

use std::sync::Arc;

use bytes::Bytes;

use crate::disk::ReadAt;
use crate::disk::memory::MemoryDisk;
use crate::record::compression::PureRust;
use crate::record::{Batch, BatchHeader, Batches};
use crate::sim::world::client::read_value;
use crate::trace::NodeId;
use crate::types::{LeaderEpoch, Millis, Offset, ProducerEpoch, ProducerId, Sequence, TopicPartition};

/// The log directory that worlds have.
pub const DIR: u16 = 0;
/// Behind the first fields, base offset, length and leader epoch, nothing is ever changed.
const FIXED_FROM: usize = 16;
/// More is not unpacked.
const MOST_BYTES: usize = 16 << 20;

/// One batch as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub base: Offset,
    pub last: Offset,
    pub epoch: LeaderEpoch,
    /// Over the bytes that never change.
    pub hash: u64,
    pub producer: Option<(ProducerId, ProducerEpoch, Sequence, Sequence)>,
    /// Whose each record is, and its number.
    pub records: Arc<[Option<(NodeId, u64)>]>,
    pub max_timestamp_ms: Millis,
    pub position: u64,
    pub size: u32,
}

impl Mark {
    /// Whether both are the same records, wherever they stand.
    pub fn is_same(&self, other: &Mark) -> bool {
        (self.base, self.last, self.epoch, self.hash) == (other.base, other.last, other.epoch, other.hash)
    }

    /// Whose record lies at the offset, and its number.
    pub fn record_at(&self, offset: Offset) -> Option<(NodeId, u64)> {
        let nth = usize::try_from(offset - self.base).ok()?;
        self.records.get(nth).copied().flatten()
    }
}

pub fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A batch's mark; `position` is where it stands in its segment.
pub fn mark(bytes: &Bytes, position: u64) -> Option<Mark> {
    let batch = Batches::new(bytes.clone()).next()?.ok()?;
    Some(mark_of(&batch, position))
}

fn mark_of(batch: &Batch, position: u64) -> Mark {
    let header: BatchHeader = batch.header;
    let records = batch.records(&PureRust, MOST_BYTES).ok();
    let records = records.into_iter().flatten().map_while(Result::ok);
    let whose = records.map(|record| read_value(&record.value?));
    Mark {
        base: header.base_offset,
        last: header.last_offset(),
        epoch: header.partition_leader_epoch,
        hash: hash(batch.bytes.get(FIXED_FROM..).unwrap_or_default()),
        producer: header.has_producer_id().then(|| {
            (
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                header.last_sequence(),
            )
        }),
        records: whose.collect(),
        max_timestamp_ms: header.max_timestamp,
        position,
        size: batch.bytes.len() as u32,
    }
}

/// The path of a segment's file with this ending.
pub fn path(partition: &TopicPartition, segment: Offset, ending: &str) -> String {
    format!("{partition}/{segment:020}.{ending}")
}

/// A segment as its files have it.
pub struct Segment {
    pub base: Offset,
    pub marks: Vec<Mark>,
    /// Offset and position of each entry of the offset index.
    pub index: Vec<(Offset, u64)>,
    /// Time and offset of each entry of the time index.
    pub times: Vec<(Millis, Offset)>,
}

/// All segments of a replica, in order; none when there is no such directory.
pub fn segments(disk: &MemoryDisk, partition: &TopicPartition) -> Vec<Segment> {
    let Ok(names) = disk.list(DIR, &partition.to_string()) else {
        return Vec::new();
    };
    let bases = names
        .iter()
        .filter_map(|name| name.strip_suffix(".log")?.parse().ok());
    bases.map(|base| segment(disk, partition, base)).collect()
}

fn segment(disk: &MemoryDisk, partition: &TopicPartition, base: Offset) -> Segment {
    let read = |ending| {
        disk.read_file(DIR, &path(partition, base, ending))
            .unwrap_or_default()
    };
    let mut marks = Vec::new();
    let mut position = 0;
    for batch in Batches::new(read("log")) {
        let Ok(batch) = batch else { break };
        marks.push(mark_of(&batch, position));
        position += batch.bytes.len() as u64;
    }
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |word| u32::from_be_bytes(*word));
    let offset = |bytes: &[u8]| base + Offset::from(word(bytes));
    let time = |bytes: &[u8]| bytes.first_chunk().map_or(0, |time| i64::from_be_bytes(*time));
    // Room that is not used yet is zero.
    let is_used = |entry: &&[u8]| entry.iter().any(|byte| *byte != 0);
    let (index, times) = (read("index"), read("timeindex"));
    let index = index.chunks_exact(8).take_while(is_used);
    let times = times.chunks_exact(12).take_while(is_used);
    Segment {
        base,
        index: index
            .map(|entry| (offset(entry), u64::from(word(&entry[4..]))))
            .collect(),
        times: times.map(|entry| (time(entry), offset(&entry[8..]))).collect(),
        marks,
    }
}

/// All batches of a replica, in order.
pub fn marks(disk: &MemoryDisk, partition: &TopicPartition) -> Vec<Mark> {
    segments(disk, partition)
        .into_iter()
        .flat_map(|segment| segment.marks)
        .collect()
}
