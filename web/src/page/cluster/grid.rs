//! The log grid: a row a replica, a column an offset, and above them what producers were told.
//!
//! Every row shows what *that* replica knows: its own high watermark is the rule across its row, and what
//! is solid or dashed follows it. All texts are the stage's own.
//!
//! Invariants
//! - a cell is at most two elements
//! - a row that has not changed (the same `Arc`) is not drawn again

use std::sync::Arc;

use highwater_core::stage::{Cell, Mark, MarkKind, Promise, PromiseState, Row, Stage, State};
use highwater_core::types::Offset;
use yew::prelude::*;

/// Columns that the stylesheet has places for.
const MOST_COLUMNS: usize = 12;
/// Colours of leader epochs, which then begin again.
pub const EPOCHS: i32 = 6;

/// Which offsets are columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    first: Offset,
    count: usize,
}

impl Columns {
    /// Of a stage that has room for so many.
    pub fn of(stage: &Stage, room: usize) -> Self {
        let cells = stage.rows.iter().flat_map(|row| &row.cells);
        let last = cells.map(|cell| cell.offset).max();
        let needed = last.map_or(0, |last| (last + 1 - stage.offsets.start).max(0) as usize);
        Self {
            first: stage.offsets.start,
            count: needed.max(room).min(MOST_COLUMNS),
        }
    }

    fn place(self, offset: Offset) -> Option<usize> {
        let at = usize::try_from(offset - self.first).ok()?;
        (at < self.count).then_some(at)
    }

    /// The border before an offset, also the one behind the last column.
    fn border(self, offset: Offset) -> Option<usize> {
        let at = usize::try_from(offset - self.first).ok()?;
        (at <= self.count).then_some(at)
    }

    fn all(self) -> impl Iterator<Item = (usize, Offset)> {
        (0..self.count).map(move |at| (at, self.first + at as Offset))
    }

    fn class(self) -> String {
        format!("n{}", self.count)
    }
}

/// A row, the same if it is the same value in memory.
#[derive(Clone)]
struct Shared(Arc<Row>);

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// `stop`: Tab leads into this grid; all that can be pointed at is one group, and arrows move within it.
pub fn view(stage: &Stage, columns: Columns, stop: bool, focus: &dyn Fn(&str) -> bool) -> Html {
    let rows = stage.rows.iter().enumerate().map(|(at, row)| {
        let focus = focus(&row.key()) || focus(&format!("broker:{}", row.broker));
        html! { <ReplicaRow key={row.broker} row={Shared(row.clone())} {columns} {focus} stop={stop && at == 0} /> }
    });
    if stage.rows.is_empty() {
        return html! { <p class="soft">{ "No replica yet: the partition is still to be made." }</p> };
    }
    html! {
        <div class="log-grid">
            <div class={classes!("lane", "offsets", columns.class())}>
                if let Some(folded) = &stage.folded {
                    <span class="label" role="img" aria-label={folded.say()} data-say="folded" data-rove="" tabindex="-1">
                        { format!("{}–{} as all …", folded.from, folded.to - 1) }
                    </span>
                } else {
                    <span class="label" aria-hidden="true">{ "offset" }</span>
                }
                { for columns.all().map(|(at, offset)| html! { <span class={format!("c{at}")} aria-hidden="true">{ offset }</span> }) }
            </div>
            { promises(stage, columns, focus("promises")) }
            { for rows }
            { isrs(stage, focus("isr")) }
        </div>
    }
}

fn promises(stage: &Stage, columns: Columns, focus: bool) -> Html {
    let promise = |promise: &Promise| {
        let at = columns.place(promise.offset)?;
        let (class, text) = match promise.state {
            PromiseState::Kept => ("kept", "safe"),
            PromiseState::InDoubt => ("doubt", "safe?"),
            PromiseState::Broken => ("struck", "safe"),
        };
        Some(html! {
            <span class={classes!("promise", class, format!("c{at}"))} role="img" aria-label={promise.say()}
                data-say={promise.key()} data-rove="" tabindex="-1"><span class="check">{ "✓ " }</span>{ text }</span>
        })
    };
    html! {
        <div class={classes!("lane", "promises", columns.class(), focus.then_some("focus"))}>
            <span class="label">{ "told" }<span class="wide">{ " to producers" }</span></span>
            { for stage.promises.iter().filter_map(promise) }
        </div>
    }
}

fn isrs(stage: &Stage, focus: bool) -> Html {
    if stage.isrs.is_empty() {
        return Html::default();
    }
    html! {
        <ul class={classes!("isrs", focus.then_some("focus"))}>
            { for stage.isrs.iter().map(|isr| html! { <li data-say={isr.key()}>{ isr.say() }</li> }) }
        </ul>
    }
}

#[derive(Clone, PartialEq, Properties)]
struct RowProps {
    row: Shared,
    columns: Columns,
    focus: bool,
    stop: bool,
}

