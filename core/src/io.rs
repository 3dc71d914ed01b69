//! The host contract: everything that goes into a broker and comes out of it.
//!
//! The host decodes and validates a frame on the connection's side
//! ([`admit`](crate::broker::admit)), calls [`Broker::handle`](crate::broker::Broker::handle) with
//! an [`Input`], then takes every [`Output`] until there is none, and asks for the next time-out.
//! Disk operations come out in order per log directory; see [`disk`](crate::disk) for its two lanes. A connection's answers may come out in any
//! order: the host sends them in the order of their [`RequestId`]s.

use std::sync::Arc;

use bytes::Bytes;

use crate::broker::{Admission, Admitted, AdmittedAnswer, Job, JobResult};
use crate::coordination::{CoordinationEvent, CoordinationOp, OpId, SessionEpoch};
use crate::disk::{AsideTicket, DirId, DiskOp, Lane, Ticket};
pub use crate::disk::{Part, Parts};
use crate::error::DiskError;
pub use crate::protocol::SendId;
use crate::protocol::SentAs;
use crate::types::{BrokerId, Millis};

/// A connection, numbered by the host and never again.
pub type ConnId = u64;
/// A request of a connection, numbered by the host from 0 in the order of arrival.
pub type RequestId = u64;
/// A job, numbered by the broker and never again.
pub type JobId = u64;
/// Index of a listener in [`Boot::listeners`](crate::broker::Boot::listeners).
pub type ListenerId = u16;

/// Where a request to another broker goes. The host keeps one connection for each (broker, address,
/// lane), sends in order and takes the answers in order; it connects when there is something to send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    pub broker: BrokerId,
    pub host: Arc<str>,
    pub port: u16,
    pub lane: PeerLane,
}

/// What a connection to another broker is for, so that a fetch that waits for data delays nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerLane {
    /// The controller's words to the brokers.
    Control,
    /// A broker's requests to the controller.
    Requests,
    /// Replica fetcher of this number.
    Fetch(u16),
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// A whole request, decoded and (for produce) validated.
    Request {
        conn: ConnId,
        request: RequestId,
        /// Where the connection came in: answers name the broker by this listener's address.
        listener: ListenerId,
        body: Box<Admitted>,
    },
    /// The connection is gone; whatever it waits for is freed.
    Disconnected {
        conn: ConnId,
    },
    /// Every strict operation of `dir` up to and with `upto` is done.
    DiskDone {
        dir: DirId,
        upto: Ticket,
    },
    /// Every operation aside of `dir` up to and with `upto` is done. It may come after the `DiskDone`
    /// of an operation that waited for it.
    AsideDone {
        dir: DirId,
        upto: AsideTicket,
    },
    /// The operation failed; the directory is offline and none of its lane after it was tried, none of
    /// the other lane begun since.
    DiskFailed {
        dir: DirId,
        lane: Lane,
        ticket: Ticket,
        error: DiskError,
    },
    JobDone {
        job: JobId,
        result: JobResult,
    },
    /// The coordination service speaks to a session of this broker.
    Coordination {
        session: SessionEpoch,
        event: CoordinationEvent,
    },
    /// Another broker's answer, decoded and (for fetch) checked by
    /// [`admit_answer`](crate::broker::admit_answer).
    Response {
        id: SendId,
        answer: Box<AdmittedAnswer>,
    },
    /// No answer will come: not connected, connection lost, answer unreadable. It may have been carried out.
    SendFailed {
        id: SendId,
        why: String,
    },
    /// Stop in order: flush, write checkpoints and the clean mark, then say [`Output::Stopped`].
    Shutdown,
    /// The time that `poll_timeout` named has come.
    Tick,
}

/// What shall happen.
#[derive(Clone, Debug)]
pub enum Output {
    /// The answer, length prefix included; no part at all for a produce with acks=0, which only frees its place.
    Respond {
        conn: ConnId,
        request: RequestId,
        parts: Parts,
    },
    /// What the connections' side needs to admit requests has changed: hand this one to
    /// [`admit`](crate::broker::admit) from now on. The first comes before [`Output::Ready`].
    Admission(Arc<Admission>),
    /// Everything is recovered: accept connections.
    Ready,
    /// Close the connection and log the reason. Answers already given may be sent first.
    Close { conn: ConnId, reason: String },
    Disk {
        dir: DirId,
        lane: Lane,
        /// Of that lane.
        ticket: Ticket,
        op: DiskOp,
    },
    /// Work too long for the owner: reads only, anywhere but in `handle`; see [`run_job`](crate::broker::run_job).
    Job { job: JobId, work: Job },
    /// Open a session with the coordination service. While it is not there the host tries on, until
    /// the session is closed.
    OpenSession {
        session: SessionEpoch,
        timeout_ms: Millis,
    },
    /// Close it: what it holds goes at once.
    CloseSession { session: SessionEpoch },
    /// Ask within the session, in this order.
    Coordinate {
        session: SessionEpoch,
        id: OpId,
        op: CoordinationOp,
    },
    /// A request to another broker: a whole frame, length included, whose correlation id is `id as i32`.
    Send {
        to: Peer,
        id: SendId,
        sent: SentAs,
        frame: Bytes,
    },
    /// One line for the operator.
    Say { level: Level, text: String },
    /// The stop is complete; `failed` when it was no wish but the loss of the last log directory.
    Stopped { failed: Option<String> },
}

/// How loudly a line for the operator is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Info,
    Warn,
    Error,
}
