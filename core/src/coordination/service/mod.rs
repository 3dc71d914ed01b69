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

mod decide;
mod sessions;
mod watches;
mod words;

use std::collections::VecDeque;

use super::session::{CoordinationEvent, SessionId};
use super::snapshot::Recovered;
use super::store::Coordination;
use super::tree::{Tree, Zxid};
use crate::cx::Cx;
use crate::disk::{DirId, DiskQueue, Ticket};
use crate::trace::{EventId, Trace};
use crate::types::{Millis, Rng};

pub use self::sessions::ClientId;
pub use self::words::{Resume, ServiceInput, ServiceOptions, ServiceOutput, WatchOn};

use self::sessions::Sessions;
use self::watches::{Watched, Watches};

/// The service has one directory, and it is the only one that it knows.
const DIR: DirId = 0;

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
        let cause = trace.cause;
        let mut cx = Cx {
            now,
            rng: &mut rng,
            disk: &mut disk,
            trace,
            cause,
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
            service.sessions.insert(now, session, timeout_ms, cause);
            if options.expire_all_on_start {
                service.with_cx(now, cause, trace, |service, cx| {
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

    /// The sessions in which somebody is connected.
    pub fn connected_sessions(&self) -> impl Iterator<Item = SessionId> {
        let clients = self.sessions.clients();
        clients.filter_map(|client| self.sessions.of_client(client))
    }

    /// The sessions that watch the node, or its children.
    pub fn watchers(&self, path: &str, children: bool) -> impl Iterator<Item = SessionId> {
        let watched = if children {
            Watched::Children
        } else {
            Watched::Data
        };
        let clients = self.watches.on(watched, path);
        clients.filter_map(|client| self.sessions.of_client(client))
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
}

#[cfg(test)]
mod tests;
