//! What is counted, and how Prometheus reads it (`/metrics`).
//!
//! What a request costs here is a few additions; nothing is allocated on its way. The registry is
//! put together anew when it is asked for, so that what exists elsewhere is not counted twice.

mod logs;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use highwater_core::protocol::ApiKey;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::driver::Driver;

/// API keys counted one by one; Kafka's lie below.
const APIS: usize = 128;

/// The counters of one broker.
#[derive(Debug)]
pub struct Metrics {
    requests: [AtomicU64; APIS],
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
    pub closed_for_cause: AtomicU64,
    produce_seconds: Histogram,
    fetch_seconds: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        // 50 µs doubling to 26 s.
        let latencies = || Histogram::new(exponential_buckets(0.000_05, 2.0, 20));
        Self {
            requests: [const { AtomicU64::new(0) }; APIS],
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            closed_for_cause: AtomicU64::new(0),
            produce_seconds: latencies(),
            fetch_seconds: latencies(),
        }
    }
}

impl Metrics {
    /// Counts a request that was admitted.
    pub fn request(&self, api: i16) {
        if let Some(count) = usize::try_from(api).ok().and_then(|api| self.requests.get(api)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts an answer, with the time since its request was admitted.
    pub fn answer(&self, api: i16, took: Duration) {
        match api {
            0 => self.produce_seconds.observe(took.as_secs_f64()),
            1 => self.fetch_seconds.observe(took.as_secs_f64()),
            _ => {}
        }
    }

    /// All of it, as Prometheus reads it.
    pub fn text(&self, driver: &Arc<Driver>) -> String {
        let mut registry = Registry::with_prefix("highwater");
        let count = |value: &AtomicU64| ConstCounter::new(value.load(Ordering::Relaxed));
        registry.register_with_unit(
            "network_in",
            "Bytes received from clients",
            Unit::Bytes,
            count(&self.bytes_in),
        );
        registry.register_with_unit(
            "network_out",
            "Bytes sent to clients",
            Unit::Bytes,
            count(&self.bytes_out),
        );
        registry.register(
            "connections_closed_for_cause",
            "Connections that the broker closed, with a line in its log that says why",
            count(&self.closed_for_cause),
        );
        let open = i64::try_from(driver.connections.count()).unwrap_or(i64::MAX);
        registry.register("connections", "Open connections", ConstGauge::new(open));
        let queued = i64::try_from(driver.connections.budget.used()).unwrap_or(i64::MAX);
        registry.register_with_unit(
            "requests_queued",
            "Bytes of requests that have arrived and are not answered",
            Unit::Bytes,
            ConstGauge::new(queued),
        );
        let requests = Family::<Vec<(&'static str, String)>, Counter>::default();
        for (key, value) in self.requests.iter().enumerate() {
            let value = value.load(Ordering::Relaxed);
            if value > 0 {
                let labels = vec![("api", api_name(key))];
                requests.get_or_create(&labels).inc_by(value);
            }
        }
        registry.register("requests", "Requests admitted, by API", requests);
        let seconds = "from admission to answer";
        registry.register_with_unit(
            "produce_latency",
            format!("Produce requests, {seconds}"),
            Unit::Seconds,
            self.produce_seconds.clone(),
        );
        registry.register_with_unit(
            "fetch_latency",
            format!("Fetch requests, {seconds}, waiting for data included"),
            Unit::Seconds,
            self.fetch_seconds.clone(),
        );
        logs::register(&mut registry, driver);
        let mut text = String::new();
        match encode(&mut text, &registry) {
            Ok(()) => text,
            Err(error) => format!("# {error}\n"),
        }
    }
}

fn api_name(key: usize) -> String {
    let known = i16::try_from(key).ok().and_then(ApiKey::from_code);
    known.map_or_else(|| key.to_string(), |api| api.name().to_owned())
}
