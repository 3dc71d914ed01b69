//! The watches of a session that have not told anything yet.
//!
//! ZooKeeper tells a connection once of a change, however often it set the watch, and of a node's end
//! once even where both its bytes and its children were watched. The client hands out a watcher for
//! each request; so that an event comes once here too, one watcher is kept for each thing watched. It
//! still comes twice where the answer to a second look and the event were there at the same time, since
//! the client does not tell which was first. Whoever hears of a change reads, so that does no harm.
//!
//! Invariant: a watcher is passed over only while the one that is kept can still fire. One that has fired
//! is behind the look that brought the new one, so what it saw says nothing of what comes.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use highwater_core::coordination::{CoordinationEvent, WatchKind};
use zookeeper_client::{EventType, WatchedEvent};

use super::ask::Watched;

type Waiting = Pin<Box<dyn Future<Output = (Key, u64, WatchedEvent)> + Send>>;
type Key = (Watched, Arc<str>);

#[derive(Default)]
pub(super) struct Watches {
    /// The number of the watcher that counts for each thing watched.
    live: BTreeMap<Key, u64>,
    last: u64,
    waiting: FuturesUnordered<Waiting>,
    /// Had fired when another was added.
    fired: VecDeque<CoordinationEvent>,
}

impl Watches {
    /// Keeps this watcher, unless there is one already that will see the same.
    pub fn add(
        &mut self,
        watched: Watched,
        path: Arc<str>,
        changed: impl Future<Output = WatchedEvent> + Send + 'static,
    ) {
        while let Some(Some(event)) = self.next_to_fire().now_or_never() {
            self.fired.push_back(event);
        }
        let key = (watched, path);
        if self.live.contains_key(&key) {
            return;
        }
        self.last += 1;
        let number = self.last;
        self.live.insert(key.clone(), number);
        self.waiting
            .push(Box::pin(async move { (key, number, changed.await) }));
    }

    /// What the next watch to fire has seen; `None` when nothing is watched.
    pub async fn next(&mut self) -> Option<CoordinationEvent> {
        match self.fired.pop_front() {
            Some(event) => Some(event),
            None => self.next_to_fire().await,
        }
    }

    async fn next_to_fire(&mut self) -> Option<CoordinationEvent> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::{pending, ready};

    fn changed() -> WatchedEvent {
        WatchedEvent::new(EventType::NodeDataChanged, "/a")
    }

    fn told(watches: &mut Watches) -> Vec<WatchKind> {
        let next = || match watches.next().now_or_never()?? {
            CoordinationEvent::Watch { what, .. } => Some(what),
            _ => None,
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn what_is_watched_twice_is_told_once() {
        let mut watches = Watches::default();
        let (fire, first) = tokio::sync::oneshot::channel();
        watches.add(
            Watched::Data,
            "/a".into(),
            first.map(|fired| fired.unwrap_or_else(|_| changed())),
        );
        watches.add(Watched::Data, "/a".into(), pending());
        assert_eq!(told(&mut watches), []);
        fire.send(changed()).unwrap();
        assert_eq!(told(&mut watches), [WatchKind::DataChanged]);
    }

    #[test]
    fn a_watch_set_after_another_had_fired_is_kept() {
        let mut watches = Watches::default();
        let (fire, second) = tokio::sync::oneshot::channel();
        // One read brings both: the change came between its looks, and nobody has taken it out yet.
        watches.add(Watched::Data, "/a".into(), ready(changed()));
        watches.add(
            Watched::Data,
            "/a".into(),
            second.map(|fired| fired.unwrap_or_else(|_| changed())),
        );
        assert_eq!(told(&mut watches), [WatchKind::DataChanged]);
        fire.send(changed()).unwrap();
        assert_eq!(
            told(&mut watches),
            [WatchKind::DataChanged],
            "the second change is not lost"
        );
    }
}
