//! The facts that a run leaves behind (rule R3).
//!
//! Each decision emits one [`Fact`]. It carries the event that caused it and the place in the code
//! that emitted it, so that a reader can ask of any picture: why, and where is that decided? Facts
//! are built lazily: with nobody listening, [`Cx::emit`](crate::cx::Cx::emit) costs one branch.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::error::ErrorCode;
use crate::types::{BrokerId, LeaderEpoch, Millis, Offset, TopicPartition};

mod client;
mod consumer;
mod control;
mod gather;
mod group;
mod kinds;
mod packet;
mod producer;
mod replication;
mod timer;
mod world;

pub use client::ClientFact;
pub use consumer::{CommitReason, ConsumerFact, PositionReason};
pub use control::{Candidate, ControlFact, ElectionReason, Verdict};
pub use gather::Trace;
pub use group::{GroupFact, RebalanceReason, RemovalReason};
pub use kinds::{DeleteReason, RollReason, WatchKind};
pub use packet::Carried;
pub use producer::ProducerFact;
pub use replication::{
    FetchPause, FollowerEnd, FollowerLag, FollowerStanding, HighWatermarkBasis, HighWatermarkHold,
    TruncateReason,
};
pub use timer::Timer;
pub use world::{ClientKind, WorldFact};

/// Who emitted an event: a broker's id, or a number the simulator gives to clients.
pub type NodeId = u32;

/// The coordination service, as a node.
pub const COORDINATION: NodeId = 1000;

/// Names one event of a run; `seq` counts from 1 per node, 0 means "no cause known".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventId {
    pub node: NodeId,
    pub seq: u64,
}

impl EventId {
    pub const NONE: EventId = EventId { node: 0, seq: 0 };
}

/// One fact, when it became so, and what it follows from.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub id: EventId,
    pub cause: EventId,
    pub at_ms: Millis,
    pub fact: Fact,
    /// `file:line` of the emit site. Not part of equality of runs: it is shown, never compared or hashed.
    #[serde(skip)]
    pub site: Site,
}

/// By hand, to be out of line: what copies all kinds of facts is large.
impl Clone for Event {
    #[inline(never)]
    fn clone(&self) -> Self {
        Self {
            fact: self.fact.clone(),
            ..*self
        }
    }
}

