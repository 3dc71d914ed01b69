//! The follower's side: how a broker fetches the partitions that another leads (Kafka's
//! `AbstractFetcherThread` and `ReplicaFetcherThread`).
//!
//! A [`Fetcher`] speaks to one leader about many partitions, one request at a time, and gives the next
//! one when it is asked:
//!
//! ```text
//! add / remove                           as the controller says who leads
//! next_request -> Fetch                  all partitions that are ready, in a session
//!              -> EpochEnds, Offsets     what must be known before a log can be cut, or fetched again
//! fetched, epochs_answered, offset_answered, request_failed
//!              -> [Followed]             what became of each partition, for the broker to act on
//! written, rebuilt                       the disk and the jobs have done what a Followed asked for
//! ```
//!
//! The logs belong to the broker; they are lent for each call as [`FollowerLogs`]. One partition:
//!
//! ```text
//!            +-> asks where its epoch ends --+          the answer parts ways with its log
//!   added ---+                               +-> is cut -> waits for the disk -> ready <-> waits for the disk
//!            +-> ready (asks with each fetch)+          out of range: asks for the leader's ends
//! ```
//!
//! Invariants
//! - what a fetch reports as the end of a log is written, and synced if the log's settings ask for it
//! - an answer counts only for a partition that is still followed in the epoch and from the offset of
//!   the question
//! - a log is cut only after the leader said where the two part ways, or that it has less; it is dropped
//!   whole only if the leader's log begins behind its end
//! - partitions with nothing new cost nothing: requests are made from what changed

mod answer;
mod out_of_range;
pub mod settings;
mod state;
mod truncation;

pub use answer::EpochAnswer;
pub use settings::{FetcherSettings, TruncateBy};
use state::{PartitionFetch, Phase, Then};
pub use truncation::{Cut, CutId};

use super::partition::Partition;
use super::replication::Replication;
use super::waiting::Moved;
use crate::cx::Cx;
use crate::disk::Ticket;
use crate::log::Job;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::fetch::{FetchPartition, FetchRequest, FetchSession};
use crate::trace::{EventId, Fact, FetchPause};
use crate::types::{BrokerId, LeaderEpoch, Millis, NO_EPOCH, TopicPartition, Uuid};

/// The first pause when the leader has yet to hear that it leads, or of the topic: the controller tells both
/// in the same moment. It doubles up to `replica.fetch.backoff.ms`. Kafka pauses for that long at once, so
/// that each change of leader under acks=all costs a second more than it has to.
const NOT_HEARD_MS: Millis = 20;
/// After so many the pause is longer than any setting of it.
const MOST_DOUBLINGS: u32 = 16;

/// Where a fetcher finds the partitions that it follows.
pub trait FollowerLogs {
    fn partition(&mut self, name: &TopicPartition) -> Option<&mut Partition>;
}

/// The next thing to ask the leader. Of each kind the broker makes a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetcherRequest {
    /// Answered to [`Fetcher::fetched`].
    Fetch(FetchRequest),
    /// OffsetForLeaderEpoch; answered to [`Fetcher::epochs_answered`].
    EpochEnds(Vec<EpochQuestion>),
    /// ListOffsets with this broker as replica; answered to [`Fetcher::offset_answered`].
    Offset(OffsetQuestion),
}

/// Where does the epoch end with the leader?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochQuestion {
    pub partition: TopicPartition,
    pub current_leader_epoch: LeaderEpoch,
    pub epoch: LeaderEpoch,
}

/// Where does the leader's log begin, or end?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetQuestion {
    pub partition: TopicPartition,
    pub current_leader_epoch: LeaderEpoch,
    /// -1 is the end, -2 the beginning, as in ListOffsets.
    pub timestamp: Millis,
}

/// What became of one partition.
#[derive(Debug)]
pub struct Followed {
    pub partition: TopicPartition,
    /// HW and log start may have moved.
    pub moved: Moved,
    /// When the partition's log directory has done this: [`Partition::disk_done`], then
    /// [`Fetcher::written`].
    pub wait_for: Option<Ticket>,
    /// Run it, and give the result to [`Fetcher::rebuilt`].
    pub rebuild: Option<(CutId, Job)>,
    /// The log was cut.
    pub cut: Option<Cut>,
    /// The fetcher has given the partition up, and forgot it; its role is to come again.
    pub stopped: Option<FetchPause>,
}

