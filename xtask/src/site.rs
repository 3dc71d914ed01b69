//! The page and the book, built by package `xtask-site`.

use std::path::Path;
use std::time::SystemTime;

use crate::job;
use crate::needs;
use crate::root;

/// Builds `what` ("lab" or "book") into `out`.
pub fn build(what: &str, out: &Path) -> Result<(), String> {
    if what == "lab" {
        needs::wasm_target()?;
    }
    let out = out.to_string_lossy();
    let arguments = [
        "run",
        "--quiet",
        "--profile",
        "ci",
        "--package",
        "xtask-site",
        "--",
    ];
    job::run(job::cargo(&[&arguments[..], &[what, "--out", &out]].concat()))
}

/// Builds what is missing or older than its sources.
pub fn build_if_stale() -> Result<(), String> {
    let sources: [(&str, &[&str]); 2] = [
        ("lab", &["core", "web", "xtask-site", "Cargo.lock"]),
        ("book", &["book", "core", "native", "web", "xtask-site"]),
    ];
    for (what, from) in sources {
        let out = Path::new("target/site").join(what);
        let built = modified(&root().join(&out).join("index.html"));
        let changed = from.iter().filter_map(|path| newest(&root().join(path))).max();
        if built.is_none() || changed > built {
            build(what, &out)?;
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
