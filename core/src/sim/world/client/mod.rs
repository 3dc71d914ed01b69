//! Who uses the cluster, as a script says.
//!
//! Each client here is one of the core, the same that the command line runs, in the hands of an
//! application: it is told of answers and of time, and says what it wants to send. What the application
//! does with it, and what only the application can know, is here.
//!
//! Reading order: [`process`] what any client needs; [`act`] what scripts say to applications;
//! [`producer`] with [`record`] and [`interceptor`]; [`consumer`]; [`admin`].

mod act;
mod admin;
mod consumer;
mod interceptor;
mod process;
mod producer;
mod record;

pub use act::{Act, Commits, ConsumerOptions, ProducerOptions, Sending, Target};
pub use admin::{Admin, AdminTask};
pub use consumer::Consumer;
pub use interceptor::Double;
pub use producer::Producer;
pub use record::read_value;

use process::Process;

use super::node::address_of;
use crate::client::{ClientCx, ClientInput, ClientOutput};
use crate::config::Settings;
use crate::full::InFull;
use crate::trace::{ClientKind, Event, EventId, NodeId};
use crate::types::{BrokerId, Millis};

/// How long a close may take.
const CLOSE_MS: Millis = 30_000;

/// A client's machine.
#[derive(Clone, Debug)]
pub struct ClientNode {
    pub id: NodeId,
    /// Its process was killed.
    pub is_dead: bool,
    /// When it wants to be called.
    due: Option<Millis>,
    process: Process,
    pub role: Role,
    /// What it knew of last: its timers follow from it.
    pub(super) last: EventId,
}

/// What the client is there for.
#[derive(Clone, Debug)]
pub enum Role {
    Producer(Box<Producer>),
    Consumer(InFull<Consumer>),
    Admin(Box<Admin>),
}

impl Role {
    pub fn kind(&self) -> ClientKind {
        match self {
            Role::Producer(producer) => ClientKind::Producer {
                acks: producer.acks(),
            },
            Role::Consumer(_) => ClientKind::Consumer,
            Role::Admin(_) => ClientKind::Admin,
        }
    }
}

impl ClientNode {
    pub fn new(id: NodeId, seed: u64, role: Role) -> Self {
        Self {
            id,
            is_dead: false,
            due: None,
            process: Process::new(seed, id),
            role,
            last: EventId::NONE,
        }
    }

    /// Nothing is awaited and nothing is left to do.
    pub fn is_idle(&self) -> bool {
        self.is_dead
            || match &self.role {
                Role::Producer(producer) => producer.is_idle(),
                Role::Consumer(consumer) => consumer.is_idle(),
                Role::Admin(admin) => admin.is_idle(),
            }
    }

    pub(super) fn next_timeout(&self) -> Option<Millis> {
        self.due
    }

    /// To be called when something was done to it: it is asked for its time-out much more often.
    pub(super) fn note_timeout(&mut self) {
        self.due = match &self.role {
            _ if self.is_dead => None,
            Role::Producer(producer) => producer.next_timeout(),
            Role::Consumer(consumer) => consumer.next_timeout(),
            Role::Admin(admin) => admin.next_timeout(),
        };
    }

    /// Lets it do something because of that event: the facts that it leaves, and what it wants.
    pub(super) fn run(
        &mut self,
        now: Millis,
        cause: EventId,
        what: impl FnOnce(&mut Role, &mut ClientCx),
    ) -> (Vec<Event>, Vec<ClientOutput>) {
        what(&mut self.role, &mut self.process.cx(now, cause));
        self.process.take()
    }
}

impl Role {
    /// Its process begins.
    pub(super) fn start(&mut self, cx: &mut ClientCx) {
        match self {
            // A consumer does nothing before it is told what to read.
            Self::Consumer(_) => {}
            Self::Producer(_) | Self::Admin(_) => self.handle(cx, &ClientInput::Tick),
        }
    }

    pub(super) fn handle(&mut self, cx: &mut ClientCx, input: &ClientInput) {
        match self {
            Self::Producer(producer) => producer.handle(cx, input),
            Self::Consumer(consumer) => consumer.handle(cx, input),
            Self::Admin(admin) => admin.handle(cx, input),
        }
    }

    /// The time that it has named has come.
    pub(super) fn tick(&mut self, cx: &mut ClientCx) {
        match self {
            Self::Producer(producer) => producer.tick(cx),
            Self::Consumer(consumer) => consumer.tick(cx),
            Self::Admin(admin) => admin.handle(cx, &ClientInput::Tick),
        }
    }

    /// Its application does that.
    ///
    /// # Errors
    /// It is a client that cannot do it, or not now; in one line.
    pub(super) fn act(&mut self, cx: &mut ClientCx, act: &Act) -> Result<(), String> {
        match self {
            Self::Producer(producer) => producer.act(cx, act),
            Self::Consumer(consumer) => consumer.act(cx, act),
            Self::Admin(_) => Err(format!("an administrator cannot {}", act.verb())),
        }
    }
}

/// The settings that every client has, and behind them its own.
fn settings(id: NodeId, brokers: &[BrokerId], own: &[(String, String)]) -> Settings {
    let bootstrap: Vec<String> = brokers.iter().map(|id| address_of(*id)).collect();
    let mut settings = Settings::from([
        ("bootstrap.servers".to_owned(), bootstrap.join(",")),
        ("client.id".to_owned(), format!("client-{id}")),
    ]);
    settings.extend(own.iter().cloned());
    settings
}
