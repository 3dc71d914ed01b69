//! A fetch while it is under way: from its request to its answer.

use super::session::{Context, FINAL_EPOCH, PartitionKey, TopicKey, Wanted};
use super::visit::{Follower, Visit};
use crate::broker::State;
use crate::broker::caller::Caller;
use crate::broker::parked::{Growth, Parked};
use crate::broker::work::Step;
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::protocol::StrBytes;
use crate::protocol::fetch::{FetchPartition, FetchRequest, FetchResponse};
use crate::replica::ParkedId;
use crate::replica::Watcher;
use crate::trace::EventId;
use crate::types::{Millis, Uuid};

/// First version whose requests belong to a session.
const FIRST_WITH_SESSION: i16 = 7;
/// First version that names topics by id.
const FIRST_WITH_TOPIC_ID: i16 = 13;

/// A fetch that is not answered yet.
#[derive(Clone, Debug)]
pub(in crate::broker) struct FetchWait {
    pub(super) caller: Caller,
    pub(super) follower: Option<Follower>,
    pub(super) read_committed: bool,
    pub(super) min_bytes: u64,
    pub(super) max_bytes: u64,
    deadline: Millis,
    /// The session it belongs to, or what it asks for outside any.
    pub(super) session: Option<i32>,
    asked: Vec<(PartitionKey, Wanted)>,
    /// Whether partitions without news are answered too.
    pub(super) full: bool,

    pub(super) visits: Vec<Visit>,
    /// Visits before this one are made.
    pub(super) next: usize,
    /// Bytes of records found by the visits made.
    pub(super) bytes: u64,
    pub(super) error: bool,
    /// A follower has to hear of another high watermark or log start.
    pub(super) news: bool,
    /// Jobs that the visits wait for.
    pub(super) jobs: u32,
    /// Bytes still missing, while parked for data.
    missing: i64,
    state: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Visiting,
    /// Visited, and too little was there.
    ForData,
}

impl FetchWait {
    /// The event that it follows from.
    pub(in crate::broker) fn cause(&self) -> EventId {
        self.caller.cause
    }
}

impl State {
    pub(in crate::broker) fn fetch(&mut self, cx: &mut Cx, caller: Caller, request: &FetchRequest) {
        cx.cause = caller.cause;
        let by_id = caller.version >= FIRST_WITH_TOPIC_ID;
        let epoch = if caller.version >= FIRST_WITH_SESSION {
            request.session_epoch
        } else {
            FINAL_EPOCH
        };
        let (context, closed) = self.sessions.enter(request.session_id, epoch, by_id, cx.now);
        if let Some(closed) = closed {
            self.unwatch_session(request.session_id, &closed);
        }
        let context = match context {
            Ok(context) => context,
            Err(code) => return self.refuse_fetch(&caller, code),
        };
        let mut wait = FetchWait::new(cx.now, caller, request, self.config.fetch_max_bytes);
        if !self.enter_session(cx, &mut wait, context, request) {
            return self.refuse_fetch(&caller, ErrorCode::FetchSessionIdNotFound);
        }
        let conn = caller.conn;
        let deadline = (wait.deadline > cx.now).then_some(wait.deadline);
        let id = self.purgatory.park(conn, deadline, Parked::Fetch(Box::new(wait)));
        self.begin_visits(cx, id);
    }

    fn refuse_fetch(&mut self, caller: &Caller, error_code: ErrorCode) {
        let answer = FetchResponse {
            error_code,
            ..FetchResponse::default()
        };
        self.out.answer(caller, answer);
    }

    /// The session that the request belongs to, opened if it asks for one and there is room.
    fn session_of(&mut self, cx: &mut Cx, context: Context, by_id: bool, size: usize) -> Option<i32> {
        match context {
            Context::Sessionless => None,
            Context::Full => {
                let (id, evicted) = self.sessions.open(size, by_id, cx.now, cx.rng);
                if let Some((id, evicted)) = evicted {
                    self.unwatch_session(id, &evicted);
                }
                id
            }
            Context::Incremental { session } => Some(session),
        }
    }

