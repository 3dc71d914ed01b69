use super::entry::BATCHES_TO_RETAIN;
use super::*;
use crate::error::ErrorCode;
use crate::record::header::NO_SEQUENCE;
use crate::types::{ProducerEpoch, Sequence};

const PRODUCER: ProducerId = 7;
const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;

/// The header of a batch of `count` records; its greatest timestamp is 1000.
fn batch(epoch: ProducerEpoch, first: Sequence, count: i32) -> BatchHeader {
    BatchHeader {
        base_offset: 0,
        batch_length: 100,
        partition_leader_epoch: -1,
        magic: 2,
        crc: 0,
        attributes: 0,
        last_offset_delta: count - 1,
        base_timestamp: 1000,
        max_timestamp: 1000,
        producer_id: PRODUCER,
        producer_epoch: epoch,
        base_sequence: first,
        record_count: count,
    }
}

fn transactional(epoch: ProducerEpoch, first: Sequence, count: i32) -> BatchHeader {
    BatchHeader {
        attributes: TRANSACTIONAL,
        ..batch(epoch, first, count)
    }
}

fn of(producer_id: ProducerId, header: BatchHeader) -> BatchHeader {
    BatchHeader {
        producer_id,
        ..header
    }
}

fn marker_header(epoch: ProducerEpoch) -> BatchHeader {
    BatchHeader {
        attributes: TRANSACTIONAL | CONTROL,
        ..batch(epoch, NO_SEQUENCE, 1)
    }
}

const COMMIT: EndTransactionMarker = EndTransactionMarker {
    control_type: ControlType::Commit,
    coordinator_epoch: 3,
};
const ABORT: EndTransactionMarker = EndTransactionMarker {
    control_type: ControlType::Abort,
    coordinator_epoch: 3,
};

impl ProducerStateManager {
    /// Checks as a client's batch and appends it at the end, as the log does.
    fn produce(&mut self, header: BatchHeader) -> Result<Verdict, ErrorCode> {
        let verdict = self
            .check(&header, AppendOrigin::Client)
            .map_err(|refused| refused.code)?;
        if verdict == Verdict::New {
            self.apply(&header, self.map_end_offset());
        }
        Ok(verdict)
    }

    fn end(&mut self, header: BatchHeader, marker: &EndTransactionMarker) -> Option<CompletedTxn> {
        self.apply_marker(&header, marker, self.map_end_offset(), 2000)
    }
}

#[test]
fn a_batch_follows_the_last_one_or_is_refused() {
    let mut state = ProducerStateManager::default();
    assert_eq!(state.produce(batch(0, 0, 3)), Ok(Verdict::New));
    assert_eq!(state.produce(batch(0, 3, 1)), Ok(Verdict::New));
    assert_eq!(
        state.produce(batch(0, 5, 1)),
        Err(ErrorCode::OutOfOrderSequenceNumber)
    );
    assert_eq!(
        state.produce(batch(0, 2, 1)),
        Err(ErrorCode::OutOfOrderSequenceNumber)
    );
    assert_eq!(state.produce(batch(0, 4, 1)), Ok(Verdict::New));
    assert_eq!(state.map_end_offset(), 5);
}

#[test]
fn a_retry_of_one_of_the_last_five_batches_is_answered_with_its_offsets() {
    let mut state = ProducerStateManager::default();
    for n in 0..6 {
        assert_eq!(state.produce(batch(0, n * 2, 2)), Ok(Verdict::New));
    }
    assert_eq!(
        state.last_entry(PRODUCER).unwrap().batches.len(),
        BATCHES_TO_RETAIN
    );
    for n in 1..6 {
        let first_offset = i64::from(n * 2);
        let known = Verdict::Duplicate {
            first_offset,
            last_offset: first_offset + 1,
            timestamp_ms: 1000,
        };
        assert_eq!(state.produce(batch(0, n * 2, 2)), Ok(known));
    }
    assert_eq!(
        state.produce(batch(0, 0, 2)),
        Err(ErrorCode::OutOfOrderSequenceNumber),
        "too old"
    );
    assert_eq!(
        state.produce(batch(0, 10, 1)),
        Err(ErrorCode::OutOfOrderSequenceNumber),
        "half a batch is no retry"
    );
    assert_eq!(state.map_end_offset(), 12, "nothing was stored twice");
}

