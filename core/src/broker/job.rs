//! Work that reads files, which the owner may not do: data in, data out.
//!
//! The host runs a job wherever it likes (inline, on a pool) and hands the result back as
//! [`Input::JobDone`](crate::io::Input::JobDone). A job reads and never writes: what it finds may
//! lead to disk operations, but the owner queues them.

use bytes::Bytes;

use crate::coordination;
use crate::disk::{DirId, ReadAt, Volume};
use crate::error::DiskError;
use crate::log;
use crate::log::checkpoint::{
    CleanShutdown, LOG_START_OFFSET_FILE, MetaProperties, RECOVERY_POINT_FILE, REPLICATION_OFFSET_FILE,
};
use crate::ordered::OrderedMap;

/// What shall be read.
#[derive(Clone, Debug)]
pub enum Job {
    /// At boot: which files and partition directories a log directory has.
    Survey { dir: DirId },
    /// How large the volumes of these log directories are.
    Volumes { dirs: Vec<DirId> },
    /// Work on one partition's log.
    Log(log::Job),
}

/// What a [`Job`] found.
#[derive(Clone, Debug)]
pub enum JobResult {
    Survey {
        dir: DirId,
        found: Result<Survey, DiskError>,
    },
    /// Those that could be told.
    Volumes(OrderedMap<DirId, Volume>),
    Log(log::JobResult),
}

/// A log directory as it was found at boot.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// The small files in the directory itself, by name: checkpoints, `meta.properties`, the clean mark.
    pub files: OrderedMap<String, Bytes>,
    /// Names of the directories in it, without the `/`.
    pub directories: Vec<String>,
}

/// The root files that are ours; any other is passed by.
const ROOT_FILES: [&str; 7] = [
    MetaProperties::FILE,
    CleanShutdown::FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    LOG_START_OFFSET_FILE,
    coordination::LOG_PATH,
    coordination::SNAPSHOT_PATH,
];

/// Carries out a job, and tells now and then how far it has come. A file that cannot be read fails the
/// directory, so it is part of the result.
pub fn run_job(job: Job, disk: &dyn ReadAt, progress: &mut dyn FnMut(log::Progress)) -> JobResult {
    match job {
        Job::Survey { dir } => JobResult::Survey {
            dir,
            found: survey(dir, disk),
        },
        Job::Volumes { dirs } => {
            let found = dirs.into_iter().filter_map(|dir| Some((dir, disk.volume(dir)?)));
            JobResult::Volumes(found.collect())
        }
        Job::Log(job) => JobResult::Log(log::run_job(job, disk, progress)),
    }
}

fn survey(dir: DirId, disk: &dyn ReadAt) -> Result<Survey, DiskError> {
    let mut found = Survey::default();
    for name in disk.list(dir, "")? {
        if let Some(directory) = name.strip_suffix('/') {
            found.directories.push(directory.to_owned());
            continue;
        }
        if ROOT_FILES.contains(&&*name) {
            let length = disk.len(dir, &name)?;
            let bytes = disk.read_at(dir, &name, 0, length as usize)?;
            found.files.insert(name, bytes);
        }
    }
    Ok(found)
}
