//! The fetchers of this broker: one for each leader that it follows, and for each number of
//! `num.replica.fetchers`.
//!
//! A [`Fetcher`] says what to ask; here its questions become frames, its answers find it again, and
//! what became of each partition is acted on.

use super::sends::SendFor;
use crate::broker::State;
use crate::broker::admit_answer::AnswerBody;
use crate::broker::jobs::JobFor;
use crate::broker::topics::Topics;
use crate::cx::Cx;
use crate::disk::Lane;
use crate::error::{DiskError, ErrorCode};
use crate::io::{Level, PeerLane};
use crate::log;
use crate::ordered::OrderedMap;
use crate::protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use crate::protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use crate::protocol::messages::{
    ListOffsetsRequest, ListOffsetsResponse, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
    message,
};
use crate::protocol::{RequestBody, ResponseBody};
use crate::replica::EpochEnd;
use crate::replica::fetcher::{
    Cut, CutId, EpochAnswer, EpochQuestion, Fetcher, FetcherRequest, FetcherSettings, Followed, FollowerLogs,
    OffsetQuestion,
};
use crate::replica::partition::{Partition, PartitionId};
use crate::trace::Timer;
use crate::types::{BrokerId, Millis, TopicPartition};

/// As Kafka 3.9's brokers ask each other.
const FETCH_VERSION: i16 = 17;
const EPOCHS_VERSION: i16 = 4;
const OFFSETS_VERSION: i16 = 9;

/// One fetcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::broker) struct FetcherId {
    pub leader: BrokerId,
    pub number: u16,
}

#[derive(Clone, Debug, Default)]
pub(in crate::broker) struct Fetchers {
    all: OrderedMap<FetcherId, Fetcher>,
    /// Whom a partition is fetched by.
    of: OrderedMap<PartitionId, FetcherId>,
}

impl Fetchers {
    /// When one of them may have something to ask.
    pub fn next(&self) -> Option<Millis> {
        let due = self.all.values().filter(|fetcher| !fetcher.is_under_way());
        due.filter_map(Fetcher::poll_timeout).min()
    }
}

/// The partitions of this broker, as a fetcher sees them.
struct Logs<'a>(&'a mut Topics);

impl FollowerLogs for Logs<'_> {
    fn partition(&mut self, name: &TopicPartition) -> Option<&mut Partition> {
        let id = *self.0.by_name(&name.topic)?.partitions.get(&name.partition)?;
        self.0.partition_mut(id)
    }
}

impl State {
    /// The partition follows this leader from now on.
    pub(super) fn fetch_from(&mut self, cx: &mut Cx, id: PartitionId, leader: BrokerId) {
        let Some(partition) = self.topics.partition(id) else {
            return;
        };
        let (name, topic_id) = (partition.name().clone(), partition.topic_id());
        let epoch = partition.leader_epoch();
        let fetchers = self.config.num_replica_fetchers.max(1) as u32;
        let number = (name_hash(&name) % fetchers) as u16;
        let at = FetcherId { leader, number };
        let settings = FetcherSettings::from(&*self.config);
        let fetchers = &mut self.cluster.fetchers;
        fetchers.of.insert(id, at);
        let fetcher = fetchers
            .all
            .entry(at)
            .or_insert_with(|| Fetcher::new(leader, settings));
        let followed = fetcher.add(cx, &mut Logs(&mut self.topics), &name, topic_id, epoch);
        self.follow_up(cx, at, followed);
    }

    /// The partition is not fetched any more.
    pub(super) fn fetch_no_more(&mut self, id: PartitionId) {
        let Some(at) = self.cluster.fetchers.of.remove(&id) else {
            return;
        };
        let Some(name) = self
            .topics
            .partition(id)
            .map(|partition| partition.name().clone())
        else {
            return;
        };
        if let Some(fetcher) = self.cluster.fetchers.all.get_mut(&at) {
            fetcher.remove(&name);
            if fetcher.is_empty() && !fetcher.is_under_way() {
                self.cluster.fetchers.all.remove(&at);
            }
        }
    }

    /// No partition is fetched any more: the broker stops.
    pub(in crate::broker) fn stop_fetching(&mut self) {
        self.cluster.fetchers = Fetchers::default();
    }

    /// Every fetcher that may asks.
    pub(super) fn fetchers_go_on(&mut self, cx: &mut Cx) {
        let all: Vec<FetcherId> = self.cluster.fetchers.all.keys().copied().collect();
        for at in all {
            self.ask_leader(cx, at);
        }
    }

