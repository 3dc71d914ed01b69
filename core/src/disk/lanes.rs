//! The two lanes of one directory: which operation may begin now.
//!
//! Whoever carries out operations puts each in as it comes, takes what may begin, and says when it is
//! done. See [`disk`](crate::disk) for the rule and why it is sound.

use std::collections::VecDeque;

use super::{DiskOp, Lane, Ticket};

/// Operations of one directory that have not begun, and how far those that have begun are done.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    strict: Row,
    aside: Row,
}

#[derive(Clone, Debug, Default)]
struct Row {
    /// With the ticket of the other lane that must be done before.
    waiting: VecDeque<(Ticket, Ticket, DiskOp)>,
    last: Ticket,
    done: Ticket,
}

impl Lanes {
    /// Takes in an operation, in the order in which the core gave them.
    pub fn push(&mut self, lane: Lane, ticket: Ticket, op: DiskOp) {
        let (row, other) = self.rows(lane);
        let after = match lane {
            Lane::Strict if op.overtakes_aside() => 0,
            _ => other.last,
        };
        debug_assert_eq!(ticket, row.last + 1, "operations come in order");
        row.last = ticket;
        row.waiting.push_back((ticket, after, op));
    }

    /// The lane's first operation, if it may begin now. An earlier one of the same lane may be under
    /// way: it must be done first.
    pub fn ready(&self, lane: Lane) -> Option<&DiskOp> {
        let (row, other) = match lane {
            Lane::Strict => (&self.strict, &self.aside),
            Lane::Aside => (&self.aside, &self.strict),
        };
        let (_, after, op) = row.waiting.front()?;
        (*after <= other.done).then_some(op)
    }

    /// Takes that operation.
    pub fn begin(&mut self, lane: Lane) -> Option<(Ticket, DiskOp)> {
        self.ready(lane)?;
        let (row, _) = self.rows(lane);
        row.waiting.pop_front().map(|(ticket, _, op)| (ticket, op))
    }

    /// Everything of the lane up to and with `upto` is done.
    pub fn done(&mut self, lane: Lane, upto: Ticket) {
        let (row, _) = self.rows(lane);
        row.done = row.done.max(upto);
    }

    /// Whether nothing of the lane waits to begin.
    pub fn is_empty(&self, lane: Lane) -> bool {
        match lane {
            Lane::Strict => self.strict.waiting.is_empty(),
            Lane::Aside => self.aside.waiting.is_empty(),
        }
    }

    /// Forgets what has not begun: the directory failed.
    pub fn clear(&mut self) {
        self.strict.waiting.clear();
        self.aside.waiting.clear();
    }

    fn rows(&mut self, lane: Lane) -> (&mut Row, &Row) {
        match lane {
            Lane::Strict => (&mut self.strict, &self.aside),
            Lane::Aside => (&mut self.aside, &self.strict),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::FileId;
    use smallvec::smallvec;

    const FILE: FileId = FileId { dir: 0, number: 1 };

    fn append() -> DiskOp {
        DiskOp::Append {
            file: FILE,
            at: 0,
            bufs: smallvec![],
        }
    }

    #[test]
    fn appends_overtake_a_sync_aside_and_a_truncation_waits_for_it() {
        let mut lanes = Lanes::default();
        lanes.push(Lane::Strict, 1, append());
        lanes.push(Lane::Aside, 1, DiskOp::Sync { file: FILE });
        lanes.push(Lane::Strict, 2, append());
        lanes.push(Lane::Strict, 3, DiskOp::Truncate { file: FILE, len: 0 });
        lanes.push(Lane::Strict, 4, append());
        assert_eq!(lanes.begin(Lane::Aside), None, "the first append is not done");
        assert_eq!(lanes.begin(Lane::Strict).unwrap().0, 1);
        lanes.done(Lane::Strict, 1);
        assert_eq!(lanes.begin(Lane::Aside).unwrap().0, 1);
        assert_eq!(lanes.begin(Lane::Strict).unwrap().0, 2);
        assert_eq!(lanes.begin(Lane::Strict), None, "the sync is under way");
        lanes.done(Lane::Aside, 1);
        assert_eq!(lanes.begin(Lane::Strict).unwrap().0, 3);
        assert_eq!(lanes.begin(Lane::Strict).unwrap().0, 4);
        assert!(lanes.is_empty(Lane::Strict) && lanes.is_empty(Lane::Aside));
    }
}
