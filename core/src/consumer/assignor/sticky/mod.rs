//! Sticky: as balanced as can be, and among such answers one that moves little (Java's
//! `AbstractStickyAssignor`).
//!
//! Members tell the leader what they had. Where two claim the same partition the newer generation has it;
//! where both are of one generation neither is believed. Then there are two ways. If all members
//! subscribe to the same topics, everybody can have anything, and quotas say how many: [`constrained`].
//! If not, partitions are shared out and then moved, one by one, as long as that makes shares more
//! equal: [`general`].
//!
//! Reading order: [`claim`] is what a member says that it had; [`group`] numbers members and partitions
//! and settles the claims; [`racks`] is who is near what (KIP-881); then the two ways, the second with
//! [`movements`], which keeps partitions of one topic from being swapped between two members.
//!
//! Three things Java's answer can have break its own promise, and ours has not: a partition that does not
//! exist is nobody's, however loudly it is claimed; nobody gets a partition of a topic that it does not
//! subscribe to; and the first member's empty subscription counts as different from others'.

mod claim;
mod constrained;
mod general;
mod group;
mod movements;
mod racks;

use std::sync::Arc;

use crate::ordered::OrderedMap;

use bytes::Bytes;

pub(super) use self::claim::Claim;
use self::group::Group;
use super::{Assignor, LastAssignment, MemberSubscription, Members, Shares, TopicsForAssignment};
use crate::types::TopicPartition;

/// Java's `StickyAssignor`: members give up everything before they join, and say in their own data what
/// they had.
#[derive(Clone, Copy, Debug)]
pub struct StickyAssignor;

impl Assignor for StickyAssignor {
    fn name(&self) -> &'static str {
        "sticky"
    }

    fn class(&self) -> &'static str {
        "org.apache.kafka.clients.consumer.StickyAssignor"
    }

    fn user_data(&self, last: Option<&LastAssignment>) -> Option<Bytes> {
        last.and_then(claim::encode)
    }

    fn assign(&self, topics: &TopicsForAssignment, members: &Members) -> Shares {
        share_out(topics, members, |member| {
            claim::decode(member.subscription.user_data.as_ref())
        })
        .shares
    }
}

/// What the sticky assignors answer.
pub(super) struct Answer {
    pub shares: Shares,
    /// The partitions that go from one member to another, with the other; `None`: nobody kept account.
    pub moving: Option<OrderedMap<TopicPartition, Arc<str>>>,
}

/// Shares partitions out; `claim_of` says what a member had.
pub(super) fn share_out(
    topics: &TopicsForAssignment,
    members: &Members,
    claim_of: impl Fn(&MemberSubscription) -> Claim,
) -> Answer {
    let group = Group::new(topics, members);
    let claims: Vec<Claim> = group.members.iter().map(|id| claim_of(&members[*id])).collect();
    let settled = group.settle(members, &claims);
    if members.is_empty() {
        return Answer {
            shares: Shares::new(),
            moving: None,
        };
    }
    if group.all_subscribe_alike() {
        let (shares, moving) = constrained::share_out(&group, &settled);
        let moving = moving.into_iter().map(|(partition, member)| {
            let id = group.members[member].clone();
            (group.partition(partition), id)
        });
        return Answer {
            moving: Some(moving.collect()),
            shares: group.named(&shares),
        };
    }
    let shares = general::share_out(&group, settled);
    Answer {
        shares: group.named(&shares),
        moving: None,
    }
}
