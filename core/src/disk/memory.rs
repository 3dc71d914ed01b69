//! The in-memory disk of simulations and tests: a medium that forgets what was not synced.
//!
//! A real disk keeps two states at once: what programs see (the page cache) and what would be left
//! if the power went now (the medium). This disk keeps both, and everything written between them, so
//! that a test can ask for *any* state that the syncs allow.
//!
//! What a loss of power leaves
//! - of a file: its bytes and length at its last [`DiskOp::Sync`], and then
//!   [`power_loss`](MemoryDisk::power_loss) nothing more,
//!   [`power_loss_keeping`](MemoryDisk::power_loss_keeping) the first few later writes and cuts, the
//!   next write torn at any byte, its missing end gone or zeroed (the length got there first)
//! - of a directory: its names at its last [`DiskOp::SyncDirectory`] or [`DiskOp::Replace`] in it,
//!   and then none, or the first few, of the later changes; a rename within one directory is one change
//! - files and directories are independent: the later file may be there and the earlier one not
//! - a file whose name is lost is lost, synced or not. A partition's directory is itself a name in the
//!   log directory: it survives only after `SyncDirectory` of "" (the log directory).
//! - a file whose name is kept but which was never synced is there, and empty
//!
//! Invariants
//! - a binding follows its file through renames; an unlinked file is readable until it is closed
//! - the first failed operation of a directory is its last until [`mend`](MemoryDisk::mend)
//! - a clone shares all bytes and copies only what is written later

use std::sync::Arc;

use bytes::Bytes;

use crate::disk::{DirId, DiskOp, FileId, ReadAt};
use crate::error::DiskError;
use crate::ordered::OrderedMap;
use crate::types::Rng;

mod content;
mod file;
mod power;
mod volume;

use volume::Volume;

/// Operating system's number for "bad file descriptor": the operation names no open file.
const NOT_OPEN: DiskError = DiskError::Io(9);
/// "Is a directory", or the reverse: the path leads through a file.
const WRONG_KIND: DiskError = DiskError::Io(21);
/// "Invalid argument": a write beyond the end, a path that leaves the log directory.
const INVALID: DiskError = DiskError::Io(22);

/// How a directory shall fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// So many operations more work; the next one fails.
    After { operations: u64, error: DiskError },
    /// So many bytes more fit; the write that passes them is cut off there and answers [`DiskError::Full`].
    FullAfter { bytes: u64 },
}

/// Log directories held in memory. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    volumes: OrderedMap<DirId, Arc<Volume>>,
    faults: OrderedMap<DirId, Fault>,
    offline: OrderedMap<DirId, DiskError>,
}

impl MemoryDisk {
    /// A disk on which every log directory is there and empty.
    pub fn new() -> Self {
        Self::default()
    }

    /// Carries out one operation. After the first error the directory answers nothing else.
    pub fn apply(&mut self, dir: DirId, op: &DiskOp) -> Result<(), DiskError> {
        if let Some(&error) = self.offline.get(&dir) {
            return Err(error);
        }
        let outcome = self.apply_or_fail(dir, op);
        if let Err(error) = outcome {
            self.offline.insert(dir, error);
        }
        outcome
    }

    fn apply_or_fail(&mut self, dir: DirId, op: &DiskOp) -> Result<(), DiskError> {
        let volume = Arc::make_mut(self.volumes.entry(dir).or_default());
        match self.faults.get_mut(&dir) {
            Some(Fault::After { operations: 0, error }) => return Err(*error),
            Some(Fault::After { operations, .. }) => *operations -= 1,
            Some(Fault::FullAfter { bytes }) => match (bytes.checked_sub(written_bytes(op)), op) {
                (Some(left), _) => *bytes = left,
                (None, DiskOp::Append { file, at, bufs }) => {
                    let fits = std::mem::take(bytes);
                    volume.append(file.number, *at, &file::first_bytes(bufs, fits))?;
                    return Err(DiskError::Full);
                }
                (None, _) => return Err(DiskError::Full),
            },
            None => {}
        }
        volume.apply(op)
    }

