//! The bodies of a consumer's requests, in the versions that a broker may have.
//!
//! A field that a version lacks is left out here if the request means the same without it.

use bytes::Bytes;

use super::config::{GroupConfig, IsolationLevel};
use super::generation::Generation;
use super::partition_state::FetchPosition;
use super::record::OffsetAndMetadata;
use crate::ordered::OrderedMap;
use crate::protocol::messages::join_group_request::JoinGroupRequestProtocol;
use crate::protocol::messages::leave_group_request::MemberIdentity;
use crate::protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use crate::protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use crate::protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use crate::protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use crate::protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use crate::protocol::messages::{
    FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, ListOffsetsRequest,
    OffsetCommitRequest, OffsetFetchRequest, OffsetForLeaderEpochRequest, SyncGroupRequest, message,
};
use crate::protocol::{RequestBody, StrBytes};
use crate::types::{LeaderEpoch, Millis, NO_EPOCH, PartitionIndex, TopicPartition};

/// What group members call their protocol.
pub(super) const PROTOCOL_TYPE: &str = "consumer";
/// The last versions that name topics.
pub(super) const LAST_COMMIT_WITH_NAMES: i16 = 9;
pub(super) const LAST_OFFSET_FETCH_WITH_NAMES: i16 = 9;
/// A reason that a member gives is cut to so many bytes (`JoinGroupRequest.maybeTruncateReason`).
const MOST_REASON_BYTES: usize = 255;

/// Rows by topic, topics and partitions in order.
fn by_topic<'a, V>(
    rows: impl IntoIterator<Item = (&'a TopicPartition, V)>,
) -> Vec<(StrBytes, Vec<(PartitionIndex, V)>)> {
    let mut topics: Vec<(StrBytes, Vec<_>)> = Vec::new();
    for (partition, value) in rows {
        match topics.last_mut() {
            Some((topic, rows)) if **topic == *partition.topic => rows.push((partition.partition, value)),
            _ => topics.push((
                StrBytes::from(&*partition.topic),
                vec![(partition.partition, value)],
            )),
        }
    }
    topics
}

fn optional(text: Option<&str>) -> Option<StrBytes> {
    text.map(StrBytes::from)
}

/// Times to look for, or the numbers that stand for an end, each with the leader's epoch.
pub(super) fn list_offsets(
    version: i16,
    isolation: IsolationLevel,
    timeout_ms: Millis,
    asked: &OrderedMap<TopicPartition, (Millis, Option<LeaderEpoch>)>,
) -> RequestBody {
    let partition = |(index, (timestamp, epoch)): (PartitionIndex, &(Millis, Option<LeaderEpoch>))| {
        message(|row: &mut ListOffsetsPartition| {
            row.partition_index = index;
            row.timestamp = *timestamp;
            if version >= 4 {
                row.current_leader_epoch = epoch.unwrap_or(NO_EPOCH);
            }
        })
    };
    RequestBody::ListOffsets(message(|body: &mut ListOffsetsRequest| {
        body.replica_id = -1;
        if version >= 2 {
            body.isolation_level = isolation.code();
        }
        if version >= 10 {
            body.timeout_ms = i32::try_from(timeout_ms).unwrap_or(i32::MAX);
        }
        body.topics = by_topic(asked)
            .into_iter()
            .map(|(name, rows)| {
                message(|topic: &mut ListOffsetsTopic| {
                    topic.name = name;
                    topic.partitions = rows.into_iter().map(partition).collect();
                })
            })
            .collect();
    }))
}

/// Where the epoch of each position ends, at its leader (KIP-320).
pub(super) fn epoch_ends(version: i16, asked: &OrderedMap<TopicPartition, FetchPosition>) -> RequestBody {
    let partition = |(index, position): (PartitionIndex, &FetchPosition)| {
        message(|row: &mut OffsetForLeaderPartition| {
            row.partition = index;
            row.current_leader_epoch = position.current_leader.epoch.unwrap_or(NO_EPOCH);
            row.leader_epoch = position.offset_epoch.unwrap_or(NO_EPOCH);
        })
    };
    RequestBody::OffsetForLeaderEpoch(message(|body: &mut OffsetForLeaderEpochRequest| {
        if version >= 3 {
            body.replica_id = -1;
        }
        body.topics = by_topic(asked)
            .into_iter()
            .map(|(name, rows)| {
                message(|topic: &mut OffsetForLeaderTopic| {
                    topic.topic = name;
                    topic.partitions = rows.into_iter().map(partition).collect();
                })
            })
            .collect();
    }))
}

pub(super) fn find_coordinator(version: i16, group: &str) -> RequestBody {
    RequestBody::FindCoordinator(message(|body: &mut FindCoordinatorRequest| {
        if version >= 4 {
            body.coordinator_keys = vec![group.into()];
        } else {
            body.key = group.into();
        }
    }))
}

