//! The time index: which offset may carry a timestamp.
//!
//! A sparse list of (greatest timestamp so far, last offset of the batch that carries it), written
//! together with an offset index entry if the greatest timestamp grew, and once more when the
//! segment is closed. 12 bytes an entry: the timestamp, the offset less the segment's base,
//! big-endian (`TimeIndex`).
//!
//! Invariants
//! - timestamps strictly rise, offsets never fall
//! - no batch after an entry's offset and before the next entry's has a greater timestamp than the
//!   next entry's: a time above entry *i* is first reached after the offset of entry *i*

use std::sync::Arc;

use crate::types::Millis;

/// Bytes of an entry in the file.
pub const ENTRY_BYTES: usize = 12;

/// One entry. The offset is relative to the segment's base offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeEntry {
    pub timestamp_ms: Millis,
    pub relative: u32,
}

impl TimeEntry {
    pub fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.timestamp_ms.to_be_bytes());
        bytes[8..].copy_from_slice(&self.relative.to_be_bytes());
        bytes
    }

    pub fn from_bytes(bytes: [u8; ENTRY_BYTES]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = bytes;
        Self {
            timestamp_ms: i64::from_be_bytes([a, b, c, d, e, f, g, h]),
            relative: u32::from_be_bytes([i, j, k, l]),
        }
    }
}

/// The active segment's time index, whole in memory. A clone shares its entries until one side adds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeIndex {
    entries: Arc<Vec<TimeEntry>>,
}

impl TimeIndex {
    pub fn new(entries: Vec<TimeEntry>) -> Self {
        Self {
            entries: Arc::new(entries),
        }
    }

    pub fn entries(&self) -> &[TimeEntry] {
        &self.entries
    }

    pub fn last(&self) -> Option<TimeEntry> {
        self.entries.last().copied()
    }

    /// Adds the entry if its time is beyond the last one's (`TimeIndex.maybeAppend`); says whether.
    pub(super) fn push_if_later(&mut self, entry: TimeEntry) -> bool {
        let later = entry.timestamp_ms >= 0
            && self
                .last()
                .is_none_or(|last| entry.timestamp_ms > last.timestamp_ms && entry.relative >= last.relative);
        if later {
            Arc::make_mut(&mut self.entries).push(entry);
        }
        later
    }

    /// Whether only the entry that closing needs still fits into `segment.index.bytes`.
    pub fn is_full(&self, segment_index_bytes: u32) -> bool {
        self.entries.len() + 1 >= segment_index_bytes as usize / ENTRY_BYTES
    }

    /// The file's bytes from entry `from` on.
    pub fn bytes_from(&self, from: usize) -> Vec<u8> {
        let entries = self.entries.get(from..).unwrap_or_default();
        entries.iter().flat_map(|entry| entry.to_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_reads_back() {
        let entry = TimeEntry {
            timestamp_ms: 1_700_000_001_003,
            relative: 7,
        };
        assert_eq!(TimeEntry::from_bytes(entry.to_bytes()), entry);
    }

    #[test]
    fn only_a_later_time_is_added() {
        let mut index = TimeIndex::default();
        let entry = |timestamp_ms, relative| TimeEntry {
            timestamp_ms,
            relative,
        };
        assert!(index.push_if_later(entry(5, 0)));
        assert!(
            !index.push_if_later(entry(5, 3)),
            "an equal time tells nothing new"
        );
        assert!(!index.push_if_later(entry(-1, 9)), "no time at all");
        assert!(index.push_if_later(entry(6, 9)));
        assert_eq!(index.entries(), [entry(5, 0), entry(6, 9)]);
    }
}
