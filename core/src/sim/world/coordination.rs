//! The coordination service as a node of the world, and each broker's session with it.
//!
//! A broker knows only its session. What keeps one is the client side that a program links in
//! (ZooKeeper's client, or ours): it pings, notices silence, connects again, takes the session up with
//! the watches that it had, and says of what was under way that nobody knows. That side stands here.
//!
//! Invariants
//! - what a broker asks reaches the service in order, and at most once
//! - after a lost connection every operation under way is [`CoordinationEvent::Unknown`]

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::World;
use super::agenda::{Happening, Life};
use super::{COORDINATION, NodeId};
use crate::coordination::{
    ClientId, CoordinationEvent, CoordinationOp, CoordinationReply, Found, LOG_PATH, OpId, Read, Resume,
    SNAPSHOT_PATH, Service, ServiceInput, ServiceOptions, ServiceOutput, SessionEpoch, SessionId, WatchKind,
    WatchOn, Zxid, recover,
};
use crate::disk::memory::MemoryDisk;
use crate::disk::{DiskOp, Ticket};
use crate::io::Input;
use crate::trace::{EventId, Trace, WorldFact};
use crate::types::{BrokerId, Millis};

/// A lost connection is tried again after so long.
const RECONNECT_MS: Millis = 200;

/// What a broker's side sends to the service.
#[derive(Clone, Debug)]
pub struct ToService {
    pub broker: BrokerId,
    pub client: ClientId,
    pub input: ServiceInput,
    pub cause: EventId,
}

/// What the service sends to a broker's side.
#[derive(Clone, Debug)]
pub struct FromService {
    pub broker: BrokerId,
    pub life: Life,
    pub client: ClientId,
    pub word: Word,
    pub cause: EventId,
}

#[derive(Clone, Debug)]
pub enum Word {
    Event {
        zxid: Zxid,
        event: CoordinationEvent,
    },
    Pong,
    /// The connection is gone.
    Closed,
}

/// A broker's session, as its own side sees it.
#[derive(Clone, Debug)]
struct Session {
    life: Life,
    epoch: SessionEpoch,
    wished_ms: Millis,
    /// As agreed.
    timeout_ms: Millis,
    id: Option<SessionId>,
    /// The present connection; `None` between two.
    client: Option<ClientId>,
    connected: bool,
    seen: Zxid,
    watches: BTreeMap<(Arc<str>, bool), WatchOn>,
    under_way: VecDeque<(OpId, Option<CoordinationOp>)>,
    /// Asked while there was no connection.
    waiting: VecDeque<(OpId, CoordinationOp)>,
    heard_ms: Millis,
    pinged_ms: Millis,
    connect_at: Millis,
    /// The process stands still, and with it this side.
    paused: bool,
}

/// The service's machine, and the sessions' other ends.
#[derive(Clone, Debug)]
pub struct CoordinationNode {
    pub service: Option<Service>,
    pub disk: MemoryDisk,
    pub trace: Trace,
    life: Life,
    next_client: ClientId,
    /// Who is connected as whom.
    clients: BTreeMap<ClientId, (BrokerId, Life)>,
    sessions: BTreeMap<BrokerId, Session>,
    operations: VecDeque<(Ticket, DiskOp)>,
    writing: bool,
    last_arrival: BTreeMap<(BrokerId, bool), Millis>,
    /// On a link that is cut.
    held: Vec<Happening>,
    /// The next answer to a multi of this broker is lost with its connection.
    lose_answer: Option<BrokerId>,
}

impl Default for CoordinationNode {
    fn default() -> Self {
        Self::new()
    }
}

impl CoordinationNode {
    pub fn new() -> Self {
        Self {
            service: None,
            disk: MemoryDisk::new(),
            trace: Trace::recording(COORDINATION),
            life: 0,
            next_client: 0,
            clients: BTreeMap::new(),
            sessions: BTreeMap::new(),
            operations: VecDeque::new(),
            writing: false,
            last_arrival: BTreeMap::new(),
            held: Vec::new(),
            lose_answer: None,
        }
    }

