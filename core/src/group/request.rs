//! What members ask of their group, and what they hear: the coordinator's own words, which the broker
//! translates from and to the wire.

use std::sync::Arc;

use bytes::Bytes;

use super::member::Protocol;
use super::offset::{OffsetAndMetadata, OffsetKey};
use crate::error::ErrorCode;

/// A JoinGroup.
#[derive(Clone, Debug)]
pub struct Join {
    pub group: Arc<str>,
    /// Empty: the member has none yet.
    pub member: Arc<str>,
    pub instance_id: Option<Arc<str>>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    pub session_timeout_ms: i32,
    pub rebalance_timeout_ms: i32,
    pub protocol_type: Arc<str>,
    pub protocols: Arc<[Protocol]>,
    /// The client can take a member id and come again with it (KIP-394, from version 4).
    pub can_be_told_its_id: bool,
    /// The client can be told to leave the assignment as it is (KIP-814, from version 9).
    pub can_skip_assignment: bool,
}

/// The answer to a JoinGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    pub error: ErrorCode,
    pub member: Arc<str>,
    /// -1 with an error.
    pub generation: i32,
    pub protocol_type: Option<Arc<str>>,
    pub protocol: Option<Arc<str>>,
    pub leader: Arc<str>,
    pub skip_assignment: bool,
    /// For the leader: everyone, and what they say in the chosen protocol.
    pub members: Vec<JoinedMember>,
}

impl Joined {
    pub fn refused(member: &Arc<str>, error: ErrorCode) -> Self {
        Self {
            error,
            member: member.clone(),
            generation: -1,
            protocol_type: None,
            protocol: None,
            leader: "".into(),
            skip_assignment: false,
            members: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedMember {
    pub id: Arc<str>,
    pub instance_id: Option<Arc<str>>,
    pub metadata: Bytes,
}

/// A SyncGroup.
#[derive(Clone, Debug)]
pub struct Sync {
    pub group: Arc<str>,
    pub member: Arc<str>,
    pub instance_id: Option<Arc<str>>,
    pub generation: i32,
    pub protocol_type: Option<Arc<str>>,
    pub protocol: Option<Arc<str>>,
    /// Of the leader: who gets what.
    pub assignments: Vec<(Arc<str>, Bytes)>,
}

/// The answer to a SyncGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    pub error: ErrorCode,
    pub protocol_type: Option<Arc<str>>,
    pub protocol: Option<Arc<str>>,
    pub assignment: Bytes,
}

impl Synced {
    pub fn refused(error: ErrorCode) -> Self {
        Self {
            error,
            protocol_type: None,
            protocol: None,
            assignment: Bytes::new(),
        }
    }
}

/// A member, as Heartbeat and OffsetCommit name it.
#[derive(Clone, Debug)]
pub struct Identity {
    pub member: Arc<str>,
    pub instance_id: Option<Arc<str>>,
    /// Below 0: none.
    pub generation: i32,
}

/// Who shall leave, by LeaveGroup; the answer has the same with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaving {
    pub member: Arc<str>,
    pub instance_id: Option<Arc<str>>,
}

/// An OffsetCommit, less the partitions that do not exist.
#[derive(Clone, Debug)]
pub struct Commit {
    pub group: Arc<str>,
    pub who: Identity,
    /// From version 9 on a client knows GROUP_ID_NOT_FOUND.
    pub knows_group_id_not_found: bool,
    /// Each key has this group.
    pub offsets: Vec<(OffsetKey, OffsetAndMetadata)>,
}

/// Which of a group's offsets to delete.
#[derive(Clone, Debug)]
pub struct Deletion {
    pub group: Arc<str>,
    pub offsets: Vec<OffsetKey>,
}

/// What a request hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Joined(Joined),
    Synced(Synced),
    /// A heartbeat: fine, or REBALANCE_IN_PROGRESS.
    Heartbeat(ErrorCode),
    /// For each who was to leave, in order.
    Left(Vec<ErrorCode>),
    /// For each offset, in order: of an OffsetCommit, an OffsetDelete.
    Offsets(Vec<ErrorCode>),
    /// For each group of a DeleteGroups, in order.
    Deleted(Vec<ErrorCode>),
    /// Offsets that are no longer about to change may be read now, by a client that wants stable ones.
    Stable,
}
