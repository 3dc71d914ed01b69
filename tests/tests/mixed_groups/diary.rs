//! What all members of a group say, in the order in which it came.
//!
//! Invariant: whoever waits hears of the first thing that is wrong at once

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use highwater_core::types::{Offset, PartitionIndex};

/// What a group owes comes within this time; never reached by one that works.
const WITHIN: Duration = Duration::from_secs(120);
/// So much of the end is shown when something is wrong.
const SHOWN: usize = 60;

/// A line of a member. `tests/clients/README.md` has their form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Line {
    Record {
        partition: PartitionIndex,
        offset: Offset,
        number: u64,
    },
    /// The next offsets.
    Committed(BTreeMap<PartitionIndex, Offset>),
    Assigned(BTreeSet<PartitionIndex>),
    Revoked(BTreeSet<PartitionIndex>),
    Lost(BTreeSet<PartitionIndex>),
    /// On its standard error.
    Trouble(String),
    /// There will be no more.
    End,
}

impl Line {
    /// `PARTITION OFFSET VALUE`, `committed PARTITION:OFFSET...`, or `assigned`, `revoked`, `lost` and
    /// partitions.
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (first, rest) = words.split_first()?;
        let partitions = || {
            rest.iter()
                .map(|word| word.parse().ok())
                .collect::<Option<BTreeSet<_>>>()
        };
        match (*first, rest) {
            ("assigned", _) => partitions().map(Self::Assigned),
            ("revoked", _) => partitions().map(Self::Revoked),
            ("lost", _) => partitions().map(Self::Lost),
            ("committed", _) => {
                let next = rest.iter().map(|word| {
                    let (partition, offset) = word.split_once(':')?;
                    Some((partition.parse().ok()?, offset.parse().ok()?))
                });
                next.collect::<Option<_>>().map(Self::Committed)
            }
            (partition, [offset, number]) => Some(Self::Record {
                partition: partition.parse().ok()?,
                offset: offset.parse().ok()?,
                number: number.parse().ok()?,
            }),
            _ => None,
        }
    }
}

/// Who said it, and what.
pub type Entry = (String, Line);

/// The next offset of each partition.
pub type Ends = BTreeMap<PartitionIndex, Offset>;

#[derive(Debug, Default)]
pub struct Diary {
    pages: Mutex<Pages>,
    more: Condvar,
}

#[derive(Debug, Default)]
struct Pages {
    entries: Vec<Entry>,
    /// Behind the last record of each partition that anybody has processed.
    read: Ends,
    ended: BTreeSet<String>,
    wrong: Option<String>,
}

impl Diary {
    pub fn write(&self, who: &str, line: Line) {
        let mut pages = self.pages();
        match &line {
            Line::Record {
                partition, offset, ..
            } => {
                let next = pages.read.entry(*partition).or_default();
                *next = (*next).max(offset + 1);
            }
            Line::End => {
                pages.ended.insert(who.to_owned());
            }
            _ => {}
        }
        pages.entries.push((who.to_owned(), line));
        self.more.notify_all();
    }

    /// Ends every wait, now and later.
    pub fn fail(&self, why: String) {
        self.pages().wrong.get_or_insert(why);
        self.more.notify_all();
    }

    /// All that was said.
    pub fn entries(&self) -> Vec<Entry> {
        self.pages().entries.clone()
    }

    /// The end of what was said beside records and commits.
    pub fn last_words(&self) -> String {
        let words: Vec<String> = self.pages().last_words().collect();
        words.join("\n")
    }

    /// Waits until what lies before these offsets was processed by somebody.
    pub fn await_read(&self, ends: &Ends) {
        self.wait(&format!("records up to {ends:?}"), |pages| {
            let is_read = |(partition, end): (&PartitionIndex, &Offset)| {
                pages.read.get(partition).is_some_and(|read| read >= end)
            };
            ends.iter().all(is_read)
        });
    }

    /// Waits until the member has processed something since it last committed or was given partitions.
    pub fn await_uncommitted(&self, who: &str) {
        self.wait(&format!("a record that {who} has not committed"), |pages| {
            let said = pages.entries.iter().rev().filter(|(name, _)| name == who);
            let mut since = said
                .map(|(_, line)| line)
                .take_while(|line| !matches!(line, Line::Committed(_) | Line::Assigned(_)));
            since.any(|line| matches!(line, Line::Record { .. }))
        });
    }

    /// Waits until the member has said its last word.
    pub fn await_end(&self, who: &str) {
        self.wait(&format!("the end of {who}"), |pages| pages.ended.contains(who));
    }

    fn wait(&self, what: &str, is_there: impl Fn(&Pages) -> bool) {
        let goes_on = |pages: &mut Pages| pages.wrong.is_none() && !is_there(pages);
        let waited = self.more.wait_timeout_while(self.pages(), WITHIN, goes_on);
        let (pages, waited) = waited.expect("the diary");
        let wrong = pages.wrong.clone();
        let why = wrong.or_else(|| waited.timed_out().then(|| format!("{what} never came")));
        let Some(why) = why else { return };
        let read = pages.read.clone();
        // Nobody else shall find the lock held by a panic.
        drop(pages);
        panic!("{why}; read up to {read:?}");
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().expect("the diary")
    }
}

impl Pages {
    /// Trouble that a member has again and again is told once.
    fn last_words(&self) -> impl Iterator<Item = String> {
        let mut troubles = BTreeSet::new();
        let is_rare = |entry: &&Entry| match &entry.1 {
            Line::Record { .. } | Line::Committed(_) => false,
            Line::Trouble(_) => troubles.insert((*entry).clone()),
            _ => true,
        };
        let rare: Vec<&Entry> = self.entries.iter().filter(is_rare).collect();
        let from = rare.len().saturating_sub(SHOWN);
        rare.into_iter()
            .skip(from)
            .map(|(who, line)| format!("{who}: {line:?}"))
    }
}
