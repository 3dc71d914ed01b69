//! Timers by name: setting one again moves it, so that a name is due at most once.

use crate::ordered::{OrderedMap, OrderedSet};
use crate::trace::EventId;
use crate::types::Millis;

#[derive(Clone, Debug)]
pub struct Timers<K> {
    due: OrderedSet<(Millis, K)>,
    /// When each is due, and the event that it was set for.
    at: OrderedMap<K, (Millis, EventId)>,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self {
            due: OrderedSet::new(),
            at: OrderedMap::new(),
        }
    }
}

impl<K: Clone + Ord> Timers<K> {
    /// The timer is due at that time, whenever it was due before.
    pub fn set(&mut self, key: K, at_ms: Millis, because: EventId) {
        self.cancel(&key);
        self.due.insert((at_ms, key.clone()));
        self.at.insert(key, (at_ms, because));
    }

    pub fn cancel(&mut self, key: &K) {
        if let Some((at, _)) = self.at.remove(key) {
            self.due.remove(&(at, key.clone()));
        }
    }

    /// When the timer is due, if it is set.
    pub fn at(&self, key: &K) -> Option<Millis> {
        self.at.get(key).map(|&(at, _)| at)
    }

    pub fn next(&self) -> Option<Millis> {
        self.due.first().map(|&(at, _)| at)
    }

    /// Takes out a timer that is due, the oldest first, with the event that it was set for.
    pub fn take_due(&mut self, now: Millis) -> Option<(K, EventId)> {
        let (at, _) = self.due.first()?;
        if *at > now {
            return None;
        }
        let (_, key) = self.due.pop_first()?;
        let (_, because) = self.at.remove(&key)?;
        Some((key, because))
    }

    pub fn len(&self) -> usize {
        self.at.len()
    }

    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_is_set_again_is_due_once_and_later() {
        let mut timers = Timers::default();
        timers.set("a", 10, EventId::NONE);
        timers.set("b", 15, EventId::NONE);
        timers.set("a", 20, EventId::NONE);
        assert_eq!((timers.next(), timers.at(&"a")), (Some(15), Some(20)));
        assert_eq!(timers.take_due(14), None);
        assert_eq!(timers.take_due(30), Some(("b", EventId::NONE)));
        assert_eq!(timers.take_due(30), Some(("a", EventId::NONE)));
        assert_eq!(timers.take_due(30), None);
        assert!(timers.is_empty());
    }

    #[test]
    fn a_timer_that_is_cancelled_is_never_due() {
        let mut timers = Timers::default();
        timers.set("a", 10, EventId::NONE);
        timers.cancel(&"a");
        assert_eq!((timers.next(), timers.take_due(30)), (None, None));
    }
}
