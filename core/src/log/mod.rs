//! One partition's log on disk.
//!
//! A log is a row of *segments*. A segment's `.log` file holds whole record batches exactly as they
//! travel; beside it lie two sparse indexes, which are caches. Records are only ever added at the end
//! and only ever taken away in whole segments at the front, or at the end by a truncation that a new
//! leader asks for.
//!
//! A [`Log`] is a value that decides and never touches a file: it queues disk operations and learns
//! through [`disk_done`](Log::disk_done) when they have happened; what has to be read first is a
//! [`Job`]. Its life:
//!
//! ```text
//! new partition     Log::create
//! after a start     Job::Recover -> Recovered -> Log::open
//! then              append_as_leader / append_as_follower, plan_read, apply_retention, ...
//! at a clean stop   close
//! ```
//!
//! Reading order: [`names`] and [`segment`] say what lies on disk, [`offset_index`] and [`time_index`]
//! what an index is, [`lookup`] and [`time_lookup`] how it is used, [`stretch`] what is remembered of it; [`walk`] reads batches one by one;
//! `append`, `transactions`, `roll`, `retention`, `truncate`, [`recovery`] are what happens to a log; `read` plans
//! reads; [`job`] is the list of what must be read away from the owner.
//!
//! Invariants
//! - log start <= written end (the LEO that everyone sees) <= assigned end (the next offset to give)
//! - recovery point <= written end: everything below has been forced to the medium
//! - segments' base offsets strictly rise, and every batch lies in the last segment whose base is not
//!   above it
//! - the leader epochs of batches never fall

mod append;
mod check;
mod config;
pub mod floor;
pub mod job;
mod leftovers;
mod lifecycle;
pub mod load;
pub mod lookup;
pub mod names;
pub mod offset_index;
mod read;
pub mod recovery;
mod reindex;
mod retention;
mod roll;
mod scan;
pub mod segment;
pub mod stretch;
pub mod time_index;
pub mod time_lookup;
mod transactions;
mod truncate;
pub mod walk;

pub mod checkpoint;
pub mod dump;
pub mod leader_epoch_cache;
pub mod producer_state;
pub mod transaction_index;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

pub use append::Appended;
pub use config::LogConfig;
pub use job::{Job, JobResult, Progress, run_job};
pub use lifecycle::DeletedLog;
pub use load::{BatchRead, BatchesRead, ReadBatches, ReadCursor};
pub use lookup::{FileRange, Located, Lookup, Outcome};
pub use read::{ReadPlan, TimePlan};
pub use recovery::{Recover, Recovered};
pub use reindex::{Reindex, Reindexed};
pub use time_lookup::{TimeLocated, TimeLookup, TimedOffset};
pub use truncate::{Rebuild, Rebuilt, Truncation};

use crate::cx::Cx;
use crate::disk::{AsideTicket, DirId, Lane, RelPath, Ticket};
use crate::trace::{EventId, Fact};
use crate::types::{LeaderEpoch, Millis, Offset, TopicPartition, Uuid};
use leader_epoch_cache::LeaderEpochCache;
use lifecycle::Doomed;
use producer_state::ProducerStateManager;
use segment::{Active, Segment};

/// One partition's log (`UnifiedLog` and `LocalLog`). Cheap to clone: closed segments and indexes are
/// shared until one side changes them.
#[derive(Clone, Debug)]
pub struct Log {
    partition: TopicPartition,
    topic_id: Uuid,
    dir: DirId,
    /// The partition's directory within its log directory.
    path: RelPath,
    config: Arc<LogConfig>,
    log_start: Offset,
    assigned_end: Offset,
    written: Written,
    recovery_point: Offset,
    /// In offset order, all below the active one.
    closed: Arc<Vec<Segment>>,
    active: Active,
    epochs: LeaderEpochCache,
    producers: ProducerStateManager,
    /// Its files are open when this ticket is done; until then no answer may name them.
    opening: Option<Ticket>,
    /// Appends that wait for the disk, oldest first.
    unwritten: VecDeque<(Ticket, Written, EventId)>,
    /// Syncs that wait for the disk in the order in which they were asked for, and the recovery point
    /// that each gives.
    syncing: VecDeque<(Lane, Ticket, Offset)>,
    /// Of a sync aside that the owner has not been told of.
    new_aside: Option<AsideTicket>,
    /// Up to here a sync has been asked for.
    sync_asked: Offset,
    /// When the oldest record that no sync was asked for was appended.
    dirty_since_ms: Option<Millis>,
    names_unsynced: UnsyncedNames,
    /// A truncation has been asked for, and no sync since.
    cut_unsynced: bool,
    /// Files renamed to `.deleted`, and when they are to be unlinked; soonest first.
    doomed: VecDeque<Doomed>,
}

/// How far a log is written: an offset, and the bytes of the segment that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    end: Offset,
    segment: Offset,
    bytes: u64,
}

