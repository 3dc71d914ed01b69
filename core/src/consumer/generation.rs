//! Which member of which generation a consumer is.

use std::sync::Arc;

/// "In no generation", as on the wire.
pub(super) const NO_GENERATION: i32 = -1;

/// What a coordinator knows a member by. The id outlives a generation that was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Generation {
    pub id: i32,
    /// Empty: none was given yet.
    pub member: Arc<str>,
    /// The assignor that the group agreed on.
    pub protocol: Option<Arc<str>>,
}

impl Default for Generation {
    fn default() -> Self {
        Self {
            id: NO_GENERATION,
            member: Arc::from(""),
            protocol: None,
        }
    }
}

impl Generation {
    /// Known to the coordinator, but in no generation.
    pub fn of_member(member: Arc<str>) -> Self {
        Self {
            member,
            ..Self::default()
        }
    }

    pub fn is_member(&self) -> bool {
        !self.member.is_empty()
    }

    /// Not part of the group: what it owned may be somebody else's.
    pub fn is_lost(&self) -> bool {
        self.id == NO_GENERATION || !self.is_member()
    }
}
