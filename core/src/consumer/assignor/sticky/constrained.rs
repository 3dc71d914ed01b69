//! When all members subscribe to the same topics: everybody can have anything, and quotas say how much.
//!
//! With p partitions and m members each gets p / m, and p % m of them one more. First members keep what
//! they had, up to their quota; then those under it are filled, with what is near them as long as there is
//! such; then the rest is dealt out in turn. So no more moves than the quotas demand, and the racks.

use std::collections::VecDeque;

use super::group::{Group, Member, Partition, Settled};
use crate::ordered::{OrderedMap, OrderedSet};

/// The shares, and the partitions that go from one member to another.
pub(super) fn share_out(
    group: &Group,
    settled: &Settled,
) -> (Vec<Vec<Partition>>, OrderedMap<Partition, Member>) {
    let mut sharing = Sharing::new(group, settled);
    sharing.keep_owned();
    let mut left = sharing.left();
    group.nearness.sort_by_neighbours(&mut left);
    if group.nearness.matters() {
        left = sharing.fill_with_near(left);
    }
    sharing.deal_out(&left);
    (sharing.shares, sharing.moving)
}

struct Sharing<'a> {
    group: &'a Group<'a>,
    settled: &'a Settled,
    /// Everybody gets so many.
    least: usize,
    /// Nobody gets more.
    most: usize,
    /// So many members may still get more than the least.
    extra: usize,
    /// Have fewer than the least.
    under: Vec<Member>,
    /// Have the least, and may get one more.
    at_least: VecDeque<Member>,
    shares: Vec<Vec<Partition>>,
    /// What members had and could not keep.
    given_up: OrderedMap<Partition, Member>,
    moving: OrderedMap<Partition, Member>,
}

impl<'a> Sharing<'a> {
    fn new(group: &'a Group<'a>, settled: &'a Settled) -> Self {
        let (partitions, members) = (group.topic_of.len(), group.members.len());
        Self {
            group,
            settled,
            least: partitions / members,
            most: partitions.div_ceil(members),
            extra: partitions % members,
            under: Vec::new(),
            at_least: VecDeque::new(),
            shares: vec![Vec::new(); members],
            given_up: OrderedMap::new(),
            moving: OrderedMap::new(),
        }
    }

    fn keep_owned(&mut self) {
        for &member in &self.group.walk {
            let (apart, mut kept): (Vec<_>, Vec<_>) = self.settled.owned[member]
                .iter()
                .partition(|&&partition| self.group.nearness.are_apart(member, partition));
            self.given_up
                .extend(apart.into_iter().map(|partition| (partition, member)));
            kept.sort_by_key(|&partition| (self.group.index(partition), partition));
            kept.retain(|partition| !self.settled.contested.contains(partition));
            let quota = self.quota_of_owner(member, kept.len());
            let over = kept.split_off(kept.len().min(quota));
            self.given_up
                .extend(over.into_iter().map(|partition| (partition, member)));
            self.shares[member] = kept;
        }
        self.under.sort_unstable();
        self.at_least.make_contiguous().sort_unstable();
    }

    /// How many of so many partitions a member may keep; notes whether it may get more.
    fn quota_of_owner(&mut self, member: Member, owned: usize) -> usize {
        if owned < self.least {
            self.under.push(member);
            return owned;
        }
        if owned >= self.most && self.extra > 0 {
            self.use_extra();
            return self.most;
        }
        if self.extra > 0 {
            self.at_least.push_back(member);
        }
        self.least
    }

    /// One member more has more than the least; after the last of these nobody else may.
    fn use_extra(&mut self) {
        self.extra -= 1;
        if self.extra == 0 {
            self.at_least.clear();
        }
    }

    /// What nobody kept.
    fn left(&self) -> Vec<Partition> {
        let kept: OrderedSet<&Partition> = self.shares.iter().flatten().collect();
        let all = 0..self.group.topic_of.len();
        all.filter(|partition| !kept.contains(partition)).collect()
    }

    /// Gives partitions in turn to members that are near them; what is left over then.
    fn fill_with_near(&mut self, partitions: Vec<Partition>) -> Vec<Partition> {
        let mut next = 0;
        let mut left = Vec::new();
        for partition in partitions {
            match self
                .near_under(partition, &mut next)
                .or_else(|| self.near_at_least(partition))
            {
                Some(member) => self.give(partition, member),
                None => left.push(partition),
            }
        }
        left
    }

    fn near_under(&mut self, partition: Partition, next: &mut usize) -> Option<Member> {
        let place = self.group.nearness.next_near(partition, &self.under, *next)?;
        let member = self.under[place];
        let count = self.shares[member].len() + 1;
        let mut after = place + 1;
        if count >= self.least {
            self.under.remove(place);
            after = place;
            if count < self.most && self.extra > 0 {
                self.at_least.push_back(member);
            }
        }
        *next = after.checked_rem(self.under.len()).unwrap_or(0);
        Some(member)
    }

    fn near_at_least(&mut self, partition: Partition) -> Option<Member> {
        let members = self.at_least.make_contiguous();
        let place = self.group.nearness.next_near(partition, members, 0)?;
        let member = members[place];
        if self.shares[member].len() + 1 == self.most {
            self.at_least.remove(place);
            self.use_extra();
        }
        Some(member)
    }

    /// Gives partitions in turn to members under the least, and then to those who may have one more.
    fn deal_out(&mut self, partitions: &[Partition]) {
        let mut next = 0;
        for &partition in partitions {
            if next >= self.under.len() {
                next = 0;
            }
            // The quotas add up to all partitions, so somebody is there.
            let found = self.under.get(next).copied();
            let Some(member) = found.or_else(|| self.at_least.pop_front()) else {
                debug_assert!(false, "quotas that do not add up");
                return;
            };
            self.give(partition, member);
            next += 1;
            if found.is_some() && self.shares[member].len() == self.least {
                next -= 1;
                self.under.remove(next);
                self.at_least.push_back(member);
            }
        }
    }

    fn give(&mut self, partition: Partition, member: Member) {
        self.shares[member].push(partition);
        let given_up = self.given_up.get(&partition);
        if given_up.is_some_and(|had| *had != member) || self.settled.contested.contains(&partition) {
            self.moving.insert(partition, member);
        }
    }
}
