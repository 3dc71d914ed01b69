//! Real clients for the tests, fetched and built under `target/clients/`.
//!
//! Their programs are in `tests/clients/`; `tests/tests/clients.rs` runs them.

use std::path::{Path, PathBuf};

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

fn python() -> Result<(), String> {
    environment(&built("python"), &sources("python").join("requirements.txt"), &[])
}

/// axe-core, the checker of accessible pages: a Python package carries its one script, which is all
/// that is taken of it.
pub fn axe() -> Result<(), String> {
    let venv = built("axe");
    let package = venv.join("package");
    let alone = ["--no-deps", "--target", &package.to_string_lossy()];
    environment(&venv, &sources("axe").join("requirements.txt"), &alone)
        .map_err(|why| format!("axe-core: {why}\n  to go on without the browser's tests: --skip browser"))
}

/// A virtual environment with the pinned packages, made anew when the pins change; `options` are
/// pip's.
fn environment(venv: &Path, pins: &Path, options: &[&str]) -> Result<(), String> {
    let stamp = venv.join("requirements.txt");
    let wanted = std::fs::read(pins).map_err(|e| format!("{}: {e}", pins.display()))?;
    if std::fs::read(&stamp).is_ok_and(|had| had == wanted) {
        return Ok(());
    }
    let (venv, pins) = (venv.to_string_lossy(), pins.to_string_lossy());
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
        &pins,
    ];
    let pip = [&pip[..], options].concat();
    watched(job::command(&format!("{venv}/bin/python"), &pip), "python")?;
    std::fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))
}

/// Compiles the program; its jars and Kafka's tools go to `target/clients/java/lib`.
fn java() -> Result<(), String> {
    let sources_of = [
        "pom.xml",
        "src/main/java/Assign.java",
        "src/main/java/Member.java",
        "src/main/java/Numbered.java",
        "src/main/java/Probe.java",
        "src/main/java/Tools.java",
    ];
    let newest = sources_of.map(|file| {
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
    let go = go_of_at_least(24)?;
    watched(job::command(&go, &["build", "-o", &out, "."]), "go")
}

/// Go 1.x as the system has it, or, where that is missing or too old, from PyPI into an environment of
/// its own (Debian 12 has 1.19, and franz-go asks for 1.24).
fn go_of_at_least(wanted: u32) -> Result<String, String> {
    match system_go() {
        Some((1, minor)) if minor >= wanted => Ok("go".to_owned()),
        _ => {
            let venv = built("go-toolchain");
            environment(&venv, &sources("go").join("requirements.txt"), &[])?;
            Ok(venv.join("bin/go").to_string_lossy().into_owned())
        }
    }
}

/// The public test suites of franz-go and kafka-python, at fixed versions.
pub fn suites() -> Result<(), String> {
    franz_go_suite()
        .and_then(|()| kafka_python_suite())
        .map_err(|why| format!("test suites of clients: {why}"))
}

/// Go compiles the tests of a package that a module asks for.
fn franz_go_suite() -> Result<(), String> {
    let directory = built("suites");
    std::fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let out = directory.join("franz-go.test");
    let out = out.to_string_lossy();
    let go = go_of_at_least(26)?;
    let package = "github.com/twmb/franz-go/pkg/kgo";
    watched(
        job::command(&go, &["test", "-c", "-o", &out, package]),
        "suites/franz-go",
    )
}

/// The tests are in the source package alone.
fn kafka_python_suite() -> Result<(), String> {
    const PACKAGE: &str = "kafka-python==3.0.12";
    const SOURCE: &str = "kafka_python-3.0.12";
    let pins = sources("suites/kafka-python").join("requirements.txt");
    let venv = built("suites").join("python");
    environment(&venv, &pins, &[])?;
    let directory = built("suites").to_string_lossy().into_owned();
    let unpacked = built("suites").join(SOURCE);
    if unpacked.join("ready").exists() {
        return Ok(());
    }
    let pip = format!("{}/bin/pip", venv.display());

    let source = [
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        ":all:",
        "--dest",
        &directory,
        PACKAGE,
    ];
    watched(job::command(&pip, &source), "suites/kafka-python")?;
    let archive = format!("{directory}/{SOURCE}.tar.gz");
    watched(
        job::command("tar", &["-xzf", &archive, "-C", &directory]),
        "suites/kafka-python",
    )?;
    complete_kafka_python(&unpacked).map_err(|e| format!("{}: {e}", unpacked.display()))
}

/// The source package leaves out what marks a package and what starts brokers, of which an outer one needs but a
/// shell; and the client shall ask the broker for its versions.
fn complete_kafka_python(unpacked: &Path) -> std::io::Result<()> {
    std::fs::write(unpacked.join("test/__init__.py"), "")?;
    std::fs::copy(
        sources("suites/kafka-python").join("service.py"),
        unpacked.join("test/service.py"),
    )?;
    for file in ["conftest.py", "fixtures.py"] {
        let file = unpacked.join("test/integration").join(file);
        let text = std::fs::read_to_string(&file)?;
        let text = text.replace("'api_version': env_kafka_version()", "'api_version': None");
        std::fs::write(file, text)?;
    }
    std::fs::write(unpacked.join("ready"), "")
}

/// Version of the system's Go: `go version go1.24.4 linux/amd64`.
fn system_go() -> Option<(u32, u32)> {
    let output = std::process::Command::new("go").arg("version").output().ok()?;
    version_of_go(&String::from_utf8_lossy(&output.stdout))
}

fn version_of_go(said: &str) -> Option<(u32, u32)> {
    let version = said.strip_prefix("go version go")?.split_whitespace().next()?;
    let mut numbers = version.split(['.', 'r', 'b']).map_while(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_go_is_read() {
        assert_eq!(version_of_go("go version go1.24.4 linux/amd64"), Some((1, 24)));
        assert_eq!(version_of_go("go version go1.27rc1 linux/amd64"), Some((1, 27)));
        assert_eq!(version_of_go("gccgo"), None);
    }
}
