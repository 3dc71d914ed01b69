//! One consumer, partitions by hand: where it begins, what it is given, where it is.

use super::cluster::*;
use crate::consumer::{ConsumerError, ConsumerEvent, OffsetAndTimestamp, ResetStrategy};
use crate::ordered::OrderedMap;
use crate::sim::host::EPOCH_MS;

/// A topic `t` of one partition with six records, ten milliseconds apart.
fn six_records() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.create("t", 1, &[]);
    for value in ["a", "b", "c", "d", "e", "f"] {
        cluster.produce("t", 0, &[value]);
        cluster.advance(10);
    }
    cluster
}

fn assigned(cluster: &mut Cluster, settings: &[(&str, &str)]) -> u32 {
    let id = cluster.consumer(settings);
    cluster.call(id, |consumer, cx| {
        consumer.assign(cx, partitions(&[("t", 0)])).unwrap();
    });
    cluster.advance(1_000);
    id
}

#[test]
fn a_consumer_reads_what_is_there_and_what_comes() {
    let mut cluster = six_records();
    let id = assigned(&mut cluster, &[]);
    assert_eq!(cluster.member(id).values(), ["a", "b", "c", "d", "e", "f"]);
    cluster.produce("t", 0, &["g", "h"]);
    cluster.advance(10);
    assert_eq!(cluster.member(id).offsets(), [0, 1, 2, 3, 4, 5, 6, 7]);
    let consumer = &cluster.member(id).consumer;
    assert_eq!(consumer.position(&partition("t", 0)), Some(8));
    assert_eq!(consumer.lag(&partition("t", 0)), Some(0));
}

#[test]
fn auto_offset_reset_says_where_to_begin() {
    for (reset, first) in [
        ("earliest", 0),
        ("latest", 6),
        ("by_duration:PT1H", 0),
        ("by_duration:PT0S", 6),
    ] {
        let mut cluster = six_records();
        let id = assigned(&mut cluster, &[("auto.offset.reset", reset)]);
        cluster.produce("t", 0, &["g"]);
        cluster.advance(1_000);
        assert_eq!(cluster.member(id).offsets().first(), Some(&first), "{reset}");
    }
}

#[test]
fn without_a_reset_the_application_decides() {
    let mut cluster = six_records();
    let id = assigned(&mut cluster, &[("auto.offset.reset", "none")]);
    let errors = cluster.member(id).errors();
    assert!(
        matches!(&errors[0], ConsumerError::NoOffsetForPartition { partitions } if partitions == &[partition("t", 0)])
    );
    cluster.call(id, |consumer, cx| {
        consumer.seek(cx, &partition("t", 0), &4.into()).unwrap();
    });
    cluster.advance(1_000);
    assert_eq!(cluster.member(id).offsets(), [4, 5]);
    cluster.member_mut(id).events.clear();
    cluster.call(id, |consumer, cx| {
        consumer.seek(cx, &partition("t", 0), &99.into()).unwrap();
    });
    cluster.advance(1_000);
    assert!(matches!(
        cluster.member(id).errors()[0],
        ConsumerError::OffsetOutOfRange { offset: 99, .. }
    ));
}

