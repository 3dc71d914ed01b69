//! May this batch enter the log? (Kafka's `ProducerAppendInfo`, decision only.)

use serde::{Deserialize, Serialize};

use super::ProducerStateManager;
use super::entry::{NO_PRODUCER_EPOCH, ProducerStateEntry};
use crate::error::{ErrorCode, Refused};
use crate::record::BatchHeader;
use crate::record::control::EndTransactionMarker;
use crate::types::{Millis, Offset, ProducerEpoch, Sequence};

/// Who brings the batch, which says how much it is doubted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AppendOrigin {
    /// A producer: all is checked.
    Client,
    /// A coordinator of this broker: it has no sequences, only epochs are checked.
    Coordinator,
    /// The leader, which has checked: nothing is refused.
    Replication,
}

/// How the coordinator ends transactions (`transaction.version`, KIP-890).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransactionVersion {
    /// Versions 0 and 1: the marker carries the epoch of the records.
    Legacy,
    /// Version 2: the epoch goes up with every transaction, so the marker's is above the records'.
    BumpsEpoch,
}

/// What to do with a batch that may enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    New,
    /// It is in the log already: answer these offsets and this timestamp, store nothing.
    Duplicate {
        first_offset: Offset,
        last_offset: Offset,
        timestamp_ms: Millis,
    },
}

impl ProducerStateManager {
    /// Judges a data batch as it came, before it has an offset.
    ///
    /// Errors: INVALID_PRODUCER_EPOCH for a zombie, OUT_OF_ORDER_SEQUENCE_NUMBER for a gap,
    /// INVALID_TXN_STATE for a plain batch within a transaction.
    pub fn check(&self, header: &BatchHeader, origin: AppendOrigin) -> Result<Verdict, Refused> {
        let Some(entry) = self
            .last_entry(header.producer_id)
            .filter(|_| header.has_producer_id() && !mutated!(DuplicateAccepted))
        else {
            return Ok(Verdict::New);
        };
        let epoch = header.producer_epoch;
        if origin == AppendOrigin::Client {
            let (first, last) = (header.base_sequence, header.last_sequence());
            if let Some(batch) = entry.find_duplicate(epoch, first, last) {
                return Ok(Verdict::Duplicate {
                    first_offset: batch.first_offset(),
                    last_offset: batch.last_offset,
                    timestamp_ms: batch.timestamp_ms,
                });
            }
        }
        if origin != AppendOrigin::Replication && epoch < entry.producer_epoch {
            return Err(old_epoch(entry, epoch));
        }
        if origin == AppendOrigin::Client {
            check_sequence(entry, epoch, header.base_sequence)?;
        }
        match entry.current_txn_first_offset {
            Some(first_offset) if !header.is_transactional() && origin != AppendOrigin::Replication => {
                Err(Refused::new(
                    ErrorCode::InvalidTxnState,
                    format!(
                        "producer {} has a transaction open since offset {first_offset} and sent a batch outside it",
                        entry.producer_id
                    ),
                ))
            }
            _ => Ok(Verdict::New),
        }
    }

    /// Judges an end marker.
    ///
    /// Errors: INVALID_PRODUCER_EPOCH for a marker of an older epoch (under
    /// [`TransactionVersion::BumpsEpoch`] for one of the same, unless it repeats one that is written),
    /// TRANSACTION_COORDINATOR_FENCED for a marker of an older coordinator.
    pub fn check_marker(
        &self,
        header: &BatchHeader,
        marker: &EndTransactionMarker,
        origin: AppendOrigin,
        version: TransactionVersion,
    ) -> Result<(), Refused> {
        let Some(entry) = self.last_entry(header.producer_id) else {
            return Ok(());
        };
        if origin == AppendOrigin::Replication {
            return Ok(());
        }
        let epoch = header.producer_epoch;
        let late = match version {
            TransactionVersion::Legacy => epoch < entry.producer_epoch,
            // At the last epoch there is none above, so the marker has to share it.
            TransactionVersion::BumpsEpoch => {
                let repeats = epoch == entry.producer_epoch
                    && (entry.current_txn_first_offset.is_none() || epoch == ProducerEpoch::MAX);
                epoch <= entry.producer_epoch && !repeats
            }
        };
        if late {
            return Err(old_epoch(entry, epoch));
        }
        if marker.coordinator_epoch < entry.coordinator_epoch {
            return Err(Refused::new(
                ErrorCode::TransactionCoordinatorFenced,
                format!(
                    "the marker for producer {} is of coordinator epoch {}, one of epoch {} has been here",
                    entry.producer_id, marker.coordinator_epoch, entry.coordinator_epoch
                ),
            ));
        }
        Ok(())
    }
}

// ANCHOR: check_sequence
fn check_sequence(entry: &ProducerStateEntry, epoch: ProducerEpoch, first: Sequence) -> Result<(), Refused> {
    if entry.producer_epoch == NO_PRODUCER_EPOCH {
        return Ok(());
    }
    let expected = match entry.last_sequence() {
        _ if epoch != entry.producer_epoch => 0,
        i32::MAX => 0,
        last => last + 1,
    };
    if first == expected {
        return Ok(());
    }
    Err(Refused::new(
        ErrorCode::OutOfOrderSequenceNumber,
        format!(
            "producer {} in epoch {epoch} sent sequence {first}, expected {expected}",
            entry.producer_id
        ),
    ))
}
// ANCHOR_END: check_sequence

fn old_epoch(entry: &ProducerStateEntry, epoch: ProducerEpoch) -> Refused {
    Refused::new(
        ErrorCode::InvalidProducerEpoch,
        format!(
            "producer {} sent epoch {epoch}, epoch {} has been here",
            entry.producer_id, entry.producer_epoch
        ),
    )
}
