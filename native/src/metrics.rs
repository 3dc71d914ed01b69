//! What is counted, and how Prometheus reads it (`/metrics`).
//!
//! What a request costs here is a few additions; nothing is allocated on its way. The registry is
//! put together anew when it is asked for, so that what exists elsewhere is not counted twice. The
//! brokers of a process are told together, each line with the label `broker`.

mod logs;
mod per_broker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use highwater_core::protocol::ApiKey;
use highwater_core::types::BrokerId;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use self::per_broker::PerBroker;
use crate::driver::Driver;
use crate::server::Connections;

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
}

/// A broker of this process, by its number.
pub type Numbered = (BrokerId, Arc<Driver>);

/// What these brokers have counted, as Prometheus reads it.
pub fn text(brokers: &[Numbered]) -> String {
    let mut registry = Registry::with_prefix("highwater");
    register_connections(&mut registry, brokers);
    register_requests(&mut registry, brokers);
    logs::register(&mut registry, brokers);
    let mut text = String::new();
    match encode(&mut text, &registry) {
        Ok(()) => text,
        Err(error) => format!("# {error}\n"),
    }
}

fn register_connections(registry: &mut Registry, brokers: &[Numbered]) {
    let count = |of: fn(&Metrics) -> &AtomicU64| {
        PerBroker::of(brokers, |driver| {
            ConstCounter::new(of(&driver.connections.metrics).load(Ordering::Relaxed))
        })
    };
    registry.register_with_unit(
        "network_in",
        "Bytes received from clients",
        Unit::Bytes,
        count(|metrics| &metrics.bytes_in),
    );
    registry.register_with_unit(
        "network_out",
        "Bytes sent to clients",
        Unit::Bytes,
        count(|metrics| &metrics.bytes_out),
    );
    registry.register(
        "connections_closed_for_cause",
        "Connections that the broker closed, with a line in its log that says why",
        count(|metrics| &metrics.closed_for_cause),
    );
    let now = |of: fn(&Connections) -> u64| {
        PerBroker::of(brokers, |driver| ConstGauge::new(signed(of(&driver.connections))))
    };
    registry.register(
        "connections",
        "Open connections",
        now(|connections| connections.count() as u64),
    );
    registry.register(
        "active_controller_count",
        "Whether this broker is the controller (1) or not (0)",
        PerBroker::of(brokers, |driver| {
            let controls = driver.look(|broker| broker.is_active_controller());
            ConstGauge::new(i64::from(controls.unwrap_or_default()))
        }),
    );
    registry.register_with_unit(
        "requests_queued",
        "Bytes of requests that have arrived and are not answered",
        Unit::Bytes,
        now(|connections| connections.budget.used()),
    );
}

fn register_requests(registry: &mut Registry, brokers: &[Numbered]) {
    let requests = Family::<[(&'static str, String); 2], Counter>::default();
    for (broker, driver) in brokers {
        for (key, value) in driver.connections.metrics.requests.iter().enumerate() {
            let value = value.load(Ordering::Relaxed);
            if value > 0 {
                let labels = [per_broker::label(*broker), ("api", api_name(key))];
                requests.get_or_create(&labels).inc_by(value);
            }
        }
    }
    registry.register("requests", "Requests admitted, by API", requests);
    let latency = |of: fn(&Metrics) -> &Histogram| {
        PerBroker::of(brokers, |driver| of(&driver.connections.metrics).clone())
    };
    registry.register_with_unit(
        "produce_latency",
        "Produce requests, from admission to answer",
        Unit::Seconds,
        latency(|metrics| &metrics.produce_seconds),
    );
    registry.register_with_unit(
        "fetch_latency",
        "Fetch requests, from admission to answer, waiting for data included",
        Unit::Seconds,
        latency(|metrics| &metrics.fetch_seconds),
    );
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn api_name(key: usize) -> String {
    let known = i16::try_from(key).ok().and_then(ApiKey::from_code);
    known.map_or_else(|| key.to_string(), |api| api.name().to_owned())
}
