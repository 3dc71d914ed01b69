//! Replicas: what a broker keeps of each partition beside its log, and who waits for it.
//!
//! A partition has one leader; the other replicas follow it by fetching. A
//! [`Partition`] knows its log, its role, its high watermark and the ids of the operations that wait
//! for either to move. As leader it also knows how far each follower has come, and which of them are in
//! sync (the ISR). The follower's side is a [`fetcher`]: one value for each leader that this
//! broker follows, over many partitions. None of them reaches into the broker: what their progress
//! completes comes back as a [`Moved`], and the broker looks ids up in the [`purgatory`].
//!
//! Reading order: [`partition`] is the noun; [`role`] how it becomes leader or follower; [`follower_state`]
//! what a leader knows of one follower; [`high_watermark`] the rule by which records become safe;
//! [`isr`] who counts as in sync; [`follower_fetch`] how a leader serves a follower;
//! [`following`] what a follower does with its log; [`fetcher`] how it asks.

pub mod fetcher;
pub mod follower_fetch;
pub mod follower_state;
pub mod following;
pub mod high_watermark;
pub mod isr;
pub mod partition;
pub mod purgatory;
pub mod replication;
pub mod role;
mod unseen;
pub mod waiting;

pub use fetcher::{Fetcher, FetcherRequest, FetcherSettings, Followed, FollowerLogs};
pub use follower_fetch::{EpochEnd, FollowerFetch, FollowerRead};
pub use isr::{IsrAnswer, Proposal};
pub use partition::Partition;
pub use purgatory::{ParkedId, Purgatory};
pub use replication::{Replication, Standing};
pub use role::{PartitionState, Transition};
pub use waiting::{Moved, Waiting, Watcher};

#[cfg(test)]
mod tests;
