//! The task of one session: connects, asks in order, tells what comes back, until the session is over.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{FuturesOrdered, StreamExt};
use highwater_core::coordination::{CoordinationEvent, CoordinationOp, OpId, SessionEpoch};
use highwater_core::types::Millis;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;
use zookeeper_client::{Acls, Client, CreateMode, Error, SessionState, StateWatcher};

use super::ask::{self, Answer, NewWatch};
use super::watches::Watches;
use super::{Asked, Tell, ZooKeeperConfig, has_connected};

/// Between two tries to connect.
const RETRY_AFTER: Duration = Duration::from_millis(100);
/// So long a closed session is waited for; its timeout ends it otherwise.
const CLOSE_WAIT: Duration = Duration::from_secs(2);

/// A session that is to be.
pub(super) struct Opening {
    pub session: SessionEpoch,
    pub timeout_ms: Millis,
    pub config: ZooKeeperConfig,
    pub connected: Arc<AtomicBool>,
    pub tell: Tell,
}

impl Opening {
    /// From the first try to connect to the session's end.
    pub async fn run(self, mut asked: UnboundedReceiver<Asked>) {
        let mut early = VecDeque::new();
        let client = {
            let mut connecting = pin!(self.connect());
            loop {
                tokio::select! {
                    connected = &mut connecting => break connected,
                    ask = asked.recv() => match ask {
                        Some(ask) => early.push_back(ask),
                        // Closed before it was there.
                        None => return,
                    },
                }
            }
        };
        match client {
            Ok(client) => {
                self.connected.store(true, Ordering::Relaxed);
                let state = client.state_watcher();
                let end = self.serve(&client, state.clone(), early, asked).await;
                drop(client);
                if end == End::Closed {
                    wait_for_the_close(state).await;
                }
            }
            Err(why) => self.say(CoordinationEvent::Lost { why }),
        }
    }

    fn say(&self, event: CoordinationEvent) {
        (self.tell)(self.session, event);
    }

    /// Tries until there is a session. The first of this broker's life is given up on after a while; one
    /// that had a session before waits for ZooKeeper as long as it takes.
    async fn connect(&self) -> Result<Client, String> {
        let (servers, chroot) = self.config.servers_and_chroot();
        let wait_ms = self.config.connection_timeout_ms;
        let wait = Duration::from_millis(wait_ms.max(0).unsigned_abs());
        let give_up = (!has_connected(&self.connected)).then(|| Instant::now() + wait);
        let mut said = false;
        loop {
            let attempt = self.attempt(servers, chroot);
            let result = match give_up {
                Some(at) => tokio::time::timeout_at(at, attempt)
                    .await
                    .unwrap_or(Err(Error::Timeout)),
                None => attempt.await,
            };
            let error = match result {
                Ok(client) => return Ok(client),
                Err(error @ Error::BadArguments(_)) => {
                    return Err(format!("zookeeper.connect={}: {error}", self.config.connect));
                }
                Err(error) => error,
            };
            if give_up.is_some_and(|at| Instant::now() >= at) {
                return Err(format!(
                    "no session with ZooKeeper at {servers} within {wait_ms} ms ({error}); is it running, and is \
                     zookeeper.connect right? (zookeeper.connection.timeout.ms says how long to wait)"
                ));
            }
            if !said {
                tracing::warn!("no session with ZooKeeper at {servers} yet ({error}); trying on");
                said = true;
            }
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }

    /// One try, with the chroot made if it is missing.
    async fn attempt(&self, servers: &str, chroot: &str) -> Result<Client, Error> {
        let timeout = Duration::from_millis(self.timeout_ms.max(1).unsigned_abs());
        let client = Client::connector()
            .with_session_timeout(timeout)
            .with_fail_eagerly()
            .connect(servers)
            .await?;
        if chroot.is_empty() {
            return Ok(client);
        }
        let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
        client.mkdir(chroot, &options).await?;
        client
            .chroot(chroot.to_owned())
            .map_err(|_| Error::BadArguments(&"the chroot is no path"))
    }

    async fn serve(
        &self,
        client: &Client,
        mut state: StateWatcher,
        early: VecDeque<Asked>,
        mut asked: UnboundedReceiver<Asked>,
    ) -> End {
        let request = |Asked { id, op }: Asked| request(client, id, op);
        let mut answers: FuturesOrdered<_> = early.into_iter().map(request).collect();
        let mut watches = Watches::default();
        let connected = CoordinationEvent::Connected {
            session_id: client.session_id().0,
            timeout_ms: Millis::try_from(client.session_timeout().as_millis()).unwrap_or(self.timeout_ms),
        };
        self.say(connected.clone());
        loop {
            tokio::select! {
                biased;
                now = state.changed() => match now {
                    SessionState::SyncConnected => self.say(connected.clone()),
                    SessionState::Disconnected | SessionState::ConnectedReadOnly => {
                        self.say(CoordinationEvent::Disconnected);
                    }
                    SessionState::Expired => {
                        self.say(CoordinationEvent::Expired);
                        return End::Over;
                    }
                    SessionState::AuthFailed | SessionState::Closed => {
                        let why = format!("ZooKeeper ended the session: {now}");
                        self.say(CoordinationEvent::Lost { why });
                        return End::Over;
                    }
                },
                Some(event) = watches.next() => self.say(event),
                Some((id, (answer, new))) = answers.next() => {
                    // What was seen up to here comes before the answer that shows it.
                    while let Some(Some(event)) = watches.next().now_or_never() {
                        self.say(event);
                    }
                    self.answer(id, answer);
                    for (watched, path, watcher) in new {
                        watches.add(watched, path, async move { watcher.changed().await });
                    }
                }
                ask = asked.recv() => match ask {
                    Some(ask) => answers.push_back(request(ask)),
                    None => return End::Closed,
                },
            }
        }
    }

    fn answer(&self, id: OpId, answer: Answer) {
        self.say(match answer {
            Answer::Done(result) => CoordinationEvent::Done { id, result },
            Answer::Unknown => CoordinationEvent::Unknown { id },
        });
    }
}

/// How a session ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// By our wish.
    Closed,
    Over,
}

/// Sends the request now; its answer comes under `id`.
fn request(
    client: &Client,
    id: OpId,
    op: CoordinationOp,
) -> impl Future<Output = (OpId, (Answer, Vec<NewWatch>))> {
    let answering = match op {
        CoordinationOp::Multi(multi) => ask::multi(client, multi),
        CoordinationOp::Read(reads) => ask::read(client, reads),
    };
    answering.map(move |answer| (id, answer))
}

/// The client asks for the close when it is dropped, behind all else.
async fn wait_for_the_close(mut state: StateWatcher) {
    let closed = async { while !is_over(state.changed().await) {} };
    let _ = tokio::time::timeout(CLOSE_WAIT, closed).await;
}

fn is_over(state: SessionState) -> bool {
    matches!(
        state,
        SessionState::Closed | SessionState::Expired | SessionState::AuthFailed
    )
}
