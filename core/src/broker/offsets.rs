//! Offsets by name: ListOffsets (earliest, latest, by time) and OffsetForLeaderEpoch.
//!
//! Most are known at once. A search by time, or for the greatest timestamp, reads files: it is a job,
//! and the request is joined again when the last job is done.

use super::State;
use super::caller::Caller;
use super::jobs::JobFor;
use super::parked::Parked;
use crate::cx::Cx;
use crate::error::{DiskError, ErrorCode, Refused};
use crate::log::{TimeLocated, TimePlan};
use crate::ordered::OrderedMap;
use crate::protocol::messages::list_offsets_request::ListOffsetsPartition;
use crate::protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use crate::protocol::messages::offset_for_leader_epoch_request::OffsetForLeaderPartition;
use crate::protocol::messages::offset_for_leader_epoch_response::{
    EpochEndOffset, OffsetForLeaderTopicResult,
};
use crate::protocol::messages::{
    ListOffsetsRequest, ListOffsetsResponse, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
    message,
};
use crate::replica::ParkedId;
use crate::replica::partition::{Partition, PartitionId};
use crate::types::{LeaderEpoch, Millis, Offset, Uuid};

/// The timestamps that are no times (`ListOffsetsRequest`).
const LATEST: Millis = -1;
const EARLIEST: Millis = -2;
const MAX_TIMESTAMP: Millis = -3;
const EARLIEST_LOCAL: Millis = -4;
const LATEST_TIERED: Millis = -5;
const EARLIEST_PENDING_UPLOAD: Millis = -6;

/// Replica ids below this ask as consumers do.
const FIRST_REPLICA: i32 = 0;

/// A ListOffsets that waits for jobs.
#[derive(Clone, Debug)]
pub(super) struct OffsetsWait {
    caller: Caller,
    answer: ListOffsetsResponse,
    /// Place in the answer, the partition, and the offset below which a record counts.
    searches: Vec<Search>,
    jobs: u32,
}

#[derive(Clone, Copy, Debug)]
struct Search {
    topic: usize,
    partition: usize,
    id: PartitionId,
    limit: Offset,
}

/// What is known of a partition's offset.
enum Found {
    Here(Millis, Offset, LeaderEpoch),
    /// A job has to look; only records below the offset count.
    Search(crate::log::Job, Offset),
}

/// "There is none": no error.
const NOTHING: Found = Found::Here(-1, -1, -1);

impl State {
    pub(super) fn list_offsets(&mut self, caller: Caller, request: &ListOffsetsRequest) {
        let mut wait = OffsetsWait {
            caller,
            answer: ListOffsetsResponse::default(),
            searches: Vec::new(),
            jobs: 0,
        };
        let parked = self.purgatory.next_id();
        let mut jobs = Vec::new();
        let twice = named_twice(request);
        for topic in request.topics.iter().filter(|topic| !topic.partitions.is_empty()) {
            let topic_at = wait.answer.topics.len();
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for asked in &topic.partitions {
                let found = match twice.get(&(&*topic.name, asked.partition_index)) {
                    None => self.find_offset(caller.version, &topic.name, asked, request),
                    // Answered once, where it is named first.
                    Some(&first) if std::ptr::eq(first, asked) => Err(ErrorCode::InvalidRequest.into()),
                    Some(_) => continue,
                };
                let found = found.map(|(id, found)| match found {
                    Found::Search(job, limit) => {
                        wait.searches.push(Search {
                            topic: topic_at,
                            partition: partitions.len(),
                            id,
                            limit,
                        });
                        jobs.push(job);
                        NOTHING
                    }
                    here => here,
                });
                partitions.push(row(caller.version, asked.partition_index, found));
            }
            wait.answer
                .topics
                .push(message(|row: &mut ListOffsetsTopicResponse| {
                    row.name = topic.name.clone();
                    row.partitions = partitions;
                }));
        }
        if jobs.is_empty() {
            return self.out.answer(&caller, wait.answer);
        }
        wait.jobs = jobs.len() as u32;
        self.purgatory.park(caller.conn, None, Parked::Offsets(wait));
        for (part, job) in jobs.into_iter().enumerate() {
            self.start_log_job(
                job,
                JobFor::Offset {
                    request: parked,
                    part,
                },
            );
        }
    }

