//! # The producer: records into a cluster
//!
//! A producer is a value, as a broker is. Its host hands it what happened
//! ([`handle`](Producer::handle)) and takes what shall happen; the application hands over records
//! ([`send`](Producer::send)) and hears by [`next_event`](Producer::next_event) what became of each.
//! Nothing waits: where Java's `send` blocks, for metadata or for memory, the record is *blocked*, for at
//! most `max.block.ms`, and a well-behaved application sends no more while
//! [`is_blocked`](Producer::is_blocked).
//!
//! The path of a record, each stage a file of its own:
//!
//! ```text
//! ProducerRecord ─► interceptor ─► serializer ─► partitioner ─► accumulator ─► sender ─► broker
//!                        ▲                                       a queue of        │
//!                        └──────────── next_event ◄── answers ◄── batches each ◄───┘ one request a node
//! ```
//!
//! Reading order: here what happens in which order; [`config`] and [`stages`]; [`record`] what goes in and
//! comes out; `sending` from a record to a batch; [`interceptor`], [`serializer`], [`partitioner`];
//! `batch`, `accumulator` where records wait; `sender` and `answers` what goes out and what becomes of it;
//! `idempotence` the numbers that keep order, `producer_id` under which name; `ending` flush and close;
//! `metrics` what is measured of all that.
//!
//! Invariants
//! - each record ends in exactly one event
//! - memory is given back once, when its batch ends
//! - equal keys go to equal partitions, and to the same ones as with Java's clients
//! - with idempotence the records of a partition are stored once, and in the order in which they were sent
//! - an interceptor that fails stops neither the others nor the record

mod accumulator;
mod answers;
mod batch;
pub mod config;
mod ending;
mod idempotence;
pub mod interceptor;
mod metrics;
pub mod partitioner;
mod producer_id;
mod purpose;
pub mod record;
mod sender;
mod sending;
pub mod serializer;
pub mod stages;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

pub use config::ProducerConfig;
pub use interceptor::{Interceptors, ProducerInterceptor};
pub use metrics::ProducerMetrics;
pub use record::{FlushId, ProducerError, ProducerEvent, ProducerRecord, RecordId, RecordMetadata};
pub use serializer::{Data, Serializer};
pub use stages::Stages;

use accumulator::Accumulator;
use ending::{Flush, Life};
use idempotence::Idempotence;
use producer_id::IdRequest;
use purpose::Purpose;
use sending::Unsent;

use crate::client::network::Answer;
use crate::client::{ClientCx, ClientInput, InvalidConfig, NetworkClient};
use crate::trace::{EventId, Fact, ProducerFact, Timer};
use crate::types::Millis;

/// A request to each node that can take one, and again; but not for ever within one call.
const MOST_ROUNDS: u32 = 50;

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Producer {
    config: Arc<ProducerConfig>,
    net: NetworkClient<Purpose>,
    stages: Stages,
    accumulator: Accumulator,
    idempotence: Idempotence,
    id_request: IdRequest,
    /// Records that wait for metadata or memory, in the order of sending.
    blocked: VecDeque<Unsent>,
    flushes: Vec<Flush>,
    life: Life,
    /// Nothing can be sent any more: every batch ends so.
    fatal: Option<ProducerError>,
    next_record: RecordId,
    next_flush: FlushId,
    events: VecDeque<ProducerEvent>,
    /// When the producer itself has something to do next.
    wake_ms: Option<Millis>,
    due: Option<Millis>,
    /// The last event that the producer knew of.
    last: EventId,
    /// Something changed that a stage may have passed over already: once more.
    again: bool,
    /// It has said with which settings it works.
    is_introduced: bool,
}

impl Producer {
    /// A producer with the serializers and the partitioner that its settings name.
    pub fn new(config: ProducerConfig) -> Result<Self, InvalidConfig> {
        let stages = Stages::named(&config)?;
        Ok(Self::with_stages(config, stages))
    }

