//! Which transactions are open, and which are over but not yet on enough replicas.
//!
//! A `read_committed` consumer must not read past the first record whose fate may still change. A
//! marker decides it only once it is below the high watermark: until then a new leader might not have
//! the marker.

use serde::{Deserialize, Serialize};

use crate::ordered::OrderedMap;
use crate::types::{Offset, ProducerId};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Transactions {
    /// By first offset: no marker yet.
    ongoing: OrderedMap<Offset, ProducerId>,
    /// First offset to marker's offset: the marker may still be lost.
    unreplicated: OrderedMap<Offset, Offset>,
}

impl Transactions {
    pub(super) fn begin(&mut self, first_offset: Offset, producer_id: ProducerId) {
        self.ongoing.insert(first_offset, producer_id);
    }

    /// Ends the transaction that began at `first_offset`; answers where the oldest other one began.
    pub(super) fn complete(&mut self, first_offset: Offset, marker_offset: Offset) -> Option<Offset> {
        self.ongoing.remove(&first_offset);
        self.unreplicated.insert(first_offset, marker_offset);
        self.first_undecided()
    }

    pub(super) fn replicated_below(&mut self, offset: Offset) {
        self.unreplicated.retain(|_, marker| *marker >= offset);
    }

    pub(super) fn first_undecided(&self) -> Option<Offset> {
        self.ongoing.keys().next().copied()
    }

    pub(super) fn first_unstable(&self) -> Option<Offset> {
        let unreplicated = self.unreplicated.keys().next().copied();
        self.first_undecided().into_iter().chain(unreplicated).min()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ongoing.is_empty() && self.unreplicated.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.ongoing.clear();
        self.unreplicated.clear();
    }
}
