//! Packets on their way, and what each end of a connection does with them.
//!
//! A broker's end keeps Kafka's order with pipelining, as the native program does: produces may be
//! admitted behind unanswered produces, any other request waits until nothing is unanswered; answers
//! leave in the order of their requests.

use std::collections::VecDeque;

use bytes::Bytes;

use super::World;
use super::agenda::Happening;
use super::network::{Awaited, Caller, Connection, Content, Packet, Request, Unanswered};
use super::node::Down;
use super::shared::make_mut;
use crate::broker::admit_answer;
use crate::client::{ClientInput, Node};
use crate::io::{ConnId, Input, Peer, RequestId, SendId};
use crate::protocol::{ApiKey, SentAs};
use crate::trace::{EventId, NodeId, WorldFact};
use crate::types::BrokerId;

/// Bytes of a frame's length.
const LENGTH: usize = 4;
/// Produces admitted at once on one connection.
const PIPELINE: usize = 64;

impl World {
    /// Puts a packet on its way, or keeps it while its link is cut.
    pub(super) fn dispatch(&mut self, mut packet: Packet, what: Option<String>, cause: EventId) {
        let Some(connection) = self.network.get(packet.conn) else {
            return;
        };
        let (from, to) = connection.way(packet.to_server);
        if let (Content::Frame(bytes), Some(what)) = (&packet.content, what) {
            let packet_sent = WorldFact::PacketSent {
                packet: packet.id,
                from,
                to,
                what,
                bytes: bytes.len() as u32,
                carries: self.carried(connection, packet.to_server, bytes),
            };
            packet.sent = self.emit(cause, packet_sent);
        } else if packet.sent == EventId::NONE {
            packet.sent = cause;
        }
        if self.network.is_cut(from, to) {
            return self.network_mut().hold(from, to, packet);
        }
        let network = make_mut(&mut self.network);
        let at = network.arrival(packet.conn, packet.to_server, self.now, &mut self.rng);
        self.plan(at, Happening::Arrival(packet));
    }

    /// Sends again what a link held.
    pub(super) fn release(&mut self, packets: Vec<Packet>) {
        packets
            .into_iter()
            .for_each(|packet| self.dispatch(packet, None, EventId::NONE));
    }

    pub(super) fn arrive(&mut self, packet: Packet) -> bool {
        let Some(connection) = self.network.get(packet.conn) else {
            self.lose(&packet, "its connection was given up", packet.sent);
            return false;
        };
        let (from, to) = connection.way(packet.to_server);
        // Cut while it was under way.
        if self.network.is_cut(from, to) {
            self.network_mut().hold(from, to, packet);
            return false;
        }
        let (id, conn, to_server) = (packet.id, packet.conn, packet.to_server);
        let arrival = Happening::Arrival(packet.clone());
        if to_server {
            let (server, life) = (connection.server, connection.server_life);
            let down = self.broker(server).and_then(|node| node.down);
            if down == Some(Down::Power) {
                self.lose(&packet, "the machine is off", packet.sent);
                return false;
            }
            if down.is_some() || self.broker(server).is_some_and(|node| node.life != life) {
                return self.refuse(&packet);
            }
            if self.awake(server, life, arrival).is_none() {
                return false;
            }
        } else if let Caller::Broker { broker, life, .. } = connection.caller
            && self.awake(broker, life, arrival).is_none()
        {
            let waits = self
                .broker(broker)
                .is_some_and(|node| node.life == life && node.paused);
            if !waits {
                self.lose(&packet, "its receiver is gone", packet.sent);
            }
            return false;
        }
        match packet.content {
            Content::Closed if to_server => self.caller_left(conn, packet.sent),
            Content::Closed => self.server_left(conn, packet.sent),
            Content::Frame(frame) => {
                let cause = self.emit(packet.sent, WorldFact::PacketDelivered { packet: id });
                if to_server {
                    self.request_arrived(conn, &frame, cause);
                } else {
                    self.answer_arrived(conn, &frame, cause);
                }
            }
        }
        self.sweep();
        true
    }

    pub(super) fn lose(&mut self, packet: &Packet, why: &str, cause: EventId) {
        if matches!(packet.content, Content::Frame(_)) {
            let (packet, why) = (packet.id, why.to_owned());
            self.emit(cause, WorldFact::PacketLost { packet, why });
        }
    }

    /// Nobody listens there, or somebody who does not know this connection.
    pub(super) fn refuse(&mut self, packet: &Packet) -> bool {
        self.lose(packet, "nobody is there to take it", packet.sent);
        if let Some(connection) = self.network_mut().get_mut(packet.conn) {
            connection.server_open = false;
        }
        self.send_close(packet.conn, false, packet.sent);
        self.sweep();
        true
    }

    pub(super) fn send_close(&mut self, conn: ConnId, to_server: bool, cause: EventId) {
        if self.network.get(conn).is_some() {
            let packet = self.network_mut().packet(conn, to_server, Content::Closed);
            self.dispatch(packet, None, cause);
        }
    }

