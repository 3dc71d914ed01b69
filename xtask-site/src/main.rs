//! Builds the page (`lab`) and renders the book (`book`): called by `cargo xtask`.

mod book;
mod compress;
mod lab;
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
        /// Where the glossary lies, as seen from the page; nowhere if it is empty
        #[arg(long, default_value = "book/glossary.html")]
        glossary: String,
    },
    /// Render the book
    Book {
        #[arg(long)]
        out: PathBuf,
        /// Where the lab lies, as seen from the book's pages
        #[arg(long, default_value = "../")]
        lab: String,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse() {
        Arguments::Lab { out, glossary } => lab::build(&out, &glossary),
        Arguments::Book { out, lab } => book::build(&out, &lab),
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

/// A stylesheet without what only its writers need: remarks and indentation.
fn bare_sheet(sheet: &str) -> String {
    let mut parts = sheet.split("/*");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    kept.extend(
        parts
            .filter_map(|part| part.split_once("*/"))
            .map(|(_, rest)| rest),
    );
    let lines = kept.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// An empty folder in place of whatever was there.
fn emptied(folder: &Path) -> Result<()> {
    if folder.exists() {
        at(folder, std::fs::remove_dir_all(folder))?;
    }
    at(folder, std::fs::create_dir_all(folder))
}
