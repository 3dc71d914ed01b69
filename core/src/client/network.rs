//! One conversation a node (Kafka's `NetworkClient`, `ClusterConnectionStates` and
//! `InFlightRequests`).
//!
//! A connection begins with ApiVersions (KIP-35, KIP-511); only its answer makes the node *ready*, and
//! from then on a request goes out at the highest version that both sides know. Whoever wants to send
//! asks [`Network::ready`] first, which opens the connection if there is none, and comes again later
//! when the answer is no. A request that is not answered in time takes its connection with it: the
//! order of answers is all that tells them apart. A node that failed is left alone for a while, longer
//! each time.
//!
//! `P` says what a request was sent for; it comes back with the answer.

use std::sync::Arc;

use bytes::Bytes;
use thiserror::Error;

use super::{ClientConfig, ClientCx, ClientInput, ClientOutput, ExponentialBackoff, Node};
use crate::error::ErrorCode;
use crate::ordered::OrderedMap;
use crate::protocol::messages::{ApiVersionsRequest, ApiVersionsResponse, message};
use crate::protocol::produce::ProduceResponse;
use crate::protocol::{
    ApiKey, RequestBody, RequestHeader, ResponseBody, SendId, SentAs, decode_response, encode_request,
};
use crate::trace::{ClientFact, EventId, Fact, Timer};
use crate::types::Millis;

mod throttle;

/// What the client says it is (KIP-511).
const SOFTWARE_NAME: &str = "highwater";

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// It may have been carried out.
    #[error("Disconnected from node {node}: {why}")]
    Disconnected { node: i32, why: String },
    /// It may have been carried out.
    #[error("Disconnected from node {node} due to timeout")]
    TimedOut { node: i32 },
    /// It was not sent.
    #[error("The node does not support {api}")]
    UnsupportedApi { api: &'static str },
    /// It was not sent: the node knows these versions, this client others.
    #[error(
        "The node does not support {api} with version in range [{min},{max}]. The supported range is [{node_min},{node_max}]."
    )]
    UnsupportedVersion {
        api: &'static str,
        min: i16,
        max: i16,
        node_min: i16,
        node_max: i16,
    },
    /// It was not sent: ask [`Network::ready`] first.
    #[error("node {node} is not ready for requests")]
    NotReady { node: i32 },
    /// It was not sent: a value does not fit the wire.
    #[error("the request cannot be written: {0}")]
    Unwritable(String),
}

impl NetworkError {
    /// The error as which it counts for a request's parts.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::TimedOut { .. } => ErrorCode::RequestTimedOut,
            Self::Disconnected { .. } | Self::NotReady { .. } => ErrorCode::NetworkException,
            Self::UnsupportedApi { .. } | Self::UnsupportedVersion { .. } => ErrorCode::UnsupportedVersion,
            Self::Unwritable(_) => ErrorCode::InvalidRequest,
        }
    }
}

/// What became of a request.
#[derive(Clone, Debug)]
pub struct Answer<P> {
    pub node: Node,
    pub purpose: P,
    pub version: i16,
    pub sent_ms: Millis,
    /// Of a request that is not answered (acks=0) a produce answer without topics, once it is written.
    pub result: Result<ResponseBody, NetworkError>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    /// ApiVersions is under way.
    Asking,
    Ready,
}

#[derive(Clone, Debug, Default)]
struct Connection {
    state: State,
    /// By API key.
    versions: OrderedMap<i16, (i16, i16)>,
    in_flight: u32,
    /// In a row.
    failures: u32,
    not_before: Millis,
    last_attempt_ms: Millis,
    throttled_until: Millis,
}

#[derive(Clone, Debug)]
struct InFlight<P> {
    node: Node,
    sent: SentAs,
    answered: bool,
    sent_ms: Millis,
    due_ms: Millis,
    cause: EventId,
    /// `None`: ApiVersions.
    purpose: Option<P>,
}

/// Every connection of a client, and what is awaited on them.
#[derive(Clone, Debug)]
pub struct Network<P> {
    client_id: Arc<str>,
    request_timeout_ms: Millis,
    reconnect_backoff: ExponentialBackoff,
    /// `max.in.flight.requests.per.connection`.
    max_in_flight: u32,
    next_id: SendId,
    connections: OrderedMap<Node, Connection>,
    in_flight: OrderedMap<SendId, InFlight<P>>,
}

impl<P> Network<P> {
    pub fn new(config: &ClientConfig, max_in_flight: u32) -> Self {
        Self {
            client_id: config.client_id.clone(),
            request_timeout_ms: config.request_timeout_ms,
            reconnect_backoff: config.reconnect_backoff,
            max_in_flight,
            next_id: 0,
            connections: OrderedMap::new(),
            in_flight: OrderedMap::new(),
        }
    }

    // ---- may I send?

