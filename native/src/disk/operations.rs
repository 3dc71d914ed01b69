//! Running operations: in order, neighbouring appends as one `pwritev`.

use std::fs::File;
use std::io::{self, IoSlice};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use highwater_core::disk::{DiskOp, FileId, Ticket};
use highwater_core::error::DiskError;

use super::error::{disk_error, from_errno};
use super::{Directory, OpenFile};

/// The most pieces that one `pwritev` may take (Linux: `IOV_MAX`).
const MAX_PIECES: usize = 1024;

/// How far a list of operations came.
pub(super) struct Progress {
    /// The last operation that is done, if any.
    pub done: Option<Ticket>,
    pub failed: Option<(Ticket, DiskError)>,
}

/// Whether the operation waits for the medium.
pub(super) fn forces_to_medium(op: &DiskOp) -> bool {
    matches!(
        op,
        DiskOp::Sync { .. } | DiskOp::Replace { .. } | DiskOp::SyncDirectory { .. }
    )
}

impl Directory {
    /// Runs operations, oldest first, until one fails.
    pub(super) fn execute(&self, ops: &[(Ticket, DiskOp)]) -> Progress {
        let mut progress = Progress {
            done: None,
            failed: None,
        };
        let mut taken = 0;
        while let Some((ticket, op)) = ops.get(taken) {
            let group = neighbours(&ops[taken..]);
            let result = match op {
                DiskOp::Append { .. } => self.append(&ops[taken..taken + group]),
                _ => self.one(op).map_err(|error| (*ticket, error)),
            };
            match result {
                Ok(()) => {
                    taken += group;
                    progress.done = Some(ops[taken - 1].0);
                }
                Err((failed, error)) => {
                    let before = failed.checked_sub(1).filter(|&t| t >= ops[0].0);
                    progress.done = before;
                    progress.failed = Some((failed, error));
                    break;
                }
            }
        }
        progress
    }

    /// Any operation but an append, which [`append`](Self::append) takes together with its neighbours.
    fn one(&self, op: &DiskOp) -> Result<(), DiskError> {
        match op {
            DiskOp::Open { file, path } => {
                self.path(path)?;
                self.files
                    .open(&self.root, *file, path)
                    .map_err(|e| disk_error(&e))
            }
            DiskOp::Append { .. } => Ok(()),
            DiskOp::Truncate { file, len } => {
                let open = self.file_to_write(*file)?;
                self.spare_readers(&open);
                open.file.set_len(*len).map_err(|e| disk_error(&e))
            }
            DiskOp::Sync { file } => {
                let opened = self.files.get_to_sync(&self.root, *file);
                let (open, writes) = opened.map_err(|e| disk_error(&e))?;
                open.file.sync_data().map_err(|e| disk_error(&e))?;
                self.files.synced(*file, writes);
                Ok(())
            }
            DiskOp::Close { file } => {
                self.files.close(*file);
                Ok(())
            }
            DiskOp::Rename { from, to } => {
                std::fs::rename(self.path(from)?, self.path(to)?).map_err(|e| disk_error(&e))?;
                self.files.renamed(from, to);
                Ok(())
            }
            DiskOp::Unlink { path } => {
                remove(&self.path(path)?).map_err(|e| disk_error(&e))?;
                self.files.unlinked(path);
                Ok(())
            }
            DiskOp::Replace { path, bytes } => {
                replace(&self.path(path)?, bytes).map_err(|e| disk_error(&e))?;
                self.files.replaced(path);
                Ok(())
            }
            DiskOp::SyncDirectory { path } => sync_directory(&self.path(path)?).map_err(|e| disk_error(&e)),
        }
    }

    fn file_to_write(&self, id: FileId) -> Result<std::sync::Arc<OpenFile>, DiskError> {
        self.files
            .get_to_write(&self.root, id)
            .map_err(|e| disk_error(&e))
    }

    fn spare_readers(&self, file: &OpenFile) {
        if file.readers() > 0
            && let Some(before) = self.before_overwrite.get()
        {
            before(file);
        }
    }

    /// Appends to one file, end to start; the error names the operation that did not fit.
    fn append(&self, ops: &[(Ticket, DiskOp)]) -> Result<(), (Ticket, DiskError)> {
        let Some((first, DiskOp::Append { file, at, .. })) = ops.first() else {
            return Ok(());
        };
        let open = self.file_to_write(*file).map_err(|error| (*first, error))?;
        if open.readers() > 0 {
            let length = open.file.metadata().map_err(|e| (*first, disk_error(&e)))?.len();
            if *at < length {
                self.spare_readers(&open);
            }
        }
        let mut pieces: Vec<IoSlice<'_>> = Vec::with_capacity(ops.len() * 2);
        for (_, op) in ops {
            if let DiskOp::Append { bufs, .. } = op {
                pieces.extend(bufs.iter().filter(|b| !b.is_empty()).map(|b| IoSlice::new(b)));
            }
        }
        let mut written = 0u64;
        let mut rest = &mut pieces[..];
        while !rest.is_empty() {
            let now = &rest[..rest.len().min(MAX_PIECES)];
            match rustix::io::pwritev(&open.file, now, at + written) {
                Ok(0) => return Err((failed_ticket(ops, written), DiskError::Full)),
                Ok(count) => {
                    written += count as u64;
                    IoSlice::advance_slices(&mut rest, count);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err((failed_ticket(ops, written), from_errno(errno))),
            }
        }
        Ok(())
    }

    /// The full path, refused if it could leave the directory.
    pub(super) fn path(&self, path: &str) -> Result<PathBuf, DiskError> {
        let stays = Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        stays
            .then(|| self.root.join(path))
            .ok_or_else(|| from_errno(rustix::io::Errno::INVAL))
    }
}

/// How many operations from the front are appends to one file, each where the last one ended.
fn neighbours(ops: &[(Ticket, DiskOp)]) -> usize {
    let mut next: Option<(FileId, u64)> = None;
    let mut pieces = 0;
    let fits = |(_, op): &&(Ticket, DiskOp)| {
        let DiskOp::Append { file, at, bufs } = op else {
            return false;
        };
        pieces += bufs.len();
        let adjoins = next.is_none_or(|end| end == (*file, *at)) && pieces <= MAX_PIECES;
        next = Some((*file, at + length(bufs)));
        adjoins
    };
    ops.iter().take_while(fits).count().max(1)
}

fn length(bufs: &[Bytes]) -> u64 {
    bufs.iter().map(|b| b.len() as u64).sum()
}

/// Which of the merged appends was being written after `written` bytes.
fn failed_ticket(ops: &[(Ticket, DiskOp)], written: u64) -> Ticket {
    let mut end = 0;
    for (ticket, op) in ops {
        if let DiskOp::Append { bufs, .. } = op {
            end += length(bufs);
        }
        if written < end {
            return *ticket;
        }
    }
    ops.last().map_or(0, |(ticket, _)| *ticket)
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match std::fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn replace(path: &Path, bytes: &Bytes) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)?;
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let temporary = PathBuf::from(name);
    let file = File::create(&temporary)?;
    io::Write::write_all(&mut &file, bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    sync_directory(parent)
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
