//! How often a broker that wants to stop asks for its leaderships to be taken over.

use crate::trace::EventId;
use crate::types::Millis;

/// A stop that has been asked for, and is not begun.
#[derive(Clone, Debug)]
pub(in crate::broker) struct Leaving {
    tries_left: i32,
    again_at: Option<Millis>,
    /// Why not at once.
    because: EventId,
}

impl Leaving {
    /// After the first try so many more.
    pub fn new(retries: i32) -> Self {
        Self {
            tries_left: retries.max(0).saturating_add(1),
            again_at: None,
            because: EventId::NONE,
        }
    }

    /// Takes one of the tries; false when there is none left.
    pub fn try_again(&mut self) -> bool {
        self.again_at = None;
        self.tries_left -= 1;
        self.tries_left >= 0
    }

    pub fn is_last_try(&self) -> bool {
        self.tries_left <= 0
    }

    pub fn wait_until(&mut self, at: Millis, because: EventId) {
        self.again_at = Some(at);
        self.because = because;
    }

    pub fn because(&self) -> EventId {
        self.because
    }

    /// When the next try is due.
    pub fn next(&self) -> Option<Millis> {
        self.again_at
    }
}
