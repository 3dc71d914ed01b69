//! One connection's task: receive, admit, hand to the core, send, wait.
//!
//! Kafka answers a connection's requests in order, one at a time. Here produces may follow each
//! other without waiting for answers, which lets a producer keep the disk busy; any other request
//! waits until nothing before it is unanswered. Decoding and checking records happens here, outside
//! the core's lock; where large batches have to be unpacked for it, on the pool, while the thread serves
//! its other connections.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use highwater_core::broker::{Admission, Admitted, admit, admit_if_short};
use highwater_core::error::Malformed;
use highwater_core::io::Input;
use highwater_core::protocol::ApiKey;
use highwater_core::protocol::frame::request_length;
use highwater_core::record::Workspace;
use highwater_core::types::Millis;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::budget::Share;
use super::buffers::LARGE_BYTES;
use super::connections::Connection;
use super::inbound::{Inbound, Received};
use super::outbound::{Outbound, Sent};
use crate::decompress::NATIVE;
use crate::driver::Driver;

/// Produces of one connection that may be unanswered at a time.
const MOST_UNANSWERED: usize = 64;
/// Bytes of them.
const MOST_UNANSWERED_BYTES: u64 = 8 << 20;
/// Rounds of work before other tasks of the thread have their turn.
const ROUNDS_A_TURN: usize = 16;
/// APIs whose answer may be held back on purpose: Fetch, JoinGroup, SyncGroup. A client that has
/// left shall not keep them waiting.
const HELD_BACK: [i16; 3] = [1, 11, 14];

thread_local! {
    /// Where batches are unpacked to be checked; used again by all connections of a thread.
    static WORKSPACE: RefCell<Workspace> = RefCell::new(Workspace::new(&NATIVE));
}

/// How a connection ended.
#[derive(Debug)]
enum End {
    /// The client closed it.
    ByClient,
    /// We do, with the reason.
    For(String),
}

/// The socket as the reactor wants it.
struct Socket(Arc<Connection>);

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.socket.as_raw_fd()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.socket.as_fd()
    }
}

struct Task<'a> {
    driver: &'a Arc<Driver>,
    connection: &'a Connection,
    inbound: Inbound,
    share: Share<'a>,
    /// An admitted request that has to wait for the answers before it.
    held: Option<Box<Admitted>>,
    /// A frame that takes long to admit. Nothing behind it is looked at before that is done.
    long_work: Option<Bytes>,
    /// The kernel may have bytes for us.
    readable: bool,
    /// The client sends no more.
    ended: bool,
    /// What is unanswered is no produce.
    alone: bool,
    /// What is unanswered may be held back for long.
    long: bool,
}

/// Serves a connection until its end; it is forgotten afterwards.
pub async fn serve(connection: Arc<Connection>, driver: Arc<Driver>) {
    let end = match watch(&connection) {
        Ok(socket) => Task::new(&driver, &connection).run(&socket).await,
        Err(error) => Err(End::For(format!("cannot watch the socket: {error}"))),
    };
    let conn = connection.id;
    driver.connections.remove(&connection);
    driver.submit(Input::Disconnected { conn });
    match end {
        Err(End::For(reason)) => {
            let closed = &driver.connections.metrics.closed_for_cause;
            closed.fetch_add(1, Ordering::Relaxed);
            tracing::info!("closed connection {conn} from {}: {reason}", connection.peer);
        }
        _ => tracing::debug!(
            "connection {conn} from {} was closed by the client",
            connection.peer
        ),
    }
}

/// Registers the socket with this thread's reactor.
fn watch(connection: &Arc<Connection>) -> io::Result<AsyncFd<Socket>> {
    let socket = Socket(Arc::clone(connection));
    // SAFETY: the descriptor is the same at each call and open for as long as the connection lives.
    #[expect(
        unsafe_code,
        reason = "the reactor cannot check that the descriptor stays the same"
    )]
    let watched = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE | Interest::WRITABLE) };
    watched.map_err(io::Error::from)
}

impl<'a> Task<'a> {
    fn new(driver: &'a Arc<Driver>, connection: &'a Connection) -> Self {
        let shared = &driver.connections;
        Self {
            driver,
            connection,
            inbound: Inbound::new(
                Arc::clone(&shared.buffers),
                shared.limits.request_max_bytes,
                request_length,
            ),
            share: shared.budget.share(),
            held: None,
            long_work: None,
            readable: true,
            ended: false,
            alone: false,
            long: false,
        }
    }

