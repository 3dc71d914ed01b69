//! The table of open files, by the number that the core gave them.
//!
//! A broker may have more files than the process may have descriptors. So an entry remembers its
//! path, and only the files used last stay open; one that was closed for lack of room is opened
//! again when asked for. A renamed file is found again because the table follows renames, and so do
//! readers by path: they ask [`Files::moved_to`] when a path is gone.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use highwater_core::disk::{FileId, RelPath};
use parking_lot::Mutex;
use smallvec::SmallVec;

/// An open file. Whoever holds it can read it, whatever its name becomes, even after it was removed.
#[derive(Debug)]
pub struct OpenFile {
    pub id: FileId,
    pub file: File,
    /// Connections that were handed parts of this file (their numbers): asked before a truncation.
    readers: Mutex<SmallVec<[u64; 4]>>,
}

impl OpenFile {
    fn new(id: FileId, file: File) -> Self {
        Self {
            id,
            file,
            readers: Mutex::default(),
        }
    }

    /// Remembers that a connection was handed a part of this file.
    pub fn add_reader(&self, connection: u64) {
        let mut readers = self.readers.lock();
        if !readers.contains(&connection) {
            readers.push(connection);
        }
    }

    /// Forgets the readers for which `keep` is false.
    pub fn retain_readers(&self, mut keep: impl FnMut(u64) -> bool) {
        self.readers.lock().retain(|connection| keep(*connection));
    }

    /// How many connections are remembered.
    pub fn readers(&self) -> usize {
        self.readers.lock().len()
    }
}

struct Entry {
    path: RelPath,
    handle: Option<Arc<OpenFile>>,
    /// The greater, the later it was asked for.
    used: u64,
    /// How often it was opened to be written to, and up to which of these it has been forced to the medium.
    writes: u64,
    synced: u64,
    /// Forcing it to make room has failed: the next sync must say so, as the kernel tells it only once.
    failed: bool,
}

impl Entry {
    fn is_idle(&self) -> bool {
        self.handle
            .as_ref()
            .is_some_and(|handle| Arc::strong_count(handle) == 1)
    }

    fn is_synced(&self) -> bool {
        self.synced == self.writes
    }
}

#[derive(Default)]
struct Table {
    entries: HashMap<FileId, Entry>,
    /// The latest file that was bound to a path, for jobs, which know only paths.
    by_path: BTreeMap<RelPath, FileId>,
    open: usize,
    uses: u64,
    /// Where a path went, for jobs that still know the old name.
    moved: BTreeMap<RelPath, RelPath>,
}

pub(super) struct Files {
    limit: usize,
    table: Mutex<Table>,
}

impl Files {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            table: Mutex::default(),
        }
    }

    /// Binds `id` to the path, making the file and its directories if they are missing.
    pub fn open(&self, root: &Path, id: FileId, path: &RelPath) -> io::Result<()> {
        let full = root.join(&**path);
        let open = || {
            File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&full)
        };
        let mut table = self.table.lock();
        let opened = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Some(parent) = full.parent() {
                    std::fs::create_dir_all(parent)?;
                }
                open()
            }
            Err(error) if is_out_of_descriptors(&error) => {
                table.make_room(0);
                open()
            }
            other => other,
        };
        let handle = Arc::new(OpenFile::new(id, opened?));
        table.moved.remove(path);
        table.make_room(self.limit);
        table.uses += 1;
        let entry = Entry {
            path: Arc::clone(path),
            handle: Some(handle),
            used: table.uses,
            // A file that is just made has a length to force too, but nothing that the medium could refuse.
            writes: 0,
            synced: 0,
            failed: false,
        };
        table.forget(id);
        table.open += 1;
        table.entries.insert(id, entry);
        table.by_path.insert(Arc::clone(path), id);
        Ok(())
    }

    /// The open file, opened again if it had to make room.
    pub fn get(&self, root: &Path, id: FileId) -> io::Result<Arc<OpenFile>> {
        let mut table = self.table.lock();
        table.uses += 1;
        let uses = table.uses;
        let entry = table.entries.get_mut(&id).ok_or(io::ErrorKind::NotFound)?;
        entry.used = uses;
        if let Some(handle) = &entry.handle {
            return Ok(Arc::clone(handle));
        }
        let full = root.join(&*entry.path);
        table.make_room(self.limit);
        let file = File::options().read(true).write(true).open(full)?;
        let handle = Arc::new(OpenFile::new(id, file));
        table.open += 1;
        if let Some(entry) = table.entries.get_mut(&id) {
            entry.handle = Some(Arc::clone(&handle));
        }
        Ok(handle)
    }

    /// The same, to write to: from now on it has bytes that are not on the medium.
    pub fn get_to_write(&self, root: &Path, id: FileId) -> io::Result<Arc<OpenFile>> {
        let handle = self.get(root, id)?;
        if let Some(entry) = self.table.lock().entries.get_mut(&id) {
            entry.writes += 1;
        }
        Ok(handle)
    }

    /// The same, to force to the medium, with the number to say when that [is done](Self::synced).
    pub fn get_to_sync(&self, root: &Path, id: FileId) -> io::Result<(Arc<OpenFile>, u64)> {
        let handle = self.get(root, id)?;
        match self.table.lock().entries.get(&id) {
            Some(entry) if entry.failed => Err(io::Error::from(rustix::io::Errno::IO)),
            Some(entry) => Ok((handle, entry.writes)),
            None => Ok((handle, 0)),
        }
    }

    /// All that was written before is on the medium.
    pub fn synced(&self, id: FileId, writes: u64) {
        if let Some(entry) = self.table.lock().entries.get_mut(&id) {
            entry.synced = entry.synced.max(writes);
        }
    }

    /// The file at the path, if it is open.
    pub fn open_at(&self, path: &str) -> Option<Arc<OpenFile>> {
        let mut table = self.table.lock();
        table.uses += 1;
        let uses = table.uses;
        let id = *table.by_path.get(path)?;
        let entry = table.entries.get_mut(&id)?;
        entry.used = uses;
        entry.handle.clone()
    }

    pub fn close(&self, id: FileId) {
        self.table.lock().forget(id);
    }

    /// Follows a rename of a file, or of a directory with all in it.
    pub fn renamed(&self, from: &RelPath, to: &RelPath) {
        let mut table = self.table.lock();
        let table = &mut *table;
        table.by_path.remove(to);
        for (id, entry) in &mut table.entries {
            if let Some(path) = moved_path(&entry.path, from, to) {
                if table.by_path.get(&entry.path) == Some(id) {
                    table.by_path.remove(&entry.path);
                }
                entry.path = path.into();
                table.by_path.insert(Arc::clone(&entry.path), *id);
            }
        }
        for target in table.moved.values_mut() {
            if let Some(path) = moved_path(target, from, to) {
                *target = path.into();
            }
        }
        table.moved.remove(to);
        table.moved.insert(Arc::clone(from), Arc::clone(to));
    }

    /// Forgets what was at a path, or in it, and where that came from.
    pub fn unlinked(&self, path: &RelPath) {
        let inside = |target: &str| moved_path(target, path, path).is_some();
        let mut table = self.table.lock();
        table.moved.retain(|_, target| !inside(target));
        let from = table.by_path.range(Arc::clone(path)..);
        let gone: Vec<RelPath> = from
            .map(|(at, _)| Arc::clone(at))
            .take_while(|at| at.starts_with(&**path))
            .filter(|at| inside(at))
            .collect();
        for at in gone {
            table.by_path.remove(&at);
        }
    }

    /// Another file took the place of the one at the path.
    pub fn replaced(&self, path: &RelPath) {
        self.table.lock().by_path.remove(path);
    }

    /// Where a path went that is no longer there, if it was renamed.
    pub fn moved_to(&self, path: &str) -> Option<String> {
        let table = self.table.lock();
        table
            .moved
            .iter()
            .rev()
            .find_map(|(from, to)| moved_path(path, from, to))
    }
}

