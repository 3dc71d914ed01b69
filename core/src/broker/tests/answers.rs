//! Answers in their details, each as Apache Kafka 4.4 was seen to give it to the same request.

use super::client::*;
use super::requests::first_row;
use crate::error::ErrorCode;
use crate::protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use crate::protocol::messages::{
    DescribeTopicPartitionsRequest, InitProducerIdRequest, ListOffsetsRequest, message,
};
use crate::protocol::produce::ProduceRequest;
use crate::protocol::{RequestBody, ResponseBody};
use crate::record::{BatchBuilder, Codec};
use crate::sim::Host;
use crate::sim::host::EPOCH_MS;
use bytes::Bytes;

fn to_one_partition(
    transactional_id: Option<&str>,
    acks: i16,
    partition: i32,
    records: Bytes,
) -> RequestBody {
    let RequestBody::Produce(body) = produce_request("t", partition, acks, records) else {
        unreachable!("a produce request");
    };
    RequestBody::Produce(ProduceRequest {
        transactional_id: transactional_id.map(Into::into),
        ..body
    })
}

#[test]
fn a_transactional_id_alone_makes_no_transaction() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let conn = host.connect();
    for (id, offset) in [(Some("x"), 0), (Some(""), 1), (None, 2)] {
        let records = batch(&host, &["a"]);
        let answer = produced(host.ask(conn, PRODUCE, &to_one_partition(id, 1, 0, records)));
        let row = &answer.topics[0].partitions[0];
        assert_eq!((row.error_code, row.base_offset), (ErrorCode::None, offset));
    }
}

#[test]
fn a_partition_that_is_not_there_is_said_before_wrong_acks() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let conn = host.connect();
    let records = batch(&host, &["a"]);
    for (partition, code) in [
        (9, ErrorCode::UnknownTopicOrPartition),
        (0, ErrorCode::InvalidRequiredAcks),
    ] {
        let request = to_one_partition(None, 2, partition, records.clone());
        let answer = produced(host.ask(conn, PRODUCE, &request));
        assert_eq!(answer.topics[0].partitions[0].error_code, code);
    }
}

/// Sets the header's field at this byte and mends the checksum.
fn with_header_byte(batch: &Bytes, at: usize, value: u8) -> Bytes {
    let mut bytes = batch.to_vec();
    bytes[at] = value;
    let crc = crate::record::crc::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    bytes.into()
}

#[test]
fn a_batch_that_the_log_refuses_is_answered_with_the_logs_start() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let good = batch(&host, &["a"]);
    let two = Bytes::from([&good[..], &good[..]].concat());
    let mut torn = good.to_vec();
    torn[30] ^= 1;
    for (records, code, log_start) in [
        // Base offset 5; last offset delta 7.
        (with_header_byte(&good, 7, 5), ErrorCode::InvalidRecord, 0),
        (with_header_byte(&good, 26, 7), ErrorCode::InvalidRecord, 0),
        // Refused by the request's handler, and for damage.
        (two, ErrorCode::InvalidRecord, -1),
        (torn.into(), ErrorCode::CorruptMessage, -1),
    ] {
        let row = first_row(&mut host, 1, records);
        assert_eq!((row.error_code, row.log_start_offset), (code, log_start));
    }
}

#[test]
fn bytes_after_the_batch_may_be_cut_short_but_not_claim_what_no_batch_can_be() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let good = batch(&host, &["a"]);
    let followed_by = |rest: &[u8]| Bytes::from([&good[..], rest].concat());
    let code = |host: &mut Host, records| first_row(host, 1, records).error_code;
    assert_eq!(code(&mut host, followed_by(&[0; 11])), ErrorCode::None);
    assert_eq!(code(&mut host, followed_by(&good[..20])), ErrorCode::None);
    assert_eq!(code(&mut host, followed_by(&[0; 12])), ErrorCode::CorruptMessage);
    assert_eq!(code(&mut host, followed_by(&[0; 80])), ErrorCode::CorruptMessage);
}

#[test]
fn a_retried_batch_is_answered_with_its_own_time() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let mut builder = BatchBuilder::new(Codec::None).producer(7, 0, 0);
    builder.append(EPOCH_MS - 5, None, Some(b"a"), &[]);
    let records = builder.build();
    assert_eq!(first_row(&mut host, -1, records.clone()).log_append_time_ms, -1);
    let retried = first_row(&mut host, -1, records);
    assert_eq!(
        (retried.base_offset, retried.log_append_time_ms),
        (0, EPOCH_MS - 5)
    );
}

