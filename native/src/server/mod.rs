//! Sockets: listening, and serving each connection on one of a few threads.
//!
//! A thread has its own reactor and runs the connections given to it, so that a request is
//! received, handled and answered without waking another thread. New connections go to the thread
//! that has the fewest.

mod budget;
mod buffers;
mod connection;
mod connections;
mod inbound;
mod listener;
mod outbound;

pub use budget::Budget;
pub(crate) use buffers::{Buffers, LARGE_BYTES};
pub use connection::serve;
pub use connections::{Connection, Connections, Limits};
pub(crate) use inbound::{Inbound, Received};
pub use listener::{BindError, Bound, Workers, accept, bind};
pub use outbound::Answer;
