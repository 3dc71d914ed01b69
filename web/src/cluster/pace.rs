//! How fast a run is played: virtual time on the screen.
//!
//! The screen time of a place follows from the run alone, so that playing, scrubbing and a link agree, and
//! a hidden tab changes nothing. A millisecond and ten seconds take about as long; what is squeezed is said.
//!
//! Invariants
//! - screen time grows from stop to stop, by at least [`LEAST_MS`] and at most [`MOST_MS`]

use highwater_core::types::Millis;

use super::timeline::Stop;

/// A stop is at least so long on the screen, and at most.
pub const LEAST_MS: f64 = 400.0;
pub const MOST_MS: f64 = 900.0;
/// From here on a reader is told how much time was left out.
const QUIET_MS: Millis = 300;

/// Screen time of each stop, from 0.
pub fn screen_ms(stops: &[Stop]) -> Vec<f64> {
    let mut all = Vec::with_capacity(stops.len());
    let mut now = 0.0;
    for (at, stop) in stops.iter().enumerate() {
        if let Some(before) = at.checked_sub(1).and_then(|before| stops.get(before)) {
            now += step_ms(stop.ms - before.ms);
        }
        all.push(now);
    }
    all
}

/// Screen time of so much virtual time.
fn step_ms(virtual_ms: Millis) -> f64 {
    // Its logarithm, straight between powers of two.
    let ms = 1 + virtual_ms.max(0).unsigned_abs();
    let power = ms.ilog2();
    let rest = ms as f64 / (1_u64 << power) as f64 - 1.0;
    (LEAST_MS + 60.0 * (f64::from(power) + rest)).min(MOST_MS)
}

/// What is said of the time between two stops: `1.9 s pass`.
pub fn quiet(from: &Stop, to: &Stop) -> Option<String> {
    let ms = to.ms - from.ms;
    (ms >= QUIET_MS && from.moved == to.moved).then(|| format!("{} pass", duration(ms)))
}

/// `40 ms`, `1.9 s`.
pub fn duration(ms: Millis) -> String {
    match ms {
        ..1000 => format!("{ms} ms"),
        _ => {
            let tenths = (ms + 50) / 100;
            match tenths % 10 {
                0 => format!("{} s", tenths / 10),
                rest => format!("{}.{rest} s", tenths / 10),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_span_takes_between_the_least_and_the_most() {
        for ms in [0, 1, 17, 300, 2_000, 60_000] {
            let screen = step_ms(ms);
            assert!((LEAST_MS..=MOST_MS).contains(&screen), "{ms}: {screen}");
        }
        assert!(step_ms(20) < step_ms(200));
    }

    #[test]
    fn times_read_well() {
        assert_eq!(duration(40), "40 ms");
        assert_eq!(duration(1_949), "1.9 s");
        assert_eq!(duration(2_000), "2 s");
    }
}
