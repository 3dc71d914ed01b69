//! A host in memory: one broker, its disk, a clock turned by hand.
//!
//! Everything that a native host does happens here at once and in order: operations on the
//! [`MemoryDisk`], jobs inline, answers put together from their parts. What must be slow can be held:
//! a held directory's operations wait until they are let go. Time moves only by
//! [`advance`](Host::advance), which stops at every time-out that the broker names.
//!
//! ```
//! use highwater_core::protocol::messages::ApiVersionsRequest;
//! use highwater_core::protocol::RequestBody;
//! use highwater_core::sim::Host;
//!
//! let mut host = Host::start(&["broker.id=1"]);
//! let client = host.connect();
//! let answer = host.ask(client, 0, &RequestBody::ApiVersions(ApiVersionsRequest::default()));
//! assert!(answer.is_some());
//! ```
//!
//! Invariants
//! - after each call the broker has nothing left to say and no work queued
//! - operations of a directory are taken in the order of their tickets, or the host panics
//! - a crash loses what was not written, a loss of power what was not synced; nothing else does

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::coordination::EmbeddedService;
use crate::broker::{Admission, Boot, BootDir, Broker, Job, admit, run_job};
use crate::config::{BrokerConfig, Endpoint, Setting};
use crate::coordination::ServiceInput;
use crate::disk::memory::MemoryDisk;
use crate::disk::{DirId, DiskOp, Lane, Lanes, Ticket};
use crate::error::DiskError;
use crate::io::{ConnId, Input, JobId, Level, Output, Part, Parts, RequestId};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::{RequestBody, RequestHeader, ResponseBody, decode_response, encode_request};
use crate::record::Workspace;
use crate::trace::{Event, NodeId, Trace};
use crate::types::{Millis, Rng};

/// When a host's clock begins: 2023-11-14, as in the fixtures.
pub const EPOCH_MS: Millis = 1_700_000_000_000;
/// Steps of queued work between two looks at the outputs.
const STEPS: usize = 64;

/// What came back for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The frame, without its length.
    Frame(Bytes),
    /// acks=0: its place is free.
    Nothing,
}

/// Forms of the requests that are not answered yet, to read their answers by.
#[derive(Clone, Debug)]
struct Asked {
    header: RequestHeader,
}

/// One broker and everything around it.
#[derive(Debug)]
pub struct Host {
    pub now: Millis,
    pub disk: MemoryDisk,
    /// Remembers topics and settings; lives and dies with the broker.
    pub coordination: EmbeddedService,
    pub trace: Trace,
    /// Lines for the operator.
    pub said: Vec<(Level, String)>,
    /// Every disk operation carried out, in order, if asked for: to replay a part of them.
    pub operations: Option<Vec<(DirId, DiskOp)>>,
    /// `Some` once the broker has stopped; the reason, if it was no wish.
    pub stopped: Option<Option<String>>,
    pub ready: bool,
    boot: Boot,
    broker: Option<Broker>,
    admission: Arc<Admission>,
    workspace: Workspace,
    next_conn: ConnId,
    next_request: OrderedMap<ConnId, RequestId>,
    asked: OrderedMap<(ConnId, RequestId), Asked>,
    answers: OrderedMap<(ConnId, RequestId), Answer>,
    closed: OrderedMap<ConnId, String>,
    held: OrderedSet<DirId>,
    held_aside: OrderedSet<DirId>,
    lanes: OrderedMap<DirId, Lanes>,
    hold_jobs: bool,
    waiting_jobs: VecDeque<(JobId, Job)>,
    hold_work: bool,
}

impl Host {
    /// A broker with these settings (`key=value`) on an empty disk, booted.
    ///
    /// # Panics
    /// When a setting is not valid.
    pub fn start(settings: &[&str]) -> Self {
        Self::start_on(MemoryDisk::new(), settings)
    }

    /// The same on a disk that holds something already.
    ///
    /// # Panics
    /// When a setting is not valid.
    pub fn start_on(disk: MemoryDisk, settings: &[&str]) -> Self {
        let mut host = Self::new(disk, settings);
        host.boot();
        host
    }

