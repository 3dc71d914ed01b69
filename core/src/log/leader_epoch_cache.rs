//! Where each leader epoch began: how replicas find the point at which their logs part.
//!
//! Each new leader writes under a higher epoch, and every batch carries the epoch it was written in.
//! A replica that asks "where does epoch e end with you?" learns the first offset that it cannot
//! share with the answerer (KIP-101, KIP-279). The answer needs only the first offset of each epoch,
//! kept here and in `leader-epoch-checkpoint` (Kafka's `LeaderEpochFileCache`).
//!
//! Invariants
//! - epochs and start offsets both rise strictly from entry to entry
//! - each batch's epoch is that of the last entry that starts at or before the batch
//! - the caller writes the file whenever a function answers `true`

use serde::{Deserialize, Serialize};

use crate::types::{LeaderEpoch, NO_EPOCH, Offset};

/// The first offset written, or to be written, under an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochEntry {
    pub epoch: LeaderEpoch,
    pub start_offset: Offset,
}

/// Answer to [`end_offset_for`](LeaderEpochCache::end_offset_for) when the epoch is not known.
pub const UNDEFINED_EPOCH_OFFSET: (LeaderEpoch, Offset) = (NO_EPOCH, -1);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderEpochCache {
    entries: Vec<EpochEntry>,
}

impl LeaderEpochCache {
    /// From the file, or from the epochs and base offsets of a log's batches in order. Entries that
    /// contradict later ones give way.
    pub fn from_entries(entries: impl IntoIterator<Item = EpochEntry>) -> Self {
        let mut cache = Self::default();
        for entry in entries {
            cache.assign(entry.epoch, entry.start_offset);
        }
        cache
    }

    /// Notes that `epoch` begins at `start_offset`; true when that is news. The latest epoch keeps
    /// its start unless the new one lies lower. Batches from before epochs (-1) are not noted.
    pub fn assign(&mut self, epoch: LeaderEpoch, start_offset: Offset) -> bool {
        let news = match self.entries.last() {
            Some(last) => epoch != last.epoch || start_offset < last.start_offset,
            None => true,
        };
        if !news || epoch < 0 || start_offset < 0 {
            return false;
        }
        let agrees = |entry: &EpochEntry| entry.epoch < epoch && entry.start_offset < start_offset;
        let kept = self.entries.iter().rposition(agrees).map_or(0, |last| last + 1);
        self.entries.truncate(kept);
        self.entries.push(EpochEntry { epoch, start_offset });
        true
    }

    /// Takes over what a batch of the log says, given as epoch and base offset; true when that is news.
    /// For recovery, which reads batches in order up to the end of the log: a truncation may not have
    /// reached the medium while the file with the later epochs did, and the batches are right then.
    pub fn learn(&mut self, batch: EpochEntry) -> bool {
        if batch.epoch < 0 || self.epoch_for_offset(batch.start_offset) == Some(batch.epoch) {
            return false;
        }
        let agrees =
            |entry: &EpochEntry| entry.epoch <= batch.epoch && entry.start_offset <= batch.start_offset;
        let kept = self.entries.iter().rposition(agrees).map_or(0, |last| last + 1);
        self.entries.truncate(kept);
        if self.latest_epoch() != Some(batch.epoch) {
            self.assign(batch.epoch, batch.start_offset);
        }
        true
    }

    /// The largest epoch at or below `requested`, and the offset at which it ends: where the next one
    /// starts, or `log_end` for the latest. An epoch older than all here is said to end where the
    /// first one here starts; an epoch newer than all is [`UNDEFINED_EPOCH_OFFSET`].
    pub fn end_offset_for(&self, requested: LeaderEpoch, log_end: Offset) -> (LeaderEpoch, Offset) {
        if requested == NO_EPOCH {
            return UNDEFINED_EPOCH_OFFSET;
        }
        if self.latest_epoch() == Some(requested) {
            return (requested, log_end);
        }
        let higher = self.entries.partition_point(|entry| entry.epoch <= requested);
        let Some(next) = self.entries.get(higher) else {
            return UNDEFINED_EPOCH_OFFSET;
        };
        let floor = higher.checked_sub(1).and_then(|at| self.entries.get(at));
        (floor.map_or(requested, |entry| entry.epoch), next.start_offset)
    }

