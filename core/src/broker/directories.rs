//! The log directories: which are online, and what happens when a disk operation is done.
//!
//! The operations of a lane of a directory are done in order, so one number, the last ticket done, says
//! it all. Whoever must know when a ticket is done stands in a queue per lane; taking note costs only
//! what is due, never a look at all partitions.
//!
//! Invariants
//! - a queue's tickets never fall
//! - a failed directory never comes back in this life, and its queues are empty

use std::collections::VecDeque;

use crate::disk::{DirId, Lane, Ticket};
use crate::error::DiskError;
use crate::replica::ParkedId;
use crate::replica::partition::PartitionId;
use crate::types::Uuid;

/// What a done ticket means, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The partition's log may have grown, or be forced to the medium.
    Partition(PartitionId),
    /// A parked operation waited for this.
    Parked(ParkedId),
    /// The directory itself was waited for: at boot and at the stop.
    Directory,
}

/// One directory of `log.dirs`.
#[derive(Clone, Debug)]
pub struct Directory {
    /// The whole path; only shown.
    pub path: String,
    /// `directory.id` of its `meta.properties`; zero until known.
    pub id: Uuid,
    pub failed: Option<DiskError>,
    waiting: VecDeque<(Ticket, Then)>,
    waiting_aside: VecDeque<(Ticket, Then)>,
    /// Partitions placed here: a new one goes to the directory with the fewest.
    pub partitions: u32,
    /// An offset that a checkpoint holds has changed since it was written.
    pub checkpoints_stale: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Directories {
    all: Vec<Directory>,
}

impl Directories {
    pub fn new(dirs: impl Iterator<Item = (String, Option<DiskError>)>) -> Self {
        let all = dirs.map(|(path, failed)| Directory {
            path,
            id: Uuid::ZERO,
            failed,
            waiting: VecDeque::new(),
            waiting_aside: VecDeque::new(),
            partitions: 0,
            checkpoints_stale: false,
        });
        Self { all: all.collect() }
    }

    pub fn get(&self, dir: DirId) -> Option<&Directory> {
        self.all.get(usize::from(dir))
    }

    pub fn get_mut(&mut self, dir: DirId) -> Option<&mut Directory> {
        self.all.get_mut(usize::from(dir))
    }

    pub fn iter(&self) -> impl Iterator<Item = (DirId, &Directory)> {
        self.all
            .iter()
            .enumerate()
            .map(|(dir, found)| (dir as DirId, found))
    }

    /// Those that work.
    pub fn online(&self) -> impl Iterator<Item = DirId> {
        self.iter()
            .filter(|(_, found)| found.failed.is_none())
            .map(|(dir, _)| dir)
    }

    pub fn is_online(&self, dir: DirId) -> bool {
        self.get(dir).is_some_and(|found| found.failed.is_none())
    }

    /// Where a new partition goes: to the online directory with the fewest (`LogManager.nextLogDirs`).
    pub fn emptiest(&self) -> Option<DirId> {
        self.online()
            .min_by_key(|&dir| self.get(dir).map(|found| found.partitions))
    }

    /// Notes what shall happen when the directory's ticket is done.
    pub fn after(&mut self, dir: DirId, lane: Lane, ticket: Ticket, then: Then) {
        if let Some(found) = self.get_mut(dir)
            && found.failed.is_none()
        {
            let waiting = found.waiting_in(lane);
            if waiting.back() != Some(&(ticket, then)) {
                debug_assert!(waiting.back().is_none_or(|(last, _)| *last <= ticket));
                waiting.push_back((ticket, then));
            }
        }
    }

    /// The next thing that is due now that everything of the lane up to `upto` is done.
    pub fn next_due(&mut self, dir: DirId, lane: Lane, upto: Ticket) -> Option<Then> {
        let waiting = self.get_mut(dir)?.waiting_in(lane);
        let (_, then) = waiting.pop_front_if(|(ticket, _)| *ticket <= upto)?;
        Some(then)
    }

    /// Takes a directory offline; who waited for it comes back. `None`: it was offline already.
    pub fn fail(&mut self, dir: DirId, error: DiskError) -> Option<Vec<Then>> {
        let found = self.get_mut(dir).filter(|found| found.failed.is_none())?;
        found.failed = Some(error);
        let waited = std::mem::take(&mut found.waiting).into_iter();
        let waited = waited.chain(std::mem::take(&mut found.waiting_aside));
        Some(waited.map(|(_, then)| then).collect())
    }
}

impl Directory {
    fn waiting_in(&mut self, lane: Lane) -> &mut VecDeque<(Ticket, Then)> {
        match lane {
            Lane::Strict => &mut self.waiting,
            Lane::Aside => &mut self.waiting_aside,
        }
    }
}
