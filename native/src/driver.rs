//! Drives the core: whoever has input takes the core's lock and does what the core says.
//!
//! There is no thread that owns the core and no channel to it: the thread that read a request runs
//! it through to its answer, and a thread that finds the core taken leaves its input in the queue,
//! since whoever has the core looks at the queue again after giving it back.
//!
//! Invariants
//! - no input stays in the queue while nobody drives: see [`Driver::drive`]
//! - disk operations are handed over in the order in which the core gave them
//! - an answer is put into its slot under the lock and sent outside; slots restore the order

use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use crossbeam_queue::SegQueue;
use highwater_core::broker::{Admission, Broker, Job, run_job};
use highwater_core::config::BrokerConfig;
use highwater_core::coordination::CoordinationEvent;
use highwater_core::disk::{DirId, Queued};
use highwater_core::io::{ConnId, Input, JobId, Level, Output, Parts, RequestId};
use highwater_core::log;
use highwater_core::trace::Trace;
use highwater_core::types::Millis;
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::coordination::{CoordinationHost, Tell};
use crate::disk::{Disk, JobReader};
use crate::outbound::Outgoing;
use crate::peers::{self, PeerCaller, Peers};
use crate::progress::JobProgress;
use crate::server::{Answer, Connection, Connections};
use crate::timer::Timer;

/// Inputs handled before their outputs are carried out: enough to merge, few enough to answer soon.
const INPUTS_A_ROUND: usize = 128;
/// Queued steps of large requests done between inputs.
const STEPS_A_ROUND: usize = 64;

/// What is driven: the broker, or in tests something smaller. All methods as on [`Broker`].
pub trait Machine: Send {
    fn handle(&mut self, now: Millis, input: Input);
    fn work(&mut self, now: Millis, steps: usize) -> bool;
    fn poll_output(&mut self) -> Option<Output>;
    fn poll_timeout(&self) -> Option<Millis>;
    /// The broker, to look at; `None` for something smaller.
    fn broker(&self) -> Option<&Broker> {
        None
    }
}

/// The broker with nobody listening to its trace.
pub struct Untraced {
    broker: Broker,
    trace: Trace,
}

impl Untraced {
    pub fn new(broker: Broker) -> Self {
        Self {
            broker,
            trace: Trace::off(),
        }
    }
}

impl Machine for Untraced {
    fn handle(&mut self, now: Millis, input: Input) {
        self.broker.handle(now, input, &mut self.trace);
    }
    fn work(&mut self, now: Millis, steps: usize) -> bool {
        self.broker.work(now, steps, &mut self.trace)
    }
    fn poll_output(&mut self) -> Option<Output> {
        self.broker.poll_output()
    }
    fn poll_timeout(&self) -> Option<Millis> {
        self.broker.poll_timeout()
    }
    fn broker(&self) -> Option<&Broker> {
        Some(&self.broker)
    }
}

/// Where the broker's life stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    Starting,
    /// Connections may be accepted.
    Ready,
    /// Over: in order, or with the reason why not.
    Stopped {
        failed: Option<String>,
    },
}

/// The core and all that it needs of this machine.
pub struct Driver {
    queue: SegQueue<Input>,
    core: Mutex<Box<dyn Machine>>,
    pub disk: Disk,
    pub connections: Connections,
    pub peers: Peers,
    /// Set once, before the start; without it every session is refused (tests of something smaller).
    coordination: OnceLock<Arc<dyn CoordinationHost>>,
    pub clock: Clock,
    pub admission: ArcSwap<Admission>,
    timer: Timer,
    stage: watch::Sender<Stage>,
    /// Runs jobs; without one they run where they come up (tests).
    pool: Option<Handle>,
}

/// What one round leaves to be done without the lock.
#[derive(Default)]
struct Round {
    /// Connections that have something to send and are not at work themselves.
    to_send: Vec<Arc<Connection>>,
    closes: Vec<(ConnId, String)>,
    jobs: Vec<(JobId, Job)>,
    more_work: bool,
}

impl Driver {
    /// Wires core, disk and connections together. Nothing happens before [`start`](Self::start).
    pub fn new(
        core: Box<dyn Machine>,
        disk: Disk,
        connections: Connections,
        clock: Clock,
        pool: Option<Handle>,
    ) -> Arc<Self> {
        let driver = Arc::new(Self {
            queue: SegQueue::new(),
            core: Mutex::new(core),
            disk,
            connections,
            peers: Peers::default(),
            coordination: OnceLock::new(),
            clock,
            admission: ArcSwap::default(),
            timer: Timer::new(),
            stage: watch::Sender::new(Stage::Starting),
            pool,
        });
        let weak = Arc::downgrade(&driver);
        driver.disk.notify_with(move |input| {
            if let Some(driver) = weak.upgrade() {
                driver.submit(input);
            }
        });
        let weak = Arc::downgrade(&driver);
        driver.disk.reset_readers_with(move |file| {
            if let Some(driver) = weak.upgrade() {
                driver.connections.reset_readers_of(file);
            }
        });
        driver
    }

