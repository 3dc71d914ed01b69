//! One partition's part of a fetch.

use super::FetchWait;
use super::session::{PartitionKey, SlotId, TopicKey, Wanted};
use crate::broker::State;
use crate::broker::jobs::JobFor;
use crate::broker::leadership::{is_of_leadership, leader_of};
use crate::broker::parked::Parked;
use crate::broker::topics::{Topic, Topics};
use crate::cx::Cx;
use crate::error::{DiskError, ErrorCode, Refused};
use crate::io::{Level, Part};
use crate::log;
use crate::log::transaction_index::AbortedTxn;
use crate::log::{FileRange, Located, Outcome, ReadPlan};
use crate::metadata::MetadataImage;
use crate::protocol::fetch::{AbortedTransaction, EpochEndOffset, FetchPartitionResponse};
use crate::protocol::leadership::LeaderIdAndEpoch;
use crate::record::{Codec, TopicCompression};
use crate::replica::ParkedId;
use crate::replica::partition::{Partition, PartitionId};
use crate::replica::{FollowerFetch, FollowerRead, Watcher};
use crate::types::{BrokerEpoch, BrokerId, Offset};

/// First version of Fetch that may carry zstd.
const FIRST_WITH_ZSTD: i16 = 10;

/// A partition to visit, and what the visit found.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub key: PartitionKey,
    pub wanted: Wanted,
    pub slot: Option<SlotId>,
    pub partition: Option<PartitionId>,
    pub answer: FetchPartitionResponse,
    pub record_bytes: u64,
    /// Where the log ended then; `None` before the visit, and when it was refused.
    pub log_end: Option<Offset>,
    /// Records lie between the wanted offset and what the reader may see.
    pub readable: bool,
}

impl Visit {
    pub fn new(key: PartitionKey, wanted: Wanted, slot: Option<SlotId>) -> Self {
        Self {
            answer: FetchPartitionResponse {
                partition: key.partition,
                ..FetchPartitionResponse::default()
            },
            key,
            wanted,
            slot,
            partition: None,
            record_bytes: 0,
            log_end: None,
            readable: false,
        }
    }

    /// The answer carries no records, so that offsets of an error are "not known".
    fn refuse(&mut self, code: ErrorCode, leader: LeaderIdAndEpoch) {
        self.answer = FetchPartitionResponse {
            partition: self.key.partition,
            error_code: code,
            current_leader: leader,
            // Kafka's quirk: an empty list for what is unknown, none for what failed to be read.
            aborted_transactions: self.partition.is_none().then(Vec::new),
            ..FetchPartitionResponse::default()
        };
        self.record_bytes = 0;
    }

    /// What an answer says of the partition beside its records; the state that it is an answer to.
    fn say_offsets(&mut self, partition: &Partition) -> Result<(), Refused> {
        self.answer.high_watermark = partition.high_watermark();
        self.answer.last_stable_offset = partition.last_stable_offset();
        let log = partition.log()?;
        self.answer.log_start_offset = log.log_start();
        self.log_end = Some(log.log_end());
        Ok(())
    }

    /// Takes the range into the answer, as far as the answer has room; of an answer with nothing in
    /// it yet, whole. Where not one batch has room, nothing: a client that gets bytes and no batch takes
    /// them for damage. Gives the bytes taken.
    fn give(&mut self, range: FileRange, taken: u64, max_bytes: u64) -> u64 {
        let room = if taken == 0 {
            u64::MAX
        } else {
            max_bytes.saturating_sub(taken)
        };
        if room < u64::from(range.first_bytes) {
            return 0;
        }
        let len = u64::from(range.len).min(room) as u32;
        let part = Part::File {
            file: range.file,
            pos: range.pos,
            len,
        };
        self.answer.records = Some(std::iter::once(part).collect());
        self.record_bytes = u64::from(len);
        self.record_bytes
    }
}

/// A replica that fetches, and the life of its broker (-1 when it does not say).
#[derive(Clone, Copy, Debug)]
pub(super) struct Follower {
    pub replica: BrokerId,
    pub broker_epoch: BrokerEpoch,
}

/// What of a request a visit needs to know.
#[derive(Clone, Copy)]
struct Asked {
    version: i16,
    follower: Option<Follower>,
    read_committed: bool,
    /// Bytes that the answer may still take.
    left: u64,
    /// Nothing was found yet: the first batch comes whole.
    first: bool,
}

