//! `.snapshot` and `.txnindex`: what a log remembers of producers and of aborted transactions.

use crate::log::producer_state::{ProducerStateEntry, snapshot};
use crate::log::transaction_index::TransactionIndex;

use super::{Dump, DumpError, base_offset, corrupt};

impl Dump<'_> {
    pub(super) fn snapshot(&mut self, path: &str) -> Result<(), DumpError> {
        let bytes = self.whole_file(path)?;
        match snapshot::read(&bytes) {
            Ok(entries) => {
                for entry in &entries {
                    self.out(producer_line(entry));
                }
            }
            // Not fatal, in Kafka's tool as well.
            Err(why) => self.error(format!("{path}: {why}")),
        }
        Ok(())
    }

    pub(super) fn transaction_index(&mut self, path: &str) -> Result<(), DumpError> {
        let bytes = self.whole_file(path)?;
        let index = TransactionIndex::from_bytes(base_offset(path)?, &bytes)
            .map_err(|why| corrupt(path, why.to_string()))?;
        for txn in index.entries() {
            self.out(format!(
                "version: 0 producerId: {} firstOffset: {} lastOffset: {} lastStableOffset: {}",
                txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset
            ));
        }
        Ok(())
    }
}

fn producer_line(entry: &ProducerStateEntry) -> String {
    let first_offset = match entry.current_txn_first_offset {
        Some(offset) => format!("OptionalLong[{offset}]"),
        None => "OptionalLong.empty".to_owned(),
    };
    let mut line = format!(
        "producerId: {} producerEpoch: {} coordinatorEpoch: {} currentTxnFirstOffset: \
         {first_offset} lastTimestamp: {}",
        entry.producer_id, entry.producer_epoch, entry.coordinator_epoch, entry.last_timestamp_ms
    );
    if let Some(batch) = entry.batches.first() {
        line += &format!(
            " firstSequence: {} lastSequence: {} lastOffset: {} offsetDelta: {} timestamp: {}",
            batch.first_sequence(),
            batch.last_sequence,
            batch.last_offset,
            batch.offset_delta,
            batch.timestamp_ms
        );
    }
    line
}
