//! A replica's batches: where each begins and ends, which leader appended it, in which segment it lies.
//!
//! A record is the same record wherever its offset and its leader epoch are the same. So a list of
//! batches with their epochs says which records a log holds, and that two logs agree.
//!
//! Invariants
//! - batches are in order and do not overlap
//! - those at and behind the log end are appended and not written yet

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::types::{LeaderEpoch, Offset};

/// One batch of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchSpan {
    pub base: Offset,
    pub last: Offset,
    pub epoch: LeaderEpoch,
    /// Base offset of its segment.
    pub segment: Offset,
}

#[cfg(test)]
impl BatchSpan {
    /// In the first segment.
    pub fn new(base: Offset, last: Offset, epoch: LeaderEpoch) -> Self {
        Self {
            base,
            last,
            epoch,
            segment: 0,
        }
    }
}

/// The batches of a log; copies share them until one changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchList(Arc<Vec<BatchSpan>>);

impl BatchList {
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &BatchSpan> {
        self.0.iter()
    }

    /// The batch that has the offset.
    pub fn at(&self, offset: Offset) -> Option<&BatchSpan> {
        let next = self.0.partition_point(|batch| batch.last < offset);
        self.0.get(next).filter(|batch| batch.base <= offset)
    }

    /// Whether the record of this epoch stands at the offset.
    pub fn holds(&self, offset: Offset, epoch: LeaderEpoch) -> bool {
        self.at(offset).is_some_and(|batch| batch.epoch == epoch)
    }

    /// The batches that lie between the offsets, as far as they do.
    pub fn between(&self, from: Offset, to: Offset) -> impl Iterator<Item = BatchSpan> {
        let first = self.0.partition_point(|batch| batch.last < from);
        let within = self.0[first..].iter().take_while(move |batch| batch.base < to);
        within.map(move |batch| BatchSpan {
            base: batch.base.max(from),
            last: batch.last.min(to - 1),
            ..*batch
        })
    }

    pub(super) fn push(&mut self, batch: BatchSpan) {
        // Appended before and never written: a disk that failed forgets it.
        self.cut_back(batch.base);
        Arc::make_mut(&mut self.0).push(batch);
    }

    /// Takes away what ends at or behind the offset.
    pub(super) fn cut_back(&mut self, to: Offset) {
        if self.0.last().is_some_and(|batch| batch.last >= to) {
            Arc::make_mut(&mut self.0).retain(|batch| batch.last < to);
        }
    }

    /// Takes away what ends before the offset.
    pub(super) fn begin_at(&mut self, start: Offset) {
        if self.0.first().is_some_and(|batch| batch.last < start) {
            Arc::make_mut(&mut self.0).retain(|batch| batch.last >= start);
        }
    }

    /// The batches of a log that was opened: those that were known of it before, where its epochs are the
    /// same; where they are not, or nothing was known, one for each epoch.
    pub(super) fn opened(
        known: &BatchList,
        epochs: &[(LeaderEpoch, Offset)],
        log_start: Offset,
        log_end: Offset,
    ) -> Self {
        let mut all = Vec::new();
        for (at, &(epoch, start)) in epochs.iter().enumerate() {
            let end = epochs.get(at + 1).map_or(log_end, |next| next.1).min(log_end);
            let (mut next, start) = (start.max(log_start), start);
            for batch in known.iter() {
                let fits = batch.epoch == epoch && batch.base >= start && batch.last < end;
                if fits && batch.last >= next && batch.base <= next {
                    all.push(*batch);
                    next = batch.last + 1;
                }
            }
            if next < end {
                all.push(BatchSpan {
                    base: next,
                    last: end - 1,
                    epoch,
                    segment: all.last().map_or(log_start, |batch: &BatchSpan| batch.segment),
                });
            }
        }
        Self(Arc::new(all))
    }
}

impl FromIterator<BatchSpan> for BatchList {
    fn from_iter<I: IntoIterator<Item = BatchSpan>>(batches: I) -> Self {
        Self(Arc::new(batches.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(list: &BatchList) -> Vec<(Offset, Offset, LeaderEpoch)> {
        list.iter()
            .map(|batch| (batch.base, batch.last, batch.epoch))
            .collect()
    }

    #[test]
    fn a_record_is_found_by_offset_and_epoch() {
        let list: BatchList = [
            BatchSpan::new(0, 2, 0),
            BatchSpan::new(3, 3, 0),
            BatchSpan::new(5, 9, 2),
        ]
        .into_iter()
        .collect();
        assert!(list.holds(2, 0) && list.holds(9, 2));
        assert!(!list.holds(2, 1) && !list.holds(4, 0) && !list.holds(10, 2));
        let within: Vec<_> = list.between(1, 6).map(|batch| (batch.base, batch.last)).collect();
        assert_eq!(within, [(1, 2), (3, 3), (5, 5)]);
    }

    #[test]
    fn a_log_loses_whole_batches_at_both_ends() {
        let mut list: BatchList = [BatchSpan::new(0, 2, 0), BatchSpan::new(3, 5, 0)]
            .into_iter()
            .collect();
        let before = list.clone();
        list.cut_back(4);
        assert_eq!(spans(&list), [(0, 2, 0)]);
        list.begin_at(2);
        assert_eq!(spans(&list), [(0, 2, 0)], "offset 2 is still there");
        list.begin_at(3);
        assert_eq!(spans(&list), []);
        assert_eq!(spans(&before).len(), 2, "a copy keeps what it had");
    }

    #[test]
    fn an_opened_log_has_what_was_known_where_the_epochs_agree() {
        let known: BatchList = [
            BatchSpan::new(0, 2, 0),
            BatchSpan::new(3, 4, 0),
            BatchSpan::new(5, 5, 1),
        ]
        .into_iter()
        .collect();
        let same = BatchList::opened(&known, &[(0, 0), (1, 5)], 0, 6);
        assert_eq!(same, known);
        let shorter = BatchList::opened(&known, &[(0, 0)], 0, 3);
        assert_eq!(spans(&shorter), [(0, 2, 0)]);
        let other = BatchList::opened(&known, &[(0, 0), (2, 3)], 0, 6);
        assert_eq!(spans(&other), [(0, 2, 0), (3, 5, 2)]);
        let unknown = BatchList::opened(&BatchList::default(), &[(0, 0), (3, 7)], 2, 9);
        assert_eq!(spans(&unknown), [(2, 6, 0), (7, 8, 3)]);
    }
}
