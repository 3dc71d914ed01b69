//! Where the nodes of the map stand, and where a message on its way between two of them.
//!
//! The layout follows from the figures and the size alone, so nothing moves while a run goes on.

use highwater_core::stage::{Figure, Message, Shape};
use highwater_core::trace::NodeId;

/// In px, of a middle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

/// In px.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    pub width: f64,
    pub height: f64,
}

pub const BROKER: Size = Size {
    width: 108.0,
    height: 64.0,
};
pub const CLIENT: Size = Size {
    width: 104.0,
    height: 56.0,
};
pub const COORDINATION: Size = Size {
    width: 156.0,
    height: 72.0,
};
pub const MESSAGE_HEIGHT: f64 = 28.0;
/// Of a message's type.
const LETTER: f64 = 8.0;
/// Between messages, and between a message and a figure.
const GAP: f64 = 4.0;

#[derive(Clone, Copy)]
struct Space {
    middle: Point,
    size: Size,
}

impl Space {
    fn meets(&self, other: &Self) -> bool {
        let near = |a: f64, b: f64, reach: f64| (a - b).abs() < reach / 2.0 + GAP;
        near(self.middle.x, other.middle.x, self.size.width + other.size.width)
            && near(
                self.middle.y,
                other.middle.y,
                self.size.height + other.size.height,
            )
    }
}

/// The places of a map.
#[derive(Clone, PartialEq)]
pub struct Places {
    pub size: Size,
    nodes: Vec<(NodeId, (Point, Size))>,
}

impl Places {
    /// The coordination service above, clients on the left, brokers in a ring on the right.
    pub fn of(figures: &[Figure], size: Size) -> Self {
        let mut nodes = Vec::with_capacity(figures.len());
        let brokers = count(figures, |shape| shape == Shape::Broker);
        let clients = count(figures, is_client);
        let (mut broker, mut client) = (0, 0);
        let at = |x: f64, y: f64| Point {
            x: x * size.width,
            y: y * size.height,
        };
        for figure in figures {
            let place = match figure.shape {
                Shape::Coordination => (at(0.83, 0.09), COORDINATION),
                Shape::Broker => {
                    let (x, y) = on_ring((broker as f64 + 0.5) / brokers as f64 - 0.5);
                    broker += 1;
                    (at(0.62 + 0.26 * x, 0.61 + 0.32 * y), BROKER)
                }
                Shape::Producer | Shape::Consumer => {
                    client += 1;
                    (
                        at(0.11, 0.2 + 0.82 * client as f64 / (clients + 1) as f64),
                        CLIENT,
                    )
                }
            };
            nodes.push((figure.node, place));
        }
        Self { size, nodes }
    }

    pub fn node(&self, node: NodeId) -> Option<(Point, Size)> {
        let mut nodes = self.nodes.iter();
        nodes.find(|(other, _)| *other == node).map(|(_, place)| *place)
    }

    /// On the way between two nodes, 0 is at the first one's border and 1 at the other's.
    pub fn way(&self, from: NodeId, to: NodeId, part: f64) -> Option<Point> {
        let ((from, from_size), (to, to_size)) = (self.node(from)?, self.node(to)?);
        let (dx, dy) = (to.x - from.x, to.y - from.y);
        let (leave, arrive) = (border(from_size, dx, dy), 1.0 - border(to_size, dx, dy));
        let along = leave + (arrive - leave) * part;
        Some(Point {
            x: from.x + dx * along,
            y: from.y + dy * along,
        })
    }

    /// Where messages stand while nothing moves: near the middle of their way, none on another and none
    /// on a figure, as long as there is room.
    pub fn messages(&self, messages: &[Message]) -> Vec<Point> {
        let mut taken: Vec<Space> = self
            .nodes
            .iter()
            .map(|(_, (middle, size))| Space {
                middle: *middle,
                size: *size,
            })
            .collect();
        let mut places = Vec::with_capacity(messages.len());
        for message in messages {
            let size = message_size(&message.name);
            let spaces = self.candidates(message).map(|middle| Space {
                middle: self.inside(middle, size),
                size,
            });
            let spaces: Vec<Space> = spaces.collect();
            let meets = |space: &&Space| taken.iter().filter(|other| other.meets(space)).count();
            let Some(best) = spaces.iter().min_by_key(meets).copied() else {
                places.push(Point::default());
                continue;
            };
            places.push(best.middle);
            taken.push(best);
        }
        places
    }

    /// Best first.
    fn candidates(&self, message: &Message) -> impl Iterator<Item = Point> {
        const PARTS: [f64; 7] = [0.5, 0.62, 0.38, 0.74, 0.26, 0.86, 0.14];
        const ASIDE: [f64; 5] = [0.0, -32.0, 32.0, -64.0, 64.0];
        let (from, to) = (message.from, message.to);
        ASIDE.into_iter().flat_map(move |aside| {
            let points = PARTS.into_iter().filter_map(move |part| self.way(from, to, part));
            points.map(move |point| Point {
                y: point.y + aside,
                ..point
            })
        })
    }

    fn inside(&self, point: Point, size: Size) -> Point {
        let within =
            |at: f64, part: f64, whole: f64| at.clamp(part / 2.0, (whole - part / 2.0).max(part / 2.0));
        Point {
            x: within(point.x, size.width, self.size.width),
            y: within(point.y, size.height, self.size.height),
        }
    }
}

pub fn message_size(name: &str) -> Size {
    Size {
        width: name.chars().count() as f64 * LETTER + 22.0,
        height: MESSAGE_HEIGHT,
    }
}

pub fn is_client(shape: Shape) -> bool {
    matches!(shape, Shape::Producer | Shape::Consumer)
}

/// A point of the unit circle, by the part of the turn from -1/2 to 1/2. Not by sine and cosine, whose
/// tables would weigh more than all the rest of the map.
fn on_ring(turn: f64) -> (f64, f64) {
    let wave = |turn: f64| 1.0 - 4.0 * (turn - turn.round()).abs();
    let (x, y) = (wave(turn), wave(turn - 0.25));
    let length = (x * x + y * y).sqrt();
    (x / length, y / length)
}

fn count(figures: &[Figure], which: impl Fn(Shape) -> bool) -> usize {
    figures.iter().filter(|figure| which(figure.shape)).count()
}

/// How much of the way from a node's middle lies within it.
fn border(size: Size, dx: f64, dy: f64) -> f64 {
    let across = |half: f64, way: f64| {
        if way == 0.0 {
            f64::INFINITY
        } else {
            half / way.abs()
        }
    };
    across(size.width / 2.0, dx)
        .min(across(size.height / 2.0, dy))
        .min(0.5)
}

/// A length in whole px, as text. Not by the formatting of floats, which is heavy.
pub fn px(length: f64) -> String {
    (length.round() as i32).to_string()
}
