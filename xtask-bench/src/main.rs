//! Measures the release binary as a whole process: called by `cargo xtask bench`.
//!
//! In one run, on one machine: the floors (bare programs that do only what a broker must), Highwater,
//! and with `--against kafka` Apache Kafka under the same load, by turns. Ratios within a run hold;
//! absolute figures wander. Everything is bounded, and each process that is started here is ended here.

mod broker;
mod clients;
mod failover;
mod figures;
mod floors;
mod groups;
mod idle;
mod kafka;
mod lab;
mod load;
mod loads;
mod machine;
mod meter;
mod payload;
mod plan;
mod program;
mod report;
mod run;
mod simulator;
mod statistics;
mod table;
mod three;
mod topics;
mod zookeeper;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

/// What fails here fails with one line for the reader.
type Result<T> = std::result::Result<T, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Against {
    Kafka,
}

#[derive(Parser)]
#[command(name = "cargo xtask bench")]
struct Arguments {
    /// Measure this too, by turns
    #[arg(long)]
    against: Option<Against>,
    /// Less of everything: a look, in under 4 minutes
    #[arg(long)]
    quick: bool,
    /// Only this measurement (floors, start, connections, partitions, 1k, 100b, lz4, zstd, six, java, steady, clients, groups, three, failover, simulator); may be given again
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Only the page, in a browser (chromium and its driver), beside an empty page
    #[arg(long, conflicts_with_all = ["against", "only"])]
    lab: bool,
    /// Put what was measured into the book's page on performance
    #[arg(long)]
    book: bool,
    /// The broker's binary
    #[arg(long, default_value = "target/release/highwater", value_name = "FILE")]
    binary: PathBuf,
}

fn main() -> ExitCode {
    match bench(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<()> {
    let out = root().join("target/bench");
    at(&out, std::fs::create_dir_all(&out))?;
    let report = run::run(arguments, &out)?;
    let json = serde_json::to_string_pretty(&report.json()).map_err(said)?;
    let path = out.join("report.json");
    at(&path, std::fs::write(&path, json))?;
    println!("\n{}", table::text(&report));
    println!("also in {}", path.display());
    if arguments.book {
        table::into_book(&root().join("book/src/performance.md"), &report)?;
    }
    Ok(())
}

/// The repository's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// Names the path in an error of the file system.
fn at<T>(path: &Path, result: std::io::Result<T>) -> Result<T> {
    result.map_err(|e| format!("{}: {e}", path.display()))
}

/// An error's own words.
fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
