//! How a log begins, is opened again, closed, and deleted; and what falls due by the clock.

use std::collections::VecDeque;
use std::sync::Arc;

use super::checkpoint::PartitionMetadata;
use super::leader_epoch_cache::LeaderEpochCache;
use super::names::{FileKind, deleted_directory, segment_file};
use super::producer_state::ProducerStateManager;
use super::recovery::{Recovered, Repair};
use super::roll::{draw_jitter, new_active, open_file};
use super::segment::{Active, IndexFiles, Segment};
use super::{Log, LogConfig, UnsyncedNames, Written};
use crate::cx::Cx;
use crate::disk::{AsideTicket, DirId, DiskOp, Lane, RelPath, Ticket};
use crate::trace::Fact;
use crate::types::{Millis, Offset, TopicPartition, Uuid};

impl Log {
    /// Begins the log of a new partition: its directory, `partition.metadata` with the topic's id, and
    /// an empty first segment.
    pub fn create(
        cx: &mut Cx<'_>,
        partition: TopicPartition,
        dir: DirId,
        topic_id: Uuid,
        config: Arc<LogConfig>,
    ) -> Self {
        let path: RelPath = partition.to_string().into();
        let active = new_active(cx, dir, &path, 0, &config);
        let metadata = format!("{path}/{}", PartitionMetadata::FILE).into();
        let bytes = PartitionMetadata { topic_id }.write();
        // Beside the appends: a start puts the file back if it is not there, and many partitions made at
        // once shall not wait for a sync each.
        cx.disk.push_aside(
            dir,
            DiskOp::Replace {
                path: metadata,
                bytes,
            },
        );
        Self {
            partition,
            topic_id,
            dir,
            path,
            config,
            log_start: 0,
            assigned_end: 0,
            written: Written {
                end: 0,
                segment: 0,
                bytes: 0,
            },
            recovery_point: 0,
            closed: Arc::default(),
            active,
            epochs: LeaderEpochCache::default(),
            producers: ProducerStateManager::default(),
            opening: None,
            unwritten: VecDeque::new(),
            syncing: VecDeque::new(),
            new_aside: None,
            sync_asked: 0,
            dirty_since_ms: None,
            names_unsynced: UnsyncedNames::ALL,
            cut_unsynced: false,
            doomed: VecDeque::new(),
        }
    }

    /// Opens a log as [`Recover`](super::Recover) found it: queues the repairs, so that a second start
    /// finds the same end without them. Reads find nothing until these operations are done.
    pub fn open(cx: &mut Cx<'_>, recovered: Recovered, config: Arc<LogConfig>) -> Self {
        let (dir, path) = (recovered.dir, recovered.path);
        let is_replace = |repair: &Repair| matches!(repair, Repair::Replace(..));
        let (replaced, names): (Vec<_>, Vec<_>) = recovered.repairs.into_iter().partition(is_replace);
        // What was removed must not come back: segments would leave a hole, snapshots hide one.
        let removes = names.iter().any(|repair| matches!(repair, Repair::Unlink(_)));
        names.into_iter().for_each(|repair| repair.queue(cx, dir));
        let mut open_log = |base| open_file(cx, dir, segment_file(&path, base, FileKind::Log));
        let closed: Vec<Segment> = recovered
            .closed
            .iter()
            .map(|found| Segment {
                base: found.base,
                size_bytes: found.size_bytes,
                greatest: found.greatest,
                file: open_log(found.base),
                aborted: found.aborted.clone(),
            })
            .collect();
        let file = open_log(recovered.active.base);
        if removes {
            let path = path.clone();
            cx.disk.push(dir, DiskOp::SyncDirectory { path });
        }
        if recovered.cut_active {
            let len = recovered.active.size_bytes;
            cx.disk.push(dir, DiskOp::Truncate { file, len });
            cx.disk.push(dir, DiskOp::Sync { file });
        }
        // Closed segments in doubt may never have been synced; their snapshots are about to say so.
        let ends = closed.iter().skip(1).map(|next| next.base);
        let ends = ends.chain([recovered.active.base]);
        for (segment, end) in closed.iter().zip(ends) {
            if end > recovered.recovery_point {
                cx.disk.push(dir, DiskOp::Sync { file: segment.file });
            }
        }
        replaced.into_iter().for_each(|repair| repair.queue(cx, dir));
        let written = Written {
            end: recovered.log_end,
            segment: recovered.active.base,
            bytes: recovered.active.size_bytes,
        };
        let active = Active {
            index_files: IndexFiles {
                open: None,
                written: recovered.active_indexes_sound.then(|| {
                    let indexer = &recovered.active;
                    (indexer.offsets.entries().len(), indexer.times.entries().len())
                }),
            },
            indexer: recovered.active,
            file,
            created_ms: cx.now,
            jitter_ms: draw_jitter(cx, &config),
            aborted: recovered.active_aborted,
            aborted_file: None,
        };
        let log = Self {
            partition: recovered.partition,
            topic_id: recovered.topic_id.unwrap_or(Uuid::ZERO),
            dir,
            path,
            config,
            log_start: recovered.log_start,
            assigned_end: recovered.log_end,
            written,
            recovery_point: recovered.recovery_point,
            closed: Arc::new(closed),
            active,
            epochs: recovered.epochs,
            producers: recovered.producers,
            opening: Some(cx.disk.last_ticket(dir)),
            unwritten: VecDeque::new(),
            syncing: VecDeque::new(),
            new_aside: None,
            sync_asked: recovered.recovery_point,
            dirty_since_ms: (recovered.recovery_point < recovered.log_end).then_some(cx.now),
            names_unsynced: UnsyncedNames::ALL,
            cut_unsynced: false,
            doomed: VecDeque::new(),
        };
        if recovered.epochs_changed {
            log.write_epochs(cx);
        }
        cx.emit(|| Fact::LogRecovered {
            partition: log.partition.clone(),
            log_start: log.log_start,
            log_end: log.assigned_end,
            cut_bytes: recovered.cut_bytes,
            reason: recovered.cut_why,
        });
        log
    }

