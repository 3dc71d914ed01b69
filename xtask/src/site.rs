//! The page and the book, built by package `xtask-site`.

use std::path::Path;
use std::time::SystemTime;

use crate::job;
use crate::needs;
use crate::root;

/// Where `up` and the binary have the lab and the book: beside each other.
pub const LAB: &str = "target/site/lab";
pub const BOOK: &str = "target/site/book";

/// Builds the lab. Alone, wherever it shall go, it has no book to explain its words.
pub fn lab(out: &Path) -> Result<(), String> {
    let glossary = if out == Path::new(LAB) {
        "book/glossary.html"
    } else {
        ""
    };
    lab_with(out, glossary)
}

fn lab_with(out: &Path, glossary: &str) -> Result<(), String> {
    needs::wasm_target()?;
    build(&["lab", "--out", &out.to_string_lossy(), "--glossary", glossary])
}

/// Builds the book. Elsewhere than beside the lab it brings the lab along, since its figures are played by it.
pub fn book(out: &Path) -> Result<(), String> {
    let to = out.to_string_lossy();
    if out == Path::new(BOOK) {
        return build(&["book", "--out", &to]);
    }
    build(&["book", "--out", &to, "--lab", "lab/"])?;
    lab_with(&out.join("lab"), "../glossary.html")
}

fn build(what: &[&str]) -> Result<(), String> {
    let arguments = [
        "run",
        "--quiet",
        "--profile",
        "ci",
        "--package",
        "xtask-site",
        "--",
    ];
    job::run(job::cargo(&[&arguments[..], what].concat()))
}

/// Builds what is missing or older than its sources.
pub fn build_if_stale() -> Result<(), String> {
    type Build = fn(&Path) -> Result<(), String>;
    let sources: [(&str, Build, &[&str]); 2] = [
        (
            LAB,
            lab,
            &["core", "web", "tests/scenarios", "xtask-site", "Cargo.lock"],
        ),
        (
            BOOK,
            book,
            &["book", "core", "native", "web", "tests/scenarios", "xtask-site"],
        ),
    ];
    for (out, build, from) in sources {
        let out = Path::new(out);
        let built = modified(&root().join(out).join("index.html"));
        let changed = from.iter().filter_map(|path| newest(&root().join(path))).max();
        if built.is_none() || changed > built {
            build(out)?;
        }
    }
    Ok(())
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

/// Time of the latest change to the file, or to any file in the folder.
fn newest(path: &Path) -> Option<SystemTime> {
    if !path.is_dir() {
        return modified(path);
    }
    let entries = std::fs::read_dir(path).ok()?;
    entries.flatten().filter_map(|e| newest(&e.path())).max()
}
