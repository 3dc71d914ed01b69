//! What happens in consumer groups.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::types::{Offset, PartitionIndex, TopicPartition};

/// Why a group has to form another generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RebalanceReason {
    MemberJoined {
        member: String,
    },
    /// The leader comes again: it has seen that topics changed.
    LeaderJoined {
        member: String,
    },
    /// A member comes again and says something else of itself.
    MetadataChanged {
        member: String,
    },
    /// The former life of a static member was replaced at a moment at which that matters to the others.
    StaticMemberReplaced {
        member: String,
    },
    MembersLeft {
        members: Vec<String>,
    },
    SessionExpired {
        member: String,
    },
    /// They know the generation, and never asked for their share.
    SyncOverdue {
        members: Vec<String>,
    },
    AssignmentNotStored,
    /// The group was loaded, and is larger than `group.max.size` allows.
    TooManyMembers,
}

impl fmt::Display for RebalanceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MemberJoined { member } => write!(f, "{member} joins"),
            Self::LeaderJoined { member } => write!(f, "its leader {member} joins again"),
            Self::MetadataChanged { member } => write!(f, "{member} joins again with other metadata"),
            Self::StaticMemberReplaced { member } => write!(f, "{member} takes the place of its former life"),
            Self::MembersLeft { members } => write!(f, "{} left", members.join(", ")),
            Self::SessionExpired { member } => write!(f, "the session of {member} expired"),
            Self::SyncOverdue { members } => write!(f, "{} never synced", members.join(", ")),
            Self::AssignmentNotStored => write!(f, "the assignment could not be stored"),
            Self::TooManyMembers => write!(f, "it is larger than group.max.size"),
        }
    }
}

/// Why somebody is a member no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RemovalReason {
    Left,
    SessionExpired,
    /// Was given an id and did not come again with it.
    NeverJoined,
    /// Did not join the rebalance in its time.
    DidNotJoin,
    DidNotSync,
}

impl fmt::Display for RemovalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Left => "it left",
            Self::SessionExpired => "its session expired",
            Self::NeverJoined => "it never came again with its id",
            Self::DidNotJoin => "it did not join in time",
            Self::DidNotSync => "it did not sync in time",
        })
    }
}

/// What a group coordinator sees and decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[non_exhaustive]
pub enum GroupFact {
    /// A partition of `__consumer_offsets` was read: its groups are served here.
    CoordinatorLoaded {
        partition: PartitionIndex,
        groups: u64,
        offsets: u64,
    },
    CoordinatorUnloaded {
        partition: PartitionIndex,
    },
    /// A client without a member id is given one, to come again with.
    MemberIdGiven {
        group: String,
        member: String,
    },
    MemberJoined {
        group: String,
        member: String,
        instance: Option<String>,
    },
    StaticMemberReplaced {
        group: String,
        instance: String,
        former: String,
        member: String,
    },
    MemberRemoved {
        group: String,
        member: String,
        why: RemovalReason,
    },
    RebalanceStarted {
        group: String,
        /// The one that ends.
        generation: i32,
        why: RebalanceReason,
    },
    /// Follows from the rebalance that began it.
    GenerationFormed {
        group: String,
        generation: i32,
        protocol: Option<String>,
        leader: Option<String>,
        members: Vec<String>,
    },
    /// The leader's assignment is stored, and every member has its share.
    Stable {
        group: String,
        generation: i32,
    },
    /// Appended; acknowledged when the high watermark has passed.
    OffsetsCommitted {
        group: String,
        member: String,
        offsets: Vec<(TopicPartition, Offset)>,
    },
    OffsetsExpired {
        group: String,
        partitions: Vec<TopicPartition>,
    },
    GroupDeleted {
        group: String,
    },
}

impl fmt::Display for GroupFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CoordinatorLoaded {
                partition,
                groups,
                offsets,
            } => write!(
                f,
                "coordinates the {groups} groups of __consumer_offsets-{partition}, with {offsets} offsets"
            ),
            Self::CoordinatorUnloaded { partition } => {
                write!(
                    f,
                    "coordinates the groups of __consumer_offsets-{partition} no more"
                )
            }
            Self::MemberIdGiven { group, member } => {
                write!(f, "group {group}: a client shall come again as {member}")
            }
            Self::MemberJoined {
                group,
                member,
                instance,
            } => {
                write!(f, "group {group}: {member} joins")?;
                instance
                    .iter()
                    .try_for_each(|id| write!(f, ", static member {id}"))
            }
            Self::StaticMemberReplaced {
                group,
                instance,
                former,
                member,
            } => write!(
                f,
                "group {group}: static member {instance} is {member} now, no more {former}"
            ),
            Self::MemberRemoved { group, member, why } => write!(f, "group {group}: {member} is out: {why}"),
            Self::RebalanceStarted {
                group,
                generation,
                why,
            } => write!(f, "group {group}: generation {generation} ends: {why}"),
            Self::GenerationFormed {
                group,
                generation,
                protocol,
                leader,
                members,
            } => {
                write!(
                    f,
                    "group {group}: generation {generation} of {} members",
                    members.len()
                )?;
                leader
                    .iter()
                    .try_for_each(|leader| write!(f, ", led by {leader}"))?;
                protocol
                    .iter()
                    .try_for_each(|name| write!(f, ", protocol {name}"))
            }
            Self::Stable { group, generation } => {
                write!(f, "group {group}: generation {generation} is stable")
            }
            Self::OffsetsCommitted { group, offsets, .. } => {
                write!(f, "group {group}: offsets committed:")?;
                offsets
                    .iter()
                    .try_for_each(|(partition, offset)| write!(f, " {partition}@{offset}"))
            }
            Self::OffsetsExpired { group, partitions } => {
                write!(f, "group {group}: offsets expired:")?;
                partitions
                    .iter()
                    .try_for_each(|partition| write!(f, " {partition}"))
            }
            Self::GroupDeleted { group } => write!(f, "group {group} is gone"),
        }
    }
}
