//! What can be asked of the tree: a list of operations that happen all or not at all.

use std::sync::Arc;

use bytes::Bytes;
use thiserror::Error;

use super::tree::Stat;

/// How a node lives and is named (ZooKeeper's `CreateMode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeKind {
    /// Stays until it is deleted.
    #[default]
    Persistent,
    /// Goes with the session that created it; has no children.
    Ephemeral,
    /// Persistent; ten digits are put behind the given path, which no later node of that parent gets again.
    PersistentSequential,
    /// Ephemeral, named likewise.
    EphemeralSequential,
}

impl NodeKind {
    pub fn is_ephemeral(self) -> bool {
        matches!(self, Self::Ephemeral | Self::EphemeralSequential)
    }

    pub fn is_sequential(self) -> bool {
        matches!(self, Self::PersistentSequential | Self::EphemeralSequential)
    }
}

/// One step of a [`Multi`]. `version: None` accepts any version, as ZooKeeper's -1 does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Makes a node at version 0. The parent must be there, the node must not.
    Create {
        path: Arc<str>,
        data: Bytes,
        kind: NodeKind,
    },
    /// Replaces the node's bytes and raises its version by one.
    Set {
        path: Arc<str>,
        data: Bytes,
        version: Option<i32>,
    },
    /// Removes a node that has no children.
    Delete { path: Arc<str>, version: Option<i32> },
    /// Changes nothing; fails the multi unless the node is there at this version.
    Check { path: Arc<str>, version: Option<i32> },
}

impl Op {
    /// As asked for: a sequential node gets its digits only when it is made.
    pub fn path(&self) -> &Arc<str> {
        match self {
            Op::Create { path, .. }
            | Op::Set { path, .. }
            | Op::Delete { path, .. }
            | Op::Check { path, .. } => path,
        }
    }
}

/// Operations that happen together, in order, each seeing those before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Multi {
    pub ops: Vec<Op>,
}

impl Multi {
    pub fn new() -> Self {
        Self::default()
    }

    /// A persistent node.
    #[must_use]
    pub fn create(self, path: impl Into<Arc<str>>, data: impl Into<Bytes>) -> Self {
        self.create_as(NodeKind::Persistent, path, data)
    }

    /// A node that goes with the session.
    #[must_use]
    pub fn create_ephemeral(self, path: impl Into<Arc<str>>, data: impl Into<Bytes>) -> Self {
        self.create_as(NodeKind::Ephemeral, path, data)
    }

    /// A persistent node whose name ends with the next number of its parent.
    #[must_use]
    pub fn create_sequential(self, path: impl Into<Arc<str>>, data: impl Into<Bytes>) -> Self {
        self.create_as(NodeKind::PersistentSequential, path, data)
    }

    #[must_use]
    pub fn create_as(mut self, kind: NodeKind, path: impl Into<Arc<str>>, data: impl Into<Bytes>) -> Self {
        self.ops.push(Op::Create {
            path: path.into(),
            data: data.into(),
            kind,
        });
        self
    }

    #[must_use]
    pub fn set(mut self, path: impl Into<Arc<str>>, data: impl Into<Bytes>, version: Option<i32>) -> Self {
        self.ops.push(Op::Set {
            path: path.into(),
            data: data.into(),
            version,
        });
        self
    }

    #[must_use]
    pub fn delete(mut self, path: impl Into<Arc<str>>, version: Option<i32>) -> Self {
        self.ops.push(Op::Delete {
            path: path.into(),
            version,
        });
        self
    }

    #[must_use]
    pub fn check(mut self, path: impl Into<Arc<str>>, version: Option<i32>) -> Self {
        self.ops.push(Op::Check {
            path: path.into(),
            version,
        });
        self
    }
}

/// What became of one operation of a multi that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpResult {
    /// The node's whole path, digits included. ZooKeeper gives no stat here, so neither do we: read it.
    Created {
        path: Arc<str>,
    },
    Set(Stat),
    Deleted,
    Checked,
}

/// Why an operation cannot happen (ZooKeeper's `KeeperException` codes of the same names).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NodeError {
    #[error("there is no such node")]
    NoNode,
    #[error("the node is there already")]
    NodeExists,
    #[error("the node is not at version {expected}")]
    BadVersion { expected: i32 },
    #[error("the node has children")]
    NotEmpty,
    #[error("a node that goes with its session has no children")]
    NoChildrenForEphemerals,
    #[error("a path is / or parts that each begin with /, none of them empty, '.' or '..'")]
    BadArguments,
    #[error("a node that goes with its session needs one")]
    NoSession,
    /// The service's own reasons: an access list, a quota.
    #[error("the service does not allow it")]
    Refused,
    #[error("at most {limit} bytes fit, not {asked}")]
    TooLarge { limit: u32, asked: u64 },
}

/// The first operation that could not happen; the tree is as it was before the multi.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("operation {index} on {path}: {error}")]
pub struct MultiError {
    /// Place in [`Multi::ops`], from 0.
    pub index: u32,
    pub path: Arc<str>,
    pub error: NodeError,
}
