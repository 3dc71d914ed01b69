//! What can be done to a world: everything that a reader, a script or chance may do.

use std::collections::VecDeque;

use bytes::Bytes;

use super::agenda::Happening;
use super::network::{Caller, Connection, Content, PacketId};
use super::node::Down;
use super::shared::make_mut;
use super::{COORDINATION, World};
use crate::disk::memory::Fault;
use crate::io::{ConnId, Input};
use crate::protocol::ApiKey;
use crate::trace::{EventId, NodeId, WorldFact};
use crate::types::{BrokerId, Millis};

impl World {
    /// Starts a broker that is down; false if it runs, or there is none.
    pub fn start_broker(&mut self, id: BrokerId) -> bool {
        if self.broker(id).is_none_or(|node| node.down.is_none()) {
            return false;
        }
        let cause = self.emit(EventId::NONE, WorldFact::BrokerStarted { broker: id });
        let now = self.now;
        let outputs = self.broker_mut(id).map(|node| node.start(now, cause));
        let mut inputs = VecDeque::new();
        self.carry_all(id, cause, outputs.unwrap_or_default(), &mut inputs);
        for (input, cause) in inputs {
            self.drive(id, cause, input);
        }
        true
    }

    /// kill -9: what was written stays; whoever is connected is told by the machine.
    pub fn crash(&mut self, id: BrokerId) -> bool {
        self.goes_down(id, Down::Process)
    }

    /// The machine loses power: what was not synced is gone, and nobody is told anything.
    pub fn lose_power(&mut self, id: BrokerId) -> bool {
        if !self.goes_down(id, Down::Power) {
            return false;
        }
        if let Some(node) = self.broker_mut(id) {
            node.disk.power_loss();
        }
        true
    }

    /// The same, and of what was not synced the medium may have taken any part.
    pub fn lose_power_keeping(&mut self, id: BrokerId) -> bool {
        if !self.goes_down(id, Down::Power) {
            return false;
        }
        let mut rng = self.rng.clone();
        if let Some(node) = self.broker_mut(id) {
            node.disk.power_loss_keeping(&mut rng);
        }
        self.rng = rng;
        true
    }

    fn goes_down(&mut self, id: BrokerId, down: Down) -> bool {
        if self.broker(id).is_none_or(|node| !node.is_running()) {
            return false;
        }
        let broker_crashed = WorldFact::BrokerCrashed {
            broker: id,
            power_lost: down == Down::Power,
        };
        let cause = self.emit(EventId::NONE, broker_crashed);
        self.leave(id, down, cause);
        true
    }

    /// Ends a broker's process, and its ends of connections with it.
    fn leave(&mut self, id: BrokerId, down: Down, cause: EventId) {
        let backlog = self.broker_mut(id).map(|node| std::mem::take(&mut node.backlog));
        for what in backlog.into_iter().flatten() {
            if let Happening::Arrival(packet) = what {
                self.lose(&packet, "its receiver is gone", cause);
            }
        }
        if let Some(node) = self.broker_mut(id) {
            node.die(down);
        }
        let own: Vec<(ConnId, bool)> = self
            .network
            .connections
            .iter()
            .filter_map(|(&conn, c)| {
                let serves = c.server == id && c.server_open;
                let calls =
                    c.caller_open && matches!(c.caller, Caller::Broker { broker, .. } if broker == id);
                (serves || calls).then_some((conn, serves))
            })
            .collect();
        for (conn, serves) in own {
            if let Some(connection) = self.network_mut().get_mut(conn) {
                if serves {
                    connection.server_open = false;
                    connection.inbound.clear();
                } else {
                    connection.caller_open = false;
                    connection.awaited.clear();
                }
            }
            if down == Down::Process {
                self.send_close(conn, !serves, cause);
            }
        }
        self.session_owner_left(id, down == Down::Process, cause);
        self.sweep();
    }

