//! Partitions that Apache Kafka 4.4 wrote, read here and compared with what its consumer read.

use super::super::builder::end_transaction_batch;
use super::super::compression::Codec;
use super::super::control::EndTransactionMarker;
use super::super::{BatchBuilder, HEADER_BYTES, TimestampType};
use super::{batches, header, records};

macro_rules! fixture {
    ($path:literal) => {
        include_bytes!(concat!("../../../../tests/fixtures/", $path)).as_slice()
    };
}

const EXPECTED: &str = include_str!("../../../../tests/fixtures/expected-records.tsv");

const LOGS: &[(&str, &[u8])] = &[
    ("fx-records", fixture!("fx-records-0/00000000000000000000.log")),
    ("fx-records", fixture!("fx-records-0/00000000000000000020.log")),
    ("fx-txn", fixture!("fx-txn-0/00000000000000000000.log")),
    ("fx-txn", fixture!("fx-txn-0/00000000000000000004.log")),
    (
        "fx-appendtime",
        fixture!("fx-appendtime-0/00000000000000000000.log"),
    ),
    ("fx-compact", fixture!("fx-compact-0/00000000000000000000.log")),
    ("fx-compact", fixture!("fx-compact-0/00000000000000000014.log")),
    (
        "offsets",
        fixture!("__consumer_offsets-0/00000000000000000000.log"),
    ),
    (
        "offsets",
        fixture!("__consumer_offsets-1/00000000000000000000.log"),
    ),
    (
        "transactions",
        fixture!("__transaction_state-0/00000000000000000000.log"),
    ),
    (
        "transactions",
        fixture!("__transaction_state-1/00000000000000000000.log"),
    ),
];

/// The line that `expected-records.tsv` has for a record.
fn line(topic: &str, kind: TimestampType, record: &super::Record) -> String {
    let text = |field: &Option<bytes::Bytes>| match field {
        Some(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        None => "\\N".to_owned(),
    };
    let headers: String = record
        .headers
        .iter()
        .map(|header| {
            let key = String::from_utf8(header.key.to_vec()).unwrap();
            let value = header.value.as_ref().map_or("null".to_owned(), |value| {
                String::from_utf8(value.to_vec()).unwrap()
            });
            format!("{key}={value};")
        })
        .collect();
    format!(
        "read_uncommitted\t{topic}\t{}\t{}\t{}\t{}\t{}\t{headers}",
        record.offset,
        kind.name(),
        record.timestamp,
        text(&record.key),
        text(&record.value)
    )
}

#[test]
fn every_record_is_what_a_java_consumer_reads() {
    for topic in ["fx-records", "fx-txn", "fx-appendtime"] {
        let mut found = Vec::new();
        for (_, log) in LOGS.iter().filter(|(name, _)| *name == topic) {
            for batch in batches(log).iter().filter(|batch| !batch.header.is_control()) {
                let kind = batch.header.timestamp_type();
                found.extend(records(batch).iter().map(|record| line(topic, kind, record)));
            }
        }
        let prefix = format!("read_uncommitted\t{topic}\t");
        let expected: Vec<&str> = EXPECTED
            .lines()
            .filter(|line| line.starts_with(&prefix))
            .collect();
        assert!(!expected.is_empty());
        assert_eq!(found, expected);
    }
}

#[test]
fn headers_and_checksums_are_right_and_headers_encode_back() {
    for (name, log) in LOGS {
        let mut bytes = 0;
        for batch in batches(log) {
            assert_eq!(batch.check_crc(), Ok(()), "{name}");
            let header = batch.header;
            assert_eq!(header.encode()[..], batch.bytes[..HEADER_BYTES], "{name}");
            assert_eq!(header.compute_crc(batch.body()), header.crc, "{name}");
            assert_eq!(records(&batch).len(), header.record_count as usize, "{name}");
            bytes += batch.bytes.len();
        }
        assert_eq!(bytes, log.len());
    }
}

#[test]
fn building_the_same_records_gives_the_bytes_that_java_wrote() {
    let mut compared = 0;
    for (name, log) in LOGS {
        for batch in batches(log) {
            let header = batch.header;
            if header.codec() != Some(Codec::None) {
                continue;
            }
            let mut builder = BatchBuilder::new(Codec::None)
                .base_offset(header.base_offset)
                .leader_epoch(header.partition_leader_epoch)
                .producer(header.producer_id, header.producer_epoch, header.base_sequence)
                .transactional(header.is_transactional())
                .control(header.is_control());
            for record in records(&batch) {
                builder.append(
                    record.timestamp,
                    record.key.as_deref(),
                    record.value.as_deref(),
                    &record.headers,
                );
            }
            assert_eq!(builder.build(), batch.bytes, "{name}");
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn markers_read_and_write_as_java_does() {
    let mut markers = Vec::new();
    for (_, log) in LOGS {
        for batch in batches(log).iter().filter(|batch| batch.header.is_control()) {
            let records = records(batch);
            let marker = EndTransactionMarker::parse(&records[0]).unwrap();
            let header = batch.header;
            let ours = end_transaction_batch(
                marker,
                header.producer_id,
                header.producer_epoch,
                records[0].timestamp,
            );
            // All but base offset and leader epoch, which the append gives.
            assert_eq!(ours[16..], batch.bytes[16..]);
            markers.push(marker.control_type);
        }
    }
    use super::super::control::ControlType::{Abort, Commit};
    assert_eq!(markers, [Commit, Abort, Commit, Abort, Commit]);
}

#[test]
fn a_compacted_batch_keeps_its_span_and_its_horizon() {
    let compacted = &batches(LOGS[5].1)[..];
    let (first, last) = (compacted[0].header, compacted[compacted.len() - 1].header);
    assert_eq!(first.base_offset, 0);
    assert!(i64::from(first.record_count) < first.next_offset());
    assert_eq!(last.next_offset(), 14);
    assert!(
        compacted
            .iter()
            .any(|batch| batch.header.delete_horizon_ms().is_some())
    );
    for batch in compacted {
        // Deltas count from the horizon where there is one: the times come out as they went in.
        assert!(records(batch).iter().all(|r| r.timestamp >= 1_700_000_000_000));
    }
}

#[test]
fn java_headers_are_kept_null_and_repeated() {
    let first = records(&batches(LOGS[0].1)[0]);
    assert_eq!(first[1].headers, [header("h1", Some("one")), header("h2", None)]);
    assert_eq!((&first[1].key, first[2].value.as_deref()), (&None, None));
    assert_eq!(first[3].key.as_deref(), Some(&b""[..]));
    assert_eq!(first[3].value.as_deref(), Some(&b""[..]));
    assert_eq!(first[3].headers[0].key, first[3].headers[1].key);
}
