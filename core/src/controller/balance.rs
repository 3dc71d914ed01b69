//! Moving leadership back to where it belongs (`auto.leader.rebalance.enable`).
//!
//! The first replica of a partition is its preferred leader; spread well at creation, so is the load.
//! After failures others lead. From time to time it is looked, broker by broker, how large a part of
//! the partitions that prefer it are led elsewhere; above `leader.imbalance.per.broker.percentage`
//! they move back, where their preferred leader is fit to lead.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::metadata::TopicImage;
use crate::types::{BrokerId, Millis, TopicPartition};

/// First look after a controller's election.
pub const FIRST_CHECK_MS: Millis = 5_000;

/// Partitions that should go back to their preferred leaders, over all brokers that want too many.
pub fn imbalanced<'a>(
    topics: impl Iterator<Item = &'a Arc<TopicImage>>,
    percentage: i64,
) -> Vec<TopicPartition> {
    let mut by_preferred: BTreeMap<BrokerId, Preferring> = BTreeMap::new();
    for topic in topics {
        for (index, partition) in (0..).zip(&topic.partitions) {
            let Some(preferred) = partition.replicas.first().filter(|_| partition.has_state()) else {
                continue;
            };
            let of_broker = by_preferred.entry(*preferred).or_default();
            of_broker.count += 1;
            if partition.leader != *preferred {
                of_broker
                    .elsewhere
                    .push(TopicPartition::new(topic.name.clone(), index));
            }
        }
    }
    let too_many = by_preferred
        .into_values()
        .filter(|of_broker| of_broker.elsewhere.len() as i64 * 100 > percentage * of_broker.count);
    too_many.flat_map(|of_broker| of_broker.elsewhere).collect()
}

/// Partitions that prefer one broker.
#[derive(Default)]
struct Preferring {
    count: i64,
    elsewhere: Vec<TopicPartition>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::PartitionImage;
    use crate::types::Uuid;

    fn topic(leaders: &[BrokerId]) -> Arc<TopicImage> {
        let partition = |leader: &BrokerId| PartitionImage {
            leader: *leader,
            partition_epoch: 0,
            ..PartitionImage::without_state(vec![1, 2])
        };
        Arc::new(TopicImage {
            name: "a".into(),
            id: Uuid::ZERO,
            partitions: leaders.iter().map(partition).collect(),
            configs: Arc::default(),
            version: 0,
            config_version: None,
        })
    }

    fn moved(leaders: &[BrokerId], percentage: i64) -> Vec<i32> {
        let topics = [topic(leaders)];
        let all = imbalanced(topics.iter(), percentage);
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
