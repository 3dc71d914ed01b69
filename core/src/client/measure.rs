//! What clients measure of themselves, as Kafka's clients do (`org.apache.kafka.common.metrics`).
//!
//! Averages, greatest values and rates are of the last two windows of 30 s (`metrics.num.samples`,
//! `metrics.sample.window.ms`), totals of all time. A rate counts from the beginning of the oldest window
//! that it knows, and always at least one whole window besides the present one, as if it had been there
//! with nothing in it.

use std::collections::VecDeque;

use crate::types::Millis;

const WINDOW_MS: Millis = 30_000;
const WINDOWS: usize = 2;

/// A figure under Kafka's name.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    pub group: &'static str,
    pub name: &'static str,
    /// In the order in which they are shown.
    pub tags: Vec<(&'static str, String)>,
    /// Not a number where nothing was measured.
    pub value: f64,
}

/// One window's worth of values.
#[derive(Clone, Copy, Debug)]
struct Sample {
    began_ms: Millis,
    last_ms: Millis,
    count: u64,
    sum: f64,
    greatest: f64,
}

/// Values of the last windows (`SampledStat`).
#[derive(Clone, Debug, Default)]
pub struct Samples(VecDeque<Sample>);

impl Samples {
    pub fn record(&mut self, now: Millis, value: f64) {
        let present = self.0.back().filter(|last| now - last.began_ms < WINDOW_MS);
        if present.is_none() {
            self.0.push_back(Sample {
                began_ms: now,
                last_ms: now,
                count: 0,
                sum: 0.0,
                greatest: f64::NEG_INFINITY,
            });
            // One more than counts: the oldest may reach into what counts.
            if self.0.len() > WINDOWS + 1 {
                self.0.pop_front();
            }
        }
        if let Some(sample) = self.0.back_mut() {
            sample.last_ms = now;
            sample.count += 1;
            sample.sum += value;
            sample.greatest = sample.greatest.max(value);
        }
    }

    fn recent(&self, now: Millis) -> impl Iterator<Item = &Sample> {
        let counts = move |sample: &&Sample| now - sample.last_ms < WINDOWS as Millis * WINDOW_MS;
        self.0.iter().filter(counts)
    }

    /// `Avg`
    pub fn average(&self, now: Millis) -> f64 {
        let add = |(sum, count), sample: &Sample| (sum + sample.sum, count + sample.count);
        let (sum, count) = self.recent(now).fold((0.0, 0), add);
        sum / count as f64
    }

    /// `Max`
    pub fn greatest(&self, now: Millis) -> f64 {
        let all = self.recent(now).map(|sample| sample.greatest);
        all.reduce(f64::max).unwrap_or(f64::NAN)
    }

    /// `Rate`
    pub fn a_second(&self, now: Millis) -> f64 {
        let sum = self.recent(now).fold(0.0, |sum, sample| sum + sample.sum);
        let oldest = self.recent(now).map(|sample| sample.began_ms).min();
        let mut elapsed_ms = now - oldest.unwrap_or(now);
        let missing = (WINDOWS as Millis - 1) - elapsed_ms / WINDOW_MS;
        elapsed_ms += missing.max(0) * WINDOW_MS;
        sum / (elapsed_ms as f64 / 1000.0)
    }
}

/// A total and its rate (`Meter`).
#[derive(Clone, Debug, Default)]
pub struct Meter {
    pub total: f64,
    recent: Samples,
}

impl Meter {
    pub fn record(&mut self, now: Millis, value: f64) {
        self.total += value;
        self.recent.record(now, value);
    }

    pub fn a_second(&self, now: Millis) -> f64 {
        self.recent.a_second(now)
    }
}

/// Figures of one group with the same tags, as they are gathered.
pub(crate) struct Gathered<'a> {
    pub group: &'static str,
    pub tags: &'a [(&'static str, &'a str)],
    pub out: &'a mut Vec<Metric>,
}

impl Gathered<'_> {
    pub fn add(&mut self, name: &'static str, value: f64) {
        let tags = self.tags.iter().map(|(key, value)| (*key, (*value).to_owned()));
        self.out.push(Metric {
            group: self.group,
            name,
            tags: tags.collect(),
            value,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_windows_count_and_one_is_always_filled_up() {
        let mut samples = Samples::default();
        assert!(samples.average(0).is_nan() && samples.greatest(0).is_nan());
        assert_eq!(samples.a_second(0), 0.0);
        samples.record(1_000, 10.0);
        samples.record(2_000, 30.0);
        assert_eq!((samples.average(6_000), samples.greatest(6_000)), (20.0, 30.0));
        // Kafka counts 5 s and a window that was not there.
        assert_eq!(samples.a_second(6_000), 40.0 / 35.0);
        samples.record(41_000, 50.0);
        assert_eq!(samples.a_second(51_000), 90.0 / 50.0);
        assert_eq!(samples.average(62_000), 50.0, "what is a minute old is forgotten");
        assert_eq!(samples.a_second(62_000), 50.0 / 51.0);
    }

    #[test]
    fn a_total_forgets_nothing() {
        let mut meter = Meter::default();
        for at in 0..10 {
            meter.record(at * 60_000, 2.0);
        }
        assert_eq!(meter.total, 20.0);
        assert_eq!(meter.a_second(540_000), 2.0 / 30.0);
    }
}
