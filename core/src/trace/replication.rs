//! The reasons behind the facts of replication: what held, what was compared, with what outcome.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::ErrorCode;
use crate::types::{BrokerId, LeaderEpoch, Millis, Offset};

/// Why the high watermark does not move although the leader's log has grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HighWatermarkHold {
    /// Fewer replicas are in sync than `min.insync.replicas` asks for.
    UnderMinIsr { in_sync: u32, least: u32 },
    /// A follower that counts has not fetched further.
    WaitsFor {
        broker: BrokerId,
        /// -1 before its first fetch.
        log_end: Offset,
        /// In the ISR or about to enter it; else it is caught up and may enter.
        in_isr: bool,
    },
}

impl fmt::Display for HighWatermarkHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnderMinIsr { in_sync, least } => {
                write!(f, "{in_sync} in sync, {least} needed (min.insync.replicas)")
            }
            Self::WaitsFor {
                broker,
                log_end,
                in_isr,
            } => {
                let standing = if *in_isr {
                    "in the ISR"
                } else {
                    "about to enter the ISR"
                };
                match log_end {
                    0.. => write!(f, "broker {broker}, {standing}, has fetched up to {log_end}"),
                    _ => write!(f, "broker {broker}, {standing}, has not fetched yet"),
                }
            }
        }
    }
}

/// What the high watermark goes by when it moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HighWatermarkBasis {
    /// The replica leads: the least of its own log end and of those that count among its followers'.
    LogEnds {
        own: Offset,
        followers: Vec<FollowerEnd>,
    },
    /// The replica follows: what the leader said last, as far as its own log goes.
    Told {
        leader: BrokerId,
        high_watermark: Offset,
    },
    /// The replica's log was cut there, or begins anew there.
    LogCut,
}

/// The end of a follower's log, as its leader knows it, and whether it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowerEnd {
    pub broker: BrokerId,
    /// -1 before its first fetch.
    pub log_end: Offset,
    pub standing: FollowerStanding,
}

/// How a follower stands to the ISR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FollowerStanding {
    InIsr,
    /// Proposed, and the controller has not agreed yet: it counts already.
    Entering,
    /// Caught up within `replica.lag.time.max.ms`, so it may enter, and counts.
    MayEnter,
    /// It does not count.
    Outside,
}

impl fmt::Display for HighWatermarkBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LogEnds { own, followers } => {
                write!(f, "for the log ends at {own} here")?;
                for FollowerEnd {
                    broker,
                    log_end,
                    standing,
                } in followers
                {
                    match log_end {
                        0.. => write!(f, ", at {log_end} on broker {broker} ({standing})")?,
                        _ => write!(f, ", nobody knows where on broker {broker} ({standing})")?,
                    }
                }
                Ok(())
            }
            Self::Told {
                leader,
                high_watermark,
            } => write!(f, "for broker {leader}, which leads, said {high_watermark}"),
            Self::LogCut => write!(f, "where the log was cut"),
        }
    }
}

impl fmt::Display for FollowerStanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InIsr => "in the ISR",
            Self::Entering => "entering the ISR",
            Self::MayEnter => "may enter the ISR",
            Self::Outside => "outside the ISR",
        })
    }
}

/// How far a follower is, when the ISR is to change because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowerLag {
    pub broker: BrokerId,
    /// -1 before its first fetch.
    pub log_end: Offset,
    /// 0 when it never was, as far as this leader knows.
    pub last_caught_up_ms: Millis,
}

impl fmt::Display for FollowerLag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            broker,
            log_end,
            last_caught_up_ms,
        } = self;
        write!(
            f,
            "broker {broker} has all below {log_end}, and was last caught up at {last_caught_up_ms} ms"
        )
    }
}

/// Why a follower cuts its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TruncateReason {
    /// The leader's log has this epoch only up to there, or an earlier one.
    LeaderEpoch { epoch: LeaderEpoch, end_offset: Offset },
    /// No epoch is known to go by, or truncation goes by the high watermark.
    HighWatermark,
    /// The leader's log ends before this one.
    LeaderEnd,
    /// The leader's log starts behind the end of this one.
    LeaderStart,
}

impl fmt::Display for TruncateReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeaderEpoch { epoch, end_offset } => {
                write!(f, "epoch {epoch} ends at {end_offset} with the leader")
            }
            Self::HighWatermark => write!(f, "to its high watermark"),
            Self::LeaderEnd => write!(f, "to the leader's log end"),
            Self::LeaderStart => write!(f, "to the leader's log start"),
        }
    }
}

/// Why a follower does not fetch a partition for a while, or not any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FetchPause {
    /// The leader answered so.
    Refused(ErrorCode),
    /// No answer came.
    Unanswered,
    /// What came could not be appended.
    Unusable(String),
}

impl FetchPause {
    /// Whether the leader will do once the controller has told it what it told this broker.
    pub fn may_have_yet_to_hear(&self) -> bool {
        matches!(
            self,
            Self::Refused(
                ErrorCode::UnknownLeaderEpoch
                    | ErrorCode::NotLeaderOrFollower
                    | ErrorCode::UnknownTopicId
                    | ErrorCode::UnknownTopicOrPartition
            )
        )
    }
}

impl fmt::Display for FetchPause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(code) => write!(f, "the leader answered {code}"),
            Self::Unanswered => write!(f, "no answer came"),
            Self::Unusable(why) => write!(f, "{why}"),
        }
    }
}
