//! Connections and metadata together: what a producer or a consumer holds (Kafka's `NetworkClient`
//! with its `DefaultMetadataUpdater`).
//!
//! The owner calls [`handle`](NetworkClient::handle) with every input, acts on the answers, says what
//! it wants to know in [`metadata`](NetworkClient::metadata), sends what can be sent, and last calls
//! [`update_metadata`](NetworkClient::update_metadata), which asks a node if it is time. When no known
//! broker can be had, it begins anew with the bootstrap addresses (KIP-899, KIP-1102).

use std::sync::Arc;

use super::metadata::AskedFor;
use super::network::{Answer, Network, NetworkError};
use super::{ClientConfig, ClientCx, ClientInput, ClientLane, Metadata, Node};
use crate::error::ErrorCode;
use crate::protocol::messages::MetadataRequest;
use crate::protocol::{ApiKey, RequestBody, ResponseBody, SendId};
use crate::trace::{ClientFact, EventId, Fact, Timer};
use crate::types::{BrokerId, Millis};

#[derive(Clone, Debug)]
enum Purpose<P> {
    Metadata(AskedFor),
    Own(P),
}

/// See the [module](self). `P` says what a request of the owner was sent for.
#[derive(Clone, Debug)]
pub struct NetworkClient<P> {
    network: Network<Purpose<P>>,
    pub metadata: Metadata,
    rebootstrap: bool,
    rebootstrap_trigger_ms: Millis,
    /// A metadata request is under way.
    asked: bool,
}

impl<P> NetworkClient<P> {
    pub fn new(config: &ClientConfig, max_in_flight: u32, allow_auto_topic_creation: bool) -> Self {
        Self {
            network: Network::new(config, max_in_flight),
            metadata: Metadata::new(config, allow_auto_topic_creation),
            rebootstrap: config.rebootstrap,
            rebootstrap_trigger_ms: config.rebootstrap_trigger_ms,
            asked: false,
        }
    }

    // ---- requests of the owner

    /// Whether a request may be sent to the node now; opens a connection if there is none.
    pub fn ready(&mut self, cx: &mut ClientCx, node: &Node) -> bool {
        self.network.ready(cx, node)
    }

    /// When it may be worth while to ask for the node again; `None` when an input will tell.
    pub fn ready_at(&self, now: Millis, node: &Node) -> Option<Millis> {
        self.network.ready_at(now, node)
    }

    /// The highest version that the node and the core know, at most `most`. The node must be ready.
    pub fn usable_version(&self, node: &Node, api: ApiKey, most: i16) -> Result<i16, NetworkError> {
        self.network.usable_version_up_to(node, api, most)
    }

    /// Sends a request to a node that is ready. Its time-out is `request.timeout.ms`, or `takes_ms` if
    /// that is more.
    pub fn send(
        &mut self,
        cx: &mut ClientCx,
        node: &Node,
        version: i16,
        body: &RequestBody,
        purpose: P,
        takes_ms: Millis,
    ) -> Result<SendId, NetworkError> {
        self.network
            .send(cx, node, version, body, Purpose::Own(purpose), takes_ms)
    }

    pub fn in_flight(&self, node: &Node) -> u32 {
        self.network.in_flight(node)
    }

    /// How many requests to any node are not answered yet.
    pub fn in_flight_requests(&self) -> usize {
        self.network.in_flight_requests()
    }

    pub fn node(&self, id: BrokerId, lane: ClientLane) -> Option<Node> {
        self.metadata.node(id, lane)
    }

    /// The node that has least to do, for a request that any may answer.
    pub fn least_loaded(&self, cx: &mut ClientCx) -> Option<Node> {
        self.network.least_loaded(cx, &self.metadata.nodes()).0
    }

    // ---- inputs

    /// Takes in what happened; what became of the owner's requests.
    pub fn handle(&mut self, cx: &mut ClientCx, input: &ClientInput) -> Vec<Answer<P>> {
        let all = self.network.handle(cx, input);
        let mut own = Vec::new();
        let mut is_lost = matches!(
            input,
            ClientInput::SendFailed { .. } | ClientInput::Disconnected { .. }
        );
        for answer in all {
            is_lost |= answer.result.is_err();
            match answer.purpose {
                Purpose::Own(purpose) => own.push(Answer {
                    purpose,
                    node: answer.node,
                    version: answer.version,
                    sent_ms: answer.sent_ms,
                    result: answer.result,
                }),
                Purpose::Metadata(asked) => self.metadata_answered(cx, asked, answer.result),
            }
        }
        if is_lost {
            self.lost(cx);
        }
        own
    }

    /// The node may be gone for good: somebody else leads what it led.
    fn lost(&mut self, cx: &mut ClientCx) {
        if !self.asked && self.metadata.update_at() <= cx.now {
            self.metadata.failed(cx, "the connection was lost");
        }
        self.metadata.request_update(false, cx.cause);
    }

