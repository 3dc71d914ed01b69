//! A record's way into a log: where it goes, what it becomes, what stops it before.

use super::cluster::*;
use crate::client::tests::{create_topic, read_partition};
use crate::error::ErrorCode;
use crate::producer::partitioner::murmur2;
use crate::producer::{Data, ProducerError, ProducerInterceptor, ProducerRecord, RecordMetadata, Stages};
use crate::trace::ProducerFact;

#[test]
fn a_record_is_stored_and_acknowledged_where_it_lies() {
    let mut scene = Scene::new(1, &[]);
    let record = ProducerRecord::new("t", "value")
        .key("key")
        .timestamp_ms(77)
        .header("h", Some("1".into()));
    assert_eq!(scene.send_record(record), 0);
    assert!(scene.producer.is_blocked(), "nothing is known yet");
    scene.advance(1_000);
    assert!(!scene.producer.is_blocked());
    let metadata = scene.ended[&0].clone().unwrap();
    assert_eq!((metadata.offset, metadata.timestamp_ms), (0, 77));
    assert_eq!(
        (metadata.serialized_key_bytes, metadata.serialized_value_bytes),
        (3, 5)
    );
    let stored = read_partition(&mut scene.host, "t", 0).remove(0);
    assert_eq!(stored.key.as_deref(), Some(&b"key"[..]));
    assert_eq!(stored.value.as_deref(), Some(&b"value"[..]));
    assert_eq!((stored.timestamp, &stored.headers[0].key[..]), (77, &b"h"[..]));
}

#[test]
fn each_stage_of_a_record_is_told() {
    let mut scene = Scene::new(1, &[("linger.ms", "0")]);
    scene.send_record(ProducerRecord::new("t", "v"));
    scene.advance(1_000);
    let told: Vec<String> = scene.facts.iter().map(ToString::to_string).collect();
    let starts = [
        "record 0 waits until",
        "begins with batch.size=16384, linger.ms=0",
        "is producer",
        "record 0: key null, value of 1 bytes",
        "records of t without a key go to partition 0 now",
        "record 0 goes to t-0",
        "t-0: record 0 is in batch 0",
        "t-0: batch 0 goes out with 1 records",
        "sends batches [0] to broker 1",
        "t-0: batch 0 is acknowledged, 1 records from offset 0",
    ];
    assert_eq!(told.len(), starts.len(), "{told:#?}");
    for (told, start) in told.iter().zip(starts) {
        assert!(told.starts_with(start), "{told}: {start}");
    }
}

#[test]
fn keys_decide_unless_they_are_ignored() {
    for ignored in ["false", "true"] {
        let mut scene = Scene::new(4, &[("partitioner.ignore.keys", ignored)]).warm();
        let keys: Vec<String> = (0..40).map(|number| format!("key-{number}")).collect();
        for key in keys.iter().chain(&keys) {
            scene.send_record(ProducerRecord::new("t", key.as_str()).key(key.as_str()));
        }
        scene.advance(1_000);
        let mut used = 0;
        for index in 0..4 {
            let stored = scene.stored(index);
            let mut stored = stored.iter().filter(|value| *value != "first").peekable();
            used += usize::from(stored.peek().is_some());
            if ignored == "false" {
                assert!(stored.all(|key| murmur2::partition_for_key(key.as_bytes(), 4) == index));
            }
        }
        assert_eq!(used, if ignored == "false" { 4 } else { 1 });
    }
}

#[test]
fn what_cannot_be_sent_fails_alone() {
    let mut scene = Scene::new(1, &[("max.request.size", "1000")]).warm();
    let long = "x".repeat(2_000);
    let cases = [
        (
            ProducerRecord::new("t", Data::Integer(1)),
            "StringSerializer takes no integer",
        ),
        (
            ProducerRecord::new("t", long.as_str()),
            "The message is 2086 bytes when serialized which is larger than 1000, which is the value of the \
             max.request.size configuration.",
        ),
        (
            ProducerRecord::new("t", "v").partition(-1),
            "Invalid partition: -1. Partition number should always be non-negative or null.",
        ),
        (
            ProducerRecord::new("t", "v").timestamp_ms(-5),
            "Invalid timestamp: -5. Timestamp should always be non-negative or null.",
        ),
    ];
    for (record, line) in cases {
        let id = scene.send_record(record);
        assert_eq!(scene.error(id), line);
    }
    let id = scene.send_record(ProducerRecord::new("t", "good"));
    scene.advance(1_000);
    assert!(scene.ended[&id].is_ok());
}

