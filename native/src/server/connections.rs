//! All open connections: where an answer finds its way back to its socket.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use highwater_core::io::{ConnId, ListenerId};
use highwater_core::types::Millis;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::budget::Budget;
use super::buffers::Buffers;
use super::outbound::{Answer, Outbound, Sent};
use crate::clock::Clock;
use crate::disk::OpenFile;
use crate::metrics::Metrics;

/// What bounds the connections; named and meant as Kafka's keys.
#[derive(Clone, Debug)]
pub struct Limits {
    /// `socket.request.max.bytes`
    pub request_max_bytes: i32,
    /// `queued.max.request.bytes`, over all connections; Kafka's default (-1) means our own here.
    pub queued_max_bytes: u64,
    /// `connections.max.idle.ms`
    pub max_idle_ms: Millis,
    /// `max.connections`
    pub max_connections: usize,
    /// `max.connections.per.ip`
    pub max_connections_per_ip: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_max_bytes: 100 << 20,
            queued_max_bytes: 64 << 20,
            max_idle_ms: 600_000,
            max_connections: usize::MAX,
            max_connections_per_ip: usize::MAX,
        }
    }
}

/// One client's socket and what is to be sent on it.
#[derive(Debug)]
pub struct Connection {
    pub id: ConnId,
    pub peer: SocketAddr,
    pub listener: ListenerId,
    pub(super) socket: TcpStream,
    pub(super) outbound: Mutex<Outbound>,
    /// Tells the connection's own task that there is something for it.
    pub(super) wake: Notify,
    /// When bytes last moved, either way.
    active_ms: AtomicI64,
    /// It has received a part of a request and waits for the rest.
    pub(super) mid_request: AtomicBool,
}

impl Connection {
    pub(super) fn touch(&self, now: Millis) {
        self.active_ms.store(now, Ordering::Relaxed);
    }
}

/// The open connections and what they share.
#[derive(Debug)]
pub struct Connections {
    pub limits: Limits,
    pub budget: Budget,
    pub metrics: Metrics,
    pub(super) buffers: Arc<Buffers>,
    open: Mutex<Open>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct Open {
    by_id: HashMap<ConnId, Arc<Connection>>,
    by_ip: HashMap<IpAddr, usize>,
}

/// With the budget used up, a connection that is silent in the middle of a request has this long.
const SILENCE_UNDER_PRESSURE_MS: Millis = 5_000;

impl Connections {
    pub fn new(limits: Limits) -> Self {
        Self {
            budget: Budget::new(limits.queued_max_bytes),
            limits,
            metrics: Metrics::default(),
            buffers: Arc::default(),
            open: Mutex::default(),
            next: AtomicU64::new(0),
        }
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.open.lock().by_id.len()
    }

    /// Takes in a connected, non-blocking socket; an error is the reason to close it at once.
    pub fn add(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        listener: ListenerId,
        now: Millis,
    ) -> Result<Arc<Connection>, String> {
        let mut open = self.open.lock();
        if open.by_id.len() >= self.limits.max_connections {
            return Err(format!(
                "max.connections ({}) are open",
                self.limits.max_connections
            ));
        }
        let from_ip = open.by_ip.entry(peer.ip()).or_insert(0);
        if *from_ip >= self.limits.max_connections_per_ip {
            let most = self.limits.max_connections_per_ip;
            return Err(format!(
                "max.connections.per.ip ({most}) are open from this address"
            ));
        }
        *from_ip += 1;
        let connection = Arc::new(Connection {
            id: self.next.fetch_add(1, Ordering::Relaxed),
            peer,
            listener,
            socket,
            outbound: Mutex::default(),
            wake: Notify::new(),
            active_ms: AtomicI64::new(now),
            mid_request: false.into(),
        });
        open.by_id.insert(connection.id, Arc::clone(&connection));
        Ok(connection)
    }

    /// Forgets a connection that has ended.
    pub fn remove(&self, connection: &Connection) {
        connection.outbound.lock().abandon(&self.budget);
        let mut open = self.open.lock();
        if open.by_id.remove(&connection.id).is_none() {
            return;
        }
        let ip = connection.peer.ip();
        if let Some(count) = open.by_ip.get_mut(&ip) {
            *count -= 1;
            if *count == 0 {
                open.by_ip.remove(&ip);
            }
        }
    }