/// Names that a loss of power would take, and all that lies behind them: the next sync forces them to
/// the medium too, or the recovery point would promise too much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct UnsyncedNames {
    /// Those of the log's files, in the partition's directory.
    files: bool,
    /// That of the partition's directory, in the log directory.
    directory: bool,
}

impl UnsyncedNames {
    const ALL: Self = Self {
        files: true,
        directory: true,
    };
}

impl Log {
    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    pub fn topic_id(&self) -> Uuid {
        self.topic_id
    }

    pub fn dir(&self) -> DirId {
        self.dir
    }

    pub fn config(&self) -> &Arc<LogConfig> {
        &self.config
    }

    /// Takes over a changed configuration; it holds from the next append on.
    pub fn set_config(&mut self, config: Arc<LogConfig>) {
        self.config = config;
    }

    /// First offset that may be read.
    pub fn log_start(&self) -> Offset {
        self.log_start
    }

    /// The log end offset (LEO): the offset after the last batch that has been written, and synced if
    /// `flush.messages` or `flush.ms` asked for it.
    pub fn log_end(&self) -> Offset {
        self.written.end
    }

    /// The next offset to give; ahead of [`log_end`](Self::log_end) while appends are under way.
    pub fn assigned_end(&self) -> Offset {
        self.assigned_end
    }

    /// Everything below has been forced to the medium; goes into `recovery-point-offset-checkpoint`.
    pub fn recovery_point(&self) -> Offset {
        self.recovery_point
    }

    /// What `log-start-offset-checkpoint` must remember; `None` when the first segment's name says it.
    pub fn log_start_to_checkpoint(&self) -> Option<Offset> {
        (self.log_start > self.first_base()).then_some(self.log_start)
    }

    /// Bytes of all `.log` files.
    pub fn size_bytes(&self) -> u64 {
        let closed: u64 = self.closed.iter().map(|segment| segment.size_bytes).sum();
        closed + self.active.indexer.size_bytes
    }

    /// Closed segments, in offset order.
    pub fn closed_segments(&self) -> &[Segment] {
        &self.closed
    }

    /// The segment that grows, with its indexes.
    pub fn active_segment(&self) -> &segment::Indexer {
        &self.active.indexer
    }

    /// Where each leader epoch began.
    pub fn epochs(&self) -> &LeaderEpochCache {
        &self.epochs
    }

    /// The epoch of the last batch, if any is known.
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.epochs.latest_epoch()
    }

    /// What is remembered of producers and open transactions.
    pub fn producers(&self) -> &ProducerStateManager {
        &self.producers
    }

    fn first_base(&self) -> Offset {
        self.closed
            .first()
            .map_or(self.active.indexer.base, |first| first.base)
    }

    /// The ticket of the last sync that went aside since the last call: [`aside_done`](Self::aside_done)
    /// wants to hear of it.
    pub fn take_new_aside(&mut self) -> Option<AsideTicket> {
        self.new_aside.take()
    }

    /// Every operation aside of the log's directory up to and with `upto` is done.
    pub fn aside_done(&mut self, upto: AsideTicket) {
        let done = |(lane, ticket, _): &mut (Lane, Ticket, Offset)| *lane == Lane::Aside && *ticket <= upto;
        while let Some((.., point)) = self.syncing.pop_front_if(done) {
            self.recovery_point = self.recovery_point.max(point);
        }
    }

    /// Whether its files are open, so that reads may go on.
    pub fn is_open(&self) -> bool {
        self.opening.is_none()
    }

    /// Every strict operation of the log's directory up to and with `upto` is done. True when the log
    /// end moved.
    pub fn disk_done(&mut self, cx: &mut Cx<'_>, upto: Ticket) -> bool {
        let before = self.written.end;
        self.opening = self.opening.filter(|&ticket| ticket > upto);
        while let Some((_, written, appended)) = self.unwritten.pop_front_if(|(ticket, ..)| *ticket <= upto) {
            self.written = written;
            cx.cause = match mutated!(CauseLost) {
                true => EventId::NONE,
                false => appended,
            };
        }
        // A strict sync waits for those that went aside before it, so they are done too, told or not.
        let done = |(lane, ticket, _): &(Lane, Ticket, Offset)| *lane == Lane::Strict && *ticket <= upto;
        if let Some(last) = self.syncing.iter().rposition(done) {
            for (.., point) in self.syncing.drain(..=last) {
                self.recovery_point = self.recovery_point.max(point);
            }
        }
        if self.unwritten.is_empty() {
            // An idle log shall cost little.
            self.unwritten.shrink_to(0);
        }
        let moved = self.written.end != before;
        if moved {
            let log_end = self.written.end;
            let partition = &self.partition;
            cx.cause = cx.emit(|| Fact::BatchWritten {
                partition: partition.clone(),
                log_end,
            });
        }
        moved
    }
}
