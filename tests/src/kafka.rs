//! Apache Kafka's own tools, from Maven, under `target/clients/java/lib`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The directory of Kafka's jars. `cargo xtask test` has fetched them; otherwise Maven does it now.
pub fn kafka_jars() -> &'static Path {
    static JARS: OnceLock<PathBuf> = OnceLock::new();
    JARS.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let jars = root.join("target/clients/java/lib");
        if !jars.is_dir() {
            let mut maven = Command::new("mvn");
            maven.args(["--batch-mode", "--quiet", "package"]);
            run(maven.current_dir(root.join("tests/clients/java")));
        }
        jars
    })
}

/// What Kafka's DumpLogSegments prints of the files, with these further options, and then what it
/// complains of. It ends well even when what it read is corrupt: the text has to be read.
pub fn dump_log_segments(files: &[PathBuf], options: &[&str]) -> String {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let mut java = Command::new("java");
    java.arg("-cp").arg(kafka_jars().join("*"));
    java.args([
        "org.apache.kafka.tools.DumpLogSegments",
        "--files",
        &files.join(","),
    ]);
    text(&run(java.args(options)))
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{command:?}: {error}; `cargo xtask test` says what is missing and how to get it")
    });
    assert!(output.status.success(), "{command:?} failed:\n{}", text(&output));
    output
}

fn text(output: &Output) -> String {
    let bytes = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&bytes).into_owned()
}
