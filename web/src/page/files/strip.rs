//! The file strip: a segment is a line of batches to scale, and under each batch the index entries that
//! point at it; at the end, what has the focus is drawn large. On a narrow page only the segment that
//! matters is open. [`marks`](super::marks) draws the single batches and entries.

use highwater_core::log::names::FileKind;
use highwater_lab::annotate::Chosen;
use highwater_lab::close_up::CloseUp;
use highwater_lab::lab::Lab;
use highwater_lab::picture::in_focus;
use highwater_lab::places::{LEAST_PX, Place, Scale, places};
use highwater_lab::say;
use highwater_lab::strip::{BatchState, Piece, SegmentView};
use yew::prelude::*;

use super::Wishes;
use super::close_up;
use super::marks::Sizes;

/// Below this width, closed segments are one line each.
const NARROW_PX: u32 = 640;
const LINE_GAP_PX: u32 = 8;
/// From this width on, a few segments are drawn large.
const WIDE_PX: u32 = 900;
const FEW_SEGMENTS: usize = 2;

pub struct Strip<'a> {
    pub lab: &'a Lab,
    pub wishes: &'a Wishes,
    pub scale: Scale,
    pub sizes: Sizes,
    /// Bytes that a segment has room for.
    pub limit: u64,
    close_up: Option<&'a CloseUp>,
    /// Where Tab leads: all that can be chosen is one group, and arrows move within it.
    pub stop: Option<Chosen>,
}

pub fn view(
    lab: &Lab,
    segments: &[SegmentView],
    close_up: Option<&CloseUp>,
    wishes: &Wishes,
    width: u32,
) -> Html {
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
    let sizes = match width >= WIDE_PX && segments.len() <= FEW_SEGMENTS {
        true => Sizes::LARGE,
        false => Sizes::NORMAL,
    };
    let strip = Strip {
        lab,
        wishes,
        scale: Scale {
            width,
            least_px: LEAST_PX.max(digits * sizes.letter + 8),
            least_bytes,
            most_bytes,
        },
        sizes,
        limit,
        close_up,
        stop: lab.chosen.or_else(|| first_choice(lab, segments, width)),
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

/// Whether the segment's batches are drawn.
fn is_open(lab: &Lab, segment: &SegmentView, is_last: bool, width: u32) -> bool {
    let chosen = lab.chosen.map(Chosen::segment);
    width >= NARROW_PX || is_last || chosen == Some(segment.base)
}

fn first_choice(lab: &Lab, segments: &[SegmentView], width: u32) -> Option<Chosen> {
    let mut segments = segments.iter().enumerate().rev();
    let (_, last) = segments.next()?;
    let open = segments.rfind(|(_, segment)| is_open(lab, segment, false, width));
    let segment = open.map_or(last, |(_, segment)| segment);
    let position = segment.pieces().first()?.position();
    Some(Chosen::Batch {
        segment: segment.base,
        position,
    })
}

impl Strip<'_> {
    fn segment(&self, segment: &SegmentView, is_first: bool, is_last: bool) -> Html {
        let focus = (is_first && in_focus(self.lab, "segment:first"))
            || (is_last && in_focus(self.lab, "segment:last"));
        let open = is_open(self.lab, segment, is_last, self.scale.width);
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
                <div class="head">
                    <h2 aria-label={segment.label()} data-say="">
                        <b>{ segment.file(FileKind::Log) }</b>
                        if segment.active {
                            <span class="tag">{ "active" }</span>
                        }
                        <span class="files">{ files }</span>
                    </h2>
                    if !open && let Some(look) = look {
                        <button class="open" data-rove="" tabindex="-1" onclick={look}>{ "Open" }</button>
                    }
                </div>
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
        let line_px = self.sizes.batch + (entries + times) * self.sizes.entry + LINE_GAP_PX;
        let lines = placed.last().map_or(1, |place| place.line + 1);
        let at = |place: &Place| (place.x, place.line * line_px);
        let whole = segment
            .batches
            .iter()
            .filter(|batch| batch.state != BatchState::Lost)
            .count();
        let last_whole = is_last.then(|| whole.checked_sub(1)).flatten();
        let below = |batch: Option<usize>| batch.and_then(|batch| placed.get(batch));
        let close_up = self.close_up.filter(|_| is_last);
        let large = (self.sizes == Sizes::LARGE).then_some("large");
        html! {
            <>
            <svg class={large} width={self.scale.width.to_string()} height={(lines * line_px).to_string()} role="group" aria-label="batches and index entries">
                if segment.active {
                    { self.room(placed.last()) }
                }
                { for pieces.iter().zip(&placed).enumerate().map(|(nth, (piece, place))| {
                    self.piece(segment, piece, place.width, at(place), Some(nth) == last_whole)
                }) }
                { for segment.entries.iter().enumerate().filter_map(|(nth, entry)| {
                    let last = is_last && nth + 1 == segment.entries.len();
                    below(entry.batch).map(|place| self.entry(segment, nth, entry, place.width, at(place), last))
                }) }
                { for segment.times.iter().enumerate().filter_map(|(nth, time)| {
                    below(time.batch).map(|place| {
                        let (x, y) = at(place);
                        self.time(segment, nth, time, place.width, (x, y + entries * self.sizes.entry))
                    })
                }) }
            </svg>
            if let Some(close_up) = close_up {
                { close_up::view(close_up, self.scale.width, enlarged(segment, close_up, &placed)) }
            }
            </>
        }
    }
}

/// The place of what is drawn large, if it stands in the last line and nothing else is below it.
fn enlarged(segment: &SegmentView, close_up: &CloseUp, placed: &[Place]) -> Option<Place> {
    let batch = match close_up.of {
        Chosen::Batch { position, .. } => segment
            .batches
            .iter()
            .position(|batch| batch.position == position),
        Chosen::Entry { at, .. } => segment.entries.get(at)?.batch,
        Chosen::Time { at, .. } => segment.times.get(at)?.batch,
    };
    let place = *placed.get(batch?)?;
    (place.line == placed.last()?.line).then_some(place)
}
