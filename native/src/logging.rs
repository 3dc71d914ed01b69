//! The broker's own log: one line an event, to stderr.

use std::io::IsTerminal;

use crate::output::complain;
use tracing_subscriber::EnvFilter;

/// Starts it; `RUST_LOG` chooses what is shown (default: `info`).
pub fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let started = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        // Nor is it the end of a broker when nobody reads its log any more.
        .log_internal_errors(false)
        .compact()
        .try_init();
    if let Err(error) = started {
        complain!("highwater: no log: {error}");
    }
}