    /// Whether a request may be sent to the node now. If it has no connection, one is opened, unless the
    /// node failed a moment ago.
    pub fn ready(&mut self, cx: &mut ClientCx, node: &Node) -> bool {
        if self.can_send(cx.now, node) {
            return true;
        }
        if self.can_connect(cx.now, node) {
            let newest = ApiKey::ApiVersions.served().map_or(0, |served| served.max);
            self.ask_versions(cx, node, newest);
        }
        false
    }

    /// Whether a request may be sent to the node now.
    pub fn can_send(&self, now: Millis, node: &Node) -> bool {
        self.connections.get(node).is_some_and(|connection| {
            connection.state == State::Ready
                && connection.throttled_until <= now
                && connection.in_flight < self.max_in_flight
        })
    }

    fn can_connect(&self, now: Millis, node: &Node) -> bool {
        self.connections
            .get(node)
            .is_none_or(|connection| connection.state == State::Closed && connection.not_before <= now)
    }

    /// Whether some connection is being made.
    pub fn is_connecting(&self) -> bool {
        self.connections.values().any(|c| c.state == State::Asking)
    }

    /// When it may be worth while to ask for the node again; `None` when an input will tell.
    pub fn ready_at(&self, now: Millis, node: &Node) -> Option<Millis> {
        let Some(connection) = self.connections.get(node) else {
            return Some(now);
        };
        match connection.state {
            State::Closed => Some(connection.not_before.max(now)),
            State::Asking => None,
            State::Ready if connection.throttled_until > now => Some(connection.throttled_until),
            State::Ready if connection.in_flight >= self.max_in_flight => None,
            State::Ready => Some(now),
        }
    }

    /// How many requests to the node are not answered yet.
    pub fn in_flight(&self, node: &Node) -> u32 {
        self.connections.get(node).map_or(0, |c| c.in_flight)
    }

    /// How many requests to any node are not answered yet.
    pub fn in_flight_requests(&self) -> usize {
        self.in_flight.len()
    }

    /// How often in a row the node could not be reached, or did not answer.
    pub fn failures(&self, node: &Node) -> u32 {
        self.connections.get(node).map_or(0, |c| c.failures)
    }

    /// The highest version of the API that node and client know. The node must be ready.
    pub fn usable_version(&self, node: &Node, api: ApiKey) -> Result<i16, NetworkError> {
        self.usable_version_up_to(node, api, i16::MAX)
    }

    /// The same for whoever cannot use all of the versions that the core can write.
    pub fn usable_version_up_to(&self, node: &Node, api: ApiKey, most: i16) -> Result<i16, NetworkError> {
        let name = api.name();
        let unsupported = NetworkError::UnsupportedApi { api: name };
        let ours = api.served().ok_or(unsupported.clone())?;
        let connection = self.connections.get(node);
        let connection = connection
            .filter(|c| c.state == State::Ready)
            .ok_or(NetworkError::NotReady { node: node.id })?;
        let (node_min, node_max) = *connection.versions.get(&api.code()).ok_or(unsupported)?;
        let (min, max) = (ours.min, ours.max.min(most));
        let version = max.min(node_max);
        if version < min.max(node_min) {
            return Err(NetworkError::UnsupportedVersion {
                api: name,
                min,
                max,
                node_min,
                node_max,
            });
        }
        Ok(version)
    }

    /// The node that has least to do (Kafka's `leastLoadedNode`): a ready one without requests, else the
    /// ready one with fewest, else one that is being connected, else the one that was not tried for
    /// longest. Beside it: whether any node is ready.
    pub fn least_loaded(&self, cx: &mut ClientCx, nodes: &[Node]) -> (Option<Node>, bool) {
        let offset = cx.rng.below(nodes.len() as u64) as usize;
        let (now, turned) = (cx.now, nodes.iter().cycle().skip(offset).take(nodes.len()));
        let rank = |node: &Node| {
            let connection = self.connections.get(node);
            match connection {
                Some(c) if self.can_send(now, node) => Some((0, i64::from(c.in_flight))),
                Some(c) if c.state == State::Asking => Some((1, 0)),
                None => Some((2, Millis::MIN)),
                Some(c) if self.can_connect(now, node) => Some((2, c.last_attempt_ms)),
                Some(_) => None,
            }
        };
        let best = turned
            .filter_map(|node| Some((rank(node)?, node)))
            .min_by_key(|(rank, _)| *rank);
        let is_ready = |node: &Node| {
            self.connections
                .get(node)
                .is_some_and(|c| c.state == State::Ready)
        };
        (best.map(|(_, node)| node.clone()), nodes.iter().any(is_ready))
    }

    // ---- sending

