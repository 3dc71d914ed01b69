//! Planning reads: which bytes of which file answer a fetch, a time, an epoch.
//!
//! At the tail, where most readers are, memory knows the answer. Further back a [`Job`] looks: it gets
//! what the owner knows (segment, limits, the active segment's index entry) and reads the rest.
//!
//! Invariants
//! - a plan never reaches bytes that are not written yet, nor a file that is not open yet
//! - a plan covers one segment; the reader comes again for the next

use std::cmp::Ordering;

use super::floor::floor_in_memory;
use super::job::Job;
use super::lookup::{FileRange, Locate, Lookup, SegmentToRead, StartFrom, relative_to};
use super::offset_index::OffsetEntry;
use super::segment::Segment;
use super::time_index::TimeEntry;
use super::time_lookup::{LocateTime, TimeLookup};
use super::{Log, Outcome};
use crate::disk::ReadAt;
use crate::error::{DiskError, ErrorCode, Refused};
use crate::types::{Millis, Offset};

/// What a fetch has to do.
#[derive(Clone, Debug)]
pub enum ReadPlan {
    /// Nothing below the limit yet.
    Empty,
    Here(FileRange),
    /// Run it; its [`Outcome`](super::Outcome) is the answer.
    Locate(Job),
}

/// Where a search by time has to look.
#[derive(Clone, Debug)]
pub enum TimePlan {
    /// No record can reach the time: (-1, -1) without an error.
    Nothing,
    Locate(Job),
}

impl Log {
    /// Plans a read of batches from the one that holds offset `from` (or the next after a hole) up to
    /// `limit`: the high watermark for consumers, the last stable offset under read_committed, the
    /// log end for followers. `max_bytes` may be passed only by a first batch and with `at_least_one`.
    ///
    /// `OFFSET_OUT_OF_RANGE` when `from` lies before the log start or beyond the log end.
    pub fn plan_read(
        &self,
        from: Offset,
        limit: Offset,
        max_bytes: u32,
        at_least_one: bool,
    ) -> Result<ReadPlan, Refused> {
        if from < self.log_start || from > self.written.end {
            return Err(Refused::new(
                ErrorCode::OffsetOutOfRange,
                format!(
                    "offset {from} of {} is outside {}..{}",
                    self.partition, self.log_start, self.written.end
                ),
            ));
        }
        let limit = limit.min(self.written.end);
        if from >= limit || (max_bytes == 0 && !at_least_one) || !self.is_open() {
            return Ok(ReadPlan::Empty);
        }
        let locate = self.locate(from, limit, max_bytes, at_least_one, None);
        if locate.next_base.is_none()
            && let Some(plan) = self.read_from_memory(&locate)
        {
            return Ok(plan);
        }
        Ok(ReadPlan::Locate(Job::Locate(locate)))
    }

    /// Looks an offset up as a fetch would, and tells each step: for the inspector.
    pub fn explain_lookup(&self, target: Offset, disk: &dyn ReadAt) -> Result<(Lookup, Outcome), DiskError> {
        let mut steps = Lookup {
            target,
            ..Lookup::default()
        };
        let locate = self.locate(target, self.written.end, u32::MAX, true, Some(&mut steps));
        steps.segment = locate.segment.base;
        let located = locate.run_watched(disk, Some(&mut steps))?;
        Ok((steps, located.outcome))
    }

    /// Looks a time up as ListOffsets would, and tells each step: for the inspector. `None`: no record
    /// reaches the time.
    pub fn explain_time_lookup(
        &self,
        target_ms: Millis,
        disk: &dyn ReadAt,
    ) -> Result<Option<TimeLookup>, DiskError> {
        let mut steps = TimeLookup::default();
        let TimePlan::Locate(Job::LocateTime(locate)) = self.plan_watched(target_ms, Some(&mut steps)) else {
            return Ok(None);
        };
        let found = locate.run_watched(disk, Some(&mut steps))?;
        Ok(found.found.map(|_| steps))
    }

    /// Plans a search for the first record whose timestamp is at least `target_ms`. Callers compare the
    /// offset found with the limit that the client may see.
    pub fn plan_time_lookup(&self, target_ms: Millis) -> TimePlan {
        self.plan_watched(target_ms, None)
    }

    fn plan_watched(&self, target_ms: Millis, steps: Option<&mut TimeLookup>) -> TimePlan {
        let closed_from = self
            .closed
            .iter()
            .position(|segment| segment.greatest.timestamp_ms >= target_ms)
            .unwrap_or(self.closed.len());
        let mut segments: Vec<_> = self.closed[closed_from..]
            .iter()
            .filter(|segment| segment.greatest.timestamp_ms >= target_ms)
            .map(|segment| self.closed_to_read(segment))
            .collect();
        if self.active.indexer.greatest.timestamp_ms >= target_ms {
            segments.push(self.active_to_read_by_time(target_ms, steps));
        }
        self.time_plan(segments, target_ms)
    }