    fn find_offset(
        &self,
        version: i16,
        topic: &str,
        asked: &ListOffsetsPartition,
        request: &ListOffsetsRequest,
    ) -> Result<(PartitionId, Found), Refused> {
        if needs_version(asked.timestamp) > version {
            return Err(ErrorCode::UnsupportedVersion.into());
        }
        let id = self.find_replica(topic, Uuid::ZERO, asked.partition_index)?;
        let partition = self.topics.partition(id);
        let partition = partition.ok_or(Refused::from(ErrorCode::UnknownTopicOrPartition))?;
        check_known_epoch(partition, asked.current_leader_epoch)?;
        let limit = match (request.replica_id < FIRST_REPLICA, request.isolation_level) {
            (false, _) => partition.log()?.log_end(),
            (true, 1) => partition.last_stable_offset(),
            (true, _) => partition.high_watermark(),
        };
        if asked.timestamp == LATEST && request.replica_id < FIRST_REPLICA {
            partition.check_offset_available()?;
        }
        Ok((id, offset_of(partition, asked.timestamp, limit)?))
    }

    /// A search is done.
    pub(super) fn time_located(
        &mut self,
        cx: &mut Cx,
        request: ParkedId,
        part: usize,
        found: Result<TimeLocated, DiskError>,
    ) {
        let Some(Parked::Offsets(wait)) = self.purgatory.get_mut(request) else {
            return;
        };
        wait.jobs -= 1;
        let Some(&search) = wait.searches.get(part) else {
            return;
        };
        let version = wait.caller.version;
        let wrong_index = found.ok().and_then(|located| located.wrong_index);
        let found = found.map(|located| located.found);
        let topic = wait.answer.topics.get_mut(search.topic);
        if let Some(answer) = topic.and_then(|topic| topic.partitions.get_mut(search.partition)) {
            let found = match found {
                Ok(Some(found)) if found.offset < search.limit => {
                    Ok(Found::Here(found.timestamp_ms, found.offset, found.leader_epoch))
                }
                Ok(_) => Ok(NOTHING),
                Err(_) => Err(ErrorCode::KafkaStorageError.into()),
            };
            *answer = row(version, answer.partition_index, found);
        }
        if wait.jobs == 0
            && let Some(Parked::Offsets(wait)) = self.purgatory.take(request)
        {
            self.out.answer(&wait.caller, wait.answer);
        }
        if let Some(segment) = wrong_index {
            self.index_is_wrong(search.id, segment);
        }
        if let Err(error) = found {
            let dir = self.topics.partition(search.id).map(Partition::dir);
            self.read_failed(cx, dir, error);
        }
    }

    pub(super) fn offset_for_leader_epoch(&mut self, caller: &Caller, request: &OffsetForLeaderEpochRequest) {
        let answer = message(|answer: &mut OffsetForLeaderEpochResponse| {
            answer.topics = request
                .topics
                .iter()
                .map(|topic| {
                    message(|row: &mut OffsetForLeaderTopicResult| {
                        row.topic = topic.topic.clone();
                        row.partitions = topic
                            .partitions
                            .iter()
                            .map(|asked| self.end_of_epoch(&topic.topic, asked))
                            .collect();
                    })
                })
                .collect();
        });
        self.out.answer(caller, answer);
    }

