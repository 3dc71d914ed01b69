//! What consumers do, one by one and as members of their groups.
//!
//! The ghost follows each consumer by its facts alone: its generation, what it owns, where it reads, and
//! what it committed. A member that is cut off, or does not poll, may believe for a while that it owns
//! what another was given since; it then does so in an older generation, and can commit nothing.

use std::sync::Arc;

use super::ghost::Ghost;
use super::*;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::trace::{ConsumerFact, NodeId, PositionReason, WorldFact};
use crate::types::{BrokerId, Offset, TopicPartition};

type Group = Arc<str>;

/// One consumer, as the ghost has seen it.
#[derive(Clone, Debug, Default)]
pub struct Member {
    group: Option<Group>,
    /// As the coordinator names it.
    name: Arc<str>,
    generation: i32,
    owned: OrderedSet<TopicPartition>,
    /// Next to be read.
    positions: OrderedMap<TopicPartition, Offset>,
    /// The furthest that it ever was.
    reached: OrderedMap<TopicPartition, Offset>,
    /// The topics that it reads with its group.
    topics: OrderedSet<String>,
    /// It shares its group's partitions out.
    leads: bool,
    /// What it last heard of topics: their partitions.
    known: OrderedMap<Arc<str>, i32>,
}

#[derive(Clone, Debug, Default)]
pub struct Members {
    /// Those whose process lives.
    live: OrderedMap<NodeId, Member>,
    /// Offsets that members have sent to be committed, the last one that was acknowledged and later ones.
    sent: OrderedMap<(Group, TopicPartition), Vec<Offset>>,
}

impl Members {
    pub fn forget_topic(&mut self, topic: &str) {
        self.sent.retain(|(_, partition), _| *partition.topic != *topic);
        for member in self.live.values_mut() {
            member.positions.retain(|partition, _| *partition.topic != *topic);
            member.reached.retain(|partition, _| *partition.topic != *topic);
        }
    }

    pub fn take_world(&mut self, fact: &WorldFact) {
        if let WorldFact::ClientKilled { client } = fact {
            self.live.remove(client);
        }
    }

    /// A consumer has heard of topics.
    pub fn heard(&mut self, id: NodeId, topics: &[(Arc<str>, i32)]) {
        let member = self.live.entry(id).or_default();
        member.known = topics.iter().cloned().collect();
    }

    /// A static member came back: what is left of its former life is no member any more.
    pub fn replaced(&mut self, former: &str) {
        for member in self.live.values_mut().filter(|member| *member.name == *former) {
            member.owned.clear();
        }
    }

    /// Who else owns the partition in the same generation.
    fn other_owner(&self, id: NodeId, member: &Member, partition: &TopicPartition) -> Option<NodeId> {
        let is_other = |(other, seen): &(&NodeId, &Member)| {
            **other != id
                && seen.group == member.group
                && seen.generation == member.generation
                && seen.owned.contains(partition)
        };
        self.live.iter().find(is_other).map(|(other, _)| *other)
    }

    fn owned_once(&self, id: NodeId) -> Result<(), Broken> {
        let Some(member) = self.live.get(&id) else {
            return Ok(());
        };
        for partition in &member.owned {
            if let Some(other) = self.other_owner(id, member, partition) {
                let generation = member.generation;
                let why =
                    format!("{partition}: clients {other} and {id} both have it in generation {generation}");
                return Err(Broken::new(ONE_OWNER_IN_A_GENERATION, why));
            }
        }
        Ok(())
    }

    fn sent(
        &mut self,
        id: NodeId,
        group: &Group,
        offsets: &[(TopicPartition, Offset)],
    ) -> Result<(), Broken> {
        let member = self.live.entry(id).or_default();
        for (partition, offset) in offsets {
            let reached = member.reached.get(partition).copied();
            if reached.is_none_or(|reached| *offset > reached) {
                let why = format!("{partition}: client {id} commits {offset}, having reached {reached:?}");
                return Err(Broken::new(COMMITTED_WITHIN_WHAT_WAS_READ, why));
            }
            let sent = self.sent.entry((group.clone(), partition.clone()));
            sent.or_default().push(*offset);
        }
        Ok(())
    }