    pub(super) fn fetchers_tick(&mut self, cx: &mut Cx) {
        let is_due = |fetcher: &Fetcher| fetcher.poll_timeout().is_some_and(|at| at <= cx.now);
        let all = self.cluster.fetchers.all.iter();
        let due = all.filter(|(_, fetcher)| !fetcher.is_under_way() && is_due(fetcher));
        let due: Vec<_> = due.map(|(&at, fetcher)| (at, fetcher.paused())).collect();
        for (at, paused) in due {
            cx.timer_due(Timer::FetchBackoff, paused);
            self.ask_leader(cx, at);
        }
    }

    /// The partition's log has been written: what waited for that goes on.
    pub(in crate::broker) fn follower_written(
        &mut self,
        cx: &mut Cx,
        id: PartitionId,
        upto: crate::disk::Ticket,
    ) {
        let Some(&at) = self.cluster.fetchers.of.get(&id) else {
            return;
        };
        let Some(name) = self
            .topics
            .partition(id)
            .map(|partition| partition.name().clone())
        else {
            return;
        };
        let Some(fetcher) = self.cluster.fetchers.all.get_mut(&at) else {
            return;
        };
        let followed = fetcher.written(cx, &mut Logs(&mut self.topics), &name, upto);
        self.follow_up(cx, at, followed);
        self.ask_leader(cx, at);
    }

    /// A log has been read for a cut.
    pub(in crate::broker) fn cut_prepared(
        &mut self,
        cx: &mut Cx,
        id: PartitionId,
        cut: CutId,
        rebuilt: Result<Box<log::Rebuilt>, DiskError>,
    ) {
        let Some(partition) = self.topics.partition(id) else {
            return;
        };
        let (name, dir) = (partition.name().clone(), partition.dir());
        let rebuilt = match rebuilt {
            Ok(rebuilt) => *rebuilt,
            Err(error) => return self.read_failed(cx, Some(dir), error),
        };
        let Some(&at) = self.cluster.fetchers.of.get(&id) else {
            return;
        };
        let Some(fetcher) = self.cluster.fetchers.all.get_mut(&at) else {
            return;
        };
        let followed = fetcher.rebuilt(cx, &mut Logs(&mut self.topics), &name, cut, rebuilt);
        self.follow_up(cx, at, followed);
        self.ask_leader(cx, at);
    }

    /// Sends the fetcher's next question, if it has one.
    fn ask_leader(&mut self, cx: &mut Cx, at: FetcherId) {
        let Some(fetcher) = self.cluster.fetchers.all.get_mut(&at) else {
            return;
        };
        let Some(request) = fetcher.next_request(cx, &self.replication, &mut Logs(&mut self.topics)) else {
            return;
        };
        let (version, body) = match request {
            FetcherRequest::Fetch(request) => (FETCH_VERSION, RequestBody::Fetch(request)),
            FetcherRequest::EpochEnds(questions) => (EPOCHS_VERSION, self.epochs_request(&questions)),
            FetcherRequest::Offset(question) => (OFFSETS_VERSION, self.offset_request(&question)),
        };
        let lane = PeerLane::Fetch(at.number);
        if !self.send(at.leader, lane, version, &body, SendFor::Fetcher(at)) {
            self.fetcher_answered(cx, at, Err("the leader's address is not known".to_owned()));
        }
    }

    fn epochs_request(&self, questions: &[EpochQuestion]) -> RequestBody {
        let mut topics: OrderedMap<&str, Vec<OffsetForLeaderPartition>> = OrderedMap::new();
        for question in questions {
            let row = message(|row: &mut OffsetForLeaderPartition| {
                row.partition = question.partition.partition;
                row.current_leader_epoch = question.current_leader_epoch;
                row.leader_epoch = question.epoch;
            });
            topics.entry(&question.partition.topic).or_default().push(row);
        }
        let topic = |(name, partitions): (&str, _)| {
            message(|row: &mut OffsetForLeaderTopic| {
                row.topic = name.into();
                row.partitions = partitions;
            })
        };
        RequestBody::OffsetForLeaderEpoch(message(|request: &mut OffsetForLeaderEpochRequest| {
            request.replica_id = self.config.node_id;
            request.topics = topics.into_iter().map(topic).collect();
        }))
    }

