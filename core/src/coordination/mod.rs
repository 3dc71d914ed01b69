//! The tree of nodes that remembers what must not be lost: topics, ids, configurations.
//!
//! It is ZooKeeper's idea as a value: a path names a node, a node has bytes and a version, and a
//! change is a [`Multi`], which happens whole or not at all. Whoever read a node may write it only
//! at the version it read, so that of two that decide at once one is refused and reads again.
//!
//! [`Tree`] is the value. [`Coordination`] keeps it on disk: each multi is a checksummed record that
//! is synced before it counts, and from time to time the whole tree is written as a snapshot.
//!
//! Invariants
//! - a multi is acknowledged only when the sync behind it is done; then no kill and no loss of power
//!   takes it away
//! - what recovery rebuilds is exactly a prefix of the multis submitted, with every acknowledged one
//! - `zxid` rises by one with each multi; `czxid` and `mzxid` of a node name the multi that created
//!   and last changed it
//!
//! The two files lie at the top of the first log directory, as `coordination-log` and
//! `coordination-snapshot`. Kafka's `LogManager` reads only the directories there, and from the plain
//! files only those whose names it knows, so a Kafka broker would pass these by.

mod multi;
mod record;
mod session;
mod snapshot;
mod store;
mod tree;

pub use multi::{Multi, MultiError, NodeError, Op, OpResult};
pub use session::{
    CoordinationEvent, CoordinationOp, CoordinationReply, Found, OpId, Read, SessionEpoch, SessionId,
    WatchKind,
};
pub use snapshot::{Damaged, Recovered, recover};
pub use store::{Coordination, LOG_PATH, SNAPSHOT_PATH};
pub use tree::{Node, Stat, Tree, Zxid};