fn offsets(host: &mut Host, version: i16, asked: &[(i64, i32)]) -> Vec<(i16, i64)> {
    let body = message(|body: &mut ListOffsetsRequest| {
        body.replica_id = -1;
        body.topics = vec![message(|topic: &mut ListOffsetsTopic| {
            topic.name = "t".into();
            topic.partitions = asked
                .iter()
                .map(|&(timestamp, epoch)| {
                    message(|row: &mut ListOffsetsPartition| {
                        row.timestamp = timestamp;
                        row.current_leader_epoch = epoch;
                    })
                })
                .collect();
        })];
    });
    let conn = host.connect();
    match host.ask(conn, version, &RequestBody::ListOffsets(body)) {
        Some(ResponseBody::ListOffsets(answer)) => {
            let rows = answer.topics.iter().flat_map(|topic| &topic.partitions);
            rows.map(|row| (row.error_code, row.offset)).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn special_times_need_their_version_and_others_below_zero_are_none() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let unsupported = ErrorCode::UnsupportedVersion.code();
    for (version, timestamp, code) in [
        (6, -3, unsupported),
        (7, -3, 0),
        (7, -4, unsupported),
        (10, -6, unsupported),
        (11, -6, 0),
        (11, -7, unsupported),
        (11, -100, unsupported),
    ] {
        let found = offsets(&mut host, version, &[(timestamp, -1)]);
        assert_eq!(found[0].0, code, "{timestamp} in version {version}");
    }
}

#[test]
fn a_partition_asked_for_twice_is_refused_once() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let refused = (ErrorCode::InvalidRequest.code(), -1);
    assert_eq!(offsets(&mut host, 7, &[(-1, -1), (-2, -1), (-1, -1)]), [refused]);
    assert!(offsets(&mut host, 7, &[]).is_empty(), "no partition, no topic");
}

#[test]
fn an_epoch_below_the_one_that_means_none_is_an_old_epoch() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let fenced = (ErrorCode::FencedLeaderEpoch.code(), -1);
    assert_eq!(offsets(&mut host, 7, &[(-1, -2)]), [fenced]);
    assert_eq!(offsets(&mut host, 7, &[(-1, -1)]), [(0, 0)]);
}

#[test]
fn a_producer_names_its_id_and_its_epoch_or_neither() {
    let mut host = broker();
    let conn = host.connect();
    for (id, epoch, code) in [(-1, -1, 0), (5, 0, 0), (5, -1, 42), (-1, 5, 42), (-1, -2, 42)] {
        let body = message(|body: &mut InitProducerIdRequest| {
            body.transactional_id = None;
            body.transaction_timeout_ms = 1000;
            body.producer_id = id;
            body.producer_epoch = epoch;
        });
        match host.ask(conn, 4, &RequestBody::InitProducerId(body)) {
            Some(ResponseBody::InitProducerId(answer)) => assert_eq!(answer.error_code, code),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn partitions_that_nobody_knows_come_last_in_an_answer() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let mut request = fetch_request("nope", 0, 0, 1);
    request.topics.extend(fetch_request("t", 0, 0, 1).topics);
    let conn = host.connect();
    let answer = fetched(host.ask(conn, FETCH, &RequestBody::Fetch(request)));
    let names: Vec<&str> = answer.topics.iter().map(|topic| &*topic.name).collect();
    assert_eq!(names, ["t", "nope"]);
    let aborted = |at: usize| &answer.topics[at].partitions[0].aborted_transactions;
    assert_eq!((aborted(0), aborted(1)), (&None, &Some(Vec::new())));
}

#[test]
fn a_cursor_points_into_what_is_asked_for() {
    use crate::protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
    let mut host = broker();
    for name in ["a", "b", "c"] {
        make_topic(&mut host, name);
    }
    let conn = host.connect();
    for (at, code) in [("c", 0), ("b", 42), ("zz", 42)] {
        let body = message(|body: &mut DescribeTopicPartitionsRequest| {
            let named = |name: &str| message(|topic: &mut TopicRequest| topic.name = name.into());
            body.topics = vec![named("a"), named("c")];
            body.response_partition_limit = 10;
            body.cursor = Some(message(|cursor: &mut Cursor| cursor.topic_name = at.into()));
        });
        match host.ask(conn, 0, &RequestBody::DescribeTopicPartitions(body)) {
            Some(ResponseBody::DescribeTopicPartitions(answer)) => {
                assert!(answer.topics.iter().all(|topic| topic.error_code == code), "{at}");
            }
            other => panic!("{other:?}"),
        }
    }
}
