//! Fetch sessions (KIP-227): a client names its partitions once, later only what changed.
//!
//! A session remembers what its client wants of each partition and what the client was last told.
//! A request in a session visits only *dirty* partitions: those whose wish changed, whose log moved,
//! whose last answer held records or an error. A consumer of 10,000 idle partitions so costs
//! nothing per poll. Visits go in the order of the list, and a partition that gave records moves to
//! its end, so that none starves when an answer is full (Kafka's `FetchSession`).
//!
//! Invariants
//! - a session's epoch is the one its next request must carry
//! - an entry is clean only if a visit found neither records nor error, and nobody asked for another
//! - the cache never holds more than its limits of sessions and of partitions; who is pushed out is told by FETCH_SESSION_ID_NOT_FOUND

use std::sync::Arc;

use slab::Slab;

use crate::error::ErrorCode;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::replica::ParkedId;
use crate::types::{BrokerEpoch, LeaderEpoch, Millis, Offset, PartitionIndex, Rng, Uuid};

/// Epoch of a request that opens a session.
pub const INITIAL_EPOCH: i32 = 0;
/// Epoch of a request outside any session, which closes the one it names.
pub const FINAL_EPOCH: i32 = -1;

/// Partitions of all sessions together: a stranger's large requests shall not fill the memory. Kafka
/// bounds only the number of sessions.
const MOST_ENTRIES: usize = 1 << 20;

/// A topic as its client names it: by name below version 13, by id from there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TopicKey {
    Name(Arc<str>),
    Id(Uuid),
}

/// A partition as its client names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartitionKey {
    pub topic: TopicKey,
    pub partition: PartitionIndex,
}

/// What a client wants of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub fetch_offset: Offset,
    pub max_bytes: u32,
    /// -1: do not check.
    pub current_leader_epoch: LeaderEpoch,
    /// Epoch of the last record the fetcher has; -1: do not look for divergence.
    pub last_fetched_epoch: LeaderEpoch,
    /// First offset that the fetcher has, if it is a follower.
    pub log_start: Offset,
}

impl Wanted {
    /// Whether the client took all that answers to the earlier wish said. A follower whose log diverges
    /// cuts it, and leaves the rest of that answer; one that has heard of a new leader epoch leaves all of
    /// an answer to the old.
    fn goes_on_from(&self, earlier: &Self) -> bool {
        self.fetch_offset >= earlier.fetch_offset && self.current_leader_epoch == earlier.current_leader_epoch
    }
}

/// One partition of a session.
#[derive(Clone, Debug)]
struct Entry {
    key: PartitionKey,
    wanted: Wanted,
    /// Place in the order of visits.
    order: u64,
    /// What the client was last told; `None` asks for an answer in any case.
    told: Option<(Offset, Offset)>,
    /// The next request visits it, whatever the present one settles.
    visit_again: bool,
}

/// Names an entry of a session, for as long as the entry lives.
pub type SlotId = usize;

#[derive(Clone, Debug)]
pub struct Session {
    pub uses_topic_ids: bool,
    /// The epoch that the next request must carry.
    epoch: i32,
    created_ms: Millis,
    last_used_ms: Millis,
    entries: Slab<Entry>,
    by_key: OrderedMap<PartitionKey, SlotId>,
    dirty: OrderedSet<(u64, SlotId)>,
    next_order: u64,
    /// The life of the broker that fetches, if it is a replica's.
    replica_epoch: Option<BrokerEpoch>,
    /// The fetch that waits in this session for data.
    pub parked: Option<ParkedId>,
}

/// What an answer says of a partition, as far as the session has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub high_watermark: Offset,
    pub log_start: Offset,
    pub record_bytes: u64,
    pub error: bool,
    /// Divergence or a preferred replica: must be answered though nothing moved.
    pub must_answer: bool,
    /// Records can be read from the wanted offset, given or not.
    pub more: bool,
}

