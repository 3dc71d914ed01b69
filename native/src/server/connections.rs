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
    /// `queued.max.requests`: what may wait for the core.
    pub queued_max_requests: usize,
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
            queued_max_requests: 500,
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

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use bytes::Bytes;
    use highwater_core::disk::{DiskOp, FileId, Lane, Queued};
    use highwater_core::io::{Input, Part, Parts};
    use smallvec::smallvec;

    use super::*;
    use crate::disk::Disk;

    fn connect(connections: &Connections) -> Result<(TcpStream, Arc<Connection>), String> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let client = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        let (socket, peer) = listener.accept().expect("accept");
        socket.set_nonblocking(true).expect("non-blocking");
        Ok((client, connections.add(socket, peer, 0, 0)?))
    }

    #[test]
    fn the_limits_hold_and_a_place_is_free_again() {
        let connections = Connections::new(Limits {
            max_connections: 3,
            max_connections_per_ip: 2,
            ..Limits::default()
        });
        let (_first_client, first) = connect(&connections).expect("room");
        let _second = connect(&connections).expect("room");
        let refused = connect(&connections).expect_err("two of this address are open");
        assert!(refused.contains("max.connections.per.ip (2)"), "{refused}");
        connections.remove(&first);
        assert_eq!(connections.count(), 1);
        connect(&connections).expect("room again");
    }

    #[test]
    fn silence_is_bounded() {
        let connections = Connections::new(Limits {
            max_idle_ms: 1000,
            ..Limits::default()
        });
        let (_client, connection) = connect(&connections).expect("room");
        connections.sweep(1000);
        assert_eq!(connection.outbound.lock().close, None);
        connections.sweep(1001);
        let closed = connection.outbound.lock().close.clone();
        assert!(closed.is_some_and(|why| why.contains("connections.max.idle.ms (1000)")));
    }

    /// A slow reader has bytes of a file before it when the file is cut: it must never see bytes that
    /// were written later in their place.
    #[test]
    fn a_truncation_resets_who_still_needs_the_bytes_and_nobody_else() {
        const LENGTH: usize = 16 << 20;
        let root = tempfile::tempdir().expect("temporary directory");
        let (disk, _) = Disk::open(&[root.path().to_owned()], 16).expect("open");
        let connections = Arc::new(Connections::new(Limits::default()));
        let shared = Arc::clone(&connections);
        disk.reset_readers_with(move |file| shared.reset_readers_of(file));
        let (sender, done) = std::sync::mpsc::channel();
        let report = sender.clone();
        disk.notify_with(move |input| {
            let _ = report.send(input);
        });
        // Large writes may be slow enough for the directory's own thread.
        let run = |last: u64, ops| {
            disk.run(0, ops).into_iter().for_each(|input| {
                let _ = sender.send(input);
            });
            let is_last = |input: Input| matches!(input, Input::DiskDone { upto, .. } if upto == last);
            while !is_last(done.recv().expect("a report")) {}
        };
        let file = FileId { dir: 0, number: 1 };
        let append = |at, byte: u8| DiskOp::Append {
            file,
            at,
            bufs: smallvec![Bytes::from(vec![byte; LENGTH])],
        };
        let strict = |ticket, op| Queued {
            dir: 0,
            lane: Lane::Strict,
            ticket,
            op,
        };
        let path = "t-0/0.log".into();
        let open = DiskOp::Open { file, path };
        run(2, vec![strict(1, open), strict(2, append(0, b'a'))]);
        let (mut slow_client, slow) = connect(&connections).expect("room");
        let (mut quick_client, quick) = connect(&connections).expect("room");
        for (connection, len) in [(&slow, LENGTH as u32), (&quick, 1000)] {
            let request = connection.outbound.lock().open_slot(1, 1, &connections.budget);
            let parts: Parts = smallvec![Part::File { file, pos: 0, len }];
            let answer = Answer::new(connection.id, request, parts, |id| disk.file(id)).expect("open");
            connections.place(answer);
            let mut outbound = connection.outbound.lock();
            while !matches!(
                outbound.send(connection.socket.as_fd()),
                Ok(Sent::All | Sent::Blocked)
            ) {}
        }
        let mut got = vec![0; 1000];
        quick_client.read_exact(&mut got).expect("read");
        assert!(got.iter().all(|&byte| byte == b'a'));
        let open = disk.file(file).expect("open");
        // Its acknowledgement may take a moment.
        while quick.outbound.lock().needs(&open, quick.socket.as_fd()) {
            std::thread::yield_now();
        }

        run(
            4,
            vec![
                strict(3, DiskOp::Truncate { file, len: 0 }),
                strict(4, append(0, b'b')),
            ],
        );

        assert!(slow.outbound.lock().dead);
        assert!(!quick.outbound.lock().dead);
        let mut got = Vec::new();
        let end = slow_client.read_to_end(&mut got);
        assert!(got.len() < LENGTH && got.iter().all(|&byte| byte == b'a'));
        assert_eq!(
            end.map_err(|error| error.kind()),
            Err(std::io::ErrorKind::ConnectionReset)
        );
    }
}