    pub(super) fn sweep(&mut self) {
        let gone = |c: &Connection| !c.caller_open && !c.server_open;
        if self.network.connections.values().any(gone) {
            for packet in self.network_mut().sweep() {
                self.lose(&packet, "its connection was given up", packet.sent);
            }
        }
    }

    // ---- a broker's end

    pub(super) fn request_arrived(&mut self, conn: ConnId, frame: &Bytes, cause: EventId) {
        let Some(connection) = self.network_mut().get_mut(conn) else {
            return;
        };
        if !connection.server_open || frame.len() < LENGTH {
            return;
        }
        let frame = frame.slice(LENGTH..);
        connection.inbound.push_back(Request { frame, cause });
        let server = connection.server;
        let mut inputs = VecDeque::new();
        self.admit_waiting(conn, &mut inputs);
        for (input, cause) in inputs {
            self.drive(server, cause, input);
        }
    }

    /// Admits what the connection's order allows.
    pub(super) fn admit_waiting(&mut self, conn: ConnId, inputs: &mut VecDeque<(Input, EventId)>) {
        loop {
            let Some(connection) = self.network_mut().get_mut(conn) else {
                return;
            };
            let server = connection.server;
            let Some(Request { frame, .. }) = connection.inbound.front() else {
                return;
            };
            let is_produce = frame.first_chunk() == Some(&(ApiKey::Produce as i16).to_be_bytes());
            let pipelined = is_produce
                && connection.unanswered.len() < PIPELINE
                && connection.unanswered.values().all(|other| other.is_produce);
            if !connection.unanswered.is_empty() && !pipelined {
                return;
            }
            let Some(Request { frame, cause }) = connection.inbound.pop_front() else {
                return;
            };
            let request: RequestId = connection.next_request;
            connection.next_request += 1;
            let unanswered = Unanswered { is_produce, cause };
            connection.unanswered.insert(request, unanswered);
            let now = self.now;
            let Some(admitted) = self.broker_mut(server).map(|node| node.admit(now, &frame)) else {
                return;
            };
            match admitted {
                Ok(admitted) => {
                    let input = Input::Request {
                        conn,
                        request,
                        listener: 0,
                        body: Box::new(admitted),
                    };
                    inputs.push_back((input, cause));
                }
                Err(error) => {
                    self.close_server_end(conn, &error.to_string(), cause);
                    inputs.push_back((Input::Disconnected { conn }, cause));
                    return;
                }
            }
        }
    }

    /// Sends what answers are there, in order.
    pub(super) fn send_answers(&mut self, conn: ConnId, cause: EventId) {
        loop {
            let Some(connection) = self.network_mut().get_mut(conn) else {
                return;
            };
            let request = connection.next_answer;
            let Some(answer) = connection.answers.remove(&request) else {
                return;
            };
            connection.next_answer += 1;
            let asked = connection.unanswered.remove(&request);
            // What the broker does by the clock, it does because it was asked.
            let cause = match asked {
                Some(asked) if cause == EventId::NONE => asked.cause,
                _ => cause,
            };
            let open = connection.server_open;
            let Some(frame) = answer.filter(|_| open) else {
                continue;
            };
            let what = self.name_of_answer(conn, &frame);
            let packet = self.network_mut().packet(conn, false, Content::Frame(frame));
            self.dispatch(packet, Some(what), cause);
        }
    }

    pub(super) fn name_of_answer(&self, conn: ConnId, frame: &Bytes) -> String {
        let id = correlation_id(frame);
        let connection = self.network.get(conn);
        let awaited = connection.and_then(|c| c.awaited.iter().find(|awaited| Some(awaited.id as i32) == id));
        let name = awaited.map_or("", |awaited| awaited.sent.api.name());
        format!("{name} answer")
    }

    pub(super) fn close_server_end(&mut self, conn: ConnId, why: &str, cause: EventId) {
        let Some(connection) = self.network_mut().get_mut(conn) else {
            return;
        };
        if std::mem::replace(&mut connection.server_open, false) {
            let (broker, caller) = (connection.server, connection.caller.node());
            let why = why.to_owned();
            let closed = self.emit(cause, WorldFact::ConnectionClosed { broker, caller, why });
            self.send_close(conn, false, closed);
        }
    }

    /// The caller closed its end, or died.
    pub(super) fn caller_left(&mut self, conn: ConnId, cause: EventId) {
        let Some(connection) = self.network_mut().get_mut(conn) else {
            return;
        };
        if std::mem::replace(&mut connection.server_open, false) {
            let server = connection.server;
            self.drive(server, cause, Input::Disconnected { conn });
        }
    }

    // ---- the calling end

    pub(super) fn send_to_peer(
        &mut self,
        id: BrokerId,
        to: Peer,
        send: SendId,
        sent: SentAs,
        frame: Bytes,
        cause: EventId,
    ) {
        let life = self.broker(id).map_or(0, |node| node.life);
        let server = to.broker;
        let caller = Caller::Broker {
            broker: id,
            life,
            peer: to,
        };
        self.send(caller, server, send, sent, true, frame, cause);
    }

