//! A producer whose calls wait, as those of Java's `KafkaProducer` do.
//!
//! What became of records is taken by whoever sends or waits: every call that waits hands over the events
//! that came meanwhile.

use highwater_core::client::{ClientCx, ClientInput, InvalidConfig};
use highwater_core::producer::{Producer, ProducerConfig, ProducerEvent, ProducerRecord, RecordId};
use highwater_core::types::Millis;

use super::hosted::{Hosted, Listener};
use crate::clock::Clock;

/// See the [module](self).
pub struct KafkaProducer {
    host: Hosted<Producer>,
}

impl KafkaProducer {
    /// A producer that looks for its cluster at once, on the threads of the runtime that this is called in.
    pub fn start(config: ProducerConfig, listener: Option<Listener>) -> Result<Self, InvalidConfig> {
        let client = config.client.clone();
        let producer = Producer::new(config)?;
        let host = Hosted::start(producer, &client, Clock::system(), listener);
        host.with(|producer, cx| producer.handle(cx, &ClientInput::Tick));
        Ok(Self { host })
    }

    /// Whatever else the application wants of the producer.
    pub fn with<T>(&self, act: impl FnOnce(&mut Producer, &mut ClientCx) -> T) -> T {
        self.host.with(act)
    }

    /// Sends a record, and waits as long as it waits for metadata or memory. If this is dropped before it
    /// is done, the record has been sent all the same.
    pub async fn send(&self, record: ProducerRecord, events: &mut Vec<ProducerEvent>) -> RecordId {
        let mut take = |producer: &mut Producer| {
            events.extend(std::iter::from_fn(|| producer.next_event()));
            producer.is_blocked()
        };
        let (id, mut is_blocked) = self.host.with(|producer, cx| {
            let id = producer.send(cx, record);
            (id, take(producer))
        });
        while is_blocked {
            self.host.changed(None).await;
            is_blocked = self.host.with(|producer, _| take(producer));
        }
        id
    }

    /// Waits until something has become of at least one record. Nothing is lost if it is dropped.
    pub async fn events(&self) -> Vec<ProducerEvent> {
        loop {
            let events: Vec<ProducerEvent> = self
                .host
                .with(|producer, _| std::iter::from_fn(|| producer.next_event()).collect());
            if !events.is_empty() {
                return events;
            }
            self.host.changed(None).await;
        }
    }

    /// Sends what is there within that time and waits until something has become of all of it.
    pub async fn close(&self, timeout_ms: Millis, events: &mut Vec<ProducerEvent>) {
        self.host.with(|producer, cx| producer.close(cx, timeout_ms));
        while !self.host.with(|producer, _| {
            events.extend(std::iter::from_fn(|| producer.next_event()));
            producer.is_closed()
        }) {
            self.host.changed(None).await;
        }
    }
}