    /// Sends a request in a version that [`usable_version`](Self::usable_version) named. The time-out
    /// is `request.timeout.ms`, or at least as long as the caller knows that it may take.
    pub fn send(
        &mut self,
        cx: &mut ClientCx,
        node: &Node,
        version: i16,
        body: &RequestBody,
        purpose: P,
        takes_ms: Millis,
    ) -> Result<SendId, NetworkError> {
        if !self.can_send(cx.now, node) {
            return Err(NetworkError::NotReady { node: node.id });
        }
        self.put(cx, node, version, body, Some(purpose), takes_ms)
    }

    fn put(
        &mut self,
        cx: &mut ClientCx,
        node: &Node,
        version: i16,
        body: &RequestBody,
        purpose: Option<P>,
        takes_ms: Millis,
    ) -> Result<SendId, NetworkError> {
        let id = self.next_id + 1;
        let api = body.api();
        let header = RequestHeader {
            api,
            version,
            correlation_id: id as i32,
            client_id: Some((&*self.client_id).into()),
        };
        let frame =
            encode_request(&header, body).map_err(|error| NetworkError::Unwritable(error.to_string()))?;
        self.next_id = id;
        let (sent, answered) = (
            SentAs { api, version },
            !matches!(body, RequestBody::Produce(produce) if produce.acks == 0),
        );
        self.connections.entry(node.clone()).or_default().in_flight += 1;
        self.in_flight.insert(
            id,
            InFlight {
                node: node.clone(),
                sent,
                answered,
                sent_ms: cx.now,
                due_ms: cx.now.saturating_add(self.request_timeout_ms.max(takes_ms)),
                cause: cx.cause,
                purpose,
            },
        );
        let to = node.clone();
        cx.out.push(ClientOutput::Send {
            to,
            id,
            sent,
            answered,
            frame,
        });
        Ok(id)
    }

    fn ask_versions(&mut self, cx: &mut ClientCx, node: &Node, version: i16) {
        let connection = self.connections.entry(node.clone()).or_default();
        connection.state = State::Asking;
        connection.last_attempt_ms = cx.now;
        let body = message(|body: &mut ApiVersionsRequest| {
            if version >= 3 {
                body.client_software_name = SOFTWARE_NAME.into();
                body.client_software_version = env!("CARGO_PKG_VERSION").into();
            }
        });
        let cause = cx.cause;
        cx.cause = cx.emit(|| {
            Fact::Client(ClientFact::ConnectionOpened {
                node: node.id,
                address: format!("{}:{}", node.host, node.port),
            })
        });
        // It fits the wire: all that is in it is short and ours.
        let _ = self.put(cx, node, version, &RequestBody::ApiVersions(body), None, 0);
        cx.cause = cause;
    }

    /// Drops the connections that nobody will use any more, unless something is awaited on them.
    pub fn retain(&mut self, cx: &mut ClientCx, keep: impl Fn(&Node) -> bool) {
        let out = &mut *cx.out;
        self.connections.retain(|node, connection| {
            if keep(node) || connection.in_flight > 0 {
                return true;
            }
            if connection.state != State::Closed {
                out.push(ClientOutput::Disconnect { node: node.clone() });
            }
            false
        });
    }

    // ---- hearing

    /// Takes in what happened; what became of requests, in the order of sending. An input that is about
    /// nothing that is awaited is passed over.
    pub fn handle(&mut self, cx: &mut ClientCx, input: &ClientInput) -> Vec<Answer<P>> {
        match input {
            ClientInput::Response { id, frame } => self.answered(cx, *id, frame),
            ClientInput::SendFailed { id, why } => match self.in_flight.get(id) {
                Some(request) => {
                    let node = request.node.clone();
                    self.lost(cx, &node, why, false)
                }
                None => Vec::new(),
            },
            ClientInput::Disconnected { node, why } => match self.connections.get(node) {
                Some(connection) if connection.state != State::Closed => self.lost(cx, node, why, false),
                _ => Vec::new(),
            },
            ClientInput::Tick => self.time_out(cx),
        }
    }

    /// When [`ClientInput::Tick`] is next needed: when the first request is overdue.
    pub fn next_timeout(&self) -> Option<Millis> {
        self.in_flight.values().map(|request| request.due_ms).min()
    }

    fn answered(&mut self, cx: &mut ClientCx, id: SendId, frame: &Bytes) -> Vec<Answer<P>> {
        let Some(request) = self.in_flight.get(&id) else {
            return Vec::new();
        };
        let (node, sent) = (request.node.clone(), request.sent);
        let body = if request.answered {
            match decode_response(sent.api, sent.version, frame.clone()) {
                Ok(response) if response.correlation_id == id as i32 => response.body,
                Ok(_) => return self.broken(cx, &node, "its answer is to another request"),
                Err(error) => return self.broken(cx, &node, &format!("its answer cannot be read: {error}")),
            }
        } else {
            ProduceResponse::default().into()
        };
        let Some(request) = self.in_flight.remove(&id) else {
            return Vec::new();
        };
        if let Some(connection) = self.connections.get_mut(&node) {
            connection.in_flight -= 1;
        }
        self.throttle(cx, &node, sent, &body);
        let Some(purpose) = request.purpose else {
            return self.learn_versions(cx, &node, sent.version, body);
        };
        vec![Answer {
            node,
            purpose,
            version: sent.version,
            sent_ms: request.sent_ms,
            result: Ok(body),
        }]
    }

