//! What operators see of groups: ListGroups with its filters, a few groups at a time.

use std::ops::Bound;

use super::classic::ClassicGroup;
use super::shard::GroupShard;
use crate::ordered::OrderedSet;

/// The type of every group here, as ListGroups names it.
pub const CLASSIC: &str = "Classic";

/// Which groups are asked for; an empty filter lets all through.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    states: OrderedSet<String>,
    types: OrderedSet<String>,
}

impl Filter {
    /// Names are compared without regard to case.
    pub fn new<'a>(states: impl Iterator<Item = &'a str>, types: impl Iterator<Item = &'a str>) -> Self {
        let lower = |name: &str| name.trim().to_lowercase();
        Self {
            states: states.map(lower).collect(),
            types: types.map(lower).collect(),
        }
    }

    pub fn takes(&self, group: &ClassicGroup) -> bool {
        let state = group.state().name().to_lowercase();
        (self.states.is_empty() || self.states.contains(&state))
            && (self.types.is_empty() || self.types.contains(&CLASSIC.to_lowercase()))
    }
}

impl GroupShard {
    /// The groups by name, behind this one.
    pub fn after(&self, id: Option<&str>) -> impl Iterator<Item = &ClassicGroup> {
        let after = id.map_or(Bound::Unbounded, Bound::Excluded);
        self.groups
            .range::<str, _>((after, Bound::Unbounded))
            .map(|(_, group)| group)
    }

    pub fn group(&self, id: &str) -> Option<&ClassicGroup> {
        self.groups.get(id)
    }
}
