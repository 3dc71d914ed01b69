//! Reading by path, for jobs: they may meet files that nobody opened, under names that were changed
//! a moment ago.

use std::fs::File;
use std::io;

use bytes::Bytes;
use highwater_core::disk::{DirId, ReadAt};
use highwater_core::error::DiskError;

use super::error::disk_error;
use super::{Directory, Disk};

impl ReadAt for Disk {
    fn read_at(&self, dir: DirId, path: &str, at: u64, len: usize) -> Result<Bytes, DiskError> {
        let file = self.directory(dir)?.find(path)?;
        let left = file
            .metadata()
            .map_err(|e| disk_error(&e))?
            .len()
            .saturating_sub(at);
        let len = len.min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut bytes = vec![0; len];
        let mut filled = 0;
        while filled < len {
            match rustix::io::pread(&file, &mut bytes[filled..], at + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(super::error::from_errno(errno)),
            }
        }
        bytes.truncate(filled);
        Ok(bytes.into())
    }

    fn len(&self, dir: DirId, path: &str) -> Result<u64, DiskError> {
        let file = self.directory(dir)?.find(path)?;
        Ok(file.metadata().map_err(|e| disk_error(&e))?.len())
    }

    fn list(&self, dir: DirId, path: &str) -> Result<Vec<String>, DiskError> {
        let directory = self.directory(dir)?;
        let entries = directory.or_where_it_went(path, |full| std::fs::read_dir(full))?;
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
}

impl Disk {
    fn directory(&self, dir: DirId) -> Result<&Directory, DiskError> {
        let directory = self.directories.get(usize::from(dir));
        directory.map(|d| &**d).ok_or(DiskError::NotFound)
    }
}

impl Directory {
    fn find(&self, path: &str) -> Result<File, DiskError> {
        self.or_where_it_went(path, |full| File::open(full))
    }

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
