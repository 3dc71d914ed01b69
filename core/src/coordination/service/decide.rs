//! What a service makes of each input: who may go on, what happens to the tree, who is told.

use std::sync::Arc;

use super::super::multi::{MultiError, NodeError};
use super::super::path;
use super::super::session::{
    CoordinationEvent, CoordinationOp, CoordinationReply, Found, OpId, Read, SessionId, WatchKind,
};
use super::super::tree::Zxid;
use super::sessions::ClientId;
use super::watches::{Fired, Watched};
use super::words::{Resume, ServiceInput, WatchOn};
use super::{Service, Waiting};
use crate::cx::Cx;
use crate::disk::Ticket;
use crate::error::DiskError;
use crate::trace::{EventId, Fact};
use crate::types::Millis;

impl Service {
    pub(super) fn take_in(&mut self, cx: &mut Cx<'_>, input: ServiceInput) {
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
            ServiceInput::Disconnected { client } => self.disconnected(cx, client),
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
            None if on == WatchOn::Children => self.set_watch(cx, client, Watched::Children, path),
            None => self.set_watch(cx, client, Watched::Data, path),
        }
    }

    fn set_watch(&mut self, cx: &mut Cx<'_>, client: ClientId, watched: Watched, path: &Arc<str>) {
        if self.watches.set(client, watched, path) {
            cx.emit(|| Fact::WatchSet {
                session: self.sessions.of_client(client).unwrap_or(0),
                path: path.to_string(),
                children: watched == Watched::Children,
            });
        }
    }

    fn ask(&mut self, cx: &mut Cx<'_>, client: ClientId, session: SessionId, id: OpId, op: &CoordinationOp) {
        let result = match op {
            CoordinationOp::Multi(multi) => self.store.append(cx, multi, session).map(|results| {
                let fired = self.watches.fire(multi, &results);
                self.tell_watches(cx, fired);
                CoordinationReply::Multi(results)
            }),
            CoordinationOp::Read(reads) => self.read(cx, client, reads).map(CoordinationReply::Read),
        };
        self.tell(cx, client, CoordinationEvent::Done { id, result });
    }

    fn read(&mut self, cx: &mut Cx<'_>, client: ClientId, reads: &[Read]) -> Result<Vec<Found>, MultiError> {
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
            let found = match read {
                Read::Data { .. } => Found::Data(node.map(|node| (node.data.clone(), node.stat))),
                Read::Children { .. } => {
                    Found::Children(node.map(|_| self.store.tree().children(path).cloned().collect()))
                }
            };
            if is_set {
                self.set_watch(cx, client, watched, path);
            }
            Ok(found)
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

    pub(super) fn expire(&mut self, cx: &mut Cx<'_>, session: SessionId) {
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

    fn disconnected(&mut self, cx: &mut Cx<'_>, client: ClientId) {
        if let Some(session) = self.sessions.of_client(client) {
            cx.emit(|| Fact::SessionDisconnected { session });
        }
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
    pub(super) fn sync(&mut self) {
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
    pub(super) fn refuse(&mut self, input: &ServiceInput, cause: EventId) {
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
