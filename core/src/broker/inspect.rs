//! Looking into a broker without touching it: what a view of it, built from facts alone, is compared
//! with.

use super::Broker;
use crate::types::{BrokerId, LeaderEpoch, Offset, TopicPartition};

/// One replica as its broker has it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaState {
    pub partition: TopicPartition,
    pub log_start: Offset,
    /// All below is written.
    pub log_end: Offset,
    pub high_watermark: Offset,
    pub leader_epoch: LeaderEpoch,
    /// Whom it follows, as far as it was told of anybody.
    pub follows: Option<BrokerId>,
    /// The ISR, if this broker leads.
    pub leads_with_isr: Option<Vec<BrokerId>>,
    /// Leader epochs and where each begins, as the log's cache has them.
    pub epochs: Vec<(LeaderEpoch, Offset)>,
}

impl Broker {
    /// Every replica whose log is there, in the order of their names.
    pub fn replicas(&self) -> Vec<ReplicaState> {
        let state = |partition: &crate::replica::Partition| {
            let log = partition.log().ok()?;
            Some(ReplicaState {
                partition: partition.name().clone(),
                log_start: log.log_start(),
                log_end: log.log_end(),
                high_watermark: partition.high_watermark(),
                leader_epoch: partition.leader_epoch(),
                follows: partition.leader(&self.state.replication),
                leads_with_isr: partition.is_leader().then(|| partition.isr().to_vec()),
                epochs: log
                    .epochs()
                    .entries()
                    .iter()
                    .map(|entry| (entry.epoch, entry.start_offset))
                    .collect(),
            })
        };
        let partitions = self.state.topics.partitions();
        let mut found: Vec<_> = partitions.filter_map(|(_, partition)| state(partition)).collect();
        found.sort_by(|a, b| a.partition.cmp(&b.partition));
        found
    }
}
