//! Builds the page (`lab`) and renders the book (`book`): called by `cargo xtask`.

mod book;
mod compress;
mod lab;
mod policy;
mod sizes;
mod source;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

/// What fails here fails with one line for the reader.
type Result<T> = std::result::Result<T, String>;

#[derive(Parser)]
enum Arguments {
    /// Build the lab
    Lab {
        #[arg(long)]
        out: PathBuf,
    },
    /// Render the book
    Book {
        #[arg(long)]
        out: PathBuf,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse() {
        Arguments::Lab { out } => lab::build(&out),
        Arguments::Book { out } => book::build(&out),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
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

/// Names the path in an error of the file system.
fn at<T>(path: &Path, result: std::io::Result<T>) -> Result<T> {
    result.map_err(|e| format!("{}: {e}", path.display()))
}

/// An empty folder in place of whatever was there.
fn emptied(folder: &Path) -> Result<()> {
    if folder.exists() {
        at(folder, std::fs::remove_dir_all(folder))?;
    }
    at(folder, std::fs::create_dir_all(folder))
}
