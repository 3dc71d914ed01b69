//! A broker's requests to other brokers: one connection for each (broker, lane).
//!
//! The core says what goes where ([`Output::Send`](highwater_core::io::Output::Send)) and hears what
//! came of it. An answer is decoded, and a fetched batch checked, on the connection's thread, before
//! the core's lock is taken. The task that brings an answer also drives the core, and so mostly sends
//! the next request itself.
//!
//! Invariant: each request gets exactly one [`Input::Response`] or [`Input::SendFailed`].

#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
use highwater_core::broker::admit_answer;
use highwater_core::config::BrokerConfig;
use highwater_core::io::{Input, Peer, PeerLane, SendId};
use highwater_core::protocol::SentAs;
use highwater_core::types::{BrokerId, Millis};

use crate::outbound::{Caller, Limits, MOST_ANSWER_BYTES, Outbound, detach};

/// All connections to other brokers.
pub type Peers = Outbound<PeerCaller>;

/// Told what became of a request.
type Report = Box<dyn Fn(Input) + Send + Sync>;

/// The broker that speaks to its peers.
pub struct PeerCaller {
    /// `replica.socket.timeout.ms`: how long a fetcher waits for an answer.
    fetch_timeout: Duration,
    /// `controller.socket.timeout.ms`: how long everybody else does.
    controller_timeout: Duration,
    report: Report,
}

/// The duration of a key of which -1 means none.
fn positive(ms: Millis) -> Option<Duration> {
    u64::try_from(ms).ok().map(Duration::from_millis)
}

/// What bounds a broker's connections to its peers.
pub fn limits(config: &BrokerConfig) -> Limits {
    Limits {
        connect_timeout: positive(config.socket_connection_setup_timeout_ms).unwrap_or_default(),
        max_idle: positive(config.connections_max_idle_ms),
        answer_max_bytes: MOST_ANSWER_BYTES,
    }
}

impl PeerCaller {
    /// `report` is called on the connections' threads, with no lock of theirs held.
    pub fn new(config: &BrokerConfig, report: impl Fn(Input) + Send + Sync + 'static) -> Self {
        Self {
            fetch_timeout: positive(config.replica_socket_timeout_ms).unwrap_or_default(),
            controller_timeout: positive(config.controller_socket_timeout_ms).unwrap_or_default(),
            report: Box::new(report),
        }
    }
}

impl Caller for PeerCaller {
    type To = Peer;
    type Key = (BrokerId, PeerLane);

    fn key(to: &Peer) -> Self::Key {
        (to.broker, to.lane)
    }

    fn address(to: &Peer) -> (&str, u16) {
        (&to.host, to.port)
    }

    fn answer_timeout(&self, to: &Peer) -> Option<(Duration, &'static str)> {
        Some(match to.lane {
            PeerLane::Fetch(_) => (self.fetch_timeout, "replica.socket.timeout.ms"),
            PeerLane::Control | PeerLane::Requests => {
                (self.controller_timeout, "controller.socket.timeout.ms")
            }
        })
    }

    fn answered(&self, _: &Peer, id: SendId, sent: SentAs, frame: Bytes) -> Result<(), String> {
        let answer =
            admit_answer(&detach(frame, sent.api), sent).map_err(|malformed| malformed.to_string())?;
        (self.report)(Input::Response {
            id,
            answer: Box::new(answer),
        });
        Ok(())
    }

    fn failed(&self, id: SendId, why: String) {
        (self.report)(Input::SendFailed { id, why });
    }
}
