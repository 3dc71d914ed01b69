//! Reading by path, for jobs: they may meet files that nobody opened, under names that were changed
//! a moment ago.
//!
//! A job reads one file many times in a row, so its reader keeps the last one open; a file that the
//! broker has open is read through that. A reader that
//! does not wait gives up at the first byte that is not in memory ([`JobReader::was_cold`]): a
//! look-up that needs no disk can then run at once on any thread, and the others go to the pool.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::sync::Arc;

use bytes::Bytes;
use highwater_core::disk::{DirId, ReadAt, Volume};
use highwater_core::error::DiskError;
use rustix::fs::statvfs;
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2};

use super::error::{disk_error, from_errno};
use super::{Directory, Disk, OpenFile};

/// Up to this many bytes are asked for without looking first whether the file has as many.
const SMALL_BYTES: usize = 64 << 10;

/// The files of a [`Disk`], for one job.
pub struct JobReader<'a> {
    disk: &'a Disk,
    waits: bool,
    was_cold: Cell<bool>,
    last: RefCell<Option<(DirId, String, Handle)>>,
}

/// A file to read from.
enum Handle {
    /// The broker's own, whatever it is called by now.
    Shared(Arc<OpenFile>),
    /// Opened for this job.
    Own(File),
}

impl Handle {
    fn file(&self) -> &File {
        match self {
            Self::Shared(open) => &open.file,
            Self::Own(file) => file,
        }
    }
}

impl<'a> JobReader<'a> {
    /// A reader that waits for the medium.
    pub fn new(disk: &'a Disk) -> Self {
        Self {
            disk,
            waits: true,
            was_cold: Cell::new(false),
            last: RefCell::default(),
        }
    }

    /// A reader that fails rather than wait.
    pub fn of_memory(disk: &'a Disk) -> Self {
        Self {
            waits: false,
            ..Self::new(disk)
        }
    }

    /// Whether something was not in memory: the job's result is void and it must run again.
    pub fn was_cold(&self) -> bool {
        self.was_cold.get()
    }

    fn with_file<T>(
        &self,
        dir: DirId,
        path: &str,
        read: impl FnOnce(&File) -> Result<T, DiskError>,
    ) -> Result<T, DiskError> {
        let mut last = self.last.borrow_mut();
        let (_, _, handle) = match last.take() {
            Some(known) if known.0 == dir && known.1 == path => last.insert(known),
            _ => {
                let directory = self.disk.directory(dir)?;
                let handle = match directory.files.open_at(path) {
                    Some(open) => Handle::Shared(open),
                    None => Handle::Own(directory.or_where_it_went(path, |full| File::open(full))?),
                };
                last.insert((dir, path.to_owned(), handle))
            }
        };
        read(handle.file())
    }

    fn pread(&self, file: &File, bytes: &mut [u8], at: u64) -> Result<usize, DiskError> {
        loop {
            let read = match self.waits {
                true => pread(file, &mut *bytes, at),
                false => preadv2(file, &mut [IoSliceMut::new(bytes)], at, ReadWriteFlags::NOWAIT),
            };
            match read {
                Ok(count) => return Ok(count),
                Err(Errno::INTR) => {}
                Err(errno) => {
                    // A file system that cannot tell (OPNOTSUPP) counts as cold.
                    self.was_cold.set(!self.waits);
                    return Err(from_errno(errno));
                }
            }
        }
    }
}

impl ReadAt for JobReader<'_> {
    fn read_at(&self, dir: DirId, path: &str, at: u64, len: usize) -> Result<Bytes, DiskError> {
        self.with_file(dir, path, |file| {
            let len = match len {
                0..=SMALL_BYTES => len,
                _ => {
                    let length = file.metadata().map_err(|e| disk_error(&e))?.len();
                    len.min(usize::try_from(length.saturating_sub(at)).unwrap_or(usize::MAX))
                }
            };
            let mut bytes = vec![0; len];
            let mut filled = 0;
            while filled < len {
                match self.pread(file, &mut bytes[filled..], at + filled as u64)? {
                    0 => break,
                    count => filled += count,
                }
            }
            bytes.truncate(filled);
            Ok(bytes.into())
        })
    }

    fn len(&self, dir: DirId, path: &str) -> Result<u64, DiskError> {
        self.with_file(dir, path, |file| {
            Ok(file.metadata().map_err(|e| disk_error(&e))?.len())
        })
    }

    fn list(&self, dir: DirId, path: &str) -> Result<Vec<String>, DiskError> {
        let directory = self.disk.directory(dir)?;
        let entries = match path {
            "" => std::fs::read_dir(&directory.root).map_err(|e| disk_error(&e))?,
            _ => directory.or_where_it_went(path, |full| std::fs::read_dir(full))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| disk_error(&e))?;
            // A name that is not UTF-8 was not written by a broker.
            let Ok(mut name) = entry.file_name().into_string() else {
                continue;
            };
            if entry.path().is_dir() {
                name.push('/');
            }
            names.push(name);
        }
        names.sort_unstable();
        Ok(names)
    }

    fn volume(&self, dir: DirId) -> Option<Volume> {
        let found = statvfs(&self.disk.directory(dir).ok()?.root).ok()?;
        Some(Volume {
            total_bytes: found.f_blocks.saturating_mul(found.f_frsize),
            usable_bytes: found.f_bavail.saturating_mul(found.f_frsize),
        })
    }
}

impl Disk {
    fn directory(&self, dir: DirId) -> Result<&Directory, DiskError> {
        let directory = self.directories.get(usize::from(dir));
        directory.map(|d| &**d).ok_or(DiskError::NotFound)
    }
}

impl Directory {
    /// Tries the path, then the path it was renamed to while the job was on its way.
    fn or_where_it_went<T>(
        &self,
        path: &str,
        open: impl Fn(&std::path::Path) -> io::Result<T>,
    ) -> Result<T, DiskError> {
        let mut tried = path.to_owned();
        loop {
            match open(&self.path(&tried)?) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    tried = self.files.moved_to(&tried).ok_or(DiskError::NotFound)?;
                }
                other => return other.map_err(|e| disk_error(&e)),
            }
        }
    }
}
