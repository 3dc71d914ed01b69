//! The one pass over a batch's records. It touches each length once, allocates nothing while all is
//! well, and collects what is wrong with single records otherwise.

use super::super::batch::InvalidBatch;
use super::super::compression::Codec;
use super::super::header::{BatchHeader, TimestampType};
use super::super::record::RawRecord;
use super::{BatchRefused, MAX_RECORD_ERRORS, ValidationRules};
use crate::error::ErrorCode;
use crate::types::{Millis, NO_TIMESTAMP};

/// What the pass learned.
pub(super) struct Found {
    /// The largest timestamp of a record; -1 when none has one.
    pub max_timestamp: Millis,
    /// Whether the records have offset deltas 0, 1, 2, …
    pub offsets_are_sequential: bool,
}

/// The record's time: its own, or the batch's when a broker set it.
#[inline]
pub(super) fn timestamp_of(header: &BatchHeader, delta: i64) -> Millis {
    match header.timestamp_type() {
        TimestampType::CreateTime => header.base_timestamp.wrapping_add(delta),
        TimestampType::LogAppendTime => header.max_timestamp,
    }
}

pub(super) fn scan(
    header: &BatchHeader,
    body: &[u8],
    rules: &ValidationRules,
    now: Millis,
) -> Result<Found, BatchRefused> {
    let count = header.record_count;
    let mut errors = RecordErrors::default();
    let mut max_timestamp = NO_TIMESTAMP;
    let mut sequential = true;
    let mut at = 0;
    let max_record_bytes = match header.codec() {
        Some(Codec::None) => usize::MAX,
        _ => rules.max_decompressed_message_bytes as usize,
    };
    for index in 0..count {
        let from = at;
        let record = RawRecord::read(body, &mut at).map_err(|why| InvalidBatch::Record { index, why })?;
        if at - from > max_record_bytes {
            return Err(BatchRefused::new(
                ErrorCode::InvalidRecord,
                format!(
                    "record {index} has {} bytes, the topic takes {max_record_bytes} \
                     (max.decompressed.message.bytes)",
                    at - from
                ),
            ));
        }
        let timestamp = timestamp_of(header, record.timestamp_delta);
        sequential &= record.offset_delta == index;
        max_timestamp = max_timestamp.max(timestamp);
        if rules.compacted && record.key.is_none() {
            errors.no_key(index);
        } else if let Some(problem) = check_timestamp(header, timestamp, rules, now) {
            errors.timestamp(index, timestamp, problem, rules, now);
        }
    }
    if at != body.len() {
        let left = (body.len() - at) as u64;
        return Err(InvalidBatch::LeftOver { left }.into());
    }
    errors.into_result()?;
    Ok(Found {
        max_timestamp,
        offsets_are_sequential: sequential,
    })
}

#[derive(Clone, Copy)]
enum TimestampProblem {
    OutOfRange,
    SetByBrokerOnly,
}

/// `LogValidator.validateTimestamp`: the range counts only where the producer's time counts.
#[inline]
fn check_timestamp(
    header: &BatchHeader,
    timestamp: Millis,
    rules: &ValidationRules,
    now: Millis,
) -> Option<TimestampProblem> {
    if rules.timestamp_type == TimestampType::CreateTime && timestamp != NO_TIMESTAMP {
        let age = now.wrapping_sub(timestamp);
        (age > rules.timestamp_before_max_ms || age.wrapping_neg() > rules.timestamp_after_max_ms)
            .then_some(TimestampProblem::OutOfRange)
    } else if header.timestamp_type() == TimestampType::LogAppendTime {
        Some(TimestampProblem::SetByBrokerOnly)
    } else {
        None
    }
}

#[derive(Default)]
struct RecordErrors {
    listed: Vec<(i32, Option<String>)>,
    count: usize,
    about_time: bool,
}

impl RecordErrors {
    #[cold]
    fn no_key(&mut self, index: i32) {
        self.add(index, || "a compacted topic takes no record without a key".into());
    }

    #[cold]
    fn timestamp(
        &mut self,
        index: i32,
        timestamp: Millis,
        problem: TimestampProblem,
        rules: &ValidationRules,
        now: Millis,
    ) {
        self.about_time = true;
        self.add(index, || match problem {
            TimestampProblem::OutOfRange => format!(
                "timestamp {timestamp} is out of range: it must be within [{}, {}]",
                now.saturating_sub(rules.timestamp_before_max_ms),
                now.saturating_add(rules.timestamp_after_max_ms)
            ),
            TimestampProblem::SetByBrokerOnly => "a producer may not set timestamp type LogAppendTime".into(),
        });
    }

    fn add(&mut self, index: i32, message: impl FnOnce() -> String) {
        self.count += 1;
        if self.listed.len() < MAX_RECORD_ERRORS {
            self.listed.push((index, Some(message())));
        }
    }

    fn into_result(self) -> Result<(), BatchRefused> {
        let count = self.count;
        let (code, message) = match (count, self.about_time) {
            (0, _) => return Ok(()),
            (_, true) => (
                ErrorCode::InvalidTimestamp,
                "one or more records have an invalid timestamp".to_owned(),
            ),
            (_, false) => (
                ErrorCode::InvalidRecord,
                format!("{count} of the batch's records are invalid"),
            ),
        };
        Err(BatchRefused {
            code,
            message: Some(message),
            record_errors: self.listed,
            by_log: true,
        })
    }
}
