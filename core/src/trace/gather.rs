//! Where a node's events gather until its host takes them.

use super::{Event, EventId, Fact, NodeId, Site};
use crate::full::FULL;
use crate::types::Millis;

/// Collects events while somebody listens.
#[derive(Debug, Default)]
pub struct Trace {
    pub node: NodeId,
    /// What the host gives in next follows from this event.
    pub cause: EventId,
    on: bool,
    next: u64,
    events: Vec<Event>,
}

impl Clone for Trace {
    /// Where code is weighed nobody is copied with events that were not taken yet.
    fn clone(&self) -> Self {
        let events = if FULL { self.events.clone() } else { Vec::new() };
        Self { events, ..*self }
    }
}

impl Trace {
    /// Listens from the start.
    pub fn recording(node: NodeId) -> Self {
        Self {
            node,
            on: true,
            ..Self::default()
        }
    }

    /// Drops everything: the native broker with nobody attached.
    pub fn off() -> Self {
        Self::default()
    }

    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Hands over what has gathered since the last call, oldest first.
    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The same for whoever asks often: the room for the next ones is kept.
    pub fn drain(&mut self) -> impl Iterator<Item = Event> {
        self.events.drain(..)
    }

    /// The fact that was pushed last, or none.
    pub fn last(&self) -> EventId {
        match self.next {
            0 => EventId::NONE,
            seq => EventId { node: self.node, seq },
        }
    }

    /// Called through [`Cx::emit`](crate::cx::Cx::emit).
    pub(crate) fn push(&mut self, at_ms: Millis, cause: EventId, fact: Fact, site: Site) -> EventId {
        self.next += 1;
        let id = EventId {
            node: self.node,
            seq: self.next,
        };
        self.events.push(Event {
            id,
            cause,
            at_ms,
            fact,
            site,
        });
        id
    }
}
