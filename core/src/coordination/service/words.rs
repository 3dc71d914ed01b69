//! What goes into a service and comes out of it, and how it is set up.

use std::sync::Arc;

use super::super::session::{CoordinationEvent, CoordinationOp, OpId, SessionId};
use super::super::tree::Zxid;
use super::sessions::ClientId;
use crate::disk::{DiskOp, Ticket};
use crate::error::DiskError;
use crate::trace::EventId;
use crate::types::Millis;

/// How a service judges sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceOptions {
    /// A session gets at least so much (ZooKeeper's `minSessionTimeout`, by default two ticks of 2 s).
    pub min_session_timeout_ms: Millis,
    /// And at most so much (`maxSessionTimeout`, by default twenty ticks).
    pub max_session_timeout_ms: Millis,
    /// Sessions found on disk end at the start: for a host whose clients lived in the same process.
    pub expire_all_on_start: bool,
    /// Whether a session may end while somebody is connected in it. Where the connection itself tells
    /// that the client lives, silence means nothing.
    pub silence_expires: bool,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            min_session_timeout_ms: 4_000,
            max_session_timeout_ms: 40_000,
            expire_all_on_start: false,
            silence_expires: true,
        }
    }
}

/// A session to be taken up again, and what its client knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    pub session_id: SessionId,
    /// The greatest zxid that the client was told of.
    pub seen: Zxid,
    /// Its watches that have not told it anything yet.
    pub watches: Vec<(Arc<str>, WatchOn)>,
}

/// What a client's watch waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchOn {
    /// The bytes of a node that was there.
    Data,
    /// A node that was not there.
    Absent,
    Children,
}

/// What happened to the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceInput {
    /// A client is there: for a new session, or for one that it had.
    Connect {
        client: ClientId,
        /// As wished; what is agreed comes in `Connected`.
        timeout_ms: Millis,
        resume: Option<Resume>,
    },
    Ask {
        client: ClientId,
        id: OpId,
        op: CoordinationOp,
    },
    /// The client lives; it is answered by a [`ServiceOutput::Pong`].
    Ping { client: ClientId },
    /// The client ends its session: its nodes go at once.
    Close { client: ClientId },
    /// The connection is gone; its session goes on.
    Disconnected { client: ClientId },
    /// Every operation up to and with `upto` is done.
    DiskDone { upto: Ticket },
    /// An operation failed: the service is over.
    DiskFailed { error: DiskError },
    /// The time that `poll_timeout` named has come.
    Tick,
}

/// What shall happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceOutput {
    /// Tell the client. `zxid` is how far the tree had come, for [`Resume::seen`].
    Event {
        client: ClientId,
        zxid: Zxid,
        event: CoordinationEvent,
        cause: EventId,
    },
    /// Tell the client that the service lives.
    Pong { client: ClientId },
    /// Carry it out in the service's directory, in this order.
    Disk { ticket: Ticket, op: DiskOp },
}
