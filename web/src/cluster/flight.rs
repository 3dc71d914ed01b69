//! Messages in the air, between two places of a run: what the dots of the map do while it is played.
//!
//! A message leaves and arrives with the facts that say so; the screen time of a fact lies between the
//! stops around it. One that would be too quick to see leaves a little earlier on the screen.

use highwater_core::stage::{Message, Stage, Way};
use highwater_core::trace::{Fact, NodeId, WorldFact};

use super::pace::LEAST_MS;
use super::run::Run;

/// A message on its way across the map.
#[derive(Clone, Debug, PartialEq)]
pub struct Flight {
    pub packet: u64,
    pub from: NodeId,
    pub to: NodeId,
    pub label: String,
    pub request: bool,
    /// It never arrives: it falls.
    pub lost: bool,
    /// Screen time, as the stops have it.
    pub start_ms: f64,
    pub end_ms: f64,
}

/// A stretch of a run that is played: two places, and when they are on the screen.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    pub facts: (usize, usize),
    pub screen_ms: (f64, f64),
}

impl Stretch {
    fn screen(&self, facts: usize) -> f64 {
        let (from, to) = self.facts;
        let part = match to.saturating_sub(from) {
            0 => 1.0,
            all => facts.saturating_sub(from) as f64 / all as f64,
        };
        self.screen_ms.0 + part.min(1.0) * (self.screen_ms.1 - self.screen_ms.0)
    }
}

/// Messages that are in the air within the stretch; those that say nothing new are left out.
pub fn flights(run: &Run, stretch: Stretch) -> Vec<Flight> {
    let (from, to) = stretch.facts;
    let mut view = run.view_at(from);
    let before = Stage::of(&view, &run.options(from));
    let mut air: Vec<(Message, usize)> = Vec::new();
    air.extend(before.messages.into_iter().map(|message| (message, from)));
    let mut all = Vec::new();
    for at in from..to {
        let Some(event) = run.event(at) else { break };
        view.apply(&event);
        match &event.fact {
            Fact::World(WorldFact::PacketSent { packet, .. }) => {
                let sent = Message::of(&view, run.partition(), *packet);
                air.extend(sent.map(|message| (message, at + 1)));
            }
            Fact::World(WorldFact::PacketDelivered { packet }) => {
                let landed = land(&mut air, *packet);
                all.extend(landed.map(|(message, sent)| flight(message, sent, at + 1, stretch, false)));
            }
            Fact::World(WorldFact::PacketLost { packet, .. }) => {
                let fallen = land(&mut air, *packet);
                all.extend(fallen.map(|(message, sent)| flight(message, sent, at + 1, stretch, true)));
            }
            _ => {}
        }
    }
    // Still on their way at the end.
    let rest = air.into_iter().filter(|(message, _)| !message.held);
    all.extend(rest.map(|(message, sent)| flight(message, sent, to, stretch, false)));
    all
}

fn land(air: &mut Vec<(Message, usize)>, packet: u64) -> Option<(Message, usize)> {
    let at = air.iter().position(|(message, _)| message.packet == packet)?;
    Some(air.remove(at))
}

fn flight(message: Message, sent: usize, arrives: usize, stretch: Stretch, lost: bool) -> Flight {
    let end_ms = stretch.screen(arrives);
    Flight {
        packet: message.packet,
        from: message.from,
        to: message.to,
        label: message.name,
        request: message.way == Way::Request,
        lost,
        start_ms: stretch.screen(sent).min(end_ms - LEAST_MS),
        end_ms,
    }
}
