//! Moving leadership back to where it belongs (`auto.leader.rebalance.enable`).
//!
//! The first replica of a partition is its preferred leader; spread well at creation, so is the load.
//! After failures others lead. From time to time it is looked, broker by broker, how large a part of
//! the partitions that prefer it are led elsewhere; above `leader.imbalance.per.broker.percentage`
//! they move back, where their preferred leader is fit to lead.

use crate::metadata::PartitionImage;
use crate::ordered::OrderedMap;
use crate::types::{BrokerId, Millis, TopicPartition};

/// First look after a controller's election.
pub const FIRST_CHECK_MS: Millis = 5_000;

/// How the leaders are spread, counted partition by partition.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    by_preferred: OrderedMap<BrokerId, Preferring>,
}

/// Partitions that prefer one broker.
#[derive(Clone, Debug, Default)]
struct Preferring {
    count: i64,
    elsewhere: Vec<TopicPartition>,
}

impl Tally {
    pub fn count(&mut self, name: &TopicPartition, partition: &PartitionImage) {
        let Some(preferred) = partition.replicas.first().filter(|_| partition.has_state()) else {
            return;
        };
        let of_broker = self.by_preferred.entry(*preferred).or_default();
        of_broker.count += 1;
        if partition.leader != *preferred {
            of_broker.elsewhere.push(name.clone());
        }
    }

    /// Partitions that should go back to their preferred leaders, over all brokers that want too many.
    pub fn imbalanced(self, percentage: i64) -> Vec<TopicPartition> {
        let too_many = self
            .by_preferred
            .into_values()
            .filter(|of_broker| of_broker.elsewhere.len() as i64 * 100 > percentage * of_broker.count);
        too_many.flat_map(|of_broker| of_broker.elsewhere).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(leaders: &[BrokerId], percentage: i64) -> Vec<i32> {
        let mut tally = Tally::default();
        for (index, leader) in (0..).zip(leaders) {
            let partition = PartitionImage {
                leader: *leader,
                partition_epoch: 0,
                ..PartitionImage::without_state(vec![1, 2])
            };
            tally.count(&TopicPartition::new("a", index), &partition);
        }
        let all = tally.imbalanced(percentage);
        all.into_iter().map(|partition| partition.partition).collect()
    }

    #[test]
    fn only_more_than_the_percentage_moves() {
        let one_in_ten = [1, 1, 1, 1, 2, 1, 1, 1, 1, 1];
        assert_eq!(moved(&one_in_ten, 10), [0; 0], "exactly ten percent is allowed");
        assert_eq!(moved(&one_in_ten, 9), [4]);
        assert_eq!(moved(&[2, -1, 1], 10), [0, 1]);
        assert_eq!(moved(&[1, 1], 0), [0; 0]);
        assert_eq!(moved(&[], 0), [0; 0]);
    }
}
