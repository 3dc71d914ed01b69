//! The whole broker as a value.
//!
//! A host makes one with [`Broker::boot`], pushes [`Input`]s in with [`Broker::handle`], calls
//! [`Broker::work`] while it says that more is queued, takes every [`Output`] and asks
//! [`Broker::poll_timeout`] when it wants a [`Input::Tick`]:
//!
//! ```text
//! frame -> admit(frame, admission, now)   on the connection's side, no lock
//!            Malformed: close            Admitted: Input::Request
//! loop { handle(now, input); while work(now, 64) {}; while poll_output() -> Output {} }
//! ```
//!
//! Life: boot -> `Job`s (survey, recovery) -> `Output::Ready` -> requests -> `Input::Shutdown` ->
//! `Output::Stopped`. A panic in here ends the process: half-applied state is worse than recovery.

mod admit;
mod job;
pub mod metadata;

use std::collections::VecDeque;

pub use admit::{Admission, Admitted, admit};
pub use job::{Job, JobResult, Survey, run_job};

use crate::disk::DiskQueue;
use crate::error::DiskError;
use crate::io::{Input, JobId, Output};
use crate::trace::Trace;
use crate::types::{BrokerId, Millis};

/// What a host knows when it starts a broker.
#[derive(Clone, Debug)]
pub struct Boot {
    pub node_id: BrokerId,
    /// Addresses that clients are told, one per listener; never 0.0.0.0.
    pub listeners: Vec<Listener>,
    /// One entry per directory of `log.dirs`, in order: its path as configured, and whether the host could
    /// open and lock it.
    pub dirs: Vec<BootDir>,
    /// Seeds every draw of this life; a host takes it from the system's entropy.
    pub seed: u64,
}

/// An address of this broker as clients are told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    pub name: String,
    pub host: String,
    pub port: u16,
}

/// A log directory at boot.
#[derive(Clone, Debug)]
pub struct BootDir {
    /// As it stands in `log.dirs`; only shown (DescribeLogDirs, lines for the operator).
    pub path: String,
    pub state: Result<(), DiskError>,
}

/// The broker. One owner, no locks inside; see the module's text.
#[derive(Debug)]
pub struct Broker {
    boot: Boot,
    disk: DiskQueue,
    outputs: VecDeque<Output>,
    next_job: JobId,
}

impl Broker {
    /// Starts a broker: its first outputs are the jobs that find out what is on disk.
    pub fn boot(_now: Millis, boot: Boot, _trace: &mut Trace) -> Self {
        let mut broker = Self {
            disk: DiskQueue::default(),
            outputs: VecDeque::new(),
            next_job: 0,
            boot,
        };
        for dir in 0..broker.boot.dirs.len() {
            broker.start_job(Job::Survey { dir: dir as u16 });
        }
        broker
    }

    /// Takes in what happened. Bounded work: what needs more is queued for [`Broker::work`].
    pub fn handle(&mut self, _now: Millis, input: Input, _trace: &mut Trace) {
        match input {
            Input::Request { conn, body, .. } => self.outputs.push_back(Output::Close {
                conn,
                reason: format!("API {} is not served yet", body.api),
            }),
            Input::JobDone { .. } => self.outputs.push_back(Output::Ready),
            Input::Shutdown => self.outputs.push_back(Output::Stopped { failed: None }),
            Input::Disconnected { .. } | Input::DiskDone { .. } | Input::DiskFailed { .. } | Input::Tick => {}
        }
    }

    /// Carries out up to `steps` queued steps of requests over many partitions; true while more are queued.
    pub fn work(&mut self, _now: Millis, _steps: usize, _trace: &mut Trace) -> bool {
        false
    }

    /// The next thing to do; call until `None`.
    pub fn poll_output(&mut self) -> Option<Output> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        let queued = self.disk.take();
        self.outputs.extend(
            queued
                .into_iter()
                .map(|(dir, ticket, op)| Output::Disk { dir, ticket, op }),
        );
        self.outputs.pop_front()
    }

    /// When to call `handle` with [`Input::Tick`], if nothing comes before.
    pub fn poll_timeout(&self) -> Option<Millis> {
        None
    }

    fn start_job(&mut self, work: Job) -> JobId {
        let job = self.next_job;
        self.next_job += 1;
        self.outputs.push_back(Output::Job { job, work });
        job
    }
}
