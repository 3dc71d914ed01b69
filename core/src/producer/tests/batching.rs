//! When batches go out: linger, size, memory, flush, close.

use super::cluster::*;
use crate::producer::{ProducerEvent, ProducerRecord};
use crate::trace::ProducerFact;

#[test]
fn a_batch_lingers_and_takes_what_comes() {
    let mut scene = Scene::new(1, &[("linger.ms", "50")]).warm();
    scene.send(0, &["a"]);
    scene.advance(30);
    scene.send(0, &["b", "c"]);
    scene.advance(19);
    assert_eq!(scene.drained(), []);
    scene.advance(1);
    assert_eq!(scene.drained(), [(3, "linger.ms is over")]);
    assert_eq!(scene.stored(0), ["first", "a", "b", "c"]);
}

#[test]
fn a_full_batch_waits_for_nothing() {
    let pairs = [("linger.ms", "10000"), ("batch.size", "300")];
    let mut scene = Scene::new(1, &pairs).warm();
    let value = "x".repeat(50);
    for _ in 0..5 {
        scene.send(0, &[&value]);
    }
    scene.advance(1);
    assert_eq!(
        scene.drained(),
        [(4, "it is full")],
        "the fifth waits for company"
    );
    scene.advance(10_000);
    assert_eq!(scene.stored(0).len(), 6);
}

#[test]
fn short_memory_sends_what_is_there_and_blocks_the_next_record() {
    let pairs = [
        ("linger.ms", "60000"),
        ("batch.size", "1000"),
        ("buffer.memory", "2000"),
        ("delivery.timeout.ms", "120000"),
    ];
    let mut scene = Scene::new(3, &pairs).warm();
    assert_eq!(scene.producer.memory_available_bytes(), 2_000);
    scene.send(0, &["a"]);
    scene.send(1, &["b"]);
    assert_eq!(scene.producer.memory_available_bytes(), 0);
    scene.send(2, &["c"]);
    assert!(scene.producer.is_blocked());
    let blocked = |fact: &ProducerFact| matches!(fact, ProducerFact::RecordBlocked { why, .. } if why == "buffer.memory is used up");
    assert_eq!(scene.count(blocked), 1);
    scene.pump();
    assert!(!scene.producer.is_blocked());
    assert_eq!(scene.drained(), [(1, "memory is short"), (1, "memory is short")]);
    scene.advance(60_000);
    assert_eq!(scene.stored(2), ["c"]);
    assert_eq!(scene.producer.memory_available_bytes(), 2_000);
}

#[test]
fn a_full_buffer_blocks_and_then_fails() {
    let pairs = [
        ("batch.size", "1000"),
        ("buffer.memory", "1000"),
        ("max.block.ms", "2000"),
    ];
    let mut scene = Scene::new(1, &pairs).warm();
    scene.wires.holds_answers = true;
    let value = "x".repeat(900);
    scene.send(0, &[&value, &value]);
    scene.advance(1_999);
    assert!(scene.producer.is_blocked());
    scene.advance(1);
    assert_eq!(
        scene.error(2),
        "Failed to allocate 1000 bytes within the configured max blocking time 2000 ms. Total memory: 1000 \
         bytes. Available memory: 0 bytes. Poolable size: 1000 bytes"
    );
    scene.wires.holds_answers = false;
    scene.advance(1_000);
    assert_eq!(scene.stored(0).len(), 2);
    let id = scene.send_record(ProducerRecord::new("t", "x".repeat(1_500).as_str()));
    assert!(scene.error(id).contains("larger than the total memory buffer"));
}

