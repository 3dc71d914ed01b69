//! What consumers see and decide.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::error::ErrorCode;
use crate::types::{BrokerId, LeaderEpoch, Millis, Offset, TopicPartition};

/// Why offsets are committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommitReason {
    /// The application asked, and waits.
    Sync,
    /// The application asked, and goes on.
    Async,
    /// `auto.commit.interval.ms` is over.
    Interval,
    /// Partitions are about to be given up.
    Rebalance,
    /// The consumer closes.
    Close,
}

impl fmt::Display for CommitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sync => "the application waits for it",
            Self::Async => "the application asked",
            Self::Interval => "auto.commit.interval.ms is over",
            Self::Rebalance => "before partitions are given up",
            Self::Close => "the consumer closes",
        })
    }
}

/// Where a position came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PositionReason {
    Committed,
    /// By `auto.offset.reset`, or a seek to an end.
    Reset {
        strategy: String,
    },
    Seek,
    /// The log was cut: this is where what was read and what is there part ways.
    Truncation,
}

impl fmt::Display for PositionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Committed => f.write_str("it was committed"),
            Self::Reset { strategy } => write!(f, "reset to {strategy}"),
            Self::Seek => f.write_str("the application seeks"),
            Self::Truncation => f.write_str("the log was cut since it was read"),
        }
    }
}

/// Facts of a consumer. The member id is empty while the coordinator has given none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[non_exhaustive]
pub enum ConsumerFact {
    Subscribed {
        /// Names, or one pattern.
        topics: Vec<String>,
    },
    Unsubscribed,
    /// Partitions that the application has chosen itself, in place of those before.
    Assigned {
        partitions: Vec<TopicPartition>,
    },
    CoordinatorFound {
        group: Arc<str>,
        broker: BrokerId,
    },
    /// It has to be looked for again.
    CoordinatorLost {
        group: Arc<str>,
        broker: BrokerId,
        why: String,
    },
    JoinSent {
        group: Arc<str>,
        member: Arc<str>,
        why: String,
    },
    JoinRefused {
        group: Arc<str>,
        code: ErrorCode,
    },
    /// It is in the group; who leads shares the partitions out.
    Joined {
        group: Arc<str>,
        member: Arc<str>,
        generation: i32,
        leads: bool,
    },
    /// The group's leader has decided.
    SharedOut {
        group: Arc<str>,
        generation: i32,
        assignor: String,
        shares: Vec<(Arc<str>, Vec<TopicPartition>)>,
    },
    SyncRefused {
        group: Arc<str>,
        code: ErrorCode,
    },
    PartitionsRevoked {
        group: Arc<str>,
        partitions: Vec<TopicPartition>,
    },
    PartitionsAssigned {
        group: Arc<str>,
        /// New ones.
        partitions: Vec<TopicPartition>,
        /// All that it has now.
        owned: Vec<TopicPartition>,
    },
    PartitionsLost {
        group: Arc<str>,
        partitions: Vec<TopicPartition>,
    },
    /// It will join again.
    RejoinWanted {
        group: Arc<str>,
        why: String,
    },
    HeartbeatRefused {
        group: Arc<str>,
        code: ErrorCode,
    },
    /// The application did not poll for `max.poll.interval.ms`.
    PollOverdue {
        group: Arc<str>,
        since_ms: Millis,
    },
    LeaveSent {
        group: Arc<str>,
        member: Arc<str>,
        why: String,
    },
    PositionSet {
        partition: TopicPartition,
        offset: Offset,
        why: PositionReason,
    },
    /// The committed or the reached offset is of no use: a new one is looked for.
    PositionLost {
        partition: TopicPartition,
        offset: Option<Offset>,
        why: String,
    },
    /// Another leader: it is asked whether its log is still the one that was read.
    PositionChecked {
        partition: TopicPartition,
        offset: Offset,
        epoch: LeaderEpoch,
        leader: BrokerId,
    },
    FetchFailed {
        partition: TopicPartition,
        broker: BrokerId,
        code: ErrorCode,
    },
    /// The application was given these records.
    RecordsReturned {
        partition: TopicPartition,
        /// Position before and after.
        from: Offset,
        to: Offset,
        count: u32,
    },
    CommitSent {
        group: Arc<str>,
        offsets: Vec<(TopicPartition, Offset)>,
        why: CommitReason,
    },
    Committed {
        group: Arc<str>,
        offsets: Vec<(TopicPartition, Offset)>,
    },
    CommitFailed {
        group: Arc<str>,
        offsets: Vec<(TopicPartition, Offset)>,
        why: String,
        /// It is tried again.
        again: bool,
    },
    /// The application is told.
    Failed {
        why: String,
    },
    Closed,
}

