//! The `highwater` binary.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

fn main() -> std::process::ExitCode {
    highwater::cli::run()
}
