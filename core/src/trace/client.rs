//! What clients see of the cluster and of their connections.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::error::ErrorCode;
use crate::types::{BrokerId, LeaderEpoch, Millis, PartitionIndex, TopicPartition};

/// Facts of the layer that all clients share. A negative node is a bootstrap address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[non_exhaustive]
pub enum ClientFact {
    /// The client asks a node which versions it knows, before anything else on a connection.
    ConnectionOpened { node: BrokerId, address: String },
    /// The node has told which versions it knows: requests may be sent.
    ConnectionReady { node: BrokerId },
    /// The connection is gone, with so many requests unanswered; the node is left alone for a while.
    ConnectionLost {
        node: BrokerId,
        unanswered: u32,
        again_ms: Millis,
        why: String,
    },
    /// The node asks the client to hold back.
    Throttled { node: BrokerId, until_ms: Millis },
    /// Who leads what is asked for; no names: of all topics.
    MetadataRequested {
        node: BrokerId,
        topics: Option<Vec<Arc<str>>>,
    },
    /// A node has told who leads what: each topic with its number of partitions.
    MetadataUpdated {
        brokers: Vec<BrokerId>,
        topics: Vec<(Arc<str>, PartitionIndex)>,
    },
    /// A node has told why there is nothing to tell of a topic that is wanted.
    TopicRefused { topic: Arc<str>, code: ErrorCode },
    /// No node has told it; asked again after a pause.
    MetadataFailed { again_ms: Millis, why: String },
    /// A node told of a leader that was replaced already: not believed.
    StaleLeaderIgnored {
        partition: TopicPartition,
        told: LeaderEpoch,
        known: LeaderEpoch,
    },
    /// An answer named the new leader (KIP-951).
    LeaderLearned {
        partition: TopicPartition,
        leader: BrokerId,
        epoch: LeaderEpoch,
    },
    /// No known broker answers: the client begins anew with its bootstrap addresses (KIP-899).
    Rebootstrapped { why: String },
}

impl fmt::Display for ClientFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConnectionOpened { node, address } => {
                write!(f, "asks {} at {address} for its versions", Named(*node))
            }
            Self::ConnectionReady { node } => write!(f, "{} is ready for requests", Named(*node)),
            Self::ConnectionLost {
                node,
                unanswered,
                again_ms,
                why,
            } => write!(
                f,
                "lost {} with {unanswered} requests unanswered ({why}), not tried before {again_ms} ms",
                Named(*node)
            ),
            Self::Throttled { node, until_ms } => {
                write!(f, "throttled by {} until {until_ms} ms", Named(*node))
            }
            Self::MetadataRequested { node, topics: None } => {
                write!(f, "asks {} for all topics", Named(*node))
            }
            Self::MetadataRequested {
                node,
                topics: Some(topics),
            } => write!(f, "asks {} for topics [{}]", Named(*node), topics.join(", ")),
            Self::MetadataUpdated { brokers, topics } => {
                write!(f, "knows brokers {brokers:?}")?;
                topics
                    .iter()
                    .try_for_each(|(topic, count)| write!(f, ", {topic} with {count} partitions"))
            }
            Self::TopicRefused { topic, code } => write!(f, "is told {code} of topic {topic}"),
            Self::MetadataFailed { again_ms, why } => {
                write!(f, "learned nothing ({why}), asks again at {again_ms} ms")
            }
            Self::StaleLeaderIgnored {
                partition,
                told,
                known,
            } => write!(
                f,
                "{partition}: told of leader epoch {told}, but knows {known} already"
            ),
            Self::LeaderLearned {
                partition,
                leader,
                epoch,
            } => write!(f, "{partition}: broker {leader} leads in epoch {epoch}"),
            Self::Rebootstrapped { why } => {
                write!(f, "begins anew with its bootstrap addresses: {why}")
            }
        }
    }
}

/// A node as a reader knows it.
struct Named(BrokerId);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            id if id < 0 => write!(f, "bootstrap address {}", -i64::from(id)),
            id => write!(f, "broker {id}"),
        }
    }
}
