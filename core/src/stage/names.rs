//! What a reader calls a node.

use crate::ordered::OrderedMap;
use crate::trace::{COORDINATION, ClientKind, NodeId};
use crate::view::ClusterView;

/// The names of a cluster's clients; brokers have numbers.
#[derive(Clone, Debug)]
pub struct Names {
    clients: OrderedMap<NodeId, String>,
}

impl Names {
    /// One producer is `producer`, several are `producer 1`, `producer 2`; consumers likewise.
    pub fn of(view: &ClusterView) -> Self {
        let mut clients = OrderedMap::new();
        let is_producer = |kind| matches!(kind, ClientKind::Producer { .. });
        let is_consumer = |kind| kind == ClientKind::Consumer;
        let is_admin = |kind| kind == ClientKind::Admin;
        name_all(view, "producer", is_producer, &mut clients);
        name_all(view, "consumer", is_consumer, &mut clients);
        name_all(view, "administrator", is_admin, &mut clients);
        Self { clients }
    }

    pub fn of_node(&self, node: NodeId) -> String {
        match self.clients.get(&node) {
            Some(name) => name.clone(),
            None if node == COORDINATION => "coordination".to_owned(),
            None => format!("broker {node}"),
        }
    }
}

fn name_all(
    view: &ClusterView,
    name: &str,
    fits: impl Fn(ClientKind) -> bool,
    names: &mut OrderedMap<NodeId, String>,
) {
    let ids: Vec<NodeId> = view
        .clients
        .iter()
        .filter(|(_, seen)| fits(seen.kind))
        .map(|(&id, _)| id)
        .collect();
    match ids[..] {
        [only] => {
            names.insert(only, name.to_owned());
        }
        _ => names.extend(
            (1..)
                .zip(ids)
                .map(|(number, id)| (id, format!("{name} {number}"))),
        ),
    }
}
