//! What hangs on sessions in the coordination service's tree: who is controller, which brokers are there, who
//! watches that.
//!
//! A session is known by the broker that has registered in it; before that nobody can say whose it is. None of
//! this is a visible change by itself: a stage that draws the tree looks at what has changed here.
//!
//! Invariants
//! - a watch is of an open session in which somebody is connected, and is gone when it has fired

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::coordination::SessionId;
use crate::metadata::nodes;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::trace::{Fact, WatchKind, WorldFact};
use crate::types::{BrokerId, Millis};

/// The tree, as far as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeView {
    /// `/controller`: who holds the office, and the session with which the node goes.
    pub controller: Option<(BrokerId, SessionId)>,
    /// `/controller_epoch`: the office's number, which stays.
    pub controller_epoch: Option<i32>,
    /// `/brokers/ids/N`: the session with which each of the nodes goes.
    pub registered: OrderedMap<BrokerId, SessionId>,
    pub sessions: OrderedMap<SessionId, SessionView>,
    pub watches: OrderedSet<(Watched, SessionId)>,
}

/// An open session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    /// It ends when nothing was heard for so long.
    pub timeout_ms: Millis,
    pub connected: bool,
}

/// What is watched, of what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Watched {
    /// `/controller`.
    Controller,
    /// Which children `/brokers/ids` has.
    BrokerIds,
}

/// A node that goes with a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Ephemeral {
    Controller(BrokerId),
    Registered(BrokerId),
}

/// What was there and is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Past {
    /// A node, with the session that it went with; `None`: it was deleted by itself.
    Node(Ephemeral, Option<SessionId>),
    /// A watch that has fired, by whose it was.
    Watch(Watched, BrokerId),
    /// A session that is over.
    Session(BrokerId, SessionId),
}

/// What was there of late, oldest first, each with the number of the fact that took it away, counted from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeMemory(VecDeque<(Past, usize)>);

/// So much is remembered; a stage shows what went in one moment.
const MOST_PAST: usize = 64;

impl Watched {
    pub fn path(self) -> &'static str {
        match self {
            Self::Controller => nodes::CONTROLLER,
            Self::BrokerIds => nodes::BROKER_IDS,
        }
    }

    /// Whether it is the node's children that are watched.
    pub fn is_of_children(self) -> bool {
        self == Self::BrokerIds
    }

    fn of(path: &str, children: bool) -> Option<Self> {
        let mut all = [Self::Controller, Self::BrokerIds].into_iter();
        all.find(|it| it.path() == path && it.is_of_children() == children)
    }
}

impl TreeMemory {
    /// What went since the fact with that number, and with it.
    pub fn since(&self, fact: usize) -> impl Iterator<Item = Past> {
        let late = self.0.iter().filter(move |(_, at)| *at >= fact);
        late.map(|(past, _)| *past)
    }

    fn keep(&mut self, past: Option<Past>, at: usize) {
        self.0.extend(past.map(|past| (past, at)));
        if self.0.len() > MOST_PAST {
            self.0.pop_front();
        }
    }
}

impl Ephemeral {
    pub fn broker(self) -> BrokerId {
        match self {
            Self::Controller(broker) | Self::Registered(broker) => broker,
        }
    }

    pub fn path(self) -> String {
        match self {
            Self::Controller(_) => nodes::CONTROLLER.to_owned(),
            Self::Registered(broker) => nodes::broker(broker),
        }
    }
}

impl TreeView {
    /// The broker that has registered in the session.
    pub fn broker_of(&self, session: SessionId) -> Option<BrokerId> {
        let mut all = self.registered.iter();
        all.find(|(_, of)| **of == session).map(|(&broker, _)| broker)
    }

    /// Puts a node there, as it was found or made.
    pub fn put(&mut self, path: &str, data: &str, owner: SessionId) {
        match path {
            nodes::CONTROLLER => {
                let node = nodes::parse::<nodes::Controller>(path, data.as_bytes());
                self.controller = node.ok().map(|node| (node.brokerid, owner));
            }
            nodes::CONTROLLER_EPOCH => self.controller_epoch = data.parse().ok(),
            _ => {
                if let Some(broker) = registered(path) {
                    self.registered.insert(broker, owner);
                }
            }
        }
    }

    /// The node that goes with a session, if that is the path of one that is shown.
    fn take(&mut self, path: &str) -> Option<(Ephemeral, SessionId)> {
        if path == nodes::CONTROLLER {
            let (broker, session) = self.controller.take()?;
            return Some((Ephemeral::Controller(broker), session));
        }
        let broker = registered(path)?;
        let session = self.registered.remove(&broker)?;
        Some((Ephemeral::Registered(broker), session))
    }

