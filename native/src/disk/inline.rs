//! A directory whose operations run where they are asked for: for an owner with a thread of its own.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use highwater_core::disk::{DiskOp, Ticket};
use highwater_core::error::DiskError;

use super::Directory;
use super::backlog::Backlog;
use super::files::Files;

/// Files that one owner has open at a time; it has few.
const OPEN_FILES: usize = 16;

/// One directory, which somebody else keeps locked.
pub struct InlineDirectory(Directory);

impl InlineDirectory {
    pub fn new(root: &Path) -> Self {
        Self(Directory {
            id: 0,
            root: root.to_owned(),
            files: Files::new(OPEN_FILES),
            backlog: Backlog::default(),
            notify: OnceLock::new(),
            before_overwrite: Arc::default(),
            _lock: None,
        })
    }

    /// Carries operations out, oldest first, until one fails. Answers the last that is done, and the
    /// failure, after which the directory must be left alone.
    pub fn run(&self, operations: &[(Ticket, DiskOp)]) -> (Option<Ticket>, Option<DiskError>) {
        let progress = self.0.execute(operations);
        (progress.done, progress.failed.map(|(_, error)| error))
    }
}
