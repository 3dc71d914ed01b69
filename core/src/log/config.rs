//! What one log must know of its topic's configuration; the table of keys lives in
//! [`config`](crate::config).

use crate::types::Millis;

/// Settings of one log, already resolved from topic, broker and default
/// (`org.apache.kafka.storage.internals.log.LogConfig`). Shared between logs of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// `segment.bytes`: a batch that would take the segment past this begins a new one.
    pub segment_bytes: u64,
    /// `segment.ms`: a batch this much later (in record time) than the segment's first begins a new one.
    pub segment_ms: Millis,
    /// `segment.jitter.ms`: each segment draws up to this much off `segment_ms`, so that logs made
    /// together do not all roll together.
    pub segment_jitter_ms: Millis,
    /// `segment.index.bytes`: room of one index file; a full index begins a new segment.
    pub segment_index_bytes: u32,
    /// `index.interval.bytes`: an index entry is written once more than this came since the last.
    pub index_interval_bytes: u32,
    /// `retention.ms`; `None` keeps for ever (-1).
    pub retention_ms: Option<Millis>,
    /// `retention.bytes`; `None` keeps any amount (-1).
    pub retention_bytes: Option<u64>,
    /// `file.delete.delay.ms`: how long a `.deleted` file stays.
    pub file_delete_delay_ms: Millis,
    /// `flush.messages`: so many records at most wait for a sync.
    pub flush_messages: u64,
    /// `flush.ms`: so long at most a record waits for a sync; `None` leaves it to the system.
    pub flush_ms: Option<Millis>,
    /// `min.insync.replicas`: below so many, acks=all is refused and the high watermark stays.
    pub min_insync_replicas: u32,
    /// `cleanup.policy` has `delete`.
    pub delete: bool,
    /// `cleanup.policy` has `compact`.
    pub compact: bool,
}

impl Default for LogConfig {
    /// Kafka's defaults of a topic.
    fn default() -> Self {
        Self {
            segment_bytes: 1 << 30,
            segment_ms: 7 * 24 * 3600 * 1000,
            segment_jitter_ms: 0,
            segment_index_bytes: 10 << 20,
            index_interval_bytes: 4096,
            retention_ms: Some(7 * 24 * 3600 * 1000),
            retention_bytes: None,
            file_delete_delay_ms: 60_000,
            flush_messages: i64::MAX as u64,
            flush_ms: None,
            min_insync_replicas: 1,
            delete: true,
            compact: false,
        }
    }
}
