//! Where a consumer begins when it knows no offset (`auto.offset.reset`; Kafka's
//! `AutoOffsetResetStrategy`, KIP-1106).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::types::Millis;

/// In place of a time: the end, with the consumer's isolation level.
pub const LATEST_TIMESTAMP: Millis = -1;
/// In place of a time: the log start offset.
pub const EARLIEST_TIMESTAMP: Millis = -2;

const DAY_MS: i64 = 86_400_000;
const BY_DURATION: &str = "by_duration:";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResetStrategy {
    Latest,
    Earliest,
    /// The application is told, and decides.
    None,
    /// The first record that is at most so old.
    ByDuration(Millis),
}

impl ResetStrategy {
    /// Reads a value of `auto.offset.reset`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "latest" => Some(Self::Latest),
            "earliest" => Some(Self::Earliest),
            "none" => Some(Self::None),
            _ => {
                let duration = text.strip_prefix(BY_DURATION)?;
                parse_duration(&duration.to_ascii_lowercase()).map(Self::ByDuration)
            }
        }
    }

    /// What to ask the leader for (ListOffsets): a time, or one of the two numbers that stand for an end.
    /// `None`: nothing is to be asked.
    pub fn timestamp(self, now: Millis) -> Option<Millis> {
        match self {
            Self::Latest => Some(LATEST_TIMESTAMP),
            Self::Earliest => Some(EARLIEST_TIMESTAMP),
            Self::None => None,
            Self::ByDuration(duration_ms) => Some(now.saturating_sub(duration_ms).max(0)),
        }
    }
}

impl fmt::Display for ResetStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Earliest => f.write_str("earliest"),
            Self::None => f.write_str("none"),
            Self::ByDuration(duration_ms) => write!(f, "by_duration of {duration_ms} ms"),
        }
    }
}

/// A duration of ISO 8601 as Java reads it, `PnDTnHnMn.nS`, in lower case and not negative; in ms.
fn parse_duration(text: &str) -> Option<Millis> {
    let rest = text.strip_prefix('p')?;
    let (days, time) = match rest.split_once('t') {
        Some((_, "")) => return None,
        Some((days, time)) => (days, time),
        None => (rest, ""),
    };
    if days.is_empty() && time.is_empty() {
        return None;
    }
    let mut total = match days {
        "" => 0,
        days => whole(days.strip_suffix('d')?)?.checked_mul(DAY_MS)?,
    };
    let mut rest = time;
    for (unit, unit_ms) in [('h', 3_600_000), ('m', 60_000)] {
        if let Some((number, after)) = rest.split_once(unit) {
            total = total.checked_add(whole(number)?.checked_mul(unit_ms)?)?;
            rest = after;
        }
    }
    if !rest.is_empty() {
        total = total.checked_add(seconds(rest.strip_suffix('s')?)?)?;
    }
    Some(total)
}

fn whole(digits: &str) -> Option<i64> {
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// Seconds with up to nine digits of a fraction, in ms; what is finer is cut off.
fn seconds(text: &str) -> Option<i64> {
    let (number, fraction) = text.split_once(['.', ',']).unwrap_or((text, ""));
    if fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let milli: String = fraction.chars().chain("000".chars()).take(3).collect();
    whole(number)?.checked_mul(1000)?.checked_add(whole(&milli)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_kafka_reads_them() {
        let cases = [
            ("latest", Some(ResetStrategy::Latest)),
            ("earliest", Some(ResetStrategy::Earliest)),
            ("EARLIEST", None),
            ("by_duration:pt1h", Some(ResetStrategy::ByDuration(3_600_000))),
            ("none", Some(ResetStrategy::None)),
            ("by_duration:PT1H", Some(ResetStrategy::ByDuration(3_600_000))),
            (
                "by_duration:P1DT2H3M4.5S",
                Some(ResetStrategy::ByDuration(93_784_500)),
            ),
            ("by_duration:P2D", Some(ResetStrategy::ByDuration(2 * DAY_MS))),
            ("by_duration:PT0.1234567S", Some(ResetStrategy::ByDuration(123))),
            ("by_duration:-PT1H", None),
            ("by_duration:PT-1H", None),
            ("by_duration:PT", None),
            ("by_duration:P", None),
            ("by_duration:", None),
            ("by_duration:P1H", None),
            ("by_duration:PT1M1H", None),
            ("by_duration:PT1.0000000001S", None),
            ("by_duration:PT99999999999999999999H", None),
            ("smallest", None),
            ("", None),
        ];
        for (text, read) in cases {
            assert_eq!(ResetStrategy::parse(text), read, "{text}");
        }
    }

    #[test]
    fn a_duration_is_counted_back_from_now() {
        assert_eq!(ResetStrategy::ByDuration(400).timestamp(1000), Some(600));
        assert_eq!(ResetStrategy::ByDuration(4000).timestamp(1000), Some(0));
        assert_eq!(ResetStrategy::Latest.timestamp(1000), Some(-1));
        assert_eq!(ResetStrategy::Earliest.timestamp(1000), Some(-2));
        assert_eq!(ResetStrategy::None.timestamp(1000), None);
    }
}
