//! # A client of the cluster, as a value
//!
//! What producers and consumers have in common. A client, like a broker, neither waits nor opens
//! anything: its host hands it what happened, as a [`ClientInput`], and takes what shall happen, as
//! [`ClientOutput`]s; time and chance come in by [`ClientCx`].
//!
//! ```text
//!              ClientInput                            ClientOutput
//! host ────► [NetworkClient ── [Metadata]  ] ────► host
//!                   │    who leads what, where
//!                   └── [Network]  one conversation a node: versions, order, time-outs, backoff
//! ```
//!
//! Reading order: [`backoff`] (how long to wait after the n-th failure), [`node`] (where a request
//! goes), [`network`] (Kafka's `NetworkClient` and `ClusterConnectionStates`), [`metadata`] (Kafka's
//! `Metadata`), [`network_client`] (both together, which is what a producer or consumer holds),
//! [`config`] (the keys that all clients know, and the machinery for those of each), [`measure`] (averages and
//! rates of what a client does).
//!
//! Invariants
//! - every request that was accepted by [`Network::send`] ends in exactly one [`Answer`], whatever
//!   the host says or fails to say
//! - a partition's leader epoch, once seen, is never replaced by an older one of the same topic
//! - nothing is sent on a connection before the node has told which versions it knows

pub mod backoff;
pub mod config;
pub mod measure;
pub mod metadata;
pub mod network;
pub mod network_client;
pub mod node;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
pub(crate) mod tests;

use bytes::Bytes;

pub use backoff::ExponentialBackoff;
pub use config::{ClientConfig, ClientKeys, ClientSettings, InvalidConfig};
pub use metadata::{Broker, Metadata, PartitionMetadata, TopicMetadata};
pub use network::{Answer, Network, NetworkError};
pub use network_client::NetworkClient;
pub use node::{ClientLane, Node};

use crate::protocol::{SendId, SentAs};
use crate::trace::{EventId, Fact, Site, Timer, Trace};
use crate::types::{Millis, Rng};

/// What a client is handed when it is its turn.
pub struct ClientCx<'a> {
    /// Now, by the host's clock, in ms since the Unix epoch.
    pub now: Millis,
    pub rng: &'a mut Rng,
    pub trace: &'a mut Trace,
    /// The event that what is decided now follows from.
    pub cause: EventId,
    pub out: &'a mut Vec<ClientOutput>,
}

impl ClientCx<'_> {
    /// Records a fact, if anybody listens, and answers its id (or the present cause, when nobody does).
    #[track_caller]
    pub fn emit(&mut self, build: impl FnOnce() -> Fact) -> EventId {
        if !self.trace.is_on() {
            return self.cause;
        }
        let site = Site(Some(std::panic::Location::caller()));
        self.trace.push(self.now, self.cause, build(), site)
    }

    /// A timer is due that was set because of that event: what is decided now follows from it.
    #[track_caller]
    pub fn timer_due(&mut self, timer: Timer, because: EventId) {
        self.cause = because;
        self.cause = self.emit(|| Fact::TimerDue { timer });
    }
}

/// What happened to a client.
#[derive(Clone, Debug)]
pub enum ClientInput {
    /// The answer to a request, a whole frame without its length. Of a request that is not answered
    /// the host says with an empty frame that it is written.
    Response { id: SendId, frame: Bytes },
    /// No answer will come: not connected, or the connection was lost. It may have been carried out.
    SendFailed { id: SendId, why: String },
    /// A connection on which nothing was awaited is gone.
    Disconnected { node: Node, why: String },
    /// The time that `poll_timeout` named has come.
    Tick,
}

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientOutput {
    /// A request: a whole frame, length included, whose correlation id is `id as i32`. The host keeps
    /// one connection for each node, makes it when there is something to send, sends in order and takes
    /// the answers in order.
    Send {
        to: Node,
        id: SendId,
        sent: SentAs,
        /// False for a produce with acks=0.
        answered: bool,
        frame: Bytes,
    },
    /// Close the connection, which is no good any more. Nothing is awaited on it.
    Disconnect { node: Node },
}
