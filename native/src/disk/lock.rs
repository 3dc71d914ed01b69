//! One broker a directory: the `.lock` file.
//!
//! Two locks are taken on it, since they do not see each other: `flock`, which also keeps two
//! brokers of one process apart, and the POSIX record lock that Kafka's own `.lock` uses.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, fcntl_lock, flock};
use rustix::io::Errno;
use thiserror::Error;

/// Why a log directory cannot be used.
#[derive(Debug, Error)]
pub enum LockError {
    #[error(
        "log directory {} is in use by another broker; stop that one, or choose another directory",
        .0.display()
    )]
    InUse(PathBuf),
    #[error("log directory {}: {error}", .path.display())]
    Unusable { path: PathBuf, error: std::io::Error },
}

/// The directory is ours until this is dropped.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Makes the directory if it is missing and locks it.
    pub fn acquire(root: &Path) -> Result<Self, LockError> {
        let unusable = |error| LockError::Unusable {
            path: root.to_owned(),
            error,
        };
        std::fs::create_dir_all(root).map_err(unusable)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(root.join(".lock"))
            .map_err(unusable)?;
        let locked = flock(&file, FlockOperation::NonBlockingLockExclusive)
            .and_then(|()| fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive));
        match locked {
            Ok(()) => Ok(Self { _file: file }),
            Err(Errno::WOULDBLOCK | Errno::ACCESS) => Err(LockError::InUse(root.to_owned())),
            Err(errno) => Err(unusable(errno.into())),
        }
    }
}
