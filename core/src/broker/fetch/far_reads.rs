//! Where readers far back are: the last few stretches of indexes that look-ups brought along.
//!
//! Invariant: at most [`MOST_STRETCHES`] are kept, whatever is read.

use crate::log::lookup::{Locate, StartFrom};
use crate::log::stretch::Stretch;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::replica::partition::PartitionId;
use crate::types::Offset;

/// Each is 4 KiB.
const MOST_STRETCHES: usize = 64;

/// A stretch by its partition, segment, and first offset within that.
type Place = (PartitionId, Offset, u32);

#[derive(Clone, Debug, Default)]
pub(in crate::broker) struct FarReads {
    stretches: OrderedMap<Place, (Stretch, u64)>,
    by_use: OrderedSet<(u64, Place)>,
    uses: u64,
}

impl FarReads {
    pub fn remember(&mut self, partition: PartitionId, stretch: Stretch) {
        let place = (partition, stretch.segment, stretch.first());
        self.uses += 1;
        if let Some((_, used)) = self.stretches.insert(place, (stretch, self.uses)) {
            self.by_use.remove(&(used, place));
        }
        self.by_use.insert((self.uses, place));
        if self.stretches.len() > MOST_STRETCHES
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.stretches.remove(&oldest);
        }
    }

    /// Lets a look-up begin at the entry that is remembered, if one is.
    pub fn shorten(&mut self, partition: PartitionId, locate: &mut Locate) {
        if locate.segment.start != StartFrom::IndexFile {
            return;
        }
        let base = locate.segment.base;
        let relative = u32::try_from(locate.from - base).unwrap_or(u32::MAX);
        let reaches = (partition, base, 0)..=(partition, base, relative);
        let Some((&place, (stretch, used))) = self.stretches.range_mut(reaches).next_back() else {
            return;
        };
        if let Some(entry) = stretch.floor(locate.from) {
            self.uses += 1;
            self.by_use.remove(&(*used, place));
            *used = self.uses;
            self.by_use.insert((self.uses, place));
            locate.segment.start = StartFrom::Remembered(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::FileId;
    use crate::log::lookup::SegmentToRead;

    /// Entries every ten offsets from the first on, of a segment at 1000.
    fn stretch(first: u32) -> Stretch {
        let entry = |relative: u32| [relative.to_be_bytes(), (relative * 10).to_be_bytes()].concat();
        let bytes: Vec<u8> = (0..4).flat_map(|n| entry(first + 10 * n)).collect();
        Stretch::read(1000, &bytes).unwrap()
    }

    fn start(far: &mut FarReads, partition: PartitionId, from: Offset) -> StartFrom {
        let mut locate = Locate {
            segment: SegmentToRead {
                dir: 0,
                path: "t-0".into(),
                base: 1000,
                end_bytes: 0,
                start: StartFrom::IndexFile,
            },
            file: FileId { dir: 0, number: 1 },
            from,
            limit: 9000,
            next_base: Some(9000),
            max_bytes: 1,
            at_least_one: true,
        };
        far.shorten(partition, &mut locate);
        locate.segment.start
    }

    #[test]
    fn the_nearest_stretch_is_used_and_only_of_the_partition() {
        let mut far = FarReads::default();
        far.remember(1, stretch(10));
        far.remember(1, stretch(100));
        let position = |found| match found {
            StartFrom::Remembered(entry) => Some(entry.position),
            _ => None,
        };
        assert_eq!(position(start(&mut far, 1, 1025)), Some(200));
        assert_eq!(position(start(&mut far, 1, 1115)), Some(1100));
        for from in [999, 1005, 1050, 1500] {
            assert_eq!(position(start(&mut far, 1, from)), None, "{from}");
        }
        assert_eq!(position(start(&mut far, 2, 1025)), None);
    }

    #[test]
    fn the_one_unused_for_longest_goes_first() {
        let mut far = FarReads::default();
        for partition in 0..MOST_STRETCHES as PartitionId {
            far.remember(partition, stretch(10));
        }
        start(&mut far, 0, 1025);
        far.remember(99, stretch(10));
        far.remember(99, stretch(10));
        assert_eq!(
            (far.stretches.len(), far.by_use.len()),
            (MOST_STRETCHES, MOST_STRETCHES)
        );
        assert_ne!(start(&mut far, 0, 1025), StartFrom::IndexFile, "used since");
        assert_eq!(start(&mut far, 1, 1025), StartFrom::IndexFile);
    }
}
