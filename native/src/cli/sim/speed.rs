//! `highwater sim --speed`: how many events a second worlds take here, and what a copy of one costs.

use std::time::{Duration, Instant};

use highwater_core::sim::script::speed::{self, Look};
use serde_json::json;

use crate::cli::Failure;
use crate::output::say;

/// Random worlds that are played for each rate.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=20;
/// Copies that are made of the world with many records, one at each of so many events in a row.
const COPIES: usize = 500;

pub fn measure(as_json: bool) -> Result<(), Failure> {
    let (plain, checked) = (rate(Look::Nowhere), rate(Look::AtWhatIsTouched));
    let (median, worst) = copies()?;
    if as_json {
        let figures = json!({
            "events_per_s": plain,
            "checked_events_per_s": checked,
            "copy_ms": millis(median),
            "worst_copy_ms": millis(worst),
        });
        say!("{figures}");
        return Ok(());
    }
    say!("{plain:>10.0} events a second, no invariant looked at");
    say!("{checked:>10.0} events a second, with the incremental invariants");
    say!(
        "{:>10.3} ms for a copy of a world with {} records and its first event ({:.3} ms at most)",
        millis(median),
        speed::RECORDS,
        millis(worst)
    );
    Ok(())
}

fn rate(look: Look) -> f64 {
    let began = Instant::now();
    let steps: u64 = SEEDS.map(|seed| speed::play(seed, look)).sum();
    steps as f64 / began.elapsed().as_secs_f64()
}

/// The middle and the longest time of a copy with its first event.
fn copies() -> Result<(Duration, Duration), Failure> {
    let mut world = speed::world_with_records()?;
    let mut times: Vec<Duration> = (0..COPIES)
        .map(|_| {
            let began = Instant::now();
            let mut copy = world.clone();
            copy.step();
            let took = began.elapsed();
            world.step();
            took
        })
        .collect();
    times.sort_unstable();
    let at = |index: usize| times.get(index).copied().unwrap_or_default();
    Ok((at(COPIES / 2), at(COPIES - 1)))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