    /// A producer with stages of the program's own.
    pub fn with_stages(config: ProducerConfig, stages: Stages) -> Self {
        Self {
            // A topic that is missing is made by the broker, if that is set so there.
            net: NetworkClient::new(&config.client, config.max_in_flight, true),
            stages,
            accumulator: Accumulator::new(&config),
            idempotence: Idempotence::new(config.idempotent),
            id_request: IdRequest::default(),
            blocked: VecDeque::new(),
            flushes: Vec::new(),
            life: Life::Open,
            fatal: None,
            next_record: 0,
            next_flush: 0,
            events: VecDeque::new(),
            wake_ms: None,
            due: None,
            last: EventId::NONE,
            again: false,
            is_introduced: false,
            config: Arc::new(config),
        }
    }

    pub fn config(&self) -> &ProducerConfig {
        &self.config
    }

    /// A record waits for metadata or memory: the application should not send more.
    pub fn is_blocked(&self) -> bool {
        !self.blocked.is_empty()
    }

    /// Bytes of `buffer.memory` that are free (`buffer-available-bytes`).
    pub fn memory_available_bytes(&self) -> u64 {
        self.accumulator.memory_available()
    }

    /// Requests that are not answered yet, of any kind (`requests-in-flight`).
    pub fn requests_in_flight(&self) -> usize {
        self.net.in_flight_requests()
    }

    // ---- the host

    /// Takes in what happened. A first tick lets a producer find its cluster before the first record.
    pub fn handle(&mut self, cx: &mut ClientCx, input: &ClientInput) {
        if self.is_closed() {
            return;
        }
        self.introduce(cx);
        if matches!(input, ClientInput::Tick) && self.wake_ms.is_some_and(|at| at <= cx.now) {
            cx.timer_due(Timer::Producer, self.last);
        }
        for answer in self.net.handle(cx, input) {
            self.answered(cx, answer);
        }
        self.go_on(cx);
    }

    /// When to call [`handle`](Self::handle) with a tick.
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.due
    }

    pub fn next_event(&mut self) -> Option<ProducerEvent> {
        self.events.pop_front()
    }

    fn answered(&mut self, cx: &mut ClientCx, answer: Answer<Purpose>) {
        match answer.purpose {
            Purpose::Produce(sent) => self.produce_answered(cx, &sent, answer.result),
            Purpose::ProducerId => self.id_answered(cx, answer.result),
        }
    }

    /// Says once with which settings it works.
    fn introduce(&mut self, cx: &mut ClientCx) {
        if std::mem::replace(&mut self.is_introduced, true) {
            return;
        }
        emit(cx, || ProducerFact::ProducerConfigured {
            batch_size_bytes: self.config.batch_size_bytes as u64,
            linger_ms: self.config.linger_ms,
            buffer_memory_bytes: self.config.buffer_memory_bytes,
            compression: self.config.compression.codec.name().to_owned(),
            max_in_flight: self.config.max_in_flight,
        });
    }

    /// Does everything that can be done now.
    fn go_on(&mut self, cx: &mut ClientCx) {
        for _ in 0..MOST_ROUNDS {
            if self.is_closed() {
                break;
            }
            self.wake_ms = None;
            self.again = false;
            self.round(cx);
            if !self.again {
                break;
            }
        }
        self.last = cx.cause;
        self.due = None;
        if !self.is_closed() {
            let again = self.again.then_some(cx.now);
            let net = self.net.next_timeout(cx.now);
            self.due = again.into_iter().chain(self.wake_ms).chain(net).min();
        }
    }

    fn round(&mut self, cx: &mut ClientCx) {
        self.expire(cx);
        self.abort_if_fatal(cx);
        self.unblock(cx);
        self.settle_numbers(cx);
        self.ask_for_id(cx);
        self.send_ready(cx);
        self.end(cx);
        self.net.update_metadata(cx);
    }

    /// The producer wants to be called at that time.
    fn wake_at(&mut self, at: Millis) {
        self.wake_ms = Some(self.wake_ms.map_or(at, |before| before.min(at)));
    }
}

/// Records a fact from which what comes next follows.
#[track_caller]
fn emit(cx: &mut ClientCx, fact: impl FnOnce() -> ProducerFact) {
    cx.cause = cx.emit(|| Fact::Producer(fact()));
}
