//! The coordination service: one tree for many brokers, as a value (what one ZooKeeper server does).
//!
//! A *client* is a connection. It opens a session or takes one up again, asks within it, and is told
//! what its watches see. A session outlives its connection until it was silent for its timeout; then
//! its ephemeral nodes go, all under one zxid, and whoever watched them is told.
//!
//! The tree runs ahead of the disk. What is asked is decided at once and in order, but nothing that
//! follows from a change is told to anybody before the sync behind that change is done: answers, reads
//! and watch events wait in one queue, each behind the zxid that it speaks of.
//!
//! Invariants
//! - operations of a session happen in the order in which they were asked; a read sees all before it
//! - what any client was told is on disk
//! - a watch event reaches a client before the answer that shows the change
//! - a session that was acknowledged is found again after a restart, with its nodes, and its time then
//!   begins anew, since nobody could be heard meanwhile
//! - an ephemeral node's session is open

use std::collections::VecDeque;
use std::sync::Arc;

use super::multi::{MultiError, NodeError};
use super::path;
use super::session::{
    CoordinationEvent, CoordinationOp, CoordinationReply, Found, OpId, Read, SessionId, WatchKind,
};
use super::sessions::{ClientId, Sessions};
use super::snapshot::Recovered;
use super::store::Coordination;
use super::tree::{Tree, Zxid};
use super::watches::{Fired, Watched, Watches};
use crate::cx::Cx;
use crate::disk::{DirId, DiskOp, DiskQueue, Ticket};
use crate::error::DiskError;
use crate::trace::{EventId, Fact, Trace};
use crate::types::{Millis, Rng};

/// The service has one directory, and it is the only one that it knows.
const DIR: DirId = 0;

/// How a service judges sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceOptions {
    /// A session gets at least so much (ZooKeeper's `minSessionTimeout`, by default two ticks of 2 s).
    pub min_session_timeout_ms: Millis,
    /// And at most so much (`maxSessionTimeout`, by default twenty ticks).
    pub max_session_timeout_ms: Millis,
    /// Sessions found on disk end at the start: for a host whose clients lived in the same process.
    pub expire_all_on_start: bool,
    /// Whether a session may end while somebody is connected in it. Where the connection itself tells
    /// that the client lives, silence means nothing.
    pub silence_expires: bool,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            min_session_timeout_ms: 4_000,
            max_session_timeout_ms: 40_000,
            expire_all_on_start: false,
            silence_expires: true,
        }
    }
}

/// A session to be taken up again, and what its client knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    pub session_id: SessionId,
    /// The greatest zxid that the client was told of.
    pub seen: Zxid,
    /// Its watches that have not told it anything yet.
    pub watches: Vec<(Arc<str>, WatchOn)>,
}

/// What a client's watch waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchOn {
    /// The bytes of a node that was there.
    Data,
    /// A node that was not there.
    Absent,
    Children,
}

/// What happened to the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceInput {
    /// A client is there: for a new session, or for one that it had.
    Connect {
        client: ClientId,
        /// As wished; what is agreed comes in `Connected`.
        timeout_ms: Millis,
        resume: Option<Resume>,
    },
    Ask {
        client: ClientId,
        id: OpId,
        op: CoordinationOp,
    },
    /// The client lives; it is answered by a [`ServiceOutput::Pong`].
    Ping { client: ClientId },
    /// The client ends its session: its nodes go at once.
    Close { client: ClientId },
    /// The connection is gone; its session goes on.
    Disconnected { client: ClientId },
    /// Every operation up to and with `upto` is done.
    DiskDone { upto: Ticket },
    /// An operation failed: the service is over.
    DiskFailed { error: DiskError },
    /// The time that `poll_timeout` named has come.
    Tick,
}

/// What shall happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceOutput {
    /// Tell the client. `zxid` is how far the tree had come, for [`Resume::seen`].
    Event {
        client: ClientId,
        zxid: Zxid,
        event: CoordinationEvent,
        cause: EventId,
    },
    /// Tell the client that the service lives.
    Pong { client: ClientId },
    /// Carry it out in the service's directory, in this order.
    Disk { ticket: Ticket, op: DiskOp },
}

/// Something to be told as soon as the change that it speaks of is on disk.
#[derive(Clone, Debug)]
struct Waiting {
    zxid: Zxid,
    client: ClientId,
    event: CoordinationEvent,
    cause: EventId,
}

