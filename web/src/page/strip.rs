//! The file strip: a segment is a line of batches to scale, and under each batch the index entries that
//! point at it. On a narrow page only the segment that matters is open.

use highwater_core::log::names::FileKind;
use highwater_lab::annotate::Chosen;
use highwater_lab::lab::{Lab, Wish};
use highwater_lab::picture::in_focus;
use highwater_lab::say;
use highwater_lab::strip::{
    BatchState, EntryView, LEAST_PX, Piece, Place, Scale, SegmentView, TimeView, places,
};
use yew::prelude::*;

use super::app::Wishes;
use super::browser::{handled, is_press};

/// Below this width, closed segments are one line each.
const NARROW_PX: u32 = 640;
const BATCH_PX: u32 = 38;
const ENTRY_PX: u32 = 26;
const LINE_GAP_PX: u32 = 8;
/// Width of a character of the strip's type.
const LETTER_PX: u32 = 8;

struct Strip<'a> {
    lab: &'a Lab,
    wishes: &'a Wishes,
    scale: Scale,
    /// Bytes that a segment has room for.
    limit: u64,
}

pub fn view(lab: &Lab, segments: &[SegmentView], wishes: &Wishes, width: u32) -> Html {
    let batches = segments.iter().flat_map(|segment| &segment.batches);
    let least_bytes = batches.map(|batch| batch.size_bytes).min().unwrap_or(1);
    let limit = lab.world().map_or(1, |world| world.host().config().segment_bytes);
    let drawn = |segment: &SegmentView| segment.pieces().iter().map(Piece::bytes).sum::<u64>();
    let most_bytes = segments.iter().map(drawn).max().unwrap_or(1).max(limit);
    let greatest = segments
        .iter()
        .flat_map(|segment| &segment.batches)
        .map(|batch| batch.base);
    let digits = greatest.max().unwrap_or(0).to_string().len() as u32;
    let strip = Strip {
        lab,
        wishes,
        scale: Scale {
            width,
            least_px: LEAST_PX.max(digits * LETTER_PX + 8),
            least_bytes,
            most_bytes,
        },
        limit,
    };
    let last = segments.len().saturating_sub(1);
    let has_entries = segments.iter().any(|segment| !segment.entries.is_empty());
    html! {
        <>
            { for segments.iter().enumerate().map(|(at, segment)| strip.segment(segment, at == 0, at == last)) }
            <p class="legend">
                if has_entries {
                    { "Under a batch: its index entry, offset → byte; below that its time index entry. " }
                }
                { "Dashed: written, not yet forced to the disk." }
            </p>
        </>
    }
}

