//! A look-up in three pictures: which segment, which index entry, which batch.
//!
//! Each cell stands for bytes that the look-up had to do with, and opens them when it is chosen.

use highwater_core::log::TimeLookup;
use highwater_core::log::names::FileKind;
use highwater_core::log::offset_index;
use highwater_core::types::Offset;

use crate::annotate::Chosen;
use crate::finding::{Finding, STEPS, Steps, start_byte};
use crate::say;
use crate::strip::{SegmentView, file_name};

/// What the three steps ask, until they are shown.
const AHEAD: [&str; STEPS] = [
    "1 Which segment?",
    "2 Where in it? Its index knows roughly",
    "3 Which batch? Read on from there",
];

/// One step as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepView {
    pub title: String,
    /// None of a step that is still ahead.
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub title: Option<String>,
    pub cells: Vec<Cell>,
}

/// A box of a step: what stands in it, what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub title: String,
    pub detail: String,
    /// Said below it, in the order of the looks.
    pub verdict: Option<String>,
    /// The look-up goes on from here.
    pub taken: bool,
    /// It was looked at.
    pub seen: bool,
    pub bytes: Chosen,
}

impl Cell {
    pub fn label(&self) -> String {
        let mut text = format!("{} {}", self.title, self.detail).trim().to_owned();
        if let Some(verdict) = &self.verdict {
            text = format!("{text}: {verdict}");
        }
        if self.taken {
            text.push_str(", taken");
        }
        text
    }
}

impl StepView {
    pub fn is_ahead(&self) -> bool {
        self.rows.is_empty()
    }

    /// A step that nothing is known of yet.
    fn ahead(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            rows: Vec::new(),
        }
    }
}

/// All steps: those that the reader has seen, then those ahead.
pub fn views(finding: &Finding, segments: &[SegmentView]) -> Vec<StepView> {
    let step = |at: usize| match at {
        0 => which_segment(finding, segments),
        1 => which_entry(finding, segments),
        _ => which_batch(finding),
    };
    let views = AHEAD
        .iter()
        .enumerate()
        .map(|(at, ahead)| match at < finding.shown {
            true => step(at),
            false => StepView::ahead(ahead),
        });
    views.collect()
}

fn which_segment(finding: &Finding, segments: &[SegmentView]) -> StepView {
    let title = match &finding.steps {
        Steps::Offset(lookup) => {
            format!("1 Which segment? The greatest name not above {}", lookup.target)
        }
        Steps::Time(time) => format!(
            "1 Which segment? The first whose greatest time reaches {}",
            say::time(time.target_ms)
        ),
    };
    let taken = finding.segment();
    let cells = segments.iter().map(|segment| {
        let greatest = segment.batches.iter().map(|batch| batch.max_timestamp_ms).max();
        Cell {
            title: segment.file(FileKind::Log),
            detail: match (&finding.steps, greatest) {
                (Steps::Time(_), Some(greatest)) => format!("up to {}", say::time(greatest)),
                _ => String::new(),
            },
            verdict: match &finding.steps {
                Steps::Offset(lookup) => Some(compare(segment.base, lookup.target, taken)),
                Steps::Time(_) if segment.base < taken => Some("too early".to_owned()),
                Steps::Time(_) => (segment.base == taken).then(|| "reaches it".to_owned()),
            },
            taken: segment.base == taken,
            seen: segment.base <= taken,
            bytes: Chosen::Batch {
                segment: segment.base,
                position: 0,
            },
        }
    });
    let row = Row {
        title: None,
        cells: cells.collect(),
    };
    StepView {
        title,
        rows: vec![row],
    }
}

fn compare(base: Offset, target: Offset, taken: Offset) -> String {
    match base {
        _ if base == taken => format!("{base} ≤ {target}, the last such"),
        _ if base <= target => format!("{base} ≤ {target}"),
        _ => format!("{base} > {target}"),
    }
}

fn which_entry(finding: &Finding, segments: &[SegmentView]) -> StepView {
    let Some(segment) = segments.iter().find(|segment| segment.base == finding.segment()) else {
        return StepView::ahead("2 The segment is gone");
    };
    let lookup = finding.lookup();
    let by_offset = Row {
        title: finding.time().map(|_| {
            let file = segment.file(FileKind::OffsetIndex);
            format!("then {file} for offset {}", lookup.target)
        }),
        cells: offset_cells(finding, segment),
    };
    let (kind, halvings, entries, rows) = match finding.time() {
        Some(time) => {
            let by_time = Row {
                title: None,
                cells: time_cells(time, segment),
            };
            let halvings = time.halvings.len();
            (
                FileKind::TimeIndex,
                halvings,
                segment.times.len(),
                vec![by_time, by_offset],
            )
        }
        None => (
            FileKind::OffsetIndex,
            lookup.halvings.len(),
            segment.entries.len(),
            vec![by_offset],
        ),
    };
    let title = format!(
        "2 Binary search in {}: {} for {}",
        file_name(segment.base, kind),
        say::count(halvings, "halving"),
        say::count(entries, "entry")
    );
    StepView { title, rows }
}

