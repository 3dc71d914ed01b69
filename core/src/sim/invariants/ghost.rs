//! The ghost history: what was written where, what was ever committed, what was promised.

use super::members::Members;
use super::scan::{self, Mark};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::sim::world::World;
use crate::trace::NodeId;
use crate::types::{BrokerId, LeaderEpoch, Offset, TopicPartition};

/// A promise of acks=all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    pub client: NodeId,
    pub first: u64,
    pub count: u32,
    pub base: Offset,
}

impl Promise {
    /// Whether the batches, in order, have each of its records at its offset.
    pub fn is_kept_by(&self, marks: &[Mark]) -> bool {
        let mut at = marks.partition_point(|mark| mark.last < self.base);
        (0..self.count).all(|nth| {
            let offset = self.base + Offset::from(nth);
            at += marks.get(at).is_some_and(|mark| mark.last < offset) as usize;
            let found = marks.get(at).and_then(|mark| mark.record_at(offset));
            found == Some((self.client, self.first + u64::from(nth)))
        })
    }
}

/// What the coordination tree says of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub leader: BrokerId,
    pub leader_epoch: LeaderEpoch,
    pub isr: Vec<BrokerId>,
}

/// An append that is not written yet.
#[derive(Clone, Debug)]
pub struct Pending {
    pub segment: Offset,
    pub position: u64,
    pub size: u32,
    pub last: Offset,
}

/// One replica's log as the ghost has seen it written.
#[derive(Clone, Debug, Default)]
pub struct Copy {
    pub marks: Vec<Mark>,
    pub pending: Vec<Pending>,
}

#[derive(Clone, Debug, Default)]
pub struct Ghost {
    pub copies: OrderedMap<(BrokerId, TopicPartition), Copy>,
    /// By base offset and epoch: the batch, and the hash of all that went before it.
    pub known: OrderedMap<(TopicPartition, Offset, LeaderEpoch), (Mark, u64)>,
    /// The longest prefix that was ever below a high watermark.
    pub committed: OrderedMap<TopicPartition, Vec<Mark>>,
    pub leaders: OrderedMap<(TopicPartition, LeaderEpoch), BrokerId>,
    /// Of the epoch that a broker leads now.
    pub high: OrderedMap<(BrokerId, TopicPartition), (LeaderEpoch, Offset)>,
    pub promises: OrderedMap<TopicPartition, Vec<Promise>>,
    pub written: OrderedMap<TopicPartition, Written>,
    /// The replicas, as the coordination tree has them.
    pub assigned: OrderedMap<TopicPartition, Vec<BrokerId>>,
    /// The replicas, as each leader was told with its leadership.
    pub told: OrderedMap<(BrokerId, TopicPartition), Vec<BrokerId>>,
    /// Leaders from outside the ISR whose election was told as what it is.
    pub unclean: OrderedMap<TopicPartition, BrokerId>,
    /// Below this a leader's log was trimmed: nobody need have it.
    pub trimmed: OrderedMap<TopicPartition, Offset>,
    /// Why some of what was committed may be gone, until a leader shows what is left.
    pub excuse: OrderedMap<TopicPartition, String>,
    /// The latest epoch whose leader need not have all that earlier ones have: elected from outside the ISR, or
    /// robbed of records by a loss of power.
    pub begun_without: OrderedMap<TopicPartition, LeaderEpoch>,
    /// What leaders of earlier epochs than that have committed since, each alone.
    pub orphans: OrderedMap<TopicPartition, Vec<Mark>>,
    /// Members of the ISR that lost records with their power, and are members still.
    pub lacking: OrderedMap<TopicPartition, OrderedSet<BrokerId>>,
    pub members: Members,
    /// From here on something that was committed was once lost, and explained.
    pub cut: OrderedMap<TopicPartition, Offset>,
}

impl Ghost {
    /// Where what was ever committed ends.
    pub fn committed_end(&self, partition: &TopicPartition) -> Offset {
        let last = self.committed.get(partition).and_then(|marks| marks.last());
        last.map_or(0, |mark| mark.last + 1)
    }

