//! What can happen in the scene, in words that stories and links share.

use std::fmt;
use std::str::FromStr;

use highwater_core::record::Codec;
use highwater_core::types::{Millis, Offset};

/// Batches that a reader may append at once.
pub const MOST_BATCHES: u32 = 20;
pub const MOST_RECORDS: u32 = 50;
pub const MOST_VALUE_BYTES: u32 = 500;

/// Batches of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batches {
    pub count: u32,
    /// In each batch.
    pub records: u32,
    /// Of each record's value.
    pub value_bytes: u32,
    pub codec: Codec,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Append(Batches),
    /// Close the active segment, begin the next.
    Roll,
    /// Force everything to the disk.
    Flush,
    /// The power goes while the disk writes.
    Tear,
    /// The power goes.
    LosePower,
    /// The process dies (kill -9).
    Kill,
    /// Stop in order.
    Stop,
    Start,
    FindOffset(Offset),
    /// By the run's clock, in ms since its start.
    FindTime(Millis),
    /// Show the next step of the look-up.
    Reveal,
    /// The clock goes on.
    Wait(Millis),
    /// The producer's clock is ahead from now on.
    Ahead(Millis),
    /// A retention check with `retention.ms`.
    KeepMs(Millis),
    /// A retention check with `retention.bytes`.
    KeepBytes(i64),
}

/// What the log is configured with; a change lets everything happen again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub index_interval_bytes: u32,
    pub segment_bytes: u32,
}

impl Settings {
    pub const INDEX_INTERVALS: [u32; 5] = [0, 256, 512, 1024, 4096];
    pub const SEGMENTS: [u32; 4] = [2048, 4096, 8192, 16_384];
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            index_interval_bytes: 512,
            segment_bytes: 4096,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append(b) => {
                write!(
                    f,
                    "append {} {} {} {}",
                    b.count,
                    b.records,
                    b.value_bytes,
                    b.codec.name()
                )
            }
            Self::Roll => f.write_str("roll"),
            Self::Flush => f.write_str("flush"),
            Self::Tear => f.write_str("tear"),
            Self::LosePower => f.write_str("power"),
            Self::Kill => f.write_str("kill"),
            Self::Stop => f.write_str("stop"),
            Self::Start => f.write_str("start"),
            Self::FindOffset(offset) => write!(f, "find {offset}"),
            Self::FindTime(ms) => write!(f, "time {ms}"),
            Self::Reveal => f.write_str("reveal"),
            Self::Wait(ms) => write!(f, "wait {ms}"),
            Self::Ahead(ms) => write!(f, "ahead {ms}"),
            Self::KeepMs(ms) => write!(f, "keep-ms {ms}"),
            Self::KeepBytes(bytes) => write!(f, "keep-bytes {bytes}"),
        }
    }
}

impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |word: &str| match word.parse::<i64>() {
            Ok(value) if value >= 0 => Ok(value),
            _ => Err(format!("`{word}` is no number from 0 up")),
        };
        let below = |word: &str, most: u32| match word.parse::<u32>() {
            Ok(value) if (1..=most).contains(&value) => Ok(value),
            _ => Err(format!("`{word}` is not between 1 and {most}")),
        };
        Ok(match words.as_slice() {
            ["append", count, records, value_bytes, codec] => Self::Append(Batches {
                count: below(count, MOST_BATCHES)?,
                records: below(records, MOST_RECORDS)?,
                value_bytes: below(value_bytes, MOST_VALUE_BYTES)?,
                codec: Codec::from_name(codec).ok_or_else(|| format!("`{codec}` is no codec"))?,
            }),
            ["roll"] => Self::Roll,
            ["flush"] => Self::Flush,
            ["tear"] => Self::Tear,
            ["power"] => Self::LosePower,
            ["kill"] => Self::Kill,
            ["stop"] => Self::Stop,
            ["start"] => Self::Start,
            ["find", offset] => Self::FindOffset(number(offset)?),
            ["time", ms] => Self::FindTime(number(ms)?),
            ["reveal"] => Self::Reveal,
            ["wait", ms] => Self::Wait(number(ms)?),
            ["ahead", ms] => Self::Ahead(number(ms)?),
            ["keep-ms", ms] => Self::KeepMs(number(ms)?),
            ["keep-bytes", bytes] => Self::KeepBytes(number(bytes)?),
            _ => return Err(format!("`{text}` is nothing that can happen here")),
        })
    }
}

impl Action {
    /// For the list of what was done.
    pub fn title(&self) -> String {
        match self {
            Self::Append(b) => format!(
                "append {} of {} records",
                crate::say::count(b.count as usize, "batch"),
                b.records
            ),
            Self::Tear => "power cut during a write".to_owned(),
            Self::LosePower => "power cut".to_owned(),
            Self::Kill => "kill -9".to_owned(),
            Self::Stop => "clean stop".to_owned(),
            Self::FindOffset(offset) => format!("find offset {offset}"),
            Self::FindTime(ms) => format!(
                "find time {}",
                crate::say::time(highwater_core::sim::host::EPOCH_MS + ms)
            ),
            Self::Reveal => "next step of the look-up".to_owned(),
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_read_back() {
        let texts = [
            "append 3 6 20 zstd",
            "roll",
            "flush",
            "tear",
            "power",
            "kill",
            "stop",
            "start",
            "find 7",
            "time 1500",
            "reveal",
            "wait 1000",
            "ahead 90000",
            "keep-ms 30000",
            "keep-bytes 4096",
        ];
        for text in texts {
            assert_eq!(text.parse::<Action>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "append 3 6 20",
            "append 0 6 20 none",
            "append 99 6 20 none",
            "find x",
            "dance",
        ] {
            assert!(text.parse::<Action>().is_err(), "{text}");
        }
    }
}
