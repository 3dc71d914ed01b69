//! The lines that the test prints: one for each interval, or one at the end.

use bytes::Bytes;
use highwater_core::consumer::ConsumerRecord;
use highwater_core::types::Millis;

use super::Arguments;
use crate::cli::numbers::decimal;
use crate::output::say;

const MIB: f64 = 1_048_576.0;
const COLUMNS: &str = "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, \
                       fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec";

/// What was read so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub records: u64,
    pub bytes: u64,
}

impl Counts {
    pub fn add(&mut self, record: &ConsumerRecord) {
        let bytes = |part: &Option<Bytes>| part.as_ref().map_or(0, |bytes| bytes.len() as u64);
        self.records += 1;
        self.bytes += bytes(&record.key) + bytes(&record.value);
    }
}

/// What was printed, and from when and where on the next line counts.
pub struct Report<'a> {
    arguments: &'a Arguments,
    began_ms: Millis,
    last_ms: Millis,
    last: Counts,
}

impl<'a> Report<'a> {
    /// Prints the names of the columns.
    pub fn begin(arguments: &'a Arguments, now: Millis) -> Self {
        if !arguments.hide_header {
            let times = match arguments.show_detailed_stats {
                true => "time, threadId",
                false => "start.time, end.time",
            };
            say!("{times}, {COLUMNS}");
        }
        Self {
            arguments,
            began_ms: now,
            last_ms: now,
            last: Counts::default(),
        }
    }

    /// Prints a line if an interval is over; then the time without partitions begins anew, too.
    pub fn tell(&mut self, counts: Counts, join_ms: &mut Millis, now: Millis) {
        if now - self.last_ms < self.arguments.reporting_interval {
            return;
        }
        if self.arguments.show_detailed_stats {
            let time = self.arguments.date_format.format(now);
            let took_ms = now - self.last_ms;
            say!("{time}, 0, {}", interval(self.last, counts, took_ms, *join_ms));
        }
        *join_ms = 0;
        self.last_ms = now;
        self.last = counts;
    }

    /// Prints the line for all, if no other was to be.
    pub fn end(&self, counts: Counts, join_ms: Millis, now: Millis) {
        if self.arguments.show_detailed_stats {
            return;
        }
        let format = |at| self.arguments.date_format.format(at);
        let (began, ended) = (format(self.began_ms), format(now));
        say!(
            "{began}, {ended}, {}",
            whole(counts, now - self.began_ms, join_ms)
        );
    }
}

/// Rates by the time of the interval and by the part of it that was not spent on joining.
fn interval(before: Counts, now: Counts, took_ms: Millis, join_ms: Millis) -> String {
    let fetch_ms = took_ms - join_ms;
    let (mib, records) = (
        mib(now.bytes - before.bytes),
        (now.records - before.records) as f64,
    );
    let fetch_rate = |amount: f64| match fetch_ms {
        1.. => 1000.0 * amount / fetch_ms as f64,
        _ => 0.0,
    };
    let took_ms = took_ms as f64;
    format!(
        "{}, {}, {}, {}, {join_ms}, {fetch_ms}, {}, {}",
        decimal(self::mib(now.bytes), 4),
        decimal(1000.0 * mib / took_ms, 4),
        now.records,
        decimal(records / took_ms * 1000.0, 4),
        decimal(fetch_rate(mib), 4),
        decimal(fetch_rate(records), 4)
    )
}

fn whole(counts: Counts, took_ms: Millis, join_ms: Millis) -> String {
    let fetch_ms = took_ms - join_ms;
    let (mib, records) = (mib(counts.bytes), counts.records as f64);
    let (took, fetch) = (took_ms as f64 / 1000.0, fetch_ms as f64 / 1000.0);
    format!(
        "{}, {}, {}, {}, {join_ms}, {fetch_ms}, {}, {}",
        decimal(mib, 4),
        decimal(mib / took, 4),
        counts.records,
        decimal(records / took, 4),
        decimal(mib / fetch, 4),
        decimal(records / fetch, 4)
    )
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_count_with_and_without_the_time_of_joining() {
        let counts = Counts {
            records: 4000,
            bytes: 4 << 20,
        };
        assert_eq!(
            whole(counts, 2000, 1000),
            "4.0000, 2.0000, 4000, 2000.0000, 1000, 1000, 4.0000, 4000.0000"
        );
        let before = Counts {
            records: 1000,
            bytes: 1 << 20,
        };
        assert_eq!(
            interval(before, counts, 1000, 400),
            "4.0000, 3.0000, 4000, 3000.0000, 400, 600, 5.0000, 5000.0000"
        );
        assert!(interval(before, counts, 1000, 1000).ends_with(", 1000, 0, 0.0000, 0.0000"));
        assert!(whole(Counts::default(), 0, 0).contains("NaN"));
    }
}
