//! `cargo xtask bench`: builds the release binary and package `xtask-bench`, which measures it.

use std::path::Path;

use crate::{job, needs, site};

/// `options` are those of `xtask-bench`.
pub fn run(options: &[String]) -> Result<(), String> {
    if options.iter().any(|option| option == "--lab") {
        // The binary has the page as it is.
        needs::meet(&needs::of_step("browser"), false)?;
        site::lab(Path::new(site::LAB))?;
    }
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