impl Session {
    fn new(uses_topic_ids: bool, now: Millis) -> Self {
        Self {
            uses_topic_ids,
            epoch: 1,
            created_ms: now,
            last_used_ms: now,
            entries: Slab::new(),
            by_key: OrderedMap::new(),
            dirty: OrderedSet::new(),
            next_order: 0,
            replica_epoch: None,
            parked: None,
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a partition or changes what is wanted of it.
    pub fn want(&mut self, key: PartitionKey, wanted: Wanted) -> SlotId {
        let slot = match self.by_key.get(&key) {
            Some(&slot) => {
                let entry = &mut self.entries[slot];
                // Of a client that does not go on from the last answer nobody knows what it took from it.
                if !wanted.goes_on_from(&entry.wanted) {
                    entry.told = None;
                }
                entry.wanted = wanted;
                slot
            }
            None => {
                self.next_order += 1;
                let slot = self.entries.insert(Entry {
                    key: key.clone(),
                    wanted,
                    order: self.next_order,
                    told: None,
                    visit_again: false,
                });
                self.by_key.insert(key, slot);
                slot
            }
        };
        self.mark(slot);
        slot
    }

    /// Takes a partition out; its slot, when it was there.
    pub fn forget(&mut self, key: &PartitionKey) -> Option<SlotId> {
        let slot = self.by_key.remove(key)?;
        let entry = self.entries.remove(slot);
        self.dirty.remove(&(entry.order, slot));
        Some(slot)
    }

    /// The partition has news: the next request visits it. False when the slot is free.
    pub fn mark(&mut self, slot: SlotId) -> bool {
        match self.entries.get(slot) {
            Some(entry) => {
                self.dirty.insert((entry.order, slot));
                true
            }
            None => false,
        }
    }

    /// The next request visits the partition though it has no news, even if it is being visited now.
    pub fn mark_for_next_request(&mut self, slot: SlotId) {
        if self.mark(slot)
            && let Some(entry) = self.entries.get_mut(slot)
        {
            entry.visit_again = true;
        }
    }

    /// A request visits what is dirty.
    pub fn begin_visits(&mut self) {
        for &(_, slot) in &self.dirty {
            if let Some(entry) = self.entries.get_mut(slot) {
                entry.visit_again = false;
            }
        }
    }

    /// A replica fetches in this life of its broker. In a new one every partition is visited: its leader
    /// has to know of it (KIP-903).
    pub fn fetched_in(&mut self, epoch: BrokerEpoch) {
        if self
            .replica_epoch
            .replace(epoch)
            .is_some_and(|before| before != epoch)
        {
            let all: Vec<SlotId> = self.by_key.values().copied().collect();
            for slot in all {
                self.mark(slot);
            }
        }
    }

    /// What to visit, in order.
    pub fn dirty(&self) -> impl Iterator<Item = (SlotId, &PartitionKey, &Wanted)> {
        self.dirty.iter().filter_map(|&(_, slot)| {
            let entry = self.entries.get(slot)?;
            Some((slot, &entry.key, &entry.wanted))
        })
    }

    /// Every partition of the session, by key.
    pub fn partitions(&self) -> impl Iterator<Item = (SlotId, &PartitionKey)> {
        self.by_key.iter().map(|(key, &slot)| (slot, key))
    }

    /// Whether the client has not been told of these yet.
    pub fn is_news(&self, slot: SlotId, high_watermark: Offset, log_start: Offset) -> bool {
        let entry = self.entries.get(slot);
        entry.is_some_and(|entry| entry.told != Some((high_watermark, log_start)))
    }

    /// Settles a visit: whether the partition belongs into the answer (`CachedPartition.maybeUpdateResponseData`).
    pub fn settle(&mut self, slot: SlotId, told: Told) -> bool {
        let Some(entry) = self.entries.get_mut(slot) else {
            return false;
        };
        let news = entry.told != Some((told.high_watermark, told.log_start));
        let answer = news || told.record_bytes > 0 || told.error || told.must_answer;
        // After an error the client hears of the partition again, whatever comes.
        entry.told = (!told.error).then_some((told.high_watermark, told.log_start));
        let stays_dirty =
            told.more || told.record_bytes > 0 || told.error || told.must_answer || entry.visit_again;
        self.dirty.remove(&(entry.order, slot));
        if told.record_bytes > 0 {
            self.next_order += 1;
            entry.order = self.next_order;
        }
        if stays_dirty {
            self.dirty.insert((entry.order, slot));
        }
        answer
    }
}

/// The session that a request is handled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// Outside any session: every partition is answered.
    Sessionless,
    /// Names all its partitions; a session is opened if there is room.
    Full,
    /// Within a session: only partitions with news are answered.
    Incremental { session: i32 },
}

/// All sessions, at most `max` (`max.incremental.fetch.session.cache.slots`).
#[derive(Clone, Debug)]
pub struct FetchSessions {
    sessions: OrderedMap<i32, Session>,
    by_last_use: OrderedSet<(Millis, i32)>,
    max: usize,
    /// Entries of all sessions.
    entries: usize,
    /// An unused session may be pushed out after this long (`FetchManager`: two minutes).
    eviction_ms: Millis,
}

impl FetchSessions {
    pub fn new(max: usize, eviction_ms: Millis) -> Self {
        Self {
            sessions: OrderedMap::new(),
            by_last_use: OrderedSet::new(),
            max,
            entries: 0,
            eviction_ms,
        }
    }

