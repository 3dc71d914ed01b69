//! The file strip: a log's files as a picture. Everything is read from the files on the disk, but the
//! active segment's indexes, which are in memory until they are written.

use highwater_core::disk::ReadAt;
use highwater_core::log::names::{self, FileKind, segment_file};
use highwater_core::log::offset_index::{self, OffsetEntry};
use highwater_core::log::time_index::{self, TimeEntry};
use highwater_core::log::walk::{Step, Walk};
use highwater_core::sim::LogOnMemoryDisk;
use highwater_core::sim::log_on_memory_disk::DIR;
use highwater_core::types::{Millis, Offset};

use crate::say;

const WALK_BYTES: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentView {
    pub base: Offset,
    pub active: bool,
    pub log_bytes: u64,
    pub batches: Vec<BatchView>,
    /// What lies behind the last whole batch.
    pub torn: Option<Torn>,
    pub entries: Vec<EntryView>,
    pub times: Vec<TimeView>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchView {
    pub position: u64,
    pub size_bytes: u64,
    pub base: Offset,
    pub last: Offset,
    pub records: i32,
    pub max_timestamp_ms: Millis,
    pub state: BatchState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchState {
    /// A loss of power cannot take it.
    Forced,
    /// Written, not forced to the disk.
    Written,
    /// It was there, and is not.
    Lost,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    pub position: u64,
    pub bytes: u64,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryView {
    pub offset: Offset,
    pub position: u64,
    /// Which of the batches it points at.
    pub batch: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeView {
    pub timestamp_ms: Millis,
    pub offset: Offset,
    /// Which of the batches has that offset.
    pub batch: Option<usize>,
}

/// A part of a segment's `.log`, as it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    Batch(&'a BatchView),
    Torn(&'a Torn),
}

impl Piece<'_> {
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Batch(batch) => batch.size_bytes,
            Self::Torn(torn) => torn.bytes,
        }
    }

    pub fn position(&self) -> u64 {
        match self {
            Self::Batch(batch) => batch.position,
            Self::Torn(torn) => torn.position,
        }
    }

    pub fn label(&self) -> String {
        match self {
            Self::Batch(batch) => batch.label(),
            Self::Torn(torn) => torn.label(),
        }
    }
}

impl SegmentView {
    /// What is drawn of the `.log`, in order: what is whole, what is torn, what was lost.
    pub fn pieces(&self) -> Vec<Piece<'_>> {
        let is_lost = |batch: &&BatchView| batch.state == BatchState::Lost;
        let whole = self.batches.iter().filter(|batch| !is_lost(batch));
        let lost = self.batches.iter().filter(is_lost);
        whole
            .map(Piece::Batch)
            .chain(self.torn.as_ref().map(Piece::Torn))
            .chain(lost.map(Piece::Batch))
            .collect()
    }

    pub fn file(&self, kind: FileKind) -> String {
        file_name(self.base, kind)
    }

    pub fn label(&self) -> String {
        let active = if self.active { ", active" } else { "" };
        format!(
            "segment {}{active}: {} bytes, {}, {} in .index, {} in .timeindex",
            self.file(FileKind::Log),
            say::number(self.log_bytes),
            say::count(
                self.batches
                    .iter()
                    .filter(|b| b.state != BatchState::Lost)
                    .count(),
                "batch"
            ),
            say::count(self.entries.len(), "entry"),
            say::count(self.times.len(), "entry"),
        )
    }
}

impl BatchView {
    pub fn label(&self) -> String {
        let state = match self.state {
            BatchState::Forced => "forced to the disk",
            BatchState::Written => "not yet forced to the disk",
            BatchState::Lost => "lost",
        };
        format!(
            "batch of offsets {} to {}: {} bytes at byte {}, {state}",
            self.base,
            self.last,
            say::number(self.size_bytes),
            say::number(self.position)
        )
    }
}

impl Torn {
    pub fn label(&self) -> String {
        format!(
            "torn: {} bytes at byte {} are no whole batch",
            say::number(self.bytes),
            say::number(self.position)
        )
    }
}

impl EntryView {
    pub fn label(&self) -> String {
        format!(
            "index entry: the batch that ends with offset {} starts at byte {}",
            self.offset,
            say::number(self.position)
        )
    }
}

