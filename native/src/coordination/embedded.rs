//! The coordination service in this process: the core's `Service`, its files, a thread.
//!
//! The thread takes what brokers ask, hands it to the service, carries the disk operations out where it
//! is, and tells what comes back. While it waits for the medium more is asked, and all of that shares
//! the next sync. Brokers and service live and die together, so a session ends when it is closed or
//! when its broker is gone, never from silence; and those found on disk end at the start.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use highwater_core::coordination::{
    ClientId, CoordinationEvent, CoordinationOp, Damaged, LOG_PATH, OpId, SNAPSHOT_PATH, Service,
    ServiceInput, ServiceOptions, ServiceOutput, SessionEpoch, recover,
};
use highwater_core::trace::{EventId, Trace};
use highwater_core::types::Millis;
use parking_lot::{Condvar, Mutex};
use thiserror::Error;
use tokio::sync::oneshot;

use super::{CoordinationHost, Tell};
use crate::clock::Clock;
use crate::disk::InlineDirectory;
use crate::driver::EndTheProcess;

/// The longest sleep: wall time may have been set forward meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// Why the service cannot begin; one line each.
#[derive(Debug, Error)]
pub enum EmbeddedError {
    #[error("{}: {error}", .path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{}: {damaged}", .directory.display())]
    Damaged { directory: PathBuf, damaged: Damaged },
    #[error("cannot start the coordination service's thread: {0}")]
    Thread(io::Error),
}

/// What is for the thread.
enum Message {
    Open {
        client: ClientId,
        session: SessionEpoch,
        timeout_ms: Millis,
        tell: Tell,
    },
    Ask {
        client: ClientId,
        id: OpId,
        op: CoordinationOp,
    },
    Close(ClientId),
    /// The broker is gone without a word.
    Gone(ClientId),
    /// Answered when all before it is done.
    Settle(oneshot::Sender<()>),
    Stop,
}

/// What brokers and thread share.
#[derive(Default)]
struct Shared {
    queue: Mutex<VecDeque<Message>>,
    asked: Condvar,
    last_client: Mutex<ClientId>,
}

impl Shared {
    fn send(&self, message: Message) {
        self.queue.lock().push_back(message);
        self.asked.notify_one();
    }

    fn new_client(&self) -> ClientId {
        let mut last = self.last_client.lock();
        *last += 1;
        *last
    }
}

/// A service of this process. Dropped, it ends; what was acknowledged is on disk.
pub struct Embedded {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Embedded {
    /// How a service judges sessions whose brokers live in its process.
    pub fn options() -> ServiceOptions {
        ServiceOptions {
            min_session_timeout_ms: 200,
            expire_all_on_start: true,
            silence_expires: false,
            ..ServiceOptions::default()
        }
    }

