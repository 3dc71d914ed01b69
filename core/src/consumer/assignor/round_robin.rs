//! Round robin: all partitions of all topics in one row, dealt out member by member.
//!
//! A member that does not subscribe to a partition's topic is passed over, and stays next in turn for
//! nothing: the one after it is. So shares differ by at most one as long as all members subscribe to the
//! same topics, and may differ by much more when they do not. Nothing is kept from one time to the next.

use std::sync::Arc;

use super::{Assignor, Members, Shares, TopicsForAssignment, empty_shares, in_member_order};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::TopicPartition;

/// Java's `RoundRobinAssignor`.
#[derive(Clone, Copy, Debug)]
pub struct RoundRobinAssignor;

impl Assignor for RoundRobinAssignor {
    fn name(&self) -> &'static str {
        "roundrobin"
    }

    fn class(&self) -> &'static str {
        "org.apache.kafka.clients.consumer.RoundRobinAssignor"
    }

    fn assign(&self, topics: &TopicsForAssignment, members: &Members) -> Shares {
        let mut shares = empty_shares(members);
        let subscribed: OrderedMap<&Arc<str>, OrderedSet<&Arc<str>>> = members
            .iter()
            .map(|(id, member)| (id, member.subscription.topics.iter().collect()))
            .collect();
        let wanted: OrderedSet<&Arc<str>> = subscribed.values().flatten().copied().collect();
        let mut turns = in_member_order(members).into_iter().cycle();
        for (topic, racks) in topics.iter().filter(|(topic, _)| wanted.contains(topic)) {
            for partition in 0..racks.len() as i32 {
                // Somebody subscribes to the topic, so the search ends within one round.
                let next = turns.find(|id| subscribed[*id].contains(topic));
                if let Some(share) = next.and_then(|id| shares.get_mut(id)) {
                    share.push(TopicPartition::new(topic.clone(), partition));
                }
            }
        }
        shares
    }
}
