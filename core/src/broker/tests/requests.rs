//! Requests one by one: what is answered, what is refused, what closes the connection.

use super::client::*;
use crate::error::ErrorCode;
use crate::protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use crate::protocol::messages::{
    ApiVersionsRequest, DescribeLogDirsRequest, InitProducerIdRequest, ListOffsetsRequest, message,
};
use crate::protocol::produce::{ProducePartition, ProduceRequest, ProduceTopic};
use crate::protocol::{ApiKey, RequestBody, ResponseBody, decode_response};
use crate::record::{BatchBuilder, Codec};
use crate::sim::Host;
use crate::sim::host::{Answer, EPOCH_MS};
use crate::types::Uuid;
use bytes::Bytes;

#[test]
fn an_unknown_version_of_api_versions_is_answered_in_the_form_of_version_0() {
    let mut host = broker();
    let conn = host.connect();
    let mut frame = vec![0, 18, 0, 99, 0, 0, 0, 7];
    frame.extend_from_slice(&[0, 1, b'x', 0]);
    let request = host.send_frame(conn, &frame.into());
    let Some(Answer::Frame(frame)) = host.raw_answer(conn, request) else {
        panic!("no answer");
    };
    let answer = decode_response(ApiKey::ApiVersions, 0, frame).unwrap();
    let ResponseBody::ApiVersions(body) = answer.body else {
        panic!("another answer");
    };
    assert_eq!((answer.correlation_id, body.error_code), (7, 35));
    assert_eq!(body.api_keys.len(), 1);
    assert_eq!(body.api_keys[0].api_key, 18);
}

