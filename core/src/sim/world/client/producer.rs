//! A producer and the application that sends by it.
//!
//! The producer is the one that the command line runs. The application sends what it is given, record by
//! record, and no more while one is blocked, as a program whose `send` does not return; it remembers when
//! it sent each, and says what it was told of it: only the world can know whose record that was.
//!
//! Invariants
//! - every record is acknowledged, given up or still under way, and never two of these

use std::collections::VecDeque;

use bytes::Bytes;

use super::act::{Act, ProducerOptions, Sending, Target};
use super::record::value;
use super::{CLOSE_MS, settings};
use crate::client::{ClientCx, ClientInput};
use crate::error::ErrorCode;
use crate::ordered::OrderedMap;
use crate::producer::{
    Data, Producer as Client, ProducerConfig, ProducerEvent, ProducerRecord, RecordId, Stages,
};
use crate::trace::{Fact, NodeId, WorldFact};
use crate::types::{BrokerId, Millis, Offset, TopicPartition};

#[derive(Clone, Debug)]
pub struct Producer {
    id: NodeId,
    client: Client,
    value_bytes: usize,
    /// What is still to be sent, in order.
    sendings: VecDeque<Sending>,
    /// The next record is not sent sooner.
    not_before: Millis,
    /// Records of which nothing was said yet, with the time at which each was sent.
    open: OrderedMap<RecordId, Millis>,
    next: RecordId,
    pub acknowledged: u64,
    pub failed: u64,
    /// Of what was last given, the longest time between sending a record and its acknowledgement.
    pub latency_ms: Millis,
}

/// Records that follow each other and of which the same was said.
struct Told {
    partition: TopicPartition,
    first: RecordId,
    count: u32,
    what: Result<Offset, ErrorCode>,
}

impl Producer {
    /// # Errors
    /// A setting that a producer cannot have, in one line.
    pub fn new(id: NodeId, brokers: &[BrokerId], options: &ProducerOptions) -> Result<Self, String> {
        let settings = settings(id, brokers, &options.settings);
        let config = ProducerConfig::read(&settings).map_err(|error| error.to_string())?;
        let mut stages = Stages::named(&config).map_err(|error| error.to_string())?;
        for double in &options.interceptors {
            stages = stages.interceptor(Box::new(*double));
        }
        Ok(Self {
            id,
            client: Client::with_stages(config, stages),
            value_bytes: options.value_bytes,
            sendings: VecDeque::new(),
            not_before: 0,
            open: OrderedMap::new(),
            next: 0,
            acknowledged: 0,
            failed: 0,
            latency_ms: 0,
        })
    }

    /// The application is to send that, when it has sent what it was told before.
    pub(in crate::sim::world) fn send(&mut self, cx: &mut ClientCx, sending: Sending) {
        self.sendings.push_back(sending);
        self.latency_ms = 0;
        self.go_on(cx);
    }

    /// -1 is all.
    pub fn acks(&self) -> i16 {
        self.client.config().acks
    }

    pub fn is_idle(&self) -> bool {
        self.sendings.is_empty() && self.open.is_empty()
    }

    pub(super) fn next_timeout(&self) -> Option<Millis> {
        let own = Some(self.not_before).filter(|_| self.may_send());
        own.into_iter().chain(self.client.poll_timeout()).min()
    }

    pub(super) fn act(&mut self, cx: &mut ClientCx, act: &Act) -> Result<(), String> {
        match act {
            Act::Flush => _ = self.client.flush(cx),
            Act::Close => {
                self.sendings.clear();
                self.client.close(cx, CLOSE_MS);
            }
            _ => return Err(format!("a producer cannot {}", act.verb())),
        }
        self.go_on(cx);
        Ok(())
    }

    pub(super) fn handle(&mut self, cx: &mut ClientCx, input: &ClientInput) {
        self.client.handle(cx, input);
        self.go_on(cx);
    }

