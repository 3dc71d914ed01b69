//! A broker's side of its session: pings, silence, connecting again, what nobody knows.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{FromService, Word, way};
use crate::coordination::{
    ClientId, CoordinationEvent, CoordinationOp, CoordinationReply, Found, OpId, Read, Resume, ServiceInput,
    SessionEpoch, SessionId, WatchKind, WatchOn, Zxid,
};
use crate::io::Input;
use crate::ordered::OrderedMap;
use crate::sim::world::World;
use crate::sim::world::agenda::{Happening, Life};
use crate::trace::EventId;
use crate::types::{BrokerId, Millis};

/// A lost connection is tried again after so long.
const RECONNECT_MS: Millis = 200;

/// A broker's session, as its own side sees it.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) life: Life,
    pub(super) epoch: SessionEpoch,
    pub(super) wished_ms: Millis,
    /// As agreed.
    pub(super) timeout_ms: Millis,
    pub(super) id: Option<SessionId>,
    /// The present connection; `None` between two.
    pub(super) client: Option<ClientId>,
    pub(super) connected: bool,
    pub(super) seen: Zxid,
    pub(super) watches: OrderedMap<(Arc<str>, bool), WatchOn>,
    pub(super) under_way: VecDeque<(OpId, Option<CoordinationOp>)>,
    /// Asked while there was no connection, and why.
    pub(super) waiting: VecDeque<(OpId, CoordinationOp, EventId)>,
    /// What was last heard or wished: the timers follow from it.
    pub(super) last: EventId,
    pub(super) heard_ms: Millis,
    pub(super) pinged_ms: Millis,
    pub(super) connect_at: Millis,
    /// The process stands still, and with it this side.
    pub(super) paused: bool,
}

impl Session {
    /// When to ping, to give the connection up, or to connect again.
    pub(super) fn timer(&self) -> Millis {
        match self.client {
            None => self.connect_at,
            Some(_) if self.connected => self.gives_up_at().min(self.pinged_ms + self.timeout_ms / 3),
            Some(_) => self.gives_up_at(),
        }
    }

    /// ZooKeeper's client waits for two thirds of the session's time.
    pub(super) fn gives_up_at(&self) -> Millis {
        self.heard_ms + self.timeout_ms * 2 / 3
    }

    pub(super) fn note_watches(&mut self, op: &CoordinationOp, reply: &CoordinationReply) {
        let (CoordinationOp::Read(reads), CoordinationReply::Read(found)) = (op, reply) else {
            return;
        };
        for (read, found) in reads.iter().zip(found) {
            match (read, found) {
                (Read::Data { path, watch: true }, Found::Data(found)) => {
                    let on = if found.is_some() {
                        WatchOn::Data
                    } else {
                        WatchOn::Absent
                    };
                    self.watches.insert((path.clone(), false), on);
                }
                (Read::Children { path, watch: true }, Found::Children(Some(_))) => {
                    self.watches.insert((path.clone(), true), WatchOn::Children);
                }
                _ => {}
            }
        }
    }

    pub(super) fn forget_watch(&mut self, path: &Arc<str>, what: WatchKind) {
        match what {
            WatchKind::Created | WatchKind::DataChanged => {
                self.watches.remove(&(path.clone(), false));
            }
            WatchKind::ChildrenChanged => {
                self.watches.remove(&(path.clone(), true));
            }
            WatchKind::Deleted => {
                self.watches.remove(&(path.clone(), false));
                self.watches.remove(&(path.clone(), true));
            }
        }
    }
}

impl World {
    pub(in crate::sim::world) fn open_session(
        &mut self,
        broker: BrokerId,
        epoch: SessionEpoch,
        timeout_ms: Millis,
        cause: EventId,
    ) {
        let life = self.broker(broker).map_or(0, |node| node.life);
        let now = self.now;
        let session = Session {
            life,
            epoch,
            wished_ms: timeout_ms,
            timeout_ms,
            id: None,
            client: None,
            connected: false,
            seen: 0,
            watches: OrderedMap::new(),
            under_way: VecDeque::new(),
            waiting: VecDeque::new(),
            last: cause,
            heard_ms: now,
            pinged_ms: now,
            connect_at: now,
            paused: false,
        };
        self.coordination_mut().sessions.insert(broker, session);
        self.connect_session(broker, cause);
    }

    pub(super) fn connect_session(&mut self, broker: BrokerId, cause: EventId) {
        let now = self.now;
        let node = self.coordination_mut();
        node.next_client += 1;
        let client = node.next_client;
        let Some(session) = node.sessions.get_mut(&broker) else {
            return;
        };
        session.client = Some(client);
        session.connected = false;
        session.heard_ms = now;
        session.pinged_ms = now;
        let watches = session.watches.iter();
        let resume = session.id.map(|session_id| Resume {
            session_id,
            seen: session.seen,
            watches: watches.map(|((path, _), &on)| (path.clone(), on)).collect(),
        });
        let timeout_ms = session.wished_ms;
        let connect = ServiceInput::Connect {
            client,
            timeout_ms,
            resume,
        };
        self.ask_service(broker, client, connect, cause);
    }

    pub(in crate::sim::world) fn close_session(
        &mut self,
        broker: BrokerId,
        epoch: SessionEpoch,
        cause: EventId,
    ) {
        let node = self.coordination_mut();
        let is_it = |session: &Session| session.epoch == epoch;
        if !node.sessions.get(&broker).is_some_and(is_it) {
            return;
        }
        if let Some(client) = node.sessions.remove(&broker).and_then(|session| session.client) {
            self.ask_service(broker, client, ServiceInput::Close { client }, cause);
            self.ask_service(broker, client, ServiceInput::Disconnected { client }, cause);
        }
    }

