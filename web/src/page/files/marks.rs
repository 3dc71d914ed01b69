//! What stands in a segment's line: a batch, its index entries below it, the room behind the last.

use highwater_lab::annotate::Chosen;
use highwater_lab::lab::Wish;
use highwater_lab::picture::in_focus;
use highwater_lab::places::Place;
use highwater_lab::say;
use highwater_lab::strip::{BatchState, EntryView, Piece, SegmentView, TimeView};
use yew::prelude::*;

use super::strip::Strip;
use crate::page::browser::{handled, is_press};

/// How large the strip is drawn, in px.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Heights.
    pub batch: u32,
    pub entry: u32,
    /// Width of a character; entries have the normal type at any size.
    pub letter: u32,
}

impl Sizes {
    pub const NORMAL: Self = Self {
        batch: 38,
        entry: 26,
        letter: 8,
    };
    /// For a wide page with little on it.
    pub const LARGE: Self = Self {
        batch: 66,
        entry: 36,
        letter: 9,
    };

    /// The first text that fits.
    pub fn shorter(self, width: u32, texts: &[&str]) -> String {
        let fits = |text: &&&str| text.chars().count() as u32 * self.letter + 4 <= width;
        texts
            .iter()
            .find(fits)
            .map_or_else(String::new, |text| (*text).to_owned())
    }

    /// An entry's box under its batch, tied to it.
    fn tab(self, width: u32, x: u32, y: u32, text: String) -> Html {
        let top = y + self.batch + 2;
        html! {
            <>
                <path d={format!("M{} {}v3", x + 4, y + self.batch - 1)} />
                <rect x={x.to_string()} y={top.to_string()} width={width.to_string()} height={(self.entry - 2).to_string()} rx="3" />
                <text x={(x + width / 2).to_string()} y={(top + self.entry / 2 + 3).to_string()}>{ text }</text>
            </>
        }
    }
}

impl Strip<'_> {
    /// What the active segment has room for yet.
    pub fn room(&self, last: Option<&Place>) -> Html {
        let used = last.map_or(0, |place| place.x + place.width + 2);
        let Some(room) = self
            .scale
            .in_one_line(self.limit)
            .and_then(|end| end.checked_sub(used))
        else {
            return Html::default();
        };
        let text = self.sizes.shorter(
            room,
            &[&format!("room up to {} bytes", say::number(self.limit)), "room"],
        );
        let middle = self.sizes.batch / 2;
        html! {
            <g class="room" aria-hidden="true">
                <path d={format!("M{used} {middle}h{room}m0 -8v16")} />
                <text x={(used + room / 2).to_string()} y={(middle - 6).to_string()}>{ text }</text>
            </g>
        }
    }

    pub fn piece(
        &self,
        segment: &SegmentView,
        piece: &Piece<'_>,
        width: u32,
        (x, y): (u32, u32),
        is_last: bool,
    ) -> Html {
        let (text, class, focus) = match piece {
            Piece::Batch(batch) => {
                let text = self.sizes.shorter(
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
                self.sizes.shorter(width, &["torn", "×"]),
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
                <rect x={x.to_string()} y={(y + 1).to_string()} width={width.to_string()} height={(self.sizes.batch - 2).to_string()} rx="4" />
                <text x={(x + width / 2).to_string()} y={(y + self.sizes.batch / 2 + 5).to_string()}>{ text }</text>
                if lost {
                    <path d={format!("M{} {}L{} {}", x + 3, y + self.sizes.batch - 4, x + width - 3, y + 4)} />
                }
            </>
        };
        let class = classes!(class, focus.then_some("focus"));
        self.mark(class, piece.label(), (!lost).then_some(chosen), inside)
    }

    pub fn entry(
        &self,
        segment: &SegmentView,
        at: usize,
        entry: &EntryView,
        width: u32,
        (x, y): (u32, u32),
        is_last: bool,
    ) -> Html {
        let long = format!("{}→{}", entry.offset, entry.position);
        let text = Sizes::NORMAL.shorter(width, &[&long, &entry.offset.to_string(), "▴"]);
        let focus = is_last && in_focus(self.lab, "entry:last");
        let chosen = Chosen::Entry {
            segment: segment.base,
            at,
        };
        let class = classes!("entry", focus.then_some("focus"));
        self.mark(
            class,
            entry.label(),
            Some(chosen),
            self.sizes.tab(width, x, y, text),
        )
    }

    pub fn time(
        &self,
        segment: &SegmentView,
        at: usize,
        time: &TimeView,
        width: u32,
        (x, y): (u32, u32),
    ) -> Html {
        let text = Sizes::NORMAL.shorter(width, &[&say::time(time.timestamp_ms), "t"]);
        let chosen = Chosen::Time {
            segment: segment.base,
            at,
        };
        self.mark(
            classes!("entry", "time"),
            time.label(),
            Some(chosen),
            self.sizes.tab(width, x, y, text),
        )
    }

    /// Something that can be chosen, or only be read.
    fn mark(&self, classes: Classes, label: String, chosen: Option<Chosen>, inside: Html) -> Html {
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
                aria-pressed={pressed.to_string()} data-rove="" tabindex={if self.stop == Some(chosen) { "0" } else { "-1" }}
                onclick={choose} onkeydown={press}>{ inside }</g>
        }
    }

    pub fn choose(&self, chosen: Chosen) -> Callback<MouseEvent> {
        let wishes = self.wishes.clone();
        Callback::from(move |_| wishes.dispatch(Wish::Choose(Some(chosen))))
    }
}
