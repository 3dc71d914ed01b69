//! What an onlooker remembers of a partition, and no broker does: which record is which, what producers
//! were told, what was cut off, what a replica had when its broker died.
//!
//! Records are numbered in the order in which leaders appended them. One that takes the place of a record
//! that was cut off has the same offset, another leader epoch, and another number.
//!
//! A promise is *broken* as soon as a leader takes office without the record; that stays, even if a later
//! leader should have it, for a reader may have seen the gap.
//!
//! Invariants
//! - an offset has one number in each leader epoch
//! - a promise is made once, and never mended

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::batches::{BatchList, BatchSpan};
use super::replica::ReplicaView;
use crate::ordered::OrderedMap;
use crate::types::{BrokerId, LeaderEpoch, Offset};

/// Cuts that are remembered; a stage shows those of one moment.
const MOST_CUTS: usize = 32;

/// What is remembered of one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionMemory {
    runs: Vec<Run>,
    next_number: u64,
    /// By offset, then by epoch.
    promises: Vec<PromiseRun>,
    cuts: VecDeque<Cut>,
    /// Replicas of brokers that are down, as they were last.
    pub(super) left: OrderedMap<BrokerId, ReplicaView>,
    /// Batches of replicas that a running broker closed, as they were last.
    pub(super) closed: OrderedMap<BrokerId, BatchList>,
}

/// Records with consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    base: Offset,
    last: Offset,
    epoch: LeaderEpoch,
    first_number: u64,
    /// Who appended them first.
    by: BrokerId,
}

/// Records that a producer was told are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseRun {
    pub base: Offset,
    pub last: Offset,
    pub epoch: LeaderEpoch,
    /// -1 is all.
    pub acks: i16,
    /// A leader took office without them.
    pub broken: bool,
}

/// What a replica cut off its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    pub broker: BrokerId,
    pub batches: Vec<BatchSpan>,
    /// The number of the fact, counted from 0.
    pub fact: usize,
}

impl PartitionMemory {
    /// The record's number.
    pub fn number(&self, offset: Offset, epoch: LeaderEpoch) -> Option<u64> {
        let is_it = |run: &&Run| run.epoch == epoch && run.base <= offset && offset <= run.last;
        let run = self.runs.iter().rev().find(is_it)?;
        Some(run.first_number + (offset - run.base) as u64)
    }

    pub fn promises(&self) -> &[PromiseRun] {
        &self.promises
    }

    /// Oldest first.
    pub fn cuts(&self) -> impl Iterator<Item = &Cut> {
        self.cuts.iter()
    }

    /// The replica of a broker that is down, as it was last.
    pub fn left(&self, broker: BrokerId) -> Option<&ReplicaView> {
        self.left.get(&broker)
    }

    /// Whether [`name`](Self::name) would change nothing.
    pub(super) fn knows(&self, batch: &BatchSpan) -> bool {
        let has = |run: &Run| run.epoch == batch.epoch && run.base <= batch.base && batch.last <= run.last;
        self.runs.iter().rev().any(has)
    }

    /// Numbers the batch's records, those that have none yet.
    pub(super) fn name(&mut self, batch: &BatchSpan, by: BrokerId) {
        let known = self.runs.iter().filter(|run| run.epoch == batch.epoch);
        let known = known.filter(|run| run.base <= batch.base && run.last >= batch.base);
        let base = known.map(|run| run.last + 1).max().unwrap_or(batch.base);
        if base > batch.last {
            return;
        }
        let count = (batch.last - base + 1) as u64;
        match self.runs.last_mut() {
            Some(run) if run.epoch == batch.epoch && run.last + 1 == base && run.by == by => {
                run.last = batch.last;
            }
            _ => self.runs.push(Run {
                base,
                last: batch.last,
                epoch: batch.epoch,
                first_number: self.next_number,
                by,
            }),
        }
        self.next_number += count;
    }