#[test]
fn sequences_wrap_after_the_largest() {
    let mut state = ProducerStateManager::default();
    assert_eq!(state.produce(batch(0, i32::MAX - 1, 2)), Ok(Verdict::New));
    assert_eq!(state.produce(batch(0, 0, 1)), Ok(Verdict::New));
    let mut state = ProducerStateManager::default();
    assert_eq!(
        state.produce(batch(0, i32::MAX, 3)),
        Ok(Verdict::New),
        "wraps within a batch"
    );
    assert!(matches!(
        state.produce(batch(0, i32::MAX, 3)),
        Ok(Verdict::Duplicate { .. })
    ));
    assert_eq!(state.produce(batch(0, 2, 1)), Ok(Verdict::New));
}

#[test]
fn an_unknown_producer_may_begin_anywhere() {
    let mut state = ProducerStateManager::default();
    assert_eq!(state.produce(batch(4, 99, 1)), Ok(Verdict::New));
    assert_eq!(state.remove_expired(2000, 1000), 1);
    assert_eq!(
        state.produce(batch(4, 500, 1)),
        Ok(Verdict::New),
        "expired, so unknown again"
    );
}

#[test]
fn a_new_epoch_begins_at_sequence_0_and_fences_the_old_one() {
    let mut state = ProducerStateManager::default();
    state.produce(batch(1, 0, 5)).unwrap();
    assert_eq!(
        state.produce(batch(2, 5, 1)),
        Err(ErrorCode::OutOfOrderSequenceNumber)
    );
    assert_eq!(state.produce(batch(2, 0, 1)), Ok(Verdict::New));
    assert_eq!(
        state.produce(batch(1, 5, 1)),
        Err(ErrorCode::InvalidProducerEpoch)
    );
    assert_eq!(
        state.produce(batch(1, 0, 5)),
        Err(ErrorCode::InvalidProducerEpoch),
        "no retry across epochs"
    );
}

#[test]
fn batches_without_a_producer_only_move_the_end() {
    let mut state = ProducerStateManager::default();
    assert_eq!(state.produce(of(-1, batch(-1, NO_SEQUENCE, 4))), Ok(Verdict::New));
    assert_eq!(state.map_end_offset(), 4);
    assert!(state.is_empty());
}

#[test]
fn replicas_and_coordinators_are_doubted_less() {
    let mut state = ProducerStateManager::default();
    state.produce(batch(1, 0, 5)).unwrap();
    let check = |header: &BatchHeader, origin| state.check(header, origin).map_err(|refused| refused.code);
    let gap = batch(1, 9, 1);
    assert_eq!(check(&gap, AppendOrigin::Coordinator), Ok(Verdict::New));
    assert_eq!(check(&gap, AppendOrigin::Replication), Ok(Verdict::New));
    let zombie = batch(0, 0, 1);
    assert_eq!(
        check(&zombie, AppendOrigin::Coordinator),
        Err(ErrorCode::InvalidProducerEpoch)
    );
    assert_eq!(check(&zombie, AppendOrigin::Replication), Ok(Verdict::New));
    let retry = batch(1, 0, 5);
    assert_eq!(
        check(&retry, AppendOrigin::Replication),
        Ok(Verdict::New),
        "a follower takes what it is given"
    );
}

#[test]
fn a_transaction_is_unstable_from_its_first_record_until_its_marker_is_replicated() {
    let mut state = ProducerStateManager::default();
    state.produce(of(1, batch(0, 0, 10))).unwrap();
    state.produce(transactional(0, 0, 2)).unwrap();
    state.produce(transactional(0, 2, 2)).unwrap();
    assert_eq!(state.first_unstable_offset(), Some(10));
    let completed = state.end(marker_header(0), &COMMIT).unwrap();
    assert_eq!((completed.first_offset, completed.last_offset), (10, 14));
    assert_eq!(completed.last_stable_offset, 15);
    assert_eq!(completed.aborted(), None);
    assert_eq!(state.first_undecided_offset(), None);
    state.on_high_watermark(14);
    assert_eq!(
        state.first_unstable_offset(),
        Some(10),
        "the marker is not below the high watermark"
    );
    state.on_high_watermark(15);
    assert_eq!(state.first_unstable_offset(), None);
}

