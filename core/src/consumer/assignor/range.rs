//! Range: each topic by itself, its partitions cut into ranges, one a member.
//!
//! With p partitions and m members each gets p / m, and the first p % m members one more. Since every topic
//! begins with the same member, topics of equal partition counts and equal readers are *co-partitioned*:
//! whoever has partition 0 of one has partition 0 of the others. The price is that the first members
//! get more, once a topic.
//!
//! Racks (KIP-881): before the ranges are cut, members take partitions with a replica in their own rack,
//! within what they may have. Topics that are co-partitioned stay so: a member takes partition n of all of
//! them or of none. What is left is cut into ranges as before, so balance goes before nearness.

use std::sync::Arc;

use super::{
    Assignor, Members, Racks, Shares, TopicsForAssignment, empty_shares, in_member_order, racks_matter,
    subscribed_topics,
};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::{PartitionIndex, TopicPartition};

/// Java's `RangeAssignor`.
#[derive(Clone, Copy, Debug)]
pub struct RangeAssignor;

impl Assignor for RangeAssignor {
    fn name(&self) -> &'static str {
        "range"
    }

    fn class(&self) -> &'static str {
        "org.apache.kafka.clients.consumer.RangeAssignor"
    }

    fn assign(&self, topics: &TopicsForAssignment, members: &Members) -> Shares {
        let mut readers: OrderedMap<&Arc<str>, Vec<&Arc<str>>> = OrderedMap::new();
        for id in in_member_order(members) {
            let subscribed: OrderedSet<_> = members[id].subscription.topics.iter().collect();
            for topic in subscribed {
                readers.entry(topic).or_default().push(id);
            }
        }
        let of_topic = |(name, partitions)| {
            let readers = readers.get(name).map_or(&[][..], Vec::as_slice);
            Topic::new(name, partitions, readers, members)
        };
        let mut states: Vec<Topic> = subscribed_topics(topics, members)
            .into_iter()
            .map(of_topic)
            .collect();
        let mut shares = empty_shares(members);
        let by_rack = states.iter().any(|topic| topic.racks_matter);
        if by_rack {
            take_by_rack(&mut states, &mut shares);
        }
        for topic in &mut states {
            topic.cut_ranges(false, &mut shares);
        }
        if by_rack {
            shares.values_mut().for_each(|share| share.sort());
        }
        shares
    }
}

/// A member that subscribes to a topic.
struct Reader<'a> {
    id: &'a Arc<str>,
    rack: Option<&'a Arc<str>>,
    /// How many of the topic's partitions it has.
    count: usize,
}

/// A topic that is being shared out.
struct Topic<'a> {
    name: &'a Arc<str>,
    partitions: &'a [Racks],
    readers: Vec<Reader<'a>>,
    left: OrderedSet<PartitionIndex>,
    /// Every reader gets so many.
    least: usize,
    /// So many readers may still get one more.
    extra: usize,
    racks_matter: bool,
}

impl<'a> Topic<'a> {
    fn new(
        name: &'a Arc<str>,
        partitions: &'a [Racks],
        readers: &[&'a Arc<str>],
        members: &'a Members,
    ) -> Self {
        let readers: Vec<_> = readers
            .iter()
            .map(|id| Reader {
                id,
                rack: members[*id].subscription.rack.as_ref(),
                count: 0,
            })
            .collect();
        let racks = readers.iter().filter_map(|reader| reader.rack).collect();
        Self {
            name,
            partitions,
            left: (0..partitions.len() as PartitionIndex).collect(),
            least: partitions.len().checked_div(readers.len()).unwrap_or(0),
            extra: partitions.len().checked_rem(readers.len()).unwrap_or(0),
            racks_matter: racks_matter(&racks, partitions.iter()),
            readers,
        }
    }

    /// How many more partitions the reader may get.
    fn room(&self, reader: usize) -> usize {
        let most = self.least + usize::from(self.extra > 0);
        most.saturating_sub(self.readers[reader].count)
    }

    /// Whether the partition has a replica in the reader's rack; to one without a rack all are near.
    fn is_near(&self, reader: usize, partition: PartitionIndex) -> bool {
        let racks = &self.partitions[partition as usize];
        self.readers[reader].rack.is_none_or(|rack| racks.contains(rack))
    }

    fn give(&mut self, reader: usize, partition: PartitionIndex, shares: &mut Shares) {
        self.left.remove(&partition);
        let reader = &mut self.readers[reader];
        reader.count += 1;
        if reader.count == self.least + 1 {
            self.extra -= 1;
        }
        if let Some(share) = shares.get_mut(reader.id) {
            share.push(TopicPartition::new(self.name.clone(), partition));
        }
    }

    /// Gives each reader in turn the first of what is left, or of what is left and near.
    fn cut_ranges(&mut self, near: bool, shares: &mut Shares) {
        for reader in 0..self.readers.len() {
            let left = self.left.iter().copied();
            let chosen = left.filter(|&partition| !near || self.is_near(reader, partition));
            let chosen: Vec<_> = chosen.take(self.room(reader)).collect();
            for partition in chosen {
                self.give(reader, partition, shares);
            }
        }
    }
}

/// Lets members take what is near them: of topics with the same readers and as many partitions together, of
/// others one by one.
fn take_by_rack(topics: &mut [Topic], shares: &mut Shares) {
    let mut alike: OrderedMap<(Vec<&Arc<str>>, usize), Vec<&mut Topic>> = OrderedMap::new();
    for topic in topics {
        // Where no reader has a rack there is nothing near.
        if topic.readers.iter().any(|reader| reader.rack.is_some()) {
            let readers = topic.readers.iter().map(|reader| reader.id).collect();
            let kind = (readers, topic.partitions.len());
            alike.entry(kind).or_default().push(topic);
        }
    }
    for ((_, partitions), mut topics) in alike {
        match topics.as_mut_slice() {
            [topic] if topic.racks_matter => topic.cut_ranges(true, shares),
            [_] => {}
            _ => take_together(&mut topics, partitions as PartitionIndex, shares),
        }
    }
}

/// Gives each partition of all the topics to the first reader that is near all of them.
fn take_together(topics: &mut [&mut Topic], partitions: PartitionIndex, shares: &mut Shares) {
    let mut readers: Vec<usize> = topics
        .first()
        .map(|topic| (0..topic.readers.len()).collect())
        .unwrap_or_default();
    for partition in 0..partitions {
        let fits = |&reader: &usize| {
            topics
                .iter()
                .all(|topic| topic.room(reader) > 0 && topic.is_near(reader, partition))
        };
        let Some(reader) = readers.iter().copied().find(fits) else {
            continue;
        };
        for topic in topics.iter_mut() {
            topic.give(reader, partition, shares);
        }
        if topics.iter().all(|topic| topic.room(reader) == 0) {
            readers.retain(|&other| other != reader);
        }
    }
}
