//! What consumers say they read: the first fields of their subscription, which every version of the
//! consumer protocol begins with. All else in it is for the members' own assignor.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use super::classic::ClassicGroup;
use crate::error::Malformed;
use crate::protocol::primitives::Reader;

/// The topics that a group's consumers read. `None`: they are no consumers, or cannot be read.
pub(super) fn of_group(group: &ClassicGroup) -> Option<BTreeSet<Arc<str>>> {
    if !group.uses_consumer_protocol() {
        return None;
    }
    let mut topics = BTreeSet::new();
    if group.members.is_empty() {
        return Some(topics);
    }
    let protocol = group.protocol.as_deref()?;
    for member in group.members.values() {
        topics.extend(topics_of(&member.metadata(protocol)).ok()?);
    }
    Some(topics)
}

fn topics_of(subscription: &Bytes) -> Result<Vec<Arc<str>>, Malformed> {
    let mut reader = Reader::new(subscription.clone(), false);
    reader.i16("a subscription's version")?;
    reader.array("topics", 2, |reader| {
        Ok(Arc::from(&*reader.string("a topic's name")?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_read_whatever_follows_them() {
        let of = |bytes: &'static [u8]| topics_of(&Bytes::from_static(bytes));
        let topics = of(b"\0\x03\0\0\0\x02\0\x01a\0\x02bbwhatever").unwrap();
        assert_eq!(topics, ["a".into(), "bb".into()]);
        assert!(
            of(b"\0\0\x7f\xff\xff\xff").is_err(),
            "a count that the bytes do not have"
        );
        assert!(of(b"").is_err());
    }
}
