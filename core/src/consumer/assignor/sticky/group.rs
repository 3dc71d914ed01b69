//! A group with everything numbered, and its members' claims settled.
//!
//! Members are numbered in the order of their ids and partitions in the order of topic and index, so that
//! to compare numbers is to compare names.

use std::sync::Arc;

use super::super::{
    Members, Racks, Shares, TopicsForAssignment, in_hash_order, java_order, subscribed_topics,
};
use super::claim::{Claim, NO_GENERATION};
use super::racks::Nearness;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::TopicPartition;

/// Number of a member.
pub(super) type Member = usize;
/// Number of a partition, over all topics.
pub(super) type Partition = usize;
/// Number of a topic.
pub(super) type Topic = usize;

/// A topic and which partitions are its.
pub(super) struct TopicRange<'a> {
    pub name: &'a Arc<str>,
    pub first: Partition,
    pub count: usize,
}

impl TopicRange<'_> {
    pub fn partitions(&self) -> std::ops::Range<Partition> {
        self.first..self.first + self.count
    }
}

/// Who wants what.
pub(super) struct Group<'a> {
    pub members: Vec<&'a Arc<str>>,
    /// The members as Java's hash maps show them.
    pub walk: Vec<Member>,
    pub topics: Vec<TopicRange<'a>>,
    pub topic_of: Vec<Topic>,
    /// Of each member the topics that are known.
    pub wants: Vec<OrderedSet<Topic>>,
    /// Of each member all topics that it named.
    named_topics: Vec<OrderedSet<&'a Arc<str>>>,
    pub nearness: Nearness<'a>,
}

/// Who had what, as far as it is believed.
pub(super) struct Settled {
    /// Of each member, in the order of its claim. No partition is there twice.
    pub owned: Vec<Vec<Partition>>,
    /// Were claimed by several members of one generation.
    pub contested: OrderedSet<Partition>,
    /// Claims of older generations: the newest of each partition.
    pub previous: OrderedMap<Partition, Member>,
}

impl<'a> Group<'a> {
    pub fn new(topics: &'a TopicsForAssignment, members: &'a Members) -> Self {
        let mut ids: Vec<&Arc<str>> = members.keys().collect();
        ids.sort_by(|one, other| java_order::compare(one, other));
        let numbers: OrderedMap<_, _> = ids.iter().enumerate().map(|(number, id)| (*id, number)).collect();
        let walk = in_hash_order(members).into_iter().map(|(id, _)| numbers[id]);
        let mut known = subscribed_topics(topics, members);
        known.sort();
        let (mut ranges, mut topic_of, mut racks) = (Vec::new(), Vec::new(), Vec::<&Racks>::new());
        for (topic, (name, partitions)) in known.iter().enumerate() {
            ranges.push(TopicRange {
                name,
                first: topic_of.len(),
                count: partitions.len(),
            });
            topic_of.extend(partitions.iter().map(|_| topic));
            racks.extend(partitions.iter());
        }
        let named_topics: Vec<OrderedSet<_>> = ids
            .iter()
            .map(|id| members[*id].subscription.topics.iter().collect())
            .collect();
        let number_of = |topic: &&Arc<str>| known.binary_search_by_key(topic, |(name, _)| *name).ok();
        let wants = named_topics
            .iter()
            .map(|topics: &OrderedSet<_>| topics.iter().filter_map(number_of).collect());
        let member_racks = ids.iter().map(|id| members[*id].subscription.rack.as_ref());
        Self {
            walk: walk.collect(),
            wants: wants.collect(),
            nearness: Nearness::new(member_racks.collect(), racks),
            members: ids,
            topics: ranges,
            topic_of,
            named_topics,
        }
    }

    pub fn all_subscribe_alike(&self) -> bool {
        self.named_topics.windows(2).all(|pair| pair[0] == pair[1])
    }

    pub fn partition(&self, number: Partition) -> TopicPartition {
        let topic = &self.topics[self.topic_of[number]];
        TopicPartition::new(topic.name.clone(), (number - topic.first) as i32)
    }

    /// The partition's index within its topic.
    pub fn index(&self, number: Partition) -> usize {
        number - self.topics[self.topic_of[number]].first
    }

    /// `None`: there is no such partition, or nobody subscribes to its topic.
    fn number(&self, partition: &TopicPartition) -> Option<Partition> {
        let topic = self
            .topics
            .binary_search_by_key(&&partition.topic, |topic| topic.name)
            .ok()?;
        let topic = &self.topics[topic];
        let index = usize::try_from(partition.partition).ok()?;
        (index < topic.count).then_some(topic.first + index)
    }

    pub fn named(&self, shares: &[Vec<Partition>]) -> Shares {
        let named = |share: &Vec<Partition>| share.iter().map(|number| self.partition(*number)).collect();
        let pairs = self.members.iter().zip(shares);
        pairs.map(|(id, share)| ((*id).clone(), named(share))).collect()
    }

    /// Believes the newest claims; of two claims of one generation neither.
    pub fn settle(&self, members: &Members, claims: &[Claim]) -> Settled {
        let mut owned = vec![Vec::new(); self.members.len()];
        let mut contested = OrderedSet::new();
        let mut owner: OrderedMap<Partition, Member> = OrderedMap::new();
        // What a rival is compared by is what its subscription says, and not its assignor's data.
        let rivals = |member: Member| members[self.members[member]].subscription.generation;
        for &member in &self.walk {
            let generation = claims[member].generation.unwrap_or(NO_GENERATION);
            for partition in claims[member]
                .partitions
                .iter()
                .filter_map(|one| self.number(one))
            {
                let Some(&rival) = owner.get(&partition) else {
                    owned[member].push(partition);
                    owner.insert(partition, member);
                    continue;
                };
                let rivals = rivals(rival).unwrap_or(NO_GENERATION);
                if generation < rivals {
                    continue;
                }
                match generation == rivals {
                    true => _ = contested.insert(partition),
                    false => owned[member].push(partition),
                }
                remove_first(&mut owned[rival], partition);
                owner.insert(partition, member);
            }
        }
        Settled {
            owned,
            contested,
            previous: self.previous(claims),
        }
    }

    fn previous(&self, claims: &[Claim]) -> OrderedMap<Partition, Member> {
        let generations = claims.iter().filter_map(|claim| claim.generation);
        let newest = generations.max().unwrap_or(NO_GENERATION).max(NO_GENERATION);
        let mut previous: OrderedMap<Partition, (i32, Member)> = OrderedMap::new();
        for &member in &self.walk {
            let generation = claims[member].generation.unwrap_or(NO_GENERATION);
            if generation >= newest {
                continue;
            }
            for partition in claims[member]
                .partitions
                .iter()
                .filter_map(|one| self.number(one))
            {
                let found = previous.entry(partition).or_insert((generation, member));
                if generation > found.0 {
                    *found = (generation, member);
                }
            }
        }
        previous
            .into_iter()
            .map(|(partition, (_, member))| (partition, member))
            .collect()
    }
}

/// Takes the partition out of a share, the others keeping their order.
pub(super) fn remove_first(share: &mut Vec<Partition>, partition: Partition) {
    if let Some(place) = share.iter().position(|other| *other == partition) {
        share.remove(place);
    }
}