impl TimeView {
    pub fn label(&self) -> String {
        format!(
            "time index entry: no time beyond {} up to offset {}",
            say::time(self.timestamp_ms),
            self.offset
        )
    }
}

/// A file's name within the partition's directory.
/// The files of a segment that a reader can look into.
pub const FILES: [FileKind; 3] = [FileKind::Log, FileKind::OffsetIndex, FileKind::TimeIndex];

pub fn file_name(base: Offset, kind: FileKind) -> String {
    segment_file("", base, kind).trim_start_matches('/').to_owned()
}

/// The log's segments, in offset order.
pub fn segments(host: &LogOnMemoryDisk) -> Vec<SegmentView> {
    let path = host.path();
    let names = host.disk().list(DIR, &path).unwrap_or_default();
    let mut bases: Vec<Offset> = names
        .iter()
        .filter_map(|name| names::parse(name))
        .filter(|(_, kind, left)| *kind == FileKind::Log && left.is_empty())
        .map(|(base, _, _)| base)
        .collect();
    bases.sort_unstable();
    let last = bases.last().copied();
    bases
        .into_iter()
        .map(|base| segment(host, &path, base, Some(base) == last))
        .collect()
}

fn segment(host: &LogOnMemoryDisk, path: &str, base: Offset, active: bool) -> SegmentView {
    let disk = host.disk();
    let file = |kind| segment_file(path, base, kind);
    let log_file = file(FileKind::Log);
    let log_bytes = disk.len(DIR, &log_file).unwrap_or(0);
    let forced_below = match host.log() {
        Some(log) => log.recovery_point(),
        // Whatever is there now has outlived the power, or the process, already.
        None => host.checkpointed_recovery_point(),
    };
    let mut walk = Walk::new(disk, DIR, &log_file, 0, log_bytes, WALK_BYTES).starting_at(base);
    let (mut batches, mut torn) = (Vec::new(), None);
    loop {
        match walk.step() {
            Ok(Step::Batch { position, header }) => batches.push(BatchView {
                position,
                size_bytes: header.size_bytes() as u64,
                base: header.base_offset,
                last: header.last_offset(),
                records: header.record_count,
                max_timestamp_ms: header.max_timestamp,
                state: if header.last_offset() < forced_below {
                    BatchState::Forced
                } else {
                    BatchState::Written
                },
            }),
            Ok(Step::Bad { position, why }) => {
                let bytes = log_bytes - position;
                torn = Some(Torn { position, bytes, why });
                break;
            }
            Ok(Step::End) | Err(_) => break,
        }
    }
    let (entries, times) = match host.log() {
        Some(log) if log.active_segment().base == base => {
            let indexer = log.active_segment();
            (
                indexer.offsets.entries().to_vec(),
                indexer.times.entries().to_vec(),
            )
        }
        _ => (
            read_entries(host, &file(FileKind::OffsetIndex), OffsetEntry::from_bytes),
            read_entries(host, &file(FileKind::TimeIndex), TimeEntry::from_bytes),
        ),
    };
    let batch_with = |offset: Offset| batches.iter().position(|batch| batch.last == offset);
    let entries = entries.into_iter().map(|entry| {
        let offset = offset_index::full_offset(base, entry);
        let batch = batch_with(offset);
        EntryView {
            offset,
            position: u64::from(entry.position),
            batch,
        }
    });
    let times = times.into_iter().map(|entry| {
        let offset = base + i64::from(entry.relative);
        TimeView {
            timestamp_ms: entry.timestamp_ms,
            offset,
            batch: batch_with(offset),
        }
    });
    SegmentView {
        base,
        active,
        log_bytes,
        entries: entries.collect(),
        times: times.collect(),
        batches,
        torn,
    }
}

fn read_entries<T, const N: usize>(host: &LogOnMemoryDisk, path: &str, parse: fn([u8; N]) -> T) -> Vec<T> {
    let bytes = host.disk().read_file(DIR, path).unwrap_or_default();
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|entry| parse(*entry))
        .collect()
}

const _: () = assert!(offset_index::ENTRY_BYTES == 8 && time_index::ENTRY_BYTES == 12);