    /// kill -9 of a client: it says nothing any more, and its machine closes its connections.
    pub fn kill_client(&mut self, id: NodeId) -> bool {
        if self.client(id).is_none_or(|client| client.is_dead) {
            return false;
        }
        let cause = self.emit(EventId::NONE, WorldFact::ClientKilled { client: id });
        if let Some(client) = self.clients.get_mut(&id).map(make_mut) {
            client.is_dead = true;
            client.note_timeout();
        }
        self.close_calling_ends(cause, |caller| {
            !matches!(caller, Caller::Broker { .. }) && caller.node() == id
        });
        true
    }

    /// SIGTERM: the broker stops in order, when it has handed everything over.
    pub fn shut_down(&mut self, id: BrokerId) -> bool {
        if self.broker(id).is_none_or(|node| !node.is_running()) {
            return false;
        }
        let cause = self.emit(EventId::NONE, WorldFact::StopAsked { broker: id });
        self.drive(id, cause, Input::Shutdown);
        true
    }

    /// The broker has stopped.
    pub(super) fn stopped(&mut self, broker: BrokerId, failed: Option<String>, cause: EventId) {
        let cause = self.emit(cause, WorldFact::BrokerStopped { broker, failed });
        self.leave(broker, Down::Process, cause);
    }

    /// SIGSTOP: the process does nothing, its machine takes in what comes.
    pub fn pause(&mut self, id: BrokerId) -> bool {
        let can = self
            .broker(id)
            .is_some_and(|node| node.is_running() && !node.paused);
        if let Some(node) = self.broker_mut(id).filter(|_| can) {
            node.paused = true;
            self.pause_session(id, true);
            self.emit(EventId::NONE, WorldFact::BrokerPaused { broker: id });
        }
        can
    }

    /// SIGCONT: all that came meanwhile is there at once.
    pub fn resume(&mut self, id: BrokerId) -> bool {
        let Some(node) = self.broker_mut(id).filter(|node| node.paused) else {
            return false;
        };
        node.paused = false;
        let backlog = std::mem::take(&mut node.backlog);
        // It looks at its clock again, and may find that an answer is overdue.
        self.none_overdue_before = self.now;
        self.pause_session(id, false);
        self.emit(EventId::NONE, WorldFact::BrokerResumed { broker: id });
        let now = self.now;
        backlog.into_iter().for_each(|what| self.plan(now, what));
        true
    }

    /// Nothing gets from one node to the other any more; the other direction works on.
    pub fn cut_one_way(&mut self, from: NodeId, to: NodeId) {
        if self.network_mut().cut(from, to) {
            self.emit(EventId::NONE, WorldFact::LinkCut { from, to });
        }
    }

    pub fn cut(&mut self, a: NodeId, b: NodeId) {
        self.cut_one_way(a, b);
        self.cut_one_way(b, a);
    }

    /// Cuts a node off from everybody, in both directions.
    pub fn isolate(&mut self, node: NodeId) {
        for other in self.nodes() {
            if other != node {
                self.cut(node, other);
            }
        }
    }

    pub fn heal_one_way(&mut self, from: NodeId, to: NodeId) {
        let Some(held) = self.network_mut().heal(from, to) else {
            return;
        };
        self.emit(EventId::NONE, WorldFact::LinkHealed { from, to });
        self.release(held);
        self.release_sessions(from, to);
    }

    /// Heals every link.
    pub fn heal(&mut self) {
        for (from, to) in self.network.cuts().collect::<Vec<_>>() {
            self.heal_one_way(from, to);
        }
    }

    /// Every node of the network.
    pub fn nodes(&self) -> Vec<NodeId> {
        let brokers = self.brokers.keys().map(|&id| id as NodeId);
        let clients = self.clients.keys().copied();
        brokers.chain(clients).chain([COORDINATION]).collect()
    }

    /// The packet never arrives, and its connection breaks.
    pub fn drop_packet(&mut self, id: PacketId) -> bool {
        let Some((_, packet)) = make_mut(&mut self.agenda).take_packet(id) else {
            return false;
        };
        self.lose(&packet, "dropped", packet.sent);
        self.send_close(packet.conn, false, packet.sent);
        self.send_close(packet.conn, true, packet.sent);
        true
    }