    /// Lets this broker speak to others, on these threads.
    pub fn speak_to_peers(self: &Arc<Self>, config: &BrokerConfig, threads: Vec<Handle>) {
        let weak = Arc::downgrade(self);
        let caller = PeerCaller::new(config, move |input| {
            if let Some(driver) = weak.upgrade() {
                driver.submit(input);
            }
        });
        self.peers.start(caller, peers::limits(config), threads);
    }

    /// Says who serves this broker's sessions. `attach` is handed the way back to this driver.
    pub fn coordinate_with(self: &Arc<Self>, attach: impl FnOnce(Tell) -> Arc<dyn CoordinationHost>) {
        let weak = Arc::downgrade(self);
        let host = attach(Arc::new(move |session, event| {
            if let Some(driver) = weak.upgrade() {
                driver.submit(Input::Coordination { session, event });
            }
        }));
        // Set twice, the first one stays: there is one.
        let _ = self.coordination.set(host);
    }

    /// Who serves this broker's sessions.
    pub fn coordination(&self) -> Option<&Arc<dyn CoordinationHost>> {
        self.coordination.get()
    }

    /// Takes the core's first outputs and starts the timer.
    pub fn start(self: &Arc<Self>) {
        if self.clock.runs()
            && let Some(pool) = &self.pool
        {
            let driver = Arc::clone(self);
            pool.spawn(async move {
                loop {
                    driver.timer.due(&driver.clock).await;
                    driver.submit(Input::Tick);
                }
            });
        }
        self.rounds(true);
    }

    /// When the core wants its next tick: for hosts that turn the clock by hand.
    pub fn due(&self) -> Option<Millis> {
        self.timer.deadline()
    }

    /// Follows the broker's life.
    pub fn stage(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// Looks at the broker between its inputs, which wait meanwhile: look at little.
    pub fn look<T>(self: &Arc<Self>, look: impl FnOnce(&Broker) -> T) -> Option<T> {
        let seen = self.core.lock().broker().map(look);
        // Who found the core taken has left its input to us.
        self.drive();
        seen
    }

    /// Queues what happened and sees to it that it is handled.
    pub fn submit(self: &Arc<Self>, input: Input) {
        self.push(input);
        self.drive();
    }

    /// Queues what happened; [`drive`](Self::drive) must follow.
    pub fn push(&self, input: Input) {
        self.queue.push(input);
    }

    /// Handles what is queued, unless somebody else is at it, who will then.
    ///
    /// That nothing is left lying: we push, then try the lock; the holder unlocks, then looks at the
    /// queue. With a full fence between the two steps on both sides, at least one of us sees the other.
    pub fn drive(self: &Arc<Self>) {
        fence(Ordering::SeqCst);
        self.rounds(false);
    }

    /// Rounds while there is input, or while the core has `more_work`.
    fn rounds(self: &Arc<Self>, mut more_work: bool) {
        while more_work || !self.queue.is_empty() {
            let Some(mut core) = self.core.try_lock().or_else(|| self.wait_in_line()) else {
                return;
            };
            let round = self.round(core.as_mut());
            drop(core);
            fence(Ordering::SeqCst);
            more_work = round.more_work;
            for connection in round.to_send {
                self.connections.send(&connection, &self.clock);
            }
            for (conn, reason) in round.closes {
                self.connections.close(conn, reason);
            }
            for (job, work) in round.jobs {
                self.run(job, work);
            }
        }
    }

    /// With `queued.max.requests` in the queue, who brings more waits for the core instead of leaving it
    /// to whoever has it: so the queue grows no further.
    fn wait_in_line(&self) -> Option<MutexGuard<'_, Box<dyn Machine>>> {
        let is_full = self.queue.len() >= self.connections.limits.queued_max_requests;
        is_full.then(|| self.core.lock())
    }

