//! What a consumer measures of its fetches, under the names of Kafka's `FetchMetricsRegistry`.
//!
//! Records and their bytes count when the application takes them, and for the answer that they came with
//! when nothing of it is left. Figures of single topics and partitions are not kept.

use crate::client::measure::{Gathered, Meter, Metric, Samples};
use crate::ordered::OrderedMap;
use crate::types::{Millis, Offset};

const GROUP: &str = "consumer-fetch-manager-metrics";

/// Numbers the answers to fetches.
pub(super) type AnswerId = u64;

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct FetchMetrics {
    fetches: Meter,
    latencies: Samples,
    sizes: Samples,
    bytes: Meter,
    records_per_request: Samples,
    records: Meter,
    lags: Samples,
    last_answer: AnswerId,
    /// Records and bytes that were taken out of answers of which something is left.
    taken: OrderedMap<AnswerId, (u64, u64)>,
}

impl FetchMetrics {
    /// An answer has come.
    pub fn answered(&mut self, now: Millis, sent_ms: Millis) -> AnswerId {
        let took_ms = (now - sent_ms) as f64;
        self.fetches.record(now, 1.0);
        self.latencies.record(now, took_ms);
        self.last_answer += 1;
        self.last_answer
    }

    /// Something waits of this answer.
    pub fn waits(&mut self, answer: AnswerId) {
        self.taken.entry(answer).or_default();
    }

    /// So many records, and behind them the partition's end is so far away.
    pub fn taken(&mut self, now: Millis, answer: AnswerId, records: u64, bytes: u64, lag: Option<Offset>) {
        let taken = self.taken.entry(answer).or_default();
        *taken = (taken.0 + records, taken.1 + bytes);
        self.records.record(now, records as f64);
        self.bytes.record(now, bytes as f64);
        if let Some(lag) = lag {
            self.lags.record(now, lag as f64);
        }
    }

    /// Counts the answers of which nothing is left.
    pub fn settle(&mut self, now: Millis, is_left: impl Fn(AnswerId) -> bool) {
        let over = self.taken.extract_if(.., |answer, _| !is_left(*answer));
        for (_, (records, bytes)) in over {
            self.records_per_request.record(now, records as f64);
            self.sizes.record(now, bytes as f64);
        }
    }

    /// Every figure, in no particular order.
    pub fn all(&self, client_id: &str, now: Millis) -> Vec<Metric> {
        let mut all = Vec::new();
        let mut out = Gathered {
            group: GROUP,
            tags: &[("client-id", client_id)],
            out: &mut all,
        };
        out.add("bytes-consumed-rate", self.bytes.a_second(now));
        out.add("bytes-consumed-total", self.bytes.total);
        out.add("fetch-latency-avg", self.latencies.average(now));
        out.add("fetch-latency-max", self.latencies.greatest(now));
        out.add("fetch-rate", self.fetches.a_second(now));
        out.add("fetch-size-avg", self.sizes.average(now));
        out.add("fetch-size-max", self.sizes.greatest(now));
        out.add("fetch-total", self.fetches.total);
        out.add("records-consumed-rate", self.records.a_second(now));
        out.add("records-consumed-total", self.records.total);
        out.add("records-lag-max", self.lags.greatest(now));
        out.add("records-per-request-avg", self.records_per_request.average(now));
        all
    }
}