#[test]
fn an_aborted_transaction_leaves_an_index_entry_and_the_oldest_open_one_is_the_bound() {
    let mut state = ProducerStateManager::default();
    state.produce(of(1, transactional(0, 0, 1))).unwrap();
    state.produce(transactional(0, 0, 1)).unwrap();
    let aborted = state.end(marker_header(0), &ABORT).unwrap().aborted().unwrap();
    assert_eq!(
        (aborted.producer_id, aborted.first_offset, aborted.last_offset),
        (PRODUCER, 1, 2)
    );
    assert_eq!(
        aborted.last_stable_offset, 0,
        "producer 1 is still open from offset 0"
    );
    state.on_high_watermark(3);
    assert_eq!(state.first_unstable_offset(), Some(0));
}

#[test]
fn a_marker_for_nothing_decides_nothing_but_fences() {
    let mut state = ProducerStateManager::default();
    assert_eq!(state.end(marker_header(5), &ABORT), None);
    assert_eq!(
        state.produce(batch(4, 0, 1)),
        Err(ErrorCode::InvalidProducerEpoch)
    );
    assert_eq!(
        state.produce(batch(5, 3, 1)),
        Err(ErrorCode::OutOfOrderSequenceNumber)
    );
    assert_eq!(state.produce(batch(5, 0, 1)), Ok(Verdict::New));
}

#[test]
fn a_plain_batch_within_a_transaction_is_refused() {
    let mut state = ProducerStateManager::default();
    state.produce(transactional(0, 0, 1)).unwrap();
    assert_eq!(state.produce(batch(0, 1, 1)), Err(ErrorCode::InvalidTxnState));
    state.end(marker_header(0), &COMMIT).unwrap();
    assert_eq!(state.produce(batch(0, 1, 1)), Ok(Verdict::New));
}

#[test]
fn markers_are_fenced_by_epoch_and_coordinator() {
    use TransactionVersion::{BumpsEpoch, Legacy};
    let mut state = ProducerStateManager::default();
    state.produce(transactional(5, 0, 1)).unwrap();
    let check = |state: &ProducerStateManager, epoch, version| {
        let checked = state.check_marker(&marker_header(epoch), &COMMIT, AppendOrigin::Coordinator, version);
        checked.map_err(|refused| refused.code)
    };
    assert_eq!(check(&state, 5, Legacy), Ok(()));
    assert_eq!(check(&state, 4, Legacy), Err(ErrorCode::InvalidProducerEpoch));
    assert_eq!(
        check(&state, 5, BumpsEpoch),
        Err(ErrorCode::InvalidProducerEpoch),
        "a late marker"
    );
    assert_eq!(check(&state, 6, BumpsEpoch), Ok(()));
    state.end(marker_header(6), &COMMIT).unwrap();
    assert_eq!(
        check(&state, 6, BumpsEpoch),
        Ok(()),
        "the same marker, sent again"
    );
    let zombie = EndTransactionMarker {
        coordinator_epoch: 2,
        ..COMMIT
    };
    let refused = state.check_marker(&marker_header(6), &zombie, AppendOrigin::Coordinator, Legacy);
    assert_eq!(refused.unwrap_err().code, ErrorCode::TransactionCoordinatorFenced);
    assert!(
        state
            .check_marker(&marker_header(6), &zombie, AppendOrigin::Replication, Legacy)
            .is_ok()
    );
}

#[test]
fn silent_producers_expire_unless_they_have_a_transaction_open() {
    let mut state = ProducerStateManager::default();
    state.produce(batch(0, 0, 1)).unwrap();
    state.produce(of(8, transactional(0, 0, 1))).unwrap();
    assert_eq!(state.remove_expired(1999, 1000), 0);
    assert_eq!(state.remove_expired(2000, 1000), 1);
    let left: Vec<_> = state.active_producers().map(|entry| entry.producer_id).collect();
    assert_eq!(left, [8]);
}

#[test]
fn a_clone_keeps_its_own_entries() {
    let mut state = ProducerStateManager::default();
    state.produce(batch(0, 0, 1)).unwrap();
    let before = state.clone();
    state.produce(batch(0, 1, 1)).unwrap();
    assert_eq!(before.last_entry(PRODUCER).unwrap().last_sequence(), 0);
    assert_eq!(state.last_entry(PRODUCER).unwrap().last_sequence(), 1);
}

