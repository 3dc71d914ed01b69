//! InitProducerId: an id for an idempotent producer, never given before.
//!
//! Ids come in blocks of 1000 (`ZkProducerIdManager`). A broker takes a block by writing its bounds at
//! the version that it read, so that no two take the same, and gives the block's ids away from memory.
//! Requests wait while a block is being taken. What is left of a block at a stop is never used.
//!
//! Invariant: an id is answered only after the coordination service has the block it is from.

use std::collections::VecDeque;

use super::State;
use super::caller::Caller;
use super::cluster::OpFor;
use crate::coordination::{CoordinationOp, CoordinationReply, Found, MultiError};
use crate::error::{ErrorCode, Refused};
use crate::metadata::nodes;
use crate::metadata::producer_ids::{Block, next_block};
use crate::protocol::messages::{InitProducerIdRequest, InitProducerIdResponse, message};
use crate::types::ProducerId;

/// The ids in hand, and who waits for more.
#[derive(Clone, Debug, Default)]
pub(super) struct ProducerIds {
    block: Block,
    waiting: VecDeque<Caller>,
    /// The next block is being taken.
    under_way: bool,
}

impl State {
    pub(super) fn init_producer_id(&mut self, caller: Caller, request: &InitProducerIdRequest) {
        if let Err(refused) = self.check_init_producer_id(request) {
            return self.answer_producer_id(&caller, Err(refused));
        }
        match self.producer_ids.block.take() {
            Some(id) => self.answer_producer_id(&caller, Ok(id)),
            None => {
                self.producer_ids.waiting.push_back(caller);
                self.take_producer_ids();
            }
        }
    }

    fn check_init_producer_id(&self, request: &InitProducerIdRequest) -> Result<(), Refused> {
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
        if self.cluster.lost.is_some() {
            return Err(ErrorCode::KafkaStorageError.into());
        }
        Ok(())
    }

    fn answer_producer_id(&mut self, caller: &Caller, id: Result<ProducerId, Refused>) {
        let answer = message(|answer: &mut InitProducerIdResponse| match id {
            Ok(id) => {
                answer.producer_id = id;
                answer.producer_epoch = 0;
            }
            Err(refused) => {
                answer.error_code = refused.code.code();
                answer.producer_id = -1;
                answer.producer_epoch = -1;
            }
        });
        self.out.answer(caller, answer);
    }

    fn take_producer_ids(&mut self) {
        if !std::mem::replace(&mut self.producer_ids.under_way, true) {
            self.look_at_producer_ids();
        }
    }

    /// The last session took its answer with it.
    pub(super) fn producer_ids_ask_anew(&mut self) {
        if self.producer_ids.under_way {
            self.look_at_producer_ids();
        }
    }

    pub(super) fn look_at_producer_ids(&mut self) {
        let reads = vec![super::cluster::data(nodes::PRODUCER_ID_BLOCK, false)];
        self.coordinate(CoordinationOp::Read(reads), OpFor::LookAtProducerIds);
    }

    pub(super) fn producer_ids_seen(&mut self, found: &[Found]) {
        let Some(Found::Data(node)) = found.first() else {
            return self.look_at_producer_ids();
        };
        let node = node.as_ref().map(|(bytes, stat)| (&**bytes, stat.version));
        match next_block(node, self.config.node_id) {
            Ok((block, multi)) => self.submit_multi(multi, OpFor::TakeProducerIds(block)),
            Err(refused) => self.producer_ids_refused(&refused),
        }
    }

    /// Taken, or somebody was faster: then the next is tried.
    pub(super) fn producer_ids_taken(
        &mut self,
        block: Block,
        result: &Result<CoordinationReply, MultiError>,
    ) {
        if result.is_err() {
            return self.look_at_producer_ids();
        }
        self.producer_ids.block = block;
        self.producer_ids.under_way = false;
        while let Some(caller) = self.producer_ids.waiting.pop_front() {
            match self.producer_ids.block.take() {
                Some(id) => self.answer_producer_id(&caller, Ok(id)),
                None => {
                    self.producer_ids.waiting.push_front(caller);
                    return self.take_producer_ids();
                }
            }
        }
    }

    /// No block can be had: whoever waits hears why.
    pub(super) fn producer_ids_refused(&mut self, refused: &Refused) {
        self.producer_ids.under_way = false;
        while let Some(caller) = self.producer_ids.waiting.pop_front() {
            self.answer_producer_id(&caller, Err(refused.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_gives_each_id_once() {
        let (mut block, _) = next_block(None, 1).unwrap();
        let ids: Vec<_> = std::iter::from_fn(|| block.take()).collect();
        assert_eq!((ids.first(), ids.last(), ids.len()), (Some(&0), Some(&999), 1000));
    }
}
