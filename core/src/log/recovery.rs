//! Recovery: learning a log from its files when the broker starts (`LogLoader`).
//!
//! After a clean stop nothing is in doubt: the ends of the indexes are looked at, the last segment's
//! are loaded. Otherwise every segment that reaches past the recovery point is read from its first
//! byte: each batch's size, format, offset and checksum are checked, its indexes are built again, and
//! the log is cut at the first byte that is not sound. Whatever lay behind, whole segments too, goes:
//! a log has no holes that its readers do not know of.
//!
//! The job reads only. What shall change on disk is in [`Recovered`], and [`Log::open`](super::Log::open)
//! queues it.
//!
//! Invariants
//! - a second recovery of the repaired files finds the same end, and nothing to repair
//! - a size that a file claims is compared with the bytes that are there before anything follows from it

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::check::{Behind, SegmentPaths, check_indexes, offsets_rise, times_rise};
use super::checkpoint::{LEADER_EPOCH_FILE, PartitionMetadata, read_epochs};
use super::job::Progress;
use super::leader_epoch_cache::LeaderEpochCache;
use super::leftovers::{SegmentFiles, sort_out};
use super::names::{FileKind, segment_file};
use super::offset_index::{self, OffsetEntry, OffsetIndex};
use super::producer_state::ProducerStateManager;
use super::scan::{LogFile, ScanRules, Scanned, replay, scan_segment};
use super::segment::{Greatest, Indexer};
use super::time_index::{self, TimeEntry, TimeIndex};
use super::transaction_index::TransactionIndex;
use super::transactions::{read_aborted, read_snapshot};
use super::walk::{Step, Walk};
use crate::disk::{DirId, ReadAt, RelPath};
use crate::error::DiskError;
use crate::types::{Millis, Offset, TopicPartition, Uuid};

/// Small files beyond this size are none of ours.
const MAX_SMALL_FILE_BYTES: u64 = 16 << 20;

/// Learn a partition's log from its files.
#[derive(Clone, Debug)]
pub struct Recover {
    pub partition: TopicPartition,
    pub dir: DirId,
    /// The partition's directory within its log directory.
    pub path: RelPath,
    /// The log directory had its clean mark: nothing is in doubt.
    pub clean: bool,
    /// From `recovery-point-offset-checkpoint`; 0 when it says nothing.
    pub recovery_point: Offset,
    /// From `log-start-offset-checkpoint`; 0 when it says nothing.
    pub log_start: Offset,
    pub index_interval_bytes: u32,
    pub now_ms: Millis,
    /// `producer.id.expiration.ms`
    pub producer_expiration_ms: Millis,
}

/// A closed segment as it was found.
#[derive(Clone, Debug)]
pub struct FoundSegment {
    pub base: Offset,
    pub size_bytes: u64,
    pub greatest: Greatest,
    pub aborted: Option<Arc<TransactionIndex>>,
}

/// A change that makes the files what the log is taken to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    Unlink(String),
    Rename(String, String),
    Replace(String, Bytes),
}

/// A log as it was found.
#[derive(Clone, Debug)]
pub struct Recovered {
    pub partition: TopicPartition,
    pub dir: DirId,
    pub path: RelPath,
    /// From `partition.metadata`.
    pub topic_id: Option<Uuid>,
    pub log_start: Offset,
    pub log_end: Offset,
    pub recovery_point: Offset,
    pub closed: Vec<FoundSegment>,
    /// The last segment.
    pub active: Indexer,
    pub active_aborted: Arc<TransactionIndex>,
    /// Its index files are what the [`Indexer`] says.
    pub active_indexes_sound: bool,
    pub epochs: LeaderEpochCache,
    pub epochs_changed: bool,
    pub producers: ProducerStateManager,
    /// In this order.
    pub repairs: Vec<Repair>,
    /// The last `.log` is longer than its sound batches and is to be cut.
    pub cut_active: bool,
    /// Bytes of `.log` files given up.
    pub cut_bytes: u64,
    /// Why they were.
    pub cut_why: Option<String>,
}

