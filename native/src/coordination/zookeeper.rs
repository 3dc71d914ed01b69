//! A real ZooKeeper as the coordination service (`zookeeper.connect`), through the crate `zookeeper-client`.
//!
//! Each session is a task that owns one client. The client sends requests in the order in which they
//! are made and its answers come back in that order; watch events come by channels of their own, so the
//! task looks at those first, and again before it tells an answer.
//!
//! A lost connection leaves open whether what was under way has happened: it is told as `Unknown`. The
//! client connects again by itself, within the session if that still lives; an expired session is final.

mod ask;
mod session;
mod watches;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use highwater_core::coordination::{CoordinationOp, OpId, SessionEpoch};
use highwater_core::types::Millis;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::{CoordinationHost, Tell};

/// Which ensemble, and how long to wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZooKeeperConfig {
    /// `zookeeper.connect`: `host:port,host:port/chroot`; the chroot is made if it is missing.
    pub connect: String,
    /// `zookeeper.connection.timeout.ms`: so long a broker waits for its first session.
    pub connection_timeout_ms: Millis,
}

impl ZooKeeperConfig {
    /// The servers, and the path below which everything lies (`/` for none).
    fn servers_and_chroot(&self) -> (&str, &str) {
        match self.connect.find('/') {
            Some(slash) => (
                &self.connect[..slash],
                self.connect[slash..].trim_end_matches('/'),
            ),
            None => (&self.connect, ""),
        }
    }
}

/// What is asked of a session's task.
struct Asked {
    id: OpId,
    op: CoordinationOp,
}

/// One broker's way to a ZooKeeper ensemble.
pub struct ZooKeeper {
    config: ZooKeeperConfig,
    runtime: Handle,
    tell: Tell,
    /// Whether a session was ever had: only the first is given up on.
    connected: Arc<AtomicBool>,
    /// To end a session its sender is dropped.
    sessions: Mutex<BTreeMap<SessionEpoch, UnboundedSender<Asked>>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl ZooKeeper {
    /// Sessions run on `runtime`. Nothing is connected before one is opened.
    pub fn new(config: ZooKeeperConfig, runtime: Handle, tell: Tell) -> Arc<Self> {
        Arc::new(Self {
            config,
            runtime,
            tell,
            connected: Arc::new(AtomicBool::new(false)),
            sessions: Mutex::default(),
            tasks: Mutex::default(),
        })
    }
}

impl CoordinationHost for ZooKeeper {
    fn open(&self, session: SessionEpoch, timeout_ms: Millis) {
        let (sender, asked) = unbounded_channel();
        let task = session::Opening {
            session,
            timeout_ms,
            config: self.config.clone(),
            connected: Arc::clone(&self.connected),
            tell: Arc::clone(&self.tell),
        };
        self.sessions.lock().insert(session, sender);
        let mut tasks = self.tasks.lock();
        tasks.retain(|task| !task.is_finished());
        tasks.push(self.runtime.spawn(task.run(asked)));
    }

    fn close(&self, session: SessionEpoch) {
        self.sessions.lock().remove(&session);
    }

    fn ask(&self, session: SessionEpoch, id: OpId, op: CoordinationOp) {
        if let Some(sender) = self.sessions.lock().get(&session) {
            // A task that has ended has told how the session did.
            let _ = sender.send(Asked { id, op });
        }
    }

    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let open = self.sessions.lock();
        // The tasks of open sessions go on.
        let tasks = if open.is_empty() {
            std::mem::take(&mut *self.tasks.lock())
        } else {
            Vec::new()
        };
        Box::pin(async move {
            for task in tasks {
                let _ = task.await;
            }
        })
    }
}

fn has_connected(connected: &AtomicBool) -> bool {
    connected.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chroot_stands_behind_the_servers() {
        let parts = |connect: &str| {
            let connect = connect.to_owned();
            let config = ZooKeeperConfig {
                connect,
                connection_timeout_ms: 1,
            };
            let (servers, chroot) = config.servers_and_chroot();
            (servers.to_owned(), chroot.to_owned())
        };
        assert_eq!(parts("a:1,b:2"), ("a:1,b:2".into(), String::new()));
        assert_eq!(parts("a:1,b:2/kafka/x"), ("a:1,b:2".into(), "/kafka/x".into()));
        assert_eq!(parts("a:1/"), ("a:1".into(), String::new()));
    }
}
