//! What an interrupted deletion or compaction leaves in a partition's directory
//! (`LogLoader.removeTempFilesAndCollectSwapFiles`).
//!
//! `.deleted` and `.cleaned` files are removed. A `.swap` file is a finished compaction whose sources
//! were to be replaced: it takes their place, unless a `.cleaned` file at or below it tells that the
//! compaction had not come that far.

use super::names::{CLEANED, DELETED, FileKind, SWAP, parse};
use super::recovery::Repair;
use super::walk::{Step, Walk};
use crate::disk::{DirId, ReadAt};
use crate::error::DiskError;
use crate::ordered::OrderedMap;
use crate::types::Offset;

/// Bytes asked of the disk at once while walking headers.
const WALK_BYTES: usize = 64 << 10;

/// The files of a partition's segments as they will be called, and the paths at which they still lie.
pub(super) type SegmentFiles = OrderedMap<(Offset, FileKind), String>;

/// Sorts out the names in the directory; the repairs make it so.
pub(super) fn sort_out(
    disk: &dyn ReadAt,
    dir: DirId,
    path: &str,
    repairs: &mut Vec<Repair>,
) -> Result<SegmentFiles, DiskError> {
    let names = match disk.list(dir, path) {
        Err(DiskError::NotFound) => Vec::new(),
        other => other?,
    };
    let (mut files, mut swaps, mut cleaned) = (SegmentFiles::new(), SegmentFiles::new(), Vec::new());
    for (name, (base, kind, suffix)) in names.iter().filter_map(|name| Some((name, parse(name)?))) {
        let full = format!("{path}/{name}");
        match suffix {
            "" => _ = files.insert((base, kind), full),
            SWAP => _ = swaps.insert((base, kind), full),
            CLEANED => {
                cleaned.push(base);
                repairs.push(Repair::Unlink(full));
            }
            DELETED => repairs.push(Repair::Unlink(full)),
            _ => {}
        }
    }
    let reached = cleaned.into_iter().min().unwrap_or(Offset::MAX);
    for full in swaps.range((reached, FileKind::Log)..).map(|(_, full)| full) {
        repairs.push(Repair::Unlink(full.clone()));
    }
    swaps.retain(|(base, _), _| *base < reached);
    swap_in(disk, dir, path, swaps, &mut files, repairs)?;
    Ok(files)
}

/// Lets the `.swap` files take the place of the segments that they were made from.
fn swap_in(
    disk: &dyn ReadAt,
    dir: DirId,
    path: &str,
    swaps: SegmentFiles,
    files: &mut SegmentFiles,
    repairs: &mut Vec<Repair>,
) -> Result<(), DiskError> {
    let (mut from, mut upto) = (Offset::MAX, Offset::MIN);
    for ((base, _), log) in swaps.iter().filter(|((_, kind), _)| *kind == FileKind::Log) {
        let mut walk = Walk::new(disk, dir, log, 0, disk.len(dir, log)?, WALK_BYTES);
        let mut next = *base;
        while let Step::Batch { header, .. } = walk.step()? {
            next = header.next_offset();
        }
        from = from.min(*base);
        upto = upto.max(next);
    }
    files.retain(|(base, _), full| {
        let replaced = (from..upto).contains(base);
        if replaced {
            repairs.push(Repair::Unlink(full.clone()));
        }
        !replaced
    });
    for ((base, kind), full) in swaps {
        repairs.push(Repair::Rename(
            full.clone(),
            super::names::segment_file(path, base, kind),
        ));
        files.insert((base, kind), full);
    }
    Ok(())
}
