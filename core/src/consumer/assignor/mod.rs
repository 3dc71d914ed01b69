//! Who reads which partition: the assignors of a consumer group (Kafka's `ConsumerPartitionAssignor`).
//!
//! A group's partitions are shared out by one of its members, the leader. It hears from the coordinator
//! what every member subscribes to, lets the assignor that all members have in common decide, and hands the
//! shares back. So an assignor is a pure function, and since the leader may be any client, all clients'
//! assignors of one name must agree on what they promise. Ours give the very answer of Java's, down to
//! the order within a share.
//!
//! Reading order: [`range`] and [`round_robin`] start from nothing each time; [`sticky`] keeps what
//! members had, and [`cooperative_sticky`] also lets them read on meanwhile. [`java_order`] is how ties
//! are broken; [`selection`] reads which assignors a consumer is to offer.
//!
//! Invariants
//! - every partition of a topic that somebody subscribes to has one owner, who subscribes to it; but
//!   cooperative sticky leaves those out that have first to be given up by another
//! - the answer has each member, and nobody else
//! - the same members and topics give the same answer

mod cooperative_sticky;
mod java_order;
mod range;
mod round_robin;
mod selection;
mod sticky;

#[cfg(all(test, not(target_arch = "wasm32")))]
mod properties;
#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;

pub use self::cooperative_sticky::CooperativeStickyAssignor;
use self::java_order::JavaHash;
pub use self::range::RangeAssignor;
pub use self::round_robin::RoundRobinAssignor;
pub use self::selection::{UnusableAssignors, parse_assignors};
pub use self::sticky::StickyAssignor;
use crate::ordered::{OrderedMap, OrderedSet};
pub use crate::protocol::consumer_protocol::Subscription;
use crate::types::TopicPartition;

/// The racks that a partition's replicas are in; a replica whose rack is not known adds none.
pub type Racks = OrderedSet<Arc<str>>;

/// The topics that are known, each with its partitions from 0 on. All replicas count, whether they
/// are in sync or not: a rebalance does not follow the ISR.
pub type TopicsForAssignment = OrderedMap<Arc<str>, Vec<Racks>>;

/// The members of a group, by their ids.
pub type Members = OrderedMap<Arc<str>, MemberSubscription>;

/// Each member's share, in the order that goes over the wire.
pub type Shares = OrderedMap<Arc<str>, Vec<TopicPartition>>;

/// A member as the leader hears of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberSubscription {
    /// `group.instance.id` of a static member (KIP-345).
    pub instance_id: Option<Arc<str>>,
    pub subscription: Subscription,
}

/// What a member was given when it last joined with the assignor that is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastAssignment {
    pub generation: i32,
    pub partitions: Vec<TopicPartition>,
}

/// How members get from one assignment to the next (KIP-429).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RebalanceProtocol {
    /// All is given up before a member joins again.
    Eager,
    /// A member reads on, and gives up only what the new assignment takes from it.
    Cooperative,
}

/// A way to share out partitions.
pub trait Assignor: Debug + Send + Sync {
    /// The name that members agree on.
    fn name(&self) -> &'static str;

    /// Kafka's class, as `partition.assignment.strategy` names it.
    fn class(&self) -> &'static str;

    /// What members that use it may follow. A consumer takes the last that all its assignors have.
    fn protocols(&self) -> &'static [RebalanceProtocol] {
        &[RebalanceProtocol::Eager]
    }

    /// What the member tells the leader's assignor when it joins; `last` is `None` before the first
    /// assignment.
    fn user_data(&self, _last: Option<&LastAssignment>) -> Option<Bytes> {
        None
    }

    /// Shares the partitions out. Topics that nobody subscribes to are passed over, and so are those
    /// that are subscribed to and not known.
    fn assign(&self, topics: &TopicsForAssignment, members: &Members) -> Shares;
}

/// Every assignor there is, in Kafka's order.
pub const ASSIGNORS: [&dyn Assignor; 4] = [
    &RangeAssignor,
    &RoundRobinAssignor,
    &StickyAssignor,
    &CooperativeStickyAssignor,
];

/// Each member with nothing yet.
fn empty_shares(members: &Members) -> Shares {
    members.keys().map(|id| (id.clone(), Vec::new())).collect()
}

/// Static members by their instance ids come first, then the others by their member ids: an order that
/// outlives a restart of a static member (Java's `MemberInfo`).
fn in_member_order<'a>(
    members: impl IntoIterator<Item = (&'a Arc<str>, &'a MemberSubscription)>,
) -> Vec<&'a Arc<str>> {
    let mut all: Vec<_> = members
        .into_iter()
        .map(|(id, member)| (id, member.instance_id.as_ref()))
        .collect();
    all.sort_by(
        |(id, instance), (other, other_instance)| match (instance, other_instance) {
            (Some(instance), Some(other)) => java_order::compare(instance, other),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => java_order::compare(id, other),
        },
    );
    all.into_iter().map(|(id, _)| id).collect()
}

/// The members as Java's hash map shows them.
fn in_hash_order(members: &Members) -> Vec<(&Arc<str>, &MemberSubscription)> {
    let mut all: Vec<_> = members.iter().collect();
    java_order::sort(&mut all, |(id, _)| id.java_hash());
    all
}

/// The topics that somebody subscribes to and that have partitions, as Java's hash map shows them.
fn subscribed_topics<'a>(
    topics: &'a TopicsForAssignment,
    members: &'a Members,
) -> Vec<(&'a Arc<str>, &'a [Racks])> {
    let mut seen = OrderedSet::new();
    let mut named = Vec::new();
    for (_, member) in in_hash_order(members) {
        named.extend(
            member
                .subscription
                .topics
                .iter()
                .filter(|topic| seen.insert(*topic)),
        );
    }
    java_order::sort(&mut named, |topic| topic.java_hash());
    let known = named.into_iter().filter_map(|topic| {
        let (name, partitions) = topics.get_key_value(topic)?;
        (!partitions.is_empty()).then_some((name, partitions.as_slice()))
    });
    let mut known: Vec<_> = known.collect();
    java_order::sort(&mut known, |(topic, _)| topic.java_hash());
    known
}

/// Whether racks can make a difference (KIP-881): somebody is in a rack that some replica is in, and not
/// every partition has replicas in the same racks.
fn racks_matter<'a>(
    member_racks: &OrderedSet<&Arc<str>>,
    partitions: impl Iterator<Item = &'a Racks> + Clone,
) -> bool {
    let all: Racks = partitions.clone().flatten().cloned().collect();
    member_racks.iter().any(|rack| all.contains(*rack)) && partitions.into_iter().any(|racks| *racks != all)
}
