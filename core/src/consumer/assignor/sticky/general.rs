//! When members subscribe to different topics: share out, then move one by one while that helps.
//!
//! Members keep what they had and still want. What nobody has goes to whoever wants it and has least, topics
//! that few want first. Then partitions are moved from members that have more to such that have at least
//! two less and want them, in rounds, until none can be. If that did not make shares more equal in the
//! end, it is undone.

use super::group::{Group, Member, Partition, Settled, Topic, remove_first};
use super::movements::Movements;
use crate::ordered::{OrderedMap, OrderedSet};

pub(super) fn share_out(group: &Group, settled: Settled) -> Vec<Vec<Partition>> {
    let mut sharing = Sharing::new(group, settled);
    let mut all = sharing.all_partitions();
    let mut left: Vec<_> = all
        .iter()
        .copied()
        .filter(|partition| sharing.owner[*partition].is_none())
        .collect();
    // Whether anybody has anything yet.
    let begun = sharing.by_size.last().is_some_and(|(size, _)| *size > 0);
    sharing.give_out(&left);
    all.retain(|partition| sharing.is_wanted_by_several(*partition));
    left.retain(|partition| sharing.is_wanted_by_several(*partition));
    sharing.set_fixed_aside();
    let before = sharing.shares.clone();
    if !sharing.gave_up {
        sharing.balance(&left);
    }
    let moved = sharing.balance(&all);
    if begun && moved && sharing.unevenness(&sharing.shares) >= sharing.unevenness(&before) {
        return before;
    }
    sharing.shares
}

struct Sharing<'a> {
    group: &'a Group<'a>,
    /// Who subscribes to each topic.
    readers: Vec<Vec<Member>>,
    shares: Vec<Vec<Partition>>,
    owner: Vec<Option<Member>>,
    previous: OrderedMap<Partition, Member>,
    /// The members that may give or take, with the sizes of their shares.
    by_size: OrderedSet<(usize, Member)>,
    movements: Movements,
    /// Somebody had what it may not keep: then more moves than the new partitions' are needed.
    gave_up: bool,
    /// Moves that may still be made: far more than are ever needed, so that an end is certain.
    moves_left: usize,
}

impl<'a> Sharing<'a> {
    fn new(group: &'a Group<'a>, settled: Settled) -> Self {
        let mut readers = vec![Vec::new(); group.topics.len()];
        for (member, wants) in group.wants.iter().enumerate() {
            wants.iter().for_each(|&topic| readers[topic].push(member));
        }
        let mut shares = settled.owned;
        let mut owner = vec![None; group.topic_of.len()];
        let mut gave_up = false;
        for (member, share) in shares.iter_mut().enumerate() {
            let had = share.len();
            share.retain(|&partition| {
                group.wants[member].contains(&group.topic_of[partition])
                    && !group.nearness.are_apart(member, partition)
            });
            gave_up |= share.len() < had;
            share
                .iter()
                .for_each(|&partition| owner[partition] = Some(member));
        }
        let sizes = shares.iter().enumerate();
        Self {
            by_size: sizes.map(|(member, share)| (share.len(), member)).collect(),
            moves_left: group.topic_of.len().saturating_mul(group.members.len()),
            group,
            readers,
            shares,
            owner,
            previous: settled.previous,
            movements: Movements::default(),
            gave_up,
        }
    }

    /// Those of topics that few subscribe to first.
    fn all_partitions(&self) -> Vec<Partition> {
        let mut topics: Vec<Topic> = (0..self.group.topics.len()).collect();
        topics.sort_by_key(|&topic| self.readers[topic].len());
        let partitions = topics.into_iter();
        partitions
            .flat_map(|topic| self.group.topics[topic].partitions())
            .collect()
    }

    fn wants(&self, member: Member, partition: Partition) -> bool {
        self.group.wants[member].contains(&self.group.topic_of[partition])
    }

    fn is_wanted_by_several(&self, partition: Partition) -> bool {
        self.readers[self.group.topic_of[partition]].len() > 1
    }

    /// Gives partitions to near members first, and what is left to any.
    fn give_out(&mut self, partitions: &[Partition]) {
        let mut left = partitions.to_vec();
        if self.group.nearness.matters() {
            left.retain(|&partition| !self.give(partition, true));
        }
        for partition in left {
            self.give(partition, false);
        }
    }

