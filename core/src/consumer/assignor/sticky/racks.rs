//! Who is near what: a member and a partition are near when a replica is in the member's rack (KIP-881).

use std::sync::Arc;

use super::super::{Racks, racks_matter};
use super::group::{Member, Partition};
use crate::ordered::{OrderedMap, OrderedSet};

/// Racks of members and partitions, as far as they can make a difference.
pub(super) struct Nearness<'a> {
    /// `None` for all when racks make no difference.
    member_racks: Vec<Option<&'a Arc<str>>>,
    partition_racks: Vec<&'a Racks>,
    /// How many members are near each partition; `None` when no member has a rack.
    neighbours: Option<Vec<usize>>,
    matters: bool,
}

impl<'a> Nearness<'a> {
    pub fn new(member_racks: Vec<Option<&'a Arc<str>>>, partition_racks: Vec<&'a Racks>) -> Self {
        let mut by_rack: OrderedMap<&Arc<str>, usize> = OrderedMap::new();
        for rack in member_racks.iter().flatten() {
            *by_rack.entry(rack).or_default() += 1;
        }
        let racks: OrderedSet<&Arc<str>> = by_rack.keys().copied().collect();
        let matters = racks_matter(&racks, partition_racks.iter().copied());
        let near = |racks: &&Racks| racks.iter().filter_map(|rack| by_rack.get(rack)).sum();
        Self {
            neighbours: (!by_rack.is_empty()).then(|| partition_racks.iter().map(near).collect()),
            member_racks,
            partition_racks,
            matters,
        }
    }

    /// Whether anything is nearer than anything else.
    pub fn matters(&self) -> bool {
        self.matters
    }

    /// Whether the member has a rack, and the partition has no replica in it.
    pub fn are_apart(&self, member: Member, partition: Partition) -> bool {
        let apart = |rack: &Arc<str>| !self.partition_racks[partition].contains(rack);
        self.matters && self.member_racks[member].is_some_and(apart)
    }

    /// Where in the list, from `start` on and round, the first member is that has a rack and is near.
    pub fn next_near(&self, partition: Partition, members: &[Member], start: usize) -> Option<usize> {
        let places = (0..members.len()).map(|i| (start + i) % members.len());
        let racks = self.partition_racks[partition];
        let near =
            |&place: &usize| self.member_racks[members[place]].is_some_and(|rack| racks.contains(rack));
        places.into_iter().find(near)
    }

    /// Those that few members are near come first.
    pub fn sort_by_neighbours(&self, partitions: &mut [Partition]) {
        if let Some(neighbours) = &self.neighbours {
            partitions.sort_by_key(|&partition| neighbours[partition]);
        }
    }
}
