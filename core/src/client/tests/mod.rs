//! What tests of clients share when the broker is the real one, in memory.

mod topics;
mod wires;

pub(crate) use topics::{create_topic, read_partition};
pub(crate) use wires::Wires;