#[test]
fn a_flush_ends_when_what_was_sent_before_has_ended() {
    let mut scene = Scene::new(2, &[("linger.ms", "60000"), ("delivery.timeout.ms", "120000")]).warm();
    scene.send(0, &["a"]);
    scene.send(1, &["b"]);
    scene.advance(1_000);
    assert!(scene.signals.is_empty() && scene.drained().is_empty());
    let flush = scene.call(|producer, cx| producer.flush(cx));
    assert_eq!(scene.signals, [ProducerEvent::Flushed { id: flush }]);
    assert_eq!(scene.ended.len(), 3);
    assert!(
        scene
            .drained()
            .iter()
            .all(|(_, why)| *why == "somebody waits for a flush")
    );
    scene.send(0, &["c"]);
    scene.advance(1_000);
    assert_eq!(scene.stored(0), ["first", "a"], "what comes after lingers again");
    let next = scene.call(|producer, cx| producer.flush(cx));
    assert_eq!(scene.signals[1], ProducerEvent::Flushed { id: next });
    let empty = scene.call(|producer, cx| producer.flush(cx));
    assert_eq!(scene.signals[2], ProducerEvent::Flushed { id: empty });
}

#[test]
fn a_flush_waits_for_blocked_records_too() {
    let mut scene = Scene::new(1, &[("linger.ms", "60000"), ("delivery.timeout.ms", "120000")]);
    scene.send(0, &["a"]);
    scene.turn(|producer, cx| producer.flush(cx));
    assert!(scene.producer.is_blocked() && scene.signals.is_empty());
    scene.advance(1_000);
    assert_eq!(scene.signals.len(), 1);
    assert_eq!(scene.stored(0), ["a"]);
}

#[test]
fn a_producer_that_closes_sends_what_it_has_and_takes_no_more() {
    let mut scene = Scene::new(1, &[("linger.ms", "60000"), ("delivery.timeout.ms", "120000")]).warm();
    scene.send(0, &["a"]);
    scene.turn(|producer, cx| producer.close(cx, 30_000));
    let late = scene.send_record(ProducerRecord::new("t", "late"));
    assert_eq!(
        scene.error(late),
        "Cannot perform operation after producer has been closed"
    );
    assert!(!scene.producer.is_closed());
    scene.pump();
    assert!(scene.producer.is_closed());
    assert_eq!(scene.signals, [ProducerEvent::Closed]);
    assert_eq!(scene.stored(0), ["first", "a"]);
    assert_eq!(scene.producer.poll_timeout(), None);
}

#[test]
fn what_is_left_when_closing_takes_too_long_fails() {
    let mut scene = Scene::new(1, &[]).warm();
    scene.wires.holds_answers = true;
    scene.send(0, &["a"]);
    scene.send_record(ProducerRecord::new("not-known", "b"));
    scene.turn(|producer, cx| producer.close(cx, 500));
    assert_eq!(scene.error(2), "Producer closed while send in progress");
    scene.advance(499);
    assert!(!scene.producer.is_closed());
    scene.advance(1);
    assert_eq!(scene.error(1), "Producer is closed forcefully.");
    assert_eq!(scene.signals, [ProducerEvent::Closed]);
    assert_eq!(
        scene.producer.memory_available_bytes(),
        scene.producer.config().buffer_memory_bytes
    );
}

#[test]
fn records_without_a_key_stick_until_a_batch_is_full() {
    let pairs = [("batch.size", "500"), ("linger.ms", "10")];
    let mut scene = Scene::new(8, &pairs).warm();
    let value = "x".repeat(40);
    for _ in 0..200 {
        scene.send_record(ProducerRecord::new("t", value.as_str()));
        scene.advance(1);
    }
    scene.advance(100);
    let switches = scene.count(|fact| matches!(fact, ProducerFact::StickySwitched { .. }));
    // Nine records fill a batch; after one or two such batches another partition is chosen.
    assert!((10..=21).contains(&switches), "{switches}");
    let drained = scene.drained();
    let full = drained
        .iter()
        .filter(|batch| **batch == (9, "it is full"))
        .count();
    assert!(full >= 18, "{drained:?}");
    let used = (0..8).filter(|index| !scene.stored(*index).is_empty()).count();
    assert!(used >= 5, "{used} partitions");
}