impl Recover {
    pub fn run(&self, disk: &dyn ReadAt, progress: &mut dyn FnMut(Progress)) -> Result<Recovered, DiskError> {
        let mut repairs = Vec::new();
        let files = sort_out(disk, self.dir, &self.path, &mut repairs)?;
        let mut run = Run {
            job: self,
            disk,
            files,
            producers_loaded: false,
            progress: Progress {
                done_bytes: 0,
                total_bytes: 0,
            },
            report: progress,
            found: self.nothing_found(repairs),
        };
        run.read_small_files()?;
        run.drop_orphans();
        run.read_segments()?;
        run.finish()
    }

    fn nothing_found(&self, repairs: Vec<Repair>) -> Recovered {
        Recovered {
            partition: self.partition.clone(),
            dir: self.dir,
            path: self.path.clone(),
            topic_id: None,
            log_start: self.log_start,
            log_end: self.log_start,
            recovery_point: self.recovery_point,
            closed: Vec::new(),
            active: Indexer::new(self.log_start),
            active_aborted: Arc::default(),
            active_indexes_sound: false,
            producers: ProducerStateManager::default(),
            epochs: LeaderEpochCache::default(),
            epochs_changed: false,
            repairs,
            cut_active: false,
            cut_bytes: 0,
            cut_why: None,
        }
    }
}

/// A recovery under way.
struct Run<'a> {
    job: &'a Recover,
    disk: &'a dyn ReadAt,
    files: SegmentFiles,
    /// The state of producers has been brought up to some segment's base and follows from there.
    producers_loaded: bool,
    progress: Progress,
    report: &'a mut dyn FnMut(Progress),
    found: Recovered,
}

