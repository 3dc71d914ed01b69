//! Operations that wait, and what ends them: an acknowledgement, data, a job, time, a lost connection.

use super::State;
use super::delete_records::DeletionWait;
use super::fetch::FetchWait;
use super::groups::GroupWait;
use super::offsets::OffsetsWait;
use super::produce::ProduceWait;
use crate::cx::Cx;
use crate::error::Refused;
use crate::io::ConnId;
use crate::replica::ParkedId;
use crate::replica::partition::PartitionId;
use crate::replica::{Moved, Waiting, Watcher};

/// A request whose answer is not ready.
#[derive(Clone, Debug)]
pub(super) enum Parked {
    Produce(ProduceWait),
    Fetch(Box<FetchWait>),
    Offsets(OffsetsWait),
    Deletion(Box<DeletionWait>),
    /// In the hands of the group coordinator.
    Group(Box<GroupWait>),
}

/// By how much a partition has grown, for its two kinds of readers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    /// Records that consumers can see now.
    pub visible_bytes: u64,
    /// Records that followers can fetch now.
    pub written_bytes: u64,
}

impl Growth {
    /// None, but something else is new.
    pub const NONE: Growth = Growth {
        visible_bytes: 0,
        written_bytes: 0,
    };
    /// Whoever waits shall look again, whatever they wait for.
    pub const ANY: Growth = Growth {
        visible_bytes: i64::MAX as u64,
        written_bytes: i64::MAX as u64,
    };
}

impl State {
    /// A partition has moved: acknowledgements that are due are given, and watchers told.
    pub(super) fn partition_moved(&mut self, cx: &mut Cx, id: PartitionId, moved: Moved) {
        // The high watermark of an only replica makes no checkpoint stale: the log end says it.
        let replicated = self
            .topics
            .partition(id)
            .filter(|partition| partition.replicas().len() != 1);
        if let Some(dir) = replicated.filter(|_| moved.news).map(|partition| partition.dir()) {
            self.checkpoints_stale(dir);
        }
        for waiting in moved.acknowledged {
            self.acknowledge(waiting);
        }
        for (waiting, code) in moved.refused {
            self.produce_part_done(waiting, Some(&Refused::from(code)));
        }
        if moved.wake {
            self.tell_watchers(cx, id, Growth::ANY);
        } else if moved.news || moved.written_bytes > 0 {
            let growth = Growth {
                visible_bytes: moved.visible_bytes,
                written_bytes: moved.written_bytes,
            };
            self.tell_watchers(cx, id, growth);
        }
        if moved.low_watermark || moved.wake {
            self.low_watermark_moved(id);
        }
        if moved.visit_followers {
            self.visit_at_next_fetch(id);
        }
        self.watch_lag(cx, id);
        self.groups_hear(cx, id);
        if let Some(proposal) = moved.proposal {
            self.propose(cx, id, proposal);
        }
    }

    /// One part of a parked operation is done.
    fn acknowledge(&mut self, waiting: Waiting) {
        if let Some(Parked::Produce(_)) = self.purgatory.get_mut(waiting.parked) {
            self.produce_part_done(waiting, None);
        }
    }

    /// Those who watch a partition learn of its growth.
    pub(super) fn tell_watchers(&mut self, cx: &mut Cx, id: PartitionId, growth: Growth) {
        let Some(partition) = self.topics.partition(id) else {
            return;
        };
        // Waking a fetch takes its watchers away: hence the copy, which is short.
        let watchers: smallvec::SmallVec<[Watcher; 4]> = partition.watchers().iter().copied().collect();
        for watcher in watchers {
            match watcher {
                Watcher::Fetch(parked) => self.fetch_has_news(cx, parked, growth),
                Watcher::Session { session, slot } => {
                    let Some(found) = self.sessions.get_mut(session) else {
                        continue;
                    };
                    found.mark(slot);
                    if let Some(parked) = found.parked {
                        self.fetch_has_news(cx, parked, growth);
                    }
                }
            }
        }
    }

    /// Fetches in a session look at the partition when they next come. Nobody is woken.
    fn visit_at_next_fetch(&mut self, id: PartitionId) {
        let watchers = self.topics.partition(id).into_iter();
        for watcher in watchers.flat_map(|partition| partition.watchers()) {
            // Outside a session every fetch looks.
            if let Watcher::Session { session, slot } = *watcher
                && let Some(session) = self.sessions.get_mut(session)
            {
                session.mark_for_next_request(slot);
            }
        }
    }

    /// Those who watch a partition come again, whatever they wait for: it goes away.
    pub(super) fn wake_watchers(&mut self, cx: &mut Cx, id: PartitionId) {
        self.tell_watchers(cx, id, Growth::ANY);
    }

    /// Operations whose time has come.
    pub(super) fn expire(&mut self, cx: &mut Cx) {
        while let Some(id) = self.purgatory.due(cx.now) {
            cx.cause = match self.purgatory.get_mut(id) {
                Some(Parked::Fetch(wait)) => wait.cause(),
                _ => cx.cause,
            };
            match self.purgatory.get_mut(id) {
                Some(Parked::Produce(_)) => self.produce_timed_out(id),
                Some(Parked::Fetch(_)) => self.fetch_timed_out(cx, id),
                Some(Parked::Deletion(_)) => self.deletion_timed_out(id),
                Some(Parked::Offsets(_) | Parked::Group(_)) | None => drop(self.purgatory.take(id)),
            }
        }
    }

    /// The connection is gone: nobody waits any more.
    pub(super) fn disconnected(&mut self, conn: ConnId) {
        while let Some(id) = self.purgatory.of_owner(conn) {
            self.abandon(id);
        }
    }

    fn abandon(&mut self, id: ParkedId) {
        match self.purgatory.take(id) {
            Some(Parked::Produce(wait)) => self.stop_waiting(id, &wait),
            Some(Parked::Fetch(wait)) => self.fetch_stops(id, &wait),
            Some(Parked::Deletion(wait)) => self.deletion_stops(id, &wait),
            Some(Parked::Offsets(_) | Parked::Group(_)) | None => {}
        }
    }
}
