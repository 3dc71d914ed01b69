//! What led to a place, fact by fact: to whom it happened, because of what, and where in the source that
//! was decided. Drawn with a lane for each node, it is the space-time diagram of the run.
//!
//! A row follows from an earlier one: a message that arrives from its sending, a decision from what its
//! node was told before. Facts that change nothing on the stage, and packets that say nothing new, are left
//! out unless they are asked for.

use highwater_core::sim::host::EPOCH_MS;
use highwater_core::sim::script::pattern;
use highwater_core::stage::{Figure, Message, Shape};
use highwater_core::trace::{Event, EventId, Fact, NodeId, WorldFact};
use highwater_core::types::Millis;
use highwater_core::view::ClusterView;

use super::lab::ClusterLab;
use super::run::Run;

/// So many are shown, the last ones.
pub const MOST: usize = 24;
/// They are looked for among so many facts.
const WITHIN: usize = 1000;

/// The last facts up to a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// The nodes, in the order of the map.
    pub lanes: Vec<String>,
    /// The latest last.
    pub facts: Vec<FactView>,
}

/// A fact, for a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactView {
    /// Which one of the run, counted from 0.
    pub at: usize,
    /// Since the run began.
    pub ms: Millis,
    /// The node that it happened to; `None` for what happens to the world.
    pub lane: Option<usize>,
    /// `broker 1`, `world`.
    pub who: String,
    pub text: String,
    /// `HighWatermarkMoved`.
    pub name: &'static str,
    /// The file, as its copy beside the page is called, and the line, counted from 1.
    pub site: Option<(String, u32)>,
    /// What it follows from: which fact of the run, and its text.
    pub because: Option<(usize, String)>,
    pub packet: Option<Leg>,
}

/// What becomes of a packet in a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// It leaves for that lane.
    Leaves {
        to: Option<usize>,
    },
    /// It came from that lane.
    Arrives {
        from: Option<usize>,
    },
    Falls {
        from: Option<usize>,
    },
}

impl Events {
    /// The facts among these that the one follows from, itself included, by their number in the run.
    pub fn causes(&self, at: usize) -> Vec<usize> {
        let mut all = Vec::new();
        let mut next = Some(at);
        while let Some(at) = next {
            all.push(at);
            let fact = self.facts.iter().find(|fact| fact.at == at);
            next = fact.and_then(|fact| fact.because.as_ref()).map(|(at, _)| *at);
        }
        all
    }
}

impl ClusterLab {
    /// The last facts up to here; with `all` also those that change nothing on the stage.
    pub fn events_here(&self, all: bool) -> Events {
        let Some((run, facts)) = self.run_here() else {
            return Events::default();
        };
        let figures = self
            .sides()
            .into_iter()
            .next()
            .map(|side| side.stage.figures.clone());
        let figures = figures.unwrap_or_default();
        let lanes = figures.iter().map(|figure| match figure.shape {
            Shape::Broker => format!("b{}", figure.node),
            _ => figure.name.clone(),
        });
        Events {
            lanes: lanes.collect(),
            facts: Gathering::new(run, facts, &figures).gather(all),
        }
    }
}

/// Goes through the facts with the view that they make.
struct Gathering<'a> {
    run: &'a Run,
    from: usize,
    to: usize,
    figures: &'a [Figure],
    view: ClusterView,
    /// Packets in the air that say something.
    air: Vec<Message>,
}

impl<'a> Gathering<'a> {
    fn new(run: &'a Run, to: usize, figures: &'a [Figure]) -> Self {
        let from = to.saturating_sub(WITHIN);
        let view = run.view_at(from);
        let there = view.packets.keys();
        let air = there.filter_map(|&packet| Message::of(&view, run.partition(), packet));
        Self {
            air: air.collect(),
            run,
            from,
            to,
            figures,
            view,
        }
    }

    fn gather(mut self, all: bool) -> Vec<FactView> {
        let mut found = Vec::new();
        for at in self.from..self.to {
            let Some(event) = self.run.event(at) else { break };
            self.view.apply(&event);
            let told = self.packet(&event);
            let is_visible = || self.run.is_visible(at);
            if all || told.is_some() || is_visible() {
                found.push((at, told));
            }
        }
        let last = found.len().saturating_sub(MOST);
        found.drain(..last);
        let found = found.into_iter();
        found.filter_map(|(at, told)| self.fact(at, told)).collect()
    }

    /// Takes a packet that says something out of the air.
    fn landed(&mut self, packet: u64) -> Option<Message> {
        let at = self.air.iter().position(|message| message.packet == packet)?;
        Some(self.air.remove(at))
    }

