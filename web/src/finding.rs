//! A look-up in three steps: which segment, which index entry, which batch. The core's own look-up
//! recorded them; here they are put into words.

use highwater_core::log::names::FileKind;
use highwater_core::log::offset_index::{self, OffsetEntry};
use highwater_core::log::{Lookup, TimeLookup};
use highwater_core::record::HEADER_BYTES;
use highwater_core::types::{Millis, Offset};

use crate::say;
use crate::strip::{SegmentView, file_name};

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

/// A box of a step: what stands in it, what happened to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub title: String,
    pub detail: String,
    /// Said below it, in the order of the looks.
    pub verdict: Option<String>,
    pub chosen: bool,
    /// It was looked at.
    pub seen: bool,
}

impl Cell {
    pub fn label(&self) -> String {
        let mut text = format!("{} {}", self.title, self.detail).trim().to_owned();
        if let Some(verdict) = &self.verdict {
            text = format!("{text}: {verdict}");
        }
        if self.chosen {
            text.push_str(", chosen");
        }
        text
    }
}

/// One step as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepView {
    pub title: String,
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub title: Option<String>,
    pub cells: Vec<Cell>,
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

    /// The steps that the reader has seen.
    pub fn views(&self, segments: &[SegmentView]) -> Vec<StepView> {
        let all = [
            self.which_segment(segments),
            self.which_entry(segments),
            self.which_batch(),
        ];
        all.into_iter().take(self.shown).collect()
    }

    fn which_segment(&self, segments: &[SegmentView]) -> StepView {
        let title = match &self.steps {
            Steps::Offset(lookup) => {
                format!("1 Which segment? The greatest name not above {}", lookup.target)
            }
            Steps::Time(time) => format!(
                "1 Which segment? The first whose greatest time reaches {}",
                say::time(time.target_ms)
            ),
        };
        let cells = segments.iter().map(|segment| {
            let greatest = segment.batches.iter().map(|batch| batch.max_timestamp_ms).max();
            Cell {
                title: segment.file(FileKind::Log),
                detail: match (&self.steps, greatest) {
                    (Steps::Time(_), Some(greatest)) => format!("up to {}", say::time(greatest)),
                    _ => String::new(),
                },
                verdict: None,
                chosen: segment.base == self.segment(),
                seen: segment.base <= self.segment(),
            }
        });
        StepView {
            title,
            rows: vec![Row {
                title: None,
                cells: cells.collect(),
            }],
        }
    }

    fn which_entry(&self, segments: &[SegmentView]) -> StepView {
        let Some(segment) = segments.iter().find(|segment| segment.base == self.segment()) else {
            return StepView {
                title: "2 The segment is gone".to_owned(),
                rows: Vec::new(),
            };
        };
        let index = Row {
            title: self.time().map(|_| {
                format!(
                    "then {} for offset {}",
                    segment.file(FileKind::OffsetIndex),
                    self.lookup().target
                )
            }),
            cells: self.offset_cells(segment),
        };
        let (kind, halvings, entries, mut rows) = match self.time() {
            Some(time) => {
                let row = Row {
                    title: None,
                    cells: time_cells(time, segment),
                };
                (
                    FileKind::TimeIndex,
                    time.halvings.len(),
                    segment.times.len(),
                    vec![row],
                )
            }
            None => (
                FileKind::OffsetIndex,
                self.lookup().halvings.len(),
                segment.entries.len(),
                Vec::new(),
            ),
        };
        rows.push(index);
        let title = format!(
            "2 Binary search in {}: {} for {}",
            file_name(segment.base, kind),
            say::count(halvings, "halving"),
            say::count(entries, "entry")
        );
        StepView { title, rows }
    }

    fn offset_cells(&self, segment: &SegmentView) -> Vec<Cell> {
        let lookup = self.lookup();
        let chosen = lookup
            .entry
            .map(|entry| offset_index::full_offset(segment.base, entry));
        let entries = segment.entries.iter().enumerate();
        entries
            .map(|(at, entry)| {
                let look = lookup.halvings.iter().position(|halving| halving.middle == at);
                let low = look
                    .and_then(|look| lookup.halvings.get(look))
                    .map(|halving| halving.at_or_below);
                Cell {
                    title: entry.offset.to_string(),
                    detail: format!("→ byte {}", say::number(entry.position)),
                    verdict: look.zip(low).map(|(look, low)| verdict(look, low)),
                    chosen: chosen == Some(entry.offset),
                    seen: look.is_some(),
                }
            })
            .collect()
    }

    fn which_batch(&self) -> StepView {
        let lookup = self.lookup();
        let start = start_byte(lookup.entry);
        let title = format!(
            "3 Forward from byte {}: {} read, the last reaches {}",
            say::number(start),
            say::count(lookup.scanned.len(), "header"),
            self.target()
        );
        let cells = lookup.scanned.iter().map(|batch| Cell {
            title: format!("{}–{}", batch.base_offset, batch.last_offset),
            detail: format!("byte {}", say::number(batch.position)),
            verdict: Some(if batch.reaches_target { "here" } else { "too early" }.to_owned()),
            chosen: batch.reaches_target,
            seen: true,
        });
        StepView {
            title,
            rows: vec![Row {
                title: None,
                cells: cells.collect(),
            }],
        }
    }
}

/// Where the walk over the batches starts.
pub fn start_byte(entry: Option<OffsetEntry>) -> u64 {
    entry.map_or(0, |entry| u64::from(entry.position))
}

fn time_cells(time: &TimeLookup, segment: &SegmentView) -> Vec<Cell> {
    let chosen: Option<Millis> = time.entry.map(|entry| entry.timestamp_ms);
    let entries = segment.times.iter().enumerate();
    entries
        .map(|(at, entry)| {
            let look = time.halvings.iter().position(|halving| halving.middle == at);
            let low = look
                .and_then(|look| time.halvings.get(look))
                .map(|halving| halving.at_or_below);
            Cell {
                title: say::time(entry.timestamp_ms),
                detail: format!("→ offset {}", entry.offset),
                verdict: look.zip(low).map(|(look, low)| verdict(look, low)),
                chosen: chosen == Some(entry.timestamp_ms),
                seen: look.is_some(),
            }
        })
        .collect()
}

fn verdict(look: usize, at_or_below: bool) -> String {
    let which = match look {
        0 => "1st".to_owned(),
        1 => "2nd".to_owned(),
        2 => "3rd".to_owned(),
        more => format!("{}th", more + 1),
    };
    let what = if at_or_below { "not above" } else { "too high" };
    format!("{which}: {what}")
}
