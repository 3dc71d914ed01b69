//! The host's clock: wall time in ms that never runs backwards, or a hand that a test turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use highwater_core::types::Millis;

/// Where the core's `now` comes from.
#[derive(Clone, Debug)]
pub struct Clock {
    latest: Arc<AtomicI64>,
    manual: bool,
}

impl Clock {
    /// The machine's clock. When it is set back, time stands still until it has caught up: records
    /// and time-outs never see it fall.
    pub fn system() -> Self {
        Self {
            latest: Arc::default(),
            manual: false,
        }
    }

    /// A clock that moves only by [`set`](Self::set).
    pub fn manual(start: Millis) -> Self {
        Self {
            latest: Arc::new(AtomicI64::new(start)),
            manual: true,
        }
    }

    /// Now, in ms since the Unix epoch.
    pub fn now(&self) -> Millis {
        if self.manual {
            return self.latest.load(Ordering::SeqCst);
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX);
        wall.max(self.latest.fetch_max(wall, Ordering::Relaxed))
    }

    /// Turns a manual clock forward.
    pub fn set(&self, now: Millis) {
        self.latest.fetch_max(now, Ordering::SeqCst);
    }

    /// Whether time passes by itself.
    pub fn runs(&self) -> bool {
        !self.manual
    }
}
