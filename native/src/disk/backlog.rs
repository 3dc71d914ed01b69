//! What a directory still has to do, and its own thread, which does it.
//!
//! The thread is started by the first operation that may take long and then sleeps while there is
//! nothing for it. While it is busy, everything goes to it: order within a directory is strict.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use highwater_core::disk::{DiskOp, Ticket};
use highwater_core::io::Input;
use parking_lot::{Condvar, Mutex};

use super::operations::{Progress, forces_to_medium};
use super::{Directory, Reports};

/// An operation that took longer is a sign that the directory should not hold up the core.
const SLOW: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(super) struct Backlog {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(Ticket, DiskOp)>,
    /// Operations go to the thread, until it has caught up and was not slow.
    to_thread: bool,
    failed: bool,
    started: bool,
    stopped: bool,
}

impl Backlog {
    /// Ends the thread after what it is doing; what waits is dropped.
    pub fn stop(&self) {
        self.state.lock().stopped = true;
        self.wake.notify_all();
    }
}

impl Directory {
    pub(super) fn run(self: &Arc<Self>, mut ops: Vec<(Ticket, DiskOp)>) -> Reports {
        let mut state = self.backlog.state.lock();
        if state.failed {
            return Reports::new();
        }
        if state.to_thread {
            state.waiting.extend(ops);
            self.wake_thread(&mut state);
            return Reports::new();
        }
        // Nobody else runs operations of this directory while it is empty: the driver is one at a time.
        drop(state);
        let start = Instant::now();
        let progress = self.execute(&ops, false);
        ops.drain(..progress.taken);
        let slow = start.elapsed() > SLOW;
        let mut state = self.backlog.state.lock();
        if progress.failed.is_some() {
            state.failed = true;
        } else if slow || !ops.is_empty() {
            state.to_thread = true;
            state.waiting.extend(ops);
            self.wake_thread(&mut state);
        }
        reports(self, &progress)
    }

    fn wake_thread(self: &Arc<Self>, state: &mut State) {
        if state.waiting.is_empty() {
            return;
        }
        if state.started {
            self.backlog.wake.notify_one();
            return;
        }
        let directory = Arc::clone(self);
        let thread = std::thread::Builder::new().name(format!("disk-{}", self.id));
        match thread.spawn(move || directory.work()) {
            Ok(_) => state.started = true,
            Err(error) => tracing::error!("cannot start the thread of log directory {}: {error}", self.id),
        }
    }

    /// The thread: takes what waits, does it, tells the core, sleeps.
    fn work(self: Arc<Self>) {
        let mut slow = false;
        loop {
            let ops = {
                let mut state = self.backlog.state.lock();
                loop {
                    if state.stopped {
                        return;
                    }
                    if !state.waiting.is_empty() {
                        break;
                    }
                    state.to_thread = slow;
                    self.backlog.wake.wait(&mut state);
                }
                let ops: Vec<_> = std::mem::take(&mut state.waiting).into();
                ops
            };
            // Waiting for the medium is what the thread is for; only other operations tell a slow directory.
            let waits = ops.iter().any(|(_, op)| forces_to_medium(op));
            let start = Instant::now();
            let progress = self.execute(&ops, true);
            slow = !waits && start.elapsed() > SLOW;
            if progress.failed.is_some() {
                let mut state = self.backlog.state.lock();
                state.failed = true;
                state.waiting.clear();
            }
            drop(ops);
            if let Some(notify) = self.notify.get() {
                reports(&self, &progress).into_iter().for_each(notify);
            }
        }
    }
}

fn reports(directory: &Directory, progress: &Progress) -> Reports {
    let dir = directory.id;
    let done = progress.done.map(|upto| Input::DiskDone { dir, upto });
    let failed = progress
        .failed
        .map(|(ticket, error)| Input::DiskFailed { dir, ticket, error });
    done.into_iter().chain(failed).collect()
}
