//! The tree of nodes, in memory.
//!
//! A value: cheap to clone, since what is in it is shared until one of the two is changed. The service
//! has one, and so does a controller that mirrors what it read ([`Tree::put`]) and decides on it.
//!
//! Invariants
//! - every node but the root has a parent, and the parent names it
//! - a node of a session has no children, and the session's list names it
//! - `cversion` counts the children that came and those that went, as ZooKeeper shows it; so with the
//!   number of children it tells how many ever came, which is the next sequential number

mod change;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;

use super::multi::NodeError;
use super::path::{self, ROOT};
use super::session::SessionId;
use crate::ordered::{OrderedMap, OrderedSet};

/// Number of a change, from 1, in the order in which they happened.
pub type Zxid = i64;

/// Most bytes that one node may hold (ZooKeeper's default `jute.maxbuffer`, less what frames it there).
pub const MAX_DATA_BYTES: u32 = 1_048_575 - 1024;

/// What is known of a node besides its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// The change that created it.
    pub czxid: Zxid,
    /// The change that last replaced its bytes.
    pub mzxid: Zxid,
    /// How often its bytes were replaced.
    pub version: i32,
    /// How often a child came or went.
    pub cversion: i32,
    /// The session with which it goes; 0: none, it stays.
    pub ephemeral_owner: SessionId,
}

/// One node: bytes, stat, and the names of its children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    pub data: Bytes,
    pub stat: Stat,
    children: OrderedSet<Arc<str>>,
    /// The change with which a child last came or went, or the node itself came (ZooKeeper's pzxid).
    children_zxid: Zxid,
}

impl Node {
    pub(super) fn children_zxid(&self) -> Zxid {
        self.children_zxid
    }

    /// How many children it ever had.
    fn children_created(&self) -> i64 {
        (i64::from(self.stat.cversion) + self.children.len() as i64) / 2
    }
}

type Nodes = OrderedMap<Arc<str>, Node>;
type Ephemerals = OrderedMap<SessionId, OrderedSet<Arc<str>>>;

/// All nodes by path. The root `/` is always there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    nodes: Arc<Nodes>,
    /// Paths of each session's nodes.
    ephemerals: Arc<Ephemerals>,
    zxid: Zxid,
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            nodes: Arc::new(OrderedMap::from([(ROOT.into(), Node::default())])),
            ephemerals: Arc::default(),
            zxid: 0,
        }
    }
}

impl Tree {
    /// The last change that happened; 0 when none did.
    pub fn zxid(&self) -> Zxid {
        self.zxid
    }

    pub fn get(&self, path: &str) -> Option<&Node> {
        self.nodes.get(path)
    }

    pub fn exists(&self, path: &str) -> bool {
        self.nodes.contains_key(path)
    }

    /// Names of the node's children, in order; none when there is no such node.
    pub fn children(&self, path: &str) -> impl Iterator<Item = &Arc<str>> {
        self.nodes.get(path).into_iter().flat_map(|node| &node.children)
    }

    /// Every node with its path; a parent comes before its children.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Node)> {
        self.nodes.iter()
    }

    /// Paths of the nodes that go with the session.
    pub fn ephemerals(&self, session: SessionId) -> impl Iterator<Item = &Arc<str>> {
        self.ephemerals.get(&session).into_iter().flatten()
    }

    /// Puts a node in its place as it was read elsewhere, or its new bytes and stat where it is already.
    /// Parents come first. Counts as no change: `zxid` and the parent's stat stay.
    pub fn put(&mut self, path: &Arc<str>, data: Bytes, stat: Stat) -> Result<(), NodeError> {
        if !path::is_valid(path) {
            return Err(NodeError::BadArguments);
        }
        let nodes = Arc::make_mut(&mut self.nodes);
        if let Some(node) = nodes.get_mut(path) {
            let before = std::mem::replace(&mut node.stat, stat).ephemeral_owner;
            node.data = data;
            self.own(before, stat.ephemeral_owner, path);
            return Ok(());
        }
        let (parent, name) = path::split(path).ok_or(NodeError::NoNode)?;
        let parent = nodes.get_mut(parent).ok_or(NodeError::NoNode)?;
        parent.children.insert(name.into());
        let node = Node {
            data,
            stat,
            children_zxid: stat.czxid,
            ..Node::default()
        };
        nodes.insert(path.clone(), node);
        self.own(0, stat.ephemeral_owner, path);
        Ok(())
    }

    /// Takes a node that is gone elsewhere, and all below it, out of a mirror. Counts as no change.
    pub fn forget(&mut self, path: &str) {
        let nodes = Arc::make_mut(&mut self.nodes);
        let Some((parent, name)) = path::split(path) else {
            return;
        };
        if let Some(parent) = nodes.get_mut(parent) {
            parent.children.remove(name);
        }
        let mut below = vec![Arc::<str>::from(path)];
        while let Some(path) = below.pop() {
            let Some(node) = nodes.remove(&path) else {
                continue;
            };
            below.extend(node.children.iter().map(|name| format!("{path}/{name}").into()));
            disown(
                Arc::make_mut(&mut self.ephemerals),
                node.stat.ephemeral_owner,
                &path,
            );
        }
    }

    /// What [`put`](Self::put) cannot know of a node of a snapshot.
    pub(super) fn set_children_zxid(&mut self, path: &str, zxid: Zxid) {
        if let Some(node) = Arc::make_mut(&mut self.nodes).get_mut(path) {
            node.children_zxid = zxid;
        }
    }

    pub(super) fn set_zxid(&mut self, zxid: Zxid) {
        self.zxid = zxid;
    }

    fn own(&mut self, before: SessionId, now: SessionId, path: &Arc<str>) {
        if before != now {
            let ephemerals = Arc::make_mut(&mut self.ephemerals);
            disown(ephemerals, before, path);
            own(ephemerals, now, path);
        }
    }
}

fn own(ephemerals: &mut Ephemerals, session: SessionId, path: &Arc<str>) {
    if session != 0 {
        ephemerals.entry(session).or_default().insert(path.clone());
    }
}

fn disown(ephemerals: &mut Ephemerals, session: SessionId, path: &str) {
    if let Some(paths) = ephemerals.get_mut(&session) {
        paths.remove(path);
        if paths.is_empty() {
            ephemerals.remove(&session);
        }
    }
}
