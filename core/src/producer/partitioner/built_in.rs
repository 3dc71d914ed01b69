//! The built-in choice for records without a key (Java's `BuiltInPartitioner`; KIP-480, KIP-794,
//! KIP-1123).
//!
//! It *sticks*: all records go to one partition until about `batch.size` bytes have gone there, then to
//! another by chance, so that batches fill instead of many starting. It waits with the switch until the
//! batch is full, but no longer than two batches' worth. It *adapts*: a partition with many batches
//! waiting is drawn less often, in proportion; one whose broker takes nothing for
//! `partitioner.availability.timeout.ms` not at all.

use crate::client::{Metadata, TopicMetadata};
use crate::types::{PartitionIndex, Rng};

/// How much waits for each partition of a topic that may be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionLoads {
    /// Partition and batches in its queue, of those whose broker takes anything.
    pub queues: Vec<(PartitionIndex, u32)>,
    /// Whether some were left out since their broker takes nothing.
    pub some_left_out: bool,
}

/// The sticky partition of one topic.
#[derive(Clone, Debug)]
pub struct BuiltInPartitioner {
    sticky_bytes: usize,
    current: Option<Sticky>,
    /// `None`: no difference worth telling, or too little known; each partition is as good.
    loads: Option<Cumulative>,
}

#[derive(Clone, Copy, Debug)]
struct Sticky {
    partition: PartitionIndex,
    produced_bytes: usize,
}

/// A partition's share of the numbers below the last one's end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cumulative(Vec<(PartitionIndex, u64)>);

/// Why this partition: for the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switched {
    pub from: Option<PartitionIndex>,
    pub to: PartitionIndex,
    /// Each candidate with its weight.
    pub weights: Vec<(PartitionIndex, u64)>,
}

impl BuiltInPartitioner {
    pub fn new(batch_size_bytes: usize) -> Self {
        Self {
            sticky_bytes: batch_size_bytes.max(1),
            current: None,
            loads: None,
        }
    }

    /// The partition for the next record; chosen now if none is yet, which the second part then tells.
    pub fn current(
        &mut self,
        topic: &TopicMetadata,
        near: &Near,
        rng: &mut Rng,
    ) -> (PartitionIndex, Option<Switched>) {
        match self.current {
            Some(sticky) if sticky.partition < topic.partition_count() => (sticky.partition, None),
            _ => {
                let switched = self.switch(topic, near, rng);
                (switched.to, Some(switched))
            }
        }
    }

    /// So many bytes have gone to the sticky partition. `batch_full`: its last batch takes no more.
    pub fn appended(
        &mut self,
        bytes: usize,
        batch_full: bool,
        topic: &TopicMetadata,
        near: &Near,
        rng: &mut Rng,
    ) -> Option<Switched> {
        let sticky = self.current.as_mut()?;
        sticky.produced_bytes += bytes;
        let produced = sticky.produced_bytes;
        let enough = produced >= self.sticky_bytes && batch_full;
        let too_much = produced >= self.sticky_bytes.saturating_mul(2);
        (enough || too_much).then(|| self.switch(topic, near, rng))
    }

    /// What waits for the topic's partitions; `None` when not all of them are known yet.
    pub fn update_loads(&mut self, loads: Option<PartitionLoads>) {
        self.loads = loads.and_then(|loads| cumulative(&loads));
    }

    fn switch(&mut self, topic: &TopicMetadata, near: &Near, rng: &mut Rng) -> Switched {
        let weighted = self.loads.as_ref().map(|loads| loads.0.clone());
        let candidates = match weighted {
            Some(weighted) => near.only(weights(&weighted)),
            None => {
                let available: Vec<_> = topic.available().map(|partition| (partition, 1)).collect();
                match near.only(available) {
                    none if none.is_empty() => (0..topic.partition_count()).map(|p| (p, 1)).collect(),
                    available => available,
                }
            }
        };
        let total: u64 = candidates.iter().map(|(_, weight)| weight).sum();
        let mut drawn = rng.below(total);
        let found = candidates.iter().find(|(_, weight)| {
            let hit = drawn < *weight;
            drawn = drawn.wrapping_sub(*weight);
            hit
        });
        let to = found.map_or(0, |(partition, _)| *partition);
        let from = self.current.map(|sticky| sticky.partition);
        self.current = Some(Sticky {
            partition: to,
            produced_bytes: 0,
        });
        Switched {
            from,
            to,
            weights: candidates,
        }
    }
}

/// The partitions that are led in the client's rack, when it cares (`partitioner.rack.aware`).
#[derive(Clone, Debug, Default)]
pub struct Near(Option<Vec<PartitionIndex>>);

impl Near {
    /// No preference.
    pub fn anywhere() -> Self {
        Self(None)
    }

    pub fn in_rack(rack: &str, topic: &TopicMetadata, metadata: &Metadata) -> Self {
        let is_near = |partition: &PartitionIndex| {
            let found = topic.partitions.get(*partition as usize).and_then(Option::as_ref);
            let leader = found.and_then(|partition| metadata.broker(partition.leader?));
            leader.is_some_and(|broker| broker.rack.as_deref() == Some(rack))
        };
        Self(Some(topic.available().filter(is_near).collect()))
    }

