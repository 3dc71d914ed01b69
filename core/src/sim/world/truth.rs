//! What is: read from the brokers themselves, to compare with what the facts tell.

use super::World;
use super::agenda::Happening;
use super::client::{ClientNode, Role};
use super::network::{Content, Packet, PacketId};
use super::node::BrokerNode;
use crate::broker::{Broker, ReplicaState};
use crate::disk::DirId;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::sim::invariants::scan;
use crate::trace::NodeId;
use crate::types::{BrokerId, NO_EPOCH, Offset, TopicPartition};
use crate::view::{
    BatchList, BatchSpan, BrokerView, ClientView, ClusterView, ReplicaView, RoleView, StoredView, TreeView,
    Watched,
};

/// The log directory that worlds have.
const DIR: DirId = 0;

/// "Nobody", where a broker's number stands.
const NOBODY: i32 = -1;

/// What brokers and clients know themselves; packets are compared by [`World::packets_under_way`], logs by
/// [`true_batches`], the coordination service's part by [`true_stored`] and [`true_tree`].
pub fn true_state(world: &World) -> ClusterView {
    ClusterView {
        brokers: world.brokers().map(|node| (node.id, broker(node))).collect(),
        coordination_up: world.coordination().is_running(),
        cut: world.network().cuts().collect(),
        clients: world.clients().map(|node| (node.id, client(node))).collect(),
        ..ClusterView::default()
    }
}

fn broker(node: &BrokerNode) -> BrokerView {
    let replicas = node.broker.as_ref().map(|broker| broker.replicas());
    let replicas = replicas.into_iter().flatten();
    BrokerView {
        up: node.is_running(),
        paused: node.paused,
        clock_ahead_ms: node.skew_ms,
        disk_delay_ms: node.disk_delay_ms,
        disk_filled: node.disk.is_filled(DIR),
        controller_epoch: node.broker.as_ref().and_then(Broker::controller_epoch),
        replicas: replicas
            .map(|state| (state.partition.clone(), replica(&state)))
            .collect(),
    }
}

fn client(node: &ClientNode) -> ClientView {
    let (acknowledged, failed) = match &node.role {
        Role::Producer(producer) => (producer.acknowledged, producer.failed),
        Role::Consumer(_) | Role::Admin(_) => (0, 0),
    };
    let assigned = match &node.role {
        Role::Consumer(consumer) if !node.is_dead => consumer.positions(),
        _ => OrderedMap::new(),
    };
    ClientView {
        kind: node.role.kind(),
        dead: node.is_dead,
        acknowledged,
        failed,
        assigned,
    }
}

fn replica(state: &ReplicaState) -> ReplicaView {
    let role = match (&state.leads_with_isr, state.leader_epoch) {
        (Some(isr), _) => RoleView::Leader {
            isr: isr.clone(),
            followers: state
                .followers
                .iter()
                .map(|&(id, end)| (id, heard(end)))
                .collect(),
            proposed: state.proposed.clone(),
        },
        (None, NO_EPOCH) => RoleView::Untold,
        (None, _) => RoleView::Follower {
            leader: state.follows.unwrap_or(NOBODY),
        },
    };
    ReplicaView {
        log_start: state.log_start,
        log_end: state.log_end,
        high_watermark: state.high_watermark,
        leader_epoch: state.leader_epoch,
        role,
        ..ReplicaView::default()
    }
}

/// -1 stands before a follower's first fetch.
fn heard(log_end: Offset) -> Option<Offset> {
    (log_end >= 0).then_some(log_end)
}

/// The batches of a replica's log, written or not, as its files and what it has yet to write say.
pub fn true_batches(world: &World, broker: BrokerId, partition: &TopicPartition) -> BatchList {
    let Some(node) = world.broker(broker) else {
        return BatchList::default();
    };
    let segments = scan::segments(&node.disk, partition).into_iter();
    let batches = segments.flat_map(|segment| {
        let base = segment.base;
        segment.marks.into_iter().map(move |mark| BatchSpan {
            base: mark.base,
            last: mark.last,
            epoch: mark.epoch,
            segment: base,
        })
    });
    batches.collect()
}

/// What the coordination tree has; `None` while the service is down.
pub fn true_stored(world: &World) -> Option<StoredView> {
    let service = world.coordination().service.as_ref()?;
    let nodes = service.tree().iter();
    let nodes = nodes.filter_map(|(path, node)| Some((&**path, std::str::from_utf8(&node.data).ok()?)));
    Some(StoredView::of(nodes))
}

/// What hangs on sessions there; `None` while the service is down.
pub fn true_tree(world: &World) -> Option<TreeView> {
    let service = world.coordination().service.as_ref()?;
    let mut tree = TreeView::default();
    for (path, node) in service.tree().iter() {
        let data = std::str::from_utf8(&node.data).unwrap_or_default();
        tree.put(path, data, node.stat.ephemeral_owner);
    }
    let connected: OrderedSet<_> = service.connected_sessions().collect();
    for (session, timeout_ms) in service.sessions() {
        tree.open(session, timeout_ms, connected.contains(&session));
    }
    for watched in [Watched::Controller, Watched::BrokerIds] {
        let watchers = service.watchers(watched.path(), watched.is_of_children());
        tree.watches.extend(watchers.map(|session| (watched, session)));
    }
    Some(tree)
}

impl World {
    /// Requests and answers that were sent, and neither arrived nor are lost; the nodes that each goes
    /// from and to, as long as its connection is known, and its bytes.
    pub fn packets_under_way(&self) -> OrderedMap<PacketId, (Option<(NodeId, NodeId)>, u32)> {
        let is_frame = |packet: &&Packet| matches!(packet.content, Content::Frame(_));
        let flying = self.agenda.packets().map(|(_, packet)| packet);
        let waiting = self.brokers.values().flat_map(|node| &node.backlog);
        let waiting = waiting.filter_map(|what| match what {
            Happening::Arrival(packet) => Some(packet),
            _ => None,
        });
        let all = flying.chain(waiting).chain(self.network.held());
        let under_way = all.filter(is_frame).map(|packet| {
            let connection = self.network.get(packet.conn);
            let bytes = match &packet.content {
                Content::Frame(frame) => frame.len() as u32,
                Content::Closed => 0,
            };
            (packet.id, (connection.map(|c| c.way(packet.to_server)), bytes))
        });
        under_way.collect()
    }
}