    /// The packet, and what follows it on its connection, comes so much later.
    pub fn delay_packet(&mut self, id: PacketId, by_ms: Millis) -> bool {
        let Some((at, packet)) = make_mut(&mut self.agenda).take_packet(id) else {
            return false;
        };
        let (conn, to_server) = (packet.conn, packet.to_server);
        let at = at + by_ms;
        self.emit(packet.sent, WorldFact::PacketDelayed { packet: id, by_ms });
        // What was sent after it and is under way keeps its place behind it.
        let behind: Vec<PacketId> = self
            .agenda
            .packets()
            .filter(|(_, other)| other.conn == conn && other.to_server == to_server && other.id > id)
            .map(|(_, other)| other.id)
            .collect();
        self.plan(at, Happening::Arrival(packet));
        for other in behind {
            if let Some((due, packet)) = make_mut(&mut self.agenda).take_packet(other) {
                self.plan(due.max(at), Happening::Arrival(packet));
            }
        }
        self.network_mut().not_before(conn, to_server, at);
        true
    }

    /// A client's request comes a second time, on a connection of its own, as after a retry whose first
    /// try was not lost after all.
    pub fn duplicate_packet(&mut self, id: PacketId) -> bool {
        let found = self.agenda.packets().find(|(_, packet)| packet.id == id);
        let Some((at, packet)) = found.filter(|(_, packet)| packet.to_server) else {
            return false;
        };
        let (content, sent) = (packet.content.clone(), packet.sent);
        let Some(connection) = self.network.get(packet.conn) else {
            return false;
        };
        let client = match connection.caller {
            Caller::Client { client, .. } => client,
            Caller::Echo(_) | Caller::Broker { .. } => return false,
        };
        let (server, life) = (connection.server, connection.server_life);
        let (what, bytes) = match &content {
            Content::Frame(frame) => (name_of_request(frame), frame.len() as u32),
            Content::Closed => return false,
        };
        let carries = match &content {
            Content::Frame(frame) => self.carried(connection, true, frame),
            Content::Closed => Vec::new(),
        };
        let cause = self.emit(sent, WorldFact::PacketDuplicated { packet: id });
        let network = self.network_mut();
        let conn = network.connect(Connection::new(Caller::Echo(client), server, life));
        let mut copy = network.packet(conn, true, content);
        copy.sent = self.emit(
            cause,
            WorldFact::PacketSent {
                packet: copy.id,
                from: client,
                to: server as NodeId,
                what,
                bytes,
                carries,
            },
        );
        self.plan(at, Happening::Arrival(copy));
        true
    }

    /// From now on each disk operation of the broker takes so long.
    pub fn slow_disk(&mut self, broker: BrokerId, delay_ms: Millis) {
        if let Some(node) = self.broker_mut(broker) {
            node.disk_delay_ms = delay_ms;
            self.emit(EventId::NONE, WorldFact::DiskSlowed { broker, delay_ms });
        }
    }

    /// So many bytes more fit on the broker's disk.
    pub fn fill_disk(&mut self, broker: BrokerId, left_bytes: u64) {
        if let Some(node) = self.broker_mut(broker) {
            node.disk.fail(0, Fault::FullAfter { bytes: left_bytes });
            self.emit(EventId::NONE, WorldFact::DiskFilled { broker, left_bytes });
        }
    }

    /// The disk works again, from the next start on.
    pub fn mend_disk(&mut self, broker: BrokerId) {
        if let Some(node) = self.broker_mut(broker) {
            node.disk.mend(0);
            self.emit(
                EventId::NONE,
                WorldFact::DiskFilled {
                    broker,
                    left_bytes: u64::MAX,
                },
            );
        }
    }

    /// The broker's clock is so far ahead of the others from now on.
    pub fn skew_clock(&mut self, broker: BrokerId, by_ms: Millis) {
        if let Some(node) = self.broker_mut(broker) {
            node.skew_ms = by_ms;
            self.emit(EventId::NONE, WorldFact::ClockSkewed { broker, by_ms });
        }
    }
}

/// Kafka's name of a request's API, from its frame with the length.
fn name_of_request(frame: &Bytes) -> String {
    let code = frame.get(4..6).and_then(|code| code.first_chunk());
    let api = code.and_then(|code| ApiKey::from_code(i16::from_be_bytes(*code)));
    api.map_or(String::new(), |api| api.name().to_owned())
}
