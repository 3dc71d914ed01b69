//! What is on its way to a slow consumer is pages of the log's own files. Meanwhile the records are
//! deleted, by DeleteRecords, by retention, by DeleteTopics, and others are written: whatever a consumer
//! still receives is what was written, and nobody else is held up.

use std::path::Path;

use bytes::Bytes;
use highwater_core::error::ErrorCode;
use highwater_core::protocol::ApiKey;
use highwater_core::record::compression::PureRust;
use highwater_core::record::{BatchBuilder, Codec};
use highwater_core::types::Offset;
use highwater_tests::broker::TestBroker;
use highwater_tests::requests::*;
use highwater_tests::wire::WireClient;

const TOPIC: &str = "t";
/// What is written into the topic of that name that comes after the deleted one.
const SUCCESSOR: &str = "successor";
const VALUE_BYTES: usize = 60 << 10;
/// Far more than the buffers of a connection hold.
const BATCHES: i64 = 400;
const CONSUMERS: usize = 8;
/// Fetches that each consumer sends before it reads the first answer.
const FETCHES: i64 = 4;
const SMALL_AND_SOON_GONE: [(&str, &str); 2] = [("segment.bytes", "1048576"), ("file.delete.delay.ms", "0")];
const FETCH_BYTES: i32 = 8 << 20;

fn value(topic: &str, offset: Offset) -> String {
    // Every part of it says where it belongs.
    let piece = format!("{topic}@{offset};");
    piece.repeat(VALUE_BYTES / piece.len())
}

fn batch(topic: &str, offset: Offset) -> Bytes {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mut batch = BatchBuilder::new(Codec::None);
    let value = value(topic, offset);
    batch.append(
        now.expect("a clock").as_millis() as i64,
        None,
        Some(value.as_bytes()),
        &[],
    );
    batch.build()
}

fn fill(client: &mut WireClient, topic: &str) {
    for offset in 0..BATCHES {
        assert_eq!(produce(client, topic, 0, batch(topic, offset)), Ok(offset));
    }
}

/// Consumers that have asked for everything and read nothing: the broker is in the middle of sending.
fn slow_consumers(broker: &TestBroker, topic: &str) -> Vec<WireClient> {
    let consumer = |number: usize| {
        let mut client = WireClient::connect(&broker.address());
        for fetch in 0..FETCHES {
            let offset = (number as i64 * 13 + fetch * 100) % BATCHES;
            assert!(client.send(FETCH, &fetch_request(topic, 0, offset, FETCH_BYTES)));
        }
        client
    };
    (0..CONSUMERS).map(consumer).collect()
}

/// What one consumer finally reads.
#[derive(Default)]
struct Read {
    answers: i64,
    batches: usize,
}

/// Reads all answers: each byte as it was written, or the end of the connection.
fn read_slowly(client: &mut WireClient, topic: &str) -> Read {
    let mut read = Read::default();
    for correlation_id in 1..=FETCHES as i32 {
        let Some(answer) = client.receive(ApiKey::Fetch, FETCH, correlation_id) else {
            return read;
        };
        read.answers += 1;
        let answer = fetched(answer);
        if answer.error_code != ErrorCode::None {
            continue;
        }
        for batch in batches(&answer) {
            let offset = batch.header.base_offset;
            let mut records = batch.records(&PureRust, 1 << 20).expect("records");
            let record = records
                .next()
                .expect("a record")
                .expect("a record that can be read");
            let found = record.value.expect("a value");
            let as_written = |topic| found == value(topic, offset);
            assert!(
                as_written(topic) || as_written(SUCCESSOR),
                "other bytes at {offset}"
            );
            read.batches += 1;
        }
    }
    read
}

fn segments(partition: &Path) -> usize {
    let Ok(files) = std::fs::read_dir(partition) else {
        return 0;
    };
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    names
        .filter(|name| name.ends_with(".log") || name.ends_with(".log.deleted"))
        .count()
}

fn is_anywhere(data: &Path, topic: &str) -> bool {
    let directories = std::fs::read_dir(data).expect("read the log directory");
    let names = directories.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .into_iter()
        .any(|name| name.starts_with(&format!("{topic}-")))
}

/// Lets another connection produce and consume until it is so; that others go on is part of the proof.
fn others_go_on_until(client: &mut WireClient, mut is_so: impl FnMut() -> bool) {
    let mut offset = 0;
    loop {
        assert_eq!(produce(client, "other", 0, batch("other", offset)), Ok(offset));
        let answer = fetch(client, "other", 0, offset);
        let found = batches(&answer);
        assert_eq!(found.first().map(|batch| batch.header.base_offset), Some(offset));
        if is_so() {
            return;
        }
        offset += 1;
        assert!(offset < 100_000, "the files are never deleted");
    }
}

