//! The whole broker as a value.
//!
//! A host makes one with [`Broker::boot`], pushes [`Input`]s in with [`Broker::handle`], calls
//! [`Broker::work`] while it says that more is queued, takes every [`Output`] and asks
//! [`Broker::poll_timeout`] when it wants a [`Input::Tick`]:
//!
//! ```text
//! frame -> admit(frame, admission, now, workspace)      on the connection's side, no lock
//!            Malformed: close            Admitted: Input::Request
//! loop { handle(now, input); while work(now, 64) {}; while poll_output() -> Output {} }
//! ```
//!
//! - The first outputs are jobs ([`run_job`]); then [`Output::Admission`], and [`Output::Ready`] when
//!   connections may be accepted. A later `Admission` replaces the one before.
//! - Disk operations come out before what speaks of them; their end is told by `DiskDone { upto }`
//!   and, for what went aside, `AsideDone { upto }`.
//! - `Admitted` says what a connection needs: whether it is a produce, whether an answer comes, its
//!   ids, its bytes. Answers may come in any order. One with no part frees its place and sends nothing.
//! - `Output::Close` closes that connection; the broker forgets it when `Disconnected` comes.
//! - `Input::Shutdown` is answered by `Output::Stopped`, after which nothing more comes. Requests that
//!   arrive in between close their connection.
//!
//! Reading order: `boot`, `storage` and `shutdown` are its life, `cluster` its place among others; [`admit`](mod@admit), `produce` and
//! [`fetch`](mod@fetch) the way of a record; `groups` the coordinator of consumer groups; `parked` and `work` how requests wait and take turns;
//! `topics` the replicas that it holds; `leadership` what clients of others' are told; the rest is a file per request.
//!
//! Invariants
//! - every request gets one answer, or its connection is closed
//! - no call does work that grows with the number of partitions, but for what `work` cuts into steps
//! - a panic in here ends the process: half-applied state is worse than recovery

pub mod admin;
mod admin_requests;
mod admit;
mod admit_answer;
mod api_versions;
mod boot;
mod caller;
mod changes;
mod cluster;
mod delete_records;
mod directories;
mod fetch;
mod figures;
mod groups;
mod inspect;
mod job;
mod jobs;
mod leadership;
mod log_dirs;

mod offsets;
mod parked;
mod produce;
mod producer_ids;
mod requests;
mod shutdown;
mod storage;
mod timers;
mod topics;
mod work;

use std::sync::Arc;

pub use admit::{Admission, Admitted, TopicRules, admit, admit_if_short};
pub use admit_answer::{AdmittedAnswer, AnswerBody, admit_answer};
pub use figures::{LeaderFigures, LogDirectoryFigures, LogFigures};
pub use inspect::ReplicaState;
pub use job::{Job, JobResult, Survey, run_job};

use boot::Booting;
use caller::Outbox;
use cluster::Cluster;
use delete_records::WaitingDeletions;
use directories::Directories;
use fetch::FarReads;
use fetch::session::FetchSessions;
use groups::GroupsHere;
use jobs::Jobs;

use parked::Parked;
use producer_ids::ProducerIds;
use shutdown::Stopping;
use timers::Timers;
use topics::Topics;

use crate::config::{BrokerConfig, Endpoint};
use crate::cx::Cx;
use crate::disk::DiskQueue;
use crate::error::DiskError;
use crate::io::{Input, Output};
use crate::metadata::MetadataImage;
use crate::record::Workspace;
use crate::replica::{Purgatory, Replication};
use crate::trace::Trace;
use crate::types::{Millis, Rng};

/// An unused fetch session may be pushed out after so long (`FetchManager`'s constant).
const SESSION_EVICTION_MS: Millis = 120_000;

/// What a host knows when it starts a broker.
#[derive(Clone, Debug)]
pub struct Boot {
    pub config: Arc<BrokerConfig>,
    /// Addresses that clients are told, one per listener; never 0.0.0.0.
    pub advertised: Vec<Endpoint>,
    /// One entry per directory of `log.dirs`, in order: its path, and whether the host could open and
    /// lock it.
    pub dirs: Vec<BootDir>,
    /// Seeds every draw of this life; a host takes it from the system's entropy.
    pub seed: u64,
}

/// A log directory at boot.
#[derive(Clone, Debug)]
pub struct BootDir {
    /// The whole path; only shown (DescribeLogDirs, lines for the operator).
    pub path: String,
    pub state: Result<(), DiskError>,
}

/// The broker. One owner, no locks inside; see the module's text.
#[derive(Clone, Debug)]
pub struct Broker {
    rng: Rng,
    disk: DiskQueue,
    state: State,
}

impl Broker {
    /// Starts a broker: its first outputs are the jobs that find out what is on disk.
    pub fn boot(now: Millis, boot: Boot, trace: &mut Trace) -> Self {
        let mut broker = Self {
            rng: Rng::new(boot.seed),
            disk: DiskQueue::default(),
            state: State::new(boot),
        };
        broker.enter(now, trace, State::survey);
        broker
    }

