//! Producer ids, in blocks of 1000 (`ZkProducerIdManager`).
//!
//! A broker takes a block by writing its bounds, and gives the block's ids away from memory. After a
//! kill the rest of the block is lost and the next one is taken: ids are many, twice is never.

use super::nodes::{self, ProducerIdBlock};
use crate::coordination::Multi;
use crate::error::{ErrorCode, Refused};
use crate::types::{BrokerId, ProducerId};

const BLOCK_SIZE: ProducerId = 1000;

/// The ids in hand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Block {
    next: ProducerId,
    /// First id past the block.
    end: ProducerId,
}

impl Block {
    /// The next id; `None` when the block is used up.
    pub fn take(&mut self) -> Option<ProducerId> {
        let id = self.next;
        (id < self.end).then(|| self.next += 1)?;
        Some(id)
    }
}

/// The block after the last one given away, as the node says it (its bytes and version, `None` when
/// it is not there), and the multi that takes it unless somebody is faster.
pub fn next_block(node: Option<(&[u8], i32)>, broker: BrokerId) -> Result<(Block, Multi), Refused> {
    let unusable = |why: String| Refused::new(ErrorCode::UnknownServerError, why);
    let first = match node {
        Some((bytes, _)) if !bytes.is_empty() => {
            let last = nodes::parse::<ProducerIdBlock>(nodes::PRODUCER_ID_BLOCK, bytes);
            last.map_err(|bad| unusable(bad.to_string()))?
                .block_end
                .saturating_add(1)
        }
        _ => 0,
    };
    let end = first
        .checked_add(BLOCK_SIZE)
        .ok_or_else(|| unusable("Every producer id has been given away".to_owned()))?;
    let data = nodes::write(&ProducerIdBlock {
        block_start: first,
        block_end: end - 1,
        broker,
        version: 1,
    });
    let multi = match node {
        Some((_, version)) => Multi::new().set(nodes::PRODUCER_ID_BLOCK, data, Some(version)),
        None => Multi::new().create(nodes::PRODUCER_ID_BLOCK, data),
    };
    Ok((Block { next: first, end }, multi))
}