    /// What was sent before is overtaken.
    fn acknowledged(&mut self, group: &Group, offsets: &[(TopicPartition, Offset)]) {
        for (partition, offset) in offsets {
            let Some(sent) = self.sent.get_mut(&(group.clone(), partition.clone())) else {
                continue;
            };
            if let Some(at) = sent.iter().rposition(|other| other == offset) {
                sent.drain(..at);
            }
        }
    }

    /// A coordinator has stored these offsets.
    pub fn stored(&self, group: &str, offsets: &[(TopicPartition, Offset)]) -> Result<(), Broken> {
        for (partition, offset) in offsets {
            let sent = self.sent.get(&(group.into(), partition.clone()));
            if sent.is_none_or(|sent| !sent.contains(offset)) {
                let why = format!("{partition}: {offset} is stored for {group}, and nobody sent it");
                return Err(Broken::new(COMMITTED_WITHIN_WHAT_WAS_READ, why));
            }
        }
        Ok(())
    }

    /// A member begins where its group is said to have come to.
    fn begins(&self, id: NodeId, partition: &TopicPartition, offset: Offset) -> Result<(), Broken> {
        let group = self.live.get(&id).and_then(|member| member.group.clone());
        let Some(group) = group else { return Ok(()) };
        let sent = self.sent.get(&(group.clone(), partition.clone()));
        if sent.is_some_and(|sent| !sent.contains(&offset)) {
            let why = format!(
                "{partition}: client {id} of {group} begins at {offset}, committed was one of {sent:?}"
            );
            return Err(Broken::new(COMMITTED_OFFSET_STAYS, why));
        }
        Ok(())
    }

    fn stands_at(&mut self, id: NodeId, partition: &TopicPartition, offset: Offset) {
        let member = self.live.entry(id).or_default();
        member.positions.insert(partition.clone(), offset);
        let reached = member.reached.entry(partition.clone()).or_insert(offset);
        *reached = offset.max(*reached);
    }

    /// At rest every partition that a group reads has an owner among those who live, as far as its leader
    /// knows it: of other topics it hears when `metadata.max.age.ms` is over.
    pub fn all_owned(&self, assigned: &OrderedMap<TopicPartition, Vec<BrokerId>>) -> Result<(), Broken> {
        for (id, member) in &self.live {
            let Some(group) = &member.group else { continue };
            let of_group = self.live.values().filter(|other| other.group == member.group);
            let generation = of_group.clone().map(|other| other.generation).max();
            let present = of_group.filter(|other| Some(other.generation) == generation);
            for partition in assigned.keys().filter(|_| member.leads) {
                let count = member.known.get(&partition.topic);
                let is_known = count.is_some_and(|&count| partition.partition < count);
                let is_read = is_known && member.topics.contains(&*partition.topic);
                let owners = present.clone().filter(|other| other.owned.contains(partition));
                let owners = owners.count();
                if is_read && owners != 1 {
                    let why = format!("{partition}: {owners} owners in {group}, and client {id} reads it");
                    return Err(Broken::new(EVERY_PARTITION_OWNED, why));
                }
            }
        }
        Ok(())
    }
}

