//! Where operations wait: produces for acknowledgement, fetches for data, anything for its time.
//!
//! Kafka's `DelayedOperationPurgatory` watches keys and a timing wheel. Here an operation is a value
//! under an id that is never given twice. Whoever can complete it (a partition, a job, a deadline, a
//! lost connection) holds only the id; an id whose operation is gone is simply stale.
//!
//! Invariants
//! - an operation is completed at most once: completing takes it out
//! - every deadline and owner listed belongs to an operation that is there

use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::Millis;

/// Names a parked operation; never given twice.
pub type ParkedId = u64;

#[derive(Clone, Debug)]
struct Entry<T> {
    owner: u64,
    deadline: Option<Millis>,
    operation: T,
}

/// Parked operations, by id, deadline and owner (the connection that waits for the answer).
#[derive(Clone, Debug)]
pub struct Purgatory<T> {
    parked: OrderedMap<ParkedId, Entry<T>>,
    deadlines: OrderedSet<(Millis, ParkedId)>,
    owners: OrderedSet<(u64, ParkedId)>,
    next: ParkedId,
}

impl<T> Default for Purgatory<T> {
    fn default() -> Self {
        Self {
            parked: OrderedMap::new(),
            deadlines: OrderedSet::new(),
            owners: OrderedSet::new(),
            next: 0,
        }
    }
}

impl<T> Purgatory<T> {
    /// The id that the next [`park`](Self::park) gives, for whoever must be told before.
    pub fn next_id(&self) -> ParkedId {
        self.next
    }

    pub fn park(&mut self, owner: u64, deadline: Option<Millis>, operation: T) -> ParkedId {
        let id = self.next;
        self.next += 1;
        self.deadlines.extend(deadline.map(|at| (at, id)));
        self.owners.insert((owner, id));
        self.parked.insert(
            id,
            Entry {
                owner,
                deadline,
                operation,
            },
        );
        id
    }

    pub fn get_mut(&mut self, id: ParkedId) -> Option<&mut T> {
        self.parked.get_mut(&id).map(|entry| &mut entry.operation)
    }

    /// Takes an operation out, to complete or to drop it.
    pub fn take(&mut self, id: ParkedId) -> Option<T> {
        let entry = self.parked.remove(&id)?;
        if let Some(at) = entry.deadline {
            self.deadlines.remove(&(at, id));
        }
        self.owners.remove(&(entry.owner, id));
        Some(entry.operation)
    }

    /// The operation's deadline has been acted on; it stays.
    pub fn forget_deadline(&mut self, id: ParkedId) {
        if let Some(entry) = self.parked.get_mut(&id)
            && let Some(at) = entry.deadline.take()
        {
            self.deadlines.remove(&(at, id));
        }
    }

    /// An operation whose deadline has come, the oldest first.
    pub fn due(&self, now: Millis) -> Option<ParkedId> {
        let &(at, id) = self.deadlines.first()?;
        (at <= now).then_some(id)
    }

    pub fn next_deadline(&self) -> Option<Millis> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    /// An operation of this owner, the oldest first.
    pub fn of_owner(&self, owner: u64) -> Option<ParkedId> {
        let &(found, id) = self.owners.range((owner, 0)..).next()?;
        (found == owner).then_some(id)
    }

    pub fn len(&self) -> usize {
        self.parked.len()
    }

    pub fn is_empty(&self) -> bool {
        self.parked.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_leaves_nothing_behind() {
        let mut purgatory = Purgatory::default();
        let late = purgatory.park(7, Some(20), "late");
        let early = purgatory.park(8, Some(10), "early");
        let patient = purgatory.park(7, None, "patient");
        assert_eq!(purgatory.next_deadline(), Some(10));
        assert_eq!(purgatory.due(9), None);
        assert_eq!(purgatory.due(10), Some(early));
        assert_eq!(purgatory.take(early), Some("early"));
        assert_eq!(purgatory.take(early), None, "completed once");
        assert_eq!(purgatory.of_owner(7), Some(late));
        purgatory.take(late);
        assert_eq!(purgatory.of_owner(7), Some(patient));
        purgatory.take(patient);
        assert_eq!(purgatory.of_owner(7), None);
        assert_eq!((purgatory.next_deadline(), purgatory.is_empty()), (None, true));
    }
}