#[derive(Clone, Debug)]
pub struct Fetcher {
    leader: BrokerId,
    settings: FetcherSettings,
    partitions: OrderedMap<TopicPartition, PartitionFetch>,
    session: FetchSession,
    /// Partitions whose part of the next fetch may differ from the last.
    touched: OrderedSet<TopicPartition>,
    /// Partitions that were appended to or cut, until the disk has done it.
    unwritten: OrderedSet<TopicPartition>,
    /// Partitions that have to ask for the end of an epoch.
    asking_epoch: OrderedSet<TopicPartition>,
    /// Partitions that have to ask for an end of the leader's log.
    asking_offset: OrderedSet<TopicPartition>,
    delayed: OrderedSet<(Millis, TopicPartition)>,
    /// The last of the pauses.
    paused: EventId,
    under_way: Option<UnderWay>,
    /// Counts turns and cuts.
    next: u64,
}

/// The request that was given and is not answered yet.
#[derive(Clone, Debug)]
enum UnderWay {
    Fetch,
    EpochEnds(Vec<EpochQuestion>),
    Offset(OffsetQuestion),
}

impl Fetcher {
    pub fn new(leader: BrokerId, settings: FetcherSettings) -> Self {
        Self {
            leader,
            settings,
            partitions: OrderedMap::new(),
            session: FetchSession::default(),
            touched: OrderedSet::new(),
            unwritten: OrderedSet::new(),
            asking_epoch: OrderedSet::new(),
            asking_offset: OrderedSet::new(),
            delayed: OrderedSet::new(),
            paused: EventId::NONE,
            under_way: None,
            next: 0,
        }
    }

    pub fn leader(&self) -> BrokerId {
        self.leader
    }

    pub fn len(&self) -> usize {
        self.partitions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.partitions.is_empty()
    }

    pub fn contains(&self, name: &TopicPartition) -> bool {
        self.partitions.contains_key(name)
    }

    /// Whether a request was given that is not answered yet.
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// The fact that a partition was left out for a while, the last one.
    pub fn paused(&self) -> EventId {
        self.paused
    }

    /// How many records the leader had above this log at the last fetch; `None` before the first.
    pub fn lag(&self, name: &TopicPartition) -> Option<i64> {
        self.partitions.get(name)?.lag
    }

    /// Follows the partition in this leader epoch; goes on as it is if it does already.
    pub fn add(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        name: &TopicPartition,
        topic_id: Uuid,
        leader_epoch: LeaderEpoch,
    ) -> Vec<Followed> {
        let known = self.partitions.get(name);
        if known.is_some_and(|known| known.leader_epoch == leader_epoch && known.topic_id == topic_id) {
            return Vec::new();
        }
        self.remove(name);
        let turn = self.draw();
        let fetch = PartitionFetch::new(topic_id, leader_epoch, turn);
        self.partitions.insert(name.clone(), fetch);
        let mut followed = Vec::new();
        let Some(partition) = logs.partition(name) else {
            return followed;
        };
        let queued = cx.disk.last_ticket(partition.dir());
        let log = partition.log();
        let then = match self.settings.truncate_by {
            _ if !log.is_ok_and(|log| log.latest_epoch().is_some()) => None,
            TruncateBy::HighWatermark => None,
            TruncateBy::OffsetForLeaderEpoch => Some(Then::AskEpoch),
            TruncateBy::LeaderEpoch => Some(Then::Fetch),
        };
        match then {
            Some(then) => self.settle(cx, logs, name, (then, queued), &mut followed),
            None => self.cut_to_high_watermark(cx, logs, name, &mut followed),
        }
        followed
    }

    /// Follows the partition no more; an answer under way will not count for it.
    pub fn remove(&mut self, name: &TopicPartition) -> bool {
        let Some(removed) = self.partitions.remove(name) else {
            return false;
        };
        if let Some(until) = removed.delayed_until {
            self.delayed.remove(&(until, name.clone()));
        }
        self.unwritten.remove(name);
        self.asking_epoch.remove(name);
        self.asking_offset.remove(name);
        self.touched.insert(name.clone());
        true
    }

