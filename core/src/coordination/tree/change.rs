//! Changes of the tree: a multi, whole or not at all, and the end of a session.

use std::sync::Arc;

use bytes::Bytes;

use super::super::multi::{Multi, MultiError, NodeError, NodeKind, Op, OpResult};
use super::super::path;
use super::{Ephemerals, MAX_DATA_BYTES, Node, Nodes, SessionId, Stat, Tree, Zxid, disown, own};
use crate::ordered::OrderedSet;

impl Tree {
    /// Does all operations of the multi under the next zxid, or none. `session` is whose the ephemeral
    /// nodes are to be; 0 will do where there are none.
    pub fn apply(&mut self, multi: &Multi, session: SessionId) -> Result<Vec<OpResult>, MultiError> {
        let mut change = Change::new(self, session);
        let mut results = Vec::with_capacity(multi.ops.len());
        for (index, op) in multi.ops.iter().enumerate() {
            match change.apply(op) {
                Ok(result) => results.push(result),
                Err(error) => {
                    change.roll_back();
                    return Err(MultiError {
                        index: index as u32,
                        path: op.path().clone(),
                        error,
                    });
                }
            }
        }
        self.zxid += 1;
        Ok(results)
    }

    /// Takes the next zxid for what changes no node: a session is opened.
    pub(in super::super) fn pass(&mut self) -> Zxid {
        self.zxid += 1;
        self.zxid
    }

    /// The session is over: its nodes go, all under the next zxid. Answers their paths.
    pub(in super::super) fn close_session(&mut self, session: SessionId) -> Vec<Arc<str>> {
        let paths: Vec<Arc<str>> = self.ephemerals(session).cloned().collect();
        let mut change = Change::new(self, session);
        for path in &paths {
            // Its own nodes are there and have no children.
            let _ = change.delete(path, None);
        }
        self.zxid += 1;
        paths
    }
}

/// A change on its way, and how to take it back.
struct Change<'a> {
    nodes: &'a mut Nodes,
    ephemerals: &'a mut Ephemerals,
    zxid: Zxid,
    session: SessionId,
    /// What was done so far, oldest first.
    done: Vec<Done>,
}

/// One thing done to a node, with what is needed to undo it.
enum Done {
    Created {
        path: Arc<str>,
        parent: Counters,
    },
    Set {
        path: Arc<str>,
        data: Bytes,
        stat: Stat,
    },
    Deleted {
        path: Arc<str>,
        node: Box<Node>,
        parent: Counters,
    },
}

/// What a parent keeps of the coming and going of its children, as it was before.
struct Counters {
    cversion: i32,
    children_zxid: Zxid,
}

impl<'a> Change<'a> {
    fn new(tree: &'a mut Tree, session: SessionId) -> Self {
        Self {
            zxid: tree.zxid + 1,
            nodes: Arc::make_mut(&mut tree.nodes),
            ephemerals: Arc::make_mut(&mut tree.ephemerals),
            session,
            done: Vec::new(),
        }
    }

    fn apply(&mut self, op: &Op) -> Result<OpResult, NodeError> {
        match op {
            Op::Create { path, data, kind } => self
                .create(path, data, *kind)
                .map(|path| OpResult::Created { path }),
            Op::Set { path, data, version } => self.set(path, data, *version).map(OpResult::Set),
            Op::Delete { path, version } => self.delete(path, *version).map(|()| OpResult::Deleted),
            Op::Check { path, version } => self.at_version(path, *version).map(|_| OpResult::Checked),
        }
    }

    fn create(&mut self, asked: &Arc<str>, data: &Bytes, kind: NodeKind) -> Result<Arc<str>, NodeError> {
        check_size(data)?;
        if kind.is_ephemeral() && self.session == 0 {
            return Err(NodeError::NoSession);
        }
        let path = if kind.is_sequential() {
            let parent = path::parent(asked).ok_or(NodeError::BadArguments)?;
            let parent = self.nodes.get(parent).ok_or(NodeError::NoNode)?;
            path::numbered(asked, parent.children_created()).into()
        } else {
            asked.clone()
        };
        if !path::is_valid(&path) {
            return Err(NodeError::BadArguments);
        }
        let (parent, name) = path::split(&path).ok_or(NodeError::NodeExists)?;
        let owner = self
            .nodes
            .get(parent)
            .ok_or(NodeError::NoNode)?
            .stat
            .ephemeral_owner;
        if self.nodes.contains_key(&path) {
            return Err(NodeError::NodeExists);
        }
        if owner != 0 {
            return Err(NodeError::NoChildrenForEphemerals);
        }
        let parent = self.count_child(parent).ok_or(NodeError::NoNode)?;
        self.insert(&path, name, data.clone(), kind);
        self.done.push(Done::Created {
            path: path.clone(),
            parent,
        });
        Ok(path)
    }

