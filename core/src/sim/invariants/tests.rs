// The interpreter of wasm32 knows of no test that is to be left out.
#[cfg(not(target_arch = "wasm32"))]
mod how_many;
mod mutations;

use super::ghost::{Ghost, common};
use super::scan::{self, Mark};
use super::*;
use crate::record::{BatchBuilder, Codec};
use crate::types::TopicPartition;

fn mark(base: i64, epoch: i32, hash: u64) -> Mark {
    Mark {
        base,
        last: base,
        epoch,
        hash,
        producer: None,
        records: [].into(),
        max_timestamp_ms: 0,
        position: 0,
        size: 0,
    }
}

#[test]
fn every_invariant_has_a_name_of_its_own() {
    for (at, one) in ALL.iter().enumerate() {
        assert_eq!(named(one.name), Some(*one));
        assert!(ALL[at + 1..].iter().all(|other| other.name != one.name));
    }
}

#[test]
fn two_logs_part_at_the_first_batch_that_differs() {
    let one = [mark(0, 0, 7), mark(1, 0, 8), mark(2, 1, 9)];
    let other = [mark(0, 0, 7), mark(1, 0, 8), mark(2, 2, 9)];
    assert_eq!(common(&one, &other), (2, 2));
    assert_eq!(common(&one, &one), (3, 3));
    assert_eq!(common(&[], &one), (0, 0));
}

#[test]
fn what_is_explained_to_be_gone_is_promised_no_more() {
    let partition = TopicPartition::new("t", 0);
    let mut ghost = Ghost::default();
    let marks = vec![mark(0, 0, 7), mark(1, 0, 8)];
    ghost.committed.insert(partition.clone(), marks);
    assert_eq!(ghost.committed_end(&partition), 2);
    ghost.cut_committed(&partition, 1);
    assert_eq!(ghost.committed_end(&partition), 1);
    ghost.forget_topic("t");
    assert_eq!(ghost.committed_end(&partition), 0);
}

#[test]
fn a_mark_knows_whose_record_it_is_and_not_its_epoch_in_its_hash() {
    let batch = |epoch| {
        let mut builder = BatchBuilder::new(Codec::None).base_offset(5).leader_epoch(epoch);
        builder.append(0, None, Some(b"101:3"), &[]);
        builder.append(0, None, Some(b"101:4"), &[]);
        scan::mark(&builder.build(), 0).unwrap()
    };
    let (one, other) = (batch(1), batch(2));
    assert_eq!((one.base, one.last), (5, 6));
    assert_eq!(
        (one.record_at(5), one.record_at(6)),
        (Some((101, 3)), Some((101, 4)))
    );
    assert_eq!((one.record_at(4), one.record_at(7)), (None, None));
    assert_eq!(one.hash, other.hash);
    assert!(!one.is_same(&other));
}