    /// What a packet that says something does in the fact: to whom, in words.
    fn packet(&mut self, event: &Event) -> Option<(NodeId, String, Leg)> {
        let figures = self.figures;
        let lane = |node| lane(figures, node);
        match &event.fact {
            Fact::World(WorldFact::PacketSent { packet, .. }) => {
                let message = Message::of(&self.view, self.run.partition(), *packet)?;
                let text = format!("to {}: {}, {}", message.to_name, message.api_line(), message.name);
                let (from, to) = (message.from, lane(message.to));
                self.air.push(message);
                Some((from, text, Leg::Leaves { to }))
            }
            Fact::World(WorldFact::PacketDelivered { packet }) => {
                let message = self.landed(*packet)?;
                let text = format!("from {}: {}", message.from_name, message.name);
                let from = lane(message.from);
                Some((message.to, text, Leg::Arrives { from }))
            }
            Fact::World(WorldFact::PacketLost { packet, why }) => {
                let message = self.landed(*packet)?;
                let text = format!("lost, from {}: {}: {why}", message.from_name, message.name);
                let from = lane(message.from);
                Some((message.to, text, Leg::Falls { from }))
            }
            _ => None,
        }
    }

    fn fact(&self, at: usize, told: Option<(NodeId, String, Leg)>) -> Option<FactView> {
        let event = self.run.event(at)?;
        let node = told.as_ref().map_or_else(|| node_of(&event), |told| told.0);
        let lane = lane(self.figures, node);
        let who = lane.map_or("world", |lane| &self.figures[lane].name).to_owned();
        let cause = |before| {
            let cause = self.run.event(before)?;
            (cause.id == event.cause).then(|| (before, cause.fact.to_string()))
        };
        let is_known = event.cause != EventId::NONE;
        let because = is_known.then(|| (0..at).rev().find_map(cause)).flatten();
        Some(FactView {
            at,
            ms: event.at_ms - EPOCH_MS,
            lane,
            who,
            name: pattern::name_of(&event.fact),
            site: event
                .site
                .0
                .map(|site| (site.file().replace('\\', "/"), site.line())),
            because,
            packet: told.as_ref().map(|told| told.2),
            text: told.map_or_else(|| event.fact.to_string(), |told| told.1),
        })
    }
}

fn lane(figures: &[Figure], node: NodeId) -> Option<usize> {
    figures.iter().position(|figure| figure.node == node)
}

/// Whom a fact is about: of what is done to a broker from outside, the broker.
fn node_of(event: &Event) -> NodeId {
    match &event.fact {
        Fact::World(
            WorldFact::BrokerStarted { broker }
            | WorldFact::BrokerCrashed { broker, .. }
            | WorldFact::BrokerStopped { broker, .. }
            | WorldFact::BrokerPaused { broker }
            | WorldFact::BrokerResumed { broker },
        ) => *broker as NodeId,
        _ => event.id.node,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SCENES, Wish};
    use super::*;

    fn at_each_moment(mut look: impl FnMut(&ClusterLab)) {
        for scene in SCENES {
            let mut lab = ClusterLab::new(&scene.name).unwrap();
            while lab.is_story() {
                look(&lab);
                lab = lab.after(Wish::NextMoment);
            }
        }
    }

    #[test]
    fn the_last_facts_of_each_moment_have_their_place_in_the_source() {
        at_each_moment(|lab| {
            for all in [false, true] {
                let events = lab.events_here(all);
                assert!(!events.facts.is_empty() && events.facts.len() <= MOST);
                assert!(events.facts.is_sorted_by_key(|fact| fact.at));
                for fact in events.facts {
                    let (file, line) = fact.site.expect("this build made it");
                    assert!(file.starts_with("core/src/") && line > 0, "{}: {file}", fact.name);
                    assert!(!fact.who.is_empty() && !fact.text.is_empty());
                    assert!(fact.because.is_none_or(|(cause, _)| cause < fact.at));
                }
            }
        });
    }

    #[test]
    fn what_arrives_follows_from_what_was_sent_by_the_other_lane() {
        let mut seen = 0;
        at_each_moment(|lab| {
            let events = lab.events_here(false);
            for fact in &events.facts {
                let Some(Leg::Arrives { from }) = fact.packet else {
                    continue;
                };
                let (cause, _) = fact.because.as_ref().expect("it was sent");
                let Some(sent) = events.facts.iter().find(|fact| fact.at == *cause) else {
                    continue;
                };
                assert_eq!(sent.lane, from);
                assert_eq!(sent.packet, Some(Leg::Leaves { to: fact.lane }));
                assert!(events.causes(fact.at).contains(&sent.at));
                seen += 1;
            }
        });
        assert!(seen > 10, "{seen}");
    }
}
