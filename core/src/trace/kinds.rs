//! Kinds of what a segment and a watch tell.

use serde::{Deserialize, Serialize};

/// Why a segment was closed and a new one begun (`LogSegment.shouldRoll`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RollReason {
    /// The batch would take the segment past `segment.bytes`.
    Size,
    /// The segment is older than `segment.ms` less its jitter.
    Time,
    /// The offset or time index is full.
    IndexFull,
    /// The offset relative to the segment's base would not fit 31 bits.
    OffsetOverflow,
    /// Asked for: by an operator, or by retention of an expired active segment.
    Asked,
}

/// Why a segment was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeleteReason {
    RetentionTime,
    RetentionSize,
    LogStartOffset,
    Truncation,
}

/// What a watch has seen (ZooKeeper's event types).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WatchKind {
    Created,
    DataChanged,
    Deleted,
    ChildrenChanged,
}