/// Has consumers in the middle of what `delete` deletes; `is_gone` says when its files are.
fn delete_under_consumers(delete: impl FnOnce(&mut WireClient), is_gone: impl Fn(&Path) -> bool) {
    let broker = TestBroker::start(&["log.retention.check.interval.ms=50"]);
    let mut client = WireClient::connect(&broker.address());
    for topic in [TOPIC, "other"] {
        create_topic(&mut client, topic, 1, &SMALL_AND_SOON_GONE).expect("a topic");
    }
    fill(&mut client, TOPIC);
    let mut consumers = slow_consumers(&broker, TOPIC);
    // Each has an answer on its way before anything is deleted.
    for consumer in &consumers {
        let mut first = [0];
        assert_eq!(consumer.stream().peek(&mut first).expect("the first byte"), 1);
    }
    delete(&mut client);
    let data = broker.data();
    others_go_on_until(&mut client, || is_gone(&data));
    let mut whole = 0;
    for consumer in &mut consumers {
        let read = read_slowly(consumer, TOPIC);
        assert!(read.batches > 0 || read.answers < FETCHES);
        whole += usize::from(read.answers == FETCHES);
    }
    // A deleted file keeps its pages as long as somebody has it open: nobody need be cut off.
    assert_eq!(whole, CONSUMERS, "consumers that were not cut off");
    // And nobody else was.
    assert!(topic_id(&mut client, "other").is_some());
}

#[test]
fn deleted_records_on_their_way_arrive_as_they_were_written() {
    delete_under_consumers(
        |client| assert_eq!(delete_records(client, TOPIC, 0, -1), Ok(BATCHES)),
        |data| segments(&data.join("t-0")) == 1,
    );
}

#[test]
fn a_deleted_topic_on_its_way_arrives_as_it_was_written() {
    delete_under_consumers(
        |client| {
            assert_eq!(delete_topic(client, TOPIC), ErrorCode::None);
            // Another of the same name, in the same place.
            create_topic(client, TOPIC, 1, &SMALL_AND_SOON_GONE).expect("the topic again");
            for offset in 0..50 {
                assert_eq!(produce(client, TOPIC, 0, batch(SUCCESSOR, offset)), Ok(offset));
            }
            assert_eq!(delete_topic(client, TOPIC), ErrorCode::None);
        },
        |data| !is_anywhere(data, TOPIC),
    );
}

#[test]
fn what_retention_deletes_on_its_way_arrives_as_it_was_written() {
    delete_under_consumers(
        |client| alter_topic_config(client, TOPIC, "retention.bytes", "1048576"),
        |data| segments(&data.join("t-0")) <= 2,
    );
}

/// A batch that has to be unpacked at length is checked apart, and what came behind it waits.
#[test]
fn large_compressed_batches_keep_their_place_in_a_connection() {
    let broker = TestBroker::start(&[]);
    let mut client = WireClient::connect(&broker.address());
    create_topic(&mut client, TOPIC, 1, &[]).expect("a topic");
    let mut seed = 1u32;
    let mut noise = |bytes: usize| -> Vec<u8> {
        let next = |_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        };
        (0..bytes).map(next).collect()
    };
    let mut sizes = Vec::new();
    for number in 0..12 {
        let bytes = if number % 3 == 2 { 10 } else { 400 << 10 };
        let mut batch = BatchBuilder::new(Codec::Gzip);
        batch.append(0, None, Some(&noise(bytes)), &[]);
        let batch = batch.build();
        sizes.push(batch.len());
        assert!(client.send(PRODUCE, &produce_request(TOPIC, 0, -1, batch)));
    }
    assert!(client.send(FETCH, &fetch_request(TOPIC, 0, 0, 1)));
    for number in 1..=12 {
        let answer = client
            .receive(ApiKey::Produce, PRODUCE, 1 + number)
            .expect("an answer");
        assert_eq!(produced(answer), Ok(i64::from(number) - 1));
    }
    let answer = client.receive(ApiKey::Fetch, FETCH, 14).expect("an answer");
    assert_eq!(fetched(answer).high_watermark, 12);
    let found = read_log(&mut client, TOPIC, 0, 0);
    let found: Vec<usize> = found.iter().map(|batch| batch.bytes.len()).collect();
    assert_eq!(found, sizes);
}