    /// Gives a partition to who has least of those who want it; whether there was anybody.
    fn give(&mut self, partition: Partition, near: bool) -> bool {
        let fits = |(_, member): &&(usize, Member)| {
            self.wants(*member, partition) && !(near && self.group.nearness.are_apart(*member, partition))
        };
        let Some(&(size, member)) = self.by_size.iter().find(fits) else {
            return false;
        };
        self.by_size.remove(&(size, member));
        self.by_size.insert((size + 1, member));
        self.shares[member].push(partition);
        self.owner[partition] = Some(member);
        true
    }

    /// Members that have all they can get, none of which anybody else wants, take no further part.
    fn set_fixed_aside(&mut self) {
        for member in 0..self.shares.len() {
            let share = &self.shares[member];
            if share.len() >= self.most(member) && !share.iter().any(|&one| self.is_wanted_by_several(one)) {
                self.by_size.remove(&(share.len(), member));
            }
        }
    }

    /// How much a member could get.
    fn most(&self, member: Member) -> usize {
        let topics = self.group.wants[member].iter();
        topics.map(|&topic| self.group.topics[topic].count).sum()
    }

    /// Moves partitions while that makes shares more equal; whether any moved.
    fn balance(&mut self, partitions: &[Partition]) -> bool {
        let mut any = false;
        let mut balanced = self.is_balanced();
        loop {
            let mut moved = false;
            for &partition in partitions {
                if balanced || self.moves_left == 0 {
                    break;
                }
                if self.improve(partition) {
                    moved = true;
                    balanced = self.is_balanced();
                }
            }
            any |= moved;
            if !moved {
                return any;
            }
        }
    }

    /// Whether no partition can go to a member that has at least two less than its owner.
    fn is_balanced(&self) -> bool {
        let (Some((least, _)), Some((most, _))) = (self.by_size.first(), self.by_size.last()) else {
            return true;
        };
        if least + 1 >= *most {
            return true;
        }
        let size_of_owner =
            |partition: Partition| self.owner[partition].map_or(0, |owner| self.shares[owner].len());
        let topics = self.group.topics.iter();
        let largest: Vec<usize> = topics
            .map(|topic| topic.partitions().map(size_of_owner).max().unwrap_or(0))
            .collect();
        self.by_size.iter().all(|(size, member)| {
            let mut topics = self.group.wants[*member].iter();
            topics.all(|&topic| largest[topic] <= size + 1)
        })
    }

    /// Moves a partition, or another in its place, if somebody has at least two less than its owner.
    fn improve(&mut self, partition: Partition) -> bool {
        let Some(owner) = self.owner[partition] else {
            return false;
        };
        let has_less = |member: Member| self.shares[owner].len() > self.shares[member].len() + 1;
        let previous = self.previous.get(&partition).copied();
        let previous = previous
            .filter(|&member| self.wants(member, partition) && has_less(member) && self.takes_part(member));
        let mut readers = self.readers[self.group.topic_of[partition]].iter();
        let to = match previous {
            Some(member) => Some(member),
            None if readers.any(|&member| has_less(member)) => {
                let mut by_size = self.by_size.iter().map(|(_, member)| *member);
                by_size.find(|&member| self.wants(member, partition))
            }
            None => None,
        };
        let Some(to) = to else {
            return false;
        };
        let partition = self.movements.instead_of(self.group, partition, owner, to);
        self.move_to(partition, to);
        true
    }

    fn takes_part(&self, member: Member) -> bool {
        self.by_size.contains(&(self.shares[member].len(), member))
    }

    fn move_to(&mut self, partition: Partition, to: Member) {
        let Some(from) = self.owner[partition] else {
            return;
        };
        for member in [from, to] {
            self.by_size.remove(&(self.shares[member].len(), member));
        }
        self.movements.add(self.group, partition, from, to);
        remove_first(&mut self.shares[from], partition);
        self.shares[to].push(partition);
        self.owner[partition] = Some(to);
        self.moves_left = self.moves_left.saturating_sub(1);
        for member in [from, to] {
            self.by_size.insert((self.shares[member].len(), member));
        }
    }

    /// The sum of the differences in size between any two members that take part.
    fn unevenness(&self, shares: &[Vec<Partition>]) -> usize {
        let mut sizes: Vec<_> = self
            .by_size
            .iter()
            .map(|(_, member)| shares[*member].len())
            .collect();
        sizes.sort_unstable();
        let (mut sum, mut below) = (0, 0);
        for (count, size) in sizes.into_iter().enumerate() {
            sum += size * count - below;
            below += size;
        }
        sum
    }
}