    /// A producer was told by `by` that so many records from `base` on are stored; the epoch that they are of.
    pub(super) fn promise(
        &mut self,
        base: Offset,
        count: u32,
        acks: i16,
        by: BrokerId,
    ) -> Option<LeaderEpoch> {
        let last = base + Offset::from(count) - 1;
        let there = self
            .runs
            .iter()
            .rev()
            .filter(|run| run.base <= base && base <= run.last);
        let own = there.clone().find(|run| run.by == by);
        let epoch = own.or(there.clone().next()).map(|run| run.epoch)?;
        let is_made = |made: &PromiseRun| made.epoch == epoch && made.base <= last && base <= made.last;
        if count == 0 || self.promises.iter().any(is_made) {
            return None;
        }
        let before = self.promises.iter_mut().find(|made| {
            made.last + 1 == base && (made.epoch, made.acks, made.broken) == (epoch, acks, false)
        });
        if let Some(before) = before {
            before.last = last;
            return Some(epoch);
        }
        let place = self
            .promises
            .partition_point(|made| (made.base, made.epoch) < (base, epoch));
        let made = PromiseRun {
            base,
            last,
            epoch,
            acks,
            broken: false,
        };
        self.promises.insert(place, made);
        Some(epoch)
    }

    /// Somebody leads with this log: what it does not have, though it was promised, is broken.
    pub(super) fn judge(&mut self, log_start: Offset, log_end: Offset, batches: &BatchList) {
        let holds =
            |offset: Offset, epoch| offset < log_start || (offset < log_end && batches.holds(offset, epoch));
        let is_kept =
            |made: &PromiseRun| made.broken || (made.base..=made.last).all(|at| holds(at, made.epoch));
        if self.promises.iter().all(is_kept) {
            return;
        }
        let judged = self.promises.drain(..).flat_map(|made| {
            if made.broken {
                return vec![made];
            }
            let mut parts: Vec<PromiseRun> = Vec::new();
            for offset in made.base..=made.last {
                let broken = !holds(offset, made.epoch);
                match parts.last_mut() {
                    Some(part) if part.broken == broken => part.last = offset,
                    _ => parts.push(PromiseRun {
                        base: offset,
                        last: offset,
                        broken,
                        ..made
                    }),
                }
            }
            parts
        });
        self.promises = judged.collect();
    }

    pub(super) fn cut(&mut self, broker: BrokerId, batches: Vec<BatchSpan>, fact: usize) {
        if batches.is_empty() {
            return;
        }
        if self.cuts.len() == MOST_CUTS {
            self.cuts.pop_front();
        }
        self.cuts.push_back(Cut {
            broker,
            batches,
            fact,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewritten_offset_has_another_number() {
        let mut memory = PartitionMemory::default();
        memory.name(&BatchSpan::new(0, 4, 0), 1);
        memory.name(&BatchSpan::new(5, 5, 0), 1);
        memory.name(&BatchSpan::new(0, 4, 0), 2);
        assert_eq!(memory.runs.len(), 1, "a follower's copy is the same record");
        memory.name(&BatchSpan::new(5, 6, 1), 2);
        assert_eq!(memory.number(5, 0), Some(5));
        assert_eq!((memory.number(5, 1), memory.number(6, 1)), (Some(6), Some(7)));
        assert_eq!(memory.number(7, 1), None);
    }

    #[test]
    fn a_promise_is_broken_by_a_leader_without_the_record_and_stays_so() {
        let mut memory = PartitionMemory::default();
        memory.name(&BatchSpan::new(0, 5, 0), 1);
        memory.promise(0, 5, -1, 1);
        memory.promise(5, 1, -1, 1);
        assert_eq!(memory.promises().len(), 1);
        let short: BatchList = [BatchSpan::new(0, 4, 0)].into_iter().collect();
        memory.judge(0, 5, &short);
        let broken: Vec<_> = memory
            .promises()
            .iter()
            .map(|made| (made.base, made.last, made.broken))
            .collect();
        assert_eq!(broken, [(0, 4, false), (5, 5, true)]);
        let whole: BatchList = [BatchSpan::new(0, 5, 0)].into_iter().collect();
        memory.judge(0, 6, &whole);
        assert!(memory.promises()[1].broken);
    }

    #[test]
    fn a_late_answer_speaks_of_the_record_of_who_gave_it() {
        let mut memory = PartitionMemory::default();
        memory.name(&BatchSpan::new(0, 0, 0), 1);
        memory.name(&BatchSpan::new(0, 0, 1), 2);
        memory.promise(0, 1, 1, 1);
        assert_eq!(memory.promises()[0].epoch, 0);
        memory.promise(0, 1, 1, 2);
        assert_eq!(memory.promises()[1].epoch, 1);
    }
}
