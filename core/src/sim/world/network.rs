//! Connections and links: who can reach whom, and how long it takes.
//!
//! What travels is what a socket would carry: whole frames, in order, within a connection of two ends.
//! A *link* is the way from one node to another, in one direction. On a link that is cut nothing gets
//! through, and nothing is lost yet: as with TCP, the bytes are sent again and again, and arrive when
//! the link is healed, unless the connection was given up meanwhile.
//!
//! Invariants
//! - packets of one connection and direction arrive in the order in which they were sent
//! - an end that is closed takes no packet

use std::collections::VecDeque;

use bytes::Bytes;

use super::agenda::Life;
use crate::client::Node;
use crate::io::{ConnId, Peer, RequestId, SendId};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::SentAs;
use crate::trace::{EventId, NodeId};
use crate::types::{BrokerId, Millis, Rng};

/// Numbers a packet; never given twice.
pub type PacketId = u64;

/// Something on its way along a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub id: PacketId,
    pub conn: ConnId,
    /// From the end that connected to the one that accepted.
    pub to_server: bool,
    pub content: Content,
    /// The fact that it was sent.
    pub sent: EventId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A request or an answer, its length included.
    Frame(Bytes),
    /// The other end is gone (FIN or RST).
    Closed,
}

/// Who connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// It has a connection for each node and lane that it knows.
    Client { client: NodeId, node: Node },
    /// A copy of a client's request, whose answer nobody reads.
    Echo(NodeId),
    Broker {
        broker: BrokerId,
        life: Life,
        peer: Peer,
    },
}

impl Caller {
    pub fn node(&self) -> NodeId {
        match self {
            Caller::Client { client: node, .. } | Caller::Echo(node) => *node,
            Caller::Broker { broker, .. } => *broker as NodeId,
        }
    }
}

/// A request whose answer is awaited.
#[derive(Clone, Debug)]
pub struct Awaited {
    /// The broker's number, or the client's.
    pub id: SendId,
    pub sent: SentAs,
    pub sent_ms: Millis,
    /// That it was sent.
    pub cause: EventId,
}

/// A frame that came, its length taken off.
#[derive(Clone, Debug)]
pub struct Request {
    pub frame: Bytes,
    /// That it arrived.
    pub cause: EventId,
}

/// A request that its server has yet to answer.
#[derive(Clone, Copy, Debug)]
pub struct Unanswered {
    pub is_produce: bool,
    /// That it arrived.
    pub cause: EventId,
}

/// A connection, with what each end knows of it.
#[derive(Clone, Debug)]
pub struct Connection {
    pub caller: Caller,
    pub server: BrokerId,
    pub server_life: Life,
    pub caller_open: bool,
    pub server_open: bool,
    /// In the order in which they were sent, and so in the order of their answers.
    pub awaited: VecDeque<Awaited>,
    /// Frames that came and may not be admitted yet.
    pub inbound: VecDeque<Request>,
    /// Of the next request that is admitted.
    pub next_request: RequestId,
    /// Admitted and not answered.
    pub unanswered: OrderedMap<RequestId, Unanswered>,
    /// Answers that must wait for earlier ones; `None` for one with no bytes.
    pub answers: OrderedMap<RequestId, Option<Bytes>>,
    pub next_answer: RequestId,
    /// Nothing arrives sooner than what was sent before: to the server, to the caller.
    last_arrival: [Millis; 2],
}

impl Connection {
    pub fn new(caller: Caller, server: BrokerId, server_life: Life) -> Self {
        Self {
            caller,
            server,
            server_life,
            caller_open: true,
            server_open: true,
            awaited: VecDeque::new(),
            inbound: VecDeque::new(),
            next_request: 0,
            unanswered: OrderedMap::new(),
            answers: OrderedMap::new(),
            next_answer: 0,
            last_arrival: [0; 2],
        }
    }

    /// The nodes that a packet goes from and to.
    pub fn way(&self, to_server: bool) -> (NodeId, NodeId) {
        let (caller, server) = (self.caller.node(), self.server as NodeId);
        if to_server {
            (caller, server)
        } else {
            (server, caller)
        }
    }
}

/// All links and connections.
#[derive(Clone, Debug)]
pub struct Network {
    pub connections: OrderedMap<ConnId, Connection>,
    /// How long a packet takes: at least, and at most.
    pub delay_ms: (Millis, Millis),
    next_conn: ConnId,
    next_packet: PacketId,
    cut: OrderedSet<(NodeId, NodeId)>,
    /// On a link that is cut, in the order in which they were sent.
    held: OrderedMap<(NodeId, NodeId), Vec<Packet>>,
}

impl Network {
    pub fn new(delay_ms: (Millis, Millis)) -> Self {
        Self {
            connections: OrderedMap::new(),
            delay_ms,
            next_conn: 0,
            next_packet: 0,
            cut: OrderedSet::new(),
            held: OrderedMap::new(),
        }
    }

    pub fn connect(&mut self, connection: Connection) -> ConnId {
        self.next_conn += 1;
        self.connections.insert(self.next_conn, connection);
        self.next_conn
    }

    pub fn get(&self, conn: ConnId) -> Option<&Connection> {
        self.connections.get(&conn)
    }

    pub fn get_mut(&mut self, conn: ConnId) -> Option<&mut Connection> {
        self.connections.get_mut(&conn)
    }