    /// The epoch in which `offset` was or will be written, as far as known.
    pub fn epoch_for_offset(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.entries.partition_point(|entry| entry.start_offset <= offset);
        let entry = self.entries.get(after.checked_sub(1)?)?;
        Some(entry.epoch)
    }

    /// The log now ends at `log_end`: forgets epochs that start there or later; true when there were any.
    pub fn truncate_from_end(&mut self, log_end: Offset) -> bool {
        let kept = self.entries.partition_point(|entry| entry.start_offset < log_end);
        let changed = kept < self.entries.len();
        self.entries.truncate(kept);
        changed
    }

    /// The log now starts at `log_start`: the epoch that covers it starts there, earlier ones are
    /// forgotten; true when anything changed.
    pub fn truncate_from_start(&mut self, log_start: Offset) -> bool {
        let past = self
            .entries
            .partition_point(|entry| entry.start_offset <= log_start);
        let Some(covering) = past.checked_sub(1) else {
            return false;
        };
        self.entries.drain(..covering);
        let changed = covering > 0 || self.entries[0].start_offset != log_start;
        self.entries[0].start_offset = log_start;
        changed
    }

    /// Forgets all; true when there was anything.
    pub fn clear(&mut self) -> bool {
        let changed = !self.entries.is_empty();
        self.entries.clear();
        changed
    }

    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|entry| entry.epoch)
    }

    /// Oldest first.
    pub fn entries(&self) -> &[EpochEntry] {
        &self.entries
    }

    /// The first of a log's batches, given as epoch and base offset in order, whose epoch is not the
    /// one that this cache says.
    pub fn first_mismatch(&self, batches: impl IntoIterator<Item = EpochEntry>) -> Option<EpochEntry> {
        let agrees = |batch: &EpochEntry| {
            batch.epoch == NO_EPOCH || self.epoch_for_offset(batch.start_offset) == Some(batch.epoch)
        };
        batches.into_iter().find(|batch| !agrees(batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(pairs: &[(LeaderEpoch, Offset)]) -> Vec<EpochEntry> {
        let entry = |&(epoch, start_offset): &_| EpochEntry { epoch, start_offset };
        pairs.iter().map(entry).collect()
    }

    fn cache(pairs: &[(LeaderEpoch, Offset)]) -> LeaderEpochCache {
        let cache = LeaderEpochCache::from_entries(entries(pairs));
        assert_eq!(
            cache.entries(),
            entries(pairs),
            "the test's own entries must be in order"
        );
        cache
    }

    #[test]
    fn assigning_keeps_both_columns_rising() {
        for (before, (epoch, start), after, news) in [
            (&[][..], (3, 0), &[(3, 0)][..], true),
            (&[(1, 0)], (1, 7), &[(1, 0)], false),
            (&[(1, 4)], (1, 2), &[(1, 2)], true),
            (&[(1, 0), (2, 5)], (3, 9), &[(1, 0), (2, 5), (3, 9)], true),
            // An epoch that wrote nothing gives way to the next one at the same offset.
            (&[(1, 0), (2, 5)], (3, 5), &[(1, 0), (3, 5)], true),
            (&[(1, 0), (2, 5), (3, 9)], (4, 3), &[(1, 0), (4, 3)], true),
            (&[(1, 0), (5, 9)], (2, 12), &[(1, 0), (2, 12)], true),
            (&[(1, 0)], (NO_EPOCH, 3), &[(1, 0)], false),
        ] {
            let mut cache = cache(before);
            assert_eq!(
                cache.assign(epoch, start),
                news,
                "{before:?} + {epoch} at {start}"
            );
            assert_eq!(cache.entries(), entries(after));
        }
    }

    #[test]
    fn an_epoch_ends_where_the_next_known_one_starts() {
        let cache = cache(&[(2, 10), (5, 20), (6, 30)]);
        for (requested, answer) in [
            (NO_EPOCH, UNDEFINED_EPOCH_OFFSET),
            (0, (0, 10)),
            (1, (1, 10)),
            (2, (2, 20)),
            (4, (2, 20)),
            (5, (5, 30)),
            (6, (6, 42)),
            (7, UNDEFINED_EPOCH_OFFSET),
        ] {
            assert_eq!(cache.end_offset_for(requested, 42), answer, "epoch {requested}");
        }
        assert_eq!(
            LeaderEpochCache::default().end_offset_for(0, 42),
            UNDEFINED_EPOCH_OFFSET
        );
    }

    #[test]
    fn an_offset_belongs_to_the_epoch_that_started_last_before_it() {
        let cache = cache(&[(2, 10), (5, 20)]);
        let epochs = [9, 10, 19, 20, 99].map(|offset| cache.epoch_for_offset(offset));
        assert_eq!(epochs, [None, Some(2), Some(2), Some(5), Some(5)]);
    }

    #[test]
    fn truncation_from_the_end_forgets_epochs_that_start_there_or_later() {
        let full = cache(&[(2, 10), (5, 20), (6, 30)]);
        for (end, left, changed) in [(31, 3, false), (30, 2, true), (11, 1, true), (10, 0, true)] {
            let mut cut = full.clone();
            assert_eq!(cut.truncate_from_end(end), changed);
            assert_eq!(cut.entries(), &full.entries()[..left]);
        }
    }

    #[test]
    fn truncation_from_the_start_moves_the_covering_epoch() {
        for (start, after, changed) in [
            (9, &[(2, 10), (5, 20)][..], false),
            (10, &[(2, 10), (5, 20)], false),
            (15, &[(2, 15), (5, 20)], true),
            (20, &[(5, 20)], true),
            (99, &[(5, 99)], true),
        ] {
            let mut cache = cache(&[(2, 10), (5, 20)]);
            assert_eq!(cache.truncate_from_start(start), changed, "start {start}");
            assert_eq!(cache.entries(), entries(after));
        }
        assert!(!LeaderEpochCache::default().truncate_from_start(5));
    }

    #[test]
    fn batches_read_back_overrule_epochs_that_did_not_survive() {
        for (before, batch, after, news) in [
            (&[][..], (1, 5), &[(1, 5)][..], true),
            (&[(1, 5)], (1, 9), &[(1, 5)], false),
            (&[(1, 5)], (3, 9), &[(1, 5), (3, 9)], true),
            // The leader of epoch 2 had cut the log at 9; the cut was lost, its epoch was not.
            (&[(1, 5), (2, 9)], (1, 12), &[(1, 5)], true),
            (&[(2, 9)], (1, 3), &[(1, 3)], true),
            // Compaction took the first batches of epoch 2: its start stands.
            (&[(1, 5), (2, 9)], (2, 12), &[(1, 5), (2, 9)], false),
            (&[(1, 5)], (NO_EPOCH, 2), &[(1, 5)], false),
        ] {
            let mut cache = cache(before);
            let (epoch, start_offset) = batch;
            assert_eq!(
                cache.learn(EpochEntry { epoch, start_offset }),
                news,
                "{before:?} + {batch:?}"
            );
            assert_eq!(cache.entries(), entries(after));
        }
    }

    #[test]
    fn a_cache_is_what_its_batches_rebuild() {
        let batches = entries(&[(NO_EPOCH, 0), (1, 3), (1, 4), (4, 9), (4, 12)]);
        let rebuilt = LeaderEpochCache::from_entries(batches.clone());
        assert_eq!(rebuilt, cache(&[(1, 3), (4, 9)]));
        assert_eq!(rebuilt.first_mismatch(batches.clone()), None);
        let stale = cache(&[(1, 3), (4, 12)]);
        assert_eq!(stale.first_mismatch(batches), Some(entries(&[(4, 9)])[0]));
    }
}
