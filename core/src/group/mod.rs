//! The group coordinator: who is in a consumer group, who reads what, and how far they are (Kafka's
//! `GroupCoordinatorShard`, the classic protocol).
//!
//! A group lives in one partition of `__consumer_offsets`, chosen by its name; the leader of that
//! partition coordinates it. Members join, and one of them, the *leader*, shares the topics' partitions
//! out; the coordinator only carries the messages, counts generations, and notices who has died. Offsets
//! that members commit are records of the same partition.
//!
//! Reading order: [`request`] is what is asked and answered; [`member`] and [`classic`] keep the books of
//! one group; [`join`], [`static_member`], [`rebalance`], [`sync`] and [`leave`] are what happens in it;
//! [`record`] how it is stored; [`offset`] and [`offsets`] the committed offsets, [`expiry`] their end;
//! [`shard`] is a partition's worth of all that; [`listing`] what operators see.
//!
//! Invariants
//! - a generation has one leader, and generations only grow
//! - each JoinGroup and SyncGroup is answered once
//! - an offset that was acknowledged is there after the partition is read anew

pub mod classic;
mod expiry;
mod join;
mod leave;
pub mod listing;
pub mod member;
pub mod offset;
pub mod offsets;
mod place;
mod rebalance;
pub mod record;
pub mod request;
mod settings;
pub mod shard;
mod static_member;
mod subscription;
mod sync;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use classic::{ClassicGroup, GroupState};
pub use member::Protocol;
pub use offset::{OffsetAndMetadata, OffsetKey};
pub use place::partition_of;
pub use request::{Answer, Commit, Deletion, Identity, Join, Joined, Leaving, Sync, Synced};
pub use settings::GroupSettings;
pub use shard::GroupShard;

use crate::coordinator::{Coordinators, Turn};

/// The topic that keeps groups and offsets.
pub const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// The groups that this broker coordinates.
pub type Groups = Coordinators<GroupShard>;

pub(super) type GroupTurn<'a, 'cx> = Turn<'a, 'cx, GroupShard>;

/// What is due at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupTimer {
    /// The member of the group is dead if nothing was heard of it.
    Heartbeat(Arc<str>, Arc<str>),
    /// The group has gathered members long enough.
    Join(Arc<str>),
    /// Members of the group should have sent their SyncGroup.
    Sync(Arc<str>),
    /// Look for offsets that nobody needs any more.
    Expiry,
    /// Delete the offsets of deleted topics.
    DeletedTopics,
}

/// What is left to do when records are committed, or will never be.
#[derive(Clone, Debug)]
pub enum Then {
    /// A group was made; who asked waits for nothing.
    Created(Arc<str>),
    Assigned(sync::Assignment),
    Replaced(Box<static_member::Replacement>),
}
