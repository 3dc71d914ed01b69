//! Produce: validate -> append -> (flush) -> wait -> answer.
//!
//! The batches come validated ([`admit`](super::admit)). Each partition takes or refuses its batch
//! on its own; the request is joined again by its id. acks=1 waits until this broker has written,
//! acks=all until every in-sync replica has; acks=0 waits for nothing, and its only way to hear of an
//! error is that the connection closes.
//!
//! A request over many partitions is cut into steps. While steps of produces are queued, later
//! produces queue behind them, so that no producer's batches overtake each other.
//!
//! Invariants
//! - no success is answered before the disk said that the batch is written, and forced to the medium
//!   if `flush.messages` asked for it
//! - a duplicate is answered with its first offset, once that is written too

use super::State;
use super::admit::{AdmittedPartition, AdmittedProduce, AdmittedTopic};
use super::caller::Caller;
use super::directories::Then;
use super::leadership::{is_of_leadership, leader_of};
use super::parked::Parked;
use super::work::Step;
use crate::cx::Cx;
use crate::disk::Lane;
use crate::error::{ErrorCode, Refused};
use crate::metadata::is_internal;
use crate::ordered::OrderedSet;
use crate::protocol::StrBytes;
use crate::protocol::produce::{
    ProducePartitionResponse, ProduceResponse, ProduceTopicResponse, RecordError,
};
use crate::record::BatchRefused;
use crate::replica::partition::PartitionId;
use crate::replica::{ParkedId, Waiting};
use crate::trace::Fact;
use crate::types::{LeaderEpoch, Millis, Offset, TopicPartition};

/// First version whose answer can name the leader.
const FIRST_WITH_LEADER: i16 = 10;

/// The admin client may write into internal topics (`AdminUtils.ADMIN_CLIENT_ID`).
const ADMIN_CLIENT_ID: &str = "__admin_client";

/// A produce in the middle of its partitions.
#[derive(Clone, Debug)]
pub(super) struct ProduceUnderWay {
    caller: Caller,
    acks: i16,
    deadline: Millis,
    internal_allowed: bool,
    /// Records of a transaction, and no transactional id: nothing of the request is taken.
    lacks_transactional_id: bool,
    /// Topics not begun yet, and the rest of the one at hand.
    topics: std::vec::IntoIter<AdmittedTopic>,
    partitions: std::vec::IntoIter<AdmittedPartition>,
    wait: ProduceWait,
}

/// A produce that waits for acknowledgements. Its answer is complete but for those that fail yet.
#[derive(Clone, Debug)]
pub(super) struct ProduceWait {
    caller: Caller,
    all_replicas: bool,
    answer: ProduceResponse,
    parts: Vec<Part>,
    pending: u32,
}

/// One partition of a waiting produce.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Its place in the answer.
    topic: u32,
    partition: u32,
    id: PartitionId,
    /// The part is done when everything below is acknowledged.
    until: Offset,
    /// In which it was appended.
    epoch: LeaderEpoch,
    done: bool,
}

impl State {
    pub(super) fn produce(
        &mut self,
        cx: &mut Cx,
        caller: Caller,
        client_id: Option<&StrBytes>,
        request: AdmittedProduce,
    ) {
        let mut partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
        let lacks_transactional_id =
            request.transactional_id.is_none() && partitions.any(AdmittedPartition::is_transactional);
        let under_way = ProduceUnderWay {
            caller,
            acks: request.acks,
            deadline: cx.now + Millis::from(request.timeout_ms.max(0)),
            internal_allowed: client_id.is_some_and(|id| &**id == ADMIN_CLIENT_ID),
            lacks_transactional_id,
            topics: request.topics.into_iter(),
            partitions: Vec::new().into_iter(),
            wait: ProduceWait {
                caller,
                all_replicas: request.acks == -1,
                answer: ProduceResponse::default(),
                parts: Vec::new(),
                pending: 0,
            },
        };
        self.run_or_queue(cx, Step::Produce(Box::new(under_way)));
    }

    /// Appends up to `budget` partitions of a produce; true when it is through.
    pub(super) fn produce_step(
        &mut self,
        cx: &mut Cx,
        under_way: &mut ProduceUnderWay,
        budget: &mut usize,
    ) -> bool {
        cx.cause = under_way.caller.cause;
        while *budget > 0 {
            if let Some(partition) = under_way.partitions.next() {
                *budget -= 1;
                self.produce_partition(cx, under_way, partition);
                continue;
            }
            let Some(topic) = under_way.topics.next() else {
                return true;
            };
            if topic.partitions.is_empty() {
                *budget -= 1;
                continue;
            }
            under_way.wait.answer.topics.push(ProduceTopicResponse {
                // A copy: the answer may wait long, and the name would keep its whole frame.
                name: (&*topic.name).into(),
                topic_id: topic.id,
                partitions: Vec::with_capacity(topic.partitions.len()),
            });
            under_way.partitions = topic.partitions.into_iter();
        }
        false
    }

