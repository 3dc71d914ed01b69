//! A client of the core between its application and the network.
//!
//! Whoever has something for the client, be it an answer, the timer or the application, takes its lock,
//! tells it, and carries out what it wants. Nothing waits under the lock.
//!
//! Invariants
//! - what the client wants sent is handed over in its order
//! - the timer is set by whoever called the client last
//! - after each input of the network or the timer the application, if it waits, looks again

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Weak};

use highwater_core::client::{ClientConfig, ClientCx, ClientInput, ClientOutput};
use highwater_core::trace::{Event, EventId, Trace};
use highwater_core::types::{Millis, Rng};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::caller::{ClientCaller, limits};
use crate::clock::Clock;
use crate::outbound::{Outbound, Outgoing};
use crate::timer::Timer;

/// A client of the core, as its host sees it.
pub trait CoreClient: Send + 'static {
    /// Takes in what happened.
    fn handle(&mut self, cx: &mut ClientCx, input: &ClientInput);

    /// When it wants a [`ClientInput::Tick`].
    fn poll_timeout(&self) -> Option<Millis>;
}

impl CoreClient for highwater_core::consumer::Consumer {
    fn handle(&mut self, cx: &mut ClientCx, input: &ClientInput) {
        self.handle(cx, input);
    }

    fn poll_timeout(&self) -> Option<Millis> {
        self.poll_timeout()
    }
}

impl CoreClient for highwater_core::producer::Producer {
    fn handle(&mut self, cx: &mut ClientCx, input: &ClientInput) {
        self.handle(cx, input);
    }

    fn poll_timeout(&self) -> Option<Millis> {
        self.poll_timeout()
    }
}

/// Hears every fact of a client; called under its lock, so it may not wait.
pub type Listener = Box<dyn FnMut(&Event) + Send>;

/// A client with everything that it needs to run. Gone when this is dropped: who wants a good end closes
/// the client first.
pub struct Hosted<C: CoreClient> {
    shared: Arc<Shared<C>>,
    timer: JoinHandle<()>,
}

struct Shared<C: CoreClient> {
    turn: Mutex<Turn<C>>,
    connections: Outbound<ClientCaller>,
    clock: Clock,
    timer: Timer,
    changed: Notify,
}

/// What is needed whenever it is the client's turn.
struct Turn<C> {
    client: C,
    rng: Rng,
    trace: Trace,
    listener: Option<Listener>,
    out: Vec<ClientOutput>,
}

impl<C: CoreClient> Hosted<C> {
    /// Runs the client on the threads of the runtime that this is called in.
    pub fn start(client: C, config: &ClientConfig, clock: Clock, listener: Option<Listener>) -> Self {
        let trace = match listener {
            Some(_) => Trace::recording(0),
            None => Trace::off(),
        };
        let turn = Turn {
            client,
            rng: Rng::new(RandomState::new().hash_one(0)),
            trace,
            listener,
            out: Vec::new(),
        };
        let shared = Arc::new(Shared {
            turn: Mutex::new(turn),
            connections: Outbound::default(),
            clock,
            timer: Timer::new(),
            changed: Notify::new(),
        });
        let of_connections = Arc::downgrade(&shared);
        let caller = ClientCaller::new(move |input| Shared::report(&of_connections, &input));
        let threads = vec![Handle::current()];
        shared.connections.start(caller, limits(config), threads);
        let timer = tokio::spawn(tick(Arc::clone(&shared)));
        Self { shared, timer }
    }

    /// The application's turn: whatever it does with the client is carried out at once.
    pub fn with<T>(&self, act: impl FnOnce(&mut C, &mut ClientCx) -> T) -> T {
        self.shared.with(act)
    }

    /// Waits until something has happened since the last call, or that time has come. False: it has.
    pub async fn changed(&self, until: Option<Instant>) -> bool {
        let changed = self.shared.changed.notified();
        match until {
            Some(until) => timeout_at(until, changed).await.is_ok(),
            None => {
                changed.await;
                true
            }
        }
    }
}

impl<C: CoreClient> Drop for Hosted<C> {
    fn drop(&mut self) {
        self.timer.abort();
    }
}

async fn tick<C: CoreClient>(shared: Arc<Shared<C>>) {
    loop {
        shared.timer.due(&shared.clock).await;
        shared.handle(&ClientInput::Tick);
    }
}

impl<C: CoreClient> Shared<C> {
    fn report(shared: &Weak<Self>, input: &ClientInput) {
        // A client that is gone wants to hear nothing any more.
        if let Some(shared) = shared.upgrade() {
            shared.handle(input);
        }
    }

    fn handle(&self, input: &ClientInput) {
        self.with(|client, cx| client.handle(cx, input));
        self.changed.notify_one();
    }

    fn with<T>(&self, act: impl FnOnce(&mut C, &mut ClientCx) -> T) -> T {
        let mut turn = self.turn.lock();
        let result = turn.act(self.clock.now(), act);
        self.carry_out(&mut turn);
        result
    }

    fn carry_out(&self, turn: &mut Turn<C>) {
        while !turn.out.is_empty() {
            let mut refused = Vec::new();
            for output in std::mem::take(&mut turn.out) {
                refused.extend(self.perform(output));
            }
            for input in refused {
                turn.act(self.clock.now(), |client, cx| client.handle(cx, &input));
            }
        }
        self.timer.set(turn.client.poll_timeout());
        if let Some(listener) = &mut turn.listener {
            turn.trace.drain().for_each(|event| listener(&event));
        }
    }

    /// Hands an output over; what the client must be told when that cannot be.
    fn perform(&self, output: ClientOutput) -> Option<ClientInput> {
        match output {
            ClientOutput::Send {
                to,
                id,
                sent,
                answered,
                frame,
            } => {
                let request = Outgoing {
                    id,
                    sent,
                    answered,
                    frame,
                };
                let refused = self.connections.send(to, request).err()?;
                Some(ClientInput::SendFailed { id, why: refused })
            }
            ClientOutput::Disconnect { node } => {
                self.connections.close(&(node.id, node.lane));
                None
            }
        }
    }
}

impl<C> Turn<C> {
    fn act<T>(&mut self, now: Millis, act: impl FnOnce(&mut C, &mut ClientCx) -> T) -> T {
        let mut cx = ClientCx {
            now,
            rng: &mut self.rng,
            trace: &mut self.trace,
            cause: EventId::NONE,
            out: &mut self.out,
        };
        act(&mut self.client, &mut cx)
    }
}
