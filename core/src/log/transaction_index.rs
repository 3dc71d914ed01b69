//! `.txnindex`: the transactions whose abort marker lies in a segment.
//!
//! A consumer under `read_committed` is sent aborted records too, with a list of which transactions
//! to skip. The broker finds that list here, without reading the log: each segment has one entry for
//! each transaction aborted in it (Kafka's `TransactionIndex`, `AbortedTxn`). Most segments have none,
//! and then no file.
//!
//! An entry is 34 bytes, big-endian: version (2, always 0), producer id (8), first offset (8), last
//! offset, which is the marker's (8), last stable offset when it was written (8).
//!
//! Invariants
//! - last offsets rise strictly; each is above its transaction's first offset and not below the
//!   segment's base offset
//! - like every index it is a cache: a file that breaks this is rebuilt from the log

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::types::{Offset, ProducerId};

/// Bytes of one entry.
pub const ENTRY_BYTES: usize = 34;

/// One aborted transaction, as the index and a fetch answer hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbortedTxn {
    pub producer_id: ProducerId,
    /// Offset of the transaction's first record in this partition.
    pub first_offset: Offset,
    /// Offset of its abort marker.
    pub last_offset: Offset,
    /// The last stable offset once this transaction was over: no transaction that ended later begins
    /// below it.
    pub last_stable_offset: Offset,
}

/// What makes a file no transaction index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadTransactionIndex {
    #[error("{0} bytes are no whole number of {ENTRY_BYTES}-byte entries")]
    Length(usize),
    #[error("entry {entry} has version {version}, expected 0")]
    Version { entry: usize, version: i16 },
    #[error("entry {0} contradicts the entry before it, the segment or itself")]
    Order(usize),
}

/// Aborted transactions in the range of a fetch, and whether later segments need not be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    pub aborted: Vec<AbortedTxn>,
    pub complete: bool,
}

/// The index of one segment, whole in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionIndex {
    entries: Vec<AbortedTxn>,
}

impl TransactionIndex {
    /// Reads the whole file of the segment that begins at `base_offset`; no file reads as no bytes.
    pub fn from_bytes(base_offset: Offset, bytes: &[u8]) -> Result<Self, BadTransactionIndex> {
        let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
        if !rest.is_empty() {
            return Err(BadTransactionIndex::Length(bytes.len()));
        }
        let mut index = Self::default();
        for (at, entry) in entries.iter().enumerate() {
            let version = i16::from_be_bytes([entry[0], entry[1]]);
            if version != 0 {
                return Err(BadTransactionIndex::Version { entry: at, version });
            }
            let txn = AbortedTxn::decode(entry);
            let after = index
                .entries
                .last()
                .map_or(base_offset - 1, |last| last.last_offset);
            let stable = 0..=txn.last_offset.saturating_add(1);
            if txn.last_offset <= after
                || txn.first_offset >= txn.last_offset
                || txn.first_offset < 0
                || !stable.contains(&txn.last_stable_offset)
            {
                return Err(BadTransactionIndex::Order(at));
            }
            index.entries.push(txn);
        }
        Ok(index)
    }

    /// Adds the transaction whose marker was just appended, and answers the bytes to write at
    /// [`len_bytes`](Self::len_bytes) as it was before.
    pub fn append(&mut self, txn: AbortedTxn) -> Bytes {
        debug_assert!(
            self.entries
                .last()
                .is_none_or(|last| last.last_offset < txn.last_offset)
        );
        self.entries.push(txn);
        Bytes::copy_from_slice(&txn.encode())
    }

    /// The transactions that have records in `fetch_offset..upper_bound`.
    pub fn collect(&self, fetch_offset: Offset, upper_bound: Offset) -> Collected {
        let mut found = Collected::default();
        for txn in &self.entries {
            if txn.last_offset >= fetch_offset && txn.first_offset < upper_bound {
                found.aborted.push(*txn);
            }
            if txn.last_stable_offset >= upper_bound {
                found.complete = true;
                break;
            }
        }
        found
    }

    /// The log now ends at `log_end`: forgets the markers there and later, and answers the new length
    /// of the file in bytes when it changed.
    pub fn truncate_to(&mut self, log_end: Offset) -> Option<u64> {
        let kept = self.entries.partition_point(|txn| txn.last_offset < log_end);
        let changed = kept < self.entries.len();
        self.entries.truncate(kept);
        changed.then(|| self.len_bytes())
    }

    /// In the order of their markers.
    pub fn entries(&self) -> &[AbortedTxn] {
        &self.entries
    }

    pub fn len_bytes(&self) -> u64 {
        (self.entries.len() * ENTRY_BYTES) as u64
    }

    /// The whole file.
    pub fn to_bytes(&self) -> Bytes {
        self.entries.iter().flat_map(AbortedTxn::encode).collect()
    }
}

