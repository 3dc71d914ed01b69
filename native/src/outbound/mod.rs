//! Connections that this process makes: one for each node and purpose, opened when there is something
//! to send.
//!
//! The core says what goes where and hears what came of it; it never learns of connections. Each has a
//! task on one of the host's threads, which connects, writes frames in order and reads answers in
//! order. A [`Caller`] says whom the connections serve: a broker that speaks to its peers, or a client.
//! Its `answered` runs on the connection's thread, so that what can be decoded and checked without the
//! core is.
//!
//! Invariants
//! - each request is `answered`, `written` or `failed`, exactly once, unless the caller closes its
//!   connection
//! - a connection that fails fails all that is under way or waits on it; the core asks again
//! - memory follows what is being sent and what has arrived, not what a length claims

mod connection;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use highwater_core::protocol::{ApiKey, SendId, SentAs};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::server::{Buffers, LARGE_BYTES};

/// Whom connections serve.
pub trait Caller: Send + Sync + 'static {
    /// Where a request goes, address included.
    type To: Clone + PartialEq + Send + Sync + 'static;
    /// What there is one connection for.
    type Key: Ord + Send + 'static;

    fn key(to: &Self::To) -> Self::Key;

    fn address(to: &Self::To) -> (&str, u16);

    /// How long an answer may take, and the key that says so. `None`: the caller itself looks after that.
    fn answer_timeout(&self, to: &Self::To) -> Option<(Duration, &'static str)>;

    /// The answer to a request, length prefix taken off. Its correlation id is the request's, in 32 bits.
    /// An error says why the answer cannot be read; the connection then ends, and the request has failed.
    fn answered(&self, to: &Self::To, id: SendId, sent: SentAs, frame: Bytes) -> Result<(), String>;

    /// No answer will come. The request may have been carried out.
    fn failed(&self, id: SendId, why: String);

    /// A request that nobody answers is written, all of it.
    fn written(&self, _: SendId) {}

    /// The connection has ended by itself while nothing was under way.
    fn closed(&self, _: &Self::To, _why: String) {}
}

/// What bounds the connections; named and meant as Kafka's keys.
#[derive(Clone, Debug)]
pub struct Limits {
    /// `socket.connection.setup.timeout.ms`
    pub connect_timeout: Duration,
    /// `connections.max.idle.ms`; `None`: never.
    pub max_idle: Option<Duration>,
    /// Largest answer that is taken.
    pub answer_max_bytes: i32,
}

/// Far above what a fetch may ask for, and one batch more.
pub const MOST_ANSWER_BYTES: i32 = 1 << 30;

/// A request on its way, and what its answer is read by.
#[derive(Debug)]
pub struct Outgoing {
    pub id: SendId,
    pub sent: SentAs,
    /// False: nobody answers, and the caller hears when it is written.
    pub answered: bool,
    pub frame: Bytes,
}

/// What a connection's task is to do next.
#[derive(Debug)]
enum Order {
    Send(Outgoing),
    /// End, whatever is under way, and report nothing of it.
    Close,
}

/// All connections of a caller.
pub struct Outbound<C: Caller> {
    shared: Arc<Shared<C>>,
}

struct Shared<C: Caller> {
    open: Mutex<Open<C>>,
    network: OnceLock<Network<C>>,
    buffers: Arc<Buffers>,
}

/// Whom tasks serve, where they run, and what bounds them.
struct Network<C> {
    caller: C,
    limits: Limits,
    threads: Vec<Handle>,
    next_thread: AtomicUsize,
}

struct Open<C: Caller> {
    by_key: BTreeMap<C::Key, Queue<C::To>>,
    next_number: u64,
}

/// The way to a connection's task. Only under the lock of [`Open`] is something put in, so a task that
/// takes its queue out of the map has seen all that will come.
struct Queue<To> {
    to: To,
    /// Tells the connection from a later one for the same key.
    number: u64,
    orders: UnboundedSender<Order>,
}