impl State {
    /// Makes the next visit of a fetch.
    pub(super) fn visit_next(&mut self, cx: &mut Cx, id: ParkedId) {
        let Some(Parked::Fetch(wait)) = self.purgatory.get_mut(id) else {
            return;
        };
        let before = std::mem::replace(&mut cx.cause, wait.caller.cause);
        let at = wait.next;
        wait.next += 1;
        let asked = wait.asked_of_visit();
        let visit = &mut wait.visits[at];
        let found = match find(&self.topics, &self.image, &visit.key) {
            Ok((topic, partition)) => check_topic(topic, asked).map(|()| partition),
            Err(code) => Err(code.into()),
        };
        let mut moved = None;
        let plan = found.and_then(|id| {
            visit.partition = Some(id);
            let partition = self.topics.partition_mut(id);
            let partition = partition.ok_or(Refused::from(ErrorCode::UnknownTopicOrPartition))?;
            if let (Some(session), Some(slot)) = (wait.session, visit.slot) {
                partition.watch(Watcher::Session { session, slot });
            }
            if let Some(follower) = asked.follower {
                let fetch = visit.wanted.of_follower(follower);
                match partition.follower_fetches(cx, &self.replication, &fetch)? {
                    FollowerRead::Diverges(end) => {
                        visit.say_offsets(partition)?;
                        visit.answer.diverging_epoch = EpochEndOffset {
                            epoch: end.epoch,
                            end_offset: end.end_offset,
                        };
                        return Ok(ReadPlan::Empty);
                    }
                    FollowerRead::Reads(found) => moved = Some((id, found)),
                }
            }
            let plan = plan_visit(partition, visit, asked);
            // The follower shall know at once how far it is safe.
            let session = wait.session.and_then(|session| self.sessions.get_mut(session));
            if let (Some(session), Some(slot)) = (session, visit.slot) {
                wait.news |= asked.follower.is_some()
                    && session.is_news(slot, visit.answer.high_watermark, visit.answer.log_start_offset);
            }
            plan
        });
        self.take_plan(id, at, plan);
        if let Some((partition, moved)) = moved {
            self.partition_moved(cx, partition, moved);
        }
        cx.cause = before;
    }

    fn take_plan(&mut self, id: ParkedId, at: usize, plan: Result<ReadPlan, Refused>) {
        let Some(Parked::Fetch(wait)) = self.purgatory.get_mut(id) else {
            return;
        };
        let Some(visit) = wait.visits.get_mut(at) else {
            return;
        };
        match plan {
            Ok(ReadPlan::Empty) => {}
            Ok(ReadPlan::Here(range)) => {
                wait.bytes += visit.give(range, wait.bytes, wait.max_bytes);
                if wait.read_committed {
                    let partition = visit.partition.and_then(|id| self.topics.partition(id));
                    visit.answer.aborted_transactions = Some(aborted(partition, &visit.wanted, range));
                }
            }
            Ok(ReadPlan::Locate(mut job)) => {
                wait.jobs += 1;
                if let (log::Job::Locate(locate), Some(partition)) = (&mut job, visit.partition) {
                    self.far_reads.shorten(partition, locate);
                }
                self.start_log_job(job, JobFor::Visit { fetch: id, visit: at });
            }
            Err(refused) => {
                let leader = leader_for(&self.image, &refused, &visit.key);
                visit.refuse(refused.code, leader);
                wait.error = true;
            }
        }
    }

    /// A job has found where the records of a visit lie, or that the plan must go on elsewhere.
    pub(in crate::broker) fn visit_located(
        &mut self,
        cx: &mut Cx,
        id: ParkedId,
        at: usize,
        mut found: Result<Located, DiskError>,
    ) {
        let Some(Parked::Fetch(wait)) = self.purgatory.get_mut(id) else {
            return;
        };
        wait.jobs -= 1;
        let asked = wait.asked_of_visit();
        let Some(visit) = wait.visits.get_mut(at) else {
            return;
        };
        let of = visit.partition;
        let wrong_index = found.as_ref().ok().and_then(|located| located.wrong_index);
        if let (Some(partition), Ok(located)) = (of, &mut found)
            && let Some(stretch) = located.stretch.take()
        {
            self.far_reads.remember(partition, stretch);
        }
        let partition = of.and_then(|id| self.topics.partition(id));
        let partition = partition.ok_or(Refused::from(ErrorCode::UnknownTopicOrPartition));
        let failed = found.as_ref().err().copied();
        let dir = partition.as_ref().ok().map(|partition| partition.dir());
        // The topic may have been deleted meanwhile, or the directory lost.
        let plan = partition.and_then(|partition| {
            partition.log()?;
            match found.map(|located| located.outcome) {
                Ok(Outcome::Found(range)) => Ok(ReadPlan::Here(range)),
                Ok(Outcome::Empty) => Ok(ReadPlan::Empty),
                Ok(Outcome::Next(from)) => plan_read(partition, from, &visit.wanted, asked),
                Ok(Outcome::Corrupt { position, why }) => {
                    let name = partition.name();
                    let line = format!("{name}: no batch at byte {position} of a segment: {why}");
                    self.out.say(Level::Error, line);
                    Err(ErrorCode::CorruptMessage.into())
                }
                Err(_) => Err(ErrorCode::KafkaStorageError.into()),
            }
        });
        self.take_plan(id, at, plan);
        self.visits_made(cx, id);
        if let (Some(partition), Some(segment)) = (of, wrong_index) {
            self.index_is_wrong(partition, segment);
        }
        if let Some(error) = failed {
            self.read_failed(cx, dir, error);
        }
    }

    pub(super) fn find_partition(&self, key: &PartitionKey) -> Result<PartitionId, ErrorCode> {
        find(&self.topics, &self.image, key).map(|(_, id)| id)
    }
}