    pub(super) fn tick(&mut self, cx: &mut ClientCx) {
        if self.client.poll_timeout().is_some_and(|due| due <= cx.now) {
            self.client.handle(cx, &ClientInput::Tick);
        }
        self.go_on(cx);
    }

    /// Goes on as far as it can.
    fn go_on(&mut self, cx: &mut ClientCx) {
        self.hear(cx);
        while self.may_send() && self.not_before <= cx.now {
            self.send_next(cx);
            self.hear(cx);
        }
    }

    fn may_send(&self) -> bool {
        !self.sendings.is_empty() && !self.client.is_blocked()
    }

    fn send_next(&mut self, cx: &mut ClientCx) {
        let Some(sending) = self.sendings.front_mut() else {
            return;
        };
        let (number, every_ms) = (self.next, sending.every_ms);
        let record = record(sending, number, value(self.id, number, self.value_bytes));
        sending.count = sending.count.saturating_sub(1);
        if sending.count == 0 {
            self.sendings.pop_front();
        }
        self.next += 1;
        self.not_before = if every_ms > 0 { cx.now + every_ms } else { 0 };
        self.open.insert(number, cx.now);
        let id = self.client.send(cx, record);
        debug_assert_eq!(id, number, "records are numbered as they are sent");
    }

    // ---- what became of them

    /// Takes in all that the producer has to say.
    fn hear(&mut self, cx: &mut ClientCx) {
        let mut told: Vec<Told> = Vec::new();
        while let Some(event) = self.client.next_event() {
            let (id, partition, what) = match event {
                ProducerEvent::Acknowledged { id, metadata } => (id, metadata.partition, Ok(metadata.offset)),
                ProducerEvent::Failed { id, partition, error } => (id, partition, Err(error.code())),
                ProducerEvent::Flushed { .. } | ProducerEvent::Closed => continue,
            };
            let sent_ms = self.open.remove(&id).unwrap_or(cx.now);
            if what.is_ok() {
                self.acknowledged += 1;
                self.latency_ms = self.latency_ms.max(cx.now - sent_ms);
            } else {
                self.failed += 1;
            }
            match told
                .last_mut()
                .filter(|last| last.goes_on_with(id, &partition, what))
            {
                Some(last) => last.count += 1,
                None => told.push(Told {
                    partition,
                    first: id,
                    count: 1,
                    what,
                }),
            }
        }
        told.into_iter().for_each(|told| self.tell(cx, told));
    }

    fn tell(&self, cx: &mut ClientCx, told: Told) {
        let (client, acks) = (self.id, self.client.config().acks);
        let Told {
            partition,
            first,
            count,
            what,
        } = told;
        cx.cause = match what {
            Ok(base_offset) => cx.emit(|| {
                Fact::World(WorldFact::RecordsAcknowledged {
                    client,
                    partition,
                    base_offset,
                    first,
                    count,
                    acks,
                })
            }),
            Err(code) => cx.emit(|| {
                Fact::World(WorldFact::RecordsFailed {
                    client,
                    partition,
                    first,
                    count,
                    code,
                })
            }),
        };
    }
}

impl Told {
    fn goes_on_with(
        &self,
        id: RecordId,
        partition: &TopicPartition,
        what: Result<Offset, ErrorCode>,
    ) -> bool {
        let is_same = match (self.what, what) {
            (Ok(base), Ok(offset)) if base < 0 => offset < 0,
            (Ok(base), Ok(offset)) => offset == base + Offset::from(self.count),
            (before, now) => before == now,
        };
        is_same && id == self.first + u64::from(self.count) && self.partition == *partition
    }
}

fn record(sending: &Sending, number: RecordId, value: Vec<u8>) -> ProducerRecord {
    let value = Data::Bytes(Bytes::from(value));
    let record = match &sending.to {
        Target::Partition(to) => ProducerRecord::new(to.topic.clone(), value).partition(to.partition),
        Target::Topic(topic) => ProducerRecord::new(&**topic, value),
    };
    match sending.keys {
        0 => record,
        keys => record.key(Data::Bytes(format!("k{}", number % u64::from(keys)).into())),
    }
}