    /// Something that a fetch says of the partition has changed here: its log start.
    pub fn touch(&mut self, name: &TopicPartition) {
        if self.partitions.contains_key(name) {
            self.touched.insert(name.clone());
        }
    }

    /// When [`next_request`](Self::next_request) may give one that it would not give now.
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.delayed.first().map(|(until, _)| *until)
    }

    /// The next request; `None` while one is under way, while the disk has to catch up, or when there is
    /// nothing to ask. To be called after every other call, and at [`poll_timeout`](Self::poll_timeout).
    pub fn next_request(
        &mut self,
        cx: &mut Cx,
        shared: &Replication,
        logs: &mut dyn FollowerLogs,
    ) -> Option<FetcherRequest> {
        if self.under_way.is_some() {
            return None;
        }
        // Even if the disk has to catch up: a pause that is over must not be due again.
        self.end_delays(cx.now);
        if !self.unwritten.is_empty() {
            return None;
        }
        if let Some(questions) = self.epoch_questions(logs) {
            self.under_way = Some(UnderWay::EpochEnds(questions.clone()));
            return Some(FetcherRequest::EpochEnds(questions));
        }
        if let Some(question) = self.offset_question() {
            self.under_way = Some(UnderWay::Offset(question.clone()));
            return Some(FetcherRequest::Offset(question));
        }
        let request = self.fetch_request(cx, shared, logs)?;
        self.under_way = Some(UnderWay::Fetch);
        Some(FetcherRequest::Fetch(request))
    }

    fn fetch_request(
        &mut self,
        cx: &mut Cx,
        shared: &Replication,
        logs: &mut dyn FollowerLogs,
    ) -> Option<FetchRequest> {
        let asked = if self.session.is_full() {
            // In the order of their turns: the leader may not get to the last ones.
            let turns = self.partitions.iter().map(|(name, fetch)| (fetch.turn, name));
            let by_turn: OrderedSet<_> = turns.collect();
            by_turn.into_iter().map(|(_, name)| name.clone()).collect()
        } else {
            Vec::from_iter(std::mem::take(&mut self.touched))
        };
        let wanted = asked
            .into_iter()
            .map(|name| {
                let wanted = self.wanted(cx, logs, &name);
                (name, wanted)
            })
            .collect();
        self.touched.clear();
        let built = self.session.build(wanted)?;
        Some(FetchRequest {
            replica_id: shared.me,
            replica_epoch: shared.broker_epoch,
            max_wait_ms: self.settings.wait_max_ms,
            min_bytes: self.settings.min_bytes,
            max_bytes: self.settings.response_max_bytes,
            session_id: built.session_id,
            session_epoch: built.session_epoch,
            topics: built.topics,
            forgotten_topics: built.forgotten,
            ..FetchRequest::default()
        })
    }

    /// What a fetch asks of the partition, if it is ready.
    fn wanted(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        name: &TopicPartition,
    ) -> Option<(Uuid, FetchPartition)> {
        let fetch = self.partitions.get(name).filter(|fetch| fetch.is_ready())?;
        let (topic_id, current_leader_epoch) = (fetch.topic_id, fetch.leader_epoch);
        let log = logs.partition(name).and_then(|partition| partition.log().ok());
        let Some(log) = log else {
            // Its directory failed, or it went away; the broker will say so.
            let why = FetchPause::Unusable("its log is not there".to_owned());
            self.delay(cx, name, why);
            return None;
        };
        let last_fetched_epoch = match self.settings.truncate_by {
            TruncateBy::LeaderEpoch => log.latest_epoch().unwrap_or(NO_EPOCH),
            TruncateBy::OffsetForLeaderEpoch | TruncateBy::HighWatermark => NO_EPOCH,
        };
        let wanted = FetchPartition {
            partition: name.partition,
            current_leader_epoch,
            fetch_offset: log.log_end(),
            last_fetched_epoch,
            log_start_offset: log.log_start(),
            max_bytes: self.settings.max_bytes,
            ..FetchPartition::default()
        };
        Some((topic_id, wanted))
    }

    /// No answer comes to the request under way: not connected, or the connection is lost. What it asked for
    /// waits a while.
    pub fn request_failed(&mut self, cx: &mut Cx) {
        let asked: Vec<TopicPartition> = match self.under_way.take() {
            None => return,
            Some(UnderWay::EpochEnds(questions)) => {
                questions.into_iter().map(|question| question.partition).collect()
            }
            Some(UnderWay::Offset(question)) => vec![question.partition],
            Some(UnderWay::Fetch) => {
                self.session.failed();
                self.partitions.keys().cloned().collect()
            }
        };
        for name in asked {
            self.delay(cx, &name, FetchPause::Unanswered);
        }
    }

    /// Leaves the partition out for `replica.fetch.backoff.ms`, or shorter while the leader may just have
    /// yet to hear from the controller what this broker has heard.
    fn delay(&mut self, cx: &mut Cx, name: &TopicPartition, why: FetchPause) {
        let leader = self.leader;
        let Some(fetch) = self.partitions.get_mut(name).filter(|fetch| !fetch.is_delayed()) else {
            return;
        };
        let mut pause_ms = self.settings.backoff_ms;
        if why.may_have_yet_to_hear() {
            pause_ms = pause_ms.min(NOT_HEARD_MS << fetch.not_heard.min(MOST_DOUBLINGS));
            fetch.not_heard += 1;
        }
        let until = cx.now.saturating_add(pause_ms);
        fetch.delayed_until = Some(until);
        self.delayed.insert((until, name.clone()));
        self.touched.insert(name.clone());
        self.paused = cx.emit(|| Fact::FetchPaused {
            partition: name.clone(),
            leader,
            until_ms: until,
            why,
        });
    }

    fn end_delays(&mut self, now: Millis) {
        while self.poll_timeout().is_some_and(|until| until <= now)
            && let Some((_, name)) = self.delayed.pop_first()
        {
            if let Some(fetch) = self.partitions.get_mut(&name) {
                fetch.delayed_until = None;
                self.touched.insert(name);
            }
        }
    }

    /// Gives the partition up: nothing helps but the controller's next word.
    fn stop(&mut self, cx: &mut Cx, name: &TopicPartition, why: FetchPause, into: &mut Vec<Followed>) {
        self.remove(name);
        let leader = self.leader;
        cx.emit(|| Fact::FetchStopped {
            partition: name.clone(),
            leader,
            why: why.clone(),
        });
        into.push(Followed {
            stopped: Some(why),
            ..Followed::of(name)
        });
    }

    /// The partition's log directory is done up to this ticket: what a [`Followed::wait_for`] named. A log that
    /// is to be cut is cut now.
    pub fn written(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        name: &TopicPartition,
        upto: Ticket,
    ) -> Vec<Followed> {
        let mut followed = Vec::new();
        let Some(fetch) = self.partitions.get_mut(name) else {
            return followed;
        };
        match &fetch.phase {
            Phase::Writing { ticket, then } if *ticket <= upto => {
                let then = *then;
                self.unwritten.remove(name);
                self.settled(logs, name, then);
            }
            Phase::Cutting {
                wait_for: Some(ticket),
                ..
            } if *ticket <= upto => {
                self.cut(cx, logs, name, &mut followed);
            }
            _ => {}
        }
        followed
    }

    /// The partition's phase is new: it is listed where its next step is looked for.
    fn enter(&mut self, name: &TopicPartition) {
        match self.partitions.get(name).map(|fetch| &fetch.phase) {
            Some(Phase::AsksEpoch) => _ = self.asking_epoch.insert(name.clone()),
            Some(Phase::AsksEnd | Phase::AsksStart) => _ = self.asking_offset.insert(name.clone()),
            Some(Phase::Writing { .. }) => _ = self.unwritten.insert(name.clone()),
            _ => {}
        }
        self.touched.insert(name.clone());
    }

    fn draw(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl Followed {
    fn cut(name: &TopicPartition, cut: Cut) -> Self {
        Self {
            cut: Some(cut),
            ..Self::of(name)
        }
    }

    fn of(name: &TopicPartition) -> Self {
        Self {
            partition: name.clone(),
            moved: Moved::default(),
            wait_for: None,
            rebuild: None,
            cut: None,
            stopped: None,
        }
    }
}