    /// Handles a share of the queue and carries out what the core wants, until it wants no more.
    fn round(self: &Arc<Self>, core: &mut dyn Machine) -> Round {
        let _guard = EndTheProcess;
        let mut round = Round::default();
        let now = self.clock.now();
        for _ in 0..INPUTS_A_ROUND {
            let Some(input) = self.queue.pop() else { break };
            core.handle(now, input);
        }
        round.more_work = core.work(now, STEPS_A_ROUND);
        let mut operations = Operations::new();
        loop {
            while let Some(output) = core.poll_output() {
                match output {
                    Output::Disk {
                        dir,
                        lane,
                        ticket,
                        op,
                    } => queue(
                        &mut operations,
                        Queued {
                            dir,
                            lane,
                            ticket,
                            op,
                        },
                    ),
                    // Later than the operations: a job may read what they wrote.
                    Output::Job { job, work } => round.jobs.push((job, work)),
                    other => self.carry_out(other, &mut round),
                }
            }
            if operations.is_empty() {
                break;
            }
            for (dir, ops) in operations.drain(..) {
                for report in self.disk.run(dir, ops) {
                    core.handle(now, report);
                }
            }
        }
        self.timer.set(core.poll_timeout());
        round
    }

    fn carry_out(self: &Arc<Self>, output: Output, round: &mut Round) {
        match output {
            Output::Disk { .. } | Output::Job { .. } => {}
            Output::OpenSession { session, timeout_ms } => match self.coordination.get() {
                Some(coordination) => coordination.open(session, timeout_ms),
                None => self.push(Input::Coordination {
                    session,
                    event: CoordinationEvent::Lost {
                        why: "this host has no coordination service".to_owned(),
                    },
                }),
            },
            Output::CloseSession { session } => {
                if let Some(coordination) = self.coordination.get() {
                    coordination.close(session);
                }
            }
            Output::Coordinate { session, id, op } => {
                if let Some(coordination) = self.coordination.get() {
                    coordination.ask(session, id, op);
                }
            }
            Output::Send { to, id, sent, frame } => {
                let request = Outgoing {
                    id,
                    sent,
                    answered: true,
                    frame,
                };
                if let Err(why) = self.peers.send(to, request) {
                    self.push(Input::SendFailed { id, why });
                }
            }
            Output::Respond { conn, request, parts } => match self.answer(conn, request, parts) {
                Ok(connection) => {
                    let new = |c: &Arc<Connection>| round.to_send.iter().all(|known| known.id != c.id);
                    round.to_send.extend(connection.filter(new));
                }
                Err(reason) => round.closes.push((conn, reason)),
            },
            Output::Close { conn, reason } => round.closes.push((conn, reason)),
            Output::Admission(admission) => self.admission.store(admission),
            Output::Say { level, text } => match level {
                Level::Info => tracing::info!("{text}"),
                Level::Warn => tracing::warn!("{text}"),
                Level::Error => tracing::error!("{text}"),
            },
            Output::Ready => self.enter(Stage::Ready),
            Output::Stopped { failed } => self.enter(Stage::Stopped { failed }),
        }
    }

    fn enter(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    /// Ties the file parts of an answer to open files, now: the core's next operation may close one.
    /// And puts it into its slot, now: the next operation may be a truncation, which has to know of it.
    fn answer(
        &self,
        conn: ConnId,
        request: RequestId,
        parts: Parts,
    ) -> Result<Option<Arc<Connection>>, String> {
        let answer = Answer::new(conn, request, parts, |file| self.disk.file(file))?;
        Ok(self.connections.place(answer))
    }

    /// Runs a job without the lock: here if it only looks something up that is in memory, else on
    /// the pool.
    fn run(self: &Arc<Self>, job: JobId, work: Job) {
        let is_look_up = matches!(work, Job::Log(log::Job::Locate(_) | log::Job::LocateTime(_)));
        if is_look_up {
            let reader = JobReader::of_memory(&self.disk);
            let result = run_job(work.clone(), &reader, &mut |_| {});
            if !reader.was_cold() {
                self.push(Input::JobDone { job, result });
                return;
            }
        }
        let driver = Arc::clone(self);
        let run = move || {
            let mut progress = JobProgress::of(&work);
            let reader = JobReader::new(&driver.disk);
            let result = run_job(work, &reader, &mut |come| progress.tell(come));
            driver.push(Input::JobDone { job, result });
            driver
        };
        match &self.pool {
            Some(pool) => {
                pool.spawn_blocking(move || run().drive());
            }
            None => drop(run()),
        }
    }
}

/// Operations that wait for the end of a round, by directory.
type Operations = SmallVec<[(DirId, Vec<Queued>); 1]>;

fn queue(operations: &mut Operations, queued: Queued) {
    match operations.iter_mut().find(|(of, _)| *of == queued.dir) {
        Some((_, ops)) => ops.push(queued),
        None => operations.push((queued.dir, vec![queued])),
    }
}

/// A panic in the core leaves half-applied state, which is worse than a recovery.
pub(crate) struct EndTheProcess;

impl Drop for EndTheProcess {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!("the core panicked; the broker ends here and recovers at its next start");
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests;
