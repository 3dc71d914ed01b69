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
    fn make_room(&mut self, limit: usize) {
        if self.open < limit {
            return;
        }
        let is_idle = |entry: &&mut Entry| entry.handle.as_ref().is_some_and(|h| Arc::strong_count(h) == 1);
        let mut idle: Vec<&mut Entry> = self.entries.values_mut().filter(is_idle).collect();
        idle.sort_unstable_by_key(|entry| entry.used);
        for entry in idle.iter_mut().take(limit / 8 + 1) {
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