    /// Adds the fact with that number; `memory` keeps what it takes away.
    pub(super) fn apply(&mut self, fact: &Fact, at: usize, memory: &mut TreeMemory) {
        match fact {
            Fact::SessionOpened { session, timeout_ms } => {
                self.open(*session, *timeout_ms, true);
            }
            Fact::SessionResumed { session } => {
                // Those that it had are set again, one by one.
                self.forget_watches(*session);
                self.connect(*session, true);
            }
            Fact::SessionDisconnected { session } => {
                self.forget_watches(*session);
                self.connect(*session, false);
            }
            Fact::SessionClosed { session } | Fact::SessionExpired { session } => {
                self.forget_watches(*session);
                self.sessions.remove(session);
                let broker = self.broker_of(*session);
                memory.keep(broker.map(|broker| Past::Session(broker, *session)), at);
            }
            Fact::WatchSet {
                session,
                path,
                children,
            } => {
                let watched = Watched::of(path, *children);
                self.watches.extend(watched.map(|watched| (watched, *session)));
            }
            Fact::WatchFired { session, path, what } => {
                for children in [false, true] {
                    let is_it = match what {
                        WatchKind::Created | WatchKind::DataChanged => !children,
                        WatchKind::ChildrenChanged => children,
                        WatchKind::Deleted => true,
                    };
                    let Some(watched) = Watched::of(path, children).filter(|_| is_it) else {
                        continue;
                    };
                    self.watches.remove(&(watched, *session));
                    let broker = self.broker_of(*session);
                    memory.keep(broker.map(|broker| Past::Watch(watched, broker)), at);
                }
            }
            Fact::CoordinationChanged {
                changes,
                data,
                owners,
                ..
            } => {
                for ((change, data), owner) in changes.iter().zip(data).zip(owners) {
                    match change.split_once(' ') {
                        Some(("delete", path)) => {
                            if let Some((node, session)) = self.take(path) {
                                let is_over = !self.sessions.contains_key(&session);
                                let with = is_over.then_some(session);
                                memory.keep(Some(Past::Node(node, with)), at);
                            }
                        }
                        Some((_, path)) => self.put(path, data, *owner),
                        None => {}
                    }
                }
            }
            Fact::CoordinationOpened { nodes, sessions, .. } => {
                *self = Self::default();
                nodes
                    .iter()
                    .for_each(|(path, data, owner)| self.put(path, data, *owner));
                for (session, timeout_ms) in sessions {
                    self.open(*session, *timeout_ms, false);
                }
            }
            Fact::World(WorldFact::CoordinationCrashed) => {
                self.watches.clear();
                for seen in self.sessions.values_mut() {
                    seen.connected = false;
                }
            }
            _ => {}
        }
    }

    pub fn open(&mut self, session: SessionId, timeout_ms: Millis, connected: bool) {
        let opened = SessionView {
            timeout_ms,
            connected,
        };
        self.sessions.insert(session, opened);
    }

    fn connect(&mut self, session: SessionId, connected: bool) {
        if let Some(seen) = self.sessions.get_mut(&session) {
            seen.connected = connected;
        }
    }

    fn forget_watches(&mut self, session: SessionId) {
        self.watches.retain(|(_, of)| *of != session);
    }
}

