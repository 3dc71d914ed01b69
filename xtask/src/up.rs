//! `cargo xtask up`: from a fresh clone to a running cluster.

use std::os::unix::process::CommandExt;

use crate::job;
use crate::root;
use crate::site;

/// Builds what is missing and becomes `highwater up`, so that Ctrl-C and the exit code are its own.
pub fn up(options: &[String]) -> Result<(), String> {
    site::build_if_stale()?;
    job::run(job::cargo(&["build", "--release", "--package", "highwater"]))?;
    let binary = root().join("target/release/highwater");
    let mut command = job::command(&binary.to_string_lossy(), &["up"]);
    command.args(options);
    let why = command.exec();
    Err(format!("cannot start {}: {why}", binary.display()))
}
