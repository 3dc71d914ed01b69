//! How things end: batches, flushes, and the producer.

use super::batch::{BatchId, ProducerBatch};
use super::record::{FlushId, ProducerError, ProducerEvent, RecordId, RecordMetadata};
use super::{Producer, emit};
use crate::client::ClientCx;
use crate::ordered::OrderedSet;
use crate::trace::ProducerFact;
use crate::types::{Millis, NO_TIMESTAMP, Offset, TopicPartition};

/// How far a producer is with closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Open,
    /// What is there is still being sent.
    Closing {
        due_ms: Millis,
    },
    Closed,
}

/// Somebody waits until all that was sent by then has ended.
#[derive(Clone, Debug)]
pub(super) struct Flush {
    id: FlushId,
    batches: OrderedSet<BatchId>,
    /// Records that were in no batch yet.
    records: OrderedSet<RecordId>,
}

impl Flush {
    pub fn appended(&mut self, record: RecordId, batch: BatchId) {
        if self.records.remove(&record) {
            self.batches.insert(batch);
        }
    }

    pub fn record_ended(&mut self, record: RecordId) {
        self.records.remove(&record);
    }

    fn batch_ended(&mut self, batch: BatchId) {
        self.batches.remove(&batch);
    }

    pub fn split(&mut self, batch: BatchId, parts: &[BatchId]) {
        if self.batches.remove(&batch) {
            self.batches.extend(parts);
        }
    }

    fn is_done(&self) -> bool {
        self.batches.is_empty() && self.records.is_empty()
    }
}

impl Producer {
    /// Sends what is there without lingering; [`ProducerEvent::Flushed`] says when every record that was
    /// sent before has ended.
    pub fn flush(&mut self, cx: &mut ClientCx) -> FlushId {
        let id = self.next_flush;
        self.next_flush += 1;
        self.flushes.push(Flush {
            id,
            batches: self.accumulator.batches.keys().copied().collect(),
            records: self.blocked.iter().map(|unsent| unsent.id).collect(),
        });
        if self.is_closed() {
            self.end_flushes(cx);
        }
        self.go_on(cx);
        id
    }

    /// Takes no more records and sends those that are there, within that time; what is left then fails.
    /// [`ProducerEvent::Closed`] says when it is done. Records that are blocked fail at once.
    pub fn close(&mut self, cx: &mut ClientCx, timeout_ms: Millis) {
        let due_ms = cx.now.saturating_add(timeout_ms.max(0));
        self.life = match self.life {
            Life::Open => Life::Closing { due_ms },
            Life::Closing { due_ms: before } => Life::Closing {
                due_ms: before.min(due_ms),
            },
            Life::Closed => return,
        };
        for unsent in std::mem::take(&mut self.blocked) {
            self.fail_unsent(cx, &unsent, ProducerError::ClosedWhileSending);
        }
        self.go_on(cx);
    }

    pub fn is_closed(&self) -> bool {
        self.life == Life::Closed
    }

    pub(super) fn is_flushing(&self) -> bool {
        !self.flushes.is_empty()
    }

    /// Flushes that are done, and the end if it has come.
    pub(super) fn end(&mut self, cx: &mut ClientCx) {
        self.end_flushes(cx);
        let Life::Closing { due_ms } = self.life else {
            return;
        };
        if due_ms <= cx.now {
            self.abort(cx, &ProducerError::ClosedForcefully);
            self.end_flushes(cx);
        }
        if !self.accumulator.batches.is_empty() {
            return self.wake_at(due_ms);
        }
        emit(cx, || ProducerFact::Closed);
        self.events.push_back(ProducerEvent::Closed);
        self.life = Life::Closed;
    }

    fn end_flushes(&mut self, cx: &mut ClientCx) {
        for flush in self.flushes.extract_if(.., |flush| flush.is_done()) {
            let id = flush.id;
            emit(cx, || ProducerFact::FlushEnded { flush: id });
            self.events.push_back(ProducerEvent::Flushed { id });
        }
    }

    /// Fails batches that were not acknowledged within `delivery.timeout.ms`.
    pub(super) fn expire(&mut self, cx: &mut ClientCx) {
        let timeout_ms = self.config.delivery_timeout_ms;
        while let Some((created_ms, id)) = self.accumulator.oldest() {
            let due_ms = created_ms.saturating_add(timeout_ms);
            if due_ms > cx.now {
                return self.wake_at(due_ms);
            }
            let Some(batch) = self.accumulator.expire(id) else {
                return;
            };
            let error = ProducerError::Expired {
                count: batch.records.len(),
                partition: batch.partition.clone(),
                age_ms: cx.now - created_ms,
            };
            self.give_up(cx, &batch, &error);
        }
    }