    async fn run(&mut self, socket: &AsyncFd<Socket>) -> Result<(), End> {
        let mut rounds = 0;
        loop {
            let sent = self.round()?;
            if let Some(frame) = self.long_work.take() {
                self.held = Some(self.admit_on_the_pool(frame).await?);
                continue;
            }
            if sent == Sent::Cold {
                self.read_ahead().await;
                continue;
            }
            let may_receive = self.readable && self.held.is_none() && self.share.has_room();
            let may_admit = self.held.is_some() && !self.connection.outbound.lock().stalled;
            if may_receive || may_admit || sent == Sent::TurnOver {
                rounds += 1;
                if rounds % ROUNDS_A_TURN == 0 || sent == Sent::TurnOver {
                    tokio::task::yield_now().await;
                }
                continue;
            }
            self.wait(socket, sent).await.map_err(|error| broken(&error))?;
        }
    }

    /// Receives once, hands over what may be handed over, sends what is ready.
    fn round(&mut self) -> Result<Sent, End> {
        self.connection.outbound.lock().attended = true;
        let taken = self.take_in();
        // Frames cut out of the thread's buffer are done with: what is left moves out of it.
        self.inbound.settle();
        let held = self.held.as_ref().map_or(0, |request| request.frame_bytes);
        let held = held + self.long_work.as_ref().map_or(0, |frame| frame.len() as u64);
        let begun = self.inbound.held_bytes() as u64;
        self.share.hold(begun + held);
        self.connection.mid_request.store(begun > 0, Ordering::Relaxed);
        if taken? {
            self.driver.drive();
        }
        self.send()
    }

    /// True when the core has something to handle.
    fn take_in(&mut self) -> Result<bool, End> {
        if self.readable && self.held.is_none() && self.share.has_room() {
            match self.inbound.receive(self.connection.socket.as_fd()) {
                Ok(Received::Some(count)) => self.received(count),
                Ok(Received::All(count)) => {
                    self.readable = false;
                    self.received(count);
                }
                Ok(Received::End) => {
                    self.readable = false;
                    self.ended = true;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(&error)),
            }
        }
        let mut pushed = false;
        loop {
            let Some(request) = self.next_request()? else {
                return Ok(pushed);
            };
            if !self.hand_over(request) {
                return Ok(pushed);
            }
            pushed = true;
        }
    }

    fn received(&self, count: usize) {
        self.connection.touch(self.driver.clock.now());
        let received = &self.driver.connections.metrics.bytes_in;
        received.fetch_add(count as u64, Ordering::Relaxed);
    }

    fn next_request(&mut self) -> Result<Option<Box<Admitted>>, End> {
        if let Some(request) = self.held.take() {
            return Ok(Some(request));
        }
        let Some(frame) = self
            .inbound
            .next_frame()
            .map_err(|bad| End::For(bad.to_string()))?
        else {
            return Ok(None);
        };
        let frame = detach(frame);
        let admitted = admitted(self.driver, |rules, now, workspace| {
            admit_if_short(&frame, rules, now, workspace)
        })?;
        if admitted.is_none() {
            self.long_work = Some(frame);
        }
        // A group remembers where its members are.
        let placed = |mut request: Admitted| {
            if request.api == ApiKey::JoinGroup {
                request.client_host = Some(format!("/{}", self.connection.peer.ip()).into());
            }
            Box::new(request)
        };
        Ok(admitted.map(placed))
    }

    /// Admits a frame apart, so that unpacking its batches keeps no other connection of this thread waiting.
    async fn admit_on_the_pool(&self, frame: Bytes) -> Result<Box<Admitted>, End> {
        let driver = Arc::clone(self.driver);
        let checked = tokio::task::spawn_blocking(move || {
            admitted(&driver, |rules, now, workspace| {
                admit(&frame, rules, now, workspace)
            })
        });
        let failed = |error| Err(End::For(format!("a request could not be checked: {error}")));
        checked.await.unwrap_or_else(failed).map(Box::new)
    }

    /// Gives the request to the core, or holds it back; true if it was given.
    fn hand_over(&mut self, request: Box<Admitted>) -> bool {
        let mut outbound = self.connection.outbound.lock();
        if !self.may_follow(&request, &outbound) {
            self.held = Some(request);
            return false;
        }
        self.alone = !request.is_produce;
        self.long = HELD_BACK.contains(&request.api.code());
        let shared = &self.driver.connections;
        let id = outbound.open_slot(request.api.code(), request.frame_bytes, &shared.budget);
        drop(outbound);
        shared.metrics.request(request.api.code());
        self.driver.push(Input::Request {
            conn: self.connection.id,
            request: id,
            listener: self.connection.listener,
            body: request,
        });
        true
    }

