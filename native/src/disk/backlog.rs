//! What a directory still has to do, and its two threads, one a lane.
//!
//! A thread is started by the first operation that is for it and then sleeps while there is nothing.
//! While the strict lane's thread is busy, every strict operation goes to it, for order within a lane
//! is strict. What is aside always goes to the other thread: nobody who appends waits for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use highwater_core::disk::{DiskOp, Lane, Lanes, Queued, Ticket};
use highwater_core::io::Input;
use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;

use super::error::from_errno;
use super::operations::{Progress, forces_to_medium};
use super::{Directory, Reports};

/// An operation that took longer is a sign that the directory should not hold up the core.
const SLOW: Duration = Duration::from_millis(20);

#[cfg(test)]
pub(super) type BeforeAside = Box<dyn Fn(&DiskOp) + Send + Sync>;

#[derive(Default)]
pub(super) struct Backlog {
    /// A test lets no thread start.
    #[cfg(test)]
    pub no_threads: std::sync::atomic::AtomicBool,
    state: Mutex<State>,
    strict: Condvar,
    aside: Condvar,
    /// Runs before each operation aside: a test makes it slow.
    #[cfg(test)]
    pub before_aside: std::sync::OnceLock<BeforeAside>,
}

#[derive(Default)]
struct State {
    lanes: Lanes,
    /// Strict operations go to the thread, until it has caught up and was not slow.
    to_thread: bool,
    failed: bool,
    strict_started: bool,
    aside_started: bool,
    stopped: bool,
}

impl State {
    /// Takes the strict operations that may run now, up to one that waits for the medium, unless they
    /// `may_wait`.
    fn begin_strict(&mut self, may_wait: bool) -> Vec<(Ticket, DiskOp)> {
        let mut ops = Vec::new();
        while let Some(op) = self.lanes.ready(Lane::Strict)
            && (may_wait || !forces_to_medium(op))
        {
            ops.extend(self.lanes.begin(Lane::Strict));
        }
        ops
    }

    fn ended(&mut self, lane: Lane, progress: &Progress) {
        if let Some(upto) = progress.done {
            self.lanes.done(lane, upto);
        }
        if progress.failed.is_some() {
            self.failed = true;
            self.lanes.clear();
        }
    }
}

impl Backlog {
    /// Ends the threads after what they are doing; what waits is dropped.
    pub fn stop(&self) {
        self.state.lock().stopped = true;
        self.strict.notify_all();
        self.aside.notify_all();
    }

    fn wake(&self, lane: Lane) -> &Condvar {
        match lane {
            Lane::Strict => &self.strict,
            Lane::Aside => &self.aside,
        }
    }
}

impl Directory {
    pub(super) fn run(self: &Arc<Self>, queued: Vec<Queued>) -> Reports {
        let mut state = self.backlog.state.lock();
        if state.failed {
            return Reports::new();
        }
        for Queued { lane, ticket, op, .. } in queued {
            state.lanes.push(lane, ticket, op);
        }
        if state.to_thread {
            return self.wake_threads(&mut state).into_iter().collect();
        }
        let ops = state.begin_strict(false);
        // Nobody else runs strict operations of this directory now: the driver is one at a time.
        drop(state);
        let start = Instant::now();
        let progress = self.execute(&ops);
        let slow = start.elapsed() > SLOW;
        let mut state = self.backlog.state.lock();
        state.ended(Lane::Strict, &progress);
        state.to_thread = slow || !state.lanes.is_empty(Lane::Strict);
        let failed = self.wake_threads(&mut state);
        drop(state);
        let mut reports = reports(self, Lane::Strict, &progress);
        reports.extend(failed);
        reports
    }

    /// Wakes whoever has something to do; a thread is started when it first has. One that cannot be
    /// started fails the directory: nobody would ever do what waits.
    fn wake_threads(self: &Arc<Self>, state: &mut State) -> Option<Input> {
        for lane in [Lane::Strict, Lane::Aside] {
            let has_work = state.lanes.ready(lane).is_some() && (lane == Lane::Aside || state.to_thread);
            if !has_work || self.wake_thread(lane, state) {
                continue;
            }
            let (ticket, _) = state.lanes.begin(lane)?;
            state.failed = true;
            state.lanes.clear();
            let error = from_errno(Errno::AGAIN);
            let dir = self.id;
            return Some(Input::DiskFailed {
                dir,
                lane,
                ticket,
                error,
            });
        }
        None
    }

    /// False: there is no such thread and none can be started.
    fn wake_thread(self: &Arc<Self>, lane: Lane, state: &mut State) -> bool {
        let started = match lane {
            Lane::Strict => &mut state.strict_started,
            Lane::Aside => &mut state.aside_started,
        };
        if *started {
            self.backlog.wake(lane).notify_one();
            return true;
        }
        #[cfg(test)]
        if self.backlog.no_threads.load(std::sync::atomic::Ordering::SeqCst) {
            return false;
        }
        let directory = Arc::clone(self);
        let name = match lane {
            Lane::Strict => format!("disk-{}", self.id),
            Lane::Aside => format!("disk-{}-aside", self.id),
        };
        let thread = std::thread::Builder::new().name(name);
        match thread.spawn(move || directory.work(lane)) {
            Ok(_) => *started = true,
            Err(error) => tracing::error!("cannot start the thread of log directory {}: {error}", self.id),
        }
        *started
    }

    /// A lane's thread: takes what may run, does it, tells the core, sleeps.
    fn work(self: Arc<Self>, lane: Lane) {
        let mut slow = false;
        while let Some(ops) = self.next(lane, slow) {
            #[cfg(test)]
            if let Some(before) = self.backlog.before_aside.get()
                && lane == Lane::Aside
            {
                ops.iter().for_each(|(_, op)| before(op));
            }
            // Waiting for the medium is what the thread is for; only other operations tell a slow directory.
            let waits = ops.iter().any(|(_, op)| forces_to_medium(op));
            let start = Instant::now();
            let progress = self.execute(&ops);
            slow = !waits && start.elapsed() > SLOW;
            drop(ops);
            let mut state = self.backlog.state.lock();
            state.ended(lane, &progress);
            let failed = self.wake_threads(&mut state);
            drop(state);
            if let Some(notify) = self.notify.get() {
                let reports = reports(&self, lane, &progress);
                reports.into_iter().chain(failed).for_each(notify);
            }
        }
    }

    /// Waits until something of the lane may run. `None`: the directory is given up.
    fn next(&self, lane: Lane, slow: bool) -> Option<Vec<(Ticket, DiskOp)>> {
        let mut state = self.backlog.state.lock();
        while !state.stopped {
            let ops = match lane {
                Lane::Strict => state.begin_strict(true),
                // One by one: a truncation that waits for it shall not wait for those behind.
                Lane::Aside => state.lanes.begin(lane).into_iter().collect(),
            };
            if !ops.is_empty() {
                return Some(ops);
            }
            if lane == Lane::Strict && state.lanes.is_empty(lane) {
                state.to_thread = slow;
            }
            self.backlog.wake(lane).wait(&mut state);
        }
        None
    }
}

fn reports(directory: &Directory, lane: Lane, progress: &Progress) -> Reports {
    let dir = directory.id;
    let done = progress.done.map(|upto| match lane {
        Lane::Strict => Input::DiskDone { dir, upto },
        Lane::Aside => Input::AsideDone { dir, upto },
    });
    let failed = progress.failed.map(|(ticket, error)| Input::DiskFailed {
        dir,
        lane,
        ticket,
        error,
    });
    done.into_iter().chain(failed).collect()
}
