//! What is: read from the brokers themselves, to compare with what the facts tell.

use std::collections::{BTreeMap, BTreeSet};

use super::World;
use super::agenda::Happening;
use super::network::{Content, Packet, PacketId};
use super::node::BrokerNode;
use crate::broker::ReplicaState;
use crate::types::NO_EPOCH;
use crate::view::{BrokerView, ClusterView, ReplicaView, RoleView};

/// "Nobody", where a broker's number stands.
const NOBODY: i32 = -1;

/// The cluster as it is; packets are compared by [`World::packets_under_way`].
pub fn true_state(world: &World) -> ClusterView {
    ClusterView {
        brokers: world.brokers().map(|node| (node.id, broker(node))).collect(),
        coordination_up: world.coordination().is_running(),
        cut: world.network().cuts().collect(),
        packets: BTreeMap::new(),
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
        replicas: replicas
            .map(|state| (state.partition.clone(), replica(&state)))
            .collect(),
    }
}

fn replica(state: &ReplicaState) -> ReplicaView {
    let role = match (&state.leads_with_isr, state.leader_epoch) {
        (Some(isr), _) => RoleView::Leader { isr: isr.clone() },
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
    }
}

impl World {
    /// Requests and answers that were sent, and neither arrived nor are lost.
    pub fn packets_under_way(&self) -> BTreeSet<PacketId> {
        let is_frame = |packet: &&Packet| matches!(packet.content, Content::Frame(_));
        let flying = self.agenda.packets().map(|(_, packet)| packet);
        let waiting = self.brokers.values().flat_map(|node| &node.backlog);
        let waiting = waiting.filter_map(|what| match what {
            Happening::Arrival(packet) => Some(packet),
            _ => None,
        });
        let all = flying.chain(waiting).chain(self.network.held());
        all.filter(is_frame).map(|packet| packet.id).collect()
    }
}