#[test]
fn an_unknown_topic_is_waited_for_and_holds_up_no_other() {
    let broker = ["auto.create.topics.enable=false"];
    let mut scene = Scene::on(&broker, 1, &[], &[("max.block.ms", "5000")]).warm();
    let unknown = scene.send_record(ProducerRecord::new("none", "v"));
    let other = scene.send_record(ProducerRecord::new("t", "v"));
    scene.advance(1_000);
    assert!(scene.ended[&other].is_ok());
    assert!(scene.producer.is_blocked());
    scene.advance(5_000);
    assert_eq!(
        scene.error(unknown),
        "Topic none not present in metadata after 5000 ms."
    );
    assert_eq!(scene.code(unknown), Some(ErrorCode::RequestTimedOut));
    let beyond = scene.send_record(ProducerRecord::new("t", "v").partition(7));
    scene.advance(6_000);
    assert_eq!(
        scene.error(beyond),
        "Partition 7 of topic t with partition count 1 is not present in metadata after 5000 ms."
    );
    let invalid = scene.send_record(ProducerRecord::new("a b", "v"));
    scene.advance(1_000);
    assert_eq!(scene.code(invalid), Some(ErrorCode::InvalidTopicException));
}

#[test]
fn a_topic_that_comes_while_a_record_waits_is_found() {
    let broker = ["auto.create.topics.enable=false"];
    let mut scene = Scene::on(&broker, 0, &[], &[]);
    scene.send(0, &["a", "b"]);
    scene.advance(3_000);
    assert!(scene.producer.is_blocked());
    create_topic(&mut scene.host, "t", 1, &[]);
    scene.advance(3_000);
    assert_eq!(scene.stored(0), ["a", "b"], "in order");
}

#[test]
fn with_max_block_of_nothing_a_record_fails_at_once_and_the_next_may_not() {
    let mut scene = Scene::new(1, &[("max.block.ms", "0")]);
    scene.send(0, &["early"]);
    assert_eq!(scene.error(0), "Topic t not present in metadata after 0 ms.");
    scene.advance(1_000);
    scene.send(0, &["late"]);
    scene.advance(1_000);
    assert_eq!(scene.stored(0), ["late"]);
}

#[test]
fn acks_say_when_a_record_counts_as_sent() {
    for (acks, offset) in [("all", 1), ("1", 1), ("0", -1)] {
        let mut scene = Scene::new(1, &[("acks", acks)]);
        scene.send(0, &["a", "b"]);
        scene.advance(1_000);
        assert_eq!(scene.stored(0), ["a", "b"], "acks={acks}");
        assert_eq!(scene.ended[&1].as_ref().unwrap().offset, offset, "acks={acks}");
    }
}

#[test]
fn batches_are_compressed_and_log_append_time_is_told() {
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let topic = [("message.timestamp.type", "LogAppendTime")];
        let mut scene = Scene::on(&[], 1, &topic, &[("compression.type", codec)]);
        let value = "abcdefgh".repeat(100);
        scene.send(0, &[&value, &value, "c"]);
        scene.advance(1_000);
        assert_eq!(scene.stored(0), [value.as_str(), value.as_str(), "c"], "{codec}");
        let metadata = scene.ended[&2].as_ref().unwrap();
        assert!(metadata.timestamp_ms >= crate::sim::host::EPOCH_MS);
        let packed = scene.facts.iter().find_map(|fact| match fact {
            ProducerFact::BatchDrained { bytes, .. } => Some(*bytes),
            _ => None,
        });
        assert_eq!(packed.unwrap() > 1_600, codec == "none", "{codec}: {packed:?}");
    }
}

/// Marks the value, and fails at the record's end, saying what that was.
#[derive(Clone, Debug)]
struct Marks;

impl ProducerInterceptor for Marks {
    fn name(&self) -> &str {
        "marks"
    }

    fn on_send(&mut self, record: &ProducerRecord) -> Result<ProducerRecord, String> {
        match &record.value {
            Data::Text(text) => Ok(ProducerRecord {
                value: Data::Text(format!("{text}!")),
                ..record.clone()
            }),
            _ => Err("no text".to_owned()),
        }
    }

    fn on_acknowledgement(
        &mut self,
        metadata: &RecordMetadata,
        error: Option<&ProducerError>,
    ) -> Result<(), String> {
        let (place, offset) = (&metadata.partition, metadata.offset);
        Err(format!(
            "{place} {offset} {}",
            if error.is_some() { "failed" } else { "good" }
        ))
    }

    fn boxed_clone(&self) -> Box<dyn ProducerInterceptor> {
        Box::new(self.clone())
    }
}

#[test]
fn interceptors_see_a_record_before_and_once_after_and_their_failures_harm_nothing() {
    let config = config(&[]);
    let stages = Stages::named(&config).unwrap().interceptor(Box::new(Marks));
    let mut scene = Scene::staged(&[], 1, &[], config, stages);
    scene.send(0, &["a"]);
    scene.advance(1_000);
    scene.send_record(ProducerRecord::new("t", Data::Integer(1)));
    scene.send_record(ProducerRecord::new("t", "b").partition(-3));
    assert_eq!(scene.stored(0), ["a!"]);
    let said: Vec<String> = scene
        .facts
        .iter()
        .filter(|fact| matches!(fact, ProducerFact::InterceptorFailed { .. }))
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        said,
        [
            "interceptor marks fails: t-0 0 good",
            "interceptor marks fails: no text",
            "interceptor marks fails: t--1 -1 failed",
            "interceptor marks fails: t--3 -1 failed",
        ]
    );
}
