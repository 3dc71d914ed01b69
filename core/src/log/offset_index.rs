//! The offset index: where in the `.log` an offset may be looked for.
//!
//! A sparse list of (last offset of a batch, start position of that batch), one entry after each
//! `index.interval.bytes`, 8 bytes an entry: the offset less the segment's base, the position, both
//! as big-endian 32-bit numbers (`OffsetIndex`). A look-up takes the greatest entry at or below the
//! target by halving, then walks the batches from there.
//!
//! Invariants
//! - offsets and positions strictly rise
//! - an index is a cache: all it says can be learned from the `.log`

use std::sync::Arc;

use crate::types::Offset;

/// Bytes of an entry in the file.
pub const ENTRY_BYTES: usize = 8;

/// One entry. The offset is relative to the segment's base offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct OffsetEntry {
    pub relative: u32,
    pub position: u32,
}

impl OffsetEntry {
    pub fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        (u64::from(self.relative) << 32 | u64::from(self.position)).to_be_bytes()
    }

    pub fn from_bytes(bytes: [u8; ENTRY_BYTES]) -> Self {
        let both = u64::from_be_bytes(bytes);
        Self {
            relative: (both >> 32) as u32,
            position: both as u32,
        }
    }
}

/// The active segment's index, whole in memory. A clone shares its entries until one side adds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetIndex {
    entries: Arc<Vec<OffsetEntry>>,
}

impl OffsetIndex {
    pub fn new(entries: Vec<OffsetEntry>) -> Self {
        Self {
            entries: Arc::new(entries),
        }
    }

    pub fn entries(&self) -> &[OffsetEntry] {
        &self.entries
    }

    pub fn last(&self) -> Option<OffsetEntry> {
        self.entries.last().copied()
    }

    pub(super) fn push(&mut self, entry: OffsetEntry) {
        debug_assert!(
            self.last()
                .is_none_or(|last| last < entry && last.position < entry.position)
        );
        Arc::make_mut(&mut self.entries).push(entry);
    }

    /// Whether another entry would pass `segment.index.bytes`.
    pub fn is_full(&self, segment_index_bytes: u32) -> bool {
        self.entries.len() >= segment_index_bytes as usize / ENTRY_BYTES
    }

    /// The file's bytes from entry `from` on.
    pub fn bytes_from(&self, from: usize) -> Vec<u8> {
        let entries = self.entries.get(from..).unwrap_or_default();
        entries.iter().flat_map(|entry| entry.to_bytes()).collect()
    }
}

/// An entry's offset in full.
pub fn full_offset(base: Offset, entry: OffsetEntry) -> Offset {
    base + i64::from(entry.relative)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_reads_back() {
        let entry = OffsetEntry {
            relative: 7,
            position: 767,
        };
        assert_eq!(entry.to_bytes(), [0, 0, 0, 7, 0, 0, 2, 255]);
        assert_eq!(OffsetEntry::from_bytes(entry.to_bytes()), entry);
    }

    #[test]
    fn an_index_is_full_at_its_last_whole_entry() {
        let mut index = OffsetIndex::default();
        index.push(OffsetEntry {
            relative: 1,
            position: 1,
        });
        assert!(index.is_full(15));
        assert!(!index.is_full(16));
    }
}