/// The service. One owner drives it: inputs in, outputs out, as with a broker.
#[derive(Clone, Debug)]
pub struct Service {
    options: ServiceOptions,
    store: Coordination,
    sessions: Sessions,
    watches: Watches,
    disk: DiskQueue,
    waiting: VecDeque<Waiting>,
    /// Pings need no sync: they change nothing.
    pongs: VecDeque<ClientId>,
    /// Syncs under way, and the zxid up to which each makes the tree durable.
    syncs: VecDeque<(Ticket, Zxid)>,
    /// The zxid up to which a sync was asked for.
    synced: Zxid,
    durable: Zxid,
    /// Why the service is over, once it is.
    lost: Option<String>,
}

impl Service {
    /// Takes up what [`recover`](super::recover) found. Its first outputs are disk operations.
    pub fn open(now: Millis, recovered: Recovered, options: ServiceOptions, trace: &mut Trace) -> Self {
        let (mut disk, mut rng) = (DiskQueue::default(), Rng::new(0));
        let mut cx = Cx {
            now,
            rng: &mut rng,
            disk: &mut disk,
            trace,
            cause: EventId::NONE,
        };
        let store = Coordination::open(&mut cx, DIR, recovered);
        let zxid = store.tree().zxid();
        let mut service = Self {
            options,
            sessions: Sessions::default(),
            watches: Watches::default(),
            waiting: VecDeque::new(),
            pongs: VecDeque::new(),
            syncs: VecDeque::from([(disk.last_ticket(DIR), zxid)]),
            synced: zxid,
            durable: -1,
            lost: None,
            store,
            disk,
        };
        let found: Vec<_> = service.store.sessions().collect();
        for (session, timeout_ms) in found {
            service.sessions.insert(now, session, timeout_ms, EventId::NONE);
            if options.expire_all_on_start {
                service.with_cx(now, EventId::NONE, trace, |service, cx| {
                    service.expire(cx, session);
                });
            }
        }
        service
    }

    /// The tree with all that was decided, told or not.
    pub fn tree(&self) -> &Tree {
        self.store.tree()
    }

