//! A consumer whose calls wait, as those of Java's `KafkaConsumer` do.
//!
//! The core's consumer tells of partitions that come and go, of commits and of errors by events; here they
//! come between the records, in order.

use highwater_core::client::ClientCx;
use highwater_core::consumer::{Consumer, ConsumerConfig, ConsumerEvent, ConsumerRecord, LeaveBy};
use highwater_core::types::Millis;
use tokio::time::Instant;

use super::hosted::{Hosted, Listener};
use crate::clock::Clock;
use crate::decompress::NATIVE;

/// What a poll came back with.
#[derive(Debug)]
pub enum Polled {
    /// At least one, and at most `max.poll.records`.
    Records(Vec<ConsumerRecord>),
    Event(ConsumerEvent),
    /// The time was over.
    Nothing,
}

/// See the [module](self).
pub struct KafkaConsumer {
    host: Hosted<Consumer>,
}

impl KafkaConsumer {
    /// A consumer that reads nothing yet, on the threads of the runtime that this is called in.
    pub fn start(config: ConsumerConfig, listener: Option<Listener>) -> Self {
        let client = config.client.clone();
        let consumer = Consumer::new(config, &NATIVE);
        let host = Hosted::start(consumer, &client, Clock::system(), listener);
        Self { host }
    }

    /// Whatever else the application wants of the consumer.
    pub fn with<T>(&self, act: impl FnOnce(&mut Consumer, &mut ClientCx) -> T) -> T {
        self.host.with(act)
    }

    /// The next records or the next event, whatever comes first; `until` the time to give up. It may be
    /// dropped before it is done: nothing is lost. Whatever it returns, the group goes on meanwhile.
    pub async fn poll(&self, until: Option<Instant>) -> Polled {
        let mut polled = self.host.with(|consumer, cx| match consumer.next_event() {
            Some(event) => {
                consumer.keep_polling(cx);
                Some(Polled::Event(event))
            }
            None => take(consumer, cx),
        });
        loop {
            if let Some(polled) = polled {
                return polled;
            }
            if !self.host.changed(until).await {
                return Polled::Nothing;
            }
            polled = self.host.with(|consumer, cx| match consumer.next_event() {
                Some(event) => Some(Polled::Event(event)),
                None if consumer.has_records() => take(consumer, cx),
                None => None,
            });
        }
    }

    /// Commits what is to be committed by itself, gives partitions up and leaves the group, within that
    /// time. What goes wrong meanwhile is among the events.
    pub async fn close(self, timeout_ms: Millis) -> Vec<ConsumerEvent> {
        self.host
            .with(|consumer, cx| consumer.close(cx, timeout_ms, LeaveBy::Default));
        let mut events = Vec::new();
        loop {
            let is_closed = self.host.with(|consumer, cx| {
                while let Some(event) = consumer.next_event() {
                    if matches!(event, ConsumerEvent::Rebalance(_)) {
                        consumer.confirm_rebalance(cx);
                    }
                    events.push(event);
                }
                consumer.is_closed()
            });
            if is_closed {
                return events;
            }
            self.host.changed(None).await;
        }
    }
}

/// Records, or what the poll had to say instead of them.
fn take(consumer: &mut Consumer, cx: &mut ClientCx) -> Option<Polled> {
    let records = consumer.poll(cx);
    if records.is_empty() {
        return consumer.next_event().map(Polled::Event);
    }
    Some(Polled::Records(records))
}
