//! Runs other programs: shows that they are at work, keeps what they print for when they fail.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::root;

/// How a program ended, and all it printed (stdout and stderr, as they came).
pub struct Outcome {
    pub success: bool,
    pub output: String,
}

/// A command that runs in the repository's root.
pub fn command<S: AsRef<OsStr>>(program: &str, arguments: &[S]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// `cargo` of the same toolchain.
pub fn cargo(arguments: &[&str]) -> Command {
    command(
        &std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()),
        arguments,
    )
}

/// The command as one would type it.
pub fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or_default().to_string_lossy()];
    words.extend(command.get_args().map(OsStr::to_string_lossy));
    words.join(" ")
}

/// Runs the command to its end with its output going where ours goes.
pub fn run(mut command: Command) -> Result<(), String> {
    let text = shown(&command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{text}` failed ({status})")),
        Err(e) => Err(format!("cannot run `{text}`: {e}")),
    }
}

/// Runs the command to its end and keeps what it prints, also in `target/xtask/NAME.log`; on a
/// terminal its latest line is shown meanwhile.
pub fn watch(name: &str, mut command: Command) -> Result<Outcome, String> {
    let text = shown(&command);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot run `{text}`: {e}"))?;
    let directory = root().join("target/xtask");
    std::fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let log = directory.join(format!("{name}.log"));
    let file = File::options()
        .create(true)
        .append(true)
        .open(&log)
        .map_err(|e| format!("{}: {e}", log.display()))?;
    let kept = Arc::new(Mutex::new((String::new(), file)));
    let readers = [
        child.stdout.take().map(|pipe| keep_lines(pipe, kept.clone())),
        child.stderr.take().map(|pipe| keep_lines(pipe, kept.clone())),
    ];
    let status = child.wait().map_err(|e| format!("`{text}`: {e}"))?;
    for reader in readers.into_iter().flatten() {
        let _ = reader.join();
    }
    clear_line();
    let output = kept
        .lock()
        .map(|mut kept| std::mem::take(&mut kept.0))
        .unwrap_or_default();
    Ok(Outcome {
        success: status.success(),
        output,
    })
}

type Kept = Arc<Mutex<(String, File)>>;

fn keep_lines(pipe: impl Read + Send + 'static, kept: Kept) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut lines = BufReader::new(pipe);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&line);
            if let Ok(mut kept) = kept.lock() {
                kept.0.push_str(&text);
                let _ = kept.1.write_all(&line);
            }
            show_line(text.trim_end());
            line.clear();
        }
    })
}

fn show_line(text: &str) {
    if std::io::stderr().is_terminal() {
        let short: String = text.chars().filter(|c| !c.is_control()).take(76).collect();
        eprint!("\r\x1b[2K  {short}");
    }
}

fn clear_line() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[2K");
    }
}
