//! The log directories: carries out the core's [`DiskOp`](highwater_core::disk::DiskOp)s on real files.
//!
//! The thread that drives the core runs an operation itself while the directory has nothing
//! waiting, since a write to the page cache costs less than waking another thread. Whatever forces
//! bytes to the medium may take long, so from the first such operation on the rest goes to the
//! directory's own thread until that has caught up; the same holds after an operation that was slow.
//! What the core sends aside has a second thread, so that appends go on beside it.
//!
//! Invariants
//! - operations of one directory run in the order that [`Lanes`](highwater_core::disk::Lanes) gives,
//!   wherever they run
//! - after a failed operation the directory takes no further one
//! - no byte of a file is cut or overwritten while a socket still has to send it

mod backlog;
mod error;
mod files;
mod inline;
mod lock;
mod operations;
mod read;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use highwater_core::disk::{DirId, FileId, Queued};
use highwater_core::io::Input;
use smallvec::SmallVec;

pub use self::error::disk_error;
pub use self::files::OpenFile;
pub use self::inline::InlineDirectory;
pub use self::lock::{DirectoryLock, LockError};
pub use self::read::JobReader;

use self::backlog::Backlog;
use self::files::Files;

/// What the core has to be told after some operations: at most "done up to" and "failed".
pub type Reports = SmallVec<[Input; 2]>;

/// Called before bytes of a file are cut or overwritten: resets the connections that still have
/// to send some of them.
pub type BeforeOverwrite = Box<dyn Fn(&OpenFile) + Send + Sync>;

/// Called by a directory's own thread when it has something to tell the core.
pub type Notify = Box<dyn Fn(Input) + Send + Sync>;

/// All log directories of a broker, by [`DirId`].
pub struct Disk {
    directories: Vec<Arc<Directory>>,
}

/// One log directory.
struct Directory {
    id: DirId,
    root: PathBuf,
    files: Files,
    backlog: Backlog,
    notify: OnceLock<Notify>,
    before_overwrite: Arc<OnceLock<BeforeOverwrite>>,
    /// Held for as long as the directory is in use.
    _lock: Option<DirectoryLock>,
}

impl Disk {
    /// Takes the directories (made if missing) for this process, and says of each whether it can be
    /// used; one that is in use by another broker is an error. At most `max_open_files` files are
    /// kept open at a time, over all directories.
    pub fn open(
        roots: &[PathBuf],
        max_open_files: usize,
    ) -> Result<(Self, Vec<Result<(), LockError>>), LockError> {
        let before_overwrite = Arc::new(OnceLock::new());
        let share = (max_open_files / roots.len().max(1)).max(16);
        let (mut directories, mut states) = (Vec::new(), Vec::new());
        for (id, root) in roots.iter().enumerate() {
            let (lock, state) = match DirectoryLock::acquire(root) {
                Ok(lock) => (Some(lock), Ok(())),
                Err(in_use @ LockError::InUse(_)) => return Err(in_use),
                Err(error) => (None, Err(error)),
            };
            states.push(state);
            directories.push(Arc::new(Directory {
                id: id as DirId,
                root: root.clone(),
                files: Files::new(share),
                backlog: Backlog::default(),
                notify: OnceLock::new(),
                before_overwrite: Arc::clone(&before_overwrite),
                _lock: lock,
            }));
        }
        Ok((Self { directories }, states))
    }

    /// Sets where directory threads report to; once, before the first operation.
    pub fn notify_with(&self, notify: impl Fn(Input) + Clone + Send + Sync + 'static) {
        for directory in &self.directories {
            let _ = directory.notify.set(Box::new(notify.clone()));
        }
    }

    /// Sets who resets the connections that a truncation would harm; once, before the first operation.
    pub fn reset_readers_with(&self, before: impl Fn(&OpenFile) + Send + Sync + 'static) {
        if let Some(directory) = self.directories.first() {
            let _ = directory.before_overwrite.set(Box::new(before));
        }
    }

    /// Path of a log directory.
    pub fn root(&self, dir: DirId) -> Option<&Path> {
        self.directories.get(usize::from(dir)).map(|d| d.root.as_path())
    }

    /// The open file behind a part of an answer.
    pub fn file(&self, id: FileId) -> Option<Arc<OpenFile>> {
        let directory = self.directories.get(usize::from(id.dir))?;
        directory.files.get(&directory.root, id).ok()
    }

    /// Carries out operations of one directory, oldest first, here or on the directory's threads;
    /// answers what is known at once, the rest goes to [`notify_with`](Self::notify_with).
    pub fn run(&self, dir: DirId, ops: Vec<Queued>) -> Reports {
        match self.directories.get(usize::from(dir)) {
            Some(directory) => directory.run(ops),
            None => Reports::new(),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        for directory in &self.directories {
            directory.backlog.stop();
        }
    }
}

#[cfg(test)]
mod tests;
