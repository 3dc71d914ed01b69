//! What becomes of batches that were sent (`Sender.handleProduceResponse` and `completeBatch`).
//!
//! One that was stored is acknowledged; one that is too large is split; one that failed for a reason
//! that may pass goes again, while `retries` and `delivery.timeout.ms` last; any other has failed, and
//! its records with it. A batch that was given up meanwhile has ended already, and only what its answer
//! says of its numbers counts.

use super::batch::BatchId;
use super::purpose::{SentBatch, SentBatches};
use super::record::ProducerError;
use super::{Producer, emit};
use crate::client::metadata::is_invalid_metadata;
use crate::client::{ClientCx, NetworkError};
use crate::error::ErrorCode;
use crate::ordered::OrderedMap;
use crate::protocol::ResponseBody;
use crate::protocol::leadership::LeaderIdAndEpoch;
use crate::protocol::produce::{ProducePartitionResponse, ProduceResponse};
use crate::trace::ProducerFact;
use crate::types::TopicPartition;

type Leaders = Vec<(TopicPartition, LeaderIdAndEpoch)>;

impl Producer {
    pub(super) fn produce_answered(
        &mut self,
        cx: &mut ClientCx,
        sent: &SentBatches,
        result: Result<ResponseBody, NetworkError>,
    ) {
        let (answer, otherwise) = match result {
            Ok(ResponseBody::Produce(answer)) => (answer, self.without_answer()),
            Ok(_) => (
                ProduceResponse::default(),
                failed(ErrorCode::NetworkException, None),
            ),
            Err(error) => (
                ProduceResponse::default(),
                failed(error.code(), Some(error.to_string())),
            ),
        };
        let rows = rows(&answer, sent);
        let mut leaders = Leaders::new();
        for batch in &sent.batches {
            self.accumulator.landed(batch.batch);
            let row = rows.get(&batch.partition).copied().unwrap_or(&otherwise);
            self.batch_answered(cx, batch, row, &mut leaders);
            if self.config.max_in_flight == 1 {
                self.accumulator.muted.remove(&batch.partition);
            }
        }
        if !leaders.is_empty() {
            let metadata = &mut self.net.metadata;
            metadata.update_leaders(cx, &leaders, &answer.node_endpoints);
        }
    }

    /// What counts for a batch that the answer does not mention: with acks=0 there is never an answer.
    fn without_answer(&self) -> ProducePartitionResponse {
        match self.config.acks {
            0 => ProducePartitionResponse::default(),
            _ => failed(ErrorCode::NetworkException, None),
        }
    }

    fn batch_answered(
        &mut self,
        cx: &mut ClientCx,
        sent: &SentBatch,
        answer: &ProducePartitionResponse,
        leaders: &mut Leaders,
    ) {
        let code = answer.error_code;
        let records = self
            .accumulator
            .batches
            .get(&sent.batch)
            .map(|batch| batch.records.len());
        match (code, records) {
            (ErrorCode::None | ErrorCode::DuplicateSequenceNumber, _) => self.stored(cx, sent, answer),
            (_, None) => {}
            (ErrorCode::MessageTooLarge, Some(2..)) => self.split(cx, sent.batch),
            (_, Some(_)) if self.may_retry(cx, sent, answer) => self.retry(cx, sent.batch, code),
            (_, Some(_)) => self.failed(cx, sent.batch, answer),
        }
        if is_invalid_metadata(code) {
            let leader = answer.current_leader;
            if leader.leader_id >= 0 && leader.leader_epoch >= 0 {
                leaders.push((sent.partition.clone(), leader));
            }
            self.net.metadata.request_update(false, cx.cause);
        }
    }

    /// A broker that had the batch already may have forgotten where.
    fn stored(&mut self, cx: &mut ClientCx, sent: &SentBatch, answer: &ProducePartitionResponse) {
        let batch = self.accumulator.remove(sent.batch);
        self.idempotence
            .acknowledged(&sent.partition, sent.identity, sent.records, batch.as_ref());
        if let Some(batch) = batch {
            self.acknowledge(cx, &batch, answer.base_offset, answer.log_append_time_ms);
        }
    }