/// The broker whose node that is.
fn registered(path: &str) -> Option<BrokerId> {
    let name = path.strip_prefix(nodes::BROKER_IDS)?;
    name.strip_prefix('/')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree that is told fact by fact.
    #[derive(Default)]
    struct Telling {
        tree: TreeView,
        memory: TreeMemory,
        facts: usize,
    }

    impl Telling {
        fn tell(&mut self, fact: &Fact) {
            self.tree.apply(fact, self.facts, &mut self.memory);
            self.facts += 1;
        }

        fn change(&mut self, changes: &[(&str, &str, SessionId)]) {
            self.tell(&Fact::CoordinationChanged {
                zxid: 1,
                changes: changes.iter().map(|(change, ..)| (*change).to_owned()).collect(),
                data: changes.iter().map(|(_, data, _)| (*data).to_owned()).collect(),
                owners: changes.iter().map(|(.., owner)| *owner).collect(),
            });
        }

        fn watch(&mut self, session: SessionId, path: &str, children: bool) {
            let path = path.to_owned();
            self.tell(&Fact::WatchSet {
                session,
                path,
                children,
            });
        }

        fn fire(&mut self, session: SessionId, path: &str, what: WatchKind) {
            let path = path.to_owned();
            self.tell(&Fact::WatchFired { session, path, what });
        }

        /// What the last fact took away.
        fn past_of_last(&self) -> Vec<Past> {
            self.memory.since(self.facts - 1).collect()
        }

        /// Brokers 1 and 2 in sessions 11 and 12; 1 is the controller, and both watch that.
        fn two() -> Self {
            let mut telling = Self::default();
            for broker in 1..=2 {
                let session = SessionId::from(broker) + 10;
                telling.tell(&Fact::SessionOpened {
                    session,
                    timeout_ms: 2000,
                });
                telling.change(&[(&format!("create {}", nodes::broker(broker)), "{}", session)]);
                telling.watch(session, nodes::CONTROLLER, false);
            }
            let holder = String::from_utf8(nodes::write(&nodes::Controller::new(1, 0)).to_vec()).unwrap();
            telling.fire(11, nodes::CONTROLLER, WatchKind::Created);
            telling.change(&[
                ("create /controller", &holder, 11),
                ("create /controller_epoch", "1", 0),
            ]);
            telling.watch(11, nodes::CONTROLLER, false);
            telling.watch(11, nodes::BROKER_IDS, true);
            telling
        }
    }

    #[test]
    fn a_node_is_known_with_the_session_that_it_goes_with() {
        let Telling { tree, .. } = Telling::two();
        assert_eq!((tree.controller, tree.controller_epoch), (Some((1, 11)), Some(1)));
        assert_eq!((tree.broker_of(12), tree.broker_of(13)), (Some(2), None));
        let watches: Vec<_> = tree.watches.iter().copied().collect();
        assert_eq!(
            watches,
            [
                (Watched::Controller, 11),
                (Watched::Controller, 12),
                (Watched::BrokerIds, 11)
            ]
        );
    }

    #[test]
    fn a_watch_tells_once_and_only_of_what_it_looks_at() {
        let mut telling = Telling::two();
        telling.fire(11, nodes::BROKER_IDS, WatchKind::DataChanged);
        assert_eq!(telling.tree.watches.len(), 3, "the children are watched");
        telling.fire(11, nodes::BROKER_IDS, WatchKind::ChildrenChanged);
        assert!(!telling.tree.watches.contains(&(Watched::BrokerIds, 11)));
        assert_eq!(telling.past_of_last(), [Past::Watch(Watched::BrokerIds, 1)]);
        telling.watch(12, "/brokers/topics", true);
        assert_eq!(telling.tree.watches.len(), 2, "that is not shown");
    }

    #[test]
    fn with_a_connection_go_its_watches_and_with_a_session_its_nodes() {
        let mut telling = Telling::two();
        telling.tell(&Fact::SessionDisconnected { session: 11 });
        assert!(!telling.tree.sessions[&11].connected);
        assert_eq!(telling.tree.watches.len(), 1, "the other's");
        assert_eq!(telling.tree.controller, Some((1, 11)), "its nodes stay");
        telling.tell(&Fact::SessionExpired { session: 11 });
        assert_eq!(telling.past_of_last(), [Past::Session(1, 11)]);
        telling.change(&[("delete /brokers/ids/1", "", 11), ("delete /controller", "", 11)]);
        let gone = [Ephemeral::Registered(1), Ephemeral::Controller(1)];
        assert_eq!(
            telling.past_of_last(),
            gone.map(|node| Past::Node(node, Some(11)))
        );
        let Telling { tree, .. } = telling;
        assert_eq!(
            (tree.controller, tree.registered.len(), tree.sessions.len()),
            (None, 1, 1)
        );
    }

    #[test]
    fn a_node_that_is_deleted_by_itself_has_gone_with_nobody() {
        let mut telling = Telling::two();
        telling.change(&[("delete /controller", "", 0)]);
        let gone = Past::Node(Ephemeral::Controller(1), None);
        assert_eq!(telling.past_of_last(), [gone]);
    }

    #[test]
    fn a_service_that_crashed_finds_nodes_and_sessions_again_and_no_watches() {
        let mut telling = Telling::two();
        telling.tell(&Fact::World(WorldFact::CoordinationCrashed));
        let left = telling.tree.clone();
        assert!(left.watches.is_empty() && left.controller.is_some());
        let holder = String::from_utf8(nodes::write(&nodes::Controller::new(1, 0)).to_vec()).unwrap();
        let node = |path: &str, data: &str, owner| (path.to_owned(), data.to_owned(), owner);
        telling.tell(&Fact::CoordinationOpened {
            zxid: 9,
            nodes: vec![
                node("/brokers/ids/1", "{}", 11),
                node("/brokers/ids/2", "{}", 12),
                node("/controller", &holder, 11),
                node("/controller_epoch", "1", 0),
            ],
            sessions: vec![(11, 2000), (12, 2000)],
        });
        assert_eq!(telling.tree, left);
        telling.watch(12, nodes::CONTROLLER, false);
        telling.tell(&Fact::SessionResumed { session: 12 });
        assert!(telling.tree.sessions[&12].connected);
        assert!(
            telling.tree.watches.is_empty(),
            "they are set again by who comes back"
        );
    }
}
