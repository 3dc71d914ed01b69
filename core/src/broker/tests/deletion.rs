//! DeleteRecords on a partition with a follower: the answer waits for it. The follower is played by
//! the test, by a registration and fetches.

use super::client::*;
use crate::coordination::Multi;
use crate::error::ErrorCode;
use crate::metadata::nodes;
use crate::protocol::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic};
use crate::protocol::messages::{CreateTopicsRequest, DeleteTopicsRequest, message};
use crate::protocol::{RequestBody, ResponseBody};
use crate::sim::Host;
use crate::types::{BrokerId, Offset};

const FOLLOWER: BrokerId = 2;
const TIMEOUT_MS: i32 = 1000;

fn register_follower(host: &mut Host) {
    let node = nodes::Broker::new(&[], None, host.now);
    let multi = Multi::new().create_ephemeral(nodes::broker(FOLLOWER), nodes::write(&node));
    somebody_writes(host, multi);
}

/// The follower has everything below `offset` from `log_start` on; the leader's log start.
fn follower_fetches(host: &mut Host, offset: Offset, log_start: Offset) -> Offset {
    let mut request = fetch_request("t", offset, 0, 1);
    request.replica_id = FOLLOWER;
    request.topics[0].partitions[0].log_start_offset = log_start;
    let conn = host.connect();
    let answer = fetched(host.ask(conn, FETCH, &RequestBody::Fetch(request)));
    let row = &answer.topics[0].partitions[0];
    assert_eq!(row.error_code, ErrorCode::None);
    row.log_start_offset
}

/// Topic `t`, led here and followed there, with ten records that both have.
fn led_and_followed() -> Host {
    let mut host = broker();
    register_follower(&mut host);
    let body = message(|body: &mut CreateTopicsRequest| {
        body.topics = vec![message(|topic: &mut CreatableTopic| {
            topic.name = "t".into();
            (topic.num_partitions, topic.replication_factor) = (-1, -1);
            topic.assignments = vec![message(|row: &mut CreatableReplicaAssignment| {
                row.broker_ids = vec![1, FOLLOWER];
            })];
        })];
    });
    let conn = host.connect();
    match host.ask(conn, 7, &RequestBody::CreateTopics(body)) {
        Some(ResponseBody::CreateTopics(answer)) => assert_eq!(answer.topics[0].error_code, 0),
        other => panic!("{other:?}"),
    }
    let records = batch(&host, &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    produced(host.ask(conn, PRODUCE, &produce_request("t", 0, 1, records)));
    follower_fetches(&mut host, 0, 0);
    follower_fetches(&mut host, 10, 0);
    host
}

#[test]
fn it_is_answered_when_every_live_replica_has_followed() {
    let mut host = led_and_followed();
    let conn = host.connect();
    let request = host.send(conn, 2, &delete_records_request("t", 3, TIMEOUT_MS));
    assert_eq!(follower_fetches(&mut host, 10, 0), 3, "the follower hears of it");
    assert_eq!(host.answer(conn, request), None);
    follower_fetches(&mut host, 10, 2);
    assert_eq!(host.answer(conn, request), None, "not far enough");
    follower_fetches(&mut host, 10, 3);
    assert_eq!(records_deleted(host.answer(conn, request)), (ErrorCode::None, 3));
}

#[test]
fn a_follower_that_waits_for_records_hears_of_it_at_once() {
    let mut host = led_and_followed();
    let mut waits = fetch_request("t", 10, 500, 1);
    waits.replica_id = FOLLOWER;
    waits.topics[0].partitions[0].log_start_offset = 0;
    // In a session, as followers fetch: without one, nothing tells what they have heard.
    waits.session_epoch = 0;
    let follower = host.connect();
    let opened = fetched(host.ask(follower, FETCH, &RequestBody::Fetch(waits.clone())));
    waits.session_id = opened.session_id;
    waits.session_epoch = 1;
    waits.topics.clear();
    let fetch = host.send(follower, FETCH, &RequestBody::Fetch(waits));
    assert_eq!(host.answer(follower, fetch), None);
    let conn = host.connect();
    host.send(conn, 2, &delete_records_request("t", 4, TIMEOUT_MS));
    let answer = fetched(host.answer(follower, fetch));
    assert_eq!(answer.topics[0].partitions[0].log_start_offset, 4);
}

#[test]
fn a_follower_that_does_not_come_lets_it_time_out_and_one_that_is_dead_is_not_waited_for() {
    let mut host = led_and_followed();
    let conn = host.connect();
    let late = host.send(conn, 2, &delete_records_request("t", 3, TIMEOUT_MS));
    host.advance(999);
    assert_eq!(host.answer(conn, late), None);
    host.advance(1);
    assert_eq!(
        records_deleted(host.answer(conn, late)),
        (ErrorCode::RequestTimedOut, 0)
    );
    assert_eq!(
        fetch(&mut host, "t", 0).error_code,
        ErrorCode::OffsetOutOfRange,
        "gone here all the same"
    );

    let request = host.send(conn, 2, &delete_records_request("t", 5, TIMEOUT_MS));
    assert_eq!(host.answer(conn, request), None);
    somebody_leaves(&mut host);
    assert_eq!(records_deleted(host.answer(conn, request)), (ErrorCode::None, 5));
}

#[test]
fn nobody_waits_for_a_partition_that_is_gone_and_a_client_that_left_waits_for_nothing() {
    let mut host = led_and_followed();
    let (left, stays) = (host.connect(), host.connect());
    host.send(left, 2, &delete_records_request("t", 2, TIMEOUT_MS));
    let request = host.send(stays, 2, &delete_records_request("t", 3, TIMEOUT_MS));
    host.disconnect(left);
    assert_eq!(host.answer(stays, request), None);
    let body = message(|body: &mut DeleteTopicsRequest| body.topic_names = vec!["t".into()]);
    let conn = host.connect();
    host.send(conn, 5, &RequestBody::DeleteTopics(body));
    let answer = records_deleted(host.answer(stays, request));
    assert_eq!(answer, (ErrorCode::UnknownTopicOrPartition, -1));
}

#[test]
fn what_timed_out_before_it_was_durable_is_answered_when_it_is() {
    let mut host = led_and_followed();
    host.hold_aside(0);
    let conn = host.connect();
    let request = host.send(conn, 2, &delete_records_request("t", 3, TIMEOUT_MS));
    follower_fetches(&mut host, 10, 3);
    assert_eq!(host.answer(conn, request), None, "the checkpoint is not written");
    host.advance(i64::from(TIMEOUT_MS));
    assert_eq!(host.answer(conn, request), None);
    host.release(0);
    assert_eq!(records_deleted(host.answer(conn, request)), (ErrorCode::None, 3));
}
