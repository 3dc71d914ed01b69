//! What happens around the brokers in a simulated world: faults, packets, what clients are told.
//!
//! The world emits them, never a broker: a broker does not know that it was killed. So the same fold
//! that shows a live cluster shows a simulated one, with more to see.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{Carried, NodeId};
use crate::error::ErrorCode;
use crate::types::{BrokerId, Millis, Offset, TopicPartition};

/// Who a client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientKind {
    Producer {
        /// -1 is all.
        acks: i16,
    },
    Consumer,
    /// It makes topics, changes settings, asks for elections.
    #[default]
    Admin,
}

/// A fact that only a world knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[non_exhaustive]
pub enum WorldFact {
    BrokerStarted {
        broker: BrokerId,
    },
    BrokerCrashed {
        broker: BrokerId,
        /// What was not synced is gone too.
        power_lost: bool,
    },
    /// The broker stopped in order, or for the reason given.
    BrokerStopped {
        broker: BrokerId,
        failed: Option<String>,
    },
    BrokerPaused {
        broker: BrokerId,
    },
    BrokerResumed {
        broker: BrokerId,
    },
    CoordinationCrashed,
    CoordinationStarted,
    /// A producer, a consumer or an administrator is there from now on.
    ClientStarted {
        client: NodeId,
        kind: ClientKind,
    },
    /// kill -9.
    ClientKilled {
        client: NodeId,
    },
    /// The application that a client works for does this now.
    ApplicationActs {
        client: NodeId,
        what: String,
    },
    /// A producer is to send so many records.
    RecordsGiven {
        client: NodeId,
        /// A partition, or a topic of which the producer chooses one.
        to: String,
        count: u32,
    },
    /// An administrator is to ask for this.
    TaskGiven {
        client: NodeId,
        what: String,
    },
    /// A broker is asked to stop (SIGTERM).
    StopAsked {
        broker: BrokerId,
    },
    LinkCut {
        from: NodeId,
        to: NodeId,
    },
    LinkHealed {
        from: NodeId,
        to: NodeId,
    },
    DiskSlowed {
        broker: BrokerId,
        delay_ms: Millis,
    },
    DiskFilled {
        broker: BrokerId,
        left_bytes: u64,
    },
    ClockSkewed {
        broker: BrokerId,
        by_ms: Millis,
    },
    PacketSent {
        packet: u64,
        from: NodeId,
        to: NodeId,
        /// Kafka's name of the request, or of the request that this answers.
        what: String,
        bytes: u32,
        /// What it says of partitions, as far as that is new.
        carries: Vec<Carried>,
    },
    PacketDelivered {
        packet: u64,
    },
    PacketLost {
        packet: u64,
        why: String,
    },
    /// A broker closes a connection.
    ConnectionClosed {
        broker: BrokerId,
        caller: NodeId,
        why: String,
    },
    /// The reader, or the script, keeps a packet back.
    PacketDelayed {
        packet: u64,
        by_ms: Millis,
    },
    PacketDuplicated {
        packet: u64,
    },
    /// A producer was told that these records are stored.
    RecordsAcknowledged {
        client: NodeId,
        partition: TopicPartition,
        /// -1 where the answer does not say.
        base_offset: Offset,
        /// The first record's own number, as its producer counts.
        first: u64,
        count: u32,
        acks: i16,
    },
    /// A producer gave these records up.
    RecordsFailed {
        client: NodeId,
        partition: TopicPartition,
        first: u64,
        count: u32,
        code: ErrorCode,
    },
    /// An application is done with these records, from the first to before the last offset.
    RecordsProcessed {
        client: NodeId,
        partition: TopicPartition,
        from: Offset,
        to: Offset,
        count: u32,
    },
    /// An administrator's request was answered.
    AdminAnswered {
        client: NodeId,
        what: String,
        code: ErrorCode,
    },
}

