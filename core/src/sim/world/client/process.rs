//! What a client's process has of its own: chance, the facts that it leaves, and what it wants sent.

use crate::client::{ClientCx, ClientOutput};
use crate::trace::{Event, EventId, NodeId, Trace};
use crate::types::{Millis, Rng};

/// Spreads the numbers of clients over the seeds (the golden ratio in 64 bits).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Debug)]
pub struct Process {
    rng: Rng,
    trace: Trace,
    out: Vec<ClientOutput>,
}

impl Process {
    /// Its chance comes from the world's seed and its number, and from nothing that others draw.
    pub fn new(seed: u64, client: NodeId) -> Self {
        Self {
            rng: Rng::new(seed ^ u64::from(client).wrapping_mul(SPREAD)),
            trace: Trace::recording(client),
            out: Vec::new(),
        }
    }

    pub fn cx(&mut self, now: Millis, cause: EventId) -> ClientCx<'_> {
        ClientCx {
            now,
            rng: &mut self.rng,
            trace: &mut self.trace,
            cause,
            out: &mut self.out,
        }
    }

    /// The facts and wishes since the last call, oldest first.
    pub fn take(&mut self) -> (Vec<Event>, Vec<ClientOutput>) {
        (self.trace.take(), std::mem::take(&mut self.out))
    }
}
