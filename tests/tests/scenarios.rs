//! Plays every script of `tests/scenarios` and compares what it shows with what stands in it.
//!
//! `HIGHWATER_WRITE=1 cargo test -p highwater-tests --test scenarios` writes what they show now.

use std::fs;
use std::path::{Path, PathBuf};

use highwater_core::sim::{Player, Script};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut trials: Vec<Trial> = scripts(&root)
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            Trial::test(name, move || play(&path))
        })
        .collect();
    trials.push(Trial::test("there_are_scripts", move || {
        let found = scripts(&root).len();
        if found == 0 {
            Err("no script was found".into())
        } else {
            Ok(())
        }
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Every file without an ending below the directory.
fn scripts(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(scripts(&path));
        } else if path.extension().is_none() {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn play(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let script = Script::parse(&text).map_err(|bad| bad.to_string())?;
    let played = Player::new()
        .comparing()
        .play_all(&script)
        .map_err(|failure| failure.to_string())?
        .to_string();
    if played == text {
        return Ok(());
    }
    if std::env::var_os("HIGHWATER_WRITE").is_some() {
        return Ok(fs::write(path, played)?);
    }
    let differs = played.lines().zip(text.lines()).find(|(now, then)| now != then);
    let (now, then) = differs.unwrap_or(("", "(one is longer)"));
    Err(format!("it shows `{now}` where the script has `{then}`; HIGHWATER_WRITE=1 writes it anew").into())
}
