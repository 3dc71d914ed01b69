//! Who waits, for what, and what ends the wait.

use super::client::*;
use crate::disk::ReadAt;
use crate::error::ErrorCode;
use crate::log::checkpoint::{RECOVERY_POINT_FILE, read_offsets};
use crate::protocol::RequestBody;
use crate::protocol::fetch::FetchRequest;
use crate::protocol::messages::{DeleteTopicsRequest, message};
use crate::sim::Host;
use crate::sim::host::Answer;
use crate::types::Offset;

#[test]
fn no_success_before_the_disk_has_written() {
    let mut host = broker();
    make_topic(&mut host, "t");
    host.hold(0);
    let conn = host.connect();
    let records = batch(&host, &["a"]);
    let all = host.send(conn, PRODUCE, &produce_request("t", 0, -1, records.clone()));
    let leader = host.send(conn, PRODUCE, &produce_request("t", 0, 1, records.clone()));
    let nobody = host.send(conn, PRODUCE, &produce_request("t", 0, 0, records));
    assert_eq!(host.answer(conn, all), None);
    assert_eq!(host.answer(conn, leader), None);
    assert_eq!(host.raw_answer(conn, nobody), Some(Answer::Nothing));
    assert_eq!(
        fetch(&mut host, "t", 0).high_watermark,
        0,
        "nobody sees what is not written"
    );
    host.release(0);
    let base = |answer| produced(answer).topics[0].partitions[0].base_offset;
    assert_eq!(base(host.answer(conn, all)), 0);
    assert_eq!(base(host.answer(conn, leader)), 1);
    assert_eq!(read_all(&mut host, "t"), ["a", "a", "a"]);
}

#[test]
fn acks_all_times_out_and_the_records_stay() {
    let mut host = broker();
    make_topic(&mut host, "t");
    host.hold(0);
    let conn = host.connect();
    let records = batch(&host, &["a"]);
    let request = host.send(conn, PRODUCE, &produce_request("t", 0, -1, records));
    host.advance(999);
    assert_eq!(host.answer(conn, request), None);
    host.advance(1);
    let answer = produced(host.answer(conn, request));
    assert_eq!(
        answer.topics[0].partitions[0].error_code,
        ErrorCode::RequestTimedOut
    );
    host.release(0);
    assert_eq!(read_all(&mut host, "t"), ["a"]);
}

#[test]
fn a_fetch_wakes_on_enough_data_and_gives_up_in_time() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let conn = host.connect();
    let size = batch(&host, &["a"]).len() as i32;
    let wants = |min_bytes| RequestBody::Fetch(fetch_request("t", 0, 500, min_bytes));
    let request = host.send(conn, FETCH, &wants(2 * size));
    produce(&mut host, "t", &["a"]);
    assert_eq!(host.answer(conn, request), None, "too little");
    produce(&mut host, "t", &["b"]);
    let answer = fetched(host.answer(conn, request));
    assert_eq!(values(&answer.topics[0].partitions[0]).len(), 2);

    let request = host.send(conn, FETCH, &wants(10 * size));
    host.advance(499);
    assert_eq!(host.answer(conn, request), None);
    host.advance(1);
    let answer = fetched(host.answer(conn, request));
    assert_eq!(values(&answer.topics[0].partitions[0]).len(), 2, "what there is");
}

#[test]
fn who_leaves_is_forgotten() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let conn = host.connect();
    let request = host.send(conn, FETCH, &RequestBody::Fetch(fetch_request("t", 0, 60_000, 1)));
    host.disconnect(conn);
    produce(&mut host, "t", &["a"]);
    host.advance(60_000);
    assert_eq!(host.answer(conn, request), None);
}

#[test]
fn errors_do_not_wait() {
    let mut host = broker();
    make_topic(&mut host, "t");
    produce(&mut host, "t", &["a"]);
    let conn = host.connect();
    let mut code = |topic: &str, offset| {
        let request = RequestBody::Fetch(fetch_request(topic, offset, 60_000, 1));
        fetched(host.ask(conn, FETCH, &request)).topics[0].partitions[0].error_code
    };
    assert_eq!(code("t", 2), ErrorCode::OffsetOutOfRange);
    assert_eq!(code("t", -5), ErrorCode::OffsetOutOfRange);
    assert_eq!(code("unknown", 0), ErrorCode::UnknownTopicOrPartition);
}

#[test]
fn leader_epochs_are_compared() {
    let mut host = broker();
    make_topic(&mut host, "t");
    produce(&mut host, "t", &["a"]);
    let conn = host.connect();
    let mut asked = |change: &dyn Fn(&mut FetchRequest)| {
        let mut request = fetch_request("t", 0, 0, 1);
        change(&mut request);
        fetched(host.ask(conn, FETCH, &RequestBody::Fetch(request))).topics[0].partitions[0].clone()
    };
    let newer = asked(&|r| r.topics[0].partitions[0].current_leader_epoch = 7);
    assert_eq!(newer.error_code, ErrorCode::UnknownLeaderEpoch);
    let diverged = asked(&|r| {
        r.topics[0].partitions[0].fetch_offset = 5;
        r.topics[0].partitions[0].last_fetched_epoch = 0;
    });
    assert_eq!(diverged.error_code, ErrorCode::None);
    assert_eq!(
        (
            diverged.diverging_epoch.epoch,
            diverged.diverging_epoch.end_offset
        ),
        (0, 1)
    );
    let unheard_of = asked(&|r| r.topics[0].partitions[0].last_fetched_epoch = 5);
    assert_eq!(unheard_of.error_code, ErrorCode::OffsetOutOfRange);
    let same = asked(&|r| r.topics[0].partitions[0].last_fetched_epoch = 0);
    assert_eq!(values(&same).len(), 1);
}