    pub fn get_mut(&mut self, id: i32) -> Option<&mut Session> {
        self.sessions.get_mut(&id)
    }

    /// Which session a request belongs to (`FetchManager.newContext`). A session that the request closes
    /// comes back beside it, for its watchers to be taken down.
    pub fn enter(
        &mut self,
        id: i32,
        epoch: i32,
        by_topic_id: bool,
        now: Millis,
    ) -> (Result<Context, ErrorCode>, Option<Session>) {
        if epoch == INITIAL_EPOCH || epoch == FINAL_EPOCH {
            let closed = self.remove(id);
            let context = if epoch == FINAL_EPOCH {
                Context::Sessionless
            } else {
                Context::Full
            };
            return (Ok(context), closed);
        }
        let Some(session) = self.sessions.get_mut(&id) else {
            return (Err(ErrorCode::FetchSessionIdNotFound), None);
        };
        if session.epoch != epoch {
            return (Err(ErrorCode::InvalidFetchSessionEpoch), None);
        }
        if session.uses_topic_ids != by_topic_id {
            return (Err(ErrorCode::FetchSessionTopicIdError), None);
        }
        session.epoch = next_epoch(epoch);
        self.by_last_use.remove(&(session.last_used_ms, id));
        session.last_used_ms = now;
        self.by_last_use.insert((now, id));
        (Ok(Context::Incremental { session: id }), None)
    }

    /// Opens a session for `size` partitions, if there is room or somebody can be pushed out
    /// (`FetchSessionCache.tryEvict`): one unused for long first, else a smaller one that has lived long
    /// enough. Answers the new session's id and who was pushed out.
    pub fn open(
        &mut self,
        size: usize,
        uses_topic_ids: bool,
        now: Millis,
        rng: &mut Rng,
    ) -> (Option<i32>, Option<(i32, Session)>) {
        if self.entries.saturating_add(size) > MOST_ENTRIES {
            return (None, None);
        }
        let mut evicted = None;
        if self.sessions.len() >= self.max {
            let Some(id) = self.evictable(size, now) else {
                return (None, None);
            };
            evicted = self.remove(id).map(|session| (id, session));
        }
        let id = loop {
            let id = 1 + rng.below(i32::MAX as u64) as i32;
            if !self.sessions.contains_key(&id) {
                break id;
            }
        };
        self.sessions.insert(id, Session::new(uses_topic_ids, now));
        self.by_last_use.insert((now, id));
        (Some(id), evicted)
    }

