//! One partition's log on disk.

pub mod checkpoint;
pub mod leader_epoch_cache;
pub mod producer_state;
pub mod transaction_index;

/// Work on files that takes longer than the owner may: data in, [`JobResult`] out.
#[derive(Clone, Debug)]
pub enum Job {}

/// What a [`Job`] found.
#[derive(Clone, Debug)]
pub enum JobResult {}
