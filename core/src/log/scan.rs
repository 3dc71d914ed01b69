//! Reading one segment from its first byte: what recovery and truncation learn from a `.log`.

use super::leader_epoch_cache::EpochEntry;
use super::segment::Indexer;
use super::walk::{Step, Walk};
use crate::disk::{DirId, ReadAt};
use crate::error::DiskError;
use crate::types::{NO_EPOCH, Offset};

/// Bytes asked of the disk at once.
const READ_BYTES: usize = 256 << 10;

/// How a segment shall be read.
#[derive(Clone, Copy, Debug)]
pub struct ScanRules {
    /// Batches that reach this offset are not taken in.
    pub below: Offset,
    /// Compare each batch's checksum with its bytes.
    pub check_crc: bool,
    pub index_interval_bytes: u32,
}

/// What a segment's batches say.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// Its `size_bytes` is where the sound batches end.
    pub indexer: Indexer,
    /// Offset after the last batch; the base offset when there is none.
    pub next_offset: Offset,
    /// Where each epoch began.
    pub epochs: Vec<EpochEntry>,
    /// Why the bytes from there on are no batch; `None`: there are none, or they were not asked for.
    pub bad: Option<String>,
}

/// Reads the batches of the segment at `base`, whose `.log` is at the path `log`, from its first byte
/// up to `file_bytes`.
pub fn scan_segment(
    disk: &dyn ReadAt,
    dir: DirId,
    log: &str,
    base: Offset,
    file_bytes: u64,
    rules: ScanRules,
    progress: &mut dyn FnMut(u64),
) -> Result<Scanned, DiskError> {
    let mut walk = Walk::new(disk, dir, log, 0, file_bytes, READ_BYTES).starting_at(base);
    let mut scanned = Scanned {
        indexer: Indexer::new(base),
        next_offset: base,
        epochs: Vec::new(),
        bad: None,
    };
    loop {
        let (position, header) = match walk.step()? {
            Step::Batch { position, header } => (position, header),
            Step::End => return Ok(scanned),
            Step::Bad { why, .. } => {
                scanned.bad = Some(why);
                return Ok(scanned);
            }
        };
        if header.last_offset() >= rules.below {
            return Ok(scanned);
        }
        if !scanned.indexer.can_hold(header.last_offset()) {
            scanned.bad = Some(format!(
                "offset {} is too far from the segment's first",
                header.last_offset()
            ));
            return Ok(scanned);
        }
        if rules.check_crc && !walk.crc_matches(position, &header)? {
            scanned.bad = Some(format!(
                "the checksum of the batch at offset {} is wrong",
                header.base_offset
            ));
            return Ok(scanned);
        }
        scanned.indexer.add(&header, rules.index_interval_bytes);
        scanned.next_offset = header.next_offset();
        let epoch = header.partition_leader_epoch;
        if epoch != NO_EPOCH && scanned.epochs.last().is_none_or(|last| last.epoch < epoch) {
            scanned.epochs.push(EpochEntry {
                epoch,
                start_offset: header.base_offset,
            });
        }
        progress(walk.position());
    }
}