    /// Whether the request may be handled now, with what is still unanswered before it.
    fn may_follow(&self, request: &Admitted, outbound: &Outbound) -> bool {
        if outbound.is_idle() {
            return true;
        }
        let nothing_but_produces = outbound.unanswered() == 0 || !self.alone;
        request.is_produce
            && nothing_but_produces
            && outbound.unanswered() < MOST_UNANSWERED
            && outbound.unsent_pieces() < MOST_UNANSWERED
            && outbound.unanswered_bytes() + request.frame_bytes <= MOST_UNANSWERED_BYTES
    }

    /// Sends what is ready; leaves the connection to whoever brings the next answer.
    fn send(&mut self) -> Result<Sent, End> {
        let mut outbound = self.connection.outbound.lock();
        let handed = outbound.handed_bytes();
        let sent = match outbound.dead {
            true => Sent::All,
            false => outbound
                .send(self.connection.socket.as_fd())
                .map_err(|error| broken(&error))?,
        };
        outbound.attended = false;
        outbound.stalled = self
            .held
            .as_ref()
            .is_some_and(|request| !self.may_follow(request, &outbound));
        if !outbound.has_unsent()
            && let Some(reason) = outbound.close.take()
        {
            return Err(End::For(reason));
        }
        let (idle, unsent) = (outbound.is_idle(), outbound.has_unsent());
        let sent_bytes = outbound.handed_bytes() - handed;
        drop(outbound);
        if sent_bytes > 0 {
            self.connection.touch(self.driver.clock.now());
            let counted = &self.driver.connections.metrics.bytes_out;
            counted.fetch_add(sent_bytes, Ordering::Relaxed);
        }
        let all_taken = self.held.is_none() && self.long_work.is_none();
        if self.ended && (idle && all_taken || self.long && !unsent) {
            return Err(End::ByClient);
        }
        Ok(sent)
    }

    /// Brings the next bytes of a file into memory, on the pool, so that sending them does not make the
    /// other connections of this thread wait for the disk.
    async fn read_ahead(&self) {
        let Some(range) = self.connection.outbound.lock().cold_range() else {
            return;
        };
        let read = tokio::task::spawn_blocking(move || range.read()).await;
        if let Ok(Err(error)) = read {
            tracing::warn!("reading ahead for connection {}: {error}", self.connection.id);
        }
        self.connection.outbound.lock().warmed();
    }

    /// Waits until there is something to do.
    async fn wait(&mut self, socket: &AsyncFd<Socket>, sent: Sent) -> io::Result<()> {
        let wants_room = self.readable && self.held.is_none();
        tokio::select! {
            () = self.connection.wake.notified() => {}
            ready = socket.readable(), if !self.readable && !self.ended => {
                let mut ready = ready?;
                // Cleared before the socket is read to its end: what comes later wakes us again.
                self.readable = true;
                self.ended = ready.ready().is_read_closed() && self.held.is_some();
                ready.clear_ready();
            }
            ready = socket.writable(), if sent == Sent::Blocked => ready?.clear_ready(),
            () = self.share.room(), if wants_room => {}
        }
        Ok(())
    }
}

/// Decodes a frame and checks what it carries, on this thread.
fn admitted<T>(
    driver: &Driver,
    admit: impl FnOnce(&Admission, Millis, &mut Workspace) -> Result<T, Malformed>,
) -> Result<T, End> {
    let rules = driver.admission.load();
    let now = driver.clock.now();
    let admitted = WORKSPACE.with_borrow_mut(|workspace| admit(&rules, now, workspace));
    admitted.map_err(|malformed| End::For(format!("a request cannot be read: {malformed}")))
}

/// A small request that may have to wait shall not keep the thread's whole receiving buffer, of which
/// it is a slice. A produce is written soon, and not copied.
fn detach(frame: Bytes) -> Bytes {
    let is_produce = frame.first_chunk() == Some(&ApiKey::Produce.code().to_be_bytes());
    if is_produce || frame.len() >= LARGE_BYTES {
        return frame;
    }
    Bytes::copy_from_slice(&frame)
}

fn broken(error: &io::Error) -> End {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => End::ByClient,
        _ => End::For(format!("the socket failed: {error}")),
    }
}