#[test]
fn everything_that_is_listed_is_served() {
    let mut host = broker();
    let conn = host.connect();
    let body = message(|body: &mut ApiVersionsRequest| {
        body.client_software_name = "a".into();
        body.client_software_version = "1".into();
    });
    match host.ask(conn, 4, &RequestBody::ApiVersions(body)) {
        Some(ResponseBody::ApiVersions(answer)) => {
            assert_eq!(answer.error_code, 0);
            assert!(answer.api_keys.len() >= 18);
            assert!(answer.supported_features.is_empty());
        }
        other => panic!("{other:?}"),
    }
    let nameless = RequestBody::ApiVersions(ApiVersionsRequest::default());
    match host.ask(conn, 4, &nameless) {
        Some(ResponseBody::ApiVersions(answer)) => {
            assert_eq!(answer.error_code, ErrorCode::InvalidRequest.code());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_that_means_another_broker_is_sent_back_to_its_bootstrap_addresses() {
    let mut host = broker();
    let cluster = make_topic(&mut host, "t").cluster_id;
    let conn = host.connect();
    let mut code = |node_id: i32, cluster: Option<&str>| {
        let body = message(|body: &mut ApiVersionsRequest| {
            body.client_software_name = "a".into();
            body.client_software_version = "1".into();
            body.node_id = node_id;
            body.cluster_id = cluster.map(Into::into);
        });
        match host.ask(conn, 5, &RequestBody::ApiVersions(body)) {
            Some(ResponseBody::ApiVersions(answer)) => answer.error_code,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(code(1, cluster.as_deref()), 0);
    assert_eq!(code(-1, None), 0);
    assert_eq!(code(2, cluster.as_deref()), 129);
    assert_eq!(code(1, Some("another")), 129);
}

pub fn first_row(
    host: &mut Host,
    acks: i16,
    records: Bytes,
) -> crate::protocol::produce::ProducePartitionResponse {
    let conn = host.connect();
    let answer = produced(host.ask(conn, PRODUCE, &produce_request("t", 0, acks, records)));
    answer.topics[0].partitions[0].clone()
}

#[test]
fn each_bad_produce_gets_its_own_error_and_stores_nothing() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let good = batch(&host, &["a"]);
    let mut torn = good.to_vec();
    torn[30] ^= 1;
    let two = [&good[..], &good[..]].concat();
    let transactional = {
        let mut builder = BatchBuilder::new(Codec::None)
            .producer(7, 0, 0)
            .transactional(true);
        builder.append(host.now, None, None, &[]);
        builder.build()
    };
    let cases = [
        (2, good.clone(), ErrorCode::InvalidRequiredAcks),
        (-2, good.clone(), ErrorCode::InvalidRequiredAcks),
        (1, torn.into(), ErrorCode::CorruptMessage),
        (1, two.into(), ErrorCode::InvalidRecord),
        (1, Bytes::new(), ErrorCode::InvalidRecord),
        (1, transactional, ErrorCode::TransactionalIdAuthorizationFailed),
    ];
    for (acks, records, code) in cases {
        let row = first_row(&mut host, acks, records);
        assert_eq!((row.error_code, row.base_offset), (code, -1));
    }
    let conn = host.connect();
    let request = produce_request("t", 9, 1, good);
    let row = produced(host.ask(conn, PRODUCE, &request)).topics[0].partitions[0].clone();
    assert_eq!(row.error_code, ErrorCode::UnknownTopicOrPartition);
    assert!(read_all(&mut host, "t").is_empty());
}

#[test]
fn an_error_under_acks_0_closes_the_connection() {
    let mut host = broker();
    let conn = host.connect();
    let records = batch(&host, &["a"]);
    let request = host.send(conn, PRODUCE, &produce_request("unknown", 0, 0, records));
    assert_eq!(host.raw_answer(conn, request), None);
    assert!(host.closed(conn).unwrap().contains("UNKNOWN_TOPIC_OR_PARTITION"));
}

#[test]
fn topic_ids_name_topics_in_the_versions_that_have_them() {
    let mut host = broker();
    let metadata = make_topic(&mut host, "t");
    let topic_id: Uuid = metadata.topics[0].topic_id.into();
    let mut ask = |topic_id| {
        let records = batch(&host, &["a"]);
        let conn = host.connect();
        let body = RequestBody::Produce(ProduceRequest {
            acks: -1,
            timeout_ms: 1000,
            topics: vec![ProduceTopic {
                topic_id,
                partitions: vec![ProducePartition {
                    index: 0,
                    records: Some(records),
                }],
                ..ProduceTopic::default()
            }],
            ..ProduceRequest::default()
        });
        let topic = produced(host.ask(conn, 13, &body)).topics[0].clone();
        (topic.topic_id, topic.partitions[0].error_code)
    };
    assert_eq!(ask(topic_id), (topic_id, ErrorCode::None));
    let other = Uuid([9; 16]);
    assert_eq!(ask(other), (other, ErrorCode::UnknownTopicId));
    let mut request = fetch_request("", 0, 0, 1);
    request.topics[0].topic_id = topic_id;
    let conn = host.connect();
    let answer = fetched(host.ask(conn, 18, &RequestBody::Fetch(request)));
    assert_eq!(answer.topics[0].topic_id, topic_id);
    assert_eq!(values(&answer.topics[0].partitions[0]).len(), 1);
}

#[test]
fn log_append_time_is_answered_and_stored() {
    let mut host = broker();
    create_topic(&mut host, "t", &[("message.timestamp.type", "LogAppendTime")]);
    let records = batch(&host, &["a"]);
    host.advance(5);
    assert_eq!(first_row(&mut host, 1, records).log_append_time_ms, EPOCH_MS + 5);
}

#[test]
fn rules_that_change_after_admission_are_applied_once_more() {
    use crate::broker::{Admission, admit};
    use crate::io::Input;
    use crate::protocol::{RequestHeader, encode_request};
    let mut host = broker();
    create_topic(&mut host, "t", &[("max.message.bytes", "10")]);
    let header = RequestHeader {
        api: ApiKey::Produce,
        version: PRODUCE,
        correlation_id: 0,
        client_id: None,
    };
    let records = batch(&host, &["too long for the topic"]);
    let frame = encode_request(&header, &produce_request("t", 0, 1, records)).unwrap();
    // Admitted before the topic was known here.
    let old = Admission::default();
    let admitted = admit(&frame.slice(4..), &old, host.now, &mut Default::default()).unwrap();
    let (conn, request) = (host.connect(), 0);
    host.handle(Input::Request {
        conn,
        request,
        listener: 0,
        body: Box::new(admitted),
    });
    let Some(Answer::Frame(frame)) = host.raw_answer(conn, request) else {
        panic!("no answer");
    };
    let answer = decode_response(ApiKey::Produce, PRODUCE, frame).unwrap().body;
    let row = produced(Some(answer)).topics[0].partitions[0].clone();
    assert_eq!(row.error_code, ErrorCode::MessageTooLarge);
}

fn offset(host: &mut Host, version: i16, timestamp: i64) -> (i16, i64, i64) {
    let body = message(|body: &mut ListOffsetsRequest| {
        body.replica_id = -1;
        body.topics = vec![message(|topic: &mut ListOffsetsTopic| {
            topic.name = "t".into();
            topic.partitions = vec![message(|row: &mut ListOffsetsPartition| {
                row.timestamp = timestamp;
                row.current_leader_epoch = -1;
            })];
        })];
    });
    let conn = host.connect();
    match host.ask(conn, version, &RequestBody::ListOffsets(body)) {
        Some(ResponseBody::ListOffsets(answer)) => {
            let row = &answer.topics[0].partitions[0];
            (row.error_code, row.timestamp, row.offset)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn offsets_by_name_and_by_time() {
    let mut host = small_segments();
    for n in 0..30 {
        produce(&mut host, "t", &[&n.to_string()]);
        host.advance(10);
    }
    let (latest, earliest, max, local, tiered, pending) = (-1, -2, -3, -4, -5, -6);
    assert_eq!(offset(&mut host, 10, latest), (0, -1, 30));
    assert_eq!(offset(&mut host, 10, earliest), (0, -1, 0));
    assert_eq!(offset(&mut host, 10, max), (0, EPOCH_MS + 290, 29));
    assert_eq!(offset(&mut host, 10, local), (0, -1, 0));
    assert_eq!(offset(&mut host, 10, tiered), (0, -1, -1));
    assert_eq!(offset(&mut host, 11, pending), (0, -1, -1));
    for (version, special) in [(7, local), (8, tiered), (10, pending)] {
        assert_eq!(
            offset(&mut host, version, special).0,
            ErrorCode::UnsupportedVersion.code()
        );
    }
    assert_eq!(offset(&mut host, 10, EPOCH_MS + 55), (0, EPOCH_MS + 60, 6));
    assert_eq!(offset(&mut host, 10, EPOCH_MS + 1000), (0, -1, -1));
    assert_eq!(offset(&mut host, 10, 0), (0, EPOCH_MS, 0));
}

#[test]
fn transactions_are_refused_as_by_a_broker_that_coordinates_none() {
    let mut host = broker();
    let conn = host.connect();
    let mut code = |id: &str| {
        let body = message(|body: &mut InitProducerIdRequest| body.transactional_id = Some(id.into()));
        match host.ask(conn, 4, &RequestBody::InitProducerId(body)) {
            Some(ResponseBody::InitProducerId(answer)) => answer.error_code,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(code("mine"), ErrorCode::NotCoordinator.code());
    assert_eq!(code(""), ErrorCode::InvalidRequest.code());
}

#[test]
fn directories_are_described() {
    let mut host = broker();
    make_topic(&mut host, "t");
    produce(&mut host, "t", &["a"]);
    let conn = host.connect();
    let body = message(|body: &mut DescribeLogDirsRequest| body.topics = None);
    match host.ask(conn, 4, &RequestBody::DescribeLogDirs(body)) {
        Some(ResponseBody::DescribeLogDirs(answer)) => {
            assert_eq!(&*answer.results[0].log_dir, "/data");
            let row = &answer.results[0].topics[0].partitions[0];
            assert_eq!(row.partition_size, batch(&host, &["a"]).len() as i64);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn thousands_of_partitions_are_produced_to_and_fetched_from_in_steps() {
    let mut host = broker();
    let names: Vec<String> = (0..300).map(|n| format!("t{n}")).collect();
    for name in &names {
        make_topic(&mut host, name);
    }
    let conn = host.connect();
    let records = batch(&host, &["a"]);
    let many = RequestBody::Produce(ProduceRequest {
        acks: -1,
        timeout_ms: 1000,
        topics: names
            .iter()
            .map(|name| ProduceTopic {
                name: name.as_str().into(),
                partitions: vec![ProducePartition {
                    index: 0,
                    records: Some(records.clone()),
                }],
                ..ProduceTopic::default()
            })
            .collect(),
        ..ProduceRequest::default()
    });
    let answer = produced(host.ask(conn, PRODUCE, &many));
    assert_eq!(answer.topics.len(), 300);
    assert!(
        answer
            .topics
            .iter()
            .all(|topic| topic.partitions[0].base_offset == 0)
    );
    let mut request = fetch_request("t0", 0, 0, 1);
    request.topics = names
        .iter()
        .map(|name| fetch_request(name, 0, 0, 1).topics.remove(0))
        .collect();
    let answer = fetched(host.ask(conn, FETCH, &RequestBody::Fetch(request)));
    assert_eq!(answer.topics.len(), 300);
    assert!(
        answer
            .topics
            .iter()
            .all(|topic| values(&topic.partitions[0]).len() == 1)
    );
}

#[test]
fn the_largest_and_smallest_times_and_offsets_are_answered() {
    const EDGES: [i64; 9] = [
        i64::MIN,
        i64::MIN + 1,
        -1000,
        -7,
        -1,
        0,
        1 << 40,
        i64::MAX - 1,
        i64::MAX,
    ];
    let mut host = broker();
    let any_time = [
        ("message.timestamp.before.max.ms", "9223372036854775807"),
        ("message.timestamp.after.max.ms", "9223372036854775807"),
        ("internal.segment.bytes", "600"),
        ("segment.ms", "9223372036854775807"),
        ("segment.jitter.ms", "9223372036854775807"),
        ("retention.ms", "9223372036854775807"),
        ("flush.ms", "9223372036854775807"),
        ("file.delete.delay.ms", "9223372036854775807"),
    ];
    create_topic(&mut host, "t", &any_time);
    let mut stored = 0;
    for time in EDGES.into_iter().chain(EDGES) {
        let mut builder = BatchBuilder::new(Codec::None);
        builder.append(time, None, Some(b"v"), &[]);
        let conn = host.connect();
        let request = produce_request("t", 0, -1, builder.build());
        let answer = produced(host.ask(conn, PRODUCE, &request));
        stored += i64::from(answer.topics[0].partitions[0].error_code == ErrorCode::None);
    }
    assert!(stored >= 8, "those from -1 on are times: {stored}");
    for _ in 0..2 {
        for edge in EDGES {
            let (error, _, found) = offset(&mut host, 10, edge);
            assert!(
                found <= stored && (error == 0 || found == -1),
                "{edge}: {error}, {found}"
            );
            let row = fetch(&mut host, "t", edge);
            let inside = (0..=stored).contains(&edge);
            assert_eq!(row.error_code == ErrorCode::None, inside, "{edge}");
        }
        host.advance(1_000_000);
        host.crash();
        host.boot();
    }
    assert_eq!(read_all(&mut host, "t").len() as i64, stored);
}