    /// Fails a batch of which nobody knows whether it was stored.
    pub(super) fn give_up(&mut self, cx: &mut ClientCx, batch: &ProducerBatch, error: &ProducerError) {
        self.fail_batch(cx, batch, error, |_| error.clone());
        self.doubt(cx, batch);
    }

    /// Nobody knows whether the batch, which has failed, was stored.
    pub(super) fn doubt(&mut self, cx: &mut ClientCx, batch: &ProducerBatch) {
        if let Some(next) = self.idempotence.gave_up(batch) {
            emit(cx, || ProducerFact::SequenceUnresolved {
                partition: batch.partition.clone(),
                next,
            });
        }
    }

    /// Fails every batch.
    pub(super) fn abort(&mut self, cx: &mut ClientCx, error: &ProducerError) {
        while let Some((_, id)) = self.accumulator.oldest() {
            let Some(batch) = self.accumulator.remove(id) else {
                return;
            };
            self.give_up(cx, &batch, error);
        }
    }

    /// Once an error forbids to go on, nothing is sent any more.
    pub(super) fn abort_if_fatal(&mut self, cx: &mut ClientCx) {
        if let Some(error) = self.fatal.clone() {
            self.abort(cx, &error);
        }
    }

    // ---- records

    /// Every record of the batch, which was removed, is stored.
    pub(super) fn acknowledge(
        &mut self,
        cx: &mut ClientCx,
        batch: &ProducerBatch,
        base_offset: Offset,
        log_append_time_ms: Millis,
    ) {
        emit(cx, || ProducerFact::BatchAcknowledged {
            partition: batch.partition.clone(),
            batch: batch.id,
            base_offset,
            records: batch.records.len() as u32,
        });
        for (record, nth) in batch.records.iter().zip(0..) {
            let metadata = RecordMetadata {
                partition: batch.partition.clone(),
                offset: if base_offset < 0 { -1 } else { base_offset + nth },
                timestamp_ms: match log_append_time_ms {
                    NO_TIMESTAMP => record.timestamp_ms,
                    time_ms => time_ms,
                },
                serialized_key_bytes: record.key_bytes,
                serialized_value_bytes: record.value_bytes,
            };
            let interceptors = &mut self.stages.interceptors;
            interceptors.on_acknowledgement(cx, &metadata, None);
            let id = record.id;
            self.events
                .push_back(ProducerEvent::Acknowledged { id, metadata });
        }
        self.batch_ended(batch.id);
    }

    /// No record of the batch, which was removed, is stored as far as anybody knows; `error_of` says why
    /// the n-th is not.
    pub(super) fn fail_batch(
        &mut self,
        cx: &mut ClientCx,
        batch: &ProducerBatch,
        why: &ProducerError,
        error_of: impl Fn(usize) -> ProducerError,
    ) {
        emit(cx, || ProducerFact::BatchFailed {
            partition: batch.partition.clone(),
            batch: batch.id,
            records: batch.records.len() as u32,
            why: why.to_string(),
        });
        for (nth, record) in batch.records.iter().enumerate() {
            self.record_failed(cx, record.id, batch.partition.clone(), error_of(nth));
        }
        self.batch_ended(batch.id);
    }

    /// The end of one record: its interceptors hear of it, then the application.
    pub(super) fn record_failed(
        &mut self,
        cx: &mut ClientCx,
        id: RecordId,
        partition: TopicPartition,
        error: ProducerError,
    ) {
        let metadata = RecordMetadata {
            partition: partition.clone(),
            offset: -1,
            timestamp_ms: NO_TIMESTAMP,
            serialized_key_bytes: -1,
            serialized_value_bytes: -1,
        };
        let interceptors = &mut self.stages.interceptors;
        interceptors.on_acknowledgement(cx, &metadata, Some(&error));
        self.events
            .push_back(ProducerEvent::Failed { id, partition, error });
    }

    fn batch_ended(&mut self, batch: BatchId) {
        for flush in &mut self.flushes {
            flush.batch_ended(batch);
        }
        // There is memory again.
        self.again |= !self.blocked.is_empty();
    }
}
