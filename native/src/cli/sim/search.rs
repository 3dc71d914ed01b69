//! `highwater sim --seeds N`: many random worlds in search of a mistake.

use std::fs;
use std::io::{self, IsTerminal};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use highwater_core::sim::script::search::{self, Exercised, Found};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::Failure;
use crate::output::say;

/// So few worlds need not have met everything.
const FEW_SEEDS: u64 = 100;

/// What all threads have found.
struct Search {
    next: AtomicU64,
    stop: AtomicBool,
    exercised: Mutex<Exercised>,
    found: Mutex<Option<Box<Found>>>,
    bar: ProgressBar,
}

pub fn worlds(from: u64, seeds: u64) -> Result<(), Failure> {
    let search = Search {
        next: AtomicU64::new(from),
        stop: AtomicBool::new(false),
        exercised: Mutex::default(),
        found: Mutex::default(),
        bar: bar(seeds),
    };
    let began = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| search.run(from.saturating_add(seeds)));
        }
    });
    search.bar.finish_and_clear();
    let exercised = search.exercised.into_inner().unwrap_or_default();
    summarize(&exercised, seeds, began.elapsed());
    if let Ok(Some(found)) = search.found.into_inner() {
        return Err(report(&found)?.into());
    }
    let missing = search::missing(&exercised);
    if seeds >= FEW_SEEDS && !missing.is_empty() {
        return Err(format!("these worlds never met: {}; try more seeds", missing.join(", ")).into());
    }
    Ok(())
}

impl Search {
    fn run(&self, end: u64) {
        let mut exercised = Exercised::new();
        while !self.stop.load(Ordering::Relaxed) {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                break;
            }
            match search::play_seed(seed, &mut exercised) {
                Ok(_) => self.bar.inc(1),
                Err(found) => {
                    self.stop.store(true, Ordering::Relaxed);
                    if let Ok(mut first) = self.found.lock() {
                        first.get_or_insert(found);
                    }
                }
            }
        }
        if let Ok(mut all) = self.exercised.lock() {
            for (name, count) in exercised {
                *all.entry(name).or_insert(0) += count;
            }
        }
    }
}

fn bar(seeds: u64) -> ProgressBar {
    let bar = ProgressBar::new(seeds);
    if !io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} worlds, {per_sec}, {eta} left") {
        bar.set_style(style);
    }
    bar
}

fn summarize(exercised: &Exercised, seeds: u64, took: Duration) {
    let rate = seeds as f64 / took.as_secs_f64().max(0.001);
    say!("{seeds} worlds, {rate:.1} a second; what happened in them:");
    for (name, count) in exercised {
        say!("{count:>10}  {name}");
    }
}

/// Writes the shortest script that still fails; the line that says so.
fn report(found: &Found) -> Result<String, Failure> {
    let path = found.file_name();
    fs::write(&path, found.to_string())?;
    say!("{}", found.to_string().trim_end());
    let (seed, step, why) = (found.seed, found.failure.step, &found.failure.why);
    Ok(format!(
        "seed {seed} fails at step {step}: {why}; `highwater sim {path}` plays it again"
    ))
}