#[test]
fn a_position_out_of_range_is_reset() {
    let mut cluster = six_records();
    let id = assigned(&mut cluster, &[]);
    cluster.member_mut(id).records.clear();
    cluster.call(id, |consumer, cx| {
        consumer.seek(cx, &partition("t", 0), &99.into()).unwrap();
    });
    cluster.advance(1_000);
    assert_eq!(cluster.member(id).offsets(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn seeks_go_anywhere_and_to_the_ends() {
    let mut cluster = six_records();
    let id = assigned(&mut cluster, &[]);
    let t0 = partition("t", 0);
    cluster.member_mut(id).records.clear();
    // A fetch that waits for data holds back what is said on its connection.
    cluster.call(id, |consumer, cx| consumer.seek(cx, &t0, &4.into()).unwrap());
    cluster.advance(1_000);
    assert_eq!(cluster.member(id).offsets(), [4, 5]);
    for (strategy, position) in [(ResetStrategy::Earliest, 6), (ResetStrategy::Latest, 6)] {
        cluster.call(id, |consumer, cx| {
            consumer.seek_to(cx, std::slice::from_ref(&t0), strategy).unwrap();
        });
        cluster.advance(2_000);
        assert_eq!(cluster.member(id).consumer.position(&t0), Some(position));
    }
    assert_eq!(cluster.member(id).offsets(), [4, 5, 0, 1, 2, 3, 4, 5]);
    let refused = cluster.call(id, |consumer, cx| {
        consumer.seek(cx, &partition("t", 7), &0.into())
    });
    assert_eq!(
        refused,
        Err(ConsumerError::NotAssigned {
            partition: partition("t", 7)
        })
    );
    let refused = cluster.call(id, |consumer, cx| consumer.seek(cx, &t0, &(-1).into()));
    assert_eq!(refused, Err(ConsumerError::NegativeOffset { offset: -1 }));
}

#[test]
fn a_poll_gives_no_more_than_it_may() {
    let mut cluster = six_records();
    let id = cluster.consumer(&[("max.poll.records", "4")]);
    cluster.member_mut(id).polls = false;
    cluster.call(id, |consumer, cx| {
        consumer.assign(cx, partitions(&[("t", 0)])).unwrap();
    });
    cluster.advance(1_000);
    let mut given = || {
        let records = cluster.call(id, |consumer, cx| consumer.poll(cx));
        let position = cluster.member(id).consumer.position(&partition("t", 0));
        (records.len(), position)
    };
    assert_eq!(given(), (4, Some(4)));
    assert_eq!(given(), (2, Some(6)));
    assert_eq!(given(), (0, Some(6)));
}

#[test]
fn what_is_paused_is_not_returned_and_not_lost() {
    let mut cluster = Cluster::new();
    cluster.create("t", 2, &[]);
    let id = cluster.consumer(&[]);
    cluster.call(id, |consumer, cx| {
        consumer.assign(cx, partitions(&[("t", 0), ("t", 1)])).unwrap();
        consumer.pause(&[partition("t", 1)]).unwrap();
    });
    cluster.advance(1_000);
    cluster.produce("t", 0, &["a"]);
    cluster.produce("t", 1, &["b"]);
    cluster.advance(1_000);
    assert_eq!(cluster.member(id).values(), ["a"]);
    assert_eq!(cluster.member(id).consumer.paused(), partitions(&[("t", 1)]));
    cluster.call(id, |consumer, cx| {
        consumer.resume(cx, &[partition("t", 1)]).unwrap();
    });
    cluster.advance(1_000);
    assert_eq!(cluster.member(id).values(), ["a", "b"]);
}

#[test]
fn offsets_are_found_by_time_and_at_the_ends() {
    let mut cluster = six_records();
    let id = assigned(&mut cluster, &[]);
    let t0 = partition("t", 0);
    let first_ms = cluster.member(id).records[0].timestamp;
    assert!(first_ms >= EPOCH_MS);
    let ask = |cluster: &mut Cluster, at: i64| {
        let times = OrderedMap::from([(partition("t", 0), at)]);
        cluster.call(id, |consumer, cx| consumer.offsets_for_times(cx, times).unwrap())
    };
    let found = |cluster: &mut Cluster| {
        cluster.advance(1_000);
        match cluster.member_mut(id).events.pop() {
            Some(ConsumerEvent::Offsets { result, .. }) => result.unwrap()[&t0],
            other => panic!("{other:?}"),
        }
    };
    ask(&mut cluster, first_ms + 11);
    let third = found(&mut cluster).unwrap();
    assert!(matches!(third, OffsetAndTimestamp { offset: 2, timestamp, .. } if timestamp == first_ms + 20));
    ask(&mut cluster, first_ms + 1_000_000);
    assert_eq!(found(&mut cluster), None, "nothing is so young");
    cluster.call(id, |consumer, cx| {
        consumer.beginning_offsets(cx, std::slice::from_ref(&t0))
    });
    assert_eq!(found(&mut cluster).unwrap().offset, 0);
    cluster.call(id, |consumer, cx| {
        consumer.end_offsets(cx, std::slice::from_ref(&t0))
    });
    assert_eq!(found(&mut cluster).unwrap().offset, 6);
    let refused = cluster.call(id, |consumer, cx| {
        consumer.offsets_for_times(cx, OrderedMap::from([(t0.clone(), -5)]))
    });
    assert_eq!(refused, Err(ConsumerError::NegativeTimestamp { timestamp: -5 }));
}

#[test]
fn a_look_up_that_nobody_answers_ends() {
    let mut cluster = Cluster::new();
    let id = cluster.consumer(&[
        ("default.api.timeout.ms", "2000"),
        ("allow.auto.create.topics", "false"),
    ]);
    cluster.member_mut(id).polls = false;
    cluster.call(id, |consumer, cx| {
        consumer.end_offsets(cx, &[partition("nowhere", 0)])
    });
    cluster.advance(1_999);
    assert!(cluster.member(id).events.is_empty());
    cluster.advance(2);
    assert!(matches!(
        &cluster.member(id).events[0],
        ConsumerEvent::Offsets {
            result: Err(ConsumerError::Timeout { ms: 2000, .. }),
            ..
        }
    ));
}

#[test]
fn reading_goes_on_after_the_broker_died() {
    let mut cluster = six_records();
    let id = assigned(&mut cluster, &[]);
    cluster.restart_broker();
    cluster.produce("t", 0, &["g"]);
    cluster.advance(5_000);
    assert_eq!(cluster.member(id).offsets(), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_poll_without_anything_to_read_is_an_error() {
    let mut cluster = Cluster::new();
    let id = cluster.consumer(&[]);
    cluster.advance(10);
    assert_eq!(cluster.member(id).errors()[0], ConsumerError::NotSubscribed);
    let refused = cluster.call(id, |consumer, cx| {
        consumer.subscribe(cx, names(&["t"]), crate::consumer::RebalanceListener::Absent)
    });
    assert_eq!(refused, Err(ConsumerError::NoGroup));
}

/// A copy of a consumer goes its own way.
#[test]
fn a_consumer_is_a_value() {
    let mut cluster = six_records();
    let id = assigned(&mut cluster, &[]);
    let copy = cluster.member(id).consumer.clone();
    cluster.produce("t", 0, &["g"]);
    cluster.advance(100);
    assert_eq!(copy.position(&partition("t", 0)), Some(6));
    assert_eq!(cluster.member(id).consumer.position(&partition("t", 0)), Some(7));
}