/// On an error of leadership a client is told who leads.
fn leader_for(image: &MetadataImage, refused: &Refused, key: &PartitionKey) -> LeaderIdAndEpoch {
    if !is_of_leadership(refused.code) {
        return LeaderIdAndEpoch::default();
    }
    let topic = match &key.topic {
        TopicKey::Name(name) => image.topic(name),
        TopicKey::Id(id) => image.topic_by_id(*id),
    };
    leader_of(topic, key.partition)
}

impl Wanted {
    /// The same, as a leader takes it.
    fn of_follower(&self, follower: Follower) -> FollowerFetch {
        FollowerFetch {
            replica: follower.replica,
            broker_epoch: follower.broker_epoch,
            offset: self.fetch_offset,
            log_start: self.log_start,
            current_leader_epoch: self.current_leader_epoch,
            last_fetched_epoch: self.last_fetched_epoch,
        }
    }
}

impl FetchWait {
    fn asked_of_visit(&self) -> Asked {
        Asked {
            version: self.caller.version,
            follower: self.follower,
            read_committed: self.read_committed,
            left: self.max_bytes.saturating_sub(self.bytes),
            // A job under way will find something, or the fetch comes again.
            first: self.bytes == 0 && self.jobs == 0,
        }
    }
}

/// The partition, if this broker holds a replica of it. One that others hold is no unknown one.
fn find<'a>(
    topics: &'a Topics,
    image: &MetadataImage,
    key: &PartitionKey,
) -> Result<(&'a Topic, PartitionId), ErrorCode> {
    let (topic, elsewhere) = match &key.topic {
        TopicKey::Name(name) => (topics.by_name(name), image.topic(name)),
        TopicKey::Id(id) => (topics.by_id(*id), image.topic_by_id(*id)),
    };
    if let Some(topic) = topic
        && let Some(&id) = topic.partitions.get(&key.partition)
    {
        return Ok((topic, id));
    }
    Err(match (topic, elsewhere, &key.topic) {
        (_, Some(known), _) if known.partition(key.partition).is_some() => ErrorCode::NotLeaderOrFollower,
        (None, None, TopicKey::Id(_)) => ErrorCode::UnknownTopicId,
        _ => ErrorCode::UnknownTopicOrPartition,
    })
}

/// A reader of an old version could not unpack zstd.
fn check_topic(topic: &Topic, asked: Asked) -> Result<(), Refused> {
    let zstd =
        matches!(topic.rules.validation.compression, TopicCompression::Fixed(to) if to.codec == Codec::Zstd);
    if zstd && asked.version < FIRST_WITH_ZSTD {
        return Err(ErrorCode::UnsupportedCompressionType.into());
    }
    Ok(())
}

/// Checks epochs and offset, fills in the partition's offsets, and plans the read
/// (`Partition.readRecords`).
fn plan_visit(partition: &Partition, visit: &mut Visit, asked: Asked) -> Result<ReadPlan, Refused> {
    partition.check_leader(visit.wanted.current_leader_epoch)?;
    visit.say_offsets(partition)?;
    let wanted = &visit.wanted;
    if asked.follower.is_none()
        && let Some(end) = partition.diverging_epoch(wanted.last_fetched_epoch, wanted.fetch_offset)?
    {
        visit.answer.diverging_epoch = EpochEndOffset {
            epoch: end.epoch,
            end_offset: end.end_offset,
        };
        return Ok(ReadPlan::Empty);
    }
    if asked.read_committed {
        visit.answer.aborted_transactions = Some(Vec::new());
    }
    visit.readable = wanted.fetch_offset < visible_end(partition, asked);
    plan_read(partition, wanted.fetch_offset, wanted, asked)
}

fn plan_read(
    partition: &Partition,
    from: Offset,
    wanted: &Wanted,
    asked: Asked,
) -> Result<ReadPlan, Refused> {
    let max_bytes = u64::from(wanted.max_bytes).min(asked.left) as u32;
    let limit = visible_end(partition, asked);
    partition.log()?.plan_read(from, limit, max_bytes, asked.first)
}

/// What a read_committed consumer has to leave out of a range.
fn aborted(partition: Option<&Partition>, wanted: &Wanted, range: FileRange) -> Vec<AbortedTransaction> {
    let log = partition.and_then(|partition| partition.log().ok());
    let found = log.map(|log| log.aborted_transactions(wanted.fetch_offset, range.below));
    let row = |txn: AbortedTxn| AbortedTransaction {
        producer_id: txn.producer_id,
        first_offset: txn.first_offset,
    };
    found.unwrap_or_default().into_iter().map(row).collect()
}

/// Readers see records below this: followers all that is written.
fn visible_end(partition: &Partition, asked: Asked) -> Offset {
    if asked.follower.is_some() || mutated!(ConsumerReadsToLogEnd) {
        partition.log().map_or(0, |log| log.log_end())
    } else if asked.read_committed {
        partition.last_stable_offset()
    } else {
        partition.high_watermark()
    }
}