fn offset_cells(finding: &Finding, segment: &SegmentView) -> Vec<Cell> {
    let lookup = finding.lookup();
    let taken = lookup
        .entry
        .map(|entry| offset_index::full_offset(segment.base, entry));
    let entries = segment.entries.iter().enumerate();
    let cells = entries.map(|(at, entry)| {
        let mut halvings = lookup.halvings.iter().enumerate();
        let look = halvings.find(|(_, halving)| halving.middle == at);
        Cell {
            title: entry.offset.to_string(),
            detail: format!("→ byte {}", say::number(entry.position)),
            verdict: look.map(|(nth, halving)| verdict(nth, halving.at_or_below)),
            taken: taken == Some(entry.offset),
            seen: look.is_some(),
            bytes: Chosen::Entry {
                segment: segment.base,
                at,
            },
        }
    });
    cells.collect()
}

fn time_cells(time: &TimeLookup, segment: &SegmentView) -> Vec<Cell> {
    let taken = time.entry.map(|entry| entry.timestamp_ms);
    let entries = segment.times.iter().enumerate();
    let cells = entries.map(|(at, entry)| {
        let mut halvings = time.halvings.iter().enumerate();
        let look = halvings.find(|(_, halving)| halving.middle == at);
        Cell {
            title: say::time(entry.timestamp_ms),
            detail: format!("→ offset {}", entry.offset),
            verdict: look.map(|(nth, halving)| verdict(nth, halving.at_or_below)),
            taken: taken == Some(entry.timestamp_ms),
            seen: look.is_some(),
            bytes: Chosen::Time {
                segment: segment.base,
                at,
            },
        }
    });
    cells.collect()
}

fn which_batch(finding: &Finding) -> StepView {
    let lookup = finding.lookup();
    let title = format!(
        "3 Forward from byte {}: {} read, the last reaches {}",
        say::number(start_byte(lookup.entry)),
        say::count(lookup.scanned.len(), "header"),
        finding.target()
    );
    let cells = lookup.scanned.iter().map(|batch| Cell {
        title: format!("{}–{}", batch.base_offset, batch.last_offset),
        detail: format!("byte {}", say::number(batch.position)),
        verdict: Some(if batch.reaches_target { "here" } else { "too early" }.to_owned()),
        taken: batch.reaches_target,
        seen: true,
        bytes: Chosen::Batch {
            segment: lookup.segment,
            position: batch.position,
        },
    });
    let row = Row {
        title: None,
        cells: cells.collect(),
    };
    StepView {
        title,
        rows: vec![row],
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::Settings;
    use crate::annotate::annotate;
    use crate::world::World;

    #[test]
    fn each_cell_opens_the_bytes_that_it_stands_for() {
        let script = [
            "append 20 6 20 none",
            "append 18 6 20 none",
            "find 163",
            "reveal",
            "reveal",
            "reveal",
            "time 28015",
            "reveal",
            "reveal",
            "reveal",
        ];
        let mut world = World::new(Settings::default()).unwrap();
        let mut seen = 0;
        for action in script {
            world = world.after(&action.parse().unwrap());
            let Some(finding) = &world.finding else { continue };
            let views = views(finding, world.segments());
            assert_eq!(views.len(), STEPS);
            for (at, view) in views.iter().enumerate() {
                assert_eq!(view.is_ahead(), at >= finding.shown, "{}", view.title);
                for cell in view.rows.iter().flat_map(|row| &row.cells) {
                    let shown = annotate(world.host(), cell.bytes).unwrap();
                    let first = &shown.fields[0].value;
                    match cell.bytes {
                        Chosen::Batch { segment, position: 0 } => assert_eq!(*first, segment.to_string()),
                        Chosen::Batch { .. } => assert!(cell.title.starts_with(first)),
                        Chosen::Entry { .. } => assert!(first.ends_with(&format!("= {}", cell.title))),
                        Chosen::Time { .. } => assert!(first.ends_with(&cell.title)),
                    }
                    seen += 1;
                }
            }
        }
        assert!(seen > 20, "{seen}");
    }
}
