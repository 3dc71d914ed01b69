//! Jobs under way, and for whom their results are.

use super::State;
use super::job::{Job, JobResult};
use super::log_dirs::DescribingLogDirs;
use crate::cx::Cx;
use crate::disk::DirId;
use crate::error::DiskError;
use crate::io::{JobId, Level, Output};
use crate::log::{self, Reindexed};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::replica::ParkedId;
use crate::replica::fetcher::CutId;
use crate::replica::partition::PartitionId;
use crate::types::{LeaderEpoch, Offset, PartitionIndex};

/// Who wants a job's result.
#[derive(Clone, Debug)]
pub(super) enum JobFor {
    Boot {
        dir: DirId,
    },
    /// A visit of a fetch.
    Visit {
        fetch: ParkedId,
        visit: usize,
    },
    /// A part of a ListOffsets.
    Offset {
        request: ParkedId,
        part: usize,
    },
    /// A follower's log is to be cut.
    Cut {
        partition: PartitionId,
        cut: CutId,
    },
    /// A segment's indexes are built again.
    Index {
        partition: PartitionId,
    },
    LogDirs(Box<DescribingLogDirs>),
    /// A partition of the groups' topic is being read, by its leader in this epoch.
    Groups {
        partition: PartitionIndex,
        epoch: LeaderEpoch,
    },
}

/// Jobs that were given to the host and have not come back.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs {
    next: JobId,
    /// With the directory that each reads, which fails if it cannot be read.
    under_way: OrderedMap<JobId, JobFor>,
    /// Segments whose indexes were found wrong, by partition and base offset: each is built again once,
    /// even if the medium goes on lying.
    reindexed: OrderedSet<(PartitionId, Offset)>,
}

impl State {
    pub(super) fn start_job(&mut self, work: Job, whom: JobFor) {
        let job = self.jobs.next;
        self.jobs.next += 1;
        self.jobs.under_way.insert(job, whom);
        self.out.push(Output::Job { job, work });
    }

    pub(super) fn start_log_job(&mut self, work: log::Job, whom: JobFor) {
        self.start_job(Job::Log(work), whom);
    }

    pub(super) fn job_done(&mut self, cx: &mut Cx, job: JobId, result: JobResult) {
        let Some(whom) = self.jobs.under_way.remove(&job) else {
            return;
        };
        match (whom, result) {
            (JobFor::Boot { dir }, result) => self.boot_job_done(cx, dir, result),
            (JobFor::Visit { fetch, visit }, JobResult::Log(log::JobResult::Located(found))) => {
                self.visit_located(cx, fetch, visit, found);
            }
            (JobFor::Offset { request, part }, JobResult::Log(log::JobResult::LocatedTime(found))) => {
                self.time_located(cx, request, part, found);
            }
            (JobFor::Cut { partition, cut }, JobResult::Log(log::JobResult::Rebuilt(found))) => {
                self.cut_prepared(cx, partition, cut, found);
            }
            (JobFor::Index { partition }, JobResult::Log(log::JobResult::Reindexed(found))) => {
                self.index_built(cx, partition, found);
            }
            (JobFor::Groups { partition, epoch }, JobResult::Log(log::JobResult::BatchesRead(found))) => {
                self.groups_read(cx, partition, epoch, found);
            }
            (JobFor::LogDirs(asked), JobResult::Volumes(found)) => self.volumes_found(&asked, &found),
            (whom, _) => unreachable!("the host answered {whom:?} with another job's result"),
        }
    }

    /// A look-up has met a wrong entry: says so, and has the segment's indexes built again.
    pub(super) fn index_is_wrong(&mut self, partition: PartitionId, segment: Offset) {
        let Some(found) = self.topics.partition(partition) else {
            return;
        };
        let job = found.log().ok().and_then(|log| log.reindex(segment));
        let Some(job) = job.filter(|_| self.jobs.reindexed.insert((partition, segment))) else {
            return;
        };
        let name = found.name();
        self.out.say(
            Level::Warn,
            format!("{name}: an index of segment {segment} is wrong; it is built again"),
        );
        self.start_log_job(job, JobFor::Index { partition });
    }

    fn index_built(&mut self, cx: &mut Cx, partition: PartitionId, found: Result<Reindexed, DiskError>) {
        let Some(partition) = self.topics.partition(partition) else {
            return;
        };
        let dir = partition.dir();
        match (partition.log(), found) {
            (Ok(log), Ok(made)) => log.reindexed(cx, made),
            (Ok(_), Err(error)) => self.read_failed(cx, Some(dir), error),
            (Err(_), _) => {}
        }
    }

    /// A file of a partition could not be read: its directory is no good any more, unless the file is
    /// simply gone because the partition is being deleted.
    pub(super) fn read_failed(&mut self, cx: &mut Cx, dir: Option<DirId>, error: DiskError) {
        if let Some(dir) = dir.filter(|_| error != DiskError::NotFound) {
            self.directory_failed(cx, dir, error);
        }
    }
}