    /// Brings everything to the medium for a clean stop; the log must not be appended to again. Once the
    /// ticket is done, [`recovery_point`](Self::recovery_point) is the log end, and the next start has
    /// nothing to check.
    pub fn close(&mut self, cx: &mut Cx<'_>) -> Ticket {
        self.close_active(cx);
        self.flush(cx);
        self.write_snapshot(cx, Lane::Strict);
        self.close_index_files(cx, Lane::Strict, !self.was_never_written());
        let files = self.closed.iter().map(|segment| segment.file);
        let mut last = 0;
        for file in files.chain([self.active.file]) {
            last = cx.disk.push(self.dir, DiskOp::Close { file });
        }
        last
    }

    /// Deletes the partition's files: the directory is renamed at once, so that its name is free, and
    /// unlinked after `file.delete.delay.ms`, when readers have let go.
    pub fn delete(self, cx: &mut Cx<'_>) -> DeletedLog {
        let to: RelPath = deleted_directory(&self.path, cx.rng.uuid()).into();
        cx.disk.push(
            self.dir,
            DiskOp::Rename {
                from: self.path.clone(),
                to: to.clone(),
            },
        );
        let index_files = self.active.index_files.open;
        let mut files: Vec<_> = self.closed.iter().map(|segment| segment.file).collect();
        files.push(self.active.file);
        files.extend(self.active.aborted_file);
        files.extend(
            index_files
                .into_iter()
                .flat_map(|(index, time_index)| [index, time_index]),
        );
        files.extend(self.doomed.iter().filter_map(|doomed| doomed.file));
        DeletedLog {
            dir: self.dir,
            path: to,
            unlink_at_ms: cx.now.saturating_add(self.config.file_delete_delay_ms),
            files,
        }
    }

    /// When [`tick`](Self::tick) has something to do.
    pub fn poll_timeout(&self) -> Option<Millis> {
        let unlink = self.doomed.front().map(|doomed| doomed.unlink_at_ms);
        let flush = self.flush_due_ms();
        [unlink, flush].into_iter().flatten().min()
    }

    /// Does what is due: unlinks deleted files, flushes for `flush.ms`.
    pub fn tick(&mut self, cx: &mut Cx<'_>) {
        while let Some(doomed) = self.doomed.pop_front_if(|doomed| doomed.unlink_at_ms <= cx.now) {
            if let Some(file) = doomed.file {
                cx.disk.push_aside(self.dir, DiskOp::Close { file });
            }
            cx.disk.push_aside(self.dir, DiskOp::Unlink { path: doomed.path });
        }
        if self.flush_due_ms().is_some_and(|due| due <= cx.now) {
            self.flush(cx);
        }
    }

    fn flush_due_ms(&self) -> Option<Millis> {
        Some(self.dirty_since_ms?.saturating_add(self.config.flush_ms?))
    }

    /// Offset at which the segment that holds `offset` ends.
    pub fn segment_end(&self, offset: Offset) -> Offset {
        let after = self.closed.partition_point(|segment| segment.base <= offset);
        match self.closed.get(after) {
            Some(next) => next.base,
            None if offset < self.active.indexer.base => self.active.indexer.base,
            None => self.assigned_end,
        }
    }
}

impl Repair {
    fn queue(self, cx: &mut Cx<'_>, dir: DirId) {
        let op = match self {
            Self::Unlink(path) => DiskOp::Unlink { path: path.into() },
            Self::Rename(from, to) => DiskOp::Rename {
                from: from.into(),
                to: to.into(),
            },
            Self::Replace(path, bytes) => DiskOp::Replace {
                path: path.into(),
                bytes,
            },
        };
        cx.disk.push(dir, op);
    }
}

/// A renamed file that waits for its end.
#[derive(Clone, Debug)]
pub(super) struct Doomed {
    pub unlink_at_ms: Millis,
    pub path: RelPath,
    pub file: Option<crate::disk::FileId>,
}

/// A deleted partition's directory, still there for a while.
#[derive(Clone, Debug)]
pub struct DeletedLog {
    pub dir: DirId,
    pub path: RelPath,
    pub unlink_at_ms: Millis,
    files: Vec<crate::disk::FileId>,
}

impl DeletedLog {
    /// A directory that ends in `-delete`, found at a start.
    pub fn found(dir: DirId, path: RelPath, unlink_at_ms: Millis) -> Self {
        Self {
            dir,
            path,
            unlink_at_ms,
            files: Vec::new(),
        }
    }

    /// Removes it for good.
    pub fn unlink(self, cx: &mut Cx<'_>) -> AsideTicket {
        for file in self.files {
            cx.disk.push_aside(self.dir, DiskOp::Close { file });
        }
        cx.disk.push_aside(self.dir, DiskOp::Unlink { path: self.path })
    }
}