impl WorldFact {
    /// Whether it is done to the world: by a script, a reader, or chance.
    pub fn is_root(&self) -> bool {
        use WorldFact::*;
        matches!(
            self,
            BrokerStarted { .. }
                | BrokerCrashed { .. }
                | BrokerPaused { .. }
                | BrokerResumed { .. }
                | CoordinationCrashed
                | CoordinationStarted
                | ClientStarted { .. }
                | ClientKilled { .. }
                | ApplicationActs { .. }
                | RecordsGiven { .. }
                | TaskGiven { .. }
                | StopAsked { .. }
                | LinkCut { .. }
                | LinkHealed { .. }
                | DiskSlowed { .. }
                | DiskFilled { .. }
                | ClockSkewed { .. }
        )
    }
}

impl fmt::Display for WorldFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use WorldFact::*;
        match self {
            BrokerStarted { broker } => write!(f, "broker {broker} starts"),
            BrokerCrashed {
                broker,
                power_lost: false,
            } => write!(f, "broker {broker} is killed"),
            BrokerCrashed { broker, .. } => write!(f, "broker {broker} loses power"),
            BrokerStopped { broker, failed: None } => write!(f, "broker {broker} has stopped"),
            BrokerStopped {
                broker,
                failed: Some(why),
            } => write!(f, "broker {broker} gives up: {why}"),
            BrokerPaused { broker } => write!(f, "broker {broker} is paused"),
            BrokerResumed { broker } => write!(f, "broker {broker} goes on"),
            CoordinationCrashed => write!(f, "the coordination service is killed"),
            CoordinationStarted => write!(f, "the coordination service starts"),
            ClientStarted { client, .. } => write!(f, "client {client} is there"),
            ClientKilled { client } => write!(f, "client {client} is killed"),
            ApplicationActs { client, what } => write!(f, "the application of client {client}: {what}"),
            RecordsGiven { client, to, count } => {
                write!(f, "{to}: client {client} is to send {count} records")
            }
            TaskGiven { client, what } => write!(f, "client {client} is to ask: {what}"),
            StopAsked { broker } => write!(f, "broker {broker} is asked to stop"),
            LinkCut { from, to } => write!(f, "the link from {from} to {to} is cut"),
            LinkHealed { from, to } => write!(f, "the link from {from} to {to} is healed"),
            DiskSlowed { broker, delay_ms } => {
                write!(f, "each disk operation of broker {broker} takes {delay_ms} ms")
            }
            DiskFilled { broker, left_bytes } => {
                write!(f, "broker {broker} has {left_bytes} bytes of disk left")
            }
            ClockSkewed { broker, by_ms } => write!(f, "the clock of broker {broker} is {by_ms} ms ahead"),
            PacketSent {
                packet,
                from,
                to,
                what,
                bytes,
                ..
            } => write!(f, "packet {packet}: {what}, {bytes} bytes, {from} -> {to}"),
            PacketDelivered { packet } => write!(f, "packet {packet} arrives"),
            PacketLost { packet, why } => write!(f, "packet {packet} is lost: {why}"),
            ConnectionClosed { broker, caller, why } => {
                write!(f, "broker {broker} closes the connection of {caller}: {why}")
            }
            PacketDelayed { packet, by_ms } => write!(f, "packet {packet} is kept back for {by_ms} ms"),
            PacketDuplicated { packet } => write!(f, "packet {packet} is sent a second time"),
            RecordsAcknowledged {
                client,
                partition,
                base_offset,
                first,
                count,
                acks,
            } => write!(
                f,
                "{partition}: client {client} is told that {count} records from number {first} are stored at offset {base_offset} (acks={acks})"
            ),
            RecordsFailed {
                client,
                partition,
                first,
                count,
                code,
            } => write!(
                f,
                "{partition}: client {client} gives up {count} records from number {first}: {code}"
            ),
            RecordsProcessed {
                client,
                partition,
                from,
                to,
                count,
            } => write!(
                f,
                "{partition}: client {client} has processed {count} records, offsets {from}..{to}"
            ),
            AdminAnswered { client, what, code } => write!(f, "client {client}: {what}: {code}"),
        }
    }
}