impl Event {
    /// Its one form for machines, as JSON: all take it from here, since code that writes facts is large.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Place in the source that emitted a fact; equal to every other site, so that it never decides anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Site(pub Option<&'static std::panic::Location<'static>>);

impl PartialEq for Site {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Everything worth seeing. One sentence each by `Display`, one form for machines by serde.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[non_exhaustive]
pub enum Fact {
    BatchAppended {
        partition: TopicPartition,
        base_offset: Offset,
        last_offset: Offset,
        segment: Offset,
        position: u64,
        size_bytes: u32,
        epoch: LeaderEpoch,
    },
    BatchWritten {
        partition: TopicPartition,
        log_end: Offset,
    },
    DuplicateBatch {
        partition: TopicPartition,
        base_offset: Offset,
        last_offset: Offset,
    },
    BatchRefused {
        partition: TopicPartition,
        code: ErrorCode,
    },
    IndexEntryAdded {
        partition: TopicPartition,
        segment: Offset,
        offset: Offset,
        position: u64,
    },
    TimeIndexEntryAdded {
        partition: TopicPartition,
        segment: Offset,
        timestamp_ms: Millis,
        offset: Offset,
    },
    SegmentRolled {
        partition: TopicPartition,
        closed: Offset,
        opened: Offset,
        reason: RollReason,
    },
    SegmentDeleted {
        partition: TopicPartition,
        segment: Offset,
        size_bytes: u64,
        reason: DeleteReason,
    },
    LogStartMoved {
        partition: TopicPartition,
        to: Offset,
    },
    HighWatermarkMoved {
        partition: TopicPartition,
        from: Offset,
        to: Offset,
        by: HighWatermarkBasis,
    },
    /// The leader's log has grown, and the high watermark stays all the same.
    HighWatermarkHeld {
        partition: TopicPartition,
        at: Offset,
        why: HighWatermarkHold,
    },
    /// A leader saw that a follower's log is not a prefix of its own.
    LogsDiverge {
        partition: TopicPartition,
        follower: BrokerId,
        fetch_offset: Offset,
        last_fetched_epoch: LeaderEpoch,
        epoch: LeaderEpoch,
        end_offset: Offset,
    },
    IsrProposalRefused {
        partition: TopicPartition,
        code: ErrorCode,
        /// It is asked again.
        again: bool,
    },
    /// A follower decides to cut its log.
    FollowerTruncates {
        partition: TopicPartition,
        leader: BrokerId,
        to: Offset,
        why: TruncateReason,
    },
    /// A follower leaves a partition out of its fetches until then.
    FetchPaused {
        partition: TopicPartition,
        leader: BrokerId,
        until_ms: Millis,
        why: FetchPause,
    },
    /// A follower gives a partition up until the controller speaks of it again.
    FetchStopped {
        partition: TopicPartition,
        leader: BrokerId,
        why: FetchPause,
    },
    LogTruncated {
        partition: TopicPartition,
        from: Offset,
        to: Offset,
    },
    LogRecovered {
        partition: TopicPartition,
        log_start: Offset,
        log_end: Offset,
        cut_bytes: u64,
        reason: Option<String>,
    },
    DirectoryFailed {
        dir: u16,
        reason: String,
    },
    /// A broker, or whoever it is, has a session with the coordination service.
    SessionOpened {
        session: i64,
        timeout_ms: Millis,
    },
    /// The same session on another connection.
    SessionResumed {
        session: i64,
    },
    SessionClosed {
        session: i64,
    },
    /// Nobody is connected in the session any more. Its watches are gone; it goes on until its time is up.
    SessionDisconnected {
        session: i64,
    },
    /// Nothing was heard of the session for its timeout.
    SessionExpired {
        session: i64,
    },
    /// The session is to be told once: of the node's next change, or of the next of its children to come or go.
    WatchSet {
        session: i64,
        path: String,
        children: bool,
    },
    /// The session is told of a change, once.
    WatchFired {
        session: i64,
        path: String,
        what: WatchKind,
    },
    /// A multi happened in the coordination tree; it is acknowledged only after its sync.
    CoordinationChanged {
        zxid: i64,
        /// `create /path`, `set /path`, `delete /path`, in order.
        changes: Vec<String>,
        /// What each of them has put there, as text; nothing for what is deleted.
        data: Vec<String>,
        /// The session that each node goes with; 0: none, it stays.
        owners: Vec<i64>,
    },
    /// The coordination service begins with the tree that it found on its disk.
    CoordinationOpened {
        zxid: i64,
        /// Each node's path and data, and the session that it goes with.
        nodes: Vec<(String, String, i64)>,
        /// The open sessions, and how long each may be silent.
        sessions: Vec<(i64, Millis)>,
    },
    /// From now on this broker holds the replica, which it found on its disk or began.
    ReplicaOpened {
        partition: TopicPartition,
        log_start: Offset,
        log_end: Offset,
        high_watermark: Offset,
        /// Leader epochs of its records, and where each begins.
        epochs: Vec<(LeaderEpoch, Offset)>,
    },
    /// It holds it no more: deleted, moved away, or its log directory is offline.
    ReplicaClosed {
        partition: TopicPartition,
    },
    LeadershipTaken {
        partition: TopicPartition,
        epoch: LeaderEpoch,
        /// The epoch begins here.
        start_offset: Offset,
        isr: Vec<BrokerId>,
        replicas: Vec<BrokerId>,
    },
    LeaderFollowed {
        partition: TopicPartition,
        epoch: LeaderEpoch,
        leader: BrokerId,
    },
    /// The leader has heard of a follower's log end.
    FollowerProgressed {
        partition: TopicPartition,
        replica: BrokerId,
        log_end: Offset,
    },
    /// The leader asks for another ISR; until it is answered both count (KIP-497).
    IsrProposed {
        partition: TopicPartition,
        isr: Vec<BrokerId>,
        partition_epoch: i32,
        /// The followers that shall enter or leave, and how far they are.
        because: Vec<FollowerLag>,
    },
    /// The leader knows this ISR to be in force.
    IsrChanged {
        partition: TopicPartition,
        isr: Vec<BrokerId>,
        partition_epoch: i32,
    },
    /// The broker's own node is there; the epoch names this registration.
    BrokerRegistered {
        broker: BrokerId,
        epoch: i64,
    },
    /// Something is due by the broker's clock.
    TimerDue {
        timer: Timer,
    },
    ControllerElected {
        broker: BrokerId,
        epoch: i32,
    },
    ControllerResigned {
        epoch: i32,
        why: String,
    },
    /// What a controller sees and decides.
    Control(ControlFact),
    /// What a group coordinator sees and decides.
    Group(GroupFact),
    /// What a client sees of the cluster.
    Client(ClientFact),
    /// What a producer does with its records.
    Producer(ProducerFact),
    /// What a consumer sees and decides.
    Consumer(ConsumerFact),
    /// What happens around the brokers in a simulated world.
    World(WorldFact),
}

impl Fact {
    /// Whether it follows from nothing that happened in the run: it was done from outside, or the clock alone
    /// drives it. Everything else has a cause.
    pub fn is_root(&self) -> bool {
        match self {
            Fact::TimerDue { timer } => timer.is_periodic(),
            Fact::World(fact) => fact.is_root(),
            _ => false,
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Fact::*;
        match self {
            BatchAppended {
                partition,
                base_offset,
                last_offset,
                segment,
                position,
                size_bytes,
                epoch,
            } => write!(
                f,
                "{partition}: offsets {base_offset}..={last_offset} in epoch {epoch}, {size_bytes} bytes at byte {position} of segment {segment}"
            ),
            BatchWritten { partition, log_end } => write!(f, "{partition}: written up to LEO {log_end}"),
            DuplicateBatch {
                partition,
                base_offset,
                last_offset,
            } => {
                write!(
                    f,
                    "{partition}: a retry of offsets {base_offset}..={last_offset}, not stored again"
                )
            }
            BatchRefused { partition, code } => write!(f, "{partition}: batch refused with {code}"),
            IndexEntryAdded {
                partition,
                segment,
                offset,
                position,
            } => {
                write!(
                    f,
                    "{partition}: index entry of segment {segment}: offset {offset} is at byte {position}"
                )
            }
            TimeIndexEntryAdded {
                partition,
                segment,
                timestamp_ms,
                offset,
            } => {
                write!(
                    f,
                    "{partition}: time index entry of segment {segment}: up to {timestamp_ms} ms by offset {offset}"
                )
            }
            SegmentRolled {
                partition,
                closed,
                opened,
                reason,
            } => {
                write!(
                    f,
                    "{partition}: segment {closed} closed ({reason:?}), segment {opened} opened"
                )
            }
            SegmentDeleted {
                partition,
                segment,
                size_bytes,
                reason,
            } => {
                write!(
                    f,
                    "{partition}: segment {segment} of {size_bytes} bytes deleted ({reason:?})"
                )
            }
            LogStartMoved { partition, to } => write!(f, "{partition}: log start offset is now {to}"),
            HighWatermarkMoved {
                partition,
                from,
                to,
                by,
            } => {
                write!(f, "{partition}: high watermark {from} -> {to}, {by}")
            }
            HighWatermarkHeld { partition, at, why } => {
                write!(f, "{partition}: high watermark stays at {at}: {why}")
            }
            LogsDiverge {
                partition,
                follower,
                fetch_offset,
                last_fetched_epoch,
                epoch,
                end_offset,
            } => write!(
                f,
                "{partition}: broker {follower} ends at {fetch_offset} in epoch {last_fetched_epoch}; here epoch {epoch} ends at {end_offset}"
            ),
            IsrProposalRefused {
                partition,
                code,
                again,
            } => {
                let then = if *again { "asks again" } else { "leaves it" };
                write!(f, "{partition}: proposed ISR refused with {code}; {then}")
            }
            FollowerTruncates {
                partition,
                leader,
                to,
                why,
            } => write!(
                f,
                "{partition}: cuts its log to {to} to follow broker {leader}: {why}"
            ),
            FetchPaused {
                partition,
                leader,
                until_ms,
                why,
            } => write!(
                f,
                "{partition}: fetches nothing from broker {leader} until {until_ms} ms: {why}"
            ),
            FetchStopped {
                partition,
                leader,
                why,
            } => write!(f, "{partition}: follows broker {leader} no more: {why}"),
            LogTruncated { partition, from, to } => {
                write!(f, "{partition}: log end cut back from {from} to {to}")
            }
            LogRecovered {
                partition,
                log_start,
                log_end,
                cut_bytes,
                reason,
            } => {
                write!(
                    f,
                    "{partition}: recovered, offsets {log_start}..{log_end}, {cut_bytes} bytes cut"
                )?;
                reason.iter().try_for_each(|why| write!(f, " ({why})"))
            }
            DirectoryFailed { dir, reason } => write!(f, "log directory {dir} is offline: {reason}"),
            SessionOpened { session, timeout_ms } => {
                write!(f, "session {session} opened; silence of {timeout_ms} ms ends it")
            }
            SessionResumed { session } => write!(f, "session {session} taken up again"),
            SessionClosed { session } => write!(f, "session {session} closed"),
            SessionDisconnected { session } => {
                write!(f, "nobody is connected in session {session} any more")
            }
            SessionExpired { session } => write!(f, "session {session} expired"),
            WatchSet {
                session,
                path,
                children,
            } => {
                let what = if *children { "the children of " } else { "" };
                write!(f, "session {session} watches {what}{path}")
            }
            WatchFired { session, path, what } => {
                let what = match what {
                    WatchKind::Created => "was created",
                    WatchKind::DataChanged => "has other bytes",
                    WatchKind::Deleted => "was deleted",
                    WatchKind::ChildrenChanged => "has other children",
                };
                write!(f, "session {session} is told: {path} {what}")
            }
            CoordinationChanged { zxid, changes, .. } => {
                write!(f, "coordination change {zxid}: {}", changes.join(", "))
            }
            CoordinationOpened { zxid, nodes, .. } => {
                write!(f, "coordination tree as of change {zxid}, {} nodes", nodes.len())
            }
            ReplicaOpened {
                partition,
                log_start,
                log_end,
                high_watermark,
                ..
            } => write!(
                f,
                "{partition}: replica opened, offsets {log_start}..{log_end}, high watermark {high_watermark}"
            ),
            ReplicaClosed { partition } => write!(f, "{partition}: replica closed"),
            LeadershipTaken {
                partition,
                epoch,
                start_offset,
                isr,
                replicas,
            } => write!(
                f,
                "{partition}: leads in epoch {epoch} from offset {start_offset}, ISR {isr:?} of replicas {replicas:?}"
            ),
            LeaderFollowed {
                partition,
                epoch,
                leader,
            } => write!(f, "{partition}: follows broker {leader} in epoch {epoch}"),
            FollowerProgressed {
                partition,
                replica,
                log_end,
            } => write!(f, "{partition}: broker {replica} has all below {log_end}"),
            IsrProposed {
                partition,
                isr,
                partition_epoch,
                because,
            } => {
                write!(
                    f,
                    "{partition}: asks for ISR {isr:?} in place of version {partition_epoch}"
                )?;
                because.iter().try_for_each(|lag| write!(f, "; {lag}"))
            }
            IsrChanged {
                partition,
                isr,
                partition_epoch,
            } => write!(f, "{partition}: ISR is {isr:?}, version {partition_epoch}"),
            BrokerRegistered { broker, epoch } => {
                write!(f, "broker {broker} is registered, broker epoch {epoch}")
            }
            TimerDue { timer } => timer.fmt(f),
            ControllerElected { broker, epoch } => {
                write!(f, "broker {broker} is controller, epoch {epoch}")
            }
            ControllerResigned { epoch, why } => write!(f, "controller of epoch {epoch} resigns: {why}"),
            Control(fact) => fact.fmt(f),
            Group(fact) => fact.fmt(f),
            Client(fact) => fact.fmt(f),
            Producer(fact) => fact.fmt(f),
            Consumer(fact) => fact.fmt(f),
            World(fact) => fact.fmt(f),
        }
    }
}
