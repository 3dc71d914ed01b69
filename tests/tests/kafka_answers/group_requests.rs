//! What members and operators of a group ask, in few words.

use bytes::Bytes;
use highwater_core::protocol::RequestBody;
use highwater_core::protocol::messages::join_group_request::JoinGroupRequestProtocol;
use highwater_core::protocol::messages::leave_group_request::MemberIdentity;
use highwater_core::protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use highwater_core::protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use highwater_core::protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use highwater_core::protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use highwater_core::protocol::messages::*;
use highwater_core::types::Uuid;

pub const SESSION_MS: i32 = 60_000;
/// ConsumerProtocolSubscription v0: topic `t`, no user data; the last byte tells members apart.
pub const OF_A: &[u8] = b"\0\0\0\0\0\x01\0\x01t\0\0\0\x01a";
pub const OF_B: &[u8] = b"\0\0\0\0\0\x01\0\x01t\0\0\0\x01b";
const ASSIGNMENT: &[u8] = b"\0\0\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\0\xff\xff\xff\xff";

/// A JoinGroup as a member of `g` sends it; `change` makes it another.
pub fn join(group: &str, member: &str, change: impl FnOnce(&mut JoinGroupRequest)) -> RequestBody {
    RequestBody::JoinGroup(message(|body: &mut JoinGroupRequest| {
        body.group_id = group.into();
        body.member_id = member.into();
        body.session_timeout_ms = SESSION_MS;
        body.rebalance_timeout_ms = SESSION_MS;
        body.protocol_type = "consumer".into();
        body.protocols = vec![protocol("range", OF_A)];
        change(body);
    }))
}

pub fn protocol(name: &str, metadata: &'static [u8]) -> JoinGroupRequestProtocol {
    message(|protocol: &mut JoinGroupRequestProtocol| {
        protocol.name = name.into();
        protocol.metadata = Bytes::from_static(metadata);
    })
}

pub fn sync(
    group: &str,
    member: &str,
    generation: i32,
    change: impl FnOnce(&mut SyncGroupRequest),
) -> RequestBody {
    RequestBody::SyncGroup(message(|body: &mut SyncGroupRequest| {
        body.group_id = group.into();
        body.member_id = member.into();
        body.generation_id = generation;
        body.protocol_type = Some("consumer".into());
        body.protocol_name = Some("range".into());
        change(body);
    }))
}

pub fn assign(body: &mut SyncGroupRequest, members: &[&str]) {
    let assignment = |member: &&str| {
        message(|assignment: &mut SyncGroupRequestAssignment| {
            assignment.member_id = (*member).into();
            assignment.assignment = Bytes::from_static(ASSIGNMENT);
        })
    };
    body.assignments = members.iter().map(assignment).collect();
}

pub fn heartbeat(group: &str, member: &str, generation: i32, instance: Option<&'static str>) -> RequestBody {
    RequestBody::Heartbeat(message(|body: &mut HeartbeatRequest| {
        body.group_id = group.into();
        body.member_id = member.into();
        body.generation_id = generation;
        body.group_instance_id = instance.map(Into::into);
    }))
}

/// A member by its id, or by its instance, who leaves.
pub type Leaving<'a> = (&'a str, Option<&'static str>);

pub fn leave(group: &str, members: &[Leaving<'_>]) -> RequestBody {
    let member = |(id, instance): &Leaving<'_>| {
        message(|member: &mut MemberIdentity| {
            member.member_id = (*id).into();
            member.group_instance_id = instance.map(Into::into);
        })
    };
    RequestBody::LeaveGroup(message(|body: &mut LeaveGroupRequest| {
        body.group_id = group.into();
        body.members = members.iter().map(member).collect();
    }))
}

pub fn commit(
    group: &str,
    (member, generation): (&str, i32),
    (topic, partition): (&str, i32),
    change: impl FnOnce(&mut OffsetCommitRequest),
) -> RequestBody {
    let partition = message(|row: &mut OffsetCommitRequestPartition| {
        row.partition_index = partition;
        row.committed_offset = 1;
        row.committed_leader_epoch = 0;
        row.committed_metadata = Some("m".into());
    });
    RequestBody::OffsetCommit(message(|body: &mut OffsetCommitRequest| {
        body.group_id = group.into();
        body.member_id = member.into();
        body.generation_id_or_member_epoch = generation;
        body.topics = vec![message(|row: &mut OffsetCommitRequestTopic| {
            row.name = topic.into();
            row.partitions = vec![partition];
        })];
        change(body);
    }))
}

/// One group as far as version 7.
pub fn fetch_old(group: &str, topics: Option<&[(&str, &[i32])]>, stable: bool) -> RequestBody {
    let topic = |(name, partitions): &(&str, &[i32])| {
        message(|topic: &mut OffsetFetchRequestTopic| {
            topic.name = (*name).into();
            topic.partition_indexes = partitions.to_vec();
        })
    };
    RequestBody::OffsetFetch(message(|body: &mut OffsetFetchRequest| {
        body.group_id = group.into();
        body.topics = topics.map(|topics| topics.iter().map(topic).collect());
        body.require_stable = stable;
    }))
}

/// A topic by name or by id.
pub type Topic<'a> = (&'a str, Uuid, &'a [i32]);

pub fn fetch(groups: &[(&str, Option<&[Topic<'_>]>)]) -> RequestBody {
    let topic = |(name, id, partitions): &Topic<'_>| {
        message(|topic: &mut OffsetFetchRequestTopics| {
            topic.name = (*name).into();
            topic.topic_id = WireUuid::from_bytes(id.0);
            topic.partition_indexes = partitions.to_vec();
        })
    };
    let group = |(id, topics): &(&str, Option<&[Topic<'_>]>)| {
        message(|group: &mut OffsetFetchRequestGroup| {
            group.group_id = (*id).into();
            group.member_epoch = -1;
            group.topics = topics.map(|topics| topics.iter().map(topic).collect());
        })
    };
    RequestBody::OffsetFetch(message(|body: &mut OffsetFetchRequest| {
        body.groups = groups.iter().map(group).collect();
    }))
}

pub fn delete_offsets(group: &str, topics: &[(&str, &[i32])]) -> RequestBody {
    let partition = |index: &i32| {
        message(|partition: &mut OffsetDeleteRequestPartition| partition.partition_index = *index)
    };
    let topic = |(name, partitions): &(&str, &[i32])| {
        message(|topic: &mut OffsetDeleteRequestTopic| {
            topic.name = (*name).into();
            topic.partitions = partitions.iter().map(partition).collect();
        })
    };
    RequestBody::OffsetDelete(message(|body: &mut OffsetDeleteRequest| {
        body.group_id = group.into();
        body.topics = topics.iter().map(topic).collect();
    }))
}

pub fn describe(groups: &[&str], authorized_operations: bool) -> RequestBody {
    RequestBody::DescribeGroups(message(|body: &mut DescribeGroupsRequest| {
        body.groups = groups.iter().map(|group| (*group).into()).collect();
        body.include_authorized_operations = authorized_operations;
    }))
}

pub fn list(states: &[&str], types: &[&str]) -> RequestBody {
    RequestBody::ListGroups(message(|body: &mut ListGroupsRequest| {
        body.states_filter = states.iter().map(|state| (*state).into()).collect();
        body.types_filter = types.iter().map(|kind| (*kind).into()).collect();
    }))
}

pub fn delete(groups: &[&str]) -> RequestBody {
    RequestBody::DeleteGroups(message(|body: &mut DeleteGroupsRequest| {
        body.groups_names = groups.iter().map(|group| (*group).into()).collect();
    }))
}