#[component]
fn ReplicaRow(props: &RowProps) -> Html {
    let (row, columns) = (&*props.row.0, props.columns);
    let class = classes!(
        "lane",
        "replica",
        columns.class(),
        props.focus.then_some("focus"),
        match row.state {
            State::Up => None,
            State::Paused => Some("paused"),
            State::Crashed => Some("down"),
        }
    );
    let empty = columns.all().filter(|(_, offset)| {
        let taken = |cell: &Cell| cell.offset == *offset;
        !row.cells.iter().any(taken)
    });
    html! {
        <div {class}>
            { label(row, props.stop) }
            { for empty.map(|(at, _)| html! { <span class={classes!("room-left", format!("c{at}"))} /> }) }
            { for row.cells.iter().filter_map(|cell| Some(cell_view(cell, columns.place(cell.offset)?))) }
            { for row.marks.iter().filter_map(|mark| Some(mark_view(row, mark, columns, columns.border(mark.offset)?))) }
        </div>
    }
}

fn label(row: &Row, stop: bool) -> Html {
    let tab = if stop { "0" } else { "-1" };
    html! {
        <div class="label" role="img" aria-label={row.say()} data-say={row.key()} data-rove="" tabindex={tab}>
            <b>{ &row.name }</b>
            if row.is_crowned() {
                { crown() }
            }
            <span class="role">{ row.role_line() }</span>
            if let Some(isr) = row.isr_line() {
                <span class={classes!("pill", (row.in_isr == Some(false)).then_some("out"))}>{ isr }</span>
            }
        </div>
    }
}

/// The leader's.
pub fn crown() -> Html {
    html! {
        <svg class="crown" width="22" height="14" aria-hidden="true">
            <path d="M1 13V2l5 5 5-7 5 7 5-5v11z" />
        </svg>
    }
}

fn cell_view(cell: &Cell, at: usize) -> Html {
    // A record opens its bytes; where it was cut off there are none.
    let role = if cell.record.is_some() { "button" } else { "img" };
    let class = classes!(
        "record",
        format!("c{at}"),
        cell.record
            .or(cell.cut)
            .map(|record| format!("e{}", record.epoch.rem_euclid(EPOCHS))),
        cell.committed.then_some("committed"),
        cell.acknowledged.then_some("acknowledged"),
        cell.in_doubt.then_some("doubt"),
        cell.lost.then_some("lost"),
        cell.record.is_none().then_some("gone"),
        cell.first_of_segment.then_some("segment-begins"),
        (!cell.first_of_batch).then_some("joined"),
    );
    html! {
        <span {class} {role} aria-label={cell.say()} data-say={cell.key()} data-rove="" tabindex="-1">
            if let Some(record) = cell.record {
                { record.label() }
                <small>{ record.epoch }</small>
            }
            if let Some(cut) = cell.cut {
                <s>{ cut.label() }</s>
            }
        </span>
    }
}

fn mark_view(row: &Row, mark: &Mark, columns: Columns, at: usize) -> Html {
    // Before the first column and behind the last there is little room for a name.
    let end = match at {
        0 => Some("start"),
        at => (at == columns.count).then_some("end"),
    };
    let (class, text) = match mark.kind {
        MarkKind::HighWatermark => ("hw", format!("HW {}", mark.offset)),
        MarkKind::LogEnd if mark.offset == row.high_watermark => {
            ("leo beside", format!("LEO {}", mark.offset))
        }
        MarkKind::LogEnd => ("leo", format!("LEO {}", mark.offset)),
        MarkKind::Heard(_) => return heard(row, mark, at, end),
    };
    html! {
        <span class={classes!("mark", class, end, format!("c{at}"))} role="img" aria-label={mark.say()}
            data-say={mark.key()} data-rove="" tabindex="-1"><span>{ text }</span></span>
    }
}

/// Ticks of followers at the same offset share a place, so their numbers stand side by side.
fn heard(row: &Row, mark: &Mark, at: usize, end: Option<&'static str>) -> Html {
    let others: Vec<&Mark> = row
        .marks
        .iter()
        .filter(|other| matches!(other.kind, MarkKind::Heard(_)) && other.offset == mark.offset)
        .collect();
    if others.first().is_some_and(|first| first.kind != mark.kind) {
        return Html::default();
    }
    let number = |(nth, mark): (usize, &&Mark)| {
        let MarkKind::Heard(broker) = mark.kind else {
            return Html::default();
        };
        let comma = if nth > 0 { ", " } else { "" };
        html! {
            <span role="img" aria-label={mark.say()} data-say={mark.key()} data-rove="" tabindex="-1">
                { format!("{comma}{broker}") }
            </span>
        }
    };
    let ticks = row
        .marks
        .iter()
        .filter(|mark| matches!(mark.kind, MarkKind::Heard(_)));
    let first = ticks.map(|tick| tick.offset).min();
    // Said once in a row: the next tick may stand close by.
    let word = if first == Some(mark.offset) {
        "heard of "
    } else {
        ""
    };
    html! {
        <span class={classes!("mark", "heard", end, format!("c{at}"))}>
            <span>{ word }{ for others.iter().enumerate().map(number) }</span>
        </span>
    }
}