    /// Takes up the service whose files lie in `directory`, which is there and which the caller keeps
    /// locked.
    pub fn open(directory: &Path, options: ServiceOptions, clock: Clock) -> Result<Self, EmbeddedError> {
        let snapshot = read(directory, SNAPSHOT_PATH)?;
        let log = read(directory, LOG_PATH)?;
        let recovered = recover(&snapshot, &log).map_err(|damaged| EmbeddedError::Damaged {
            directory: directory.to_owned(),
            damaged,
        })?;
        if recovered.cut_bytes > 0 {
            let (path, cut) = (directory.join(LOG_PATH), recovered.cut_bytes);
            tracing::warn!("{}: {cut} bytes of a torn tail cut off", path.display());
        }
        let mut trace = Trace::off();
        let service = Service::open(clock.now(), recovered, options, &mut trace);
        let shared = Arc::new(Shared::default());
        let mut worker = Worker {
            service,
            trace,
            clock,
            directory: InlineDirectory::new(directory),
            shared: Arc::clone(&shared),
            clients: BTreeMap::new(),
        };
        let thread = std::thread::Builder::new()
            .name("coordination".to_owned())
            .spawn(move || worker.run())
            .map_err(EmbeddedError::Thread)?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// A broker's way to this service. When it is dropped, the broker is gone: its sessions last until
    /// they time out.
    pub fn attach(&self, tell: Tell) -> Arc<dyn CoordinationHost> {
        Arc::new(Attached {
            shared: Arc::clone(&self.shared),
            tell,
            sessions: Mutex::default(),
        })
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.shared.send(Message::Stop);
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

fn read(directory: &Path, name: &str) -> Result<Vec<u8>, EmbeddedError> {
    let path = directory.join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(EmbeddedError::Unreadable { path, error }),
    }
}

/// One broker at this service.
struct Attached {
    shared: Arc<Shared>,
    tell: Tell,
    sessions: Mutex<BTreeMap<SessionEpoch, ClientId>>,
}

impl CoordinationHost for Attached {
    fn open(&self, session: SessionEpoch, timeout_ms: Millis) {
        let client = self.shared.new_client();
        self.sessions.lock().insert(session, client);
        self.shared.send(Message::Open {
            client,
            session,
            timeout_ms,
            tell: Arc::clone(&self.tell),
        });
    }

    fn close(&self, session: SessionEpoch) {
        if let Some(client) = self.sessions.lock().remove(&session) {
            self.shared.send(Message::Close(client));
        }
    }

    fn ask(&self, session: SessionEpoch, id: OpId, op: CoordinationOp) {
        if let Some(&client) = self.sessions.lock().get(&session) {
            self.shared.send(Message::Ask { client, id, op });
        }
    }

    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (done, wait) = oneshot::channel();
        self.shared.send(Message::Settle(done));
        Box::pin(async move { drop(wait.await) })
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        for &client in self.sessions.lock().values() {
            self.shared.send(Message::Gone(client));
        }
    }
}

/// What the thread has.
struct Worker {
    service: Service,
    trace: Trace,
    clock: Clock,
    directory: InlineDirectory,
    shared: Arc<Shared>,
    clients: BTreeMap<ClientId, (SessionEpoch, Tell)>,
}

impl Worker {
    fn run(&mut self) {
        let _guard = EndTheProcess;
        self.carry_out();
        loop {
            let mut settled = Vec::new();
            let mut stopping = false;
            for message in self.next() {
                match message {
                    Message::Settle(done) => settled.push(done),
                    Message::Stop => stopping = true,
                    other => self.take_in(other),
                }
            }
            if self
                .service
                .poll_timeout()
                .is_some_and(|due| due <= self.clock.now())
            {
                self.handle(ServiceInput::Tick);
            }
            self.carry_out();
            for done in settled {
                // Whoever asked may have stopped waiting.
                let _ = done.send(());
            }
            if stopping {
                return;
            }
        }
    }

    /// Waits until there is something to do, or time is up for somebody.
    fn next(&self) -> VecDeque<Message> {
        let mut queue = self.shared.queue.lock();
        if queue.is_empty() {
            let left = self.service.poll_timeout().map_or(LONGEST_SLEEP, |due| {
                let left = due.saturating_sub(self.clock.now()).max(0);
                Duration::from_millis(left.unsigned_abs()).min(LONGEST_SLEEP)
            });
            self.shared.asked.wait_for(&mut queue, left);
        }
        std::mem::take(&mut *queue)
    }

    fn take_in(&mut self, message: Message) {
        match message {
            Message::Open {
                client,
                session,
                timeout_ms,
                tell,
            } => {
                self.clients.insert(client, (session, tell));
                self.handle(ServiceInput::Connect {
                    client,
                    timeout_ms,
                    resume: None,
                });
            }
            Message::Ask { client, id, op } => self.handle(ServiceInput::Ask { client, id, op }),
            Message::Close(client) => {
                self.clients.remove(&client);
                self.handle(ServiceInput::Close { client });
            }
            Message::Gone(client) => {
                self.clients.remove(&client);
                self.handle(ServiceInput::Disconnected { client });
            }
            Message::Settle(_) | Message::Stop => {}
        }
    }

    fn handle(&mut self, input: ServiceInput) {
        let now = self.clock.now();
        self.service.handle(now, input, EventId::NONE, &mut self.trace);
    }

    /// Does what the service wants until it wants no more.
    fn carry_out(&mut self) {
        loop {
            let mut operations = Vec::new();
            while let Some(output) = self.service.poll_output() {
                match output {
                    ServiceOutput::Disk { ticket, op } => operations.push((ticket, op)),
                    ServiceOutput::Event { client, event, .. } => self.tell(client, event),
                    // Nobody here listens for silence.
                    ServiceOutput::Pong { .. } => {}
                }
            }
            if operations.is_empty() {
                return;
            }
            let (done, failed) = self.directory.run(&operations);
            if let Some(upto) = done {
                self.handle(ServiceInput::DiskDone { upto });
            }
            if let Some(error) = failed {
                self.handle(ServiceInput::DiskFailed { error });
            }
        }
    }

    fn tell(&mut self, client: ClientId, event: CoordinationEvent) {
        let is_over = matches!(event, CoordinationEvent::Expired | CoordinationEvent::Lost { .. });
        if let Some((session, tell)) = self.clients.get(&client) {
            tell(*session, event);
        }
        if is_over {
            self.clients.remove(&client);
        }
    }
}

#[cfg(test)]
mod tests;
