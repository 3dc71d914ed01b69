//! The native ways to a coordination service: one in this process, or a real ZooKeeper.
//!
//! A broker speaks of sessions and operations ([`highwater_core::coordination`]); who serves them is
//! its host's affair. [`Embedded`] runs the core's own service on files of this machine, for a cluster
//! in one process and for a single broker; [`ZooKeeper`] carries the same words to the ensemble that
//! `zookeeper.connect` names.
//!
//! Invariants, whoever serves
//! - what is asked within a session is done in that order, and answered in that order
//! - a watch event is told before the answer that shows the change
//! - after `Expired` or `Lost` nothing more is told of that session

mod embedded;
mod zookeeper;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use highwater_core::coordination::{CoordinationEvent, CoordinationOp, OpId, SessionEpoch};
use highwater_core::types::Millis;

pub use self::embedded::{Embedded, EmbeddedError};
pub use self::zookeeper::{ZooKeeper, ZooKeeperConfig};

/// Where a broker's events go: to its driver, as `Input::Coordination`. Called without any lock held;
/// it may ask in turn.
pub type Tell = Arc<dyn Fn(SessionEpoch, CoordinationEvent) + Send + Sync>;

/// One broker's way to its coordination service. No method waits.
pub trait CoordinationHost: Send + Sync {
    /// Opens a session; what becomes of it is told.
    fn open(&self, session: SessionEpoch, timeout_ms: Millis);

    /// Ends a session: what it holds goes at once. Nothing more is told of it.
    fn close(&self, session: SessionEpoch);

    /// Asks within a session; `Done` or `Unknown` is told, or the session's end.
    fn ask(&self, session: SessionEpoch, id: OpId, op: CoordinationOp);

    /// Ends when the sessions closed so far are closed with the service, or it is out of reach.
    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}
