//! What is counted of records that were acknowledged, and the lines that say it (Kafka's
//! `ProducerPerformance.Stats`).

use highwater_core::types::Millis;

use crate::cli::numbers::decimal;

/// So many latencies are kept at most, of records at equal distances.
const MOST_SAMPLES: u64 = 500_000;
const MIB: f64 = 1_048_576.0;

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    records: u64,
    bytes: u64,
    total_latency_ms: i64,
    max_latency_ms: i64,
}

impl Window {
    fn add(&mut self, latency_ms: Millis, bytes: u64) {
        self.records += 1;
        self.bytes += bytes;
        self.total_latency_ms += latency_ms;
        self.max_latency_ms = self.max_latency_ms.max(latency_ms);
    }

    /// Records and MiB a second, and the mean latency.
    fn rates(&self, took_ms: Millis) -> (f64, f64, f64) {
        let took_ms = took_ms as f64;
        let (records, bytes) = (self.records as f64, self.bytes as f64);
        let latency = self.total_latency_ms as f64 / records;
        (
            1000.0 * records / took_ms,
            1000.0 * bytes / took_ms / MIB,
            latency,
        )
    }
}

#[derive(Debug)]
pub struct Stats {
    began_ms: Millis,
    window_began_ms: Millis,
    interval_ms: Millis,
    /// One latency of so many is kept.
    sampling: u64,
    latencies: Vec<i64>,
    whole: Window,
    window: Window,
    /// Only what comes after the warmup is counted here.
    is_steady: bool,
    /// The windows are told by another from now on.
    is_silent: bool,
}

impl Stats {
    pub fn new(records: u64, interval_ms: Millis, is_steady: bool, now: Millis) -> Self {
        Self {
            began_ms: now,
            window_began_ms: now,
            interval_ms,
            sampling: records / records.clamp(1, MOST_SAMPLES),
            latencies: Vec::new(),
            whole: Window::default(),
            window: Window::default(),
            is_steady,
            is_silent: false,
        }
    }

    pub fn silence(&mut self) {
        self.is_silent = true;
    }

    /// Counts a record; the lines to print.
    pub fn record(&mut self, latency_ms: Millis, bytes: u64, now: Millis) -> Vec<String> {
        if self.whole.records.is_multiple_of(self.sampling.max(1)) {
            self.latencies.push(latency_ms);
        }
        self.whole.add(latency_ms, bytes);
        self.window.add(latency_ms, bytes);
        if now - self.window_began_ms < self.interval_ms {
            return Vec::new();
        }
        let mut lines = Vec::new();
        if self.is_steady && self.whole.records == self.window.records {
            lines.push("In steady state.".to_owned());
        }
        if !self.is_silent {
            lines.push(self.window_line(now));
        }
        self.window_began_ms = now;
        self.window = Window::default();
        lines
    }

    fn window_line(&self, now: Millis) -> String {
        let (records, mib, latency) = self.window.rates(now - self.window_began_ms);
        format!(
            "{} records sent, {} records/sec ({} MB/sec), {} ms avg latency, {} ms max latency.",
            self.window.records,
            decimal(records, 1),
            decimal(mib, 2),
            decimal(latency, 1),
            decimal(self.window.max_latency_ms as f64, 1)
        )
    }

    /// The line for all.
    pub fn total_line(&mut self, now: Millis) -> String {
        let (records, mib, latency) = self.whole.rates(now - self.began_ms);
        self.latencies.sort_unstable();
        let percentiles = [(0.5, "50th"), (0.95, "95th"), (0.99, "99th"), (0.999, "99.9th")];
        let percentiles = percentiles.map(|(part, name)| format!("{} ms {name}", self.percentile(part)));
        format!(
            "{}{} records sent, {} records/sec ({} MB/sec), {} ms avg latency, {} ms max latency, {}.",
            self.whole.records,
            if self.is_steady { " steady state" } else { "" },
            decimal(records, 6),
            decimal(mib, 2),
            decimal(latency, 2),
            decimal(self.whole.max_latency_ms as f64, 2),
            percentiles.join(", ")
        )
    }

    /// Of the latencies, which are sorted; 0 if there is none.
    fn percentile(&self, part: f64) -> i64 {
        let index = (part * self.latencies.len() as f64) as usize;
        self.latencies.get(index).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_window_and_one_for_all() {
        let mut stats = Stats::new(4, 1000, false, 0);
        assert_eq!(stats.record(10, 1 << 20, 100), [""; 0]);
        assert_eq!(
            stats.record(30, 1 << 20, 1000),
            ["2 records sent, 2.0 records/sec (2.00 MB/sec), 20.0 ms avg latency, 30.0 ms max latency."]
        );
        stats.record(20, 1 << 20, 1500);
        stats.record(40, 1 << 20, 1600);
        assert_eq!(
            stats.total_line(2000),
            "4 records sent, 2.000000 records/sec (2.00 MB/sec), 25.00 ms avg latency, 40.00 ms max latency, \
             30 ms 50th, 40 ms 95th, 40 ms 99th, 40 ms 99.9th."
        );
    }

    #[test]
    fn the_steady_state_says_when_it_begins_and_then_speaks_alone() {
        let mut all = Stats::new(10, 100, true, 0);
        all.silence();
        assert_eq!(all.record(1, 1, 100), ["In steady state."]);
        assert_eq!(all.record(1, 1, 200), [""; 0]);
        let mut none = Stats::new(1, 100, true, 0);
        let line = none.total_line(100);
        assert!(
            line.starts_with("0 steady state records sent, 0.000000 records/sec"),
            "{line}"
        );
        assert!(
            line.contains("NaN ms avg latency") && line.ends_with("0 ms 99.9th."),
            "{line}"
        );
    }

    #[test]
    fn of_many_records_few_latencies_are_kept() {
        let mut stats = Stats::new(1_500_000, 1000, false, 0);
        for _ in 0..9 {
            stats.record(1, 1, 0);
        }
        assert_eq!(stats.latencies.len(), 3);
    }
}