    /// A host whose broker is not booted yet.
    ///
    /// # Panics
    /// When a setting is not valid.
    pub fn new(disk: MemoryDisk, settings: &[&str]) -> Self {
        let settings = settings.iter().map(|line| {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            Setting {
                key: key.to_owned(),
                value: value.to_owned(),
                place: "host".to_owned(),
            }
        });
        let loaded = match BrokerConfig::from_settings(settings.collect()) {
            Ok(loaded) => loaded,
            Err(error) => panic!("{error}"),
        };
        let config = Arc::new(loaded.config);
        let dirs = config.log_dirs.iter().map(|path| BootDir {
            path: path.clone(),
            state: Ok(()),
        });
        Self {
            now: EPOCH_MS,
            disk,
            coordination: EmbeddedService::default(),
            trace: Trace::off(),
            said: Vec::new(),
            operations: None,
            stopped: None,
            ready: false,
            boot: Boot {
                advertised: vec![Endpoint {
                    name: "PLAINTEXT".to_owned(),
                    host: "localhost".to_owned(),
                    port: 9092,
                }],
                dirs: dirs.collect(),
                config,
                seed: 1,
            },
            broker: None,
            admission: Arc::default(),
            workspace: Workspace::default(),
            next_conn: 0,
            next_request: OrderedMap::new(),
            asked: OrderedMap::new(),
            answers: OrderedMap::new(),
            closed: OrderedMap::new(),
            held: OrderedSet::new(),
            held_aside: OrderedSet::new(),
            lanes: OrderedMap::new(),
            hold_jobs: false,
            waiting_jobs: VecDeque::new(),
            hold_work: false,
        }
    }

    /// Listens to the facts from now on.
    pub fn listen(&mut self, node: NodeId) {
        self.trace = Trace::recording(node);
    }

    /// The facts since the last call.
    pub fn facts(&mut self) -> Vec<Event> {
        self.trace.take()
    }

    /// Boots a broker on the disk as it is. Each life has its own seed.
    pub fn boot(&mut self) {
        self.boot.seed += 1;
        self.stopped = None;
        self.ready = false;
        self.coordination.boot(self.now, &mut self.trace);
        let broker = Broker::boot(self.now, self.boot.clone(), &mut self.trace);
        self.broker = Some(broker);
        self.settle();
    }

    /// What a directory was like when the host tried to open it: for the next boot.
    pub fn set_boot_state(&mut self, dir: DirId, state: Result<(), DiskError>) {
        if let Some(dir) = self.boot.dirs.get_mut(usize::from(dir)) {
            dir.state = state;
        }
    }

    /// kill -9: what was written stays, whoever waits gets nothing.
    pub fn crash(&mut self) {
        self.forget();
        self.coordination.crash();
        self.disk.crash();
    }

    /// The power goes: what was not synced is gone.
    pub fn lose_power(&mut self) {
        self.forget();
        self.coordination.lose_power();
        self.disk.power_loss();
    }

    /// The power goes: what was synced stays, and any of the rest that the medium may have taken.
    pub fn lose_power_keeping(&mut self, rng: &mut Rng) {
        self.forget();
        self.coordination.lose_power();
        self.disk.power_loss_keeping(rng);
    }

    fn forget(&mut self) {
        self.broker = None;
        self.lanes.clear();
        self.waiting_jobs.clear();
        self.held.clear();
        self.held_aside.clear();
        self.asked.clear();
        self.answers.clear();
        self.closed.clear();
        self.next_request.clear();
    }

    /// Stops the broker in order, and closes its files.
    pub fn shut_down(&mut self) {
        self.handle(Input::Shutdown);
        self.forget();
        self.coordination.crash();
        self.disk.crash();
    }

    /// A new connection.
    pub fn connect(&mut self) -> ConnId {
        self.next_conn += 1;
        self.next_conn
    }

    /// The client leaves.
    pub fn disconnect(&mut self, conn: ConnId) {
        self.handle(Input::Disconnected { conn });
    }

    /// Sends a request; its answer may come at once or later.
    ///
    /// # Panics
    /// When the request cannot be encoded in that version.
    pub fn send(&mut self, conn: ConnId, version: i16, body: &RequestBody) -> RequestId {
        let request = self.next_request.get(&conn).copied().unwrap_or(0);
        let header = RequestHeader {
            api: body.api(),
            version,
            correlation_id: request as i32,
            client_id: Some("host".into()),
        };
        let frame = match encode_request(&header, body) {
            Ok(frame) => frame.slice(4..),
            Err(error) => panic!("{error}"),
        };
        self.asked.insert((conn, request), Asked { header });
        self.send_frame(conn, &frame);
        request
    }

    /// Sends the bytes of a frame, without its length.
    pub fn send_frame(&mut self, conn: ConnId, frame: &Bytes) -> RequestId {
        let next = self.next_request.entry(conn).or_insert(0);
        let request = *next;
        *next += 1;
        match admit(frame, &self.admission, self.now, &mut self.workspace) {
            Ok(admitted) => self.handle(Input::Request {
                conn,
                request,
                listener: 0,
                body: Box::new(admitted),
            }),
            Err(error) => {
                self.closed.insert(conn, error.to_string());
            }
        }
        request
    }

