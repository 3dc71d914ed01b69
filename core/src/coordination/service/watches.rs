//! One-time watches: who is told of the next change of what (ZooKeeper's `WatchManager`).
//!
//! There are two kinds. A watch on a node's bytes, set by looking at them or for them, fires when the
//! node comes, changes or goes. A watch on its children, set by listing them, fires when one of them
//! comes or goes, or when the node itself goes. A connection that has both on one node is told once
//! that it is gone.
//!
//! A watch belongs to the connection that set it. Whoever connects again within its session brings its
//! watches along, since only the client knows which of them have told it something.

use std::sync::Arc;

use super::super::multi::{Multi, Op, OpResult};
use super::super::path;
use super::super::session::WatchKind;
use super::sessions::ClientId;
use crate::ordered::{OrderedMap, OrderedSet};

/// What a watch looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Watched {
    Data,
    Children,
}

/// A watch that has fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fired {
    pub client: ClientId,
    pub path: Arc<str>,
    pub what: WatchKind,
}

/// All watches, by what they look at and by whose they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Watches {
    by_path: OrderedMap<(Watched, Arc<str>), OrderedSet<ClientId>>,
    by_client: OrderedMap<ClientId, OrderedSet<(Watched, Arc<str>)>>,
}

impl Watches {
    /// False if the connection had that watch already.
    pub fn set(&mut self, client: ClientId, watched: Watched, path: &Arc<str>) -> bool {
        let key = (watched, path.clone());
        self.by_path.entry(key.clone()).or_default().insert(client);
        self.by_client.entry(client).or_default().insert(key)
    }

    /// Whose they are: on a node itself, or on its children.
    pub fn on(&self, watched: Watched, path: &str) -> impl Iterator<Item = ClientId> {
        let clients = self.by_path.get(&(watched, path.into()));
        clients.into_iter().flatten().copied()
    }

    /// The connection is gone, and its watches with it.
    pub fn forget(&mut self, client: ClientId) {
        for key in self.by_client.remove(&client).into_iter().flatten() {
            if let Some(clients) = self.by_path.get_mut(&key) {
                clients.remove(&client);
                if clients.is_empty() {
                    self.by_path.remove(&key);
                }
            }
        }
    }

    /// What a multi that happened fires, in the order of its operations.
    pub fn fire(&mut self, multi: &Multi, results: &[OpResult]) -> Vec<Fired> {
        let mut fired = Vec::new();
        for (op, result) in multi.ops.iter().zip(results) {
            match (op, result) {
                (_, OpResult::Created { path }) => self.created(path, &mut fired),
                (Op::Set { path, .. }, _) => {
                    self.take(Watched::Data, path, WatchKind::DataChanged, &mut fired);
                }
                (Op::Delete { path, .. }, _) => self.deleted(path, &mut fired),
                (Op::Create { .. } | Op::Check { .. }, _) => {}
            }
        }
        fired
    }

    fn created(&mut self, path: &Arc<str>, fired: &mut Vec<Fired>) {
        self.take(Watched::Data, path, WatchKind::Created, fired);
        self.parent_changed(path, fired);
    }

    /// A node went: the watches on it, then those on its parent's children.
    pub fn deleted(&mut self, path: &Arc<str>, fired: &mut Vec<Fired>) {
        let first = fired.len();
        self.take(Watched::Data, path, WatchKind::Deleted, fired);
        let told: OrderedSet<ClientId> = fired[first..].iter().map(|fired| fired.client).collect();
        let second = fired.len();
        self.take(Watched::Children, path, WatchKind::Deleted, fired);
        let twice = fired.split_off(second);
        fired.extend(twice.into_iter().filter(|again| !told.contains(&again.client)));
        self.parent_changed(path, fired);
    }

    fn parent_changed(&mut self, path: &str, fired: &mut Vec<Fired>) {
        if let Some((parent, _)) = path::split(path) {
            self.take(
                Watched::Children,
                &parent.into(),
                WatchKind::ChildrenChanged,
                fired,
            );
        }
    }

    /// Takes the watches away and adds what they tell.
    fn take(&mut self, watched: Watched, path: &Arc<str>, what: WatchKind, fired: &mut Vec<Fired>) {
        let key = (watched, path.clone());
        for client in self.by_path.remove(&key).into_iter().flatten() {
            if let Some(keys) = self.by_client.get_mut(&client) {
                keys.remove(&key);
            }
            fired.push(Fired {
                client,
                path: path.clone(),
                what,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fire(watches: &mut Watches, multi: &Multi) -> Vec<(ClientId, String, WatchKind)> {
        let results: Vec<OpResult> = multi
            .ops
            .iter()
            .map(|op| match op {
                Op::Create { path, .. } => OpResult::Created { path: path.clone() },
                Op::Set { .. } => OpResult::Set(Default::default()),
                Op::Delete { .. } => OpResult::Deleted,
                Op::Check { .. } => OpResult::Checked,
            })
            .collect();
        let fired = watches.fire(multi, &results).into_iter();
        fired.map(|f| (f.client, f.path.to_string(), f.what)).collect()
    }

    #[test]
    fn a_watch_tells_once() {
        let mut watches = Watches::default();
        assert!(watches.set(1, Watched::Data, &"/a".into()));
        assert!(!watches.set(1, Watched::Data, &"/a".into()));
        assert_eq!(watches.on(Watched::Data, "/a").collect::<Vec<_>>(), [1]);
        assert_eq!(watches.on(Watched::Children, "/a").count(), 0);
        let set = Multi::new()
            .check("/a", None)
            .set("/a", "", None)
            .set("/a", "", None);
        assert_eq!(
            fire(&mut watches, &set),
            [(1, "/a".to_owned(), WatchKind::DataChanged)]
        );
        assert_eq!(fire(&mut watches, &set), []);
    }

    #[test]
    fn coming_and_going_is_told_to_the_node_and_to_its_parent() {
        let mut watches = Watches::default();
        watches.set(1, Watched::Data, &"/a".into());
        watches.set(2, Watched::Children, &"/".into());
        watches.set(3, Watched::Children, &"/a".into());
        let told = fire(&mut watches, &Multi::new().create("/a", ""));
        assert_eq!(
            told,
            [
                (1, "/a".to_owned(), WatchKind::Created),
                (2, "/".to_owned(), WatchKind::ChildrenChanged)
            ]
        );
        watches.set(1, Watched::Data, &"/a".into());
        watches.set(1, Watched::Children, &"/a".into());
        watches.set(1, Watched::Children, &"/".into());
        let told = fire(&mut watches, &Multi::new().delete("/a", None));
        assert_eq!(
            told,
            [
                (1, "/a".to_owned(), WatchKind::Deleted),
                (3, "/a".to_owned(), WatchKind::Deleted),
                (1, "/".to_owned(), WatchKind::ChildrenChanged)
            ],
            "of one node's end a connection is told once"
        );
    }

    #[test]
    fn a_connection_takes_its_watches_with_it() {
        let mut watches = Watches::default();
        watches.set(1, Watched::Data, &"/a".into());
        watches.set(2, Watched::Data, &"/a".into());
        watches.forget(1);
        let told = fire(&mut watches, &Multi::new().set("/a", "", None));
        assert_eq!(told, [(2, "/a".to_owned(), WatchKind::DataChanged)]);
        assert!(watches.by_path.is_empty());
    }
}
