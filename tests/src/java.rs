//! Small programs of `tests/clients/java` that answer a line for each line: what Java's classes say.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Hands the lines to the program's standard input; what it prints.
///
/// # Panics
/// When there is no Java, or the program fails.
pub fn ask(program: &str, lines: String) -> String {
    let java = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/clients/java");
    let mut program = Command::new("java")
        .args(["-Xmx256m", "-Dlog4j2.level=OFF", "-cp"])
        .arg(format!("{0}/classes:{0}/lib/*", java.display()))
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("run java: `cargo xtask test` says what is missing and how to get it");
    let mut input = program.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = program.wait_with_output().expect("java ends");
    writer.join().expect("no panic").expect("java reads its input");
    String::from_utf8(output.stdout).expect("text")
}

pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// # Panics
/// When the text is not pairs of hex digits.
pub fn from_hex(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hex");
    (0..text.len()).step_by(2).map(byte).collect()
}
