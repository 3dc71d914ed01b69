//! Cooperative sticky: the sticky answer in two steps, so that members read on meanwhile (KIP-429).
//!
//! Members keep what they have while they join, and say so in their subscription. A partition that is to go
//! from one member to another is given to neither at first: the one sees that it is gone from its share,
//! gives it up and joins again, and only then the other gets it.

use std::sync::Arc;

use bytes::Bytes;

use super::sticky::{Claim, share_out};
use super::{
    Assignor, LastAssignment, MemberSubscription, Members, RebalanceProtocol, Shares, TopicsForAssignment,
};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::TopicPartition;

/// "No generation", as members write it.
const NO_GENERATION: i32 = -1;

/// Java's `CooperativeStickyAssignor`.
#[derive(Clone, Copy, Debug)]
pub struct CooperativeStickyAssignor;

impl Assignor for CooperativeStickyAssignor {
    fn name(&self) -> &'static str {
        "cooperative-sticky"
    }

    fn class(&self) -> &'static str {
        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    }

    fn protocols(&self) -> &'static [RebalanceProtocol] {
        &[RebalanceProtocol::Cooperative, RebalanceProtocol::Eager]
    }

    /// The generation, for leaders that do not know that subscriptions have it by now.
    fn user_data(&self, last: Option<&LastAssignment>) -> Option<Bytes> {
        let generation = last.map_or(NO_GENERATION, |last| last.generation);
        Some(Bytes::copy_from_slice(&generation.to_be_bytes()))
    }

    // ANCHOR: assign
    fn assign(&self, topics: &TopicsForAssignment, members: &Members) -> Shares {
        let answer = share_out(topics, members, claim_of);
        let mut shares = answer.shares;
        let moving = answer.moving.unwrap_or_else(|| changing_hands(members, &shares));
        for (partition, to) in moving {
            if let Some(share) = shares.get_mut(&to) {
                share.retain(|other| *other != partition);
            }
        }
        shares
    }
    // ANCHOR_END: assign
}

fn claim_of(member: &MemberSubscription) -> Claim {
    let subscription = &member.subscription;
    let told = |data: &Bytes| {
        data.first_chunk()
            .map_or(NO_GENERATION, |bytes| i32::from_be_bytes(*bytes))
    };
    Claim {
        partitions: subscription.owned_partitions.clone(),
        generation: subscription
            .generation
            .or_else(|| subscription.user_data.as_ref().map(told)),
    }
}

/// The partitions that one member is to get and another still holds, with the first.
fn changing_hands(members: &Members, shares: &Shares) -> OrderedMap<TopicPartition, Arc<str>> {
    let (mut added, mut taken) = (OrderedMap::new(), OrderedSet::new());
    for (id, share) in shares {
        let owned: OrderedSet<_> = members[id].subscription.owned_partitions.iter().collect();
        let given: OrderedSet<_> = share.iter().collect();
        added.extend(given.difference(&owned).map(|partition| (*partition, id)));
        taken.extend(owned.difference(&given).copied());
    }
    added.retain(|partition, _| taken.contains(partition));
    let own = |(partition, id): (&TopicPartition, &Arc<str>)| (partition.clone(), id.clone());
    added.into_iter().map(own).collect()
}