    /// Whether what lies at the offset may be gone for a reason that was told.
    pub fn is_explained(&self, partition: &TopicPartition, offset: Offset) -> bool {
        self.excuse.contains_key(partition)
            || self
                .lacking
                .get(partition)
                .is_some_and(|lacking| !lacking.is_empty())
            || self.cut.get(partition).is_some_and(|&cut| offset >= cut)
    }

    /// Reads a replica's disk anew: at a start, and after a loss of power.
    pub fn reread(&mut self, world: &World, broker: BrokerId, partition: &TopicPartition) {
        let Some(node) = world.broker(broker) else { return };
        let marks = scan::marks(&node.disk, partition);
        let copy = Copy {
            marks,
            pending: Vec::new(),
        };
        self.copies.insert((broker, partition.clone()), copy);
    }

    /// The topic is gone, and whatever has its name later is another.
    pub fn forget_topic(&mut self, topic: &str) {
        let other = |partition: &TopicPartition| *partition.topic != *topic;
        self.copies.retain(|(_, partition), _| other(partition));
        self.known.retain(|(partition, ..), _| other(partition));
        self.committed.retain(|partition, _| other(partition));
        self.leaders.retain(|(partition, _), _| other(partition));
        self.high.retain(|(_, partition), _| other(partition));
        self.promises.retain(|partition, _| other(partition));
        self.written.retain(|partition, _| other(partition));
        self.assigned.retain(|partition, _| other(partition));
        self.told.retain(|(_, partition), _| other(partition));
        self.unclean.retain(|partition, _| other(partition));
        self.trimmed.retain(|partition, _| other(partition));
        self.excuse.retain(|partition, _| other(partition));
        self.begun_without.retain(|partition, _| other(partition));
        self.lacking.retain(|partition, _| other(partition));
        self.cut.retain(|partition, _| other(partition));
        self.orphans.retain(|partition, _| other(partition));
        self.members.forget_topic(topic);
    }

    /// How much of what was committed a replica has: whether all, and where the two part.
    pub fn compare(&self, broker: BrokerId, partition: &TopicPartition) -> (bool, Offset) {
        let trimmed = self.trimmed.get(partition).copied().unwrap_or(0);
        let left = |marks: &[Mark]| marks.partition_point(|mark| mark.last < trimmed);
        let committed = self.committed.get(partition).map_or(&[][..], Vec::as_slice);
        let own = self.copies.get(&(broker, partition.clone()));
        let own = own.map_or(&[][..], |copy| copy.marks.as_slice());
        let (committed, own) = (&committed[left(committed)..], &own[left(own)..]);
        let (same, end) = common(committed, own);
        (same == committed.len(), end.max(trimmed))
    }

    /// A promise that the replica does not keep.
    pub fn lacks_promised(&self, broker: BrokerId, partition: &TopicPartition) -> Option<&Promise> {
        let own = self.copies.get(&(broker, partition.clone()))?;
        let trimmed = self.trimmed.get(partition).copied().unwrap_or(0);
        let promises = self.promises.get(partition).into_iter().flatten();
        let mut standing = promises.filter(|promise| promise.base >= trimmed);
        standing.find(|promise| !promise.is_kept_by(&own.marks))
    }

    /// What was committed and is explained to be gone is no promise any more.
    pub fn cut_committed(&mut self, partition: &TopicPartition, to: Offset) {
        let cut = self.cut.entry(partition.clone()).or_insert(to);
        *cut = to.min(*cut);
        if let Some(marks) = self.committed.get_mut(partition) {
            marks.retain(|mark| mark.last < to);
        }
        if let Some(promises) = self.promises.get_mut(partition) {
            promises.retain(|promise| promise.base + Offset::from(promise.count) <= to);
        }
    }
}

/// Number of batches that both begin with, and where they part.
pub fn common(one: &[Mark], other: &[Mark]) -> (usize, Offset) {
    let same = one.iter().zip(other).take_while(|(a, b)| a.is_same(b)).count();
    let end = same
        .checked_sub(1)
        .and_then(|at| one.get(at))
        .map_or(0, |mark| mark.last + 1);
    (same, end)
}