impl Ghost {
    pub(super) fn take_consumer(&mut self, id: NodeId, fact: &ConsumerFact) -> Result<(), Broken> {
        let member = self.members.live.entry(id).or_default();
        match fact {
            ConsumerFact::Subscribed { topics } => member.topics = topics.iter().cloned().collect(),
            ConsumerFact::CoordinatorFound { group, .. } => member.group = Some(group.clone()),
            ConsumerFact::Joined {
                generation,
                member: name,
                leads,
                ..
            } => {
                (member.name, member.generation, member.leads) = (name.clone(), *generation, *leads);
                return self.members.owned_once(id);
            }
            ConsumerFact::Assigned { partitions: owned } | ConsumerFact::PartitionsAssigned { owned, .. } => {
                let owned: OrderedSet<TopicPartition> = owned.iter().cloned().collect();
                member.positions.retain(|partition, _| owned.contains(partition));
                if let ConsumerFact::PartitionsAssigned { .. } = fact {
                    member.owned = owned;
                }
                return self.members.owned_once(id);
            }
            ConsumerFact::PartitionsRevoked { partitions, .. }
            | ConsumerFact::PartitionsLost { partitions, .. } => {
                for partition in partitions {
                    member.owned.remove(partition);
                    member.positions.remove(partition);
                }
            }
            ConsumerFact::Unsubscribed => {
                let group = member.group.take();
                *member = Member {
                    group,
                    ..Member::default()
                };
            }
            ConsumerFact::Closed => _ = self.members.live.remove(&id),
            ConsumerFact::PositionSet {
                partition,
                offset,
                why,
            } => {
                self.members.stands_at(id, partition, *offset);
                if *why == PositionReason::Committed && self.cut_offsets().is_none() {
                    return self.members.begins(id, partition, *offset);
                }
            }
            ConsumerFact::PositionLost { partition, .. } => _ = member.positions.remove(partition),
            ConsumerFact::RecordsReturned {
                partition,
                from,
                to,
                count,
            } => return self.returned(id, partition, (*from, *to), *count),
            ConsumerFact::CommitSent { group, offsets, .. } => {
                return self.members.sent(id, group, offsets);
            }
            ConsumerFact::Committed { group, offsets } => self.members.acknowledged(group, offsets),
            _ => {}
        }
        Ok(())
    }

    /// Why committed offsets may be gone: something of their topic is, and that was told.
    fn cut_offsets(&self) -> Option<&TopicPartition> {
        let is_of_offsets = |partition: &&TopicPartition| &*partition.topic == OFFSETS_TOPIC;
        let cut = self.cut.keys().find(is_of_offsets);
        let excused = self.excuse.keys().find(is_of_offsets);
        let lacking = self.lacking.iter().filter(|(_, brokers)| !brokers.is_empty());
        let lacking = lacking.map(|(partition, _)| partition).find(is_of_offsets);
        cut.or(excused).or(lacking)
    }

    fn returned(
        &mut self,
        id: NodeId,
        partition: &TopicPartition,
        (from, to): (Offset, Offset),
        count: u32,
    ) -> Result<(), Broken> {
        let member = self.members.live.entry(id).or_default();
        let stood = member.positions.get(partition).copied();
        self.members.stands_at(id, partition, to);
        let end = self.committed_end(partition);
        if to > end && !self.is_explained(partition, to - 1) {
            let why = format!("{partition}: client {id} read up to {to}, committed up to {end}");
            return Err(Broken::new(READ_BELOW_HIGH_WATERMARK, why));
        }
        let there = self.records_between(partition, from, to);
        if stood != Some(from) || (Offset::from(count) < there && !self.is_explained(partition, to - 1)) {
            let why = format!(
                "{partition}: client {id} stood at {stood:?} and was given {count} of the {there} records in {from}..{to}"
            );
            return Err(Broken::new(POSITION_PASSES_NOTHING_OVER, why));
        }
        Ok(())
    }

    /// Offsets of committed batches from the one up to the other.
    fn records_between(&self, partition: &TopicPartition, from: Offset, to: Offset) -> Offset {
        let committed = self.committed.get(partition).map_or(&[][..], Vec::as_slice);
        let first = committed.partition_point(|mark| mark.last < from);
        let marks = committed[first..].iter().take_while(|mark| mark.base < to);
        marks
            .map(|mark| (mark.last + 1).min(to) - mark.base.max(from))
            .sum()
    }
}