    /// Those candidates that are near, or all when none is.
    fn only(&self, candidates: Vec<(PartitionIndex, u64)>) -> Vec<(PartitionIndex, u64)> {
        let Some(near) = &self.0 else {
            return candidates;
        };
        let nearby: Vec<_> = candidates
            .iter()
            .copied()
            .filter(|(p, _)| near.contains(p))
            .collect();
        if nearby.is_empty() { candidates } else { nearby }
    }
}

/// Turns queues into shares: the longest queue gets one, an empty one as many as the longest is long
/// and one more.
fn cumulative(loads: &PartitionLoads) -> Option<Cumulative> {
    let longest = loads.queues.iter().map(|(_, size)| *size).max()?;
    let all_equal = loads.queues.iter().all(|(_, size)| *size == longest);
    if (all_equal || loads.queues.len() < 2) && !loads.some_left_out {
        return None;
    }
    let mut end = 0;
    let shares = loads.queues.iter().map(|(partition, size)| {
        end += u64::from(longest - size) + 1;
        (*partition, end)
    });
    Some(Cumulative(shares.collect()))
}

/// From the ends of shares back to shares.
fn weights(ends: &[(PartitionIndex, u64)]) -> Vec<(PartitionIndex, u64)> {
    let mut begin = 0;
    let each = ends.iter().map(|(partition, end)| {
        let weight = end - begin;
        begin = *end;
        (*partition, weight)
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::topic;
    use super::*;

    fn draw(partitioner: &mut BuiltInPartitioner, topic: &TopicMetadata, times: usize) -> Vec<usize> {
        let mut rng = Rng::new(7);
        let mut drawn = vec![0; topic.partitions.len()];
        for _ in 0..times {
            let to = partitioner.switch(topic, &Near::anywhere(), &mut rng).to;
            drawn[to as usize] += 1;
        }
        drawn
    }

    #[test]
    fn it_sticks_until_a_batch_is_full_but_no_longer_than_two_batches() {
        let (topic, near) = (topic(&[true; 50]), Near::anywhere());
        let mut rng = Rng::new(1);
        let mut partitioner = BuiltInPartitioner::new(100);
        let (first, switched) = partitioner.current(&topic, &near, &mut rng);
        assert_eq!(switched.unwrap().to, first);
        assert_eq!(partitioner.current(&topic, &near, &mut rng), (first, None));
        assert_eq!(
            partitioner.appended(99, true, &topic, &near, &mut rng),
            None,
            "not enough"
        );
        assert_eq!(
            partitioner.appended(50, false, &topic, &near, &mut rng),
            None,
            "not full"
        );
        let switched = partitioner.appended(1, true, &topic, &near, &mut rng).unwrap();
        assert_eq!(switched.from, Some(first));
        assert_eq!(partitioner.appended(199, false, &topic, &near, &mut rng), None);
        assert!(
            partitioner.appended(1, false, &topic, &near, &mut rng).is_some(),
            "two batches"
        );
    }

    #[test]
    fn each_available_partition_is_as_good_and_no_other_counts() {
        let mut partitioner = BuiltInPartitioner::new(100);
        let drawn = draw(&mut partitioner, &topic(&[true, false, true, true]), 3000);
        assert_eq!(drawn[1], 0);
        assert!(
            [0, 2, 3].iter().all(|p| (880..1120).contains(&drawn[*p])),
            "{drawn:?}"
        );
        let drawn = draw(&mut partitioner, &topic(&[false, false]), 100);
        assert!(drawn[0] > 20 && drawn[1] > 20, "when nobody leads any, all count");
    }

    #[test]
    fn a_long_queue_is_drawn_less_in_proportion() {
        let mut partitioner = BuiltInPartitioner::new(100);
        let queues = vec![(0, 0), (1, 3), (2, 1)];
        partitioner.update_loads(Some(PartitionLoads {
            queues,
            some_left_out: false,
        }));
        // Shares of 4, 1 and 3 in 8.
        let drawn = draw(&mut partitioner, &topic(&[true; 3]), 8000);
        for (count, expected) in drawn.iter().zip([4000, 1000, 3000]) {
            assert!(count.abs_diff(expected) < 200, "{drawn:?}");
        }
    }

    #[test]
    fn equal_queues_make_no_difference_unless_some_are_left_out() {
        let queues = vec![(0, 2), (2, 2)];
        let loads = |some_left_out| PartitionLoads {
            queues: queues.clone(),
            some_left_out,
        };
        assert_eq!(cumulative(&loads(false)), None);
        let mut partitioner = BuiltInPartitioner::new(100);
        partitioner.update_loads(Some(loads(true)));
        let drawn = draw(&mut partitioner, &topic(&[true; 3]), 1000);
        assert!(drawn[1] == 0 && drawn[0] > 400 && drawn[2] > 400, "{drawn:?}");
        partitioner.update_loads(None);
        assert!(
            draw(&mut partitioner, &topic(&[true; 3]), 1000)[1] > 200,
            "forgotten"
        );
    }

    #[test]
    fn nearby_leaders_are_preferred_while_there_are_any() {
        let near = Near(Some(vec![1, 2]));
        let mut rng = Rng::new(1);
        let mut partitioner = BuiltInPartitioner::new(100);
        let all = topic(&[true; 4]);
        assert!((0..50).all(|_| [1, 2].contains(&partitioner.switch(&all, &near, &mut rng).to)));
        let far = Near(Some(Vec::new()));
        let drawn: Vec<i32> = (0..50)
            .map(|_| partitioner.switch(&all, &far, &mut rng).to)
            .collect();
        assert!((0..4).all(|partition| drawn.contains(&partition)));
    }
}
