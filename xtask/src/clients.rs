//! Real clients for the tests, fetched and built under `target/clients/`.
//!
//! Their programs are in `tests/clients/`; `tests/tests/clients.rs` runs them.

use std::path::PathBuf;

use crate::job;
use crate::root;

/// What `--skip` may name; `python` stands for confluent-kafka and kafka-python.
pub const NAMES: &[&str] = &["kcat", "python", "java", "go"];

/// Fetches and builds what the client's programs need; quick when nothing has changed.
pub fn prepare(name: &str) -> Result<(), String> {
    match name {
        "python" => python(),
        "java" => java(),
        "go" => go(),
        _ => Ok(()), // kcat is a system package
    }
    .map_err(|why| format!("client {name}: {why}\n  to go on without: --skip {name}"))
}

fn sources(name: &str) -> PathBuf {
    root().join("tests/clients").join(name)
}

fn built(name: &str) -> PathBuf {
    root().join("target/clients").join(name)
}

fn watched(mut command: std::process::Command, name: &str) -> Result<(), String> {
    command.current_dir(sources(name));
    let text = job::shown(&command);
    let outcome = job::watch("clients", command)?;
    if outcome.success {
        return Ok(());
    }
    Err(format!("`{text}` failed:\n{}", outcome.output.trim_end()))
}

/// A virtual environment with the pinned packages, made anew when the pins change.
fn python() -> Result<(), String> {
    let (venv, stamp) = (built("python"), built("python").join("requirements.txt"));
    let pins = sources("python").join("requirements.txt");
    let wanted = std::fs::read(&pins).map_err(|e| format!("{}: {e}", pins.display()))?;
    if std::fs::read(&stamp).is_ok_and(|had| had == wanted) {
        return Ok(());
    }
    let venv = venv.to_string_lossy();
    watched(
        job::command("python3", &["-m", "venv", "--clear", &venv]),
        "python",
    )?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        "requirements.txt",
    ];
    watched(job::command(&format!("{venv}/bin/python"), &pip), "python")?;
    std::fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))
}

/// Compiles the program; its jars and Kafka's tools go to `target/clients/java/lib`.
fn java() -> Result<(), String> {
    let newest = ["pom.xml", "src/main/java/Probe.java"].map(|file| {
        let path = sources("java").join(file);
        path.metadata().and_then(|m| m.modified()).ok()
    });
    let stamp = built("java").join("built");
    let stamped = stamp.metadata().and_then(|m| m.modified()).ok();
    if stamped.is_some() && newest.iter().all(|time| *time < stamped) {
        return Ok(());
    }
    watched(
        job::command("mvn", &["--batch-mode", "--quiet", "package"]),
        "java",
    )?;
    std::fs::write(&stamp, "").map_err(|e| format!("{}: {e}", stamp.display()))
}

fn go() -> Result<(), String> {
    let out = built("go").join("probe");
    let out = out.to_string_lossy();
    watched(job::command("go", &["build", "-o", &out, "."]), "go")
}