    fn get(&self, id: ConnId) -> Option<Arc<Connection>> {
        self.open.lock().by_id.get(&id).cloned()
    }

    /// Puts an answer in its slot, to be sent with [`send`](Self::send) soon; from now on a truncation
    /// knows of it. `None` when the connection is gone or its own task will send.
    pub fn place(&self, answer: Answer) -> Option<Arc<Connection>> {
        let connection = self.get(answer.conn)?;
        let mut outbound = connection.outbound.lock();
        if outbound.dead {
            return None;
        }
        match outbound.fill_slot(answer, &self.budget) {
            Some((api, since)) => self.metrics.answer(api, since.elapsed()),
            None => tracing::error!("an answer for connection {} fits no request of it", connection.id),
        }
        let attended = outbound.attended;
        drop(outbound);
        (!attended).then_some(connection)
    }

    /// Sends what is ready on a connection whose own task sleeps: here if it is little, else by waking it.
    pub fn send(&self, connection: &Connection, clock: &Clock) {
        let mut outbound = connection.outbound.lock();
        if outbound.attended {
            return;
        }
        let handed = outbound.handed_bytes();
        let sent = match outbound.is_light() {
            true => outbound.send(connection.socket.as_fd()).unwrap_or(Sent::Blocked),
            false => Sent::Blocked,
        };
        let sent_bytes = outbound.handed_bytes() - handed;
        let needs_its_task = sent != Sent::All || outbound.stalled || outbound.close.is_some();
        drop(outbound);
        self.metrics.bytes_out.fetch_add(sent_bytes, Ordering::Relaxed);
        connection.touch(clock.now());
        if needs_its_task {
            connection.wake.notify_one();
        }
    }

    /// Closes a connection once what is already answered is sent.
    pub fn close(&self, id: ConnId, reason: String) {
        if let Some(connection) = self.get(id) {
            connection.outbound.lock().close.get_or_insert(reason);
            connection.wake.notify_one();
        }
    }

    /// Resets each connection that still has to send bytes of the file, which is about to be cut.
    pub fn reset_readers_of(&self, file: &OpenFile) {
        file.retain_readers(|id| {
            if let Some(connection) = self.get(id) {
                let mut outbound = connection.outbound.lock();
                if outbound.needs(file, connection.socket.as_fd()) {
                    // Disconnecting a TCP socket drops its send queue at once, which closing does not.
                    if let Err(error) = rustix::net::connect_unspec(&connection.socket) {
                        tracing::warn!("cannot reset connection {id}: {error}");
                    }
                    outbound.abandon(&self.budget);
                    let reason = "the log it was reading is being truncated; the client will ask again";
                    outbound.close.get_or_insert(reason.to_owned());
                    connection.wake.notify_one();
                }
            }
            false
        });
    }

    /// Closes connections that have been silent too long, and lets go of files that have been sent.
    pub fn sweep(&self, now: Millis) {
        let all: Vec<_> = self.open.lock().by_id.values().cloned().collect();
        for connection in all {
            let silent_ms = now - connection.active_ms.load(Ordering::Relaxed);
            let mid_request = connection.mid_request.load(Ordering::Relaxed);
            if silent_ms > self.limits.max_idle_ms {
                let most = self.limits.max_idle_ms;
                self.close_at_once(
                    &connection,
                    format!("idle for longer than connections.max.idle.ms ({most})"),
                );
            } else if mid_request && self.budget.is_exhausted() && silent_ms > SILENCE_UNDER_PRESSURE_MS {
                let reason = "silent in the middle of a request while others wait for memory";
                self.close_at_once(&connection, reason.to_owned());
            } else {
                let mut outbound = connection.outbound.lock();
                outbound.forget_sent(connection.socket.as_fd());
            }
        }
    }

    fn close_at_once(&self, connection: &Connection, reason: String) {
        let mut outbound = connection.outbound.lock();
        outbound.abandon(&self.budget);
        outbound.close.get_or_insert(reason);
        connection.wake.notify_one();
    }
}
