//! A world: brokers, their disks, the coordination service, clients, and the network between them.
//!
//! Time is a number, chance is a seed, and [`step`](World::step) lets exactly one thing happen: a packet
//! arrives, a disk operation is done, a job ends, a timer comes due, the coordination service speaks.
//! What travels are the frames that a socket would carry, and the brokers are the ones that the native
//! program runs. So a world shows what would happen, one event at a time, and can be stopped, copied
//! and hurt at any of them.
//!
//! ```
//! use highwater_core::sim::world::{World, WorldOptions};
//! let mut world = World::new(&WorldOptions { brokers: 1, ..WorldOptions::default() }).unwrap();
//! world.run_for(1_000);
//! assert!(world.broker(1).unwrap().ready);
//! let mut branch = world.clone();
//! branch.crash(1);
//! assert!(world.broker(1).unwrap().is_running());
//! ```
//!
//! Reading order: [`agenda`] what is still to come; [`network`] connections and links; [`node`] a
//! broker's machine; [`coordination`] the service and the sessions with it; `carry` what a broker's
//! outputs lead to, `connections` what packets do; `faults` what can be done to it all; [`client`] who uses it.
//!
//! Invariants
//! - the same options and the same calls give the same facts, byte for byte
//! - things happen in the order of their times and, at one time, in the order in which they were planned;
//!   timers come after them, by the number of their node
//! - a copy shares everything with its original until one of them touches it

pub mod agenda;
mod carried;
mod carry;
pub mod client;
mod connections;
pub mod coordination;
mod faults;
pub mod network;
pub mod node;
mod options;
mod shared;
mod trace_log;
mod truth;

use std::panic::Location;

pub use crate::trace::COORDINATION;
pub use options::WorldOptions;
pub use trace_log::TraceLog;
pub use truth::{true_batches, true_state, true_stored, true_tree};

use agenda::{Agenda, Happening};
use client::{
    Act, Admin, AdminTask, ClientNode, Consumer, ConsumerOptions, Producer, ProducerOptions, Role, Sending,
};
use coordination::CoordinationNode;
use network::Network;
use node::BrokerNode;
use shared::{Shared, make_mut};

use crate::config::ConfigError;
use crate::full::InFull;
use crate::io::{ConnId, Input};
use crate::ordered::OrderedMap;
use crate::sim::host::EPOCH_MS;
use crate::trace::{EventId, Fact, NodeId, Site, Trace, WorldFact};
use crate::types::{BrokerId, Millis, Rng, TopicPartition};

/// Clients are numbered from here.
pub const FIRST_CLIENT: NodeId = 101;
/// Whatever nobody in the world decides: faults, the network.
const OUTSIDE: NodeId = 0;
/// A broker gives up an unanswered request to another after so long (`replica.socket.timeout.ms`).
pub const PEER_TIMEOUT_MS: Millis = 30_000;
/// Everything there is.
#[derive(Clone, Debug)]
pub struct World {
    now: Millis,
    steps: u64,
    seed: u64,
    rng: Rng,
    agenda: Shared<Agenda>,
    network: Shared<Network>,
    brokers: OrderedMap<BrokerId, Shared<BrokerNode>>,
    coordination: Shared<CoordinationNode>,
    clients: OrderedMap<NodeId, Shared<ClientNode>>,
    outside: Trace,
    log: TraceLog,
    /// No awaited answer is overdue sooner.
    none_overdue_before: Millis,
    /// A broker did what no host could carry out.
    broken: Option<String>,
}

/// What comes next: something planned, or a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Planned,
    Service,
    Session(BrokerId),
    Broker(BrokerId),
    Client(NodeId),
    Overdue(ConnId),
}

