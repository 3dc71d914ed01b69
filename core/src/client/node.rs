//! Where a client's request goes.

use std::fmt;
use std::sync::Arc;

use crate::types::BrokerId;

/// A node and the connection to it. A bootstrap address has an id of its own, -1 for the first of
/// `bootstrap.servers`, -2 for the second, as in Kafka's `Cluster.bootstrap`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    pub id: BrokerId,
    pub host: Arc<str>,
    pub port: u16,
    pub lane: ClientLane,
}

/// What a connection is for. A consumer speaks to its coordinator on a second connection, so that a
/// fetch that waits for data delays no heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientLane {
    Data,
    Coordinator,
}

impl Node {
    /// Whether it is an address of `bootstrap.servers` of which nothing more is known yet.
    pub fn is_bootstrap(&self) -> bool {
        self.id < 0
    }
}

impl fmt::Display for Node {
    /// As Kafka writes it: `localhost:9092 (id: 1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} (id: {})", self.host, self.port, self.id)
    }
}