    fn evictable(&self, size: usize, now: Millis) -> Option<i32> {
        let &(last_used, id) = self.by_last_use.first()?;
        if now - last_used > self.eviction_ms {
            return Some(id);
        }
        let (smallest, id) = self
            .sessions
            .iter()
            .filter(|(_, session)| now - session.created_ms > self.eviction_ms)
            .map(|(&id, session)| (session.len(), id))
            .min()?;
        (size >= smallest).then_some(id)
    }

    /// Tells how many entries a session has now; false when all together are too many, and the session
    /// must be closed.
    pub fn account(&mut self, before: usize, after: usize) -> bool {
        self.entries = (self.entries + after).saturating_sub(before);
        self.entries <= MOST_ENTRIES
    }

    /// Closes a session.
    pub fn remove(&mut self, id: i32) -> Option<Session> {
        let session = self.sessions.remove(&id)?;
        self.entries = self.entries.saturating_sub(session.len());
        self.by_last_use.remove(&(session.last_used_ms, id));
        Some(session)
    }
}

fn next_epoch(epoch: i32) -> i32 {
    if epoch == i32::MAX { 1 } else { epoch + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(partition: PartitionIndex) -> PartitionKey {
        PartitionKey {
            topic: TopicKey::Name("t".into()),
            partition,
        }
    }

    fn from(fetch_offset: Offset) -> Wanted {
        Wanted {
            log_start: -1,
            fetch_offset,
            max_bytes: 100,
            current_leader_epoch: -1,
            last_fetched_epoch: -1,
        }
    }

    fn told(high_watermark: Offset, record_bytes: u64) -> Told {
        Told {
            high_watermark,
            log_start: 0,
            record_bytes,
            error: false,
            must_answer: false,
            more: false,
        }
    }

    fn visits(session: &Session) -> Vec<PartitionIndex> {
        session.dirty().map(|(_, key, _)| key.partition).collect()
    }

    #[test]
    fn an_idle_partition_is_visited_once_and_then_left_alone() {
        let mut session = Session::new(false, 0);
        let slot = session.want(key(0), from(5));
        assert!(session.settle(slot, told(5, 0)), "the first answer names it");
        assert!(visits(&session).is_empty());
        session.mark(slot);
        assert!(!session.settle(slot, told(5, 0)), "nothing new to say");
        session.mark(slot);
        assert!(
            session.settle(slot, told(6, 0)),
            "the high watermark alone is news"
        );
    }

    #[test]
    fn a_visit_that_is_asked_for_during_another_is_made() {
        let mut session = Session::new(false, 0);
        let slot = session.want(key(0), from(5));
        session.begin_visits();
        session.mark_for_next_request(slot);
        session.settle(slot, told(5, 0));
        assert_eq!(visits(&session), [0]);
        session.begin_visits();
        session.settle(slot, told(5, 0));
        assert!(visits(&session).is_empty(), "once");
    }

    #[test]
    fn a_partition_that_gave_records_goes_to_the_end() {
        let mut session = Session::new(false, 0);
        let slots: Vec<_> = (0..3).map(|i| session.want(key(i), from(0))).collect();
        assert_eq!(visits(&session), [0, 1, 2]);
        session.settle(slots[0], told(9, 50));
        assert_eq!(visits(&session), [1, 2, 0]);
        session.forget(&key(1));
        assert_eq!(visits(&session), [2, 0]);
    }

    #[test]
    fn an_error_is_said_again_and_recovery_from_it_too() {
        let mut session = Session::new(false, 0);
        let slot = session.want(key(0), from(0));
        let failed = Told {
            error: true,
            ..told(-1, 0)
        };
        assert!(session.settle(slot, failed));
        assert!(session.settle(slot, failed));
        assert!(session.settle(slot, told(0, 0)));
        assert!(!session.settle(slot, told(0, 0)));
    }

    #[test]
    fn the_high_watermark_is_said_again_after_a_divergence() {
        let mut session = Session::new(false, 0);
        let slot = session.want(key(0), from(9));
        let diverges = Told {
            must_answer: true,
            ..told(4, 0)
        };
        assert!(session.settle(slot, diverges));
        session.want(key(0), from(4));
        assert!(
            session.is_news(slot, 4, 0),
            "its log was cut, and it heard no more"
        );
        assert!(session.settle(slot, told(4, 0)));
        assert!(!session.settle(slot, told(4, 0)));
    }

    #[test]
    fn the_high_watermark_is_said_again_in_a_new_leader_epoch() {
        let in_epoch = |epoch| Wanted {
            current_leader_epoch: epoch,
            ..from(8)
        };
        let mut session = Session::new(false, 0);
        let slot = session.want(key(0), in_epoch(0));
        assert!(
            session.settle(slot, told(8, 0)),
            "too late for a follower in epoch 1"
        );
        session.want(key(0), in_epoch(1));
        assert!(session.settle(slot, told(8, 0)));
        assert!(!session.settle(slot, told(8, 0)));
    }

    #[test]
    fn epochs_are_checked_and_rise() {
        let mut rng = Rng::new(1);
        let mut sessions = FetchSessions::new(10, 1000);
        let id = sessions.open(1, false, 0, &mut rng).0.unwrap();
        let enter = |s: &mut FetchSessions, id, epoch, ids| s.enter(id, epoch, ids, 1).0;
        assert_eq!(
            enter(&mut sessions, id, 2, false),
            Err(ErrorCode::InvalidFetchSessionEpoch)
        );
        assert_eq!(
            enter(&mut sessions, id, 1, true),
            Err(ErrorCode::FetchSessionTopicIdError)
        );
        assert_eq!(
            enter(&mut sessions, id, 1, false),
            Ok(Context::Incremental { session: id })
        );
        assert_eq!(
            enter(&mut sessions, id, 2, false),
            Ok(Context::Incremental { session: id })
        );
        let (context, closed) = sessions.enter(id, FINAL_EPOCH, false, 1);
        assert_eq!(context, Ok(Context::Sessionless));
        assert!(closed.is_some(), "a final epoch closes the session");
        assert_eq!(
            enter(&mut sessions, id, 3, false),
            Err(ErrorCode::FetchSessionIdNotFound)
        );
        assert_eq!(next_epoch(i32::MAX), 1, "the epoch wraps past the opening one");
    }

    #[test]
    fn sessions_together_hold_a_bounded_number_of_partitions() {
        let mut rng = Rng::new(1);
        let mut sessions = FetchSessions::new(10, 1000);
        assert_eq!(sessions.open(MOST_ENTRIES + 1, false, 0, &mut rng).0, None);
        let id = sessions.open(1, false, 0, &mut rng).0.unwrap();
        sessions.get_mut(id).unwrap().want(key(0), from(0));
        assert!(sessions.account(0, 1));
        assert_eq!(sessions.open(MOST_ENTRIES, false, 0, &mut rng).0, None);
        sessions.remove(id);
        assert!(sessions.open(MOST_ENTRIES, false, 0, &mut rng).0.is_some());
    }

    #[test]
    fn a_full_cache_pushes_out_the_unused_then_the_smaller() {
        let mut rng = Rng::new(1);
        let mut sessions = FetchSessions::new(2, 1000);
        let old = sessions.open(1, false, 0, &mut rng).0.unwrap();
        let young = sessions.open(1, false, 900, &mut rng).0.unwrap();
        for partition in 0..5 {
            sessions.get_mut(young).unwrap().want(key(partition), from(0));
        }
        assert_eq!(
            sessions.open(9, false, 950, &mut rng).0,
            None,
            "all are too young"
        );
        let (third, evicted) = sessions.open(1, false, 1001, &mut rng);
        assert_eq!(evicted.unwrap().0, old);
        for partition in 0..6 {
            sessions
                .get_mut(third.unwrap())
                .unwrap()
                .want(key(partition), from(0));
        }
        sessions.enter(young, 1, false, 2000).0.unwrap();
        sessions.enter(third.unwrap(), 1, false, 2000).0.unwrap();
        assert_eq!(
            sessions.open(4, false, 2100, &mut rng).0,
            None,
            "larger ones are kept from smaller newcomers"
        );
    }
}
