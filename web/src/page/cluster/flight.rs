//! Messages in flight: between two steps of a run that is played or stepped on, they cross the map.
//!
//! One loop of animation frames writes `transform`: on the messages that are there when the step is done,
//! and on a fixed pool of ghosts for those that arrive before. The state of the scene knows nothing of it:
//! the next step, whenever it comes, finds everything at rest.

use std::cell::RefCell;
use std::rc::Rc;

use gloo::render::{AnimationFrame, request_animation_frame};
use highwater_lab::cluster::Flight;
use web_sys::Element;
use yew::prelude::*;

use super::map::{SharedStage, message_class, transform};
use super::places::{Places, Point, message_size, px};
use crate::page::browser;

/// Messages that can arrive in one step and be seen doing so.
pub const GHOSTS: usize = 50;
/// A message that falls off its way, falls so deep, in px.
const FALL: f64 = 46.0;

/// What flies from here to the next step.
#[derive(Clone, PartialEq)]
pub struct Flown {
    pub flights: Rc<Vec<Flight>>,
    /// When it begins, in the flights' time.
    pub from_ms: f64,
    pub to_ms: f64,
    /// How long it takes on the screen.
    pub lasts_ms: f64,
    /// The stage that follows.
    pub next: SharedStage,
}

/// An element on its way.
struct Mover {
    element: Element,
    from: Point,
    to: Point,
    /// Of the whole, when it leaves and when it arrives.
    leaves: f64,
    arrives: f64,
    /// It is seen only between the two.
    ghost: bool,
    /// It does not arrive.
    falls: bool,
}

/// Puts messages where they rest, and lets fly what there is to fly.
#[hook]
pub fn use_flight(picture: &NodeRef, stage: &SharedStage, flown: &Option<Flown>, places: &Places) {
    let picture = picture.clone();
    let places = places.clone();
    let key = (stage.clone(), places.size.width as u32, flown.clone());
    use_effect_with(key, move |(stage, _, flown)| {
        let running = picture.cast::<Element>().map(|picture| {
            let sky = Sky::of(&picture, stage, places);
            sky.rest();
            let movers = flown.as_ref().map(|flown| (sky.movers(flown), flown.lasts_ms));
            let (movers, lasts_ms) = movers.unwrap_or_default();
            Running::start(movers, lasts_ms)
        });
        move || drop(running)
    });
}

/// The map's messages and ghosts.
struct Sky {
    places: Places,
    messages: Vec<(u64, Element, Point)>,
    ghosts: Vec<Element>,
}

impl Sky {
    fn of(picture: &Element, stage: &SharedStage, places: Places) -> Self {
        let at_rest = places.messages(&stage.0.messages);
        let there = browser::all(picture, "g.message[data-say]");
        let element = |packet: u64| {
            let key = format!("message:{packet}");
            let is_it = |element: &&Element| element.get_attribute("data-say").as_deref() == Some(&key);
            there.iter().find(is_it).cloned()
        };
        let messages = stage.0.messages.iter().zip(at_rest);
        Self {
            messages: messages
                .filter_map(|(message, place)| Some((message.packet, element(message.packet)?, place)))
                .collect(),
            ghosts: browser::all(picture, "g.ghost"),
            places,
        }
    }

    fn rest(&self) {
        for (_, element, place) in &self.messages {
            let _ = element.set_attribute("transform", &transform(*place));
        }
        for ghost in &self.ghosts {
            let _ = ghost.set_attribute("class", "ghost");
        }
    }

