//! InitProducerId: an id for an idempotent producer, never given before.
//!
//! Ids come in blocks; a block is on the medium before any of its ids is answered, so that no kill
//! gives one twice. What is left of a block at a stop is never used.

use super::State;
use super::caller::Caller;
use super::storage::COORDINATION_DIR;
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::protocol::messages::{InitProducerIdRequest, InitProducerIdResponse, message};
use crate::types::ProducerId;

impl State {
    pub(super) fn init_producer_id(&mut self, cx: &mut Cx, caller: Caller, request: &InitProducerIdRequest) {
        match self.new_producer_id(cx, request) {
            Ok((id, ticket)) => {
                let answer = message(|answer: &mut InitProducerIdResponse| {
                    answer.producer_id = id;
                    answer.producer_epoch = 0;
                });
                let durable = self
                    .metadata
                    .as_ref()
                    .is_some_and(|metadata| metadata.is_durable(ticket));
                if durable {
                    self.out.answer(&caller, answer);
                } else {
                    self.answer_when_durable(cx, caller, answer);
                }
            }
            Err(refused) => {
                let answer = message(|answer: &mut InitProducerIdResponse| {
                    answer.error_code = refused.code.code();
                    answer.producer_id = -1;
                    answer.producer_epoch = -1;
                });
                self.out.answer(&caller, answer);
            }
        }
    }

    fn new_producer_id(
        &mut self,
        cx: &mut Cx,
        request: &InitProducerIdRequest,
    ) -> Result<(ProducerId, u64), Refused> {
        match request.transactional_id.as_deref() {
            None => {}
            Some("") => return Err(ErrorCode::InvalidRequest.into()),
            // No broker coordinates transactions yet, so neither does this one.
            Some(_) => return Err(ErrorCode::NotCoordinator.into()),
        }
        // A client has both or neither.
        if (request.producer_id == -1) != (request.producer_epoch == -1) {
            return Err(ErrorCode::InvalidRequest.into());
        }
        if !self.directories.is_online(COORDINATION_DIR) {
            return Err(ErrorCode::KafkaStorageError.into());
        }
        let broker = self.config.node_id;
        let Some(metadata) = &mut self.metadata else {
            return Err(ErrorCode::CoordinatorNotAvailable.into());
        };
        metadata.next_producer_id(cx, broker)
    }
}