impl fmt::Display for ConsumerFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subscribed { topics } => write!(f, "subscribes to {}", topics.join(", ")),
            Self::Unsubscribed => f.write_str("subscribes to nothing any more"),
            Self::Assigned { partitions } => write!(f, "reads {}", Listed(partitions)),
            Self::CoordinatorFound { group, broker } => {
                write!(f, "group {group}: broker {broker} coordinates it")
            }
            Self::CoordinatorLost { group, broker, why } => {
                write!(
                    f,
                    "group {group}: broker {broker} is its coordinator no more: {why}"
                )
            }
            Self::JoinSent { group, member, why } => match (&**member, &**why) {
                ("", _) => write!(f, "group {group}: asks to join"),
                (member, "") => write!(f, "group {group}: joins as {member}"),
                (member, why) => write!(f, "group {group}: joins as {member}: {why}"),
            },
            Self::JoinRefused { group, code } => write!(f, "group {group}: may not join: {code}"),
            Self::Joined {
                group,
                member,
                generation,
                leads,
            } => {
                let role = if *leads { "leads" } else { "is in" };
                write!(f, "group {group}: {member} {role} generation {generation}")
            }
            Self::SharedOut {
                group,
                generation,
                assignor,
                shares,
            } => {
                write!(
                    f,
                    "group {group}: shares out generation {generation} by {assignor}:"
                )?;
                let mut shares = shares.iter();
                shares.try_for_each(|(member, share)| write!(f, " {member}: {}", Listed(share)))
            }
            Self::SyncRefused { group, code } => write!(f, "group {group}: gets no share: {code}"),
            Self::PartitionsRevoked { group, partitions } => {
                write!(f, "group {group}: gives up {}", Listed(partitions))
            }
            Self::PartitionsAssigned {
                group,
                partitions,
                owned,
            } => write!(
                f,
                "group {group}: is given {}, has {}",
                Listed(partitions),
                Listed(owned)
            ),
            Self::PartitionsLost { group, partitions } => {
                write!(f, "group {group}: has lost {}", Listed(partitions))
            }
            Self::RejoinWanted { group, why } => write!(f, "group {group}: will join again: {why}"),
            Self::HeartbeatRefused { group, code } => write!(f, "group {group}: heartbeat refused: {code}"),
            Self::PollOverdue { group, since_ms } => {
                write!(
                    f,
                    "group {group}: the application has not polled for {since_ms} ms"
                )
            }
            Self::LeaveSent { group, member, why } => write!(f, "group {group}: {member} leaves: {why}"),
            Self::PositionSet {
                partition,
                offset,
                why,
            } => write!(f, "{partition}: reads on at {offset}: {why}"),
            Self::PositionLost {
                partition,
                offset,
                why,
            } => match offset {
                Some(offset) => write!(f, "{partition}: cannot read on at {offset}: {why}"),
                None => write!(f, "{partition}: does not know where to begin: {why}"),
            },
            Self::PositionChecked {
                partition,
                offset,
                epoch,
                leader,
            } => write!(
                f,
                "{partition}: asks broker {leader} where epoch {epoch} ends, having read up to {offset}"
            ),
            Self::FetchFailed {
                partition,
                broker,
                code,
            } => write!(f, "{partition}: fetch from broker {broker} failed: {code}"),
            Self::RecordsReturned {
                partition,
                from,
                to,
                count,
            } => write!(
                f,
                "{partition}: {count} records returned, position {from} -> {to}"
            ),
            Self::CommitSent { group, offsets, why } => {
                write!(f, "group {group}: commits {}: {why}", Offsets(offsets))
            }
            Self::Committed { group, offsets } => {
                write!(f, "group {group}: committed {}", Offsets(offsets))
            }
            Self::CommitFailed {
                group,
                offsets,
                why,
                again,
            } => {
                let then = if *again { "; tries again" } else { "" };
                write!(
                    f,
                    "group {group}: could not commit {}: {why}{then}",
                    Offsets(offsets)
                )
            }
            Self::Failed { why } => write!(f, "tells the application: {why}"),
            Self::Closed => f.write_str("is closed"),
        }
    }
}

struct Listed<'a>(&'a [TopicPartition]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        for (at, partition) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{partition}")?;
        }
        Ok(())
    }
}

struct Offsets<'a>(&'a [(TopicPartition, Offset)]);

impl fmt::Display for Offsets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (partition, offset)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{partition}@{offset}")?;
        }
        Ok(())
    }
}