/// `protocols`: each assignor with this member's subscription, the best first.
pub(super) fn join_group(
    version: i16,
    config: &GroupConfig,
    member: &str,
    reason: &str,
    protocols: Vec<(&'static str, Bytes)>,
) -> RequestBody {
    let wire = |ms: Millis| i32::try_from(ms).unwrap_or(i32::MAX);
    RequestBody::JoinGroup(message(|body: &mut JoinGroupRequest| {
        body.group_id = (&*config.group).into();
        body.session_timeout_ms = wire(config.session_timeout_ms);
        if version >= 1 {
            body.rebalance_timeout_ms = wire(config.max_poll_interval_ms);
        }
        body.member_id = member.into();
        if version >= 5 {
            body.group_instance_id = optional(config.instance.as_deref());
        }
        body.protocol_type = PROTOCOL_TYPE.into();
        if version >= 8 {
            body.reason = Some(short(reason).into());
        }
        body.protocols = protocols
            .into_iter()
            .map(|(name, metadata)| {
                message(|protocol: &mut JoinGroupRequestProtocol| {
                    protocol.name = name.into();
                    protocol.metadata = metadata;
                })
            })
            .collect();
    }))
}

fn short(reason: &str) -> &str {
    let mut end = reason.len().min(MOST_REASON_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason[..end]
}

/// `shares`: empty but for the group's leader.
pub(super) fn sync_group(
    version: i16,
    config: &GroupConfig,
    generation: &Generation,
    shares: Vec<(std::sync::Arc<str>, Bytes)>,
) -> RequestBody {
    RequestBody::SyncGroup(message(|body: &mut SyncGroupRequest| {
        body.group_id = (&*config.group).into();
        body.generation_id = generation.id;
        body.member_id = (&*generation.member).into();
        if version >= 3 {
            body.group_instance_id = optional(config.instance.as_deref());
        }
        if version >= 5 {
            body.protocol_type = Some(PROTOCOL_TYPE.into());
            body.protocol_name = optional(generation.protocol.as_deref());
        }
        body.assignments = shares
            .into_iter()
            .map(|(member, assignment)| {
                message(|share: &mut SyncGroupRequestAssignment| {
                    share.member_id = (&*member).into();
                    share.assignment = assignment;
                })
            })
            .collect();
    }))
}

pub(super) fn heartbeat(version: i16, config: &GroupConfig, generation: &Generation) -> RequestBody {
    RequestBody::Heartbeat(message(|body: &mut HeartbeatRequest| {
        body.group_id = (&*config.group).into();
        body.generation_id = generation.id;
        body.member_id = (&*generation.member).into();
        if version >= 3 {
            body.group_instance_id = optional(config.instance.as_deref());
        }
    }))
}

pub(super) fn leave_group(version: i16, config: &GroupConfig, member: &str, reason: &str) -> RequestBody {
    RequestBody::LeaveGroup(message(|body: &mut LeaveGroupRequest| {
        body.group_id = (&*config.group).into();
        if version < 3 {
            body.member_id = member.into();
            return;
        }
        body.members = vec![message(|identity: &mut MemberIdentity| {
            identity.member_id = member.into();
            identity.group_instance_id = optional(config.instance.as_deref());
            if version >= 5 {
                identity.reason = Some(short(reason).into());
            }
        })];
    }))
}

/// `generation`: the default one for a consumer whose partitions were assigned by hand.
pub(super) fn offset_commit(
    version: i16,
    config: &GroupConfig,
    generation: &Generation,
    offsets: &OrderedMap<TopicPartition, OffsetAndMetadata>,
) -> RequestBody {
    let partition = |(index, offset): (PartitionIndex, &OffsetAndMetadata)| {
        message(|row: &mut OffsetCommitRequestPartition| {
            row.partition_index = index;
            row.committed_offset = offset.offset;
            if version >= 6 {
                row.committed_leader_epoch = offset.leader_epoch.unwrap_or(NO_EPOCH);
            }
            row.committed_metadata = Some(offset.metadata.as_str().into());
        })
    };
    RequestBody::OffsetCommit(message(|body: &mut OffsetCommitRequest| {
        body.group_id = (&*config.group).into();
        body.generation_id_or_member_epoch = generation.id;
        body.member_id = (&*generation.member).into();
        if version >= 7 && generation.is_member() {
            body.group_instance_id = optional(config.instance.as_deref());
        }
        body.topics = by_topic(offsets)
            .into_iter()
            .map(|(name, rows)| {
                message(|topic: &mut OffsetCommitRequestTopic| {
                    topic.name = name;
                    topic.partitions = rows.into_iter().map(partition).collect();
                })
            })
            .collect();
    }))
}

/// Offsets that an open transaction may still change are not given (KIP-447).
pub(super) fn offset_fetch<'a>(
    version: i16,
    group: &str,
    partitions: impl IntoIterator<Item = &'a TopicPartition>,
) -> RequestBody {
    let topics = by_topic(partitions.into_iter().map(|partition| (partition, ())));
    let indexes = |rows: Vec<(PartitionIndex, ())>| rows.into_iter().map(|(index, ())| index).collect();
    RequestBody::OffsetFetch(message(|body: &mut OffsetFetchRequest| {
        if version >= 7 {
            body.require_stable = true;
        }
        if version < 8 {
            body.group_id = group.into();
            let topics = topics.into_iter().map(|(name, rows)| {
                message(|topic: &mut OffsetFetchRequestTopic| {
                    topic.name = name;
                    topic.partition_indexes = indexes(rows);
                })
            });
            body.topics = Some(topics.collect());
            return;
        }
        body.groups = vec![message(|asked: &mut OffsetFetchRequestGroup| {
            asked.group_id = group.into();
            let topics = topics.into_iter().map(|(name, rows)| {
                message(|topic: &mut OffsetFetchRequestTopics| {
                    topic.name = name;
                    topic.partition_indexes = indexes(rows);
                })
            });
            asked.topics = Some(topics.collect());
        })];
    }))
}
