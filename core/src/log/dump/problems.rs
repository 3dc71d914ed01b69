//! What does not fit together, collected over all files and said at the end.

use crate::ordered::OrderedMap;
use crate::types::{Millis, Offset};

/// By absolute path. Kafka lists paths in no order of its own; here they are sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    index_mismatches: OrderedMap<String, OrderedMap<Offset, Offset>>,
    time_mismatches: OrderedMap<String, Vec<(Millis, Millis)>>,
    times_out_of_order: OrderedMap<String, Vec<(Millis, Millis)>>,
    offsets_not_found: OrderedMap<String, Vec<(Offset, Offset)>>,
    gaps: OrderedMap<String, OrderedMap<Offset, Offset>>,
}

impl Problems {
    /// An index entry leads to a batch with another last offset.
    pub(super) fn index_mismatch(&mut self, path: &str, index: Offset, log: Offset) {
        let file = self.index_mismatches.entry(path.into()).or_default();
        file.insert(index, log);
    }

    /// A time index entry's timestamp is not the largest of its batch.
    pub(super) fn time_mismatch(&mut self, path: &str, index: Millis, log: Millis) {
        let file = self.time_mismatches.entry(path.into()).or_default();
        file.push((index, log));
    }

    pub(super) fn time_out_of_order(&mut self, path: &str, time: Millis, before: Millis) {
        let file = self.times_out_of_order.entry(path.into()).or_default();
        file.push((time, before));
    }

    /// A time index entry's offset is the last of no batch.
    pub(super) fn offset_not_found(&mut self, path: &str, index: Offset, log: Offset) {
        let file = self.offsets_not_found.entry(path.into()).or_default();
        file.push((index, log));
    }

    /// A record's offset does not follow the one before.
    pub(super) fn gap(&mut self, path: &str, before: Offset, after: Offset) {
        self.gaps.entry(path.into()).or_default().insert(before, after);
    }

    pub(super) fn print(&self, say: &mut dyn FnMut(String)) {
        for (path, mismatches) in &self.index_mismatches {
            say(format!("Mismatches in :{path}"));
            for (index, log) in mismatches.iter().rev() {
                say(format!("  Index offset: {index}, log offset: {log}"));
            }
        }
        for (path, mismatches) in &self.time_mismatches {
            say(format!("Found timestamp mismatch in :{path}"));
            for (index, log) in mismatches {
                say(format!("  Index timestamp: {index}, log timestamp: {log}"));
            }
        }
        for (path, times) in &self.times_out_of_order {
            say(format!("Found out of order timestamp in :{path}"));
            for (time, before) in times {
                say(format!(
                    "  Index timestamp: {time}, Previously indexed timestamp: {before}"
                ));
            }
        }
        for offsets in self.offsets_not_found.values() {
            say("The following indexed offsets are not found in the log.".into());
            for (index, log) in offsets {
                say(format!("Indexed offset: {index}, found log offset: {log}"));
            }
        }
        for (path, gaps) in &self.gaps {
            say(format!("Non-consecutive offsets in {path}"));
            for (before, after) in gaps {
                say(format!("  {before} is followed by {after}"));
            }
        }
    }
}
