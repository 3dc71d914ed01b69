//! Records from the leaders to the application (Kafka's `Fetcher`, `FetchBuffer`, `FetchCollector`).
//!
//! Each node is asked for the partitions that it leads, one request at a time, in a session. What it
//! gives waits here, unpacked only as far as the application takes it. While anything of a node waits, the
//! node is not asked again; so at most one answer of each is held, and no partition drops out of its
//! session only because its records were not taken yet.
//!
//! Invariants
//! - records are returned only if they begin at the position: what a seek or a rebalance has overtaken is
//!   dropped
//! - the position moves when records are returned, and at no other time
//! - a partition that is not fetchable gives nothing; what waits of a paused one is kept

mod answer;
mod asking;

use std::collections::VecDeque;

use super::completed_fetch::{CompletedFetch, ReadRules};
use super::config::ConsumerConfig;
use super::error::ConsumerError;
use super::metrics::FetchMetrics;
use super::record::ConsumerRecord;
use super::subscription::SubscriptionState;
use crate::client::measure::Metric;
use crate::client::{ClientCx, ExponentialBackoff};
use crate::ordered::OrderedMap;
use crate::protocol::fetch::FetchSession;
use crate::record::Decompress;
use crate::trace::{ConsumerFact, Fact};
use crate::types::{BrokerId, Millis};

#[derive(Clone, Debug, Default)]
struct NodeSession {
    session: FetchSession,
    /// A request is under way.
    pending: bool,
    /// Whether the session's topics are named by ids.
    by_id: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Fetcher {
    rules: ReadRules,
    min_bytes: i32,
    max_bytes: i32,
    max_wait_ms: i32,
    max_partition_bytes: i32,
    rack: String,
    /// How long a nearer replica counts.
    preference_ms: Millis,
    retry_backoff: ExponentialBackoff,
    sessions: OrderedMap<BrokerId, NodeSession>,
    /// Answers in the order in which they came.
    buffer: VecDeque<CompletedFetch>,
    metrics: FetchMetrics,
}

impl Fetcher {
    pub fn new(config: &ConsumerConfig, decompress: &'static dyn Decompress) -> Self {
        Self {
            rules: ReadRules {
                isolation: config.isolation_level,
                check_crcs: config.check_crcs,
                decompress,
            },
            min_bytes: config.fetch_min_bytes,
            max_bytes: config.fetch_max_bytes,
            max_wait_ms: config.fetch_max_wait_ms,
            max_partition_bytes: config.max_partition_fetch_bytes,
            rack: config.client_rack.as_deref().unwrap_or_default().to_owned(),
            preference_ms: config.client.metadata_max_age_ms,
            retry_backoff: config.client.retry_backoff,
            sessions: OrderedMap::new(),
            buffer: VecDeque::new(),
            metrics: FetchMetrics::default(),
        }
    }

    /// Whether something waits that may be returned.
    pub fn has_records(&self, subscriptions: &SubscriptionState) -> bool {
        self.buffer.iter().any(|fetch| {
            let state = subscriptions.get(&fetch.partition);
            state.is_some_and(|state| state.is_fetchable())
        })
    }

    pub fn metrics(&self, client_id: &str, now: Millis) -> Vec<Metric> {
        self.metrics.all(client_id, now)
    }

    /// Forgets what waits of partitions that are no longer assigned.
    pub fn retain_assigned(&mut self, subscriptions: &SubscriptionState) {
        self.buffer
            .retain(|fetch| subscriptions.get(&fetch.partition).is_some());
    }

    /// Takes at most `most` records out, and moves the positions past them.
    ///
    /// # Errors
    /// There are none, since the first that would be next cannot be read.
    pub fn collect(
        &mut self,
        cx: &mut ClientCx,
        subscriptions: &mut SubscriptionState,
        most: usize,
    ) -> Result<Vec<ConsumerRecord>, ConsumerError> {
        let (mut records, mut kept, mut error) = (Vec::new(), VecDeque::new(), None);
        while records.len() < most {
            let Some(mut fetch) = self.buffer.pop_front() else {
                break;
            };
            let Some(state) = subscriptions.get_mut(&fetch.partition) else {
                continue;
            };
            let position = state.valid_position().map(|position| position.offset);
            if position != Some(fetch.next_offset()) {
                continue;
            }
            if !state.is_fetchable() {
                if state.paused {
                    kept.push_back(fetch);
                }
                continue;
            }
            let (from, before) = (fetch.next_offset(), records.len());
            let read = fetch.read(most - before, &self.rules, &mut records);
            if mutated!(RecordSwallowed) {
                records.pop();
            }
            if fetch.next_offset() > from {
                state.advance(fetch.next_offset(), fetch.last_epoch());
                let count = (records.len() - before) as u32;
                let end = state.end(self.rules.isolation);
                let lag = end.map(|end| end - fetch.next_offset());
                let (answer, bytes) = (fetch.answer, fetch.take_read_bytes());
                self.metrics.taken(cx.now, answer, count.into(), bytes, lag);
                cx.emit(|| {
                    Fact::Consumer(ConsumerFact::RecordsReturned {
                        partition: fetch.partition.clone(),
                        from,
                        to: fetch.next_offset(),
                        count,
                    })
                });
            }
            if !fetch.is_consumed() {
                self.buffer.push_front(fetch);
            }
            if let Err(why) = read {
                error = Some(why).filter(|_| records.is_empty());
                break;
            }
        }
        self.buffer.append(&mut kept);
        self.settle_metrics(cx.now);
        error.map_or(Ok(records), Err)
    }

    /// Counts the answers of which nothing waits any more.
    fn settle_metrics(&mut self, now: Millis) {
        let buffer = &self.buffer;
        self.metrics
            .settle(now, |answer| buffer.iter().any(|fetch| fetch.answer == answer));
    }
}
