//! The coordination service as a node of the world, and each broker's session with it.
//!
//! A broker knows only its session. What keeps one is the client side that a program links in
//! (ZooKeeper's client, or ours): it pings, notices silence, connects again, takes the session up with
//! the watches that it had, and says of what was under way that nobody knows. That side stands here.
//!
//! Invariants
//! - what a broker asks reaches the service in order, and at most once
//! - after a lost connection every operation under way is [`CoordinationEvent::Unknown`]

mod session;

use std::collections::VecDeque;

use super::World;
use super::agenda::{Happening, Life};
use super::shared::make_mut;
use super::{COORDINATION, NodeId};
use crate::coordination::{
    ClientId, CoordinationEvent, CoordinationReply, LOG_PATH, SNAPSHOT_PATH, Service, ServiceInput,
    ServiceOptions, ServiceOutput, Zxid, recover,
};
use crate::disk::memory::MemoryDisk;
use crate::disk::{DiskOp, Ticket};
use crate::ordered::OrderedMap;
use crate::trace::{EventId, Trace, WorldFact};
use crate::types::{BrokerId, Millis};
use session::Session;

/// A session may be as short as this.
const MIN_SESSION_MS: Millis = 500;

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

/// The service's machine, and the sessions' other ends.
#[derive(Clone, Debug)]
pub struct CoordinationNode {
    pub service: Option<Service>,
    pub disk: MemoryDisk,
    pub trace: Trace,
    life: Life,
    next_client: ClientId,
    /// Who is connected as whom.
    clients: OrderedMap<ClientId, (BrokerId, Life)>,
    sessions: OrderedMap<BrokerId, Session>,
    operations: VecDeque<(Ticket, DiskOp)>,
    writing: bool,
    last_arrival: OrderedMap<(BrokerId, bool), Millis>,
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
            clients: OrderedMap::new(),
            sessions: OrderedMap::new(),
            operations: VecDeque::new(),
            writing: false,
            last_arrival: OrderedMap::new(),
            held: Vec::new(),
            lose_answer: None,
        }
    }

    pub fn is_running(&self) -> bool {
        self.service.is_some()
    }

    pub(in crate::sim::world) fn next_timeout(&self) -> Option<Millis> {
        self.service.as_ref()?.poll_timeout()
    }

    pub(in crate::sim::world) fn next_session_timer(&self) -> Option<(Millis, BrokerId)> {
        let timers = self.sessions.iter();
        let awake = timers.filter(|(_, session)| !session.paused);
        awake.map(|(&broker, session)| (session.timer(), broker)).min()
    }
}

impl World {
    pub(super) fn coordination_mut(&mut self) -> &mut CoordinationNode {
        make_mut(&mut self.coordination)
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
                let options = ServiceOptions {
                    min_session_timeout_ms: MIN_SESSION_MS,
                    ..ServiceOptions::default()
                };
                let service = Service::open(now, recovered, options, &mut node.trace);
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
        let cause = self.emit(EventId::NONE, WorldFact::CoordinationCrashed);
        for (client, (broker, life)) in clients {
            self.say(broker, life, client, Word::Closed, cause);
        }
        true
    }

    /// The answer to the broker's next multi does not arrive: its connection breaks first.
    pub fn lose_next_answer(&mut self, broker: BrokerId) {
        self.coordination_mut().lose_answer = Some(broker);
    }

    pub(in crate::sim::world) fn tick_service(&mut self) {
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

    pub(in crate::sim::world) fn service_disk_done(&mut self, life: Life) -> bool {
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
            self.drive_service(ServiceInput::Disconnected { client }, cause);
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

    pub(super) fn ask_service(
        &mut self,
        broker: BrokerId,
        client: ClientId,
        input: ServiceInput,
        cause: EventId,
    ) {
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
    pub(in crate::sim::world) fn release_sessions(&mut self, from: NodeId, to: NodeId) {
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

    pub(in crate::sim::world) fn reach_service(&mut self, message: ToService) -> bool {
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
}

fn way(broker: BrokerId, to_service: bool) -> (NodeId, NodeId) {
    let broker = broker as NodeId;
    if to_service {
        (broker, COORDINATION)
    } else {
        (COORDINATION, broker)
    }
}
