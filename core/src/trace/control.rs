//! What a controller sees and decides.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::error::ErrorCode;
use crate::types::{BrokerId, LeaderEpoch, TopicPartition};

/// Facts of the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[non_exhaustive]
pub enum ControlFact {
    /// A broker registered; `epoch` names this life of it.
    BrokerJoined { broker: BrokerId, epoch: i64 },
    /// A broker is registered no more, or under another epoch: it was restarted unseen.
    BrokerLost { broker: BrokerId, bounced: bool },
    /// A broker asks to shut down.
    BrokerLeaving { broker: BrokerId },
    /// A leader was sought: each replica with why it was taken or passed over.
    Elected {
        partition: TopicPartition,
        reason: ElectionReason,
        /// `None`: nobody is fit.
        leader: Option<BrokerId>,
        /// It was not in the ISR: what was acknowledged may be lost.
        unclean: bool,
        candidates: Vec<Candidate>,
    },
    /// The partition's state, as the controller writes it now; it holds when the write is acknowledged.
    PartitionDecided {
        partition: TopicPartition,
        /// -1: none.
        leader: BrokerId,
        leader_epoch: LeaderEpoch,
        isr: Vec<BrokerId>,
        replicas: Vec<BrokerId>,
        partition_epoch: i32,
    },
    /// A leader's wish for another ISR is not granted.
    IsrRefused {
        partition: TopicPartition,
        leader: BrokerId,
        isr: Vec<BrokerId>,
        code: ErrorCode,
        /// Those of them that are away, leaving, or in another life than the leader saw.
        ineligible: Vec<BrokerId>,
    },
    ReassignmentStarted {
        partition: TopicPartition,
        target: Vec<BrokerId>,
        adding: Vec<BrokerId>,
        removing: Vec<BrokerId>,
    },
    ReassignmentCompleted {
        partition: TopicPartition,
        replicas: Vec<BrokerId>,
    },
    /// The topic is marked: nobody sees it any more.
    TopicDeletionStarted { topic: String },
    /// Its files and nodes are gone.
    TopicDeleted { topic: String },
}

/// Why a leader is sought (`PartitionLeaderElectionStrategy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ElectionReason {
    /// The partition is new: all replicas that live are in sync.
    New,
    /// There is none, or it is gone.
    Offline,
    Reassignment,
    /// The first replica shall lead again.
    Preferred,
    /// The leader wants to stop.
    ControlledShutdown,
}

/// A replica in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    pub broker: BrokerId,
    pub live: bool,
    pub in_isr: bool,
    pub verdict: Verdict,
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    Elected,
    /// It is not in the ISR, and nobody who is lives.
    ElectedUnclean,
    /// It is fit, but another comes first.
    NotNeeded,
    /// Its broker is gone, or its log directory has failed.
    Dead,
    /// Its broker wants to stop.
    Leaving,
    OutOfSync,
    NotPreferred,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Elected => "elected",
            Self::ElectedUnclean => "elected though not in sync",
            Self::NotNeeded => "not needed",
            Self::Dead => "dead",
            Self::Leaving => "leaving",
            Self::OutOfSync => "not in sync",
            Self::NotPreferred => "not preferred",
        })
    }
}

impl fmt::Display for ControlFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BrokerJoined { broker, epoch } => write!(f, "broker {broker} joined, broker epoch {epoch}"),
            Self::BrokerLost { broker, bounced } => match bounced {
                true => write!(f, "broker {broker} was restarted"),
                false => write!(f, "broker {broker} is gone"),
            },
            Self::BrokerLeaving { broker } => write!(f, "broker {broker} wants to stop"),
            Self::Elected {
                partition,
                reason,
                leader,
                unclean,
                candidates,
            } => {
                match leader {
                    Some(leader) => write!(f, "{partition}: broker {leader} is elected ({reason:?})")?,
                    None => write!(f, "{partition}: no leader can be elected ({reason:?})")?,
                }
                if *unclean {
                    f.write_str(", and records may be lost")?;
                }
                candidates
                    .iter()
                    .try_for_each(|candidate| write!(f, "; {}: {}", candidate.broker, candidate.verdict))
            }
            Self::PartitionDecided {
                partition,
                leader,
                leader_epoch,
                isr,
                replicas,
                partition_epoch,
            } => write!(
                f,
                "{partition}: leader {leader} in epoch {leader_epoch}, ISR {isr:?} of {replicas:?}, version {partition_epoch}"
            ),
            Self::IsrRefused {
                partition,
                leader,
                isr,
                code,
                ineligible,
            } => {
                write!(f, "{partition}: broker {leader} does not get ISR {isr:?}: {code}")?;
                ineligible
                    .iter()
                    .try_for_each(|id| write!(f, "; broker {id} may not enter"))
            }
            Self::ReassignmentStarted {
                partition,
                target,
                adding,
                removing,
            } => write!(
                f,
                "{partition}: moves to {target:?}, adding {adding:?}, removing {removing:?}"
            ),
            Self::ReassignmentCompleted { partition, replicas } => {
                write!(f, "{partition}: has moved to {replicas:?}")
            }
            Self::TopicDeletionStarted { topic } => write!(f, "topic {topic} is being deleted"),
            Self::TopicDeleted { topic } => write!(f, "topic {topic} is deleted"),
        }
    }
}
