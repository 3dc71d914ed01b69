//! A client's connections: one for each node and lane, by the same code as a broker's to its peers.
//!
//! Time-outs of answers are the client's own affair: the core closes a connection on which an answer is
//! overdue. So a connection here waits for ever.

use std::time::Duration;

use bytes::Bytes;
use highwater_core::client::{ClientConfig, ClientInput, ClientLane, Node};
use highwater_core::protocol::{SendId, SentAs};
use highwater_core::types::BrokerId;

use crate::outbound::{Caller, Limits, MOST_ANSWER_BYTES, detach};

/// Told what became of requests and connections.
type Report = Box<dyn Fn(ClientInput) + Send + Sync>;

/// The client that speaks to nodes.
pub struct ClientCaller {
    report: Report,
}

impl ClientCaller {
    /// `report` is called on the connections' threads, with no lock of theirs held.
    pub fn new(report: impl Fn(ClientInput) + Send + Sync + 'static) -> Self {
        let report = Box::new(report);
        Self { report }
    }
}

impl Caller for ClientCaller {
    type To = Node;
    type Key = (BrokerId, ClientLane);

    fn key(to: &Node) -> Self::Key {
        (to.id, to.lane)
    }

    fn address(to: &Node) -> (&str, u16) {
        (&to.host, to.port)
    }

    fn answer_timeout(&self, _: &Node) -> Option<(Duration, &'static str)> {
        None
    }

    fn answered(&self, _: &Node, id: SendId, sent: SentAs, frame: Bytes) -> Result<(), String> {
        let frame = detach(frame, sent.api);
        (self.report)(ClientInput::Response { id, frame });
        Ok(())
    }

    fn failed(&self, id: SendId, why: String) {
        (self.report)(ClientInput::SendFailed { id, why });
    }

    fn written(&self, id: SendId) {
        let frame = Bytes::new();
        (self.report)(ClientInput::Response { id, frame });
    }

    fn closed(&self, to: &Node, why: String) {
        let node = to.clone();
        (self.report)(ClientInput::Disconnected { node, why });
    }
}

/// What bounds the connections of a client with these settings.
pub fn limits(config: &ClientConfig) -> Limits {
    let millis = |ms: i64| u64::try_from(ms).ok().map(Duration::from_millis);
    Limits {
        connect_timeout: millis(config.connection_setup_timeout.initial_ms).unwrap_or(Duration::MAX),
        // Negative: never.
        max_idle: millis(config.connections_max_idle_ms),
        answer_max_bytes: MOST_ANSWER_BYTES,
    }
}
