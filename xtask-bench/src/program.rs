//! Programs that are run to their end, and what Kafka's performance tools (and ours, which print the same) say.

use std::process::{Command, Stdio};

use crate::Result;

/// Runs a program to its end; answers what it printed.
pub fn run(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("cannot run {program}: {e}; `cargo xtask test` says how to get it"))?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(format!("{program} failed:\n{}", said.trim_end())),
    }
}

/// A producer tool's last such line sums up: `50000 records sent, 49019.6 records/sec (4.67 MB/sec), ...`.
pub fn records_a_second(said: &str) -> Option<f64> {
    let line = said.lines().rfind(|line| line.contains(" records sent, "))?;
    let (before, _) = line.split_once(" records/sec")?;
    before.rsplit(' ').next()?.parse().ok()
}

/// A consumer tool's column `fetch.nMsg.sec`: records a second without the time of the first rebalance.
pub fn fetched_a_second(said: &str) -> Option<f64> {
    let mut lines = said.lines().skip_while(|line| !line.contains("fetch.nMsg.sec"));
    let at = lines
        .next()?
        .split(',')
        .position(|name| name.trim() == "fetch.nMsg.sec")?;
    lines.next()?.split(',').nth(at)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_producers_rate_is_read_from_the_last_line() {
        let said = "10 records sent, 1.5 records/sec (0.00 MB/sec), 1 ms avg\n\
                    50 records sent, 49019.6 records/sec (4.67 MB/sec), 2 ms avg, 3 ms 50th\n";
        assert_eq!(records_a_second(said), Some(49019.6));
        assert_eq!(records_a_second("nothing"), None);
    }

    #[test]
    fn a_consumers_rate_is_read_from_its_column() {
        let said = "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, \
                    rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n\
                    2026-11-30 10:00:00:000, 2026-11-30 10:00:04:000, 9.5, 2.4, 10000, 2500.0, 3000, 1000, 9.5, 10000.5\n";
        assert_eq!(fetched_a_second(said), Some(10_000.5));
        assert_eq!(fetched_a_second("nothing"), None);
    }
}