impl AbortedTxn {
    fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut entry = [0; ENTRY_BYTES];
        let (fields, _) = entry[2..].as_chunks_mut::<8>();
        let values = [
            self.producer_id,
            self.first_offset,
            self.last_offset,
            self.last_stable_offset,
        ];
        for (field, value) in fields.iter_mut().zip(values) {
            *field = value.to_be_bytes();
        }
        entry
    }

    fn decode(entry: &[u8; ENTRY_BYTES]) -> Self {
        let (fields, _) = entry[2..].as_chunks::<8>();
        let field = |at: usize| i64::from_be_bytes(fields[at]);
        Self {
            producer_id: field(0),
            first_offset: field(1),
            last_offset: field(2),
            last_stable_offset: field(3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXTURE: &[u8] = include_bytes!("../../../tests/fixtures/fx-txn-0/00000000000000000004.txnindex");

    fn txn(producer_id: ProducerId, first: Offset, last: Offset, stable: Offset) -> AbortedTxn {
        AbortedTxn {
            producer_id,
            first_offset: first,
            last_offset: last,
            last_stable_offset: stable,
        }
    }

    fn index(txns: &[AbortedTxn]) -> TransactionIndex {
        let mut index = TransactionIndex::default();
        for &txn in txns {
            index.append(txn);
        }
        index
    }

    #[test]
    fn kafkas_index_reads_and_writes_back_to_the_same_bytes() {
        let read = TransactionIndex::from_bytes(4, FIXTURE).unwrap();
        // As DumpLogSegments shows it.
        assert_eq!(read.entries(), [txn(1, 5, 8, 9), txn(2, 11, 15, 16)]);
        assert_eq!(read.to_bytes()[..], *FIXTURE);
        let mut appended = TransactionIndex::default();
        let written: Vec<u8> = read
            .entries()
            .iter()
            .flat_map(|&txn| appended.append(txn))
            .collect();
        assert_eq!(written, FIXTURE);
        assert_eq!(appended, read);
    }

    #[test]
    fn collects_what_overlaps_and_knows_when_it_has_all() {
        let index = index(&[txn(1, 0, 10, 5), txn(2, 5, 12, 13), txn(3, 14, 40, 41)]);
        for (fetch, bound, producers, complete) in [
            (0, 3, &[1][..], true),
            (0, 11, &[1, 2], true),
            (0, 12, &[1, 2], true),
            (11, 14, &[2], true),
            (13, 14, &[], true),
            (13, 41, &[3], true),
            (41, 60, &[], false),
            (0, 60, &[1, 2, 3], false),
        ] {
            let found = index.collect(fetch, bound);
            let ids: Vec<_> = found.aborted.iter().map(|txn| txn.producer_id).collect();
            assert_eq!(ids, producers, "{fetch}..{bound}");
            assert_eq!(found.complete, complete, "{fetch}..{bound}");
        }
        let none = TransactionIndex::default().collect(0, 10);
        assert_eq!(none, Collected::default());
    }

    #[test]
    fn a_transaction_still_open_when_another_ended_keeps_the_search_going() {
        // Producer 2 began at 3, was open while producer 1 aborted, and aborted in a later segment.
        let first = index(&[txn(1, 0, 10, 3)]);
        assert!(!first.collect(0, 6).complete);
    }

    #[test]
    fn truncation_forgets_markers_from_the_new_end_on() {
        let mut index = index(&[txn(1, 0, 10, 11), txn(2, 5, 12, 13)]);
        assert_eq!(index.truncate_to(13), None);
        assert_eq!(index.truncate_to(12), Some(34));
        assert_eq!(index.entries(), [txn(1, 0, 10, 11)]);
        assert_eq!(index.truncate_to(0), Some(0));
    }

    #[test]
    fn garbage_is_refused() {
        use BadTransactionIndex::*;
        let read = |bytes: &[u8]| TransactionIndex::from_bytes(4, bytes).unwrap_err();
        assert_eq!(read(&FIXTURE[..40]), Length(40));
        assert_eq!(read(&[0; ENTRY_BYTES]), Order(0), "padding");
        assert_eq!(read(&[FIXTURE, &[0; ENTRY_BYTES]].concat()), Order(2));
        assert_eq!(read(&[FIXTURE, FIXTURE].concat()), Order(2));
        assert_eq!(
            read(&[0xff; ENTRY_BYTES]),
            Version {
                entry: 0,
                version: -1
            }
        );
        assert_eq!(TransactionIndex::from_bytes(9, FIXTURE).unwrap_err(), Order(0));
        assert_eq!(
            TransactionIndex::from_bytes(4, b""),
            Ok(TransactionIndex::default())
        );
    }
}
