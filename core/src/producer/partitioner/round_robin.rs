//! One after another, whatever the key (Java's `RoundRobinPartitioner`): each topic has a counter of
//! its own; partitions that nobody leads are passed over while others are led.

use std::sync::Arc;

use super::{Partitioner, ToPartition};
use crate::ordered::OrderedMap;
use crate::types::PartitionIndex;

#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    next: OrderedMap<Arc<str>, u32>,
}

impl Partitioner for RoundRobin {
    fn name(&self) -> &str {
        "RoundRobinPartitioner"
    }

    fn partition(&mut self, record: &mut ToPartition) -> PartitionIndex {
        let next = self.next.entry(record.topic.clone()).or_default();
        let turn = *next & 0x7fff_ffff;
        *next = next.wrapping_add(1);
        match record.partitions.available().count() as u32 {
            0 => (turn % record.count()) as PartitionIndex,
            count => {
                let nth = record.partitions.available().nth((turn % count) as usize);
                nth.unwrap_or_default()
            }
        }
    }

    fn boxed_clone(&self) -> Box<dyn Partitioner> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{choose, topic};
    use super::*;
    use crate::types::Rng;

    #[test]
    fn one_after_another_and_past_those_without_a_leader() {
        let mut rng = Rng::new(1);
        let mut partitioner = RoundRobin::default();
        let mut turns = |led: &[bool]| -> Vec<i32> {
            let topic = topic(led);
            (0..5)
                .map(|_| choose(&mut partitioner, &mut rng, &topic, Some(b"same")))
                .collect()
        };
        assert_eq!(turns(&[true; 3]), [0, 1, 2, 0, 1]);
        assert_eq!(turns(&[true, false, true]), [2, 0, 2, 0, 2]);
        assert_eq!(turns(&[false; 3]), [1, 2, 0, 1, 2], "nobody leads any: all count");
    }
}