    /// Takes in what happened. Bounded work: what needs more is queued for [`Broker::work`].
    pub fn handle(&mut self, now: Millis, input: Input, trace: &mut Trace) {
        self.enter(now, trace, |state, cx| state.input(cx, input));
    }

    /// Carries out about `steps` queued steps of requests over many partitions; true while more are queued.
    pub fn work(&mut self, now: Millis, steps: usize, trace: &mut Trace) -> bool {
        self.enter(now, trace, |state, cx| state.work(cx, steps))
    }

    /// The next thing to do; call until `None`.
    pub fn poll_output(&mut self) -> Option<Output> {
        // First among what leaves: answers and jobs may speak of what these write.
        match self.disk.pop() {
            Some(queued) => Some(Output::Disk {
                dir: queued.dir,
                lane: queued.lane,
                ticket: queued.ticket,
                op: queued.op,
            }),
            None => self.state.out.pop(),
        }
    }

    /// When to call `handle` with [`Input::Tick`], if nothing comes before.
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.state.poll_timeout()
    }

    fn enter<T>(&mut self, now: Millis, trace: &mut Trace, run: impl FnOnce(&mut State, &mut Cx) -> T) -> T {
        let mut cx = Cx {
            now,
            rng: &mut self.rng,
            disk: &mut self.disk,
            cause: trace.cause,
            trace,
        };
        let result = run(&mut self.state, &mut cx);
        self.state.publish_admission();
        result
    }
}

/// Where the broker stands in its life.
#[derive(Clone, Debug)]
enum Phase {
    Booting(Booting),
    Running,
    Stopping(Stopping),
    Stopped,
}

/// What the broker knows; every decision is a method on it, in the file of its subject.
#[derive(Clone, Debug)]
struct State {
    /// `server.properties` with what AlterConfigs set laid over it.
    config: Arc<BrokerConfig>,
    advertised: Vec<Endpoint>,
    phase: Phase,
    out: Outbox,
    directories: Directories,
    /// What this broker was told of the cluster; reading requests are answered from it.
    image: Arc<MetadataImage>,
    cluster: Cluster,
    producer_ids: ProducerIds,
    topics: Topics,
    replication: Replication,
    admission_changed: bool,
    purgatory: Purgatory<Parked>,
    waiting_deletions: WaitingDeletions,
    sessions: FetchSessions,
    groups: GroupsHere,
    far_reads: FarReads,
    jobs: Jobs,
    steps: work::Steps,
    timers: Timers,
    /// For batches that must be checked a second time.
    workspace: Workspace,
}

impl State {
    fn new(boot: Boot) -> Self {
        let slots = boot.config.max_incremental_fetch_session_cache_slots.max(0) as usize;
        let dirs = boot.dirs.into_iter().map(|dir| (dir.path, dir.state.err()));
        let replication = Replication::new(&boot.config);
        let groups = GroupsHere::new(&boot.config);
        Self {
            config: boot.config,
            advertised: boot.advertised,
            phase: Phase::Booting(Booting::default()),
            out: Outbox::default(),
            directories: Directories::new(dirs),
            image: Arc::default(),
            cluster: Cluster::default(),
            producer_ids: ProducerIds::default(),
            topics: Topics::default(),
            replication,
            admission_changed: false,
            purgatory: Purgatory::default(),
            waiting_deletions: WaitingDeletions::default(),
            sessions: FetchSessions::new(slots, SESSION_EVICTION_MS),
            groups,
            far_reads: FarReads::default(),
            jobs: Jobs::default(),
            steps: work::Steps::new(),
            timers: Timers::default(),
            workspace: Workspace::default(),
        }
    }

    fn input(&mut self, cx: &mut Cx, input: Input) {
        if matches!(self.phase, Phase::Stopped) {
            return;
        }
        match input {
            Input::Request {
                conn,
                request,
                listener,
                body,
            } => self.request(cx, conn, request, listener, *body),
            Input::Disconnected { conn } => self.disconnected(conn),
            Input::DiskDone { dir, upto } => self.disk_done(cx, dir, upto),
            Input::AsideDone { dir, upto } => self.aside_done(cx, dir, upto),
            Input::DiskFailed { dir, error, .. } => self.directory_failed(cx, dir, error),
            Input::JobDone { job, result } => self.job_done(cx, job, result),
            Input::Coordination { session, event } => self.coordination(cx, session, event),
            Input::Response { id, answer } => self.response(cx, id, *answer),
            Input::SendFailed { id, why } => self.send_failed(cx, id, why),
            Input::Shutdown => self.shutdown(cx),
            Input::Tick => self.tick(cx),
        }
    }

    fn poll_timeout(&self) -> Option<Millis> {
        let waiting = [
            self.purgatory.next_deadline(),
            self.timers.next(),
            self.groups.next(),
            self.cluster_timeout(),
        ];
        waiting.into_iter().flatten().min()
    }

    /// Tells the connections' side of changed rules, once for all changes of a call.
    fn publish_admission(&mut self) {
        if self.admission_changed && self.is_running() {
            self.admission_changed = false;
            let admission = Arc::new(self.topics.admission());
            self.out.push_first(std::iter::once(Output::Admission(admission)));
        }
    }
}

#[cfg(test)]
mod tests;
