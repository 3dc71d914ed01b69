//! A partition's replicas while they move (KIP-455, `kafka.controller.ReplicaAssignment`).
//!
//! While a partition moves, its replicas are the wanted ones, in their order, and behind them those
//! that still have to go. So the wanted set can be read off at any time: it is all but the leaving.
//! The move is done when every wanted replica is in the ISR.

use crate::metadata::PartitionImage;
use crate::types::BrokerId;

/// Who holds a partition, who comes and who goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    pub replicas: Vec<BrokerId>,
    pub adding: Vec<BrokerId>,
    pub removing: Vec<BrokerId>,
}

impl Assignment {
    pub fn of(partition: &PartitionImage) -> Self {
        Self {
            replicas: partition.replicas.clone(),
            adding: partition.adding_replicas.clone(),
            removing: partition.removing_replicas.clone(),
        }
    }

    /// Nothing moves.
    pub fn settled(replicas: Vec<BrokerId>) -> Self {
        Self {
            replicas,
            ..Self::default()
        }
    }

    pub fn is_moving(&self) -> bool {
        !self.adding.is_empty() || !self.removing.is_empty()
    }

    /// As before the move: where a cancelled one goes back to. The old order is not kept.
    pub fn origin(&self) -> Vec<BrokerId> {
        without(&self.replicas, &self.adding)
    }

    /// As after the move.
    pub fn target(&self) -> Vec<BrokerId> {
        without(&self.replicas, &self.removing)
    }

    /// The move to `target`, in place of any that is under way.
    pub fn move_to(&self, target: &[BrokerId]) -> Self {
        let origin = self.origin();
        let removing = without(&origin, target);
        Self {
            replicas: [target, &removing].concat(),
            adding: without(target, &origin),
            removing,
        }
    }

    /// Whether all wanted replicas have caught up.
    pub fn is_complete(&self, isr: &[BrokerId]) -> bool {
        self.target().iter().all(|replica| isr.contains(replica))
    }
}

/// The brokers of the first list that are not in the second.
pub fn without(these: &[BrokerId], those: &[BrokerId]) -> Vec<BrokerId> {
    these
        .iter()
        .copied()
        .filter(|broker| !those.contains(broker))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(from: &Assignment, target: &[BrokerId]) -> (Vec<i32>, Vec<i32>, Vec<i32>) {
        let to = from.move_to(target);
        (to.replicas, to.adding, to.removing)
    }

    #[test]
    fn a_move_holds_old_and_new_replicas() {
        let start = Assignment::settled(vec![1, 2, 3]);
        assert_eq!(
            moved(&start, &[4, 5, 6]),
            (vec![4, 5, 6, 1, 2, 3], vec![4, 5, 6], vec![1, 2, 3])
        );
        assert_eq!(moved(&start, &[3, 4, 2]), (vec![3, 4, 2, 1], vec![4], vec![1]));
        assert_eq!(moved(&start, &[3, 2, 1]), (vec![3, 2, 1], vec![], vec![]));
        assert_eq!(moved(&start, &[2]), (vec![2, 1, 3], vec![], vec![1, 3]));
    }

    #[test]
    fn a_later_wish_replaces_an_earlier_and_a_cancel_goes_back() {
        let under_way = Assignment::settled(vec![1, 2, 3]).move_to(&[4, 5]);
        assert_eq!(
            moved(&under_way, &[5, 6]),
            (vec![5, 6, 1, 2, 3], vec![5, 6], vec![1, 2, 3])
        );
        assert_eq!(
            under_way.move_to(&under_way.origin()),
            Assignment::settled(vec![1, 2, 3])
        );
    }

    #[test]
    fn a_move_is_done_when_all_wanted_are_in_sync() {
        let under_way = Assignment::settled(vec![1, 2]).move_to(&[2, 3]);
        assert!(!under_way.is_complete(&[1, 2]));
        assert!(under_way.is_complete(&[1, 2, 3]));
        assert!(under_way.is_complete(&[3, 2]));
    }
}
