//! What became of the records that were acknowledged, from the bytes of a replica.
//!
//! Under acks=all there is one answer: each is there once, in order. Under acks=1 the leader alone
//! answers for a record. It may lose it in one way only: another leader, which had not fetched it yet,
//! begins an epoch, and the log of the first is cut there. So between the records before and after the
//! lost ones the leader epoch must have changed, and a broker must have cut at least as many records off
//! its log between the two.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

use bytes::Bytes;
use highwater_core::record::Batches;
use highwater_core::record::compression::PureRust;
use highwater_tests::cluster::Cut;

use crate::reader::Record;

/// A record in a replica, its place being its offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub record: Record,
    pub leader_epoch: i32,
}

/// All records of a log, from offset 0 on without a gap.
pub fn stored(bytes: Vec<u8>) -> Result<Vec<Stored>, String> {
    let mut all: Vec<Stored> = Vec::new();
    for batch in Batches::new(Bytes::from(bytes)) {
        let batch = batch.map_err(|error| error.to_string())?;
        batch.check_crc().map_err(|error| error.to_string())?;
        let records = batch
            .records(&PureRust, 1 << 20)
            .map_err(|error| error.to_string())?;
        for record in records {
            let record = record.map_err(|error| error.to_string())?;
            if record.offset != all.len() as i64 {
                return Err(format!("offset {} follows {} records", record.offset, all.len()));
            }
            let value = String::from_utf8_lossy(record.value.as_deref().unwrap_or_default()).into_owned();
            let words = value.split_once(' ');
            let (name, number) = words.ok_or_else(|| format!("a record {value:?}"))?;
            let number = number.parse().map_err(|_| format!("a record {value:?}"))?;
            all.push(Stored {
                record: (name.to_owned(), number),
                leader_epoch: batch.header.partition_leader_epoch,
            });
        }
    }
    Ok(all)
}

/// Numbers that a producer wrote, that were acknowledged, and that are gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub producer: String,
    pub numbers: RangeInclusive<u64>,
    /// The epoch in which the record before them was written, and that of the one behind.
    pub epochs: (i32, i32),
    /// Where these two lie (-1: there is none before).
    pub between: (i64, i64),
}

impl Lost {
    fn count(&self) -> u64 {
        self.numbers.end() - self.numbers.start() + 1
    }

    /// Whether that broker had them, and gave them up to follow another leader.
    fn is_explained(&self, cut: &Cut) -> bool {
        let at = self.between.0 + 1..=self.between.1;
        at.contains(&cut.to) && (cut.from - cut.to) as u64 >= self.count()
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count();
        write!(
            f,
            "{count} of {} ({} to {}), behind offset {} of leader epoch {} and before {} of {}",
            self.producer,
            self.numbers.start(),
            self.numbers.end(),
            self.between.0,
            self.epochs.0,
            self.between.1,
            self.epochs.1,
        )
    }
}

/// What is missing and what is there more than once of the numbers below `count`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub lost: Vec<Lost>,
    pub repeated: u64,
}

/// Accounts for one producer's records in a partition whose replicas were cut so; an error is what no acks
/// allows: records out of order, ones that were never written, and losses that another leader does not
/// explain.
pub fn account(log: &[Stored], cuts: &[Cut], producer: &str, count: u64) -> Result<Account, String> {
    let mut account = Account::default();
    let mut found: BTreeSet<u64> = BTreeSet::new();
    // The last that came first: its number, epoch and offset.
    let mut before: Option<(u64, i32, i64)> = None;
    for (offset, stored) in (0..).zip(log) {
        let (name, number) = &stored.record;
        if name != producer {
            continue;
        }
        if *number >= count {
            return Err(format!(
                "{name} {number} at offset {offset}: only {count} were written"
            ));
        }
        if !found.insert(*number) {
            account.repeated += 1;
            continue;
        }
        let next = before.map_or(0, |(last, ..)| last + 1);
        if *number < next {
            return Err(format!("{name} {number} at offset {offset}, behind {}", next - 1));
        }
        if *number > next {
            let lost = Lost {
                producer: producer.to_owned(),
                numbers: next..=number - 1,
                epochs: (before.map_or(0, |(_, epoch, _)| epoch), stored.leader_epoch),
                between: (before.map_or(-1, |(.., offset)| offset), offset),
            };
            if lost.epochs.0 >= lost.epochs.1 {
                return Err(format!("lost without another leader: {lost}"));
            }
            if !cuts.iter().any(|cut| lost.is_explained(cut)) {
                return Err(format!("lost, and no broker had them: {lost}; cuts: {cuts:?}"));
            }
            account.lost.push(lost);
        }
        before = Some((*number, stored.leader_epoch, offset));
    }
    match before.map_or(0, |(last, ..)| last + 1) {
        end if end == count => Ok(account),
        end => Err(format!("{producer} {end} to {} are not there", count - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(records: &[(u64, i32)]) -> Vec<Stored> {
        let stored = |&(number, leader_epoch): &(u64, i32)| Stored {
            record: ("a".to_owned(), number),
            leader_epoch,
        };
        records.iter().map(stored).collect()
    }

    fn cut(from: i64, to: i64) -> Cut {
        let partition = "t-0".to_owned();
        Cut { partition, from, to }
    }

    #[test]
    fn a_loss_is_allowed_only_where_the_leader_changed_and_another_had_the_records() {
        let changed = log(&[(0, 0), (1, 0), (4, 1), (5, 1)]);
        let found = account(&changed, &[cut(4, 2)], "a", 6).unwrap();
        assert_eq!(found.lost.len(), 1);
        let lost = &found.lost[0];
        assert_eq!(
            (lost.numbers.clone(), lost.epochs, lost.between),
            (2..=3, (0, 1), (1, 2))
        );
        for elsewhere in [cut(3, 2), cut(3, 1), cut(5, 3)] {
            let refused = account(&changed, &[elsewhere], "a", 6).unwrap_err();
            assert!(refused.contains("no broker had them"), "{refused}");
        }
        let same = account(&log(&[(0, 0), (1, 0), (4, 0), (5, 1)]), &[cut(4, 2)], "a", 6);
        assert!(same.unwrap_err().contains("without another leader"));
        let at_the_end = account(&log(&[(0, 0), (1, 1)]), &[], "a", 3);
        assert!(at_the_end.unwrap_err().contains("a 2 to 2 are not there"));
    }

    #[test]
    fn what_comes_twice_is_counted_and_what_goes_back_is_wrong() {
        let twice = account(&log(&[(0, 0), (1, 0), (0, 1), (1, 1), (2, 1)]), &[], "a", 3).unwrap();
        assert_eq!((twice.lost.len(), twice.repeated), (0, 2));
        let back = account(&log(&[(0, 0), (2, 1), (1, 1)]), &[cut(3, 1)], "a", 3);
        assert!(back.unwrap_err().contains("behind 2"));
        let never = account(&log(&[(0, 0), (1, 0)]), &[], "a", 1);
        assert!(never.unwrap_err().contains("only 1 were written"));
    }
}
