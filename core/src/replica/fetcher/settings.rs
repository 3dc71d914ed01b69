//! What a fetcher goes by.

use crate::config::BrokerConfig;
use crate::types::Millis;

/// How a follower finds out how much of its log its new leader has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncateBy {
    /// It does not: it cuts its log at its own high watermark, which may lag behind what is safe, and may be
    /// more than the leader has. The way before KIP-101; it loses records and lets logs diverge.
    HighWatermark,
    /// It asks for the end of its last epoch before it fetches (OffsetForLeaderEpoch, KIP-101, KIP-279).
    OffsetForLeaderEpoch,
    /// It says its last epoch with each fetch, and the leader answers where the two part ways (KIP-595).
    LeaderEpoch,
}

impl TruncateBy {
    /// A value of the key `internal.replica.truncation`.
    fn named(name: &str) -> Self {
        match name {
            "high-watermark" => Self::HighWatermark,
            "offset-for-leader-epoch" => Self::OffsetForLeaderEpoch,
            _ => Self::LeaderEpoch,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetcherSettings {
    /// `replica.fetch.max.bytes`: of one partition.
    pub max_bytes: i32,
    /// `replica.fetch.min.bytes`
    pub min_bytes: i32,
    /// `replica.fetch.wait.max.ms`
    pub wait_max_ms: i32,
    /// `replica.fetch.response.max.bytes`: of a whole answer.
    pub response_max_bytes: i32,
    /// `replica.fetch.backoff.ms`
    pub backoff_ms: Millis,
    /// `producer.id.expiration.ms`: a log that is cut forgets producers silent for so long.
    pub producer_expiration_ms: Millis,
    pub truncate_by: TruncateBy,
}

impl From<&BrokerConfig> for FetcherSettings {
    fn from(config: &BrokerConfig) -> Self {
        Self {
            max_bytes: config.replica_fetch_max_bytes,
            min_bytes: config.replica_fetch_min_bytes,
            wait_max_ms: config.replica_fetch_wait_max_ms,
            response_max_bytes: config.replica_fetch_response_max_bytes,
            backoff_ms: config.replica_fetch_backoff_ms,
            producer_expiration_ms: config.producer_id_expiration_ms,
            truncate_by: TruncateBy::named(config.value("internal.replica.truncation").unwrap_or_default()),
        }
    }
}