impl Table {
    fn forget(&mut self, id: FileId) {
        let Some(entry) = self.entries.remove(&id) else {
            return;
        };
        if entry.handle.is_some() {
            self.open -= 1;
        }
        if self.by_path.get(&entry.path) == Some(&id) {
            self.by_path.remove(&entry.path);
        }
    }

    /// Closes the files used longest ago until fewer than `limit` are open; in eighths, so that the
    /// search for them is rare. A file that a connection is sending stays.
    ///
    /// The kernel tells of bytes that it could not write by the descriptors that are open then. So a file
    /// that has bytes to force is closed only when there are not enough others, and is forced first; if
    /// that fails it stays open, and the core's own sync is told.
    fn make_room(&mut self, limit: usize) {
        if self.open < limit {
            return;
        }
        let mut idle: Vec<&mut Entry> = self
            .entries
            .values_mut()
            .filter(|entry| entry.is_idle())
            .collect();
        idle.sort_unstable_by_key(|entry| (!entry.is_synced(), entry.used));
        for entry in idle.iter_mut().take(limit / 8 + 1) {
            if !entry.is_synced() {
                let forced = entry.handle.as_ref().map(|handle| handle.file.sync_data());
                if !matches!(forced, Some(Ok(()))) {
                    entry.failed = true;
                    continue;
                }
                entry.synced = entry.writes;
            }
            entry.handle = None;
            self.open -= 1;
        }
    }
}

/// `path` after `from` was renamed to `to`; `None` if it is neither `from` nor inside it.
fn moved_path(path: &str, from: &str, to: &str) -> Option<String> {
    let rest = path.strip_prefix(from)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> FileId {
        FileId { dir: 0, number }
    }

    fn is_open(files: &Files, number: u64) -> bool {
        files.table.lock().entries[&id(number)].handle.is_some()
    }

    #[test]
    fn a_file_with_bytes_to_force_is_closed_last_and_forced_first() {
        let root = tempfile::tempdir().expect("temporary directory");
        let files = Files::new(16);
        let open = |number: u64| files.open(root.path(), id(number), &number.to_string().into());
        (0..16).for_each(|number| open(number).expect("open"));
        files.get_to_write(root.path(), id(0)).expect("open");
        for number in 1..16 {
            files.get(root.path(), id(number)).expect("open");
        }
        open(16).expect("open");
        assert!(is_open(&files, 0), "used longest ago, but not forced");
        assert!(!is_open(&files, 1));

        let (handle, writes) = files.get_to_sync(root.path(), id(0)).expect("open");
        files.get_to_write(root.path(), id(0)).expect("open");
        files.synced(id(0), writes);
        assert!(
            !files.table.lock().entries[&id(0)].is_synced(),
            "it was written to meanwhile"
        );
        drop(handle);
        for number in 0..=16 {
            files.get_to_write(root.path(), id(number)).expect("open");
        }
        let table = files.table.lock();
        assert!(table.open <= 16);
        let closed = table.entries.values().filter(|entry| entry.handle.is_none());
        assert!(closed.clone().count() > 0 && closed.clone().all(Entry::is_synced));
    }
}