    pub(in crate::sim::world) fn coordinate(
        &mut self,
        broker: BrokerId,
        epoch: SessionEpoch,
        id: OpId,
        op: CoordinationOp,
        cause: EventId,
    ) {
        let now = self.now;
        let node = self.coordination_mut();
        let Some(session) = node
            .sessions
            .get_mut(&broker)
            .filter(|session| session.epoch == epoch)
        else {
            return;
        };
        let Some(client) = session.client.filter(|_| session.connected) else {
            return session.waiting.push_back((id, op, cause));
        };
        session.pinged_ms = now;
        let kept = matches!(op, CoordinationOp::Read(_)).then(|| op.clone());
        session.under_way.push_back((id, kept));
        self.ask_service(broker, client, ServiceInput::Ask { client, id, op }, cause);
    }

    pub(in crate::sim::world) fn tick_session(&mut self, broker: BrokerId) {
        let now = self.now;
        let Some(session) = self.coordination_mut().sessions.get_mut(&broker) else {
            return;
        };
        let cause = session.last;
        match session.client {
            None => self.connect_session(broker, cause),
            Some(_) if now >= session.gives_up_at() => self.connection_lost(broker, cause),
            Some(client) => {
                session.pinged_ms = now;
                self.ask_service(broker, client, ServiceInput::Ping { client }, EventId::NONE);
            }
        }
    }

    /// The broker's side has lost its connection, or gives it up.
    pub(super) fn connection_lost(&mut self, broker: BrokerId, cause: EventId) {
        let now = self.now;
        let Some(session) = self.coordination_mut().sessions.get_mut(&broker) else {
            return;
        };
        let client = session.client.take();
        let was_connected = std::mem::replace(&mut session.connected, false);
        session.connect_at = now + RECONNECT_MS;
        let epoch = session.epoch;
        let under_way = std::mem::take(&mut session.under_way);
        if let Some(client) = client {
            self.ask_service(broker, client, ServiceInput::Disconnected { client }, cause);
        }
        for (id, _) in under_way {
            self.tell_session(broker, epoch, CoordinationEvent::Unknown { id }, cause);
        }
        if was_connected {
            self.tell_session(broker, epoch, CoordinationEvent::Disconnected, cause);
        }
    }

    pub(super) fn tell_session(
        &mut self,
        broker: BrokerId,
        session: SessionEpoch,
        event: CoordinationEvent,
        cause: EventId,
    ) {
        self.drive(broker, cause, Input::Coordination { session, event });
    }

    pub(in crate::sim::world) fn reach_broker(&mut self, message: FromService) -> bool {
        let (broker, life, client) = (message.broker, message.life, message.client);
        let (from, to) = way(broker, false);
        if self.network.is_cut(from, to) {
            self.coordination_mut().held.push(Happening::FromService(message));
            return false;
        }
        if self
            .awake(broker, life, Happening::FromService(message.clone()))
            .is_none()
        {
            return false;
        }
        let now = self.now;
        let node = self.coordination_mut();
        let Some(session) = node.sessions.get_mut(&broker) else {
            return false;
        };
        if session.life != life || session.client != Some(client) {
            return false;
        }
        session.heard_ms = now;
        if message.cause != EventId::NONE {
            session.last = message.cause;
        }
        let epoch = session.epoch;
        match message.word {
            Word::Pong => {}
            Word::Closed => self.connection_lost(broker, message.cause),
            Word::Event { zxid, event } => {
                session.seen = session.seen.max(zxid);
                let over = note(session, &event);
                if over {
                    node.sessions.remove(&broker);
                }
                self.tell_session(broker, epoch, event, message.cause);
                self.ask_what_waited(broker);
            }
        }
        true
    }

    /// Asks what was to be asked while there was no connection.
    pub(super) fn ask_what_waited(&mut self, broker: BrokerId) {
        while let Some(session) = self.coordination_mut().sessions.get_mut(&broker)
            && session.connected
            && let Some((id, op, cause)) = session.waiting.pop_front()
        {
            let epoch = session.epoch;
            self.coordinate(broker, epoch, id, op, cause);
        }
    }

    /// The broker's process stands still from now on, or goes on. What it missed it notices then.
    pub(in crate::sim::world) fn pause_session(&mut self, broker: BrokerId, paused: bool) {
        if let Some(session) = self.coordination_mut().sessions.get_mut(&broker) {
            session.paused = paused;
        }
    }

    /// The broker's process is gone; with its machine alive, the service is told.
    pub(in crate::sim::world) fn session_owner_left(&mut self, broker: BrokerId, told: bool, cause: EventId) {
        let session = self.coordination_mut().sessions.remove(&broker);
        if let Some(client) = session.and_then(|session| session.client)
            && told
        {
            self.ask_service(broker, client, ServiceInput::Disconnected { client }, cause);
        }
    }
}

/// Takes note of what the service said; true when the session is over.
fn note(session: &mut Session, event: &CoordinationEvent) -> bool {
    match event {
        CoordinationEvent::Connected {
            session_id,
            timeout_ms,
        } => {
            session.id = Some(*session_id);
            session.timeout_ms = *timeout_ms;
            session.connected = true;
        }
        CoordinationEvent::Done { id, result } => {
            let place = session.under_way.iter().position(|(other, _)| other == id);
            let asked = place.and_then(|place| session.under_way.remove(place));
            if let (Some((_, Some(op))), Ok(reply)) = (asked, result) {
                session.note_watches(&op, reply);
            }
        }
        CoordinationEvent::Watch { path, what } => session.forget_watch(path, *what),
        CoordinationEvent::Expired | CoordinationEvent::Lost { .. } => return true,
        CoordinationEvent::Disconnected | CoordinationEvent::Unknown { .. } => {}
    }
    false
}