    fn may_retry(&mut self, cx: &ClientCx, sent: &SentBatch, answer: &ProducePartitionResponse) -> bool {
        let Some(batch) = self.accumulator.batches.get(&sent.batch) else {
            return false;
        };
        let expires_ms = batch.created_ms.saturating_add(self.config.delivery_timeout_ms);
        if batch.attempts >= self.config.retries || expires_ms <= cx.now {
            return false;
        }
        let (code, log_start) = (answer.error_code, answer.log_start_offset);
        self.idempotence.may_retry(batch, sent.identity, code, log_start)
    }

    fn retry(&mut self, cx: &mut ClientCx, id: BatchId, code: ErrorCode) {
        let Some(batch) = self.accumulator.batches.get_mut(&id) else {
            return;
        };
        let backoff = self.config.client.retry_backoff;
        batch.retry_at = cx.now + backoff.backoff_ms(batch.attempts, cx.rng);
        batch.attempts += 1;
        emit(cx, || ProducerFact::BatchRetried {
            partition: batch.partition.clone(),
            batch: id,
            attempt: batch.attempts,
            again_ms: batch.retry_at,
            code,
        });
        self.accumulator.requeue(id, &self.idempotence);
    }

    fn split(&mut self, cx: &mut ClientCx, id: BatchId) {
        let Some((big, into)) = self.accumulator.split(id, &mut self.idempotence) else {
            return self.failed(cx, id, &failed(ErrorCode::MessageTooLarge, None));
        };
        for flush in &mut self.flushes {
            flush.split(id, &into);
        }
        emit(cx, || ProducerFact::BatchSplit {
            partition: big.partition.clone(),
            batch: id,
            into,
        });
    }

    /// The batch has failed; what that means for its numbers depends on whether it may be stored after all.
    fn failed(&mut self, cx: &mut ClientCx, id: BatchId, answer: &ProducePartitionResponse) {
        let Some(batch) = self.accumulator.remove(id) else {
            return;
        };
        let (code, error) = (answer.error_code, error_of(answer, &batch.partition));
        self.fail_batch(cx, &batch, &error, |nth| error_of_record(answer, nth, &error));
        // An earlier attempt may have been stored, even if this one was refused for good.
        if code.is_retriable() || batch.attempts > 0 {
            self.doubt(cx, &batch);
        } else {
            self.idempotence.refused(&batch);
        }
        let is_fatal = matches!(
            code,
            ErrorCode::ClusterAuthorizationFailed | ErrorCode::UnsupportedVersion
        );
        if is_fatal && self.idempotence.is_enabled() {
            self.fatal.get_or_insert(error);
        }
    }
}

/// The answer's rows by partition.
fn rows<'a>(
    answer: &'a ProduceResponse,
    sent: &SentBatches,
) -> OrderedMap<TopicPartition, &'a ProducePartitionResponse> {
    let mut rows = OrderedMap::new();
    for topic in &answer.topics {
        let name = match sent.names.get(&topic.topic_id) {
            Some(name) => name.clone(),
            None => (&*topic.name).into(),
        };
        for row in &topic.partitions {
            rows.insert(TopicPartition::new(name.clone(), row.index), row);
        }
    }
    rows
}

fn failed(code: ErrorCode, message: Option<String>) -> ProducePartitionResponse {
    ProducePartitionResponse {
        error_code: code,
        error_message: message.map(|message| message.as_str().into()),
        ..ProducePartitionResponse::default()
    }
}

fn error_of(answer: &ProducePartitionResponse, partition: &TopicPartition) -> ProducerError {
    match answer.error_code {
        code @ ErrorCode::TopicAuthorizationFailed => ProducerError::not_authorized(code, &partition.topic),
        code => ProducerError::Refused {
            code,
            message: answer.error_message.as_deref().map(str::to_owned),
        },
    }
}

/// Why the n-th record of a refused batch failed (KIP-467): for its own sake, or for its company's.
fn error_of_record(answer: &ProducePartitionResponse, nth: usize, all: &ProducerError) -> ProducerError {
    if answer.record_errors.is_empty() {
        return all.clone();
    }
    let mut own = answer.record_errors.iter();
    let Some(own) = own.find(|error| usize::try_from(error.batch_index) == Ok(nth)) else {
        return ProducerError::AmongInvalidRecords;
    };
    let message = own.message.as_deref().or(answer.error_message.as_deref());
    ProducerError::Refused {
        code: match answer.record_errors.len() {
            1 => answer.error_code,
            _ => ErrorCode::InvalidRecord,
        },
        message: message.map(str::to_owned),
    }
}