impl Run<'_> {
    fn read_small_files(&mut self) -> Result<(), DiskError> {
        if let Some(bytes) = self.small_file(PartitionMetadata::FILE)? {
            self.found.topic_id = PartitionMetadata::read(&bytes)
                .ok()
                .map(|metadata| metadata.topic_id);
        }
        if let Some(bytes) = self.small_file(LEADER_EPOCH_FILE)? {
            match read_epochs(&bytes) {
                Ok(entries) => self.found.epochs = LeaderEpochCache::from_entries(entries),
                Err(_) => self.found.epochs_changed = true,
            }
        }
        Ok(())
    }

    fn small_file(&self, name: &str) -> Result<Option<Bytes>, DiskError> {
        let path = format!("{}/{name}", self.job.path);
        match self.disk.len(self.job.dir, &path) {
            Err(DiskError::NotFound) => Ok(None),
            Err(error) => Err(error),
            Ok(length) if length > MAX_SMALL_FILE_BYTES => Ok(None),
            Ok(length) => self
                .disk
                .read_at(self.job.dir, &path, 0, length as usize)
                .map(Some),
        }
    }

    /// Index files without a `.log` belong to nothing.
    fn drop_orphans(&mut self) {
        let logs: Vec<Offset> = self.bases();
        let repairs = &mut self.found.repairs;
        self.files.retain(|(base, kind), path| {
            let kept = *kind == FileKind::ProducerSnapshot || logs.contains(base);
            if !kept {
                repairs.push(Repair::Unlink(path.clone()));
            }
            kept
        });
    }

    /// Base offsets of the segments, rising.
    fn bases(&self) -> Vec<Offset> {
        let logs = self.files.keys().filter(|(_, kind)| *kind == FileKind::Log);
        logs.map(|(base, _)| *base).collect()
    }

    fn read_segments(&mut self) -> Result<(), DiskError> {
        let bases = self.bases();
        let mut sizes = Vec::with_capacity(bases.len());
        for base in &bases {
            sizes.push(
                self.disk
                    .len(self.job.dir, &self.files[&(*base, FileKind::Log)])?,
            );
        }
        let in_doubt = |at: usize| {
            let next = bases.get(at + 1);
            !self.job.clean && next.is_none_or(|next| *next > self.job.recovery_point)
        };
        let doubts: Vec<bool> = (0..bases.len()).map(in_doubt).collect();
        let doubtful = sizes.iter().zip(&doubts).filter(|(_, doubt)| **doubt);
        self.progress.total_bytes = doubtful.map(|(size, _)| *size).sum();
        for (at, &base) in bases.iter().enumerate() {
            let last = at + 1 == bases.len();
            let sound = match (doubts[at], last) {
                (true, _) => self.recover_segment(base, sizes[at], last)?,
                (false, true) => self.load_active(base, sizes[at])?,
                (false, false) => self.load_closed(base, sizes[at])?,
            };
            if !sound {
                self.drop_segments(&bases[at + 1..], &sizes[at + 1..]);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads a segment that is in doubt. False when it had to be cut: it is the last one then.
    fn recover_segment(&mut self, base: Offset, size: u64, last: bool) -> Result<bool, DiskError> {
        self.load_producers(base)?;
        let mut producers = std::mem::take(&mut self.found.producers);
        let scanned = self.scan(base, size, Some(&mut producers))?;
        self.found.producers = producers;
        for &batch in &scanned.epochs {
            self.found.epochs_changed |= self.found.epochs.learn(batch);
        }
        let valid = scanned.indexer.size_bytes;
        let sound = valid == size;
        if last || !sound {
            self.found.cut_active = !sound;
            self.found.cut_bytes += size - valid;
            self.found.cut_why = scanned.bad.clone();
            self.make_active(scanned)?;
        } else {
            self.replace_aborted(base, &scanned.aborted)?;
            let aborted = scanned.aborted.clone();
            self.close_scanned(base, scanned, aborted)?;
        }
        Ok(sound)
    }

    /// Reads a segment. With `producers` it is in doubt, and its checksums are compared too.
    fn scan(
        &mut self,
        base: Offset,
        size: u64,
        producers: Option<&mut ProducerStateManager>,
    ) -> Result<Scanned, DiskError> {
        let before = self.progress.done_bytes;
        let (progress, report) = (&mut self.progress, &mut self.report);
        let scanned = scan_segment(
            self.disk,
            LogFile {
                dir: self.job.dir,
                path: &self.files[&(base, FileKind::Log)],
                bytes: size,
            },
            base,
            ScanRules {
                below: Offset::MAX,
                check_crc: producers.is_some(),
                index_interval_bytes: self.job.index_interval_bytes,
            },
            producers,
            &mut |position| {
                progress.done_bytes = before + position;
                report(*progress);
            },
        );
        self.progress.done_bytes = before + size;
        scanned
    }

    /// The last segment is what was read of it. Its `.txnindex` is made to say the same.
    fn make_active(&mut self, scanned: Scanned) -> Result<(), DiskError> {
        self.replace_aborted(scanned.indexer.base, &scanned.aborted)?;
        self.found.active_aborted = Arc::new(scanned.aborted);
        self.found.log_end = scanned.next_offset;
        self.found.active = scanned.indexer;
        self.found.active_indexes_sound = false;
        Ok(())
    }

    /// Keeps what was read of a segment that is closed, and lets its index files say the same.
    fn close_scanned(
        &mut self,
        base: Offset,
        mut scanned: Scanned,
        aborted: TransactionIndex,
    ) -> Result<(), DiskError> {
        let indexer = &mut scanned.indexer;
        indexer.note_greatest();
        self.replace_if_other(base, FileKind::OffsetIndex, indexer.offsets.bytes_from(0))?;
        self.replace_if_other(base, FileKind::TimeIndex, indexer.times.bytes_from(0))?;
        self.found.closed.push(FoundSegment {
            base,
            size_bytes: indexer.size_bytes,
            greatest: indexer.greatest,
            aborted: some_aborted(aborted),
        });
        Ok(())
    }

    fn replace_if_other(&mut self, base: Offset, kind: FileKind, bytes: Vec<u8>) -> Result<(), DiskError> {
        if let Some(path) = self.files.get(&(base, kind)) {
            let dir = self.job.dir;
            let same_length = self.disk.len(dir, path)? == bytes.len() as u64;
            if same_length && self.disk.read_at(dir, path, 0, bytes.len())? == bytes {
                return Ok(());
            }
        }
        let path = segment_file(&self.job.path, base, kind);
        self.found.repairs.push(Repair::Replace(path, bytes.into()));
        Ok(())
    }

    fn check(&self, base: Offset, size: u64) -> Result<Option<Behind>, DiskError> {
        let path = |kind| self.files.get(&(base, kind)).map(String::as_str);
        let segment = SegmentPaths {
            dir: self.job.dir,
            base,
            log: &self.files[&(base, FileKind::Log)],
            log_bytes: size,
            index: path(FileKind::OffsetIndex),
            time_index: path(FileKind::TimeIndex),
        };
        check_indexes(self.disk, &segment, self.job.index_interval_bytes)
    }

    /// A closed segment that is not in doubt: its indexes are believed if they look right, else built
    /// again. Its `.log` is left as it is.
    fn load_closed(&mut self, base: Offset, size: u64) -> Result<bool, DiskError> {
        let aborted = self.read_aborted(base)?;
        let Some(behind) = self.check(base, size)? else {
            let scanned = self.scan(base, size, None)?;
            self.close_scanned(base, scanned, aborted)?;
            return Ok(true);
        };
        self.found.closed.push(FoundSegment {
            base,
            size_bytes: size,
            greatest: behind.last_time.map_or(Greatest::NONE, |entry| Greatest {
                timestamp_ms: entry.timestamp_ms,
                offset: base + i64::from(entry.relative),
            }),
            aborted: some_aborted(aborted),
        });
        Ok(true)
    }

    /// The last segment after a clean stop. If anything about it is odd it is read whole after all.
    fn load_active(&mut self, base: Offset, size: u64) -> Result<bool, DiskError> {
        let Some(behind) = self.check(base, size)? else {
            return self.recover_segment(base, size, true);
        };
        let (Some(offsets), Some(times)) = self.read_indexes(base)? else {
            return self.recover_segment(base, size, true);
        };
        let mut indexer = Indexer::resume(base, size, OffsetIndex::new(offsets), TimeIndex::new(times));
        let first = Walk::new(
            self.disk,
            self.job.dir,
            &self.files[&(base, FileKind::Log)],
            0,
            size,
            0,
        )
        .step()?;
        if let Step::Batch { header, .. } = first {
            indexer.first_timestamp_ms = Some(header.max_timestamp);
        }
        for (position, header) in &behind.batches {
            indexer.remember(header, *position);
        }
        self.found.log_end = behind
            .batches
            .last()
            .map_or(base, |(_, header)| header.next_offset());
        self.found.active = indexer;
        self.found.active_aborted = Arc::new(self.read_aborted(base)?);
        self.found.active_indexes_sound = true;
        Ok(true)
    }

    /// Both index files whole; `None` for one that does not rise.
    #[allow(clippy::type_complexity)]
    fn read_indexes(
        &self,
        base: Offset,
    ) -> Result<(Option<Vec<OffsetEntry>>, Option<Vec<TimeEntry>>), DiskError> {
        let read = |kind| -> Result<Bytes, DiskError> {
            let path = &self.files[&(base, kind)];
            let length = self.disk.len(self.job.dir, path)?;
            self.disk.read_at(self.job.dir, path, 0, length as usize)
        };
        let offsets = read(FileKind::OffsetIndex)?;
        let (offsets, _) = offsets.as_chunks::<{ offset_index::ENTRY_BYTES }>();
        let offsets: Vec<_> = offsets.iter().copied().map(OffsetEntry::from_bytes).collect();
        let times = read(FileKind::TimeIndex)?;
        let (times, _) = times.as_chunks::<{ time_index::ENTRY_BYTES }>();
        let times: Vec<_> = times.iter().copied().map(TimeEntry::from_bytes).collect();
        let (offsets_right, times_right) = (offsets_rise(&offsets), times_rise(&times));
        Ok((offsets_right.then_some(offsets), times_right.then_some(times)))
    }

    /// Gives up whole segments behind a cut.
    fn drop_segments(&mut self, bases: &[Offset], sizes: &[u64]) {
        self.found.cut_bytes += sizes.iter().sum::<u64>();
        let dropped = self.files.iter().filter(|((base, _), _)| bases.contains(base));
        let unlink = dropped.map(|(_, path)| Repair::Unlink(path.clone()));
        self.found.repairs.extend(unlink);
    }

    fn read_aborted(&self, base: Offset) -> Result<TransactionIndex, DiskError> {
        match self.files.get(&(base, FileKind::TransactionIndex)) {
            Some(path) => read_aborted(self.disk, self.job.dir, path, base),
            None => Ok(TransactionIndex::default()),
        }
    }

    fn replace_aborted(&mut self, base: Offset, aborted: &TransactionIndex) -> Result<(), DiskError> {
        match self.files.get(&(base, FileKind::TransactionIndex)) {
            None if aborted.entries().is_empty() => Ok(()),
            Some(path) if aborted.entries().is_empty() => {
                self.found.repairs.push(Repair::Unlink(path.clone()));
                Ok(())
            }
            _ => self.replace_if_other(base, FileKind::TransactionIndex, aborted.to_bytes().to_vec()),
        }
    }

    /// Brings the state of producers to where `upto` begins. The first time it comes from the newest
    /// snapshot that is not beyond, and the batches since; then it has followed what was read, and a
    /// snapshot is due, as at a roll.
    fn load_producers(&mut self, upto: Offset) -> Result<(), DiskError> {
        if self.producers_loaded {
            self.found.producers.advance_to(upto);
            if let Some((offset, bytes)) = self.found.producers.take_snapshot() {
                let path = segment_file(&self.job.path, offset, FileKind::ProducerSnapshot);
                self.found.repairs.push(Repair::Replace(path, bytes));
            }
            return Ok(());
        }
        self.producers_loaded = true;
        let bases = self.bases();
        let log_start = self.job.log_start.max(bases.first().copied().unwrap_or(0));
        let upto = upto.max(log_start);
        let snapshots = self
            .files
            .keys()
            .filter(|(_, kind)| *kind == FileKind::ProducerSnapshot);
        let mut producers =
            ProducerStateManager::with_snapshots(log_start, snapshots.map(|(offset, _)| *offset));
        let mut stale = producers.remove_stray_snapshots(bases);
        let reloaded = producers.truncate_and_reload(
            log_start,
            upto,
            self.job.now_ms,
            self.job.producer_expiration_ms,
            &mut |offset| read_snapshot(self.disk, self.job.dir, &self.job.path, offset),
        );
        stale.extend(reloaded.deleted);
        for offset in stale {
            let path = segment_file(&self.job.path, offset, FileKind::ProducerSnapshot);
            self.found.repairs.push(Repair::Unlink(path));
        }
        if let Some(from) = reloaded.replay_from {
            self.replay(from..upto, &mut producers)?;
        }
        producers.advance_to(upto);
        self.found.producers = producers;
        Ok(())
    }

    fn replay(&self, offsets: Range<Offset>, producers: &mut ProducerStateManager) -> Result<(), DiskError> {
        let bases = self.bases();
        let after = bases.partition_point(|base| *base <= offsets.start);
        for base in &bases[after.saturating_sub(1)..] {
            if *base >= offsets.end {
                break;
            }
            let (dir, path) = (self.job.dir, &self.files[&(*base, FileKind::Log)]);
            let bytes = self.disk.len(dir, path)?;
            replay(
                self.disk,
                LogFile { dir, path, bytes },
                offsets.clone(),
                producers,
            )?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Recovered, DiskError> {
        if self.found.log_end < self.job.log_start {
            // The log's start was moved beyond everything that survived.
            let bases = self.bases();
            let sizes = vec![0; bases.len()];
            self.drop_segments(&bases, &sizes);
            let mut empty = self.job.nothing_found(std::mem::take(&mut self.found.repairs));
            empty.topic_id = self.found.topic_id;
            empty.epochs = self.found.epochs;
            empty.epochs_changed = self.found.epochs_changed;
            self.files
                .retain(|(_, kind), _| *kind == FileKind::ProducerSnapshot);
            self.found = empty;
            self.producers_loaded = false;
        }
        if !self.producers_loaded {
            self.load_producers(self.found.log_end)?;
        }
        let found = &mut self.found;
        let first = found.closed.first().map_or(found.active.base, |first| first.base);
        found.log_start = self.job.log_start.max(first);
        found.epochs_changed |= found.epochs.truncate_from_end(found.log_end);
        found.epochs_changed |= found.epochs.truncate_from_start(found.log_start);
        found.recovery_point = if self.job.clean && found.cut_why.is_none() {
            found.log_end
        } else {
            self.job.recovery_point.min(found.log_end)
        };
        Ok(self.found)
    }
}

fn some_aborted(aborted: TransactionIndex) -> Option<Arc<TransactionIndex>> {
    (!aborted.entries().is_empty()).then(|| Arc::new(aborted))
}