    fn movers(&self, flown: &Flown) -> Vec<Mover> {
        let packets = flown.next.0.messages.iter().map(|message| message.packet);
        let next: Vec<(u64, Point)> = packets
            .zip(self.places.messages(&flown.next.0.messages))
            .collect();
        let whole = (flown.to_ms - flown.from_ms).max(1.0);
        let part = |ms: f64| ((ms - flown.from_ms) / whole).clamp(0.0, 1.0);
        let mut ghosts = self.ghosts.iter();
        let mover = |flight: &Flight| {
            let there = self.messages.iter().find(|(packet, ..)| *packet == flight.packet);
            let (element, from, leaves) = match there {
                Some((_, element, place)) => (element.clone(), *place, 0.0),
                None => {
                    let from = self.places.way(flight.from, flight.to, 0.0)?;
                    let ghost = ghosts.next()?;
                    dress(ghost, flight);
                    (ghost.clone(), from, part(flight.start_ms))
                }
            };
            let stays = next.iter().find(|(packet, _)| *packet == flight.packet);
            let stays = stays.map(|(_, place)| *place);
            let arrives = self
                .places
                .way(flight.from, flight.to, if flight.lost { 0.6 } else { 1.0 });
            Some(Mover {
                element,
                from,
                to: stays.or(arrives)?,
                leaves,
                arrives: if stays.is_some() { 1.0 } else { part(flight.end_ms) },
                ghost: there.is_none(),
                falls: flight.lost,
            })
        };
        flown.flights.iter().filter_map(mover).collect()
    }
}

/// Makes a ghost look like the message.
fn dress(ghost: &Element, flight: &Flight) {
    let size = message_size(&flight.label);
    let set = |element: &Element, name: &str, value: String| {
        let _ = element.set_attribute(name, &value);
    };
    if let Ok(Some(shape)) = ghost.query_selector("rect") {
        set(&shape, "x", px(-size.width / 2.0));
        set(&shape, "y", px(-size.height / 2.0));
        set(&shape, "width", px(size.width));
        set(&shape, "height", px(size.height));
    }
    if let Ok(Some(text)) = ghost.query_selector("text") {
        text.set_text_content(Some(&flight.label));
    }
    set(ghost, "data-way", message_class(flight.request, flight.lost));
}

/// A running animation; the frame that comes next is held here, and dropped with it.
struct Running {
    movers: Rc<Vec<Mover>>,
    next: Rc<RefCell<Option<AnimationFrame>>>,
}

impl Running {
    fn start(movers: Vec<Mover>, lasts_ms: f64) -> Self {
        let running = Self {
            movers: Rc::new(movers),
            next: Rc::default(),
        };
        if !running.movers.is_empty() && lasts_ms > 0.0 {
            place(&running.movers, 0.0);
            run(running.movers.clone(), &running.next, None, lasts_ms);
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.next.borrow_mut().take();
    }
}

fn run(
    movers: Rc<Vec<Mover>>,
    next: &Rc<RefCell<Option<AnimationFrame>>>,
    began: Option<f64>,
    lasts_ms: f64,
) {
    let again = next.clone();
    let frame = request_animation_frame(move |now| {
        let began = began.unwrap_or(now);
        let part = ((now - began) / lasts_ms).min(1.0);
        place(&movers, part);
        if part < 1.0 {
            run(movers, &again, Some(began), lasts_ms);
        }
    });
    *next.borrow_mut() = Some(frame);
}

/// So much of the whole is over.
fn place(movers: &[Mover], part: f64) {
    for mover in movers {
        let way = ((part - mover.leaves) / (mover.arrives - mover.leaves).max(0.01)).clamp(0.0, 1.0);
        // Slow at both ends.
        let eased = way * way * (3.0 - 2.0 * way);
        let fallen = if mover.falls {
            (way - 0.5).max(0.0) * 2.0 * FALL
        } else {
            0.0
        };
        let at = Point {
            x: mover.from.x + (mover.to.x - mover.from.x) * eased,
            y: mover.from.y + (mover.to.y - mover.from.y) * eased + fallen,
        };
        let _ = mover.element.set_attribute("transform", &transform(at));
        if mover.ghost {
            let seen = way > 0.0 && (way < 1.0 || mover.arrives >= 1.0);
            let way = mover.element.get_attribute("data-way").unwrap_or_default();
            let class = if seen {
                format!("ghost {way}")
            } else {
                "ghost".to_owned()
            };
            let _ = mover.element.set_attribute("class", &class);
        }
    }
}
