//! The greatest entry of an index at or below a target, by halving.
//!
//! The offset index and the time index are searched alike, in memory and in their files; whoever wants
//! to see the halvings watches them.

use super::offset_index::{self, OffsetEntry};
use super::time_index::{self, TimeEntry};
use crate::disk::{DirId, ReadAt};
use crate::error::DiskError;
use crate::types::Millis;

/// One halving of the search in an index of which entries `low..high` were still in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halving<E> {
    pub low: usize,
    pub high: usize,
    /// The entry that was looked at.
    pub middle: usize,
    pub entry: E,
    /// It is at or below the target: the search goes on in the upper half.
    pub at_or_below: bool,
}

/// The greatest of `count` entries that is at or below the target; `entry(i)` gives entry *i*.
pub fn floor<E: Copy, Error>(
    count: usize,
    mut entry: impl FnMut(usize) -> Result<E, Error>,
    is_at_or_below: impl Fn(&E) -> bool,
    mut watch: impl FnMut(Halving<E>),
) -> Result<Option<E>, Error> {
    let (mut low, mut high, mut found) = (0, count, None);
    while low < high {
        let middle = low + (high - low) / 2;
        let entry = entry(middle)?;
        let at_or_below = is_at_or_below(&entry);
        watch(Halving {
            low,
            high,
            middle,
            entry,
            at_or_below,
        });
        if at_or_below {
            found = Some(entry);
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(found)
}

/// The same of entries in memory.
pub(super) fn floor_in_memory<E: Copy>(
    entries: &[E],
    is_at_or_below: impl Fn(&E) -> bool,
    watch: impl FnMut(Halving<E>),
) -> Option<E> {
    let Ok(found) = floor(
        entries.len(),
        |at| Ok::<_, std::convert::Infallible>(entries[at]),
        is_at_or_below,
        watch,
    );
    found
}

/// An entry of an index file.
pub(super) trait IndexEntry: Copy {
    const BYTES: usize;
    /// Beyond every target.
    const BEYOND: Self;
    /// `None`: these are too few bytes.
    fn parse(bytes: &[u8]) -> Option<Self>;
}

impl IndexEntry for OffsetEntry {
    const BYTES: usize = offset_index::ENTRY_BYTES;
    const BEYOND: Self = Self {
        relative: u32::MAX,
        position: u32::MAX,
    };
    fn parse(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(|bytes| Self::from_bytes(*bytes))
    }
}

impl IndexEntry for TimeEntry {
    const BYTES: usize = time_index::ENTRY_BYTES;
    const BEYOND: Self = Self {
        timestamp_ms: Millis::MAX,
        relative: u32::MAX,
    };
    fn parse(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(|bytes| Self::from_bytes(*bytes))
    }
}

/// The same of entries in a file; one that is missing has none.
pub(super) fn floor_in_file<E: IndexEntry>(
    disk: &dyn ReadAt,
    dir: DirId,
    path: &str,
    is_at_or_below: impl Fn(&E) -> bool,
    watch: impl FnMut(Halving<E>),
) -> Result<Option<E>, DiskError> {
    let bytes = match disk.len(dir, path) {
        Err(DiskError::NotFound) => 0,
        other => other?,
    };
    let entry = |at: usize| {
        let bytes = disk.read_at(dir, path, (at * E::BYTES) as u64, E::BYTES)?;
        // A file that shrank meanwhile reads as an entry beyond everything.
        Ok(E::parse(&bytes).unwrap_or(E::BEYOND))
    };
    floor(bytes as usize / E::BYTES, entry, is_at_or_below, watch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_found_and_each_halving_is_told() {
        let entries = [10, 20, 30, 40];
        let find = |target: u32| {
            let mut steps = Vec::new();
            let found = floor_in_memory(&entries, |entry| *entry <= target, |step| steps.push(step));
            (found, steps)
        };
        assert_eq!(find(5).0, None);
        assert_eq!(find(10).0, Some(10));
        assert_eq!(find(99).0, Some(40));
        let (found, steps) = find(25);
        assert_eq!(found, Some(20));
        let middles: Vec<_> = steps.iter().map(|step| (step.middle, step.at_or_below)).collect();
        assert_eq!(middles, [(2, false), (1, true)]);
    }
}