    /// Writes the request's wishes into its session, or keeps them with the fetch when there is none. False
    /// when sessions have grown too large, and this one is closed.
    fn enter_session(
        &mut self,
        cx: &mut Cx,
        wait: &mut FetchWait,
        context: Context,
        request: &FetchRequest,
    ) -> bool {
        let by_id = wait.caller.version >= FIRST_WITH_TOPIC_ID;
        let size = request.topics.iter().map(|topic| topic.partitions.len()).sum();
        let id = self.session_of(cx, context, by_id, size);
        let asked = request.topics.iter().flat_map(|topic| {
            let key = topic_key(by_id, &topic.name, topic.topic_id);
            let wishes = topic.partitions.iter();
            wishes.map(move |partition| (partition_key(&key, partition.partition), wanted(partition)))
        });
        wait.full = !matches!(context, Context::Incremental { .. });
        wait.session = id;
        let Some((id, session)) = id.and_then(|id| Some((id, self.sessions.get_mut(id)?))) else {
            wait.asked = asked.collect();
            return true;
        };
        if let Some(follower) = wait.follower {
            session.fetched_in(follower.broker_epoch);
        }
        let before = session.len();
        for (key, wanted) in asked {
            session.want(key, wanted);
        }
        let mut forgotten = Vec::new();
        for topic in &request.forgotten_topics {
            let topic_key = topic_key(by_id, &topic.name, topic.topic_id);
            for &partition in &topic.partitions {
                let key = partition_key(&topic_key, partition);
                forgotten.extend(session.forget(&key).map(|slot| (key, slot)));
            }
        }
        let after = session.len();
        for (key, slot) in forgotten {
            self.unwatch(&key, Watcher::Session { session: id, slot });
        }
        let fits = self.sessions.account(before, after);
        if !fits && let Some(closed) = self.sessions.remove(id) {
            self.unwatch_session(id, &closed);
        }
        if after == 0 && !wait.full {
            // A session that has forgotten all its partitions is over, and its client is told so.
            self.sessions.remove(id);
            wait.session = None;
            wait.full = true;
        }
        fits
    }

    /// Makes the list of visits from what the session or the request wants, and starts them.
    fn begin_visits(&mut self, cx: &mut Cx, id: ParkedId) {
        let Some(Parked::Fetch(wait)) = self.purgatory.get_mut(id) else {
            return;
        };
        wait.state = Phase::Visiting;
        wait.next = 0;
        wait.bytes = 0;
        wait.error = false;
        wait.news = false;
        wait.visits.clear();
        match wait.session.and_then(|session| self.sessions.get_mut(session)) {
            Some(session) => {
                session.parked = None;
                session.begin_visits();
                let visits = session
                    .dirty()
                    .map(|(slot, key, wanted)| Visit::new(key.clone(), wanted.clone(), Some(slot)));
                wait.visits.extend(visits);
            }
            None => {
                let visits = wait.asked.iter();
                let visits = visits.map(|(key, wanted)| Visit::new(key.clone(), wanted.clone(), None));
                wait.visits.extend(visits);
            }
        }
        self.run_or_queue(cx, Step::Fetch(id));
    }

    /// Makes up to `budget` visits; true when the fetch needs no more steps for now.
    pub(in crate::broker) fn fetch_step(&mut self, cx: &mut Cx, id: ParkedId, budget: &mut usize) -> bool {
        loop {
            let Some(Parked::Fetch(wait)) = self.purgatory.get_mut(id) else {
                return true;
            };
            if wait.next == wait.visits.len() {
                break;
            }
            if *budget == 0 {
                return false;
            }
            *budget -= 1;
            self.visit_next(cx, id);
        }
        self.visits_made(cx, id);
        true
    }

    /// All visits are made, and perhaps some wait for jobs: answer, or wait.
    pub(super) fn visits_made(&mut self, cx: &mut Cx, id: ParkedId) {
        let Some(Parked::Fetch(wait)) = self.purgatory.get_mut(id) else {
            return;
        };
        if wait.jobs > 0 || wait.next < wait.visits.len() {
            return;
        }
        let diverges = |visit: &Visit| visit.answer.diverging_epoch.end_offset >= 0;
        let answer_now = wait.error
            || wait.news
            || wait.visits.iter().any(diverges)
            || wait.bytes >= wait.min_bytes
            || wait.deadline <= cx.now
            || wait.is_over(
                self.sessions
                    .get_mut(wait.session.unwrap_or_default())
                    .map(|s| s.len()),
            );
        if answer_now {
            return self.answer_fetch(id);
        }
        if self.is_outdated(id) {
            return self.begin_visits(cx, id);
        }
        let Some(Parked::Fetch(wait)) = self.purgatory.get_mut(id) else {
            return;
        };
        wait.state = Phase::ForData;
        wait.missing = (wait.min_bytes - wait.bytes) as i64;
        match wait.session.and_then(|session| self.sessions.get_mut(session)) {
            Some(session) => session.parked = Some(id),
            None => {
                let partitions: Vec<_> = wait.visits.iter().filter_map(|visit| visit.partition).collect();
                for partition in partitions {
                    if let Some(partition) = self.topics.partition_mut(partition) {
                        partition.watch(Watcher::Fetch(id));
                    }
                }
            }
        }
    }

    /// Whether something came after the visits, while jobs ran or other requests had their turn: nobody
    /// told of it, since a fetch is told of news only once it waits for data. Visits are compared with what
    /// they met, never with what was asked for: a log that gives nothing yet would be visited for ever.
    fn is_outdated(&mut self, id: ParkedId) -> bool {
        let Some(Parked::Fetch(wait)) = self.purgatory.get_mut(id) else {
            return false;
        };
        let session = wait.session.and_then(|session| self.sessions.get_mut(session));
        if session.is_some_and(|session| session.dirty().nth(wait.visits.len()).is_some()) {
            return true;
        }
        wait.visits.iter().any(|visit| {
            let partition = visit.partition.and_then(|id| self.topics.partition(id));
            partition.is_none_or(|partition| {
                let log_end = partition.log().ok().map(|log| log.log_end());
                log_end.is_none()
                    || partition.high_watermark() != visit.answer.high_watermark
                    || (wait.follower.is_some() && log_end > visit.log_end)
            })
        })
    }

