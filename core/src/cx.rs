//! What every deciding function is handed: the time, chance, the disk's queue, the trace.

use std::panic::Location;

use crate::disk::DiskQueue;
use crate::trace::{EventId, Fact, Site, Timer, Trace};
use crate::types::{Millis, Rng};

/// Passed down from [`Broker::handle`](crate::broker) through every decision.
pub struct Cx<'a> {
    /// Now, by the host's clock, in ms since the Unix epoch.
    pub now: Millis,
    pub rng: &'a mut Rng,
    /// Disk operations in the order in which they must happen, per log directory.
    pub disk: &'a mut DiskQueue,
    pub trace: &'a mut Trace,
    /// The event that what is decided now follows from.
    pub cause: EventId,
}

impl Cx<'_> {
    /// Records a fact, if anybody listens, and answers its id (or the present cause, when nobody does).
    #[track_caller]
    pub fn emit(&mut self, build: impl FnOnce() -> Fact) -> EventId {
        if !self.trace.is_on() {
            return self.cause;
        }
        self.trace
            .push(self.now, self.cause, build(), Site(Some(Location::caller())))
    }

    /// A timer is due that was set because of that event (none, for one that only the clock drives): what
    /// is decided now follows from it.
    #[track_caller]
    pub fn timer_due(&mut self, timer: Timer, because: EventId) {
        self.cause = because;
        self.cause = self.emit(|| Fact::TimerDue { timer });
    }
}
