//! `cargo xtask bench`: builds the release binary and package `xtask-bench`, which measures it.

use crate::job;

/// `options` are those of `xtask-bench`.
pub fn run(options: &[String]) -> Result<(), String> {
    job::run(job::cargo(&["build", "--release", "--package", "highwater"]))?;
    let arguments = [
        "run",
        "--quiet",
        "--profile",
        "ci",
        "--package",
        "xtask-bench",
        "--",
    ];
    let mut measure = job::cargo(&arguments);
    measure.args(options);
    job::run(measure)
}
