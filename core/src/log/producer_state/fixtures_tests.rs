//! Against what Kafka 4.4 wrote: the same batches give the same snapshots and index entries.

use bytes::Bytes;

use super::snapshot;
use super::*;
use crate::record::Batches;

macro_rules! fixture {
    ($file:literal) => {
        include_bytes!(concat!("../../../../tests/fixtures/", $file))
    };
}

/// Replays a segment as recovery does; answers the transactions that ended in it.
fn replay(state: &mut ProducerStateManager, segment: &'static [u8]) -> Vec<CompletedTxn> {
    let mut completed = Vec::new();
    for batch in Batches::new(Bytes::from_static(segment)) {
        let batch = batch.unwrap();
        let marker = marker_of(&batch);
        let marker = marker
            .as_ref()
            .map(|(marker, timestamp_ms)| (marker, *timestamp_ms));
        completed.extend(state.replay(&batch.header, marker));
    }
    completed
}

#[test]
fn a_transactional_log_gives_kafkas_snapshots_and_index_entries() {
    let mut state = ProducerStateManager::default();
    let none = replay(&mut state, fixture!("fx-txn-0/00000000000000000000.log"));
    assert_eq!(none, []);
    assert_eq!(
        state.first_unstable_offset(),
        Some(1),
        "the transaction of producer 1 is open"
    );
    let (offset, file) = state.take_snapshot().unwrap();
    assert_eq!(offset, 4);
    assert_eq!(file[..], *fixture!("fx-txn-0/00000000000000000004.snapshot"));

    let completed = replay(&mut state, fixture!("fx-txn-0/00000000000000000004.log"));
    let (offset, file) = state.take_snapshot().unwrap();
    assert_eq!(offset, 17);
    assert_eq!(file[..], *fixture!("fx-txn-0/00000000000000000017.snapshot"));
    let mut index = crate::log::transaction_index::TransactionIndex::default();
    for aborted in completed.iter().filter_map(CompletedTxn::aborted) {
        index.append(aborted);
    }
    assert_eq!(
        index.to_bytes()[..],
        *fixture!("fx-txn-0/00000000000000000004.txnindex")
    );
    assert_eq!(completed.len(), 4, "two commits and two aborts");
}

#[test]
fn replay_from_kafkas_snapshot_leads_to_the_same_state_as_replay_of_all() {
    let first = Bytes::from_static(fixture!("fx-txn-0/00000000000000000004.snapshot"));
    let mut state = ProducerStateManager::with_snapshots(0, [4]);
    let reloaded = state.truncate_and_reload(0, 17, 0, 1, &mut |offset| (offset == 4).then(|| first.clone()));
    assert_eq!(reloaded.replay_from, Some(4));
    assert_eq!(state.first_unstable_offset(), Some(1));
    replay(&mut state, fixture!("fx-txn-0/00000000000000000004.log"));
    let (_, file) = state.take_snapshot().unwrap();
    assert_eq!(file[..], *fixture!("fx-txn-0/00000000000000000017.snapshot"));
}

#[test]
fn an_idempotent_log_gives_kafkas_snapshots() {
    let mut state = ProducerStateManager::default();
    replay(&mut state, fixture!("fx-records-0/00000000000000000000.log"));
    let (_, file) = state.take_snapshot().unwrap();
    assert_eq!(file[..], *fixture!("fx-records-0/00000000000000000020.snapshot"));
    replay(&mut state, fixture!("fx-records-0/00000000000000000020.log"));
    let (offset, file) = state.take_snapshot().unwrap();
    assert_eq!(offset, 46);
    assert_eq!(file[..], *fixture!("fx-records-0/00000000000000000046.snapshot"));
    assert_eq!(
        state.last_entry(0).unwrap().batches.len(),
        3,
        "the three batches of producer 0"
    );
}

#[test]
fn kafkas_snapshots_read_and_write_back_to_the_same_bytes() {
    for file in [
        &fixture!("fx-txn-0/00000000000000000004.snapshot")[..],
        fixture!("fx-txn-0/00000000000000000017.snapshot"),
        fixture!("fx-records-0/00000000000000000046.snapshot"),
        fixture!("fx-compact-0/00000000000000000015.snapshot"),
    ] {
        let entries = snapshot::read(file).unwrap();
        assert_eq!(snapshot::write(entries.iter())[..], *file);
    }
    // As DumpLogSegments shows it.
    let entries = snapshot::read(fixture!("fx-txn-0/00000000000000000004.snapshot")).unwrap();
    let batch = BatchMetadata {
        last_sequence: 2,
        last_offset: 3,
        offset_delta: 2,
        timestamp_ms: 1_700_000_000_012,
    };
    let expected = ProducerStateEntry {
        producer_id: 1,
        producer_epoch: 0,
        coordinator_epoch: -1,
        last_timestamp_ms: 1_700_000_000_012,
        current_txn_first_offset: Some(1),
        batches: [batch].into_iter().collect(),
    };
    assert_eq!(entries, [expected]);
}

#[test]
fn a_damaged_snapshot_is_refused() {
    let file = fixture!("fx-txn-0/00000000000000000017.snapshot");
    assert!(snapshot::read(file).is_ok());
    for at in 0..file.len() {
        let mut damaged = file.to_vec();
        damaged[at] ^= 0x10;
        assert!(snapshot::read(&damaged).is_err(), "byte {at}");
        assert!(snapshot::read(&file[..at]).is_err(), "cut at {at}");
    }
    assert!(snapshot::read(&[&file[..], &[0; 46]].concat()).is_err(), "padded");
    let mut giant = file.to_vec();
    giant[6..10].copy_from_slice(&i32::MAX.to_be_bytes());
    let len_bytes = file.len();
    let said = i32::MAX;
    assert_eq!(
        snapshot::read(&giant),
        Err(snapshot::CorruptSnapshot::Length { said, len_bytes })
    );
}
