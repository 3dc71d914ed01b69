//! Reading one segment from its first byte: what recovery and truncation learn from a `.log`.

use std::ops::Range;

use super::leader_epoch_cache::EpochEntry;
use super::producer_state::{CompletedTxn, ProducerStateManager, marker_of};
use super::segment::Indexer;
use super::transaction_index::TransactionIndex;
use super::walk::{Step, Walk};
use crate::disk::{DirId, ReadAt};
use crate::error::DiskError;
use crate::record::{Batch, BatchHeader};
use crate::types::{NO_EPOCH, Offset};

/// Bytes asked of the disk at once.
const READ_BYTES: usize = 256 << 10;

/// A segment's `.log`.
#[derive(Clone, Copy, Debug)]
pub struct LogFile<'a> {
    pub dir: DirId,
    pub path: &'a str,
    pub bytes: u64,
}

impl<'a> LogFile<'a> {
    fn walk(self, disk: &'a dyn ReadAt) -> Walk<'a> {
        Walk::new(disk, self.dir, self.path, 0, self.bytes, READ_BYTES)
    }
}

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
    /// The first and the last batch of each epoch.
    pub epochs: Vec<EpochEntry>,
    /// The transactions aborted in the segment, as far as producers were followed.
    pub aborted: TransactionIndex,
    /// Why the bytes from there on are no batch; `None`: there are none, or they were not asked for.
    pub bad: Option<String>,
}

/// Reads the batches of the segment at `base` from its first byte. Given `producers` as of the segment's base, lets them follow.
pub fn scan_segment(
    disk: &dyn ReadAt,
    log: LogFile<'_>,
    base: Offset,
    rules: ScanRules,
    mut producers: Option<&mut ProducerStateManager>,
    progress: &mut dyn FnMut(u64),
) -> Result<Scanned, DiskError> {
    let mut walk = log.walk(disk).starting_at(base);
    let mut scanned = Scanned {
        indexer: Indexer::new(base),
        next_offset: base,
        epochs: Vec::new(),
        aborted: TransactionIndex::default(),
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
        if let Some(producers) = producers.as_deref_mut() {
            let completed = follow(&mut walk, position, &header, producers)?;
            if let Some(aborted) = completed.as_ref().and_then(CompletedTxn::aborted) {
                scanned.aborted.append(aborted);
            }
        }
        scanned.indexer.add(&header, rules.index_interval_bytes);
        scanned.next_offset = header.next_offset();
        let epoch = header.partition_leader_epoch;
        if epoch != NO_EPOCH && scanned.epochs.last().is_none_or(|last| last.epoch <= epoch) {
            let start_offset = header.base_offset;
            let batch = EpochEntry { epoch, start_offset };
            match scanned.epochs.as_mut_slice() {
                [.., before, last] if before.epoch == epoch && last.epoch == epoch => *last = batch,
                _ => scanned.epochs.push(batch),
            }
        }
        progress(walk.position());
    }
}

/// A control batch holds one small record; none that is larger was written by a coordinator.
const MAX_MARKER_BYTES: i64 = 64 << 10;

/// Lets the state of producers follow a batch.
fn follow(
    walk: &mut Walk<'_>,
    position: u64,
    header: &BatchHeader,
    producers: &mut ProducerStateManager,
) -> Result<Option<CompletedTxn>, DiskError> {
    let mut marker = None;
    if header.is_control() && header.size_bytes() <= MAX_MARKER_BYTES {
        let bytes = walk.bytes(position, header.size_bytes() as usize)?;
        marker = marker_of(&Batch {
            header: *header,
            bytes,
        });
    }
    let marker = marker
        .as_ref()
        .map(|(marker, timestamp_ms)| (marker, *timestamp_ms));
    Ok(producers.replay(header, marker))
}

/// Lets the state of producers follow the batches of `offsets` in one segment.
pub fn replay(
    disk: &dyn ReadAt,
    log: LogFile<'_>,
    offsets: Range<Offset>,
    producers: &mut ProducerStateManager,
) -> Result<(), DiskError> {
    let mut walk = log.walk(disk);
    while let Step::Batch { position, header } = walk.step()? {
        if header.last_offset() >= offsets.end {
            break;
        }
        if header.last_offset() >= offsets.start {
            follow(&mut walk, position, &header, producers)?;
        }
    }
    Ok(())
}
