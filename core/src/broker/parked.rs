//! Operations that wait, and what ends them: an acknowledgement, data, a job, time, a lost connection.

use super::State;
use super::changes::DurableWait;
use super::fetch::FetchWait;
use super::offsets::OffsetsWait;
use super::produce::ProduceWait;
use crate::cx::Cx;
use crate::io::ConnId;
use crate::replica::partition::PartitionId;
use crate::replica::{Moved, ParkedId, Waiting, Watcher};

/// A request whose answer is not ready.
#[derive(Clone, Debug)]
pub(super) enum Parked {
    Produce(ProduceWait),
    Fetch(Box<FetchWait>),
    Offsets(OffsetsWait),
    Durable(Box<DurableWait>),
}

impl State {
    /// A partition has moved: acknowledgements that are due are given, and watchers told.
    pub(super) fn partition_moved(&mut self, cx: &mut Cx, id: PartitionId, moved: Moved) {
        for waiting in moved.acknowledged {
            self.acknowledge(waiting);
        }
        for (waiting, code) in moved.refused {
            self.produce_part_done(waiting, Some(&code.into()));
        }
        if moved.news {
            self.tell_watchers(cx, id, moved.visible_bytes);
        }
    }

    /// One part of a parked operation is done.
    fn acknowledge(&mut self, waiting: Waiting) {
        if let Some(Parked::Produce(_)) = self.purgatory.get_mut(waiting.parked) {
            self.produce_part_done(waiting, None);
        }
    }

    /// Those who watch a partition learn that so many bytes more can be read.
    pub(super) fn tell_watchers(&mut self, cx: &mut Cx, id: PartitionId, bytes: u64) {
        let Some(partition) = self.topics.partition(id) else {
            return;
        };
        // Waking a fetch takes its watchers away: hence the copy, which is short.
        let watchers: smallvec::SmallVec<[Watcher; 4]> = partition.watchers().iter().copied().collect();
        for watcher in watchers {
            match watcher {
                Watcher::Fetch(parked) => self.fetch_has_news(cx, parked, bytes),
                Watcher::Session { session, slot } => {
                    let Some(found) = self.sessions.get_mut(session) else {
                        continue;
                    };
                    found.mark(slot);
                    if let Some(parked) = found.parked {
                        self.fetch_has_news(cx, parked, bytes);
                    }
                }
            }
        }
    }

    /// Those who watch a partition come again, whatever they wait for: it goes away.
    pub(super) fn wake_watchers(&mut self, cx: &mut Cx, id: PartitionId) {
        self.tell_watchers(cx, id, i64::MAX as u64);
    }

    /// Operations whose time has come.
    pub(super) fn expire(&mut self, cx: &mut Cx) {
        while let Some(id) = self.purgatory.due(cx.now) {
            match self.purgatory.get_mut(id) {
                Some(Parked::Produce(_)) => self.produce_timed_out(id),
                Some(Parked::Fetch(_)) => self.fetch_timed_out(cx, id),
                Some(Parked::Offsets(_) | Parked::Durable(_)) | None => drop(self.purgatory.take(id)),
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
            Some(Parked::Offsets(_) | Parked::Durable(_)) | None => {}
        }
    }
}
