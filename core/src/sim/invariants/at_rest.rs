//! What must hold when all faults are over and the cluster has come to rest.

use super::ghost::Ghost;
use super::*;
use crate::types::{BrokerId, TopicPartition};
use crate::view::RoleView;

pub(super) fn check(ghost: &Ghost, world: &World, view: &ClusterView) -> Result<(), Broken> {
    for (partition, replicas) in &ghost.assigned {
        caught_up(view, partition, replicas)?;
        kept(ghost, world, partition, replicas)?;
    }
    ghost.members.all_owned(&ghost.assigned)
}

fn caught_up(view: &ClusterView, partition: &TopicPartition, replicas: &[BrokerId]) -> Result<(), Broken> {
    let broken = |why: String| Err(Broken::new(ALL_CAUGHT_UP, format!("{partition}: {why}")));
    let live = |id: &&BrokerId| view.brokers.get(id).is_some_and(|seen| seen.up);
    let Some(leader) = view.leader(partition) else {
        return broken("nobody leads".to_owned());
    };
    let Some(led) = view.replica(leader, partition) else {
        return broken(format!("broker {leader} leads without a replica"));
    };
    let RoleView::Leader { isr, .. } = &led.role else {
        return broken(format!("broker {leader} does not lead"));
    };
    for id in replicas.iter().filter(live) {
        let Some(replica) = view.replica(*id, partition) else {
            return broken(format!("broker {id} has no replica"));
        };
        if !isr.contains(id) {
            return broken(format!("broker {id} is not in the ISR {isr:?}"));
        }
        let ends = (replica.log_end, replica.high_watermark);
        if ends != (led.log_end, led.log_end) {
            return broken(format!(
                "broker {id} has log end and high watermark {ends:?}, leader {leader} log end {}",
                led.log_end
            ));
        }
    }
    Ok(())
}

/// Every replica holds what was committed.
fn kept(
    ghost: &Ghost,
    world: &World,
    partition: &TopicPartition,
    replicas: &[BrokerId],
) -> Result<(), Broken> {
    for id in replicas {
        if world.broker(*id).is_none_or(|node| !node.is_running()) {
            continue;
        }
        let (whole, end) = ghost.compare(*id, partition);
        if !whole {
            let why = format!("{partition}: broker {id} holds what was committed only up to {end}");
            return Err(Broken::new(COMMITTED_STAYS, why));
        }
    }
    Ok(())
}