    /// Plans a search for the first record that has the log's greatest timestamp (KIP-734).
    pub fn plan_greatest_timestamp(&self) -> TimePlan {
        let active = self.active.indexer.greatest.timestamp_ms;
        let closed = self
            .closed
            .iter()
            .map(|segment| segment.greatest.timestamp_ms)
            .max();
        let greatest = closed.unwrap_or(-1).max(active);
        if greatest < 0 {
            return TimePlan::Nothing;
        }
        self.plan_time_lookup(greatest)
    }

    fn time_plan(&self, segments: Vec<SegmentToRead>, target_ms: Millis) -> TimePlan {
        if segments.is_empty() {
            return TimePlan::Nothing;
        }
        TimePlan::Locate(Job::LocateTime(LocateTime {
            segments,
            target_ms,
            from: self.log_start,
        }))
    }

    /// Step one of a look-up, and for the active segment step two.
    fn locate(
        &self,
        from: Offset,
        limit: Offset,
        max_bytes: u32,
        at_least_one: bool,
        steps: Option<&mut Lookup>,
    ) -> Locate {
        let after = self.closed.partition_point(|segment| segment.base <= from);
        let in_closed = match after.checked_sub(1) {
            Some(at) if from < self.active.indexer.base => Some(at),
            _ => None,
        };
        let (segment, file, next_base) = match in_closed {
            Some(at) => {
                let next = self
                    .closed
                    .get(at + 1)
                    .map_or(self.active.indexer.base, |next| next.base);
                let segment = &self.closed[at];
                (self.closed_to_read(segment), segment.file, Some(next))
            }
            None => {
                let entry = self.active_floor(relative_to(self.active.indexer.base, from), steps);
                (
                    self.active_to_read(StartFrom::Entry(entry)),
                    self.active.file,
                    None,
                )
            }
        };
        Locate {
            segment,
            file,
            from,
            limit,
            next_base,
            max_bytes,
            at_least_one,
        }
    }

    /// Answers from the places of the last batches, if they reach back far enough for both ends.
    fn read_from_memory(&self, locate: &Locate) -> Option<ReadPlan> {
        let (first, size) = self.active.indexer.place_in_tail(locate.from)?;
        let end = if locate.limit == self.written.end {
            self.active_written_bytes()
        } else {
            self.active.indexer.place_in_tail(locate.limit)?.0.position
        };
        let wanted = u64::from(locate.max_bytes).max(if locate.at_least_one { size } else { 0 });
        if first.position + size > end || wanted < size || size == 0 {
            return Some(ReadPlan::Empty);
        }
        Some(ReadPlan::Here(FileRange {
            file: locate.file,
            pos: first.position,
            len: (end - first.position).min(wanted) as u32,
            first_bytes: size as u32,
            base_offset: first.base,
            below: locate.limit,
        }))
    }

    fn closed_to_read(&self, segment: &Segment) -> SegmentToRead {
        SegmentToRead {
            dir: self.dir,
            path: self.path.clone(),
            base: segment.base,
            // A roll may come before the last batches are written.
            end_bytes: match segment.base.cmp(&self.written.segment) {
                Ordering::Less => segment.size_bytes,
                Ordering::Equal => self.written.bytes,
                Ordering::Greater => 0,
            },
            start: StartFrom::IndexFile,
        }
    }

    fn active_to_read(&self, start: StartFrom) -> SegmentToRead {
        SegmentToRead {
            dir: self.dir,
            path: self.path.clone(),
            base: self.active.indexer.base,
            end_bytes: self.active_written_bytes(),
            start,
        }
    }

    fn active_to_read_by_time(&self, target_ms: Millis, mut steps: Option<&mut TimeLookup>) -> SegmentToRead {
        let indexer = &self.active.indexer;
        let is_at_or_below = |entry: &TimeEntry| entry.timestamp_ms <= target_ms;
        let time = floor_in_memory(indexer.times.entries(), is_at_or_below, |halving| {
            if let Some(steps) = steps.as_deref_mut() {
                steps.halvings.push(halving);
            }
        });
        if let Some(steps) = steps.as_deref_mut() {
            steps.entry = time;
        }
        let reached = time.map_or(0, |entry| entry.relative);
        let start = reached.max(relative_to(indexer.base, self.log_start));
        let entry = self.active_floor(start, steps.map(|steps| &mut steps.offsets));
        self.active_to_read(StartFrom::Entry(entry))
    }

    /// Step two of a look-up in the active segment, whose index is in memory.
    fn active_floor(&self, relative: u32, mut steps: Option<&mut Lookup>) -> Option<OffsetEntry> {
        let entries = self.active.indexer.offsets.entries();
        let is_at_or_below = |entry: &OffsetEntry| entry.relative <= relative;
        let found = floor_in_memory(entries, is_at_or_below, |halving| {
            if let Some(steps) = steps.as_deref_mut() {
                steps.halvings.push(halving);
            }
        });
        if let Some(steps) = steps {
            steps.entry = found;
        }
        found
    }

    fn active_written_bytes(&self) -> u64 {
        if self.written.segment == self.active.indexer.base {
            self.written.bytes
        } else {
            0
        }
    }
}