    /// The answer to a request, if it is there: taken away and decoded.
    ///
    /// # Panics
    /// When the broker's answer cannot be read.
    pub fn answer(&mut self, conn: ConnId, request: RequestId) -> Option<ResponseBody> {
        let Answer::Frame(frame) = self.raw_answer(conn, request)? else {
            return None;
        };
        let asked = self.asked.remove(&(conn, request))?;
        match decode_response(asked.header.api, asked.header.version, frame) {
            Ok(response) => Some(response.body),
            Err(error) => panic!("{:?}: {error}", asked.header),
        }
    }

    /// The bytes of an answer, if it is there: taken away.
    pub fn raw_answer(&mut self, conn: ConnId, request: RequestId) -> Option<Answer> {
        self.answers.remove(&(conn, request))
    }

    /// Sends a request and takes its answer, if that came at once.
    pub fn ask(&mut self, conn: ConnId, version: i16, body: &RequestBody) -> Option<ResponseBody> {
        let request = self.send(conn, version, body);
        self.answer(conn, request)
    }

    /// Why the broker closed the connection, if it did.
    pub fn closed(&self, conn: ConnId) -> Option<&str> {
        self.closed.get(&conn).map(String::as_str)
    }

    /// Lets time pass. The broker is called at each time-out that it named, not at others.
    pub fn advance(&mut self, by_ms: Millis) {
        let until = self.now + by_ms;
        while let Some(due) = self.next_due().filter(|&due| due <= until) {
            self.now = self.now.max(due);
            self.coordination
                .handle(self.now, ServiceInput::Tick, &mut self.trace);
            self.handle(Input::Tick);
        }
        self.now = until;
    }