    fn metadata_answered(
        &mut self,
        cx: &mut ClientCx,
        asked: AskedFor,
        result: Result<ResponseBody, NetworkError>,
    ) {
        self.asked = false;
        match result {
            Ok(ResponseBody::Metadata(answer)) => {
                if answer.error_code == ErrorCode::RebootstrapRequired.code() && self.rebootstrap {
                    return self.metadata.rebootstrap(cx, "the broker says so");
                }
                self.metadata.learn(cx, asked, &answer);
                let known = self.metadata.nodes();
                // What was reached by an address that is no longer a broker's is not needed again.
                self.network.retain(cx, |node| {
                    known
                        .iter()
                        .any(|k| k.id == node.id && k.host == node.host && k.port == node.port)
                });
            }
            Ok(_) => self.metadata.failed(cx, "the answer is to another request"),
            Err(error) => self.metadata.failed(cx, &error.to_string()),
        }
    }

    // ---- asking who leads what

    /// Asks for metadata, if it is time and a node can be had.
    pub fn update_metadata(&mut self, cx: &mut ClientCx) {
        if self.asked || self.metadata.update_at() > cx.now {
            return;
        }
        let is_wanted = self.metadata.is_update_wanted();
        if self.metadata.cause == EventId::NONE {
            // Nobody has asked for anything: the first update is wanted because there is a client.
            self.metadata.cause = cx.cause;
        }
        let Some(node) = self.whom_to_ask(cx) else {
            return;
        };
        if !self.network.can_send(cx.now, &node) {
            // One connection is waited for before another node is tried.
            if !self.network.is_connecting() {
                cx.cause = self.metadata.cause;
                self.network.ready(cx, &node);
            }
            return;
        }
        let Ok(version) = self.network.usable_version(&node, ApiKey::Metadata) else {
            return self
                .metadata
                .failed(cx, "the node does not know Metadata in any version of ours");
        };
        let before = cx.cause;
        if is_wanted {
            cx.cause = self.metadata.cause;
        } else {
            cx.timer_due(Timer::MetadataAge, self.metadata.cause);
        }
        self.ask(cx, &node, version);
        cx.cause = before;
    }

    fn ask(&mut self, cx: &mut ClientCx, node: &Node, version: i16) {
        let (body, asked) = self.metadata.request(cx.now, version);
        cx.cause = cx.emit(|| {
            Fact::Client(ClientFact::MetadataRequested {
                node: node.id,
                topics: names(&body),
            })
        });
        let body = RequestBody::Metadata(body);
        match self
            .network
            .send(cx, node, version, &body, Purpose::Metadata(asked), 0)
        {
            Ok(_) => self.asked = true,
            Err(error) => self.metadata.failed(cx, &error.to_string()),
        }
    }

    fn whom_to_ask(&mut self, cx: &mut ClientCx) -> Option<Node> {
        let is_new = self.metadata.is_bootstrapping();
        if self.rebootstrap && !is_new && self.metadata.fails_for(cx.now, self.rebootstrap_trigger_ms) {
            self.metadata
                .rebootstrap(cx, "nobody has told who leads what for too long");
        }
        let (node, is_any_ready) = self.network.least_loaded(cx, &self.metadata.nodes());
        if node.is_some() || is_any_ready || !self.rebootstrap || self.metadata.is_bootstrapping() {
            return node;
        }
        self.metadata.rebootstrap(cx, "no known broker can be reached");
        self.network.least_loaded(cx, &self.metadata.nodes()).0
    }

    /// When to come again with [`ClientInput::Tick`]: a request is overdue, or metadata is to be asked
    /// for and no input will tell when that is possible.
    pub fn next_timeout(&self, now: Millis) -> Option<Millis> {
        [self.network.next_timeout(), self.metadata_timeout(now)]
            .into_iter()
            .flatten()
            .min()
    }

    fn metadata_timeout(&self, now: Millis) -> Option<Millis> {
        if self.asked {
            return None;
        }
        let at = self.metadata.update_at();
        if at > now {
            return Some(at);
        }
        let nodes = self.metadata.nodes();
        if nodes.iter().any(|node| self.network.can_send(now, node)) {
            return Some(now);
        }
        if self.network.is_connecting() {
            return None;
        }
        nodes
            .iter()
            .filter_map(|node| self.network.ready_at(now, node))
            .min()
    }
}

/// The topics that are asked for; none for all.
fn names(body: &MetadataRequest) -> Option<Vec<Arc<str>>> {
    let topics = body.topics.as_ref()?.iter();
    Some(
        topics
            .map(|topic| topic.name.as_deref().unwrap_or_default().into())
            .collect(),
    )
}

#[cfg(test)]
mod tests;