    /// The open connection of this caller to that broker.
    pub fn find(&self, caller: &Caller, server: BrokerId) -> Option<ConnId> {
        let is_it = |c: &Connection| c.caller_open && c.server == server && c.caller == *caller;
        let mut all = self.connections.iter();
        all.find(|(_, connection)| is_it(connection)).map(|(&id, _)| id)
    }

    /// A packet for the connection, with its number.
    pub fn packet(&mut self, conn: ConnId, to_server: bool, content: Content) -> Packet {
        self.next_packet += 1;
        Packet {
            id: self.next_packet,
            conn,
            to_server,
            content,
            sent: EventId::NONE,
        }
    }

    /// How long something takes from one node to another.
    pub fn draw_delay(&self, rng: &mut Rng) -> Millis {
        let (least, most) = self.delay_ms;
        least + rng.below((most - least + 1).max(1) as u64) as Millis
    }

    /// When a packet that is sent now arrives: after its delay, and after what went before it.
    pub fn arrival(&mut self, conn: ConnId, to_server: bool, now: Millis, rng: &mut Rng) -> Millis {
        let at = now + self.draw_delay(rng);
        let Some(connection) = self.connections.get_mut(&conn) else {
            return at;
        };
        let last = &mut connection.last_arrival[usize::from(!to_server)];
        *last = at.max(*last);
        *last
    }

    /// What is sent along this direction from now on arrives no sooner.
    pub fn not_before(&mut self, conn: ConnId, to_server: bool, at: Millis) {
        if let Some(connection) = self.connections.get_mut(&conn) {
            let last = &mut connection.last_arrival[usize::from(!to_server)];
            *last = at.max(*last);
        }
    }

    pub fn cut(&mut self, from: NodeId, to: NodeId) -> bool {
        self.cut.insert((from, to))
    }

    /// The packets that waited for it.
    pub fn heal(&mut self, from: NodeId, to: NodeId) -> Option<Vec<Packet>> {
        let was_cut = self.cut.remove(&(from, to));
        was_cut.then(|| self.held.remove(&(from, to)).unwrap_or_default())
    }

    pub fn is_cut(&self, from: NodeId, to: NodeId) -> bool {
        self.cut.contains(&(from, to))
    }

    /// Every link that is cut.
    pub fn cuts(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        self.cut.iter().copied()
    }

    pub fn hold(&mut self, from: NodeId, to: NodeId, packet: Packet) {
        self.held.entry((from, to)).or_default().push(packet);
    }

    /// Packets on links that are cut.
    pub fn held(&self) -> impl Iterator<Item = &Packet> {
        self.held.values().flatten()
    }

    /// Forgets connections whose ends are both closed, with what is held of them; the packets that are
    /// lost by it.
    pub fn sweep(&mut self) -> Vec<Packet> {
        let gone = |connection: &Connection| !connection.caller_open && !connection.server_open;
        if !self.connections.values().any(gone) {
            return Vec::new();
        }
        self.connections.retain(|_, connection| !gone(connection));
        let connections = &self.connections;
        let mut lost = Vec::new();
        for packets in self.held.values_mut() {
            packets.retain(|packet| {
                let kept = connections.contains_key(&packet.conn);
                if !kept {
                    lost.push(packet.clone());
                }
                kept
            });
        }
        lost
    }

    /// The first time at which an awaited answer is overdue, and on which connection.
    pub fn next_overdue(&self, timeout_ms: impl Fn(&Connection) -> Millis) -> Option<(Millis, ConnId)> {
        let open = self.connections.iter().filter(|(_, c)| c.caller_open);
        let due = open.filter_map(|(&id, c)| Some((c.awaited.front()?.sent_ms + timeout_ms(c), id)));
        due.min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ClientLane;

    fn network() -> (Network, ConnId) {
        let mut network = Network::new((1, 5));
        let node = Node {
            id: 1,
            host: "broker".into(),
            port: 1,
            lane: ClientLane::Data,
        };
        let caller = Caller::Client { client: 101, node };
        let conn = network.connect(Connection::new(caller, 1, 1));
        (network, conn)
    }

    #[test]
    fn packets_of_a_connection_never_overtake_each_other() {
        let (mut network, conn) = network();
        let mut rng = Rng::new(1);
        let arrivals: Vec<_> = (0..200)
            .map(|now| network.arrival(conn, true, now, &mut rng))
            .collect();
        assert!(arrivals.is_sorted());
        assert!((0..).zip(&arrivals).all(|(now, &at)| at > now && at <= now + 5));
    }

    #[test]
    fn a_link_is_cut_in_one_direction_and_gives_back_what_it_held() {
        let (mut network, conn) = network();
        assert!(network.cut(101, 1));
        assert!(network.is_cut(101, 1) && !network.is_cut(1, 101));
        let packet = network.packet(conn, true, Content::Closed);
        network.hold(101, 1, packet.clone());
        assert_eq!(network.heal(101, 1), Some(vec![packet]));
        assert_eq!(network.heal(101, 1), None, "it was not cut any more");
    }

    #[test]
    fn what_a_dead_connection_held_is_lost() {
        let (mut network, conn) = network();
        let packet = network.packet(conn, true, Content::Frame(Bytes::new()));
        network.hold(101, 1, packet.clone());
        assert!(network.sweep().is_empty());
        let connection = network.get_mut(conn).unwrap();
        (connection.caller_open, connection.server_open) = (false, false);
        assert_eq!(network.sweep(), [packet]);
        assert!(network.connections.is_empty());
    }
}