impl Strip<'_> {
    fn segment(&self, segment: &SegmentView, is_first: bool, is_last: bool) -> Html {
        let focus = (is_first && in_focus(self.lab, "segment:first"))
            || (is_last && in_focus(self.lab, "segment:last"));
        let chosen = self
            .lab
            .chosen
            .is_some_and(|chosen| chosen.segment() == segment.base);
        let open = self.scale.width >= NARROW_PX || is_last || chosen;
        let files = format!(
            "{} bytes · .index {} · .timeindex {}",
            say::number(segment.log_bytes),
            say::count(segment.entries.len(), "entry"),
            say::count(segment.times.len(), "entry")
        );
        let look = segment.pieces().first().map(|piece| {
            let position = piece.position();
            self.choose(Chosen::Batch {
                segment: segment.base,
                position,
            })
        });
        html! {
            <section class={classes!("segment", (!open).then_some("closed"), focus.then_some("focus"), segment.active.then_some("active"))}>
                <h2 role="img" aria-label={segment.label()} data-say="">
                    <b>{ segment.file(FileKind::Log) }</b>
                    if segment.active {
                        <span class="tag">{ "active" }</span>
                    }
                    <span class="files">{ files }</span>
                    if !open && let Some(look) = look {
                        <button class="open" onclick={look}>{ "Open" }</button>
                    }
                </h2>
                if open {
                    { self.bytes(segment, is_last) }
                }
            </section>
        }
    }

    fn bytes(&self, segment: &SegmentView, is_last: bool) -> Html {
        let pieces = segment.pieces();
        let sizes: Vec<u64> = pieces.iter().map(Piece::bytes).collect();
        let placed = places(&sizes, self.scale);
        let entries = u32::from(!segment.entries.is_empty());
        let times = u32::from(!segment.times.is_empty());
        let line_px = BATCH_PX + (entries + times) * ENTRY_PX + LINE_GAP_PX;
        let lines = placed.last().map_or(1, |place| place.line + 1);
        let at = |place: &Place| (place.x, place.line * line_px);
        let whole = segment
            .batches
            .iter()
            .filter(|batch| batch.state != BatchState::Lost)
            .count();
        let last_whole = is_last.then(|| whole.checked_sub(1)).flatten();
        let below = |batch: Option<usize>| batch.and_then(|batch| placed.get(batch));
        html! {
            <svg width={self.scale.width.to_string()} height={(lines * line_px).to_string()} role="group" aria-label="batches and index entries">
                if segment.active {
                    { self.room(placed.last()) }
                }
                { for pieces.iter().zip(&placed).enumerate().map(|(nth, (piece, place))| {
                    self.piece(segment, piece, place.width, at(place), nth == 0, Some(nth) == last_whole)
                }) }
                { for segment.entries.iter().enumerate().filter_map(|(nth, entry)| {
                    let last = is_last && nth + 1 == segment.entries.len();
                    below(entry.batch).map(|place| self.entry(segment, nth, entry, place.width, at(place), last))
                }) }
                { for segment.times.iter().enumerate().filter_map(|(nth, time)| {
                    below(time.batch).map(|place| {
                        let (x, y) = at(place);
                        self.time(segment, nth, time, place.width, (x, y + entries * ENTRY_PX))
                    })
                }) }
            </svg>
        }
    }

    /// What the active segment has room for yet.
    fn room(&self, last: Option<&Place>) -> Html {
        let used = last.map_or(0, |place| place.x + place.width + 2);
        let Some(room) = self
            .scale
            .in_one_line(self.limit)
            .and_then(|end| end.checked_sub(used))
        else {
            return Html::default();
        };
        let text = shorter(
            room,
            &[&format!("room up to {} bytes", say::number(self.limit)), "room"],
        );
        let middle = BATCH_PX / 2;
        html! {
            <g class="room" aria-hidden="true">
                <path d={format!("M{used} {middle}h{room}m0 -8v16")} />
                <text x={(used + room / 2).to_string()} y={(middle - 6).to_string()}>{ text }</text>
            </g>
        }
    }

    fn piece(
        &self,
        segment: &SegmentView,
        piece: &Piece<'_>,
        width: u32,
        (x, y): (u32, u32),
        is_first: bool,
        is_last: bool,
    ) -> Html {
        let (text, class, focus) = match piece {
            Piece::Batch(batch) => {
                let text = shorter(
                    width,
                    &[&format!("{}–{}", batch.base, batch.last), &batch.base.to_string()],
                );
                match batch.state {
                    BatchState::Forced => (text, "batch forced", is_last && in_focus(self.lab, "batch:last")),
                    BatchState::Written => {
                        (text, "batch written", is_last && in_focus(self.lab, "batch:last"))
                    }
                    BatchState::Lost => (text, "batch lost", in_focus(self.lab, "lost")),
                }
            }
            Piece::Torn(_) => (
                shorter(width, &["torn", "×"]),
                "batch torn",
                in_focus(self.lab, "torn"),
            ),
        };
        let chosen = Chosen::Batch {
            segment: segment.base,
            position: piece.position(),
        };
        let lost = class == "batch lost";
        let inside = html! {
            <>
                <rect x={x.to_string()} y={(y + 1).to_string()} width={width.to_string()} height={(BATCH_PX - 2).to_string()} rx="4" />
                <text x={(x + width / 2).to_string()} y={(y + 24).to_string()}>{ text }</text>
                if lost {
                    <path d={format!("M{} {}L{} {}", x + 3, y + BATCH_PX - 4, x + width - 3, y + 4)} />
                }
            </>
        };
        let class = classes!(class, focus.then_some("focus"));
        self.mark(class, piece.label(), (!lost).then_some(chosen), is_first, inside)
    }

    fn entry(
        &self,
        segment: &SegmentView,
        at: usize,
        entry: &EntryView,
        width: u32,
        (x, y): (u32, u32),
        is_last: bool,
    ) -> Html {
        let long = format!("{}→{}", entry.offset, entry.position);
        let text = shorter(width, &[&long, &entry.offset.to_string(), "▴"]);
        let focus = is_last && in_focus(self.lab, "entry:last");
        let chosen = Chosen::Entry {
            segment: segment.base,
            at,
        };
        let class = classes!("entry", focus.then_some("focus"));
        self.mark(class, entry.label(), Some(chosen), false, tab(width, x, y, text))
    }

    fn time(
        &self,
        segment: &SegmentView,
        at: usize,
        time: &TimeView,
        width: u32,
        (x, y): (u32, u32),
    ) -> Html {
        let text = shorter(width, &[&say::time(time.timestamp_ms), "t"]);
        let chosen = Chosen::Time {
            segment: segment.base,
            at,
        };
        self.mark(
            classes!("entry", "time"),
            time.label(),
            Some(chosen),
            false,
            tab(width, x, y, text),
        )
    }

    /// Something that can be chosen; only the first of a segment is a stop for Tab.
    fn mark(
        &self,
        classes: Classes,
        label: String,
        chosen: Option<Chosen>,
        is_first: bool,
        inside: Html,
    ) -> Html {
        let Some(chosen) = chosen else {
            return html! { <g class={classes} role="img" aria-label={label} data-say="">{ inside }</g> };
        };
        let pressed = self.lab.chosen == Some(chosen);
        let choose = self.choose(chosen);
        let press = {
            let wishes = self.wishes.clone();
            Callback::from(move |event: KeyboardEvent| {
                if is_press(&event) {
                    handled(&event);
                    wishes.dispatch(Wish::Choose(Some(chosen)));
                }
            })
        };
        html! {
            <g class={classes!(classes, pressed.then_some("chosen"))} role="button" aria-label={label} data-say=""
                aria-pressed={pressed.to_string()} data-rove="" tabindex={if is_first { "0" } else { "-1" }}
                onclick={choose} onkeydown={press}>{ inside }</g>
        }
    }

    fn choose(&self, chosen: Chosen) -> Callback<MouseEvent> {
        let wishes = self.wishes.clone();
        Callback::from(move |_| wishes.dispatch(Wish::Choose(Some(chosen))))
    }
}

/// An entry's box under its batch, tied to it.
fn tab(width: u32, x: u32, y: u32, text: String) -> Html {
    let top = y + BATCH_PX + 2;
    html! {
        <>
            <path d={format!("M{} {}v3", x + 4, y + BATCH_PX - 1)} />
            <rect x={x.to_string()} y={top.to_string()} width={width.to_string()} height={(ENTRY_PX - 2).to_string()} rx="3" />
            <text x={(x + width / 2).to_string()} y={(top + 16).to_string()}>{ text }</text>
        </>
    }
}

/// The first text that fits.
fn shorter(width: u32, texts: &[&str]) -> String {
    let fits = |text: &&&str| text.chars().count() as u32 * LETTER_PX + 4 <= width;
    texts
        .iter()
        .find(fits)
        .map_or_else(String::new, |text| (*text).to_owned())
}
