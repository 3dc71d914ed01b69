//! One run of a scene: its grid, and its map where there is room for one.

use highwater_lab::cluster::{ClusterLab, SideView};
use yew::prelude::*;

use super::flight::Flown;
use super::grid::{self, Columns};
use super::map::{Map, SharedStage};
use super::places::Size;
use super::producer;
use super::tree;

/// Of the map; lower where there are controls below it.
const MAP: Size = Size {
    width: 500.0,
    height: 490.0,
};
const LOW_MAP_PX: f64 = 400.0;
/// Of a map in a column of text.
const COLUMN_MAP_PX: f64 = 320.0;
/// Between a map and its grid, and between two sides.
pub const GAP_PX: u32 = 28;

/// A side, and how it is drawn.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub lab: &'a ClusterLab,
    /// Which one.
    pub at: usize,
    pub side: &'a SideView,
    pub has_heading: bool,
    /// Tab leads into it.
    pub stop: bool,
    /// In px.
    pub width: u32,
}

impl Side<'_> {
    pub fn with_map(self, flown: Option<Flown>) -> Html {
        if self.side.stage.producer.is_some() {
            return self.alone();
        }
        let height = if self.lab.is_story() {
            MAP.height
        } else {
            LOW_MAP_PX
        };
        let grid = Self {
            width: self.width.saturating_sub(MAP.width as u32 + GAP_PX),
            ..self
        };
        html! {
            <div class="map-and-grid" data-side={self.at.to_string()}>
                <div>
                    <h2>{ "The cluster" }</h2>
                    { self.map(Size { height, ..MAP }, flown) }
                </div>
                { grid.grid() }
            </div>
        }
    }

    /// In a column: the map above the grid.
    pub fn below_map(self, flown: Option<Flown>) -> Html {
        if self.side.stage.producer.is_some() {
            return self.alone();
        }
        let size = Size {
            width: f64::from(self.width).min(MAP.width),
            height: COLUMN_MAP_PX,
        };
        html! {
            <div class="map-above-grid" data-side={self.at.to_string()}>
                { self.map(size, flown) }
                { self.grid() }
            </div>
        }
    }

    fn map(&self, size: Size, flown: Option<Flown>) -> Html {
        let stage = &self.side.stage;
        let figures = stage.figures.iter().map(|figure| figure.key());
        let focus: Vec<AttrValue> = figures
            .filter(|key| self.is_pointed_at(key))
            .map(AttrValue::from)
            .collect();
        html! { <Map stage={SharedStage(stage.clone())} {size} {focus} {flown} /> }
    }

    /// Without a map: what would be on it is there for whoever listens.
    pub fn alone(self) -> Html {
        let stage = &self.side.stage;
        html! {
            <div class="side" data-side={self.at.to_string()}>
                <ul class="unseen">
                    { for stage.figures.iter().map(|figure| html! { <li data-say={figure.key()}>{ figure.say() }</li> }) }
                    { for stage.cut_links.iter().map(|link| html! { <li data-say={link.key()}>{ link.say() }</li> }) }
                    { for stage.messages.iter().map(|message| html! { <li data-say={message.key()}>{ message.say() }</li> }) }
                    { for stage.idle.say().map(|say| html! { <li data-say="idle">{ say }</li> }) }
                </ul>
                { self.grid() }
            </div>
        }
    }

    fn grid(self) -> Html {
        let columns = Columns::of(&self.side.stage, room(self.width));
        let is_pointed_at = |key: &str| self.is_pointed_at(key);
        let stage = &self.side.stage;
        let picture = match (&stage.producer, &stage.tree) {
            (Some(shown), _) => producer::view(shown, self.stop, &is_pointed_at),
            (None, Some(shown)) => html! {
                <>
                    { tree::view(shown, self.stop, &is_pointed_at) }
                    if !stage.rows.is_empty() {
                        { grid::view(stage, columns, false, &is_pointed_at) }
                    }
                </>
            },
            (None, None) => grid::view(stage, columns, self.stop, &is_pointed_at),
        };
        html! {
            <div class="grid-side">
                if self.has_heading && !self.side.heading.is_empty() {
                    <h2>{ &self.side.heading }</h2>
                }
                { picture }
                if let Some(note) = &self.side.note {
                    <p class="note">{ note }</p>
                }
            </div>
        }
    }

    /// The story has its eye on this, and not on everything.
    fn is_pointed_at(self, key: &str) -> bool {
        !self.lab.focus().is_empty() && self.lab.in_focus(self.at, key)
    }
}

/// Columns that a grid of this width has room for.
fn room(width: u32) -> usize {
    let (label, cell) = if width >= 500 { (166, 86) } else { (112, 44) };
    (width.saturating_sub(label) / cell).min(9) as usize
}