    fn throttle(&mut self, cx: &mut ClientCx, node: &Node, sent: SentAs, body: &ResponseBody) {
        let throttle_ms = throttle::throttle_ms(sent, body);
        if throttle_ms <= 0 {
            return;
        }
        let until_ms = cx.now + throttle_ms;
        if let Some(connection) = self.connections.get_mut(node) {
            connection.throttled_until = connection.throttled_until.max(until_ms);
        }
        let node = node.id;
        cx.emit(|| Fact::Client(ClientFact::Throttled { node, until_ms }));
    }

    fn learn_versions(
        &mut self,
        cx: &mut ClientCx,
        node: &Node,
        version: i16,
        body: ResponseBody,
    ) -> Vec<Answer<P>> {
        let ResponseBody::ApiVersions(answer) = body else {
            return self.broken(cx, node, "its answer is to another request");
        };
        if answer.error_code == ErrorCode::UnsupportedVersion.code() && version > 0 {
            // An old node says in its refusal what it can; one older still says nothing.
            let theirs = rows(&answer)
                .get(&ApiKey::ApiVersions.code())
                .map_or(0, |(_, max)| *max);
            self.ask_versions(cx, node, theirs.clamp(0, version - 1));
            return Vec::new();
        }
        if answer.error_code != 0 {
            let code = ErrorCode::from_code(answer.error_code).unwrap_or(ErrorCode::UnknownServerError);
            return self.broken(cx, node, &format!("it refuses ApiVersions with {code}"));
        }
        if let Some(connection) = self.connections.get_mut(node) {
            connection.state = State::Ready;
            connection.failures = 0;
            connection.versions = rows(&answer);
        }
        let node = node.id;
        cx.emit(|| Fact::Client(ClientFact::ConnectionReady { node }));
        Vec::new()
    }

    fn time_out(&mut self, cx: &mut ClientCx) -> Vec<Answer<P>> {
        let mut answers = Vec::new();
        while let Some(request) = self.in_flight.values().find(|request| request.due_ms <= cx.now) {
            let (node, cause) = (request.node.clone(), request.cause);
            cx.timer_due(Timer::RequestTimeout, cause);
            cx.out.push(ClientOutput::Disconnect { node: node.clone() });
            answers.extend(self.lost(cx, &node, "a request was not answered in time", true));
        }
        answers
    }

    /// What the node says makes no sense: the connection is closed.
    fn broken(&mut self, cx: &mut ClientCx, node: &Node, why: &str) -> Vec<Answer<P>> {
        cx.out.push(ClientOutput::Disconnect { node: node.clone() });
        self.lost(cx, node, why, false)
    }

    /// The connection is gone: everything awaited on it will not come.
    fn lost(&mut self, cx: &mut ClientCx, node: &Node, why: &str, timed_out: bool) -> Vec<Answer<P>> {
        let connection = self.connections.entry(node.clone()).or_default();
        let unanswered = std::mem::take(&mut connection.in_flight);
        let again_ms = cx.now + self.reconnect_backoff.backoff_ms(connection.failures, cx.rng);
        connection.failures += 1;
        connection.state = State::Closed;
        connection.not_before = again_ms;
        connection.last_attempt_ms = cx.now;
        connection.throttled_until = 0;
        cx.cause = cx.emit(|| {
            Fact::Client(ClientFact::ConnectionLost {
                node: node.id,
                unanswered,
                again_ms,
                why: why.to_owned(),
            })
        });
        let failed: Vec<_> = self
            .in_flight
            .extract_if(.., |_, request| request.node == *node)
            .collect();
        let answers = failed.into_iter().filter_map(|(_, request)| {
            Some(Answer {
                node: node.clone(),
                purpose: request.purpose?,
                version: request.sent.version,
                sent_ms: request.sent_ms,
                result: Err(if timed_out {
                    NetworkError::TimedOut { node: node.id }
                } else {
                    NetworkError::Disconnected {
                        node: node.id,
                        why: why.to_owned(),
                    }
                }),
            })
        });
        answers.collect()
    }
}

/// Versions by API key. A count that the answer has is one that its bytes held.
fn rows(answer: &ApiVersionsResponse) -> OrderedMap<i16, (i16, i16)> {
    let rows = answer.api_keys.iter();
    rows.map(|row| (row.api_key, (row.min_version, row.max_version)))
        .collect()
}

#[cfg(test)]
mod tests;
