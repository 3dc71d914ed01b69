//! The runtime that coordinators share (Kafka's `CoordinatorRuntime`).
//!
//! A coordinator keeps its state in the partitions of an internal topic. Whoever leads such a partition
//! holds a [`Shard`] of the state, and every change of it goes the same way:
//!
//! ```text
//! decide -> records -> append -> replay into the state, at once -> wait for the high watermark -> answer
//! ```
//!
//! So the next decision sees what the last one did, while nobody outside hears of it before the records
//! are safe: answers wait, and plain reads see only what is committed ([`TimelineMap`]). A new leader
//! reads the partition from its first record ([`load`](Coordinators::loaded_batches)) and comes to the
//! same state.
//!
//! Kafka gathers records of several decisions in one batch. Here each decision is appended by itself: the
//! host joins neighbouring writes, and nothing lingers.
//!
//! Invariants
//! - the state is the replay of the log, and of nothing else that has to survive
//! - an answer that speaks of records leaves when the high watermark has passed them, never before, and
//!   every waiting answer leaves once: with its success, or with the error that ended the wait
//! - who loses the leadership forgets the shard; whoever waits there hears NOT_COORDINATOR
//! - while the log is being read nothing is decided: COORDINATOR_LOAD_IN_PROGRESS

mod runtime;
mod slot;
mod timeline;
mod timers;
mod turn;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::fmt;

use bytes::Bytes;

pub use runtime::{Answered, Coordinators, WriteSettings};
pub use timeline::TimelineMap;
pub use timers::Timers;
pub use turn::Turn;

use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::record::Record;
use crate::replica::Waiting;
use crate::types::{Millis, Offset, ProducerId};

/// Names a part of a request that is owed an answer.
pub type Token = Waiting;

/// A partition that this broker leads, as its coordinator reaches it.
pub trait AppendAndWatch {
    /// Appends one batch whose records have the offsets from the one that is given back on.
    ///
    /// Errors: what stands against an append under acks=all.
    fn append(&mut self, cx: &mut Cx, batch: Bytes) -> Result<Offset, Refused>;

    /// Everything below survives the loss of this broker.
    fn high_watermark(&self) -> Offset;

    /// The largest batch that the topic takes.
    fn max_batch_bytes(&self) -> usize;
}

/// A record of an internal topic, before it has an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoordinatorRecord {
    pub key: Bytes,
    /// `None` is a tombstone: the key is no more.
    pub value: Option<Bytes>,
}

/// One partition's worth of a coordinator's state, as a pure value.
pub trait Shard: Clone + fmt::Debug {
    type Answer: Clone + fmt::Debug;
    /// What is left to do when records are committed, or will never be.
    type Then: Clone + fmt::Debug;
    type Timer: Clone + Ord + fmt::Debug;

    /// Takes in a record at its offset. `producer` is set for records of a transaction, which count only
    /// once [`end_transaction`](Self::end_transaction) says so.
    fn replay(&mut self, now: Millis, record: &Record, producer: Option<ProducerId>);

    /// A producer's transaction has ended in this partition.
    fn end_transaction(&mut self, producer: ProducerId, committed: bool);

    /// Everything below this offset is committed.
    fn committed(&mut self, below: Offset);

    /// The log is read to its end: makes ready what lives here, at most so many things at once. From when it
    /// is true the shard decides; until then it is called again.
    fn loaded(&mut self, turn: &mut Turn<Self>, at_once: usize) -> bool;

    /// The leadership is lost: every request that the shard itself has parked is to be answered.
    fn unloaded(&mut self, turn: &mut Turn<Self>);

    /// The records of a [`Turn::write_then`] are committed, or will not be.
    fn settled(&mut self, turn: &mut Turn<Self>, then: Self::Then, outcome: Result<(), ErrorCode>);

    /// A timer has come due.
    fn expired(&mut self, turn: &mut Turn<Self>, timer: Self::Timer);
}

/// The error that a client hears when records could not be appended
/// (`CoordinatorOperationExceptionHelper`).
pub fn answer_for(append_error: ErrorCode) -> ErrorCode {
    match append_error {
        ErrorCode::UnknownTopicOrPartition | ErrorCode::NotEnoughReplicas | ErrorCode::RequestTimedOut => {
            ErrorCode::CoordinatorNotAvailable
        }
        ErrorCode::NotLeaderOrFollower | ErrorCode::KafkaStorageError => ErrorCode::NotCoordinator,
        ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge | ErrorCode::InvalidFetchSize => {
            ErrorCode::UnknownServerError
        }
        other => other,
    }
}
