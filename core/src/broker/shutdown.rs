//! An orderly stop: close every log -> checkpoints -> clean mark -> stopped.
//!
//! Each directory stops on its own. First its logs are closed, which forces all they hold to the
//! medium; when that is done the recovery points are the log ends, and the checkpoints say so; last
//! comes the clean mark, which lets the next start believe them.

use super::directories::Then;
use super::timers::SweepFor;
use super::{Phase, State};
use crate::cx::Cx;
use crate::disk::{DirId, DiskOp, Lane};
use crate::io::Output;
use crate::log::checkpoint::CleanShutdown;
use crate::replica::partition::PartitionId;

/// How far the stop has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Stopping {
    /// Directories that are not through.
    left: Vec<DirId>,
    /// Those whose checkpoints and clean mark are queued.
    marked: Vec<DirId>,
}

impl State {
    pub(super) fn shutdown(&mut self) {
        match self.phase {
            Phase::Running => {
                self.phase = Phase::Stopping(Stopping::default());
                self.sweep(SweepFor::Close);
            }
            // Nothing was opened that must be closed; without the mark, the next start checks.
            Phase::Booting(_) => self.stopped(),
            Phase::Stopping(_) | Phase::Stopped => {}
        }
    }

    pub(super) fn close_log(&mut self, cx: &mut Cx, id: PartitionId) {
        let Some(partition) = self.topics.partition_mut(id) else {
            return;
        };
        let dir = partition.dir();
        if let Ok(log) = partition.log_mut() {
            log.close(cx);
            self.after_partition(cx, dir, id);
        }
    }

    /// Every log has been asked to close.
    pub(super) fn all_closed(&mut self, cx: &mut Cx) {
        let dirs: Vec<DirId> = self.directories.online().collect();
        if let Phase::Stopping(stopping) = &mut self.phase {
            stopping.left = dirs.clone();
        }
        for dir in dirs {
            // At least one operation, so that its end is told even when no log is there.
            let ticket = cx.disk.push(dir, DiskOp::SyncDirectory { path: "".into() });
            self.directories.after(dir, Lane::Strict, ticket, Then::Directory);
        }
    }

    /// What the stop asked of a directory is done, or will never be.
    pub(super) fn directory_stops(&mut self, cx: &mut Cx, dir: DirId) {
        let Phase::Stopping(stopping) = &mut self.phase else {
            return;
        };
        let is_marked = stopping.marked.contains(&dir);
        if is_marked || !self.directories.is_online(dir) {
            stopping.left.retain(|&left| left != dir);
            if stopping.left.is_empty() {
                self.stopped();
            }
            return;
        }
        stopping.marked.push(dir);
        self.write_checkpoints(cx, dir, Lane::Strict);
        let mark = DiskOp::Replace {
            path: CleanShutdown::FILE.into(),
            bytes: CleanShutdown { broker_epoch: -1 }.write(),
        };
        let ticket = cx.disk.push(dir, mark);
        self.directories.after(dir, Lane::Strict, ticket, Then::Directory);
    }

    fn stopped(&mut self) {
        self.phase = Phase::Stopped;
        self.out.push(Output::Stopped { failed: None });
    }
}
