//! All facts of a run, oldest first, in chunks that copies of the world share.

use std::sync::Arc;

use crate::trace::Event;

/// Facts in a sealed chunk; a copy of the world copies at most so many.
const CHUNK: usize = 128;

/// The facts of a run.
#[derive(Clone, Debug, Default)]
pub struct TraceLog {
    sealed: Vec<Arc<Vec<Event>>>,
    tail: Vec<Event>,
}

impl TraceLog {
    pub fn push(&mut self, event: Event) {
        self.tail.push(event);
        if self.tail.len() == CHUNK {
            let full = std::mem::replace(&mut self.tail, Vec::with_capacity(CHUNK));
            self.sealed.push(Arc::new(full));
        }
    }

    pub fn len(&self) -> usize {
        self.sealed.len() * CHUNK + self.tail.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, at: usize) -> Option<&Event> {
        match self.sealed.get(at / CHUNK) {
            Some(chunk) => chunk.get(at % CHUNK),
            None => self.tail.get(at.checked_sub(self.sealed.len() * CHUNK)?),
        }
    }

    /// The facts from number `from` on, counted from 0.
    pub fn since(&self, from: usize) -> impl Iterator<Item = &Event> {
        (from..self.len()).filter_map(|at| self.get(at))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        self.since(0)
    }

    /// One number for the whole run (FNV-1a over each fact's form for machines): equal runs have
    /// equal ones, on any machine.
    pub fn hash(&self) -> u64 {
        self.hash_until(self.len())
    }

    /// The same of the first facts.
    pub fn hash_until(&self, facts: usize) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325;
        for event in self.iter().take(facts) {
            for byte in event.to_json() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{EventId, Fact, Site};

    fn event(seq: u64) -> Event {
        Event {
            id: EventId { node: 1, seq },
            cause: EventId::NONE,
            at_ms: 0,
            fact: Fact::ControllerElected { broker: 1, epoch: 1 },
            site: Site(None),
        }
    }

    #[test]
    fn facts_are_found_by_number_across_chunks() {
        let mut log = TraceLog::default();
        (0..300).for_each(|seq| log.push(event(seq)));
        assert_eq!(log.len(), 300);
        assert_eq!(log.get(299).map(|event| event.id.seq), Some(299));
        assert_eq!(log.get(300), None);
        assert_eq!(log.since(250).count(), 50);
        assert!(log.iter().map(|event| event.id.seq).eq(0..300));
    }

    #[test]
    fn one_other_fact_gives_another_hash() {
        let (mut one, mut other) = (TraceLog::default(), TraceLog::default());
        one.push(event(1));
        other.push(event(1));
        assert_eq!(one.hash(), other.hash());
        other.push(event(2));
        assert_ne!(one.hash(), other.hash());
    }
}
