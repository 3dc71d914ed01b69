//! `highwater sim`: plays a script in the terminal, or many random worlds in search of a mistake.

mod play;

use std::fs;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use highwater_core::sim::script::search::{self, Exercised, Found};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Failure;

/// So few worlds need not have met everything.
const FEW_SEEDS: u64 = 100;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The script to play; the book has its words. A story beside it (FILE.story) is told with it.
    #[arg(required_unless_present = "seeds", conflicts_with = "seeds")]
    script: Option<PathBuf>,
    /// Wait for Enter at each command and each moment of the story.
    #[arg(long, requires = "script")]
    step: bool,
    /// Print every fact, and every moment of the story, as one line of JSON.
    #[arg(long, requires = "script")]
    json: bool,
    /// Say after each command, and at each moment of the story, how the cluster looks.
    #[arg(long, requires = "script")]
    describe: bool,
    /// Write the brokers' disks there as files when the script is over.
    #[arg(long, value_name = "DIR", requires = "script")]
    dump_dir: Option<PathBuf>,
    /// Play so many random worlds.
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// The first world's seed.
    #[arg(long, value_name = "S", default_value_t = 1, requires = "seeds")]
    from: u64,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match (&arguments.script, arguments.seeds) {
        (_, Some(seeds)) => search_worlds(arguments.from, seeds),
        (Some(script), None) => play::play(script, arguments),
        (None, None) => Ok(()),
    }
}

/// What all threads have found.
struct Search {
    next: AtomicU64,
    stop: AtomicBool,
    exercised: Mutex<Exercised>,
    found: Mutex<Option<Box<Found>>>,
    bar: ProgressBar,
}

fn search_worlds(from: u64, seeds: u64) -> Result<(), Failure> {
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
    println!("{seeds} worlds, {rate:.1} a second; what happened in them:");
    for (name, count) in exercised {
        println!("{count:>10}  {name}");
    }
}

/// Writes the shortest script that still fails; the line that says so.
fn report(found: &Found) -> Result<String, Failure> {
    let path = format!("sim-seed-{}", found.seed);
    let version = env!("CARGO_PKG_VERSION");
    let head = format!(
        "# highwater {version}, seed {}, step {}: {}\n",
        found.seed, found.failure.step, found.failure.why
    );
    fs::write(&path, head.clone() + &found.script)?;
    print!("{head}{}", found.script);
    Ok(format!(
        "seed {} fails at step {}: {}; `highwater sim {path}` plays it again",
        found.seed, found.failure.step, found.failure.why
    ))
}
