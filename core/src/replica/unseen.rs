//! Bytes on their way to readers: appended, then written (followers may fetch them), then below the
//! high watermark (consumers may).
//!
//! Invariant: an amount is counted once for followers and once for consumers, and what is not known
//! (records from before this replica led) counts as more than any reader waits for.

use std::collections::VecDeque;

use crate::types::Offset;

/// Stands for bytes that nobody counted.
const UNKNOWN: u32 = u32::MAX;

#[derive(Clone, Debug, Default)]
pub(super) struct Unseen {
    /// Of each batch that is not below HW: its end offset and its size.
    batches: VecDeque<(Offset, u32)>,
    /// So many of them, from the front, are written.
    written: usize,
}

impl Unseen {
    pub fn push(&mut self, end: Offset, size: u32) {
        self.batches.push_back((end, size));
    }

    /// Records are there already, of a size that is not known: written up to `log_end`, and others up to
    /// `assigned_end`.
    pub fn begin(&mut self, high_watermark: Offset, log_end: Offset, assigned_end: Offset) {
        self.clear();
        if log_end > high_watermark {
            self.push(log_end, UNKNOWN);
            self.written = 1;
        }
        if assigned_end > log_end {
            self.push(assigned_end, UNKNOWN);
        }
    }

    pub fn clear(&mut self) {
        self.batches.clear();
        self.written = 0;
    }

    /// LEO is now `log_end`; the bytes that followers see more.
    pub fn written_upto(&mut self, log_end: Offset) -> u64 {
        let mut bytes = 0;
        while let Some((_, size)) = self.batches.get(self.written).filter(|(end, _)| *end <= log_end) {
            bytes += u64::from(*size);
            self.written += 1;
        }
        bytes
    }

    /// HW is now `high_watermark`; the bytes that consumers see more.
    pub fn seen_upto(&mut self, high_watermark: Offset) -> u64 {
        let mut bytes = 0;
        while let Some((_, size)) = self.batches.pop_front_if(|(end, _)| *end <= high_watermark) {
            bytes += u64::from(size);
            self.written = self.written.saturating_sub(1);
        }
        match self.batches.front() {
            Some(&(_, UNKNOWN)) => bytes + u64::from(UNKNOWN),
            _ => bytes,
        }
    }
}
