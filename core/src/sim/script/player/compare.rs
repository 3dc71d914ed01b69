//! The view beside the world: after each step, what the facts tell must be what is.

use super::{Player, tell};
use crate::ordered::OrderedSet;
use crate::sim::World;
use crate::sim::world::network::PacketId;
use crate::sim::world::{true_batches, true_state, true_stored, true_tree};
use crate::trace::{Event, EventId, Fact};
use crate::types::{BrokerId, TopicPartition};
use crate::view::{BatchList, BatchSpan};

impl Player {
    /// What the facts tell must be what is, and each must follow from an earlier one.
    pub(super) fn compare(&mut self) -> Result<(), String> {
        let Some(world) = self.world.as_ref().filter(|_| self.compares) else {
            return Ok(());
        };
        let mut logs = OrderedSet::new();
        let mut is_tree_changed = false;
        for event in world.trace().since(self.looked_at) {
            let Event { id, cause, fact, .. } = event;
            match fact {
                Fact::BatchWritten { partition, .. }
                | Fact::LogTruncated { partition, .. }
                | Fact::LogStartMoved { partition, .. }
                | Fact::ReplicaOpened { partition, .. } => {
                    logs.insert((id.node as BrokerId, partition.clone()));
                }
                Fact::CoordinationChanged { .. }
                | Fact::CoordinationOpened { .. }
                | Fact::SessionOpened { .. }
                | Fact::SessionResumed { .. }
                | Fact::SessionDisconnected { .. }
                | Fact::SessionClosed { .. }
                | Fact::SessionExpired { .. }
                | Fact::WatchSet { .. }
                | Fact::WatchFired { .. } => is_tree_changed = true,
                _ => {}
            }
            let last = self.known.get(&cause.node).copied().unwrap_or(0);
            let is_sound = match *cause {
                EventId::NONE => fact.is_root(),
                cause => cause.seq <= last,
            };
            if !is_sound {
                return Err(format!("it follows from nothing: {}", tell(event)));
            }
            self.known.insert(id.node, id.seq);
        }
        self.looked_at = world.trace().len();
        let truth = true_state(world);
        let told = self.view.known_by_nodes();
        if told != truth {
            return Err(format!("the facts tell\n{told}and it is\n{truth}"));
        }
        logs.iter()
            .try_for_each(|(broker, partition)| self.compare_log(world, *broker, partition))?;
        if is_tree_changed
            && let Some(stored) = true_stored(world).filter(|stored| *stored != self.view.stored)
        {
            return Err(format!(
                "the facts tell {:?}, stored is {stored:?}",
                self.view.stored
            ));
        }
        if is_tree_changed && let Some(tree) = true_tree(world).filter(|tree| *tree != self.view.tree) {
            return Err(format!("the facts tell {:?}, there is {tree:?}", self.view.tree));
        }
        let there = world.packets_under_way();
        let differs = |id: &&PacketId| match (self.view.packets.get(*id), there.get(*id)) {
            (Some(told), Some((way, bytes))) => {
                told.bytes != *bytes || way.is_some_and(|way| way != (told.from, told.to))
            }
            _ => true,
        };
        let all: OrderedSet<&PacketId> = self.view.packets.keys().chain(there.keys()).collect();
        let differ: Vec<_> = all.into_iter().filter(|id| differs(id)).collect();
        if !differ.is_empty() {
            return Err(format!("packets {differ:?} are not under way as the facts tell"));
        }
        Ok(())
    }

    /// The batches that the facts tell must be those on the disk.
    fn compare_log(&self, world: &World, broker: BrokerId, partition: &TopicPartition) -> Result<(), String> {
        let Some(replica) = self.view.replica(broker, partition) else {
            return Ok(());
        };
        // What is not written, or cut, or deleted, may yet come or go on the disk.
        let within = |batches: &BatchList| -> Vec<BatchSpan> {
            let is_there =
                |batch: &&BatchSpan| batch.base < replica.log_end && batch.last >= replica.log_start;
            batches.iter().filter(is_there).copied().collect()
        };
        let told = within(&replica.batches);
        let there = within(&true_batches(world, broker, partition));
        if told == there || stand_for(&told, &there) {
            return Ok(());
        }
        Err(format!(
            "{partition} on broker {broker}: the facts tell {told:?}, on the disk is {there:?}"
        ))
    }
}

/// Whether each span stands for batches of its epoch, all of them and no others: where a batch ends on a disk that had
/// failed meanwhile is not known when it is opened again, only what it holds.
fn stand_for(told: &[BatchSpan], there: &[BatchSpan]) -> bool {
    let mut there = there.iter().peekable();
    let is_whole = |span: &BatchSpan| {
        let mut next = span.base;
        while let Some(batch) = there.next_if(|batch| {
            batch.epoch == span.epoch && batch.base <= next && (next..=span.last).contains(&batch.last)
        }) {
            next = batch.last + 1;
        }
        next == span.last + 1
    };
    told.iter().all(is_whole) && there.peek().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_may_stand_for_several_batches_of_its_epoch_and_for_nothing_else() {
        let span = BatchSpan::new;
        let there = [span(0, 1, 0), span(2, 4, 0), span(5, 5, 1)];
        assert!(stand_for(&[span(0, 4, 0), span(5, 5, 1)], &there));
        assert!(!stand_for(&[span(0, 4, 0)], &there), "more is there");
        assert!(!stand_for(&[span(0, 5, 0)], &there), "of another epoch");
        assert!(!stand_for(&[span(0, 3, 0), span(4, 4, 0), span(5, 5, 1)], &there));
        assert!(!stand_for(&there, &there[..2]), "less is there");
    }
}
