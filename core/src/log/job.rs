//! Work on a log's files that takes longer than its owner may: data in, data out.
//!
//! A job reads and never writes; whatever shall change on disk is queued by the owner when it takes
//! the result. Jobs name files by path, since they may meet files that nobody opened.

use super::load::{BatchesRead, ReadBatches};
use super::lookup::{Locate, Located};
use super::recovery::{Recover, Recovered};
use super::reindex::{Reindex, Reindexed};
use super::time_lookup::{LocateTime, TimeLocated};
use super::truncate::{Rebuild, Rebuilt};
use crate::disk::ReadAt;
use crate::error::DiskError;

/// What shall be read.
#[derive(Clone, Debug)]
pub enum Job {
    /// Find where in a segment a fetch starts.
    Locate(Locate),
    /// Find the first record at or after a time, or the one with the greatest.
    LocateTime(LocateTime),
    /// Learn a partition's log from its files, when the broker starts.
    Recover(Box<Recover>),
    /// Learn again what a log knows below an offset, so that it can be truncated there.
    Rebuild(Box<Rebuild>),
    /// Read a closed segment whose index was found wrong.
    Reindex(Reindex),
    /// Read a log's records, a piece at a time.
    ReadBatches(ReadBatches),
}

/// What a [`Job`] found. A file that cannot be read fails its log directory.
#[derive(Clone, Debug)]
pub enum JobResult {
    Located(Result<Located, DiskError>),
    LocatedTime(Result<TimeLocated, DiskError>),
    Recovered(Result<Box<Recovered>, DiskError>),
    Rebuilt(Result<Box<Rebuilt>, DiskError>),
    Reindexed(Result<Reindexed, DiskError>),
    BatchesRead(Result<BatchesRead, DiskError>),
}

/// How far a job has come, in bytes of `.log` files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub done_bytes: u64,
    pub total_bytes: u64,
}

/// Carries out a job, on any thread.
pub fn run_job(job: Job, disk: &dyn ReadAt, progress: &mut dyn FnMut(Progress)) -> JobResult {
    match job {
        Job::Locate(job) => JobResult::Located(job.run(disk)),
        Job::LocateTime(job) => JobResult::LocatedTime(job.run(disk)),
        Job::Recover(job) => JobResult::Recovered(job.run(disk, progress).map(Box::new)),
        Job::Rebuild(job) => JobResult::Rebuilt(job.run(disk, progress).map(Box::new)),
        Job::Reindex(job) => JobResult::Reindexed(job.run(disk, progress)),
        Job::ReadBatches(job) => JobResult::BatchesRead(job.run(disk)),
    }
}