    /// From now on the directory fails as `fault` says.
    pub fn fail(&mut self, dir: DirId, fault: Fault) {
        self.faults.insert(dir, fault);
    }

    /// Whether the directory has only so much room left, or none.
    pub fn is_filled(&self, dir: DirId) -> bool {
        matches!(self.faults.get(&dir), Some(Fault::FullAfter { .. }))
    }

    /// Takes the directory's fault away and lets it work again, as after a repair.
    pub fn mend(&mut self, dir: DirId) {
        self.faults.remove(&dir);
        self.offline.remove(&dir);
    }

    /// The process dies (kill -9): open files are closed, every byte written stays.
    pub fn crash(&mut self) {
        for volume in self.volumes.values_mut() {
            Arc::make_mut(volume).close_all();
        }
    }

    /// The power goes: only what was synced is left.
    pub fn power_loss(&mut self) {
        for volume in self.volumes.values_mut() {
            *volume = Arc::new(power::after_loss(volume, &mut power::Least));
        }
    }

    /// The power goes: what was synced is left and, by the draws of `rng`, any of what the medium may
    /// have taken since.
    pub fn power_loss_keeping(&mut self, rng: &mut Rng) {
        for volume in self.volumes.values_mut() {
            *volume = Arc::new(power::after_loss(volume, &mut power::Drawn(rng)));
        }
    }

    /// The whole file, as programs see it.
    pub fn read_file(&self, dir: DirId, path: &str) -> Result<Bytes, DiskError> {
        let content = self.volume(dir)?.content(path)?;
        Ok(content.read(0, usize::MAX))
    }

    /// Up to `len` bytes of an open file from byte `at`, even when its name is gone.
    pub fn read_open(&self, file: FileId, at: u64, len: usize) -> Result<Bytes, DiskError> {
        let content = self.volume(file.dir)?.open_content(file.number)?;
        Ok(content.read(at, len))
    }

    /// Puts a file there as if written and synced, name included: the start of a test.
    pub fn put_file(&mut self, dir: DirId, path: &str, bytes: impl Into<Bytes>) -> Result<(), DiskError> {
        Arc::make_mut(self.volumes.entry(dir).or_default()).put_synced(path, &bytes.into())
    }

    /// Every file with a name, by directory and path, with its length in bytes.
    pub fn files(&self) -> Vec<(DirId, String, u64)> {
        let of = |(&dir, volume): (&DirId, &Arc<Volume>)| {
            let listed = volume.files().into_iter();
            listed
                .map(move |(path, len)| (dir, path, len))
                .collect::<Vec<_>>()
        };
        self.volumes.iter().flat_map(of).collect()
    }

    fn volume(&self, dir: DirId) -> Result<&Volume, DiskError> {
        self.volumes
            .get(&dir)
            .map(|volume| &**volume)
            .ok_or(DiskError::NotFound)
    }
}

impl ReadAt for MemoryDisk {
    fn read_at(&self, dir: DirId, path: &str, at: u64, len: usize) -> Result<Bytes, DiskError> {
        Ok(self.volume(dir)?.content(path)?.read(at, len))
    }

    fn len(&self, dir: DirId, path: &str) -> Result<u64, DiskError> {
        Ok(self.volume(dir)?.content(path)?.len())
    }

    fn list(&self, dir: DirId, path: &str) -> Result<Vec<String>, DiskError> {
        match self.volumes.get(&dir) {
            Some(volume) => volume.list(path),
            None if path.is_empty() => Ok(Vec::new()),
            None => Err(DiskError::NotFound),
        }
    }
}

fn written_bytes(op: &DiskOp) -> u64 {
    match op {
        DiskOp::Append { bufs, .. } => bufs.iter().map(|piece| piece.len() as u64).sum(),
        DiskOp::Replace { bytes, .. } => bytes.len() as u64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
