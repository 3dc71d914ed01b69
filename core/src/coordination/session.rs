//! What a broker and a coordination service say to each other.
//!
//! A broker holds one *session* at a time. What it asks goes out under an [`OpId`] and comes back as
//! [`CoordinationEvent::Done`], or, when the connection was lost meanwhile, as
//! [`CoordinationEvent::Unknown`]: then only reading can tell whether it happened. An expired session
//! is over for good, its ephemeral nodes are gone, and the next one has another [`SessionEpoch`].

use std::sync::Arc;

use bytes::Bytes;

use super::multi::{Multi, MultiError, OpResult};
use super::tree::Stat;
pub use crate::trace::WatchKind;
use crate::types::Millis;

/// Names a session within the service; an ephemeral node carries its owner's. 0: none.
pub type SessionId = i64;
/// Counts the sessions of one broker's life, from 1. Events of another than the present one are dropped.
pub type SessionEpoch = u64;
/// Names what a broker asked of the service; never given twice.
pub type OpId = u64;

/// What can be asked within a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoordinationOp {
    /// Happens whole or not at all.
    Multi(Multi),
    /// Each sees every multi of this session that was asked before it; one by one, not together.
    Read(Vec<Read>),
}

/// One look at the tree. A watch tells once of the next change of what was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The node's bytes; a watch on a node that is not there tells of its creation.
    Data { path: Arc<str>, watch: bool },
    /// The names of the node's children, in order.
    Children { path: Arc<str>, watch: bool },
}

/// What a look found; `None`: there is no such node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Data(Option<(Bytes, Stat)>),
    Children(Option<Vec<Arc<str>>>),
}

/// The answer to a [`CoordinationOp`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoordinationReply {
    /// One result per operation, in order.
    Multi(Vec<OpResult>),
    /// One per look, in order.
    Read(Vec<Found>),
}

/// What the service says to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoordinationEvent {
    /// The session is there; also after a gap within the same session, whose watches still hold.
    Connected {
        session_id: SessionId,
        /// How long the service waits for a silent broker, as agreed.
        timeout_ms: Millis,
    },
    /// The service is out of reach; the session may yet live.
    Disconnected,
    Done {
        id: OpId,
        result: Result<CoordinationReply, MultiError>,
    },
    /// The connection was lost with the operation under way: it happened, or not.
    Unknown {
        id: OpId,
    },
    Watch {
        path: Arc<str>,
        what: WatchKind,
    },
    /// The session is over, and what it held is gone.
    Expired,
    /// The service cannot be had any more.
    Lost {
        why: String,
    },
}
