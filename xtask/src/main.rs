//! `cargo xtask`: runs, tests and builds Highwater, on a machine with Rust and a C compiler.
//!
//! What it builds or fetches lies under `target/`. What is heavy (bundling the page, rendering the
//! book, interpreting WebAssembly) is in packages of its own, so that `cargo xtask test --quick`
//! compiles none of it twice.

mod bench;
mod clients;
mod counts;
mod job;
mod needs;
mod site;
mod test;
mod tidy;
mod up;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build what is missing and start a broker on 127.0.0.1:9092 with its page on port 8080
    Up {
        /// Options of `highwater up`, for instance `--port 9192`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Run every check; the last line is `N passed, N failed`
    Test(test::Options),
    /// Check the rules of this repository that no compiler knows
    Tidy,
    /// Measure the release binary, with `--against kafka` beside Apache Kafka; `--help` has the options
    #[command(disable_help_flag = true)]
    Bench {
        /// Options of the measurement, for instance `--against kafka --quick`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Build the lab, and print its size by crate
    Lab {
        /// Where the page goes
        #[arg(long, default_value = site::LAB)]
        out: PathBuf,
    },
    /// Render the book; elsewhere than in its usual place, with the lab that plays its figures
    Book {
        /// Where the book goes
        #[arg(long, default_value = site::BOOK)]
        out: PathBuf,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Up { options } => up::up(&options),
        Command::Test(options) => test::run(&options),
        Command::Tidy => tidy::run(),
        Command::Bench { options } => bench::run(&options),
        Command::Lab { out } => site::lab(&out),
        Command::Book { out } => site::book(&out),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) if why.is_empty() => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}
