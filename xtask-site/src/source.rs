//! The core's own source beside the lab, for the panel that shows where a fact was emitted. It is read on demand, and
//! weighs nothing on a first visit.

use std::path::{Path, PathBuf};

use crate::{Result, at, compress, root};

const CORE: &str = "core/src";
/// What emits a fact: a file without any of these is never asked for.
const EMITS: [&str; 4] = ["emit(", "note(", "timer_due(", "high_watermark_moved("];
/// Only tests.
const TESTS: [&str; 3] = ["tests", "tests.rs", "testing.rs"];

/// Copies it to `source/` under `out`, by the paths that facts name, and compresses it.
pub fn put_into(out: &Path) -> Result<()> {
    let mut files = Vec::new();
    emitting(&root().join(CORE), &mut files)?;
    let to = out.join("source");
    for file in &files {
        let name = file.strip_prefix(root()).unwrap_or(file);
        let target = to.join(name);
        let folder = target.parent().unwrap_or(&to);
        at(folder, std::fs::create_dir_all(folder))?;
        at(file, std::fs::copy(file, &target))?;
    }
    let sum: u64 = compress::folder(&to)?.iter().map(|(_, size)| size.brotli).sum();
    println!(
        "{:>9} {sum:>9}  {} files of source, read on demand",
        "",
        files.len()
    );
    Ok(())
}

fn emitting(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in at(folder, std::fs::read_dir(folder))? {
        let path = at(folder, entry)?.path();
        let name = path.file_name().unwrap_or_default();
        if TESTS.iter().any(|tests| name == *tests) {
            continue;
        }
        if path.is_dir() {
            emitting(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = at(&path, std::fs::read_to_string(&path))?;
            if EMITS.iter().any(|emits| text.contains(emits)) {
                found.push(path);
            }
        }
    }
    Ok(())
}