#[test]
fn a_deleted_topic_answers_who_waits_for_it() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let conn = host.connect();
    let request = host.send(conn, FETCH, &RequestBody::Fetch(fetch_request("t", 0, 60_000, 1)));
    delete_topic(&mut host, "t");
    let answer = fetched(host.answer(conn, request));
    assert_eq!(
        answer.topics[0].partitions[0].error_code,
        ErrorCode::UnknownTopicOrPartition
    );
}

#[test]
fn a_cold_read_waits_for_its_job_and_is_dropped_with_its_client() {
    let mut host = small_segments();
    for n in 0..200 {
        produce(&mut host, "t", &[&format!("value {n}")]);
    }
    host.hold_jobs(true);
    let (stays, leaves) = (host.connect(), host.connect());
    let request = RequestBody::Fetch(fetch_request("t", 0, 0, 1));
    let kept = host.send(stays, FETCH, &request);
    let lost = host.send(leaves, FETCH, &request);
    assert_eq!(
        host.answer(stays, kept),
        None,
        "the first segments are not in memory"
    );
    host.disconnect(leaves);
    host.hold_jobs(false);
    let answer = fetched(host.answer(stays, kept));
    assert_eq!(
        values(&answer.topics[0].partitions[0])[0],
        (0, "value 0".to_owned())
    );
    assert_eq!(host.answer(leaves, lost), None);
    assert_eq!(read_all(&mut host, "t").len(), 200);
}

#[test]
fn appends_go_on_beside_the_sync_of_a_rolled_segment_and_the_recovery_point_waits_for_it() {
    let mut host = small_segments();
    host.advance(CHECKPOINTS_MS);
    host.hold_aside(0);
    let sent: Vec<String> = (0..30).map(|n| n.to_string()).collect();
    for value in &sent {
        assert_eq!(produce(&mut host, "t", &[value]).error_code, ErrorCode::None);
    }
    let segments = host.disk.files().into_iter();
    let segments = segments.filter(|(_, path, _)| path.starts_with("t-0/") && path.ends_with(".log"));
    assert!(segments.count() > 2, "it rolled");
    assert_eq!(read_all(&mut host, "t"), sent);
    // Checkpoints are due meanwhile: they may not say more than is synced now.
    host.advance(CHECKPOINTS_MS);
    host.release(0);
    assert_eq!(
        recovery_point(&host),
        0,
        "as it was when the checkpoint was asked for"
    );
    host.advance(CHECKPOINTS_MS);
    assert!(recovery_point(&host) > 0);
    host.lose_power();
    host.boot();
    let left = read_all(&mut host, "t");
    assert!(!left.is_empty());
    assert_eq!(left, sent[..left.len()]);
}

/// More than the interval of checkpoints.
const CHECKPOINTS_MS: i64 = 61_000;

/// What the checkpoint says; 0 when it says nothing.
fn recovery_point(host: &Host) -> Offset {
    let file = host.disk.read_file(0, RECOVERY_POINT_FILE).unwrap_or_default();
    let offsets = read_offsets(&file).unwrap();
    let ours = offsets.iter().find(|(partition, _)| &*partition.topic == "t");
    ours.map_or(0, |(_, offset)| *offset)
}

#[test]
fn a_deleted_topic_waits_for_what_is_aside() {
    let mut host = small_segments();
    host.hold_aside(0);
    for n in 0..30 {
        produce(&mut host, "t", &[&n.to_string()]);
    }
    let conn = host.connect();
    let body = message(|body: &mut DeleteTopicsRequest| body.topic_names = vec!["t".into()]);
    host.send(conn, 5, &RequestBody::DeleteTopics(body));
    assert!(
        host.disk.list(0, "t-0").is_ok(),
        "its segments are still being synced"
    );
    host.release(0);
    assert!(host.disk.list(0, "t-0").is_err());
    host.advance(120_000);
    let left = host.disk.files().into_iter();
    let left: Vec<_> = left.filter(|(_, path, _)| path.starts_with("t-0")).collect();
    assert_eq!(left, [], "nothing came back");
}

#[test]
fn a_new_session_asks_again_what_the_last_one_left_unanswered() {
    use crate::coordination::{CoordinationEvent, ServiceInput};
    use crate::io::Input;
    use crate::protocol::ResponseBody;
    use crate::protocol::messages::InitProducerIdRequest;

    let mut host = broker();
    make_topic(&mut host, "t");
    host.hold_coordination(true);
    let conn = host.connect();
    let body = message(|body: &mut InitProducerIdRequest| body.transactional_id = None);
    let asked = host.send(conn, 4, &RequestBody::InitProducerId(body));
    let (now, gone) = (host.now, ServiceInput::Disconnected { client: 1 });
    host.coordination.handle(now, gone, &mut host.trace);
    host.handle(Input::Coordination {
        session: 1,
        event: CoordinationEvent::Expired,
    });
    host.hold_coordination(false);
    host.advance(60_000);
    let Some(ResponseBody::InitProducerId(answer)) = host.answer(conn, asked) else {
        panic!("the producer still waits for its id");
    };
    assert_eq!(answer.error_code, 0);
    make_topic(&mut host, "u");
    assert_eq!(produce(&mut host, "u", &["a"]).error_code, ErrorCode::None);
}
