//! A look-up, as the core's own look-up recorded it, and what it cost. [`steps`](crate::steps) draws it.

use highwater_core::log::offset_index::{self, OffsetEntry};
use highwater_core::log::{Lookup, TimeLookup};
use highwater_core::record::HEADER_BYTES;
use highwater_core::types::Offset;

use crate::say;
use crate::strip::SegmentView;

/// Steps of a look-up, each shown by one press.
pub const STEPS: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub steps: Steps,
    /// How many of the steps the reader has seen.
    pub shown: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Steps {
    Offset(Lookup),
    Time(TimeLookup),
}

impl Finding {
    pub fn lookup(&self) -> &Lookup {
        match &self.steps {
            Steps::Offset(lookup) => lookup,
            Steps::Time(time) => &time.offsets,
        }
    }

    pub fn time(&self) -> Option<&TimeLookup> {
        match &self.steps {
            Steps::Offset(_) => None,
            Steps::Time(time) => Some(time),
        }
    }

    /// The segment that has the answer.
    pub fn segment(&self) -> Offset {
        self.lookup().segment
    }

    pub fn target(&self) -> String {
        match &self.steps {
            Steps::Offset(lookup) => format!("offset {}", lookup.target),
            Steps::Time(time) => format!("time {}", say::time(time.target_ms)),
        }
    }

    /// Index entries looked at, of both indexes.
    pub fn entries_read(&self) -> usize {
        self.lookup().halvings.len() + self.time().map_or(0, |time| time.halvings.len())
    }

    /// Bytes that the steps needed: entries and headers.
    pub fn bytes_needed(&self) -> u64 {
        let times = self.time().map_or(0, |time| time.halvings.len());
        let headers = self.lookup().scanned.len();
        (self.lookup().halvings.len() * offset_index::ENTRY_BYTES
            + times * highwater_core::log::time_index::ENTRY_BYTES
            + headers * HEADER_BYTES) as u64
    }

    /// What it cost, against reading everything.
    pub fn cost(&self, segments: &[SegmentView]) -> String {
        let log_bytes: u64 = segments.iter().map(|segment| segment.log_bytes).sum();
        let batch = self.lookup().scanned.last().map_or(0, |found| found.size_bytes);
        let headers = self.lookup().scanned.len();
        format!(
            "read in all {} + {} = {} bytes, then the batch of {} bytes, instead of {} bytes of log",
            say::count(self.entries_read(), "index entry"),
            say::count(headers, "batch header"),
            say::number(self.bytes_needed()),
            say::number(batch),
            say::number(log_bytes)
        )
    }
}

/// Where the walk over the batches starts.
pub fn start_byte(entry: Option<OffsetEntry>) -> u64 {
    entry.map_or(0, |entry| u64::from(entry.position))
}
