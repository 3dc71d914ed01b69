//! Who waits for a partition, and what its progress means for them.
//!
//! An operation that waits is named by id; the partition knows nothing else of it. Each entry is told
//! once: when its offset is reached, or when this replica can no longer promise that it ever will be.

use super::isr::Proposal;
use super::purgatory::ParkedId;
use crate::error::ErrorCode;
use crate::ordered::OrderedSet;
use crate::types::Offset;

/// A part of a parked operation: which, and which of its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiting {
    pub parked: ParkedId,
    pub part: u32,
}

/// Who wants to know of new records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watcher {
    /// A parked fetch outside any session.
    Fetch(ParkedId),
    /// An entry of a fetch session, for as long as the entry lives.
    Session { session: i32, slot: usize },
}

/// What has moved, for the broker to act on.
#[derive(Clone, Debug, Default)]
pub struct Moved {
    /// Parts whose acknowledgement is due.
    pub acknowledged: Vec<Waiting>,
    /// Parts that will not be acknowledged here, and why.
    pub refused: Vec<(Waiting, ErrorCode)>,
    /// Bytes of records that consumers can see now and could not before.
    pub visible_bytes: u64,
    /// Bytes of records that followers can fetch now and could not before.
    pub written_bytes: u64,
    /// Something that a fetch answer says has changed: HW, log start, and LEO for followers.
    pub news: bool,
    /// The role or the leader epoch has changed: parked fetches look again, whatever they wait for.
    pub wake: bool,
    /// A follower's log start has moved, or other brokers live: DeleteRecords that wait for
    /// [`low_watermark`](super::Partition::low_watermark) look again.
    pub low_watermark: bool,
    /// Followers are to be looked at when they next fetch, news or not: one of them may enter the ISR.
    pub visit_followers: bool,
    /// A change of the ISR to ask the controller for (AlterPartition); its answer goes to
    /// [`proposal_done`](super::Partition::proposal_done).
    pub proposal: Option<Proposal>,
}

/// Parts that wait for an acknowledgement.
#[derive(Clone, Debug, Default)]
pub(super) struct Acks {
    /// Wait until HW reaches the offset (acks=all).
    until_high_watermark: OrderedSet<(Offset, Waiting)>,
    /// Wait until LEO reaches the offset (acks=1).
    until_written: OrderedSet<(Offset, Waiting)>,
}

impl Acks {
    pub fn insert(&mut self, offset: Offset, all_replicas: bool, waiting: Waiting) -> bool {
        self.of(all_replicas).insert((offset, waiting))
    }

    pub fn remove(&mut self, offset: Offset, all_replicas: bool, waiting: Waiting) {
        self.of(all_replicas).remove(&(offset, waiting));
    }

    /// Takes the parts out that wait for this offset or a lower one.
    pub fn take_reached(&mut self, all_replicas: bool, upto: Offset, into: &mut Vec<Waiting>) {
        let waiters = self.of(all_replicas);
        while let Some(&(offset, waiting)) = waiters.first()
            && offset <= upto
        {
            waiters.pop_first();
            into.push(waiting);
        }
    }

    pub fn take_all(&mut self) -> Vec<Waiting> {
        let taken = [&mut self.until_high_watermark, &mut self.until_written];
        let taken = taken.into_iter().flat_map(std::mem::take);
        taken.map(|(_, waiting)| waiting).collect()
    }

    fn of(&mut self, all_replicas: bool) -> &mut OrderedSet<(Offset, Waiting)> {
        if all_replicas {
            &mut self.until_high_watermark
        } else {
            &mut self.until_written
        }
    }
}
