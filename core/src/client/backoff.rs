//! How long to wait after the n-th failure in a row (Kafka's `ExponentialBackoff`): twice as long each
//! time up to a limit, and a fifth more or less by chance, so that many clients do not come back at
//! the same moment.

use crate::types::{Millis, Rng};

/// Kafka's `RETRY_BACKOFF_JITTER` of 0.2, in thousandths.
const JITTER_PERMILLE: i64 = 200;

/// Kafka's `RETRY_BACKOFF_EXP_BASE` of 2 is built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExponentialBackoff {
    pub initial_ms: Millis,
    pub max_ms: Millis,
}

impl ExponentialBackoff {
    pub fn new(initial_ms: Millis, max_ms: Millis) -> Self {
        Self { initial_ms, max_ms }
    }

    /// The pause after `failures` failures before this one. Never more than the limit, jitter included.
    pub fn backoff_ms(&self, failures: u32, rng: &mut Rng) -> Millis {
        let doubled = self.initial_ms.saturating_mul(1 << failures.min(40));
        let term = doubled.min(self.max_ms.max(self.initial_ms));
        let factor = 1000 - JITTER_PERMILLE + rng.below(2 * JITTER_PERMILLE as u64 + 1) as i64;
        (term.saturating_mul(factor) / 1000).min(self.max_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_its_limit_and_wavers_by_a_fifth() {
        let backoff = ExponentialBackoff::new(100, 1000);
        let mut rng = Rng::new(1);
        for (failures, term) in [(0, 100), (1, 200), (2, 400), (3, 800), (4, 1000), (63, 1000)] {
            let drawn: Vec<Millis> = (0..200).map(|_| backoff.backoff_ms(failures, &mut rng)).collect();
            let (least, most) = (drawn.iter().min().unwrap(), drawn.iter().max().unwrap());
            assert!(*least >= term * 8 / 10 && *most <= (term * 12 / 10).min(1000));
            assert!(most - least > term / 10, "there is chance in it");
        }
    }

    #[test]
    fn none_stays_none_and_a_limit_below_the_start_counts() {
        let mut rng = Rng::new(1);
        assert_eq!(ExponentialBackoff::new(0, 0).backoff_ms(5, &mut rng), 0);
        assert!(ExponentialBackoff::new(500, 100).backoff_ms(0, &mut rng) <= 100);
    }
}