    /// Sends a request over the caller's connection to the broker, which is made if there is none.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn send(
        &mut self,
        caller: Caller,
        server: BrokerId,
        id: SendId,
        sent: SentAs,
        answered: bool,
        frame: Bytes,
        cause: EventId,
    ) {
        let found = self.network.find(&caller, server);
        let conn = match found {
            Some(conn) => conn,
            None => {
                let life = self.broker(server).map_or(0, |node| node.life);
                self.network_mut().connect(Connection::new(caller, server, life))
            }
        };
        let now = self.now;
        if let Some(connection) = self.network_mut().get_mut(conn)
            && answered
        {
            connection.awaited.push_back(Awaited {
                id,
                sent,
                sent_ms: now,
                cause,
            });
        }
        let packet = self.network_mut().packet(conn, true, Content::Frame(frame));
        self.dispatch(packet, Some(sent.api.name().to_owned()), cause);
    }

    pub(super) fn answer_arrived(&mut self, conn: ConnId, frame: &Bytes, cause: EventId) {
        let Some(connection) = self.network_mut().get_mut(conn) else {
            return;
        };
        if !connection.caller_open {
            return;
        }
        let Some(awaited) = connection.awaited.pop_front() else {
            return;
        };
        let caller = connection.caller.clone();
        let body = frame.slice(LENGTH.min(frame.len())..);
        match caller {
            Caller::Client { client, .. } => {
                let id = awaited.id;
                let answer = ClientInput::Response { id, frame: body };
                self.drive_client(client, cause, |role, cx| role.handle(cx, &answer));
            }
            Caller::Echo(_) => {}
            Caller::Broker { broker, .. } => match admit_answer(&body, awaited.sent) {
                Ok(answer) => self.drive(
                    broker,
                    cause,
                    Input::Response {
                        id: awaited.id,
                        answer: Box::new(answer),
                    },
                ),
                Err(error) => {
                    let why = format!("the answer cannot be read: {error}");
                    self.drive(broker, cause, Input::SendFailed { id: awaited.id, why });
                    self.give_up(conn, "its answer cannot be read", cause);
                }
            },
        }
    }

    /// The caller closes its end: everything awaited will not come.
    pub(super) fn give_up(&mut self, conn: ConnId, why: &str, cause: EventId) {
        self.send_close(conn, true, cause);
        self.fail_awaited(conn, why, cause);
        self.sweep();
    }

    /// A client has no use for its connection to the node any more, and awaits nothing on it.
    pub(super) fn hang_up(&mut self, client: NodeId, node: &Node, cause: EventId) {
        let node = node.clone();
        self.close_calling_ends(cause, |caller| {
            *caller
                == Caller::Client {
                    client,
                    node: node.clone(),
                }
        });
    }

    /// These callers close their ends; what they awaited is nobody's any more.
    pub(super) fn close_calling_ends(&mut self, cause: EventId, of: impl Fn(&Caller) -> bool) {
        let open = self.network.connections.iter();
        let open = open.filter(|(_, connection)| connection.caller_open && of(&connection.caller));
        for conn in open.map(|(&conn, _)| conn).collect::<Vec<_>>() {
            if let Some(connection) = self.network_mut().get_mut(conn) {
                connection.caller_open = false;
                connection.awaited.clear();
            }
            self.send_close(conn, true, cause);
        }
        self.sweep();
    }

    /// The server closed its end, or died.
    pub(super) fn server_left(&mut self, conn: ConnId, cause: EventId) {
        self.fail_awaited(conn, "the connection is lost", cause);
    }

    /// Closes the calling end and tells whoever waits there.
    pub(super) fn fail_awaited(&mut self, conn: ConnId, why: &str, cause: EventId) {
        let Some(connection) = self.network_mut().get_mut(conn) else {
            return;
        };
        if !std::mem::replace(&mut connection.caller_open, false) {
            return;
        }
        let awaited = std::mem::take(&mut connection.awaited);
        let caller = connection.caller.clone();
        if let (Caller::Client { client, node }, true) = (&caller, awaited.is_empty()) {
            let (node, why) = (node.clone(), why.to_owned());
            let lost = ClientInput::Disconnected { node, why };
            self.drive_client(*client, cause, |role, cx| role.handle(cx, &lost));
        }
        for Awaited { id, .. } in awaited {
            match caller {
                Caller::Client { client, .. } => {
                    let why = why.to_owned();
                    let failed = ClientInput::SendFailed { id, why };
                    self.drive_client(client, cause, |role, cx| role.handle(cx, &failed));
                }
                Caller::Echo(_) => {}
                Caller::Broker { broker, life, .. } => {
                    if self.broker(broker).is_some_and(|node| node.life == life) {
                        let why = why.to_owned();
                        self.drive(broker, cause, Input::SendFailed { id, why });
                    }
                }
            }
        }
    }
}

fn correlation_id(frame: &Bytes) -> Option<i32> {
    let bytes = frame.get(LENGTH..)?.first_chunk()?;
    Some(i32::from_be_bytes(*bytes))
}
