//! What a host may read of a broker to show it to an operator (`/metrics`, `/healthz`).
//!
//! These look and change nothing. A broker may have many partitions, and whoever looks holds it up, so
//! logs are shown a few at a time.

use super::Broker;
use crate::replica::partition::{Partition, PartitionId};
use crate::types::{Offset, TopicPartition};

/// One log in figures, named as Kafka names them (`UnifiedLog`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFigures {
    pub partition: TopicPartition,
    pub size_bytes: u64,
    pub log_start_offset: Offset,
    pub log_end_offset: Offset,
    pub high_watermark: Offset,
    pub segments: usize,
    /// Of a partition that this broker leads.
    pub leads: Option<LeaderFigures>,
}

/// A partition as its leader sees it (Kafka's `kafka.cluster:type=Partition`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderFigures {
    pub replicas: usize,
    pub in_sync: usize,
    /// `min.insync.replicas`, or the number of replicas if that is less.
    pub least_in_sync: usize,
}

impl LeaderFigures {
    pub fn is_under_replicated(&self) -> bool {
        self.in_sync < self.replicas
    }

    /// Producers that wait for all are refused.
    pub fn is_under_min_isr(&self) -> bool {
        self.in_sync < self.least_in_sync
    }
}

/// One log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDirectoryFigures {
    /// The whole path.
    pub path: String,
    pub is_offline: bool,
}

impl Broker {
    /// The logs of up to `most` partitions from number `from` on, and the number to go on from; `None`
    /// when these were the last.
    pub fn log_figures(&self, from: PartitionId, most: u32) -> (Vec<LogFigures>, Option<PartitionId>) {
        let topics = &self.state.topics;
        let end = from.saturating_add(most).min(topics.next_partition());
        let partitions = (from..end).filter_map(|id| topics.partition(id));
        let figures = partitions.filter_map(|partition| {
            let log = partition.log().ok()?;
            Some(LogFigures {
                partition: partition.name().clone(),
                size_bytes: log.size_bytes(),
                log_start_offset: log.log_start(),
                log_end_offset: log.log_end(),
                high_watermark: partition.high_watermark(),
                segments: log.closed_segments().len() + 1,
                leads: leader_figures(partition),
            })
        });
        let next = (end < topics.next_partition()).then_some(end);
        (figures.collect(), next)
    }

    /// Whether the controller is in this broker, and serves.
    pub fn is_active_controller(&self) -> bool {
        self.state.controls()
    }

    /// The log directories, in the order of `log.dirs`.
    pub fn log_directory_figures(&self) -> Vec<LogDirectoryFigures> {
        let directories = self.state.directories.iter();
        let figures = directories.map(|(_, directory)| LogDirectoryFigures {
            path: directory.path.clone(),
            is_offline: directory.failed.is_some(),
        });
        figures.collect()
    }
}

fn leader_figures(partition: &Partition) -> Option<LeaderFigures> {
    Some(LeaderFigures {
        least_in_sync: partition.effective_min_isr()?,
        replicas: partition.replicas().len(),
        in_sync: partition.isr().len(),
    })
}
