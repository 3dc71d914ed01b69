//! What is still to happen, in the order in which it will.
//!
//! Each entry has its time and a number that counts entries, so that no two tie: the same pushes give
//! the same order on every machine.

use super::coordination::{FromService, ToService};
use super::network::{Packet, PacketId};
use crate::broker::Job;
use crate::disk::{DirId, Lane};
use crate::io::JobId;
use crate::ordered::OrderedMap;
use crate::trace::EventId;
use crate::types::{BrokerId, Millis};

/// Counts the lives of one broker, from 1: what was meant for an earlier one finds nobody.
pub type Life = u64;

/// One thing that will happen.
#[derive(Clone, Debug)]
pub enum Happening {
    /// A packet reaches its end of a connection.
    Arrival(Packet),
    /// The operation under way in that lane is done.
    DiskDone {
        broker: BrokerId,
        life: Life,
        dir: DirId,
        lane: Lane,
    },
    /// A job is run, and its result handed over.
    Job {
        broker: BrokerId,
        life: Life,
        job: JobId,
        work: Job,
        /// Why it was asked for.
        cause: EventId,
    },
    /// A broker's word reaches the coordination service.
    ToService(ToService),
    /// The disk operation of the coordination service that is under way is done.
    ServiceDisk { life: Life },
    /// The service's word reaches a broker.
    FromService(FromService),
}

/// All of it, soonest first.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    pushed: u64,
    due: OrderedMap<(Millis, u64), Happening>,
}

impl Agenda {
    pub fn push(&mut self, at: Millis, what: Happening) {
        self.pushed += 1;
        self.due.insert((at, self.pushed), what);
    }

    /// When the next thing happens.
    pub fn next_time(&self) -> Option<Millis> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    pub fn pop(&mut self) -> Option<(Millis, Happening)> {
        self.due.pop_first().map(|((at, _), what)| (at, what))
    }

    /// Packets under way, in the order in which they will arrive.
    pub fn packets(&self) -> impl Iterator<Item = (Millis, &Packet)> {
        self.due.iter().filter_map(|((at, _), what)| match what {
            Happening::Arrival(packet) => Some((*at, packet)),
            _ => None,
        })
    }

    /// Takes a packet out of the air.
    pub fn take_packet(&mut self, id: PacketId) -> Option<(Millis, Packet)> {
        let is_it = |what: &Happening| matches!(what, Happening::Arrival(packet) if packet.id == id);
        let (&key, _) = self.due.iter().find(|(_, what)| is_it(what))?;
        match self.due.remove(&key) {
            Some(Happening::Arrival(packet)) => Some((key.0, packet)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(dir: DirId) -> Happening {
        Happening::DiskDone {
            broker: 1,
            life: 1,
            dir,
            lane: Lane::Strict,
        }
    }

    #[test]
    fn sooner_comes_first_and_of_two_at_once_the_earlier_pushed() {
        let mut agenda = Agenda::default();
        for (at, dir) in [(5, 0), (3, 1), (5, 2), (3, 3)] {
            agenda.push(at, done(dir));
        }
        let order = std::iter::from_fn(|| agenda.pop()).map(|(at, what)| match what {
            Happening::DiskDone { dir, .. } => (at, dir),
            _ => panic!("{what:?}"),
        });
        assert_eq!(order.collect::<Vec<_>>(), [(3, 1), (3, 3), (5, 0), (5, 2)]);
    }
}