impl<C: Caller> Default for Outbound<C> {
    fn default() -> Self {
        let open = Open {
            by_key: BTreeMap::new(),
            next_number: 0,
        };
        let shared = Shared {
            open: Mutex::new(open),
            network: OnceLock::new(),
            buffers: Arc::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }
}

impl<C: Caller> Outbound<C> {
    /// Lets connections be made, on these threads by turns. Without it every send fails.
    pub fn start(&self, caller: C, limits: Limits, threads: Vec<Handle>) {
        let network = Network {
            caller,
            limits,
            threads,
            next_thread: AtomicUsize::new(0),
        };
        let _ = self.shared.network.set(network);
    }

    /// Takes a request on its way; an error is the reason why it cannot go. It may be called with the
    /// core's lock held, since nothing is reported from within.
    pub fn send(&self, to: C::To, outgoing: Outgoing) -> Result<(), String> {
        let network = self
            .shared
            .network
            .get()
            .filter(|network| !network.threads.is_empty());
        let network = network.ok_or("there is no network yet")?;
        let mut order = Order::Send(outgoing);
        let mut open = self.shared.open.lock();
        let key = C::key(&to);
        if let Some(queue) = open.by_key.get(&key).filter(|queue| queue.to == to) {
            match queue.orders.send(order) {
                Ok(()) => return Ok(()),
                // Its task was ended with its thread.
                Err(refused) => order = refused.0,
            }
        }
        let (orders, received) = unbounded_channel();
        let _ = orders.send(order);
        let number = open.next_number;
        open.next_number += 1;
        // One to the address that the node had before ends when its last answer has come.
        let queue = Queue {
            to: to.clone(),
            number,
            orders,
        };
        open.by_key.insert(key, queue);
        drop(open);
        let turn = network.next_thread.fetch_add(1, Ordering::Relaxed);
        let thread = &network.threads[turn % network.threads.len()];
        thread.spawn(connection::run(Arc::clone(&self.shared), to, number, received));
        Ok(())
    }

    /// Ends the connection, if there is one, whatever is under way; nothing more is reported of it.
    pub fn close(&self, key: &C::Key) {
        if let Some(queue) = self.shared.open.lock().by_key.remove(key) {
            let _ = queue.orders.send(Order::Close);
        }
    }

    /// How many connections there are, those being made included.
    pub fn count(&self) -> usize {
        self.shared.open.lock().by_key.len()
    }
}

impl<C: Caller> Drop for Outbound<C> {
    /// The tasks end when they have nothing under way.
    fn drop(&mut self) {
        self.shared.open.lock().by_key.clear();
    }
}

impl<C: Caller> Shared<C> {
    /// Takes a connection out of the map, so that the next request opens another.
    fn remove(&self, to: &C::To, number: u64) {
        Self::remove_from(&mut self.open.lock(), to, number);
    }

    /// The same, if nothing `is_waiting` for it; true if it is out.
    fn remove_idle(&self, to: &C::To, number: u64, is_waiting: impl FnOnce() -> bool) -> bool {
        let mut open = self.open.lock();
        if is_waiting() {
            return false;
        }
        Self::remove_from(&mut open, to, number);
        true
    }

    fn remove_from(open: &mut Open<C>, to: &C::To, number: u64) {
        let key = C::key(to);
        if open.by_key.get(&key).is_some_and(|queue| queue.number == number) {
            open.by_key.remove(&key);
        }
    }
}

/// A small answer that may be kept for a while shall not keep the thread's whole receiving buffer, of
/// which it is a slice. Fetched records are written soon, and not copied.
pub fn detach(frame: Bytes, api: ApiKey) -> Bytes {
    if api == ApiKey::Fetch || frame.len() >= LARGE_BYTES {
        return frame;
    }
    Bytes::copy_from_slice(&frame)
}
