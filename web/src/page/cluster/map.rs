//! The map: who is there, by shape, and what is on its way between them.
//!
//! Requests are filled, answers hollow; what a cut link holds is dashed. Between two steps the messages
//! fly: [`flight`](super::flight) moves them.

use std::rc::Rc;

use highwater_core::stage::{CutLink, Figure, Message, Shape, Stage, State, Way};
use yew::prelude::*;

use super::flight::{self, Flown, GHOSTS};
use super::places::{Places, Point, Size, is_client, message_size, px};

/// A stage, the same if it is the same value in memory.
#[derive(Clone)]
pub struct SharedStage(pub Rc<Stage>);

impl PartialEq for SharedStage {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

#[derive(Clone, PartialEq, Properties)]
pub struct Props {
    pub stage: SharedStage,
    pub size: Size,
    /// Keys of the figures that the story speaks of.
    pub focus: Vec<AttrValue>,
    /// What flies to the next step, if it does now.
    pub flown: Option<Flown>,
}

#[component]
pub fn Map(props: &Props) -> Html {
    let stage = &*props.stage.0;
    let places = Places::of(&stage.figures, props.size);
    let at_rest = places.messages(&stage.messages);
    let picture = use_node_ref();
    flight::use_flight(&picture, &props.stage, &props.flown, &places);
    let idle = stage.idle.say();
    html! {
        <figure class={classes!("map", props.flown.is_some().then_some("flying"))}>
            <svg ref={picture} width={px(props.size.width)} height={px(props.size.height)}
                role="group" aria-label="The cluster">
                { links(stage, &places) }
                { for stage.cut_links.iter().filter_map(|link| cut(link, &places)) }
                { for stage.figures.iter().filter_map(|figure| {
                    let focus = props.focus.iter().any(|key| *key == figure.key());
                    figure_view(figure, &places, focus)
                }) }
                { for stage.messages.iter().zip(&at_rest).map(|(message, place)| message_view(message, *place)) }
                { for (0..GHOSTS).map(|_| html! { <g class="ghost" aria-hidden="true"><rect rx="14" /><text y="5" /></g> }) }
            </svg>
            <figcaption>
                if let Some(idle) = idle {
                    <span data-say="idle">{ idle }</span>
                }
            </figcaption>
        </figure>
    }
}

/// Who talks with whom.
fn links(stage: &Stage, places: &Places) -> Html {
    let mut path = String::new();
    for (at, from) in stage.figures.iter().enumerate() {
        for to in &stage.figures[at + 1..] {
            let talk = from.shape == Shape::Broker || to.shape == Shape::Broker;
            if let (true, Some(a), Some(b)) = (talk, places.node(from.node), places.node(to.node)) {
                path += &line(a.0, b.0);
            }
        }
    }
    html! { <path class="links" d={path} /> }
}

fn line(from: Point, to: Point) -> String {
    format!("M{} {}L{} {}", px(from.x), px(from.y), px(to.x), px(to.y))
}

fn cut(link: &CutLink, places: &Places) -> Option<Html> {
    let (from, to) = (
        places.way(link.from, link.to, 0.0)?,
        places.way(link.from, link.to, 1.0)?,
    );
    // Messages rest near the middle.
    let middle = places.way(link.from, link.to, 0.2)?;
    let Point { x, y } = middle;
    Some(html! {
        <g class="cut-link" role="img" aria-label={link.say()} data-say={link.key()}>
            <path class="away" d={line(from, to)} />
            <path class="cross" d={format!("M{} {}l14 14m-14 0l14 -14", px(x - 7.0), px(y - 7.0))} />
        </g>
    })
}

fn figure_view(figure: &Figure, places: &Places, focus: bool) -> Option<Html> {
    let (Point { x, y }, size) = places.node(figure.node)?;
    let (left, top) = (x - size.width / 2.0, y - size.height / 2.0);
    let (right, bottom) = (x + size.width / 2.0, y + size.height / 2.0);
    let shape = match figure.shape {
        Shape::Broker => html! {
            <rect x={px(left)} y={px(top)} width={px(size.width)} height={px(size.height)} rx="10" />
        },
        Shape::Coordination => {
            let path = format!(
                "M{} {}H{}L{} {}L{} {}H{}L{} {}Z",
                px(left + 14.0),
                px(top),
                px(right - 14.0),
                px(right),
                px(y),
                px(right - 14.0),
                px(bottom),
                px(left + 14.0),
                px(left),
                px(y)
            );
            html! { <path class="shape" d={path} /> }
        }
        Shape::Producer => html! {
            <rect x={px(left)} y={px(top)} width={px(size.width)} height={px(size.height)} />
        },
        Shape::Consumer => html! {
            <rect x={px(left)} y={px(top)} width={px(size.width)} height={px(size.height)} rx="28" />
        },
    };
    let state = match figure.state {
        State::Up => None,
        State::Paused => Some("paused"),
        State::Crashed => Some("down"),
    };
    let note = figure.note.iter().flat_map(|note| note.split("; "));
    let below: Vec<&str> = match (figure.state, figure.controller) {
        (State::Crashed, _) => vec!["down"],
        (State::Paused, _) => vec!["paused"],
        (State::Up, true) => vec!["controller"],
        (State::Up, false) => note.collect(),
    };
    let name_y = y + 5.0 - below.len() as f64 * 8.0;
    let class = classes!(
        "figure",
        state,
        focus.then_some("focus"),
        is_client(figure.shape).then_some("client")
    );
    Some(html! {
        <g {class} role="img" aria-label={figure.say()} data-say={figure.key()} data-rove="" tabindex="-1">
            { shape }
            if figure.leads.is_some() {
                <path class="crown" d={format!("M{} {}v-13l5.5 6l5.5 -9l5.5 9l5.5 -6v13z", px(x - 11.0), px(top - 3.0))} />
            }
            if figure.state == State::Crashed {
                <path class="cross" d={cross(left + 8.0, top + 5.0, right - 8.0, bottom - 5.0)} />
            }
            <text class="name" x={px(x)} y={px(name_y)}>{ &figure.name }</text>
            { for below.iter().enumerate().map(|(nth, line)| html! {
                <text class="second" x={px(x)} y={px(name_y + 18.0 + nth as f64 * 15.0)}>{ *line }</text>
            }) }
        </g>
    })
}

fn cross(left: f64, top: f64, right: f64, bottom: f64) -> String {
    let corner = |x, y| Point { x, y };
    line(corner(left, top), corner(right, bottom)) + &line(corner(left, bottom), corner(right, top))
}

fn message_view(message: &Message, place: Point) -> Html {
    let size = message_size(&message.name);
    html! {
        <g key={message.packet} class={message_class(message.way == Way::Request, message.held)} role="button" aria-label={message.say()} data-say={message.key()}
            data-rove="" tabindex="-1" transform={transform(place)}>
            <rect x={px(-size.width / 2.0)} y={px(-size.height / 2.0)} width={px(size.width)} height={px(size.height)} rx="14" />
            <text y="5">{ &message.name }</text>
        </g>
    }
}

/// `held`: it does not arrive.
pub fn message_class(is_request: bool, held: bool) -> String {
    let way = if is_request { "request" } else { "answer" };
    let held = if held { " held" } else { "" };
    format!("message {way}{held}")
}

pub fn transform(place: Point) -> String {
    format!("translate({} {})", px(place.x), px(place.y))
}
