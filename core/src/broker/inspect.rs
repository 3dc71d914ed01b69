//! Looking into a broker without touching it: what a view of it, built from facts alone, is compared
//! with.

use std::sync::Arc;

use super::Broker;
use crate::log::Log;
use crate::ordered::OrderedMap;
use crate::types::{BrokerId, LeaderEpoch, Millis, Offset, TopicPartition, Uuid};

/// Leader epochs and where each begins.
pub(super) fn epochs(log: &Log) -> Vec<(LeaderEpoch, Offset)> {
    let entries = log.epochs().entries().iter();
    entries.map(|entry| (entry.epoch, entry.start_offset)).collect()
}

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
    /// The log end of each follower as this broker knows it, if it leads; -1 before its first fetch.
    pub followers: Vec<(BrokerId, Offset)>,
    /// The ISR that it has asked for, while an answer may come.
    pub proposed: Option<Vec<BrokerId>>,
    /// Leader epochs and where each begins, as the log's cache has them.
    pub epochs: Vec<(LeaderEpoch, Offset)>,
}

/// The indexes of a log's active segment, whose files follow behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActiveIndexes {
    /// The segment's base offset.
    pub base: Offset,
    /// Offset and position of each entry.
    pub offsets: Vec<(Offset, u64)>,
    /// Time and offset of each entry.
    pub times: Vec<(Millis, Offset)>,
}

impl Broker {
    /// The epoch in which this broker takes itself for the controller, if it does.
    pub fn controller_epoch(&self) -> Option<i32> {
        let controller = self.state.cluster.controller.as_ref();
        controller.map(|controller| controller.epoch())
    }

    /// Whom clients hear of from this broker as the partition's leader; -1: nobody.
    pub fn told_leader(&self, partition: &TopicPartition) -> Option<BrokerId> {
        let topic = self.state.image.topic(&partition.topic)?;
        Some(topic.partition(partition.partition)?.leader)
    }

    /// The indexes that the partition's active segment has in memory.
    pub fn active_indexes(&self, partition: &TopicPartition) -> Option<ActiveIndexes> {
        let topic = self.state.topics.by_name(&partition.topic)?;
        let id = *topic.partitions.get(&partition.partition)?;
        let segment = self.state.topics.partition(id)?.log().ok()?.active_segment();
        let full = |relative: u32| segment.base + Offset::from(relative);
        let offsets = segment.offsets.entries().iter();
        let times = segment.times.entries().iter();
        Some(ActiveIndexes {
            base: segment.base,
            offsets: offsets
                .map(|entry| (full(entry.relative), u64::from(entry.position)))
                .collect(),
            times: times
                .map(|entry| (entry.timestamp_ms, full(entry.relative)))
                .collect(),
        })
    }

    /// The name of the topic that has the id.
    pub fn topic_name(&self, id: Uuid) -> Option<Arc<str>> {
        self.state.topics.by_id(id).map(|topic| topic.name.clone())
    }

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
                followers: partition
                    .followers()
                    .iter()
                    .map(|follower| (follower.broker, follower.log_end))
                    .collect(),
                proposed: partition.asked_isr(),
                epochs: epochs(log),
            })
        };
        let partitions = self.state.topics.partitions();
        let found = partitions.filter_map(|(_, partition)| state(partition));
        let by_name: OrderedMap<_, _> = found.map(|state| (state.partition.clone(), state)).collect();
        by_name.into_values().collect()
    }
}