    fn produce_partition(
        &mut self,
        cx: &mut Cx,
        under_way: &mut ProduceUnderWay,
        partition: AdmittedPartition,
    ) {
        let index = partition.index;
        let outcome = self.append_produced(cx, under_way, partition);
        let wait = &mut under_way.wait;
        let topic_at = wait.answer.topics.len() as u32 - 1;
        let Some(topic) = wait.answer.topics.last_mut() else {
            return;
        };
        let answer = match outcome {
            Ok((id, until, epoch, answer)) => {
                wait.parts.push(Part {
                    topic: topic_at,
                    partition: topic.partitions.len() as u32,
                    id,
                    until,
                    epoch,
                    done: false,
                });
                answer
            }
            Err(refused) => ProducePartitionResponse {
                log_start_offset: match refused.by_log {
                    true => self.log_start_of(topic, index),
                    false => -1,
                },
                ..refusal(index, refused)
            },
        };
        topic.partitions.push(answer);
    }

    /// Appends one batch; gives the offset to wait for, the epoch that it was appended in, and the answer for
    /// the case that all goes well.
    fn append_produced(
        &mut self,
        cx: &mut Cx,
        under_way: &ProduceUnderWay,
        partition: AdmittedPartition,
    ) -> Result<(PartitionId, Offset, LeaderEpoch, ProducePartitionResponse), BatchRefused> {
        if under_way.lacks_transactional_id {
            return Err(plain(ErrorCode::TransactionalIdAuthorizationFailed.into()));
        }
        let index = partition.index;
        let named = under_way.wait.answer.topics.last();
        let (name, topic_id) = named.map_or(("", Default::default()), |topic| (&*topic.name, topic.topic_id));
        let id = self.find_replica(name, topic_id, index).map_err(plain)?;
        let topic = self
            .topics
            .resolve(name, topic_id)
            .map_err(|code| plain(code.into()))?;
        if is_internal(&topic.name) && !under_way.internal_allowed {
            let why = "clients do not write into internal topics";
            return Err(BatchRefused::new(ErrorCode::InvalidTopicException, why));
        }
        if !matches!(under_way.acks, -1..=1) {
            return Err(plain(ErrorCode::InvalidRequiredAcks.into()));
        }
        let rules = topic.rules.clone();
        let found = self.topics.partition(id);
        let found = found.ok_or_else(|| plain(ErrorCode::UnknownTopicOrPartition.into()))?;
        found.check_append(cx, under_way.acks == -1).map_err(plain)?;
        let validated = partition
            .settle(&rules, under_way.caller.version, cx.now, &mut self.workspace)
            .inspect_err(|refused| {
                cx.emit(|| Fact::BatchRefused {
                    partition: TopicPartition::new(rules.name.clone(), index),
                    code: refused.code,
                });
            })?;
        if validated.header.is_transactional() {
            let why = "no transaction is under way: this broker has no transaction coordinator yet";
            return Err(BatchRefused::new(ErrorCode::InvalidTxnState, why));
        }
        let found = self.topics.partition_mut(id);
        let found = found.ok_or_else(|| plain(ErrorCode::UnknownTopicOrPartition.into()))?;
        let appended = found.append(cx, &validated);
        let (appended, ticket) = appended.map_err(|refused| plain(refused).by_log())?;
        let log_start = found.log().map_or(-1, |log| log.log_start());
        let (dir, epoch) = (found.dir(), found.leader_epoch());
        if !appended.duplicate {
            self.directories
                .after(dir, Lane::Strict, ticket, Then::Partition(id));
            self.after_aside(dir, id);
            self.reschedule(id);
        }
        let answer = ProducePartitionResponse {
            index,
            base_offset: appended.base_offset,
            log_append_time_ms: match validated.log_append_time_ms {
                // Kafka answers a duplicate with its batch's time, whoever gave that.
                None if !appended.duplicate => -1,
                _ => appended.timestamp_ms,
            },
            log_start_offset: log_start,
            ..ProducePartitionResponse::default()
        };
        Ok((id, appended.last_offset + 1, epoch, answer))
    }

    fn log_start_of(&self, topic: &ProduceTopicResponse, index: i32) -> Offset {
        let id = self.find_replica(&topic.name, topic.topic_id, index).ok();
        let partition = id.and_then(|id| self.topics.partition(id));
        let log = partition.and_then(|partition| partition.log().ok());
        log.map_or(-1, |log| log.log_start())
    }

    /// All partitions have been tried: answer, close, or wait.
    pub(super) fn produce_appended(&mut self, under_way: ProduceUnderWay) {
        let ProduceUnderWay {
            acks,
            deadline,
            mut wait,
            ..
        } = under_way;
        if acks == 0 {
            return self.produce_without_answer(&wait);
        }
        let parked = self.purgatory.next_id();
        let parts = wait.parts.clone();
        wait.pending = parts.len() as u32;
        for (at, part) in (0..).zip(parts) {
            let waiting = Waiting { parked, part: at };
            // Between the steps of a long request a topic may be deleted, or a directory lost.
            let lost = match self.topics.partition_mut(part.id) {
                None => Some(deleted()),
                Some(partition) => match partition.wait(part.until, part.epoch, wait.all_replicas, waiting) {
                    Ok(true) => continue,
                    settled => settled.err(),
                },
            };
            wait.settle(at, lost.as_ref());
        }
        if wait.pending == 0 {
            return self.answer_produce(wait);
        }
        let deadline = wait.all_replicas.then_some(deadline);
        self.purgatory
            .park(wait.caller.conn, deadline, Parked::Produce(wait));
    }

