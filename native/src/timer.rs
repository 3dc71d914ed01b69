//! The only timer of a driver: one task that sleeps until the core wants its next `Tick`.
//!
//! Time-outs move with almost every request and nearly always to later. So the task is woken only
//! when the deadline comes *before* the one it sleeps for; else it wakes, finds nothing due, and
//! sleeps again.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use highwater_core::types::Millis;
use tokio::sync::Notify;

use crate::clock::Clock;

/// "Never", as a deadline.
const NEVER: Millis = Millis::MAX;
/// A deadline that has passed and stays is a fault; it shall not take a whole core.
const LEAST_SLEEP_MS: Millis = 1;
/// The longest sleep: wall time may have been set forward meanwhile.
const LONGEST_SLEEP_MS: Millis = 60_000;

#[derive(Debug)]
pub(crate) struct Timer {
    deadline: AtomicI64,
    sleeping_until: AtomicI64,
    earlier: Notify,
}

impl Timer {
    pub fn new() -> Self {
        Self {
            deadline: AtomicI64::new(NEVER),
            sleeping_until: AtomicI64::new(NEVER),
            earlier: Notify::new(),
        }
    }

    /// Sets when the next tick is due; wakes the task if that is earlier than it expects.
    pub fn set(&self, deadline: Option<Millis>) {
        let deadline = deadline.unwrap_or(NEVER);
        self.deadline.store(deadline, Ordering::SeqCst);
        if deadline < self.sleeping_until.load(Ordering::SeqCst) {
            self.earlier.notify_one();
        }
    }

    /// When the next tick is due, if ever.
    pub fn deadline(&self) -> Option<Millis> {
        Some(self.deadline.load(Ordering::SeqCst)).filter(|&deadline| deadline != NEVER)
    }

    /// Waits until the deadline, wherever it moves meanwhile.
    pub async fn due(&self, clock: &Clock) {
        loop {
            let deadline = self.deadline.load(Ordering::SeqCst);
            self.sleeping_until.store(deadline, Ordering::SeqCst);
            // Either this load sees a deadline set since, or `set` saw what is slept for.
            if self.deadline.load(Ordering::SeqCst) != deadline {
                continue;
            }
            let left = deadline.saturating_sub(clock.now());
            if left <= 0 {
                // Whatever is set from now on is looked at anyway before the next sleep.
                self.sleeping_until.store(0, Ordering::SeqCst);
                tokio::time::sleep(millis(LEAST_SLEEP_MS)).await;
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(millis(left.min(LONGEST_SLEEP_MS))) => {
                    if left <= LONGEST_SLEEP_MS && self.deadline.load(Ordering::SeqCst) <= clock.now() {
                        self.sleeping_until.store(0, Ordering::SeqCst);
                        return;
                    }
                }
                () = self.earlier.notified() => {}
            }
        }
    }
}

fn millis(duration: Millis) -> Duration {
    Duration::from_millis(duration.unsigned_abs())
}
