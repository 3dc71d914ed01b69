//! The watches of a session that have not told anything yet.
//!
//! ZooKeeper tells a connection once of a change, however often it set the watch, and of a node's end
//! once even where both its bytes and its children were watched. The client hands out a watcher for
//! each request; so that an event comes once here too, one watcher is kept for each thing watched. It
//! still comes twice where the answer to a second look and the event were there at the same time, since
//! the client does not tell which was first. Whoever hears of a change reads, so that does no harm.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use highwater_core::coordination::{CoordinationEvent, WatchKind};
use zookeeper_client::{EventType, WatchedEvent};

use super::ask::{NewWatch, Watched};

type Waiting = Pin<Box<dyn Future<Output = (Key, u64, WatchedEvent)> + Send>>;
type Key = (Watched, Arc<str>);

#[derive(Default)]
pub(super) struct Watches {
    /// The number of the watcher that counts for each thing watched.
    live: BTreeMap<Key, u64>,
    last: u64,
    waiting: FuturesUnordered<Waiting>,
}

impl Watches {
    pub fn add(&mut self, (watched, path, watcher): NewWatch) {
        let key = (watched, path);
        if self.live.contains_key(&key) {
            return;
        }
        self.last += 1;
        let number = self.last;
        self.live.insert(key.clone(), number);
        self.waiting
            .push(Box::pin(async move { (key, number, watcher.changed().await) }));
    }

    /// What the next watch to fire has seen; `None` when nothing is watched.
    pub async fn next(&mut self) -> Option<CoordinationEvent> {
        loop {
            let ((watched, path), number, event) = self.waiting.next().await?;
            let key = (watched, path);
            if self.live.get(&key) != Some(&number) {
                continue;
            }
            self.live.remove(&key);
            let (_, path) = key;
            let what = match event.event_type {
                EventType::NodeCreated => WatchKind::Created,
                EventType::NodeDataChanged => WatchKind::DataChanged,
                EventType::NodeChildrenChanged => WatchKind::ChildrenChanged,
                EventType::NodeDeleted => {
                    for other in [Watched::Data, Watched::Children] {
                        self.live.remove(&(other, path.clone()));
                    }
                    WatchKind::Deleted
                }
                // The session's end is told by its state.
                EventType::Session => continue,
            };
            return Some(CoordinationEvent::Watch { path, what });
        }
    }
}