    fn offset_request(&self, question: &OffsetQuestion) -> RequestBody {
        let partition = message(|row: &mut ListOffsetsPartition| {
            row.partition_index = question.partition.partition;
            row.current_leader_epoch = question.current_leader_epoch;
            row.timestamp = question.timestamp;
        });
        RequestBody::ListOffsets(message(|request: &mut ListOffsetsRequest| {
            request.replica_id = self.config.node_id;
            request.topics = vec![message(|row: &mut ListOffsetsTopic| {
                row.name = (&*question.partition.topic).into();
                row.partitions = vec![partition];
            })];
        }))
    }

    /// The leader has answered, or will not.
    pub(super) fn fetcher_answered(
        &mut self,
        cx: &mut Cx,
        at: FetcherId,
        answer: Result<AnswerBody, String>,
    ) {
        let Some(fetcher) = self.cluster.fetchers.all.get_mut(&at) else {
            return;
        };
        let logs = &mut Logs(&mut self.topics);
        let followed = match answer {
            Ok(AnswerBody::Fetched(fetched)) => fetcher.fetched(cx, logs, fetched),
            Ok(AnswerBody::Other(ResponseBody::OffsetForLeaderEpoch(answer))) => {
                fetcher.epochs_answered(cx, logs, &epoch_answers(&answer))
            }
            Ok(AnswerBody::Other(ResponseBody::ListOffsets(answer))) => {
                fetcher.offset_answered(cx, logs, offset_answer(&answer))
            }
            Ok(AnswerBody::Other(_)) | Err(_) => {
                fetcher.request_failed(cx);
                Vec::new()
            }
        };
        if fetcher.is_empty() {
            self.cluster.fetchers.all.remove(&at);
        }
        self.follow_up(cx, at, followed);
        self.ask_leader(cx, at);
    }

    /// Acts on what became of partitions.
    fn follow_up(&mut self, cx: &mut Cx, at: FetcherId, followed: Vec<Followed>) {
        for Followed {
            partition: name,
            moved,
            wait_for,
            rebuild,
            cut,
            stopped,
        } in followed
        {
            let known = self.topics.by_name(&name.topic);
            let Some(&id) = known.and_then(|topic| topic.partitions.get(&name.partition)) else {
                continue;
            };
            let Some(dir) = self.topics.partition(id).map(Partition::dir) else {
                continue;
            };
            if let Some(ticket) = wait_for {
                self.directories.after(
                    dir,
                    Lane::Strict,
                    ticket,
                    crate::broker::directories::Then::Partition(id),
                );
                self.after_aside(dir, id);
                self.reschedule(id);
            }
            if let Some((cut, job)) = rebuild {
                self.start_log_job(job, JobFor::Cut { partition: id, cut });
            }
            if let Some(cut) = cut {
                self.out.say(Level::Info, said_of(&name, at.leader, cut));
            }
            if let Some(why) = stopped {
                self.cluster.fetchers.of.remove(&id);
                self.out.say(
                    Level::Warn,
                    format!("{name} is not fetched from broker {} any more: {why}", at.leader),
                );
            }
            self.partition_moved(cx, id, moved);
        }
    }
}

/// What whoever looks for lost records has to know.
fn said_of(name: &TopicPartition, leader: BrokerId, Cut { from, to, why }: Cut) -> String {
    format!("{name} follows broker {leader}, and is cut from {from} to {to}: {why}")
}

/// Which fetcher of a leader: as Kafka spreads them (`AbstractFetcherManager.getFetcherId`), by any hash
/// that is the same everywhere.
fn name_hash(name: &TopicPartition) -> u32 {
    let bytes = name.topic.bytes();
    let topic = bytes.fold(0u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    topic.wrapping_mul(31).wrapping_add(name.partition as u32)
}

fn epoch_answers(answer: &OffsetForLeaderEpochResponse) -> Vec<EpochAnswer> {
    let rows = answer.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|row| EpochAnswer {
            partition: TopicPartition::new(&*topic.topic, row.partition),
            end: match row.error_code {
                0 => Ok(EpochEnd {
                    epoch: row.leader_epoch,
                    end_offset: row.end_offset,
                }),
                code => Err(ErrorCode::from_code(code).unwrap_or(ErrorCode::UnknownServerError)),
            },
        })
    });
    rows.collect()
}

fn offset_answer(answer: &ListOffsetsResponse) -> Result<i64, ErrorCode> {
    let row = answer.topics.iter().flat_map(|topic| &topic.partitions).next();
    match row {
        Some(row) if row.error_code == 0 => Ok(row.offset),
        Some(row) => Err(ErrorCode::from_code(row.error_code).unwrap_or(ErrorCode::UnknownServerError)),
        None => Err(ErrorCode::UnknownServerError),
    }
}
