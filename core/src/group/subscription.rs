//! What consumers say they read: the first fields of their subscription, which every version of the
//! consumer protocol begins with. All else in it is for the members' own assignor.

use std::sync::Arc;

use super::classic::ClassicGroup;
use crate::ordered::OrderedSet;
use crate::protocol::consumer_protocol::Subscription;

/// The topics that a group's consumers read. `None`: they are no consumers, or cannot be read.
pub(super) fn of_group(group: &ClassicGroup) -> Option<OrderedSet<Arc<str>>> {
    if !group.uses_consumer_protocol() {
        return None;
    }
    let mut topics = OrderedSet::new();
    if group.members.is_empty() {
        return Some(topics);
    }
    let protocol = group.protocol.as_deref()?;
    for member in group.members.values() {
        topics.extend(Subscription::decode_topics(&member.metadata(protocol)).ok()?);
    }
    Some(topics)
}