    fn end_of_epoch(&self, topic: &str, asked: &OffsetForLeaderPartition) -> EpochEndOffset {
        let found = || {
            let id = self.find_replica(topic, Uuid::ZERO, asked.partition)?;
            let partition = self.topics.partition(id);
            let partition = partition.ok_or(Refused::from(ErrorCode::UnknownTopicOrPartition))?;
            check_known_epoch(partition, asked.current_leader_epoch)?;
            partition.end_offset_for(asked.leader_epoch)
        };
        message(|row: &mut EpochEndOffset| {
            row.partition = asked.partition;
            row.leader_epoch = -1;
            row.end_offset = -1;
            match found() {
                Ok((epoch, end)) => (row.leader_epoch, row.end_offset) = (epoch, end),
                Err(refused) => row.error_code = refused.code.code(),
            }
        })
    }
}

/// Partitions that a request names more than once, each with its first place.
fn named_twice(request: &ListOffsetsRequest) -> OrderedMap<(&str, i32), &ListOffsetsPartition> {
    let mut first = OrderedMap::new();
    let mut twice = OrderedMap::new();
    for topic in &request.topics {
        for asked in &topic.partitions {
            let key = (&*topic.name, asked.partition_index);
            match first.get(&key) {
                Some(&place) => _ = twice.insert(key, place),
                None => _ = first.insert(key, asked),
            }
        }
    }
    twice
}

/// Here, unlike in a fetch, only -1 stands for "not known": other negative epochs are old ones.
fn check_known_epoch(partition: &Partition, known: LeaderEpoch) -> Result<(), Refused> {
    partition.log()?;
    if known < -1 {
        return Err(ErrorCode::FencedLeaderEpoch.into());
    }
    partition.check_leader(known)
}

/// The version of ListOffsets that has this special timestamp (`KafkaApis.isListOffsetsTimestampUnsupported`).
fn needs_version(timestamp: Millis) -> i16 {
    match timestamp {
        MAX_TIMESTAMP => 7,
        EARLIEST_LOCAL => 8,
        LATEST_TIERED => 9,
        EARLIEST_PENDING_UPLOAD => 11,
        // No version yet.
        ..EARLIEST_PENDING_UPLOAD => i16::MAX,
        _ => 0,
    }
}

/// What 4.4 answers without tiered storage (`UnifiedLog.fetchOffsetByTimestamp`): local is all there
/// is, nothing is tiered, nothing waits for upload.
fn offset_of(partition: &Partition, timestamp: Millis, limit: Offset) -> Result<Found, Refused> {
    let log = partition.log()?;
    let plan = match timestamp {
        LATEST => return Ok(Found::Here(-1, limit, partition.leader_epoch())),
        EARLIEST | EARLIEST_LOCAL => {
            let start = log.log_start();
            let epoch = log.epochs().epoch_for_offset(start);
            // An empty log begins with what its leader will write.
            let empty = (start == log.log_end()).then(|| partition.leader_epoch());
            return Ok(Found::Here(-1, start, epoch.or(empty).unwrap_or(-1)));
        }
        LATEST_TIERED | EARLIEST_PENDING_UPLOAD => return Ok(NOTHING),
        MAX_TIMESTAMP => log.plan_greatest_timestamp(),
        time => log.plan_time_lookup(time),
    };
    Ok(match plan {
        TimePlan::Nothing => NOTHING,
        TimePlan::Locate(job) => Found::Search(job, limit),
    })
}

fn row(version: i16, index: i32, found: Result<Found, Refused>) -> ListOffsetsPartitionResponse {
    message(|row: &mut ListOffsetsPartitionResponse| {
        row.partition_index = index;
        (row.timestamp, row.offset) = (-1, -1);
        match found {
            Ok(Found::Here(timestamp, offset, epoch)) => {
                (row.timestamp, row.offset) = (timestamp, offset);
                if version >= 4 {
                    row.leader_epoch = epoch;
                }
            }
            Ok(Found::Search(..)) => {}
            Err(refused) => row.error_code = refused.code.code(),
        }
    })
}
