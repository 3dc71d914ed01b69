//! A client's connections to a broker in memory. A connection carries one request at a time, as a broker
//! serves it; what is behind it waits. A test may cut a connection, or let the wire lose an answer.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::client::{ClientInput, ClientOutput, Node};
use crate::io::{ConnId, RequestId};
use crate::ordered::OrderedMap;
use crate::protocol::SendId;
use crate::sim::Host;
use crate::sim::host::Answer;

#[derive(Debug, Default)]
struct Connection {
    id: Option<ConnId>,
    waiting: VecDeque<(SendId, Bytes)>,
    awaited: Option<(SendId, RequestId)>,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Wires {
    connections: OrderedMap<Node, Connection>,
    /// The broker's answers stay on the wire.
    pub holds_answers: bool,
}

impl Wires {
    /// Carries what the client wants as far as it goes at once; what that makes the client hear, and
    /// whether anything moved.
    pub fn carry(&mut self, host: &mut Host, out: &mut Vec<ClientOutput>) -> (Vec<ClientInput>, bool) {
        let moved = self.send(host, out);
        let heard = self.hear(host);
        let moved = moved || !heard.is_empty();
        (heard, moved)
    }

    fn send(&mut self, host: &mut Host, out: &mut Vec<ClientOutput>) -> bool {
        let mut moved = !out.is_empty();
        for output in std::mem::take(out) {
            match output {
                ClientOutput::Send { to, id, frame, .. } => {
                    let connection = self.connections.entry(to).or_default();
                    connection.waiting.push_back((id, frame.slice(4..)));
                }
                ClientOutput::Disconnect { node } => self.close(host, &node),
            }
        }
        for connection in self.connections.values_mut() {
            if connection.awaited.is_some() {
                continue;
            }
            if let Some((id, frame)) = connection.waiting.pop_front() {
                let conn = *connection.id.get_or_insert_with(|| host.connect());
                connection.awaited = Some((id, host.send_frame(conn, &frame)));
                moved = true;
            }
        }
        moved
    }

    fn hear(&mut self, host: &mut Host) -> Vec<ClientInput> {
        let mut inputs = Vec::new();
        for connection in self.connections.values_mut() {
            let (Some((id, request)), Some(conn)) = (connection.awaited, connection.id) else {
                continue;
            };
            if let Some(why) = host.closed(conn) {
                panic!("the broker closes a connection: {why}");
            }
            if self.holds_answers {
                continue;
            }
            let frame = match host.raw_answer(conn, request) {
                Some(Answer::Frame(frame)) => frame,
                // Of a request that is not answered the client hears that it was written.
                Some(Answer::Nothing) => Bytes::new(),
                None => continue,
            };
            connection.awaited = None;
            inputs.push(ClientInput::Response { id, frame });
        }
        inputs
    }

    fn close(&mut self, host: &mut Host, node: &Node) {
        if let Some(conn) = self.connections.remove(node).and_then(|c| c.id) {
            host.disconnect(conn);
        }
    }

    /// Every connection is gone, with what waits on it: what the client hears of that.
    pub fn cut(&mut self, host: &mut Host, why: &str) -> Vec<ClientInput> {
        let nodes: Vec<Node> = self.connections.keys().cloned().collect();
        nodes.iter().for_each(|node| self.close(host, node));
        self.lost(nodes, why)
    }

    /// The broker is gone, and with it every connection.
    pub fn broker_died(&mut self) -> Vec<ClientInput> {
        let nodes = std::mem::take(&mut self.connections).into_keys().collect();
        self.lost(nodes, "connection reset")
    }

    fn lost(&self, nodes: Vec<Node>, why: &str) -> Vec<ClientInput> {
        let nodes = nodes.into_iter();
        let lost = nodes.map(|node| ClientInput::Disconnected {
            node,
            why: why.to_owned(),
        });
        lost.collect()
    }
}
