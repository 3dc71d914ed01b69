//! Running the core without a machine: in memory, under a clock that somebody turns.
//!
//! The top layer: it hosts a [`Broker`](crate::broker::Broker) as the native program does, with the
//! same inputs and outputs, so that what a test or the lab sees is what would happen.

pub mod coordination;
pub mod host;
pub mod invariants;
pub mod log_on_memory_disk;
pub mod script;
pub mod story;
pub mod world;

pub use host::{Answer, Host};
pub use log_on_memory_disk::{LogOnMemoryDisk, Restart};
pub use script::{Player, Script};
pub use story::{Story, Teller};
pub use world::{World, WorldOptions};
