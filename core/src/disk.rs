//! What the core asks of a disk, and an in-memory disk that forgets what was not synced.
//!
//! The core never touches a file: it queues [`DiskOp`]s, which the host carries out in order within
//! each log directory, and is told later up to which [`Ticket`] they are done. Reads go through
//! [`ReadAt`], in jobs.
//!
//! A directory has two lanes, so that an append need not wait for an fsync that nobody waits for (as
//! in Kafka, where a scheduler's threads flush rolled segments and write checkpoints). What the core
//! needs before it goes on is in the strict lane; the sync of a rolled segment or a periodic
//! checkpoint goes aside. [`Lanes`] says what may run when; it is the same for all hosts.
//!
//! Invariants
//! - tickets of one lane of a directory rise by one with each operation, and a lane keeps its order
//! - an operation aside begins when every earlier one of both lanes is done: a `Sync` covers all that
//!   was appended before it was queued
//! - of the strict lane only `Open` and `Append` overtake what is aside; any other operation waits
//!   until everything queued aside before it is done. So no file is cut, renamed, removed or closed
//!   under a pending sync, no pending `Replace` brings back what was removed, and a strict `Sync`
//!   that is done means that the earlier ones aside are
//! - after a failed operation the directory takes no further one

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::error::DiskError;
use crate::ordered::OrderedMap;
pub use crate::types::{DirId, FileId};

/// Counts the strict operations of one directory, from 1.
pub type Ticket = u64;
/// Counts the operations aside of one directory, from 1.
pub type AsideTicket = u64;
/// Path relative to its log directory, with `/` between parts: `topic-0/00000000000000000000.log`.
pub type RelPath = Arc<str>;

/// Pieces of one write, in order; an append is the patched head of a batch and its untouched tail.
pub type Pieces = SmallVec<[Bytes; 4]>;

/// A piece of an answer. The pieces' whole length is known before the first byte is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Bytes(Bytes),
    /// `len` bytes of an open file from byte `pos`: sent by `sendfile` where there is one.
    File {
        file: FileId,
        pos: u64,
        len: u32,
    },
}

pub type Parts = SmallVec<[Part; 4]>;

/// One operation on one log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskOp {
    /// Binds `file` to the path, which is made if it is not there (with its parent directories).
    Open { file: FileId, path: RelPath },
    /// Writes the pieces one after the other from byte `at`. `at` is the end of the file as the core
    /// knows it, or a position within it that is to be overwritten.
    Append { file: FileId, at: u64, bufs: Pieces },
    /// Cuts the file to `len` bytes.
    Truncate { file: FileId, len: u64 },
    /// Forces the file's bytes and length to the medium (fsync).
    Sync { file: FileId },
    /// Forgets the binding; the file itself stays. Bytes on their way to a socket are unharmed.
    Close { file: FileId },
    /// Renames a file or a directory within the log directory; open files follow.
    Rename { from: RelPath, to: RelPath },
    /// Removes a file, or a directory with all in it; missing is fine.
    Unlink { path: RelPath },
    /// Writes a whole small file so that after a crash either the old or the new one is there:
    /// temporary file, fsync, rename, fsync of the directory.
    Replace { path: RelPath, bytes: Bytes },
    /// Forces the directory's entries (created, renamed, removed names) to the medium.
    SyncDirectory { path: RelPath },
}

impl DiskOp {
    /// Whether it may run while operations queued aside before it are not done.
    pub fn overtakes_aside(&self) -> bool {
        matches!(self, Self::Open { .. } | Self::Append { .. })
    }
}

/// Which row of a directory's operations one stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Strict,
    Aside,
}

/// An operation on its way to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    pub dir: DirId,
    pub lane: Lane,
    /// Of that lane.
    pub ticket: Ticket,
    pub op: DiskOp,
}

/// Operations waiting for the host, and the counters that name them. Owned by the broker.
#[derive(Clone, Debug, Default)]
pub struct DiskQueue {
    next_file: u64,
    last_ticket: OrderedMap<DirId, Ticket>,
    last_aside: OrderedMap<DirId, AsideTicket>,
    waiting: VecDeque<Queued>,
}

impl DiskQueue {
    /// A file number never used before in this life of the broker.
    pub fn new_file(&mut self, dir: DirId) -> FileId {
        self.next_file += 1;
        FileId {
            dir,
            number: self.next_file,
        }
    }

    /// Queues an operation in the strict lane; its ticket comes back in `DiskDone`.
    pub fn push(&mut self, dir: DirId, op: DiskOp) -> Ticket {
        self.push_in(dir, Lane::Strict, op)
    }

    /// Queues an operation that later appends need not wait for; its ticket comes back in `AsideDone`.
    pub fn push_aside(&mut self, dir: DirId, op: DiskOp) -> AsideTicket {
        self.push_in(dir, Lane::Aside, op)
    }

    /// The same for a lane that the caller's caller chooses.
    pub fn push_in(&mut self, dir: DirId, lane: Lane, op: DiskOp) -> Ticket {
        let last = match lane {
            Lane::Strict => &mut self.last_ticket,
            Lane::Aside => &mut self.last_aside,
        };
        let last = last.entry(dir).or_insert(0);
        *last += 1;
        let ticket = *last;
        self.waiting.push_back(Queued {
            dir,
            lane,
            ticket,
            op,
        });
        ticket
    }

    /// The ticket of the last strict operation queued for `dir`; 0 when there was none.
    pub fn last_ticket(&self, dir: DirId) -> Ticket {
        self.last_ticket.get(&dir).copied().unwrap_or(0)
    }

    /// The ticket of the last operation queued aside for `dir`; 0 when there was none.
    pub fn last_aside(&self, dir: DirId) -> AsideTicket {
        self.last_aside.get(&dir).copied().unwrap_or(0)
    }

    /// Hands over everything queued, oldest first, in an order in which it may be carried out.
    pub fn take(&mut self) -> Vec<Queued> {
        std::mem::take(&mut self.waiting).into()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Hands over the oldest operation.
    pub fn pop(&mut self) -> Option<Queued> {
        self.waiting.pop_front()
    }
}

/// How large the volume is that a log directory lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    pub total_bytes: u64,
    /// Bytes that the broker may still write.
    pub usable_bytes: u64,
}

/// Reading side of a host's disk, for jobs: by path, since a job may meet files that nobody opened.
pub trait ReadAt {
    /// Up to `len` bytes of the file from byte `at`; fewer only at the end of the file.
    fn read_at(&self, dir: DirId, path: &str, at: u64, len: usize) -> Result<Bytes, DiskError>;
    /// Length of the file in bytes.
    fn len(&self, dir: DirId, path: &str) -> Result<u64, DiskError>;
    /// Names in the directory, sorted; directories end with `/`. `path` "" is the log directory itself.
    fn list(&self, dir: DirId, path: &str) -> Result<Vec<String>, DiskError>;
    /// The volume that the log directory lies on; `None` where nobody can tell.
    fn volume(&self, _dir: DirId) -> Option<Volume> {
        None
    }
}

mod lanes;
pub mod memory;

pub use lanes::Lanes;
