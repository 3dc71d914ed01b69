//! The life of a partition as the controller sees it (`kafka.controller.PartitionState`).
//!
//! ```text
//! NonExistent -> New -> Online <-> Offline
//!      ^                  |           |
//!      +------------------+-----------+     (by way of Offline)
//! ```
//!
//! A partition's state is read off its image: assigned without a state node is *new*, with a leader
//! that lives it is *online*, else *offline*. So no controller has to remember it, and the next one
//! sees the same.

use crate::metadata::{NO_LEADER, PartitionImage};
use crate::types::BrokerId;

/// Where a partition stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartitionState {
    NonExistent,
    /// Assigned; it never had a leader.
    New,
    Online,
    /// It had a leader.
    Offline,
}

impl PartitionState {
    /// `is_alive`: whether this replica could serve.
    pub fn of(partition: Option<&PartitionImage>, is_alive: impl Fn(BrokerId) -> bool) -> Self {
        match partition {
            None => Self::NonExistent,
            Some(partition) if !partition.has_state() => Self::New,
            Some(partition) if partition.leader != NO_LEADER && is_alive(partition.leader) => Self::Online,
            Some(_) => Self::Offline,
        }
    }

    /// Whether a partition may go from this state to that one.
    pub fn may_become(self, next: Self) -> bool {
        use PartitionState::*;
        match next {
            New => self == NonExistent,
            Online => self != NonExistent,
            Offline => self != NonExistent,
            NonExistent => self == Offline,
        }
    }

    /// Whether a leader must be found.
    pub fn wants_leader(self) -> bool {
        matches!(self, Self::New | Self::Offline) && self.may_become(Self::Online)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_read_off_the_image() {
        let led_by = |leader, partition_epoch| PartitionImage {
            leader,
            partition_epoch,
            ..PartitionImage::without_state(vec![1, 2])
        };
        let state = |partition: Option<&PartitionImage>| PartitionState::of(partition, |id| id == 1);
        let cases = [
            (None, PartitionState::NonExistent, false),
            (Some(led_by(-1, -1)), PartitionState::New, true),
            (Some(led_by(1, 0)), PartitionState::Online, false),
            (Some(led_by(2, 0)), PartitionState::Offline, true),
            (Some(led_by(-1, 3)), PartitionState::Offline, true),
        ];
        for (partition, expected, wants) in cases {
            let found = state(partition.as_ref());
            assert_eq!((found, found.wants_leader()), (expected, wants));
        }
    }

    #[test]
    fn transitions_as_kafka_allows_them() {
        use PartitionState::*;
        let all = [NonExistent, New, Online, Offline];
        let legal: Vec<_> = all
            .iter()
            .flat_map(|from| all.iter().map(move |to| (*from, *to)))
            .filter(|(from, to)| from.may_become(*to))
            .collect();
        let expected = [
            (NonExistent, New),
            (New, Online),
            (New, Offline),
            (Online, Online),
            (Online, Offline),
            (Offline, NonExistent),
            (Offline, Online),
            (Offline, Offline),
        ];
        assert_eq!(legal, expected);
    }
}
