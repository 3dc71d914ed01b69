//! Replicas: what a broker keeps of each partition beside its log, and who waits for it.
//!
//! A [`Partition`](partition::Partition) knows its log, its high watermark and the ids of the
//! operations that wait for either to move. It never reaches into the broker: what its progress
//! completes comes back as ids, and the broker looks them up in the [`purgatory`].

pub mod partition;
pub mod purgatory;

pub use partition::Partition;
pub use purgatory::{ParkedId, Purgatory};
