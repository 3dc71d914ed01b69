//! A stretch of a closed segment's offset index, kept in memory for who reads on.
//!
//! Whoever reads far back asks for the offset behind what it got, and would have its `.index` opened
//! and halved again for each fetch. A look-up therefore brings the entries that follow the one it found
//! along, and the next look-ups find their place among them.
//!
//! Invariant: a stretch is a hint. What it points at is checked against the batch that lies there, like
//! an entry of the file, and if they disagree the file is asked; so a log that was cut or reindexed
//! meanwhile harms nothing.

use std::sync::Arc;

use super::floor::floor_in_memory;
use super::lookup::relative_to;
use super::offset_index::{ENTRY_BYTES, OffsetEntry};
use crate::types::Offset;

/// Bytes of an index that a look-up brings along: entries for two megabytes of small batches, and more of
/// larger ones.
pub const STRETCH_BYTES: usize = 512 * ENTRY_BYTES;

/// Entries of one closed segment's index that follow one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Base offset of the segment.
    pub segment: Offset,
    entries: Arc<[OffsetEntry]>,
}

impl Stretch {
    /// Entries as they lie in the file. `None` when they are too few to be of use, or no index's.
    pub fn read(segment: Offset, bytes: &[u8]) -> Option<Self> {
        let entries = bytes.chunks_exact(ENTRY_BYTES);
        let entries: Vec<OffsetEntry> = entries
            .filter_map(|bytes| bytes.first_chunk().map(|bytes| OffsetEntry::from_bytes(*bytes)))
            .collect();
        let rises = entries.is_sorted_by(|one, next| one.relative < next.relative);
        (entries.len() > 1 && rises).then(|| Self {
            segment,
            entries: entries.into(),
        })
    }

    /// The offset of the first entry, relative to the segment's base.
    pub fn first(&self) -> u32 {
        self.entries.first().map_or(0, |entry| entry.relative)
    }

    /// The index's greatest entry at or below the offset, if this stretch is sure to have it: the next
    /// one must be here too.
    pub fn floor(&self, offset: Offset) -> Option<OffsetEntry> {
        let relative = relative_to(self.segment, offset);
        let last = self.entries.last()?;
        if relative >= last.relative {
            return None;
        }
        floor_in_memory(&self.entries, |entry| entry.relative <= relative, |_| {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(entries: &[(u32, u32)]) -> Vec<u8> {
        let entry =
            |&(relative, position): &(u32, u32)| [relative.to_be_bytes(), position.to_be_bytes()].concat();
        entries.iter().flat_map(entry).collect()
    }

    #[test]
    fn only_what_is_sure_is_answered() {
        let stretch = Stretch::read(1000, &bytes(&[(10, 100), (20, 200), (30, 300)])).unwrap();
        let floor = |offset| stretch.floor(offset).map(|entry| entry.position);
        assert_eq!(floor(1009), None, "before its first entry");
        assert_eq!(floor(1010), Some(100));
        assert_eq!(floor(1029), Some(200));
        assert_eq!(floor(1030), None, "the next entry of the file may be nearer");
        assert_eq!(stretch.first(), 10);
    }

    #[test]
    fn what_is_no_index_is_not_kept() {
        assert_eq!(
            Stretch::read(0, &bytes(&[(10, 100)])),
            None,
            "nothing is between two entries"
        );
        assert_eq!(Stretch::read(0, &bytes(&[(10, 100), (10, 200)])), None);
        assert_eq!(Stretch::read(0, &[0; 100]), None);
        assert_eq!(Stretch::read(0, &[]), None);
    }
}
