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

mod indexes;
mod producers;

use std::sync::Arc;

use bytes::Bytes;

use super::checkpoint::{LEADER_EPOCH_FILE, PartitionMetadata, read_epochs};
use super::job::Progress;
use super::leader_epoch_cache::LeaderEpochCache;
use super::leftovers::{SegmentFiles, sort_out};
use super::names::FileKind;
use super::producer_state::ProducerStateManager;
use super::scan::{LogFile, ScanRules, Scanned, scan_segment};
use super::segment::{Greatest, Indexer};
use super::transaction_index::TransactionIndex;
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
    /// The last `.log` is longer than its sound batches, or had segments behind it that cannot follow:
    /// it is to be cut and synced.
    pub cut_active: bool,
    /// Bytes of `.log` files given up.
    pub cut_bytes: u64,
    /// Why they were.
    pub cut_why: Option<String>,
}

impl Recovered {
    /// Says which topic the log is of, where its `partition.metadata` does not.
    pub fn name_topic(&mut self, topic_id: Uuid) {
        if self.topic_id.is_none() {
            self.topic_id = Some(topic_id);
            let path = format!("{}/{}", self.path, PartitionMetadata::FILE);
            let bytes = PartitionMetadata { topic_id }.write();
            self.repairs.push(Repair::Replace(path, bytes));
        }
    }
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
            let kept = *kind == FileKind::ProducerSnapshot || logs.binary_search(base).is_ok();
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
        let hole = self.hole_behind(base, &scanned);
        let sound = valid == size && hole.is_none();
        if last || !sound {
            self.found.cut_active = !sound;
            self.found.cut_bytes += size - valid;
            self.found.cut_why = scanned.bad.clone().or(hole);
            self.make_active(scanned)?;
        } else {
            self.replace_aborted(base, &scanned.aborted)?;
            let aborted = scanned.aborted.clone();
            self.close_scanned(base, size, scanned, aborted)?;
        }
        Ok(sound)
    }

    /// Why the next segment cannot follow this one, which is in doubt. A segment begins to be written
    /// before the one below is synced, so the power may have taken that one's last batches whole. Where
    /// offsets are missing for another reason (compaction), a snapshot at or beyond the next segment's
    /// base tells that all below was synced.
    fn hole_behind(&self, base: Offset, scanned: &Scanned) -> Option<String> {
        let bases = self.bases();
        let next = *bases.iter().find(|next| **next > base)?;
        let vouched = self
            .files
            .keys()
            .any(|(offset, kind)| *kind == FileKind::ProducerSnapshot && *offset >= next);
        (scanned.next_offset < next && !vouched).then(|| {
            let end = scanned.next_offset;
            format!(
                "the segment ends at offset {end}, the next one begins at {next}, and was not synced before"
            )
        })
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

    /// Gives up whole segments behind a cut.
    fn drop_segments(&mut self, bases: &[Offset], sizes: &[u64]) {
        self.found.cut_bytes += sizes.iter().sum::<u64>();
        let dropped = self
            .files
            .iter()
            .filter(|((base, _), _)| bases.binary_search(base).is_ok());
        let unlink = dropped.map(|(_, path)| Repair::Unlink(path.clone()));
        self.found.repairs.extend(unlink);
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