#[test]
fn a_snapshot_is_taken_once_per_end() {
    let mut state = ProducerStateManager::default();
    assert_eq!(state.take_snapshot(), None, "an empty log has none");
    state.produce(batch(0, 0, 3)).unwrap();
    assert_eq!(state.take_snapshot().unwrap().0, 3);
    assert_eq!(state.take_snapshot(), None);
    state.produce(batch(0, 3, 1)).unwrap();
    assert_eq!(state.take_snapshot().unwrap().0, 4);
    assert_eq!(state.snapshots().collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn truncation_drops_later_snapshots_and_reloads_the_newest_that_is_whole() {
    let mut state = ProducerStateManager::default();
    let mut files = OrderedMap::new();
    for n in 0..4 {
        state.produce(batch(0, n, 1)).unwrap();
        files.extend(state.take_snapshot());
    }
    files.insert(2, bytes::Bytes::from_static(b"garbage"));
    let reloaded = state.truncate_and_reload(0, 2, 1000, 60_000, &mut |offset| files.get(&offset).cloned());
    assert_eq!(reloaded.deleted, [3, 4, 2]);
    assert_eq!(reloaded.corrupt, [(2, snapshot::CorruptSnapshot::TooShort(7))]);
    assert_eq!(reloaded.replay_from, Some(1));
    assert_eq!(state.last_entry(PRODUCER).unwrap().last_sequence(), 0);
    state.replay(
        &BatchHeader {
            base_offset: 1,
            ..batch(0, 1, 1)
        },
        None,
    );
    assert_eq!(state.produce(batch(0, 2, 1)), Ok(Verdict::New));
}

#[test]
fn truncation_with_no_snapshot_replays_from_the_log_start() {
    let mut state = ProducerStateManager::default();
    state.produce(transactional(0, 0, 8)).unwrap();
    let reloaded = state.truncate_and_reload(3, 5, 1000, 60_000, &mut |_| None);
    assert_eq!(reloaded.replay_from, Some(3));
    assert!(state.is_empty());
    assert_eq!(state.first_unstable_offset(), None);
    assert!(!state.needs_reload(3));
}

#[test]
fn loading_leaves_out_who_has_expired() {
    let mut state = ProducerStateManager::default();
    state.produce(batch(0, 0, 1)).unwrap();
    state.produce(of(8, transactional(0, 0, 1))).unwrap();
    let (offset, file) = state.take_snapshot().unwrap();
    let mut restarted = ProducerStateManager::with_snapshots(0, [offset]);
    restarted.truncate_and_reload(0, 2, 5000, 1000, &mut |_| Some(file.clone()));
    assert_eq!(restarted.last_entry(PRODUCER), None);
    assert!(restarted.last_entry(8).is_some());
    assert_eq!(restarted.first_unstable_offset(), Some(1));
}

#[test]
fn stray_snapshots_go_but_for_the_one_of_an_orderly_stop() {
    let strays = |snapshots: &[Offset], bases: &[Offset]| {
        let mut state = ProducerStateManager::with_snapshots(0, snapshots.iter().copied());
        let deleted = state.remove_stray_snapshots(bases.iter().copied());
        (deleted, state.snapshots().collect::<Vec<_>>())
    };
    assert_eq!(
        strays(&[10, 15, 20, 25, 30], &[0, 10, 20]),
        (vec![15, 25], vec![10, 20, 30])
    );
    assert_eq!(strays(&[5, 10], &[0, 10]), (vec![5], vec![10]));
    assert_eq!(strays(&[5, 7], &[]), (vec![5], vec![7]));
}

#[test]
fn snapshots_go_with_their_segments_and_with_the_log_start() {
    let mut state = ProducerStateManager::with_snapshots(0, [10, 20, 30]);
    assert!(state.remove_snapshot(10));
    assert!(!state.remove_snapshot(10));
    assert_eq!(state.delete_snapshots_before(30), [20]);
    assert_eq!(state.truncate_fully_and_start_at(40), [30]);
    assert_eq!(state.map_end_offset(), 40);
}