    /// Puts the node beside its siblings; its parent is there.
    fn insert(&mut self, path: &Arc<str>, name: &str, data: Bytes, kind: NodeKind) {
        if let Some(parent) = path::parent(path).and_then(|parent| self.nodes.get_mut(parent)) {
            parent.children.insert(name.into());
        }
        let owner = if kind.is_ephemeral() { self.session } else { 0 };
        let stat = Stat {
            czxid: self.zxid,
            mzxid: self.zxid,
            ephemeral_owner: owner,
            ..Stat::default()
        };
        own(self.ephemerals, owner, path);
        let node = Node {
            data,
            stat,
            children_zxid: self.zxid,
            ..Node::default()
        };
        self.nodes.insert(path.clone(), node);
    }

    fn set(&mut self, path: &Arc<str>, data: &Bytes, version: Option<i32>) -> Result<Stat, NodeError> {
        check_size(data)?;
        self.at_version(path, version)?;
        let node = self.nodes.get_mut(path).ok_or(NodeError::NoNode)?;
        self.done.push(Done::Set {
            path: path.clone(),
            data: std::mem::replace(&mut node.data, data.clone()),
            stat: node.stat,
        });
        node.stat.mzxid = self.zxid;
        node.stat.version = node.stat.version.wrapping_add(1);
        Ok(node.stat)
    }

    fn delete(&mut self, path: &Arc<str>, version: Option<i32>) -> Result<(), NodeError> {
        let (parent, name) = path::split(path).ok_or(NodeError::BadArguments)?;
        if !self.at_version(path, version)?.children.is_empty() {
            return Err(NodeError::NotEmpty);
        }
        let node = self.nodes.remove(path).ok_or(NodeError::NoNode)?;
        disown(self.ephemerals, node.stat.ephemeral_owner, path);
        let counters = self.count_child(parent).ok_or(NodeError::NoNode)?;
        if let Some(parent) = self.nodes.get_mut(parent) {
            parent.children.remove(name);
        }
        self.done.push(Done::Deleted {
            path: path.clone(),
            node: Box::new(node),
            parent: counters,
        });
        Ok(())
    }

    /// A child of the node comes or goes; answers what was counted before.
    fn count_child(&mut self, parent: &str) -> Option<Counters> {
        let parent = self.nodes.get_mut(parent)?;
        let before = Counters {
            cversion: parent.stat.cversion,
            children_zxid: parent.children_zxid,
        };
        parent.stat.cversion = parent.stat.cversion.wrapping_add(1);
        parent.children_zxid = self.zxid;
        Some(before)
    }

    fn at_version(&self, path: &str, version: Option<i32>) -> Result<&Node, NodeError> {
        let node = self.nodes.get(path).ok_or(NodeError::NoNode)?;
        match version {
            Some(expected) if expected != node.stat.version => Err(NodeError::BadVersion { expected }),
            _ => Ok(node),
        }
    }

    fn roll_back(mut self) {
        while let Some(done) = self.done.pop() {
            match done {
                Done::Created { path, parent } => {
                    if let Some(node) = self.nodes.remove(&path) {
                        disown(self.ephemerals, node.stat.ephemeral_owner, &path);
                    }
                    self.uncount_child(&path, &parent, |children, name| {
                        children.remove(name);
                    });
                }
                Done::Set { path, data, stat } => {
                    if let Some(node) = self.nodes.get_mut(&path) {
                        (node.data, node.stat) = (data, stat);
                    }
                }
                Done::Deleted { path, node, parent } => {
                    own(self.ephemerals, node.stat.ephemeral_owner, &path);
                    self.nodes.insert(path.clone(), *node);
                    self.uncount_child(&path, &parent, |children, name| {
                        children.insert(name.into());
                    });
                }
            }
        }
    }

    fn uncount_child(
        &mut self,
        path: &str,
        before: &Counters,
        names: impl FnOnce(&mut OrderedSet<Arc<str>>, &str),
    ) {
        let Some((parent, name)) = path::split(path) else {
            return;
        };
        if let Some(parent) = self.nodes.get_mut(parent) {
            names(&mut parent.children, name);
            parent.stat.cversion = before.cversion;
            parent.children_zxid = before.children_zxid;
        }
    }
}

fn check_size(data: &Bytes) -> Result<(), NodeError> {
    let asked = data.len() as u64;
    if asked > u64::from(MAX_DATA_BYTES) {
        return Err(NodeError::TooLarge {
            limit: MAX_DATA_BYTES,
            asked,
        });
    }
    Ok(())
}
