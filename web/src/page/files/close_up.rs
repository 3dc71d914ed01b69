//! What has the focus, drawn large below its place in the strip.

use highwater_lab::close_up::CloseUp;
use highwater_lab::places::{Place, Scale, places};
use yew::prelude::*;

use super::marks::Sizes;

/// How large the parts are drawn, in px.
struct Room {
    /// Height of the two lines that lead from the thing to its enlargement.
    lead: u32,
    part: u32,
    gap: u32,
    /// Where a part's two lines of text stand in it.
    title: u32,
    detail: u32,
    text: Sizes,
    class: &'static str,
}

const WIDE: Room = Room {
    lead: 84,
    part: 104,
    gap: 8,
    title: 46,
    detail: 70,
    text: Sizes::LARGE,
    class: "large",
};
const NARROW: Room = Room {
    lead: 20,
    part: 40,
    gap: 3,
    title: 17,
    detail: 32,
    text: Sizes::NORMAL,
    class: "",
};
const WIDE_PX: u32 = 900;
/// Characters of the longest name of a record.
const NAME_LETTERS: u32 = 9;

/// `of` is where the thing stands in the strip above, if it stands right above.
pub fn view(close_up: &CloseUp, width: u32, of: Option<Place>) -> Html {
    let sizes: Vec<u64> = close_up.parts.iter().map(|part| part.size_bytes).collect();
    let room = if width >= WIDE_PX { &WIDE } else { &NARROW };
    let scale = Scale {
        width,
        least_px: NAME_LETTERS * room.text.letter,
        least_bytes: sizes.iter().copied().min().unwrap_or(1),
        most_bytes: sizes.iter().sum(),
    };
    let placed = places(&sizes, scale);
    let lines = placed.last().map_or(1, |place| place.line + 1);
    let lead = if of.is_some() { room.lead } else { 0 };
    let part = |(part, place): (&highwater_lab::close_up::Part, &Place)| {
        let (x, y) = (place.x, lead + place.line * (room.part + room.gap));
        let middle = (x + place.width / 2).to_string();
        html! {
            <g class="part" role="img" aria-label={part.label()} data-say="">
                <rect x={x.to_string()} y={(y + 1).to_string()} width={place.width.to_string()} height={(room.part - 2).to_string()} rx="4" />
                <text class="title" x={middle.clone()} y={(y + room.title).to_string()}>{ room.text.shorter(place.width, &[&part.title, &part.name]) }</text>
                <text x={middle} y={(y + room.detail).to_string()}>{ room.text.shorter(place.width, &[&part.detail]) }</text>
            </g>
        }
    };
    html! {
        <figure class="close-up focus">
            <svg class={room.class} width={width.to_string()} height={(lead + lines * (room.part + room.gap)).to_string()} role="group" aria-label="enlarged">
                if let Some(of) = of {
                    <path class="lead" d={format!("M{} -6L1 {lead}M{} -6L{} {lead}", of.x, of.x + of.width, width - 1)} />
                }
                { for close_up.parts.iter().zip(&placed).map(part) }
            </svg>
            <figcaption data-say="">{ &close_up.title }</figcaption>
        </figure>
    }
}
