//! A member of a classic group (Kafka's `ClassicGroupMember`).

use std::sync::Arc;

use bytes::Bytes;

use crate::coordinator::Token;
use crate::ordered::OrderedSet;

/// A way to share out partitions that a member supports, and what it says about itself in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    pub name: Arc<str>,
    pub metadata: Bytes,
}

#[derive(Clone, Debug)]
pub struct Member {
    pub id: Arc<str>,
    /// Set for a static member: it keeps its place when it comes again (KIP-345).
    pub instance_id: Option<Arc<str>>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    pub rebalance_timeout_ms: i32,
    pub session_timeout_ms: i32,
    /// The one it likes best comes first.
    pub protocols: Arc<[Protocol]>,
    pub assignment: Bytes,
    /// Its JoinGroup that waits for the others.
    pub awaiting_join: Option<Token>,
    /// Its SyncGroup that waits for the leader's.
    pub awaiting_sync: Option<Token>,
    /// It has never heard of a generation, so it cannot send heartbeats yet.
    pub is_new: bool,
}

impl Member {
    pub fn is_static(&self) -> bool {
        self.instance_id.is_some()
    }

    /// A member that waits for an answer of ours is alive, however long that takes; but not a new one,
    /// whose client may be long gone.
    pub fn has_satisfied_heartbeat(&self) -> bool {
        !self.is_new && (self.awaiting_join.is_some() || self.awaiting_sync.is_some())
    }

    /// What it says of itself in the protocol; nothing if it does not support it.
    pub fn metadata(&self, protocol: &str) -> Bytes {
        let mut protocols = self.protocols.iter();
        let found = protocols.find(|own| &*own.name == protocol);
        found.map(|own| own.metadata.clone()).unwrap_or_default()
    }

    /// The candidate that it likes best.
    pub fn vote(&self, candidates: &OrderedSet<&Arc<str>>) -> Option<Arc<str>> {
        let mut protocols = self.protocols.iter();
        let liked = protocols.find(|own| candidates.contains(&own.name));
        liked.map(|own| own.name.clone())
    }
}