    fn produce_without_answer(&mut self, wait: &ProduceWait) {
        let partitions = || wait.answer.topics.iter().flat_map(|topic| &topic.partitions);
        match partitions().find(|answer| answer.error_code != ErrorCode::None) {
            Some(failed) => {
                let why = failed.error_message.as_deref().unwrap_or_default();
                let reason = format!(
                    "a produce with acks=0 failed ({}: {why}), and there is no other way to say so",
                    failed.error_code
                );
                self.out.close(wait.caller.conn, reason);
            }
            None => self.out.answer_nothing(&wait.caller),
        }
    }

    /// A part is acknowledged, or will never be.
    pub(super) fn produce_part_done(&mut self, waiting: Waiting, failed: Option<&Refused>) {
        let Some(Parked::Produce(wait)) = self.purgatory.get_mut(waiting.parked) else {
            return;
        };
        wait.settle(waiting.part, failed);
        if wait.pending == 0
            && let Some(Parked::Produce(wait)) = self.purgatory.take(waiting.parked)
        {
            self.answer_produce(wait);
        }
    }

    /// Answers; where another broker leads, and the version can say so, who and where (KIP-951).
    fn answer_produce(&mut self, mut wait: ProduceWait) {
        if wait.caller.version >= FIRST_WITH_LEADER {
            let mut leaders = OrderedSet::new();
            for topic in &mut wait.answer.topics {
                let known = match topic.topic_id.is_zero() {
                    true => self.image.topic(&topic.name),
                    false => self.image.topic_by_id(topic.topic_id),
                };
                for answer in topic
                    .partitions
                    .iter_mut()
                    .filter(|row| is_of_leadership(row.error_code))
                {
                    answer.current_leader = leader_of(known, answer.index);
                    leaders.insert(answer.current_leader.leader_id);
                }
            }
            wait.answer.node_endpoints = self.endpoints(&leaders, wait.caller.listener);
        }
        self.out.answer(&wait.caller, wait.answer);
    }

    /// acks=all did not come in time: the records are in the log, but nobody may promise them.
    pub(super) fn produce_timed_out(&mut self, id: ParkedId) {
        let Some(Parked::Produce(mut wait)) = self.purgatory.take(id) else {
            return;
        };
        self.stop_waiting(id, &wait);
        let late = Refused::new(
            ErrorCode::RequestTimedOut,
            "not all in-sync replicas had the records in time",
        );
        for part in 0..wait.parts.len() as u32 {
            wait.settle(part, Some(&late));
        }
        self.answer_produce(wait);
    }

    /// The operation is over before its parts are: no partition keeps it.
    pub(super) fn stop_waiting(&mut self, parked: ParkedId, wait: &ProduceWait) {
        for (at, part) in wait.parts.iter().enumerate().filter(|(_, part)| !part.done) {
            if let Some(partition) = self.topics.partition_mut(part.id) {
                let waiting = Waiting {
                    parked,
                    part: at as u32,
                };
                partition.stop_waiting(part.until, wait.all_replicas, waiting);
            }
        }
    }
}

impl ProduceWait {
    fn settle(&mut self, part: u32, failed: Option<&Refused>) {
        let Some(part) = self.parts.get_mut(part as usize).filter(|part| !part.done) else {
            return;
        };
        part.done = true;
        self.pending -= 1;
        let Some(failed) = failed else {
            return;
        };
        let topic = self.answer.topics.get_mut(part.topic as usize);
        if let Some(answer) = topic.and_then(|topic| topic.partitions.get_mut(part.partition as usize)) {
            *answer = refusal(answer.index, plain(failed.clone()));
        }
    }
}

/// What a produce hears whose partition went away while it waited.
pub(super) fn deleted() -> Refused {
    Refused::new(ErrorCode::UnknownTopicOrPartition, "the topic was deleted")
}

fn plain(refused: Refused) -> BatchRefused {
    BatchRefused {
        code: refused.code,
        message: refused.message,
        record_errors: Vec::new(),
        by_log: false,
    }
}

fn refusal(index: i32, refused: BatchRefused) -> ProducePartitionResponse {
    let text = |message: Option<String>| message.map(StrBytes::from);
    ProducePartitionResponse {
        index,
        error_code: refused.code,
        record_errors: refused
            .record_errors
            .into_iter()
            .map(|(batch_index, message)| RecordError {
                batch_index,
                message: text(message),
            })
            .collect(),
        error_message: text(refused.message),
        ..ProducePartitionResponse::default()
    }
}