    /// When the broker wants to be called.
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.broker.as_ref()?.poll_timeout()
    }

    /// When the broker does, or the service beside it.
    fn next_due(&self) -> Option<Millis> {
        let broker = self.poll_timeout();
        broker.into_iter().chain(self.coordination.poll_timeout()).min()
    }

    /// Operations of the directory wait from now on.
    pub fn hold(&mut self, dir: DirId) {
        self.held.insert(dir);
    }

    /// Operations aside of the directory wait from now on, and what must not overtake them.
    pub fn hold_aside(&mut self, dir: DirId) {
        self.held_aside.insert(dir);
    }

    /// Carries out what waited, and everything from now on.
    pub fn release(&mut self, dir: DirId) {
        self.held.remove(&dir);
        self.held_aside.remove(&dir);
        self.carry_out_ready(dir);
        self.settle();
    }

    /// What the coordination service writes waits from now on, or is carried out, with what waited.
    pub fn hold_coordination(&mut self, hold: bool) {
        self.coordination.hold(hold);
        self.settle();
    }

    /// The coordination service's disk fails.
    pub fn fail_coordination(&mut self, error: DiskError) {
        self.coordination.fail(self.now, error, &mut self.trace);
        self.settle();
    }

    /// Jobs wait from now on, or run again, with those that waited.
    pub fn hold_jobs(&mut self, hold: bool) {
        self.hold_jobs = hold;
        if !hold {
            for (job, work) in std::mem::take(&mut self.waiting_jobs) {
                self.run(job, work);
            }
            self.settle();
        }
    }

    /// Runs the job that has waited longest, while jobs are held.
    pub fn next_job(&mut self) {
        if let Some((job, work)) = self.waiting_jobs.pop_front() {
            self.run(job, work);
            self.settle();
        }
    }

    /// Queued work waits from now on, or goes on again.
    pub fn hold_work(&mut self, hold: bool) {
        self.hold_work = hold;
        self.settle();
    }

    /// Does so many steps of queued work, while it is held; whether there are more.
    pub fn work(&mut self, steps: usize) -> bool {
        let broker = self.broker.as_mut();
        let more = broker.is_some_and(|broker| broker.work(self.now, steps, &mut self.trace));
        self.settle();
        more
    }

    /// Gives the broker one input and lets everything follow that follows at once.
    pub fn handle(&mut self, input: Input) {
        self.tell(input);
        self.settle();
    }

    fn tell(&mut self, input: Input) {
        if let Some(broker) = &mut self.broker {
            broker.handle(self.now, input, &mut self.trace);
        }
    }

    fn serve(&mut self, input: ServiceInput) {
        self.coordination.handle(self.now, input, &mut self.trace);
    }

    fn settle(&mut self) {
        loop {
            while let Some(output) = self.next_output() {
                self.carry(output);
            }
            let Some((session, event)) = self.coordination.poll_event(self.now, &mut self.trace) else {
                return;
            };
            self.tell(Input::Coordination { session, event });
        }
    }

    fn next_output(&mut self) -> Option<Output> {
        let broker = self.broker.as_mut()?;
        loop {
            if let Some(output) = broker.poll_output() {
                return Some(output);
            }
            if self.hold_work || !broker.work(self.now, STEPS, &mut self.trace) {
                return broker.poll_output();
            }
        }
    }

    fn carry(&mut self, output: Output) {
        match output {
            Output::Respond { conn, request, parts } => {
                let answer = self.gather(&parts);
                self.answers.insert((conn, request), answer);
            }
            Output::Admission(admission) => self.admission = admission,
            Output::Ready => self.ready = true,
            Output::Close { conn, reason } => {
                self.closed.insert(conn, reason);
                self.tell(Input::Disconnected { conn });
            }
            Output::Disk {
                dir,
                lane,
                ticket,
                op,
            } => {
                self.lanes.entry(dir).or_default().push(lane, ticket, op);
                self.carry_out_ready(dir);
            }
            Output::Job { job, work } if self.hold_jobs => self.waiting_jobs.push_back((job, work)),
            Output::Job { job, work } => self.run(job, work),
            Output::OpenSession { session, timeout_ms } => self.serve(ServiceInput::Connect {
                client: session,
                timeout_ms,
                resume: None,
            }),
            Output::CloseSession { session } => self.serve(ServiceInput::Close { client: session }),
            Output::Coordinate { session, id, op } => self.serve(ServiceInput::Ask {
                client: session,
                id,
                op,
            }),
            Output::Send { id, .. } => self.tell(Input::SendFailed {
                id,
                why: "there is no other broker".to_owned(),
            }),
            Output::Say { level, text } => self.said.push((level, text)),
            Output::Stopped { failed } => self.stopped = Some(failed),
        }
    }

    /// Carries out what may begin, unless it is held.
    fn carry_out_ready(&mut self, dir: DirId) {
        while !self.held.contains(&dir) {
            let Some(lanes) = self.lanes.get_mut(&dir) else {
                return;
            };
            let aside = if self.held_aside.contains(&dir) {
                None
            } else {
                lanes
                    .begin(Lane::Aside)
                    .map(|(ticket, op)| (Lane::Aside, ticket, op))
            };
            let strict = || {
                lanes
                    .begin(Lane::Strict)
                    .map(|(ticket, op)| (Lane::Strict, ticket, op))
            };
            let Some((lane, ticket, op)) = aside.or_else(strict) else {
                return;
            };
            lanes.done(lane, ticket);
            self.carry_out(dir, lane, ticket, &op);
        }
    }

    fn carry_out(&mut self, dir: DirId, lane: Lane, ticket: Ticket, op: &DiskOp) {
        if let Some(operations) = &mut self.operations {
            operations.push((dir, op.clone()));
        }
        match self.disk.apply(dir, op) {
            Ok(()) => self.tell(match lane {
                Lane::Strict => Input::DiskDone { dir, upto: ticket },
                Lane::Aside => Input::AsideDone { dir, upto: ticket },
            }),
            Err(error) => self.tell(Input::DiskFailed {
                dir,
                lane,
                ticket,
                error,
            }),
        }
    }

    fn run(&mut self, job: JobId, work: Job) {
        let result = run_job(work, &self.disk, &mut |_| {});
        self.tell(Input::JobDone { job, result });
    }

    /// Puts an answer together as a socket would: bytes, and ranges of files.
    fn gather(&self, parts: &Parts) -> Answer {
        if parts.is_empty() {
            return Answer::Nothing;
        }
        let mut frame = BytesMut::new();
        for part in parts {
            match part {
                Part::Bytes(bytes) => frame.extend_from_slice(bytes),
                Part::File { file, pos, len } => match self.disk.read_open(*file, *pos, *len as usize) {
                    Ok(bytes) => frame.extend_from_slice(&bytes),
                    Err(error) => panic!("a part of an answer cannot be read: {error}"),
                },
            }
        }
        let frame = frame.freeze();
        let length = frame
            .first_chunk()
            .map_or(0, |prefix| u32::from_be_bytes(*prefix));
        assert_eq!(
            length as usize + 4,
            frame.len(),
            "the length of an answer is what it says"
        );
        Answer::Frame(frame.slice(4..))
    }
}
