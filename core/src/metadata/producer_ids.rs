//! Producer ids, in blocks of 1000 (`ZkProducerIdManager`).
//!
//! A broker takes a block by writing its bounds, and gives the block's ids away from memory. After a
//! kill the rest of the block is lost and the next one is taken: ids are many, twice is never.

use super::image::MetadataImage;
use super::nodes::{self, ProducerIdBlock};
use crate::coordination::Multi;
use crate::disk::Ticket;
use crate::error::{ErrorCode, Refused};
use crate::types::{BrokerId, ProducerId};

const BLOCK_SIZE: ProducerId = 1000;

/// The ids in hand.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    next: ProducerId,
    /// First id past the block.
    end: ProducerId,
    /// When it is done, the block is on disk.
    ticket: Ticket,
}

impl Block {
    pub fn is_used_up(&self) -> bool {
        self.next >= self.end
    }

    pub fn under(self, ticket: Ticket) -> Self {
        Self { ticket, ..self }
    }

    pub fn take(&mut self) -> (ProducerId, Ticket) {
        let id = self.next;
        self.next += 1;
        (id, self.ticket)
    }
}

/// The block after the last one given away, and the multi that takes it.
pub(super) fn next_block(image: &MetadataImage, broker: BrokerId) -> Result<(Block, Multi), Refused> {
    let (first, version) = image.producer_ids();
    let end = first.checked_add(BLOCK_SIZE).ok_or_else(|| {
        Refused::new(
            ErrorCode::UnknownServerError,
            "Every producer id has been given away",
        )
    })?;
    let block = ProducerIdBlock {
        block_start: first,
        block_end: end - 1,
        broker,
        version: 1,
    };
    let data = nodes::write(&block);
    let multi = match version {
        Some(_) => Multi::new().set(nodes::PRODUCER_ID_BLOCK, data, version),
        None => Multi::new().create(nodes::PRODUCER_ID_BLOCK, data),
    };
    Ok((
        Block {
            next: first,
            end,
            ticket: 0,
        },
        multi,
    ))
}
