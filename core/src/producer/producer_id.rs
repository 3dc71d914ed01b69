//! Under which name a producer numbers its records: an id that any broker gives it, asked for again
//! when the id's last epoch is used up (InitProducerId; KIP-98).

use super::record::ProducerError;
use super::{Producer, emit};
use crate::client::{ClientCx, NetworkError};
use crate::error::ErrorCode;
use crate::protocol::messages::{InitProducerIdRequest, InitProducerIdResponse, message};
use crate::protocol::{ApiKey, RequestBody, ResponseBody};
use crate::trace::ProducerFact;
use crate::types::Millis;

/// How far it is with asking.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IdRequest {
    is_under_way: bool,
    /// In a row.
    failures: u32,
    not_before_ms: Millis,
}

impl Producer {
    /// Settles which numbers are used up, and begins anew where some are missing.
    pub(super) fn settle_numbers(&mut self, cx: &mut ClientCx) {
        self.idempotence.resolve();
        if let Some(bumped) = self.idempotence.bump(&mut self.accumulator.batches) {
            emit(cx, || ProducerFact::EpochBumped {
                id: bumped.id,
                epoch: bumped.epoch,
                partitions: bumped.partitions,
            });
        }
    }

    /// Asks for an id, if there is none and a node can be had.
    pub(super) fn ask_for_id(&mut self, cx: &mut ClientCx) {
        if !self.idempotence.needs_id() || self.id_request.is_under_way || self.fatal.is_some() {
            return;
        }
        let not_before_ms = self.id_request.not_before_ms;
        if not_before_ms > cx.now {
            return self.wake_at(not_before_ms);
        }
        let Some(node) = self.net.least_loaded(cx) else {
            return;
        };
        if !self.net.ready(cx, &node) {
            if let Some(at) = self.net.ready_at(cx.now, &node) {
                self.wake_at(at);
            }
            return;
        }
        let version = self.net.usable_version(&node, ApiKey::InitProducerId, i16::MAX);
        let asked = version.and_then(|version| {
            let body = RequestBody::InitProducerId(message(|body: &mut InitProducerIdRequest| {
                body.transactional_id = None;
                body.transaction_timeout_ms = i32::MAX;
                if version >= 3 {
                    (body.producer_id, body.producer_epoch) = (-1, -1);
                }
            }));
            let purpose = super::Purpose::ProducerId;
            self.net.send(cx, &node, version, &body, purpose, 0)
        });
        match asked {
            Ok(_) => self.id_request.is_under_way = true,
            Err(error) => self.id_answered(cx, Err(error)),
        }
    }

    pub(super) fn id_answered(&mut self, cx: &mut ClientCx, result: Result<ResponseBody, NetworkError>) {
        self.id_request.is_under_way = false;
        let code = match &result {
            Ok(ResponseBody::InitProducerId(answer)) if answer.error_code == 0 => {
                return self.id_given(cx, answer);
            }
            Ok(ResponseBody::InitProducerId(answer)) => ErrorCode::from_code(answer.error_code),
            Ok(_) => None,
            Err(error) => Some(error.code()),
        };
        let code = code.unwrap_or(ErrorCode::UnknownServerError);
        let backoff = self.config.client.retry_backoff;
        let again_ms = cx.now + backoff.backoff_ms(self.id_request.failures, cx.rng);
        self.id_request.failures += 1;
        self.id_request.not_before_ms = again_ms;
        emit(cx, || ProducerFact::ProducerIdRefused { code, again_ms });
        match code {
            ErrorCode::ClusterAuthorizationFailed => self.abort(cx, &code.into()),
            code if code.is_retriable() => {}
            code => {
                let message = "Unexpected error in InitProducerIdResponse".to_owned();
                let message = Some(match result {
                    Err(error) => error.to_string(),
                    Ok(_) => message,
                });
                self.fatal = Some(ProducerError::Refused { code, message });
            }
        }
    }

    fn id_given(&mut self, cx: &mut ClientCx, answer: &InitProducerIdResponse) {
        let (id, epoch) = (answer.producer_id, answer.producer_epoch);
        self.id_request = IdRequest::default();
        self.idempotence.assigned(id, epoch);
        emit(cx, || ProducerFact::ProducerIdAssigned { id, epoch });
    }
}
