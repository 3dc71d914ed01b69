//! Anywhere, as librdkafka's `random` has it: a partition that nobody leads is drawn again, once.

use super::{Partitioner, ToPartition};
use crate::types::PartitionIndex;

/// A partition by chance.
pub(super) fn anywhere(record: &mut ToPartition) -> PartitionIndex {
    let count = u64::from(record.count());
    let drawn = record.rng.below(count) as PartitionIndex;
    let found = record
        .partitions
        .partitions
        .get(drawn as usize)
        .and_then(Option::as_ref);
    if found.is_some_and(|partition| partition.leader.is_some()) {
        return drawn;
    }
    record.rng.below(count) as PartitionIndex
}

/// Anywhere, whatever the key.
#[derive(Clone, Copy, Debug)]
pub struct Random;

impl Partitioner for Random {
    fn name(&self) -> &str {
        "random"
    }

    fn partition(&mut self, record: &mut ToPartition) -> PartitionIndex {
        anywhere(record)
    }

    fn boxed_clone(&self) -> Box<dyn Partitioner> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{choose, topic};
    use super::*;
    use crate::types::Rng;

    #[test]
    fn a_partition_without_a_leader_is_drawn_less() {
        let mut rng = Rng::new(1);
        let topic = topic(&[true, true, false, true]);
        let mut drawn = [0; 4];
        for _ in 0..1600 {
            drawn[choose(&mut Random, &mut rng, &topic, Some(b"same")) as usize] += 1;
        }
        // One in four at first, and one in four of those at the second drawing.
        assert!((60..140).contains(&drawn[2]), "{drawn:?}");
        assert!(
            [0, 1, 3].iter().all(|p| (420..580).contains(&drawn[*p])),
            "{drawn:?}"
        );
    }
}