impl World {
    /// A world whose brokers start now, on empty disks.
    pub fn new(options: &WorldOptions) -> Result<Self, ConfigError> {
        let mut rng = Rng::new(options.seed);
        let mut brokers = OrderedMap::new();
        for id in 1..=options.brokers {
            let node = BrokerNode::new(id, &options.settings, rng.next_u64())?;
            brokers.insert(id, Shared::new(node));
        }
        let mut world = Self {
            now: EPOCH_MS,
            steps: 0,
            seed: options.seed,
            rng,
            agenda: Shared::default(),
            network: Shared::new(Network::new(options.delay_ms)),
            brokers,
            coordination: Shared::new(CoordinationNode::new()),
            clients: OrderedMap::new(),
            outside: Trace::recording(OUTSIDE),
            log: TraceLog::default(),
            none_overdue_before: EPOCH_MS,
            broken: None,
        };
        world.start_coordination();
        for id in 1..=options.brokers {
            world.start_broker(id);
        }
        Ok(world)
    }

    pub fn now(&self) -> Millis {
        self.now
    }

    /// Virtual time since the start.
    pub fn elapsed_ms(&self) -> Millis {
        self.now - EPOCH_MS
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    pub fn trace(&self) -> &TraceLog {
        &self.log
    }

    pub fn network(&self) -> &Network {
        &self.network
    }

    pub fn agenda(&self) -> &Agenda {
        &self.agenda
    }

    pub fn broker(&self, id: BrokerId) -> Option<&BrokerNode> {
        self.brokers.get(&id).map(|node| &**node)
    }

    pub fn brokers(&self) -> impl Iterator<Item = &BrokerNode> {
        self.brokers.values().map(|node| &**node)
    }

    pub fn coordination(&self) -> &CoordinationNode {
        &self.coordination
    }

    pub fn client(&self, id: NodeId) -> Option<&ClientNode> {
        self.clients.get(&id).map(|node| &**node)
    }

    pub fn clients(&self) -> impl Iterator<Item = &ClientNode> {
        self.clients.values().map(|node| &**node)
    }

    /// Every partition that the coordination tree knows, with its assigned replicas.
    pub fn partitions(&self) -> Vec<(TopicPartition, Vec<BrokerId>)> {
        let Some(service) = &self.coordination.service else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for topic in service.tree().children("/brokers/topics") {
            let path = format!("/brokers/topics/{topic}");
            let data = service.tree().get(&path).map(|node| node.data.clone());
            let json = serde_json::from_slice::<serde_json::Value>(&data.unwrap_or_default());
            let Ok(serde_json::Value::Object(assigned)) = json.map(|mut json| json["partitions"].take())
            else {
                continue;
            };
            for (number, brokers) in assigned {
                let ids = brokers.as_array().into_iter().flatten();
                let ids = ids.filter_map(|id| id.as_i64()).map(|id| id as BrokerId);
                if let Ok(number) = number.parse() {
                    found.push((TopicPartition::new(topic.clone(), number), ids.collect()));
                }
            }
        }
        found
    }

    /// The controller, as the coordination tree has it.
    pub fn controller(&self) -> Option<BrokerId> {
        let service = self.coordination.service.as_ref()?;
        let node = service.tree().get("/controller")?;
        let json: serde_json::Value = serde_json::from_slice(&node.data).ok()?;
        json["brokerid"].as_i64().map(|id| id as BrokerId)
    }

    /// What a broker did that cannot be carried out, if it ever did.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Lets the next thing happen; false when nothing will ever happen again.
    pub fn step(&mut self) -> bool {
        self.step_until(Millis::MAX)
    }

    /// Lets the next thing happen if its time is not after `until`.
    pub fn step_until(&mut self, until: Millis) -> bool {
        loop {
            let Some((at, next)) = self.next_now() else {
                return false;
            };
            if at > until {
                return false;
            }
            self.now = self.now.max(at);
            if self.take(next) {
                self.steps += 1;
                return true;
            }
        }
    }

    /// Lets everything happen that happens within so long, and time pass.
    pub fn run_for(&mut self, ms: Millis) {
        let until = self.now.saturating_add(ms);
        while self.step_until(until) {}
        self.now = until;
    }

    /// When the next thing happens.
    pub fn next_time(&self) -> Option<Millis> {
        self.next().map(|(at, _)| at.max(self.now))
    }

    fn next(&self) -> Option<(Millis, Next)> {
        self.next_of_its_own()
            .into_iter()
            .chain(self.next_overdue())
            .min()
    }

    /// The same, without a look at every connection while none can be overdue.
    fn next_now(&mut self) -> Option<(Millis, Next)> {
        let soon = self.next_of_its_own();
        if soon.is_some_and(|(at, _)| at < self.none_overdue_before) {
            return soon;
        }
        let overdue = self.next_overdue();
        let awaited_later = self.now + PEER_TIMEOUT_MS;
        self.none_overdue_before = overdue.map_or(awaited_later, |(at, _)| at.min(awaited_later));
        soon.into_iter().chain(overdue).min()
    }

    fn next_overdue(&self) -> Option<(Millis, Next)> {
        let patience = |connection: &network::Connection| self.patience_ms(connection);
        let overdue = self.network.next_overdue(patience);
        overdue.map(|(at, conn)| (at.max(self.now), Next::Overdue(conn)))
    }

    fn next_of_its_own(&self) -> Option<(Millis, Next)> {
        let planned = self.agenda.next_time().map(|at| (at, Next::Planned));
        let service = self.coordination.next_timeout().map(|at| (at, Next::Service));
        let sessions = self.coordination.next_session_timer();
        let sessions = sessions.map(|(at, broker)| (at, Next::Session(broker)));
        let brokers = self.brokers.iter();
        let brokers = brokers.filter_map(|(&id, node)| Some((node.next_timeout()?, Next::Broker(id))));
        let clients = self.clients.iter();
        let clients = clients.filter_map(|(&id, node)| Some((node.next_timeout()?, Next::Client(id))));
        let all = planned.into_iter().chain(service).chain(sessions);
        // What should have happened already happens now, among its like.
        all.chain(brokers)
            .chain(clients)
            .map(|(at, next)| (at.max(self.now), next))
            .min()
    }

    fn patience_ms(&self, connection: &network::Connection) -> Millis {
        match &connection.caller {
            // It looks at the clock itself.
            network::Caller::Client { .. } => Millis::MAX / 2,
            // A paused process looks at no clock.
            network::Caller::Broker { broker, .. }
                if self.broker(*broker).is_some_and(|node| node.paused) =>
            {
                Millis::MAX / 2
            }
            network::Caller::Broker { .. } | network::Caller::Echo(_) => PEER_TIMEOUT_MS,
        }
    }

    /// False when it turned out to concern nobody.
    fn take(&mut self, next: Next) -> bool {
        match next {
            Next::Planned => match make_mut(&mut self.agenda).pop() {
                Some((_, what)) => self.happen(what),
                None => false,
            },
            Next::Service => {
                self.tick_service();
                true
            }
            Next::Session(broker) => {
                self.tick_session(broker);
                true
            }
            Next::Broker(id) => {
                self.drive(id, EventId::NONE, Input::Tick);
                true
            }
            Next::Client(id) => {
                let cause = self.client(id).map_or(EventId::NONE, |client| client.last);
                self.drive_client(id, cause, |role, cx| role.tick(cx));
                true
            }
            Next::Overdue(conn) => {
                let asked = self.network.get(conn).and_then(|c| c.awaited.front());
                let asked = asked.map_or(EventId::NONE, |asked| asked.cause);
                self.give_up(conn, "no answer in time", asked);
                true
            }
        }
    }

    fn happen(&mut self, what: Happening) -> bool {
        match what {
            Happening::Arrival(packet) => self.arrive(packet),
            Happening::DiskDone {
                broker,
                life,
                dir,
                lane,
            } => self.disk_done(broker, life, dir, lane),
            Happening::Job {
                broker,
                life,
                job,
                work,
                cause,
            } => self.job_done(broker, life, job, work, cause),
            Happening::ToService(message) => self.reach_service(message),
            Happening::FromService(message) => self.reach_broker(message),
            Happening::ServiceDisk { life } => self.service_disk_done(life),
        }
    }

    /// Records a fact of the world's own.
    #[track_caller]
    fn emit(&mut self, cause: EventId, fact: WorldFact) -> EventId {
        let (now, fact) = (self.now, Fact::World(fact));
        let site = Site(Some(Location::caller()));
        let id = self.outside.push(now, cause, fact, site);
        self.gather_facts();
        id
    }

    fn gather_facts(&mut self) {
        for event in self.outside.drain() {
            self.log.push(event);
        }
    }

    fn next_client(&self) -> NodeId {
        let last = self.clients.keys().next_back();
        last.map_or(FIRST_CLIENT, |last| last + 1)
    }

    /// Adds a client, which begins at once.
    ///
    /// # Errors
    /// A setting that it cannot have.
    fn add_client(
        &mut self,
        role: impl FnOnce(NodeId, &[BrokerId]) -> Result<Role, String>,
    ) -> Result<NodeId, String> {
        let brokers: Vec<BrokerId> = self.brokers.keys().copied().collect();
        let id = self.next_client();
        let client = ClientNode::new(id, self.seed, role(id, &brokers)?);
        self.clients.insert(id, Shared::new(client));
        let kind = self
            .client(id)
            .map(|client| client.role.kind())
            .unwrap_or_default();
        let cause = self.emit(EventId::NONE, WorldFact::ClientStarted { client: id, kind });
        self.drive_client(id, cause, Role::start);
        Ok(id)
    }

    /// Adds a producer, whose application sends nothing yet.
    ///
    /// # Errors
    /// A setting that a producer cannot have.
    pub fn add_producer(&mut self, options: &ProducerOptions) -> Result<NodeId, String> {
        self.add_client(|id, brokers| {
            let producer = Producer::new(id, brokers, options)?;
            Ok(Role::Producer(Box::new(producer)))
        })
    }

    /// Adds a consumer, whose application does nothing yet.
    ///
    /// # Errors
    /// A setting that a consumer cannot have.
    pub fn add_consumer(&mut self, options: &ConsumerOptions) -> Result<NodeId, String> {
        self.add_client(|id, brokers| {
            let consumer = InFull::new(|| Consumer::new(id, brokers, options));
            let consumer = consumer.ok_or("no consumer is played in the page")?;
            Ok(Role::Consumer(consumer?))
        })
    }

    /// Adds an administrator, who has nothing to do yet.
    ///
    /// # Errors
    /// A setting that a client cannot have.
    pub fn add_admin(&mut self) -> Result<NodeId, String> {
        self.add_client(|id, brokers| Ok(Role::Admin(Box::new(Admin::new(id, brokers)?))))
    }

    /// Lets an application do something.
    ///
    /// # Errors
    /// It cannot be done; in one line.
    pub fn act(&mut self, client: NodeId, act: &Act) -> Result<(), String> {
        let what = act.to_string();
        let cause = self.emit(EventId::NONE, WorldFact::ApplicationActs { client, what });
        let mut done = Err(format!("client {client} is dead"));
        self.drive_client(client, cause, |role, cx| done = role.act(cx, act));
        done
    }

    /// Gives a producer's application more to send.
    pub fn produce(&mut self, client: NodeId, sending: Sending) {
        let (to, count) = (sending.to.to_string(), sending.count);
        let cause = self.emit(EventId::NONE, WorldFact::RecordsGiven { client, to, count });
        self.drive_client(client, cause, |role, cx| {
            if let Role::Producer(producer) = role {
                producer.send(cx, sending);
            }
        });
    }

    /// Gives an administrator one task more.
    pub fn administer(&mut self, client: NodeId, task: AdminTask) {
        let what = task.to_string();
        let cause = self.emit(EventId::NONE, WorldFact::TaskGiven { client, what });
        self.drive_client(client, cause, |role, cx| {
            if let Role::Admin(admin) = role {
                admin.add(cx, task);
            }
        });
    }

    fn plan(&mut self, at: Millis, what: Happening) {
        make_mut(&mut self.agenda).push(at, what);
    }

    fn broker_mut(&mut self, id: BrokerId) -> Option<&mut BrokerNode> {
        self.brokers.get_mut(&id).map(make_mut)
    }

    fn network_mut(&mut self) -> &mut Network {
        make_mut(&mut self.network)
    }
}

#[cfg(test)]
mod tests;
