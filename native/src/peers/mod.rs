//! Requests to other brokers: one connection for each (broker, lane), opened when there is something
//! to send.
//!
//! The core says what goes where ([`Output::Send`](highwater_core::io::Output::Send)) and hears what
//! came of it; it never learns of connections. Each has a task on one of the network's threads, which
//! connects, writes frames in order and reads answers in order. An answer is decoded, and a fetched
//! batch checked, on that thread, before the core's lock is taken. The task that brings an answer
//! also drives the core, and so mostly sends the next request itself.
//!
//! Invariants
//! - each request gets exactly one [`Input::Response`] or [`Input::SendFailed`]
//! - a connection that fails fails all that is under way or waits on it; the core asks again
//! - memory follows what is being sent and what has arrived, not what a length claims

mod connection;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use highwater_core::broker::SentAs;
use highwater_core::config::BrokerConfig;
use highwater_core::io::{Input, Peer, PeerLane, SendId};
use highwater_core::types::{BrokerId, Millis};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::server::Buffers;

/// What bounds the connections; named and meant as Kafka's keys.
#[derive(Clone, Debug)]
pub struct PeerLimits {
    /// `socket.connection.setup.timeout.ms`
    pub connect_timeout: Duration,
    /// `replica.socket.timeout.ms`: how long a fetcher waits for an answer.
    pub fetch_timeout: Duration,
    /// `controller.socket.timeout.ms`: how long everybody else does.
    pub controller_timeout: Duration,
    /// `connections.max.idle.ms`; `None`: never.
    pub max_idle: Option<Duration>,
    /// Largest answer that is taken.
    pub answer_max_bytes: i32,
}

impl PeerLimits {
    pub fn of(config: &BrokerConfig) -> Self {
        let positive = |ms: Millis| u64::try_from(ms).ok().map(Duration::from_millis);
        Self {
            connect_timeout: positive(config.socket_connection_setup_timeout_ms).unwrap_or_default(),
            fetch_timeout: positive(config.replica_socket_timeout_ms).unwrap_or_default(),
            controller_timeout: positive(config.controller_socket_timeout_ms).unwrap_or_default(),
            max_idle: positive(config.connections_max_idle_ms),
            answer_max_bytes: MOST_ANSWER_BYTES,
        }
    }

    /// How long an answer may take, and the key that says so.
    fn answer_timeout(&self, lane: PeerLane) -> (Duration, &'static str) {
        match lane {
            PeerLane::Fetch(_) => (self.fetch_timeout, "replica.socket.timeout.ms"),
            PeerLane::Control | PeerLane::Requests => {
                (self.controller_timeout, "controller.socket.timeout.ms")
            }
        }
    }
}

/// Far above what a fetch may ask for, and one batch more.
const MOST_ANSWER_BYTES: i32 = 1 << 30;

/// A request on its way, and what its answer is read by.
#[derive(Debug)]
struct Outgoing {
    id: SendId,
    sent: SentAs,
    frame: Bytes,
}

/// Told what became of a request.
type Report = Box<dyn Fn(Input) + Send + Sync>;

/// All connections to other brokers.
#[derive(Default)]
pub struct Peers {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    open: Mutex<Open>,
    report: OnceLock<Report>,
    network: OnceLock<Network>,
    buffers: Arc<Buffers>,
}

/// Where tasks run, and what bounds them.
struct Network {
    limits: PeerLimits,
    threads: Vec<Handle>,
    next_thread: AtomicUsize,
}

#[derive(Default)]
struct Open {
    by_peer: BTreeMap<(BrokerId, PeerLane), Queue>,
    next_number: u64,
}

/// The way to a connection's task. Only under the lock of [`Open`] is something put in, so a task that
/// takes its queue out of the map has seen all that will come.
struct Queue {
    to: Peer,
    /// Tells the connection from a later one to the same peer.
    number: u64,
    requests: UnboundedSender<Outgoing>,
}

impl Peers {
    /// Whom to tell what became of requests; before anything is sent.
    pub fn report_with(&self, report: impl Fn(Input) + Send + Sync + 'static) {
        let _ = self.shared.report.set(Box::new(report));
    }

    /// Lets connections be made, on these threads by turns. Without it every send fails.
    pub fn start(&self, limits: PeerLimits, threads: Vec<Handle>) {
        let network = Network {
            limits,
            threads,
            next_thread: AtomicUsize::new(0),
        };
        let _ = self.shared.network.set(network);
    }

    /// Takes a request on its way; an error is the reason why it cannot go. It may be called with the
    /// core's lock held, since nothing is reported from within.
    pub fn send(&self, to: Peer, id: SendId, sent: SentAs, frame: Bytes) -> Result<(), String> {
        let network = self
            .shared
            .network
            .get()
            .filter(|network| !network.threads.is_empty());
        let network = network.ok_or("this broker has no network yet")?;
        let mut outgoing = Outgoing { id, sent, frame };
        let mut open = self.shared.open.lock();
        let key = (to.broker, to.lane);
        if let Some(queue) = open.by_peer.get(&key).filter(|queue| queue.to == to) {
            match queue.requests.send(outgoing) {
                Ok(()) => return Ok(()),
                // Its task was ended with its thread.
                Err(refused) => outgoing = refused.0,
            }
        }
        let (requests, received) = unbounded_channel();
        let _ = requests.send(outgoing);
        let number = open.next_number;
        open.next_number += 1;
        // One to the address that the broker had before ends when its last answer has come.
        let queue = Queue {
            to: to.clone(),
            number,
            requests,
        };
        open.by_peer.insert(key, queue);
        drop(open);
        let turn = network.next_thread.fetch_add(1, Ordering::Relaxed);
        let thread = &network.threads[turn % network.threads.len()];
        thread.spawn(connection::run(Arc::clone(&self.shared), to, number, received));
        Ok(())
    }

    /// How many connections there are, those being made included.
    pub fn count(&self) -> usize {
        self.shared.open.lock().by_peer.len()
    }
}

impl Drop for Peers {
    /// The tasks end when they have nothing under way.
    fn drop(&mut self) {
        self.shared.open.lock().by_peer.clear();
    }
}

impl Shared {
    fn report(&self, input: Input) {
        if let Some(report) = self.report.get() {
            report(input);
        }
    }

    /// Takes a connection out of the map, so that the next request opens another.
    fn remove(&self, to: &Peer, number: u64) {
        Self::remove_from(&mut self.open.lock(), to, number);
    }

    /// The same, if nothing `is_waiting` for it; true if it is out.
    fn remove_idle(&self, to: &Peer, number: u64, is_waiting: impl FnOnce() -> bool) -> bool {
        let mut open = self.open.lock();
        if is_waiting() {
            return false;
        }
        Self::remove_from(&mut open, to, number);
        true
    }

    fn remove_from(open: &mut Open, to: &Peer, number: u64) {
        let key = (to.broker, to.lane);
        if open.by_peer.get(&key).is_some_and(|queue| queue.number == number) {
            open.by_peer.remove(&key);
        }
    }
}
