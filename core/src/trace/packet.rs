//! What a packet says of partitions: what a sniffer would read in it, in the words of a picture.

use serde::{Deserialize, Serialize};

use crate::error::ErrorCode;
use crate::types::{BrokerId, LeaderEpoch, Offset, TopicPartition};

/// One thing that a packet carries. A packet that has none says nothing new: a fetch that goes on where
/// it was, an answer without a record, a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Carried {
    /// Records to be stored.
    Produce { partition: TopicPartition, count: u32 },
    /// They are stored, or why not.
    Stored {
        partition: TopicPartition,
        base_offset: Offset,
        code: ErrorCode,
    },
    /// Whoever fetches has all below.
    FetchFrom {
        partition: TopicPartition,
        offset: Offset,
    },
    /// Records that were fetched; none: there is another high watermark, or an error.
    Records {
        partition: TopicPartition,
        count: u32,
        high_watermark: Offset,
        code: ErrorCode,
    },
    /// The controller says who leads.
    Leads {
        partition: TopicPartition,
        leader: BrokerId,
        epoch: LeaderEpoch,
    },
    /// A leader asks for another ISR.
    Isr {
        partition: TopicPartition,
        isr: Vec<BrokerId>,
    },
    /// A follower asks where the epoch ends with its leader.
    EpochEndOf {
        partition: TopicPartition,
        epoch: LeaderEpoch,
    },
    /// It ends there.
    EpochEnd {
        partition: TopicPartition,
        epoch: LeaderEpoch,
        end_offset: Offset,
    },
}

impl Carried {
    pub fn partition(&self) -> &TopicPartition {
        match self {
            Self::Produce { partition, .. }
            | Self::Stored { partition, .. }
            | Self::FetchFrom { partition, .. }
            | Self::Records { partition, .. }
            | Self::Leads { partition, .. }
            | Self::Isr { partition, .. }
            | Self::EpochEndOf { partition, .. }
            | Self::EpochEnd { partition, .. } => partition,
        }
    }
}
