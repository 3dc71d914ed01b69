//! Holds the sending back to a rate (Kafka's `ThroughputThrottler`): pauses that are too short to sleep
//! are gathered into longer ones.

use std::time::Duration;

use highwater_core::types::Millis;

/// Shorter sleeps are not exact.
const LEAST_SLEEP: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub struct Throttle {
    /// Records a second; negative: as fast as can be.
    rate: f64,
    began_ms: Millis,
    owed: Duration,
}

impl Throttle {
    pub fn new(rate: f64, now: Millis) -> Self {
        Self {
            rate,
            began_ms: now,
            owed: Duration::ZERO,
        }
    }

    /// How long to sleep after so many records; `None`: not yet.
    pub fn pause(&mut self, records: u64, now: Millis) -> Option<Duration> {
        let elapsed = (now - self.began_ms) as f64 / 1000.0;
        if self.rate < 0.0 || elapsed <= 0.0 || records as f64 / elapsed <= self.rate {
            return None;
        }
        self.owed += Duration::try_from_secs_f64(1.0 / self.rate).unwrap_or(Duration::MAX);
        (self.owed >= LEAST_SLEEP).then(|| std::mem::take(&mut self.owed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_pauses_are_gathered() {
        let mut throttle = Throttle::new(1000.0, 0);
        assert_eq!(throttle.pause(50, 100), None, "within the rate");
        assert_eq!(throttle.pause(150, 100), None, "one millisecond is owed");
        assert_eq!(throttle.pause(151, 100), Some(Duration::from_millis(2)));
        assert_eq!(throttle.pause(152, 100), None);
        assert_eq!(Throttle::new(-1.0, 0).pause(1_000_000, 1), None);
    }
}