    /// A watched partition has grown, or something else about it is new.
    pub(in crate::broker) fn fetch_has_news(&mut self, cx: &mut Cx, id: ParkedId, growth: Growth) {
        let Some(Parked::Fetch(wait)) = self.purgatory.get_mut(id) else {
            return;
        };
        if wait.state != Phase::ForData {
            return;
        }
        let bytes = match wait.follower {
            Some(_) => growth.written_bytes,
            None => growth.visible_bytes,
        };
        wait.missing = wait.missing.saturating_sub_unsigned(bytes);
        if wait.missing <= 0 {
            self.stop_watching(id);
            self.begin_visits(cx, id);
        }
    }

    /// The deadline has come: visit once more and answer what there is.
    pub(in crate::broker) fn fetch_timed_out(&mut self, cx: &mut Cx, id: ParkedId) {
        self.purgatory.forget_deadline(id);
        let Some(Parked::Fetch(wait)) = self.purgatory.get_mut(id) else {
            return;
        };
        // Still visiting: the deadline is looked at when the visits are made.
        if wait.state == Phase::ForData {
            self.stop_watching(id);
            self.begin_visits(cx, id);
        }
    }

    /// Takes the fetch's watchers down; those of a session stay.
    pub(super) fn stop_watching(&mut self, id: ParkedId) {
        let Some(Parked::Fetch(wait)) = self.purgatory.get_mut(id) else {
            return;
        };
        if wait.session.is_some() {
            return;
        }
        let partitions: Vec<_> = wait.visits.iter().filter_map(|visit| visit.partition).collect();
        for partition in partitions {
            if let Some(partition) = self.topics.partition_mut(partition) {
                partition.unwatch(Watcher::Fetch(id));
            }
        }
    }

    /// The client has left: `wait` is out of the purgatory already.
    pub(in crate::broker) fn fetch_stops(&mut self, id: ParkedId, wait: &FetchWait) {
        if let Some(session) = wait.session.and_then(|session| self.sessions.get_mut(session)) {
            session.parked = session.parked.filter(|&parked| parked != id);
            return;
        }
        for partition in wait.visits.iter().filter_map(|visit| visit.partition) {
            if let Some(partition) = self.topics.partition_mut(partition) {
                partition.unwatch(Watcher::Fetch(id));
            }
        }
    }

    fn unwatch_session(&mut self, session: i32, closed: &super::session::Session) {
        for (slot, key) in closed.partitions() {
            self.unwatch(key, Watcher::Session { session, slot });
        }
    }

    fn unwatch(&mut self, key: &PartitionKey, watcher: Watcher) {
        if let Ok(id) = self.find_partition(key)
            && let Some(partition) = self.topics.partition_mut(id)
        {
            partition.unwatch(watcher);
        }
    }
}

impl FetchWait {
    fn new(now: Millis, caller: Caller, request: &FetchRequest, fetch_max_bytes: i32) -> Self {
        let max_bytes = request.max_bytes.min(fetch_max_bytes).max(0) as u64;
        Self {
            caller,
            follower: (request.replica_id >= 0).then_some(Follower {
                replica: request.replica_id,
                broker_epoch: request.replica_epoch,
            }),
            read_committed: request.isolation_level == 1,
            min_bytes: (request.min_bytes.max(0) as u64).min(max_bytes),
            max_bytes,
            deadline: now + Millis::from(request.max_wait_ms.max(0)),
            session: None,
            asked: Vec::new(),
            full: true,
            visits: Vec::new(),
            next: 0,
            bytes: 0,
            error: false,
            news: false,
            jobs: 0,
            missing: 0,
            state: Phase::Visiting,
        }
    }

    /// Whether there is nothing to wait for: no partition is asked of at all.
    fn is_over(&self, session_len: Option<usize>) -> bool {
        match session_len {
            Some(len) if self.session.is_some() => len == 0,
            _ => self.asked.is_empty(),
        }
    }
}

fn wanted(partition: &FetchPartition) -> Wanted {
    Wanted {
        fetch_offset: partition.fetch_offset,
        max_bytes: partition.max_bytes.max(0) as u32,
        current_leader_epoch: partition.current_leader_epoch,
        last_fetched_epoch: partition.last_fetched_epoch,
        log_start: partition.log_start_offset,
    }
}

/// The name is copied: a session outlives the frame it came in.
fn topic_key(by_id: bool, name: &StrBytes, id: Uuid) -> TopicKey {
    if by_id {
        TopicKey::Id(id)
    } else {
        TopicKey::Name((**name).into())
    }
}

fn partition_key(topic: &TopicKey, partition: i32) -> PartitionKey {
    PartitionKey {
        topic: topic.clone(),
        partition,
    }
}