    pub fn is_running(&self) -> bool {
        self.service.is_some()
    }

    pub(super) fn next_timeout(&self) -> Option<Millis> {
        self.service.as_ref()?.poll_timeout()
    }

    pub(super) fn next_session_timer(&self) -> Option<(Millis, BrokerId)> {
        let timers = self.sessions.iter();
        let awake = timers.filter(|(_, session)| !session.paused);
        awake.map(|(&broker, session)| (session.timer(), broker)).min()
    }
}

impl Session {
    /// When to ping, to give the connection up, or to connect again.
    fn timer(&self) -> Millis {
        match self.client {
            None => self.connect_at,
            Some(_) if self.connected => self.gives_up_at().min(self.pinged_ms + self.timeout_ms / 3),
            Some(_) => self.gives_up_at(),
        }
    }

    /// ZooKeeper's client waits for two thirds of the session's time.
    fn gives_up_at(&self) -> Millis {
        self.heard_ms + self.timeout_ms * 2 / 3
    }

    fn note_watches(&mut self, op: &CoordinationOp, reply: &CoordinationReply) {
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

    fn forget_watch(&mut self, path: &Arc<str>, what: WatchKind) {
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
    fn coordination_mut(&mut self) -> &mut CoordinationNode {
        Arc::make_mut(&mut self.coordination)
    }

    // ---- the service's machine

    /// Starts the coordination service on its disk; false if it runs already.
    pub fn start_coordination(&mut self) -> bool {
        if self.coordination.is_running() {
            return false;
        }
        let cause = self.emit(EventId::NONE, WorldFact::CoordinationStarted);
        let now = self.now;
        let node = self.coordination_mut();
        node.life += 1;
        let read = |path| node.disk.read_file(0, path).unwrap_or_default();
        match recover(&read(SNAPSHOT_PATH), &read(LOG_PATH)) {
            Ok(recovered) => {
                node.trace.cause = cause;
                let service = Service::open(now, recovered, ServiceOptions::default(), &mut node.trace);
                node.service = Some(service);
                self.drain_service();
            }
            Err(damaged) => self.broken = Some(format!("the coordination service: {damaged:?}")),
        }
        true
    }

    /// kill -9 of the service: its sessions are on its disk, its connections are gone.
    pub fn crash_coordination(&mut self) -> bool {
        if !self.coordination.is_running() {
            return false;
        }
        let node = self.coordination_mut();
        node.service = None;
        node.operations.clear();
        node.writing = false;
        node.disk.crash();
        let clients = std::mem::take(&mut node.clients);
        self.emit(EventId::NONE, WorldFact::CoordinationCrashed);
        for (client, (broker, life)) in clients {
            self.say(broker, life, client, Word::Closed, EventId::NONE);
        }
        true
    }

    /// The answer to the broker's next multi does not arrive: its connection breaks first.
    pub fn lose_next_answer(&mut self, broker: BrokerId) {
        self.coordination_mut().lose_answer = Some(broker);
    }

    pub(super) fn tick_service(&mut self) {
        self.drive_service(ServiceInput::Tick, EventId::NONE);
    }

    fn drive_service(&mut self, input: ServiceInput, cause: EventId) {
        let now = self.now;
        let node = self.coordination_mut();
        let Some(service) = &mut node.service else {
            return;
        };
        service.handle(now, input, cause, &mut node.trace);
        self.drain_service();
    }

    fn drain_service(&mut self) {
        loop {
            let node = self.coordination_mut();
            let output = node.service.as_mut().and_then(Service::poll_output);
            let facts = node.trace.take();
            facts.into_iter().for_each(|event| self.log.push(event));
            match output {
                None => break,
                Some(ServiceOutput::Disk { ticket, op }) => {
                    self.coordination_mut().operations.push_back((ticket, op));
                }
                Some(ServiceOutput::Pong { client }) => self.tell_client(client, Word::Pong, EventId::NONE),
                Some(ServiceOutput::Event {
                    client,
                    zxid,
                    event,
                    cause,
                }) => self.tell_client(client, Word::Event { zxid, event }, cause),
            }
        }
        let node = self.coordination_mut();
        if !node.writing && !node.operations.is_empty() {
            node.writing = true;
            let life = node.life;
            let now = self.now;
            self.plan(now, Happening::ServiceDisk { life });
        }
    }

    pub(super) fn service_disk_done(&mut self, life: Life) -> bool {
        let node = self.coordination_mut();
        if node.life != life || node.service.is_none() {
            return false;
        }
        node.writing = false;
        let Some((ticket, op)) = node.operations.pop_front() else {
            return false;
        };
        let input = match node.disk.apply(0, &op) {
            Ok(()) => ServiceInput::DiskDone { upto: ticket },
            Err(error) => ServiceInput::DiskFailed { error },
        };
        self.drive_service(input, EventId::NONE);
        true
    }

    fn tell_client(&mut self, client: ClientId, word: Word, cause: EventId) {
        let node = self.coordination_mut();
        let Some(&(broker, life)) = node.clients.get(&client) else {
            return;
        };
        let is_multi = matches!(
            &word,
            Word::Event {
                event: CoordinationEvent::Done {
                    result: Ok(CoordinationReply::Multi(_)),
                    ..
                },
                ..
            }
        );
        if is_multi && node.lose_answer == Some(broker) {
            node.lose_answer = None;
            node.clients.remove(&client);
            self.drive_service(ServiceInput::Disconnected { client }, EventId::NONE);
            return self.say(broker, life, client, Word::Closed, cause);
        }
        self.say(broker, life, client, word, cause);
    }

    // ---- the way between

    fn say(&mut self, broker: BrokerId, life: Life, client: ClientId, word: Word, cause: EventId) {
        let message = FromService {
            broker,
            life,
            client,
            word,
            cause,
        };
        self.send_word(broker, false, Happening::FromService(message));
    }

    fn ask_service(&mut self, broker: BrokerId, client: ClientId, input: ServiceInput, cause: EventId) {
        let message = ToService {
            broker,
            client,
            input,
            cause,
        };
        self.send_word(broker, true, Happening::ToService(message));
    }

    fn send_word(&mut self, broker: BrokerId, to_service: bool, what: Happening) {
        let (from, to) = way(broker, to_service);
        if self.network.is_cut(from, to) {
            return self.coordination_mut().held.push(what);
        }
        let at = self.now + self.network.draw_delay(&mut self.rng);
        let last = self
            .coordination_mut()
            .last_arrival
            .entry((broker, to_service))
            .or_insert(0);
        *last = at.max(*last);
        let at = *last;
        self.plan(at, what);
    }

    /// Sends what the link held.
    pub(super) fn release_sessions(&mut self, from: NodeId, to: NodeId) {
        if from != COORDINATION && to != COORDINATION {
            return;
        }
        for what in std::mem::take(&mut self.coordination_mut().held) {
            match &what {
                Happening::ToService(message) => self.send_word(message.broker, true, what),
                Happening::FromService(message) => self.send_word(message.broker, false, what),
                _ => {}
            }
        }
    }

    pub(super) fn reach_service(&mut self, message: ToService) -> bool {
        let (from, to) = way(message.broker, true);
        if self.network.is_cut(from, to) {
            self.coordination_mut().held.push(Happening::ToService(message));
            return false;
        }
        let ToService {
            broker,
            client,
            input,
            cause,
        } = message;
        let life = self.broker(broker).map_or(0, |node| node.life);
        if !self.coordination.is_running() {
            if !matches!(input, ServiceInput::Disconnected { .. }) {
                self.say(broker, life, client, Word::Closed, cause);
            }
            return true;
        }
        if matches!(input, ServiceInput::Connect { .. }) {
            self.coordination_mut().clients.insert(client, (broker, life));
        }
        if matches!(input, ServiceInput::Disconnected { .. }) {
            self.coordination_mut().clients.remove(&client);
        }
        self.drive_service(input, cause);
        true
    }

    // ---- a broker's side

    pub(super) fn open_session(
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
            watches: BTreeMap::new(),
            under_way: VecDeque::new(),
            waiting: VecDeque::new(),
            heard_ms: now,
            pinged_ms: now,
            connect_at: now,
            paused: false,
        };
        self.coordination_mut().sessions.insert(broker, session);
        self.connect_session(broker, cause);
    }

    fn connect_session(&mut self, broker: BrokerId, cause: EventId) {
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

    pub(super) fn close_session(&mut self, broker: BrokerId, epoch: SessionEpoch, cause: EventId) {
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

    pub(super) fn coordinate(
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
            return session.waiting.push_back((id, op));
        };
        session.pinged_ms = now;
        let kept = matches!(op, CoordinationOp::Read(_)).then(|| op.clone());
        session.under_way.push_back((id, kept));
        self.ask_service(broker, client, ServiceInput::Ask { client, id, op }, cause);
    }

    pub(super) fn tick_session(&mut self, broker: BrokerId) {
        let now = self.now;
        let Some(session) = self.coordination_mut().sessions.get_mut(&broker) else {
            return;
        };
        match session.client {
            None => self.connect_session(broker, EventId::NONE),
            Some(_) if now >= session.gives_up_at() => self.connection_lost(broker),
            Some(client) => {
                session.pinged_ms = now;
                self.ask_service(broker, client, ServiceInput::Ping { client }, EventId::NONE);
            }
        }
    }

    /// The broker's side has lost its connection, or gives it up.
    fn connection_lost(&mut self, broker: BrokerId) {
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
            self.ask_service(
                broker,
                client,
                ServiceInput::Disconnected { client },
                EventId::NONE,
            );
        }
        for (id, _) in under_way {
            self.tell_session(broker, epoch, CoordinationEvent::Unknown { id }, EventId::NONE);
        }
        if was_connected {
            self.tell_session(broker, epoch, CoordinationEvent::Disconnected, EventId::NONE);
        }
    }

    fn tell_session(
        &mut self,
        broker: BrokerId,
        session: SessionEpoch,
        event: CoordinationEvent,
        cause: EventId,
    ) {
        self.drive(broker, cause, Input::Coordination { session, event });
    }

    pub(super) fn reach_broker(&mut self, message: FromService) -> bool {
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
        let epoch = session.epoch;
        match message.word {
            Word::Pong => {}
            Word::Closed => self.connection_lost(broker),
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
    fn ask_what_waited(&mut self, broker: BrokerId) {
        while let Some(session) = self.coordination_mut().sessions.get_mut(&broker)
            && session.connected
            && let Some((id, op)) = session.waiting.pop_front()
        {
            let epoch = session.epoch;
            self.coordinate(broker, epoch, id, op, EventId::NONE);
        }
    }

    /// The broker's process stands still from now on, or goes on. What it missed it notices then.
    pub(super) fn pause_session(&mut self, broker: BrokerId, paused: bool) {
        if let Some(session) = self.coordination_mut().sessions.get_mut(&broker) {
            session.paused = paused;
        }
    }

    /// The broker's process is gone; with its machine alive, the service is told.
    pub(super) fn session_owner_left(&mut self, broker: BrokerId, told: bool) {
        let session = self.coordination_mut().sessions.remove(&broker);
        if let Some(client) = session.and_then(|session| session.client)
            && told
        {
            self.ask_service(
                broker,
                client,
                ServiceInput::Disconnected { client },
                EventId::NONE,
            );
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

fn way(broker: BrokerId, to_service: bool) -> (NodeId, NodeId) {
    let broker = broker as NodeId;
    if to_service {
        (broker, COORDINATION)
    } else {
        (COORDINATION, broker)
    }
}