    /// The open sessions, and how long each may be silent.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionId, Millis)> {
        self.store.sessions()
    }

    /// Takes in what happened. `cause` is the event that it follows from, if one is known.
    pub fn handle(&mut self, now: Millis, input: ServiceInput, cause: EventId, trace: &mut Trace) {
        if self.lost.is_some() {
            self.refuse(&input, cause);
            return;
        }
        self.with_cx(now, cause, trace, |service, cx| service.take_in(cx, input));
    }

    /// Hands over the next thing to do. What was decided since the last call shares one sync.
    pub fn poll_output(&mut self) -> Option<ServiceOutput> {
        self.sync();
        if let Some(queued) = self.disk.pop() {
            return Some(ServiceOutput::Disk {
                ticket: queued.ticket,
                op: queued.op,
            });
        }
        if let Some(client) = self.pongs.pop_front() {
            return Some(ServiceOutput::Pong { client });
        }
        let told = self.waiting.pop_front_if(|first| first.zxid <= self.durable)?;
        Some(ServiceOutput::Event {
            client: told.client,
            zxid: told.zxid,
            event: told.event,
            cause: told.cause,
        })
    }

    /// When to call with [`ServiceInput::Tick`].
    pub fn poll_timeout(&self) -> Option<Millis> {
        if self.lost.is_some() {
            return None;
        }
        self.sessions.next_deadline()
    }

    fn with_cx<R>(
        &mut self,
        now: Millis,
        cause: EventId,
        trace: &mut Trace,
        work: impl FnOnce(&mut Self, &mut Cx<'_>) -> R,
    ) -> R {
        let mut disk = std::mem::take(&mut self.disk);
        // Nothing here is left to chance.
        let mut rng = Rng::new(0);
        let mut cx = Cx {
            now,
            rng: &mut rng,
            disk: &mut disk,
            trace,
            cause,
        };
        let result = work(self, &mut cx);
        self.disk = disk;
        result
    }

    fn take_in(&mut self, cx: &mut Cx<'_>, input: ServiceInput) {
        match input {
            ServiceInput::Connect {
                client,
                timeout_ms,
                resume,
            } => self.connect(cx, client, timeout_ms, resume),
            ServiceInput::Ask { client, id, op } => {
                if let Some(session) = self.hear(cx, client) {
                    self.ask(cx, client, session, id, &op);
                }
            }
            ServiceInput::Ping { client } => {
                if self.hear(cx, client).is_some() {
                    self.pongs.push_back(client);
                }
            }
            ServiceInput::Close { client } => self.close(cx, client),
            ServiceInput::Disconnected { client } => self.disconnected(client),
            ServiceInput::DiskDone { upto } => self.disk_done(upto),
            ServiceInput::DiskFailed { error } => self.lose(cx, &error),
            ServiceInput::Tick => self.tick(cx),
        }
    }

    /// Whatever a client says tells that it lives; answers its session.
    fn hear(&mut self, cx: &mut Cx<'_>, client: ClientId) -> Option<SessionId> {
        let session = self.sessions.of_client(client)?;
        self.sessions.touch(cx.now, session, cx.cause);
        Some(session)
    }

    fn connect(&mut self, cx: &mut Cx<'_>, client: ClientId, timeout_ms: Millis, resume: Option<Resume>) {
        let Some(resume) = resume else {
            let most = self.options.max_session_timeout_ms;
            let timeout_ms = timeout_ms.clamp(self.options.min_session_timeout_ms.min(most), most);
            let session = self.store.open_session(cx, timeout_ms);
            self.sessions.insert(cx.now, session, timeout_ms, cx.cause);
            self.sessions.attach(session, client);
            cx.cause = cx.emit(|| Fact::SessionOpened { session, timeout_ms });
            self.connected(cx, client, session, timeout_ms);
            return;
        };
        let session = resume.session_id;
        let Some(timeout_ms) = self.sessions.timeout_ms(session) else {
            self.tell(cx, client, CoordinationEvent::Expired);
            return;
        };
        self.sessions.touch(cx.now, session, cx.cause);
        if let Some(before) = self.sessions.attach(session, client) {
            self.watches.forget(before);
            self.tell(cx, before, CoordinationEvent::Disconnected);
        }
        cx.cause = cx.emit(|| Fact::SessionResumed { session });
        self.connected(cx, client, session, timeout_ms);
        for (path, on) in &resume.watches {
            self.watch_again(cx, client, path, *on, resume.seen);
        }
    }

    fn connected(&mut self, cx: &mut Cx<'_>, client: ClientId, session_id: SessionId, timeout_ms: Millis) {
        let event = CoordinationEvent::Connected {
            session_id,
            timeout_ms,
        };
        self.tell(cx, client, event);
    }

    /// Sets a watch that a client brings along, or tells at once what it has missed.
    fn watch_again(&mut self, cx: &mut Cx<'_>, client: ClientId, path: &Arc<str>, on: WatchOn, seen: Zxid) {
        let node = self.store.tree().get(path);
        let missed = match (on, node) {
            (WatchOn::Absent, Some(_)) => Some(WatchKind::Created),
            (WatchOn::Absent, None) => None,
            (WatchOn::Data | WatchOn::Children, None) => Some(WatchKind::Deleted),
            (WatchOn::Data, Some(node)) => (node.stat.mzxid > seen).then_some(WatchKind::DataChanged),
            (WatchOn::Children, Some(node)) => {
                (node.children_zxid() > seen).then_some(WatchKind::ChildrenChanged)
            }
        };
        match missed {
            Some(what) => {
                let path = path.clone();
                self.told(cx, Fired { client, path, what });
            }
            None if on == WatchOn::Children => self.watches.set(client, Watched::Children, path),
            None => self.watches.set(client, Watched::Data, path),
        }
    }

    fn ask(&mut self, cx: &mut Cx<'_>, client: ClientId, session: SessionId, id: OpId, op: &CoordinationOp) {
        let result = match op {
            CoordinationOp::Multi(multi) => self.store.append(cx, multi, session).map(|results| {
                let fired = self.watches.fire(multi, &results);
                self.tell_watches(cx, fired);
                CoordinationReply::Multi(results)
            }),
            CoordinationOp::Read(reads) => self.read(client, reads).map(CoordinationReply::Read),
        };
        self.tell(cx, client, CoordinationEvent::Done { id, result });
    }

    fn read(&mut self, client: ClientId, reads: &[Read]) -> Result<Vec<Found>, MultiError> {
        let look = |(index, read): (usize, &Read)| {
            let (Read::Data { path, watch } | Read::Children { path, watch }) = read;
            if !path::is_valid(path) {
                return Err(MultiError {
                    index: index as u32,
                    path: path.clone(),
                    error: NodeError::BadArguments,
                });
            }
            let node = self.store.tree().get(path);
            // ZooKeeper has no watch for the children of a node that is not there.
            let (watched, is_set) = match read {
                Read::Data { .. } => (Watched::Data, *watch),
                Read::Children { .. } => (Watched::Children, *watch && node.is_some()),
            };
            if is_set {
                self.watches.set(client, watched, path);
            }
            Ok(match read {
                Read::Data { .. } => Found::Data(node.map(|node| (node.data.clone(), node.stat))),
                Read::Children { .. } => {
                    Found::Children(node.map(|_| self.store.tree().children(path).cloned().collect()))
                }
            })
        };
        reads.iter().enumerate().map(look).collect()
    }

    /// Ends the client's session by its own wish.
    fn close(&mut self, cx: &mut Cx<'_>, client: ClientId) {
        let Some(session) = self.sessions.of_client(client) else {
            return;
        };
        cx.cause = cx.emit(|| Fact::SessionClosed { session });
        self.end(cx, session);
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        for silent in self.sessions.silent(cx.now) {
            if !self.options.silence_expires && self.sessions.is_connected(silent.session) {
                self.sessions.touch(cx.now, silent.session, silent.heard);
                continue;
            }
            cx.cause = silent.heard;
            self.expire(cx, silent.session);
        }
    }

    fn expire(&mut self, cx: &mut Cx<'_>, session: SessionId) {
        cx.cause = cx.emit(|| Fact::SessionExpired { session });
        if let Some(client) = self.end(cx, session) {
            self.tell(cx, client, CoordinationEvent::Expired);
        }
    }

    /// The session is over, and its nodes with it; answers who was connected in it.
    fn end(&mut self, cx: &mut Cx<'_>, session: SessionId) -> Option<ClientId> {
        let client = self.sessions.remove(session);
        client.into_iter().for_each(|client| self.watches.forget(client));
        let mut fired = Vec::new();
        for path in self.store.close_session(cx, session) {
            self.watches.deleted(&path, &mut fired);
        }
        self.tell_watches(cx, fired);
        client
    }

    fn disconnected(&mut self, client: ClientId) {
        self.sessions.detach(client);
        self.watches.forget(client);
        self.waiting.retain(|waiting| waiting.client != client);
        self.pongs.retain(|pong| *pong != client);
    }

    fn disk_done(&mut self, upto: Ticket) {
        self.store.disk_done(upto);
        while let Some((_, zxid)) = self.syncs.pop_front_if(|(ticket, _)| *ticket <= upto) {
            self.durable = zxid;
        }
    }

    /// Asks for a sync if there is anything that none was asked for.
    fn sync(&mut self) {
        let zxid = self.store.tree().zxid();
        if self.lost.is_none() && zxid > self.synced {
            let ticket = self.store.sync(&mut self.disk);
            self.syncs.push_back((ticket, zxid));
            self.synced = zxid;
        }
    }

    /// The disk failed: what waits for it was never told, and nobody is answered any more.
    fn lose(&mut self, cx: &mut Cx<'_>, error: &DiskError) {
        let why = format!("the coordination service's directory failed: {error}");
        self.waiting.clear();
        self.disk_is_gone();
        let clients: Vec<ClientId> = self.sessions.clients().collect();
        for client in clients {
            self.tell(cx, client, CoordinationEvent::Lost { why: why.clone() });
        }
        self.lost = Some(why);
    }

    fn disk_is_gone(&mut self) {
        self.syncs.clear();
        self.durable = Zxid::MAX;
    }

    /// Whoever comes after the service's end is told of it.
    fn refuse(&mut self, input: &ServiceInput, cause: EventId) {
        if let (ServiceInput::Connect { client, .. }, Some(why)) = (input, &self.lost) {
            self.waiting.push_back(Waiting {
                zxid: self.store.tree().zxid(),
                client: *client,
                event: CoordinationEvent::Lost { why: why.clone() },
                cause,
            });
        }
    }

    fn tell_watches(&mut self, cx: &mut Cx<'_>, fired: Vec<Fired>) {
        fired.into_iter().for_each(|fired| self.told(cx, fired));
    }

    fn told(&mut self, cx: &mut Cx<'_>, fired: Fired) {
        let Fired { client, path, what } = fired;
        let cause = cx.cause;
        cx.cause = cx.emit(|| Fact::WatchFired {
            session: self.sessions.of_client(client).unwrap_or(0),
            path: path.to_string(),
            what,
        });
        self.tell(cx, client, CoordinationEvent::Watch { path, what });
        cx.cause = cause;
    }

    /// Queues an event behind the present zxid.
    fn tell(&mut self, cx: &Cx<'_>, client: ClientId, event: CoordinationEvent) {
        self.waiting.push_back(Waiting {
            zxid: self.store.tree().zxid(),
            client,
            event,
            cause: cx.cause,
        });
    }
}
