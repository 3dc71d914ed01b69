//! Stops, kills, losses of power, lost directories: what was promised is there.

use super::client::*;
use crate::disk::memory::Fault;
use crate::disk::{DirId, DiskOp};
use crate::error::{DiskError, ErrorCode};
use crate::protocol::messages::{InitProducerIdRequest, message};
use crate::protocol::{RequestBody, ResponseBody};
use crate::record::{BatchBuilder, Codec};
use crate::sim::Host;
use bytes::Bytes;

fn idempotent_batch(host: &Host, producer_id: i64, sequence: i32, values: &[&str]) -> Bytes {
    let mut builder = BatchBuilder::new(Codec::None).producer(producer_id, 0, sequence);
    for value in values {
        builder.append(host.now, None, Some(value.as_bytes()), &[]);
    }
    builder.build()
}

fn produce_bytes(host: &mut Host, records: Bytes) -> (ErrorCode, i64) {
    let conn = host.connect();
    let answer = produced(host.ask(conn, PRODUCE, &produce_request("t", 0, -1, records)));
    let row = &answer.topics[0].partitions[0];
    (row.error_code, row.base_offset)
}

fn producer_id(host: &mut Host) -> i64 {
    let conn = host.connect();
    let body = message(|body: &mut InitProducerIdRequest| body.transactional_id = None);
    match host.ask(conn, 4, &RequestBody::InitProducerId(body)) {
        Some(ResponseBody::InitProducerId(answer)) => {
            assert_eq!((answer.error_code, answer.producer_epoch), (0, 0));
            answer.producer_id
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_retry_is_answered_with_its_first_offset_and_stored_once_across_a_kill_too() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let id = producer_id(&mut host);
    let first = idempotent_batch(&host, id, 0, &["a", "b"]);
    assert_eq!(produce_bytes(&mut host, first.clone()), (ErrorCode::None, 0));
    let second = idempotent_batch(&host, id, 2, &["c"]);
    assert_eq!(produce_bytes(&mut host, second), (ErrorCode::None, 2));
    assert_eq!(produce_bytes(&mut host, first.clone()), (ErrorCode::None, 0));
    let gap = idempotent_batch(&host, id, 7, &["x"]);
    assert_eq!(
        produce_bytes(&mut host, gap).0,
        ErrorCode::OutOfOrderSequenceNumber
    );
    host.crash();
    host.boot();
    assert_eq!(produce_bytes(&mut host, first), (ErrorCode::None, 0));
    assert_eq!(read_all(&mut host, "t"), ["a", "b", "c"]);
}

#[test]
fn producer_ids_are_never_given_twice_whatever_happens() {
    let mut host = broker();
    let mut given = crate::ordered::OrderedSet::new();
    for life in 0..6 {
        for _ in 0..3 {
            assert!(given.insert(producer_id(&mut host)));
        }
        match life % 3 {
            0 => host.crash(),
            1 => host.lose_power(),
            _ => host.shut_down(),
        }
        host.boot();
    }
}

#[test]
fn after_a_kill_every_acknowledged_record_is_there() {
    let mut host = small_segments();
    let mut sent = Vec::new();
    for life in 0..4 {
        for n in 0..30 {
            let value = format!("{life}-{n}");
            assert_eq!(produce(&mut host, "t", &[&value]).error_code, ErrorCode::None);
            sent.push(value);
        }
        host.crash();
        host.boot();
        assert!(host.ready, "{:?}", host.said);
        assert_eq!(read_all(&mut host, "t"), sent);
    }
}

#[test]
fn with_flush_messages_1_a_loss_of_power_takes_nothing_that_was_acknowledged() {
    let mut host = broker();
    create_topic(&mut host, "t", &[("flush.messages", "1")]);
    for n in 0..20 {
        produce(&mut host, "t", &[&n.to_string()]);
    }
    host.lose_power();
    host.boot();
    let expected: Vec<_> = (0..20).map(|n| n.to_string()).collect();
    assert_eq!(read_all(&mut host, "t"), expected);
}

/// Power may go between any two operations, and what was answered by then must be there.
#[test]
fn a_topic_that_was_answered_survives_power_loss_at_any_later_moment() {
    let mut host = broker();
    let metadata = make_topic(&mut host, "t");
    let id = metadata.topics[0].topic_id;
    host.lose_power();
    host.boot();
    let again = make_topic(&mut host, "t");
    assert_eq!(again.topics[0].topic_id, id);
    assert_eq!(again.cluster_id, metadata.cluster_id);
    assert_eq!(produce(&mut host, "t", &["a"]).base_offset, 0);
}

#[test]
fn a_clean_stop_leaves_the_mark_and_the_next_start_takes_it_away() {
    let mut host = small_segments();
    for n in 0..50 {
        produce(&mut host, "t", &[&n.to_string()]);
    }
    host.shut_down();
    let names =
        |host: &Host| -> Vec<String> { host.disk.files().into_iter().map(|(_, path, _)| path).collect() };
    assert!(names(&host).contains(&".kafka_cleanshutdown".to_owned()));
    let points = host
        .disk
        .read_file(0, "recovery-point-offset-checkpoint")
        .unwrap();
    assert_eq!(points, "0\n1\nt 0 50\n");
    let marks = host.disk.read_file(0, "replication-offset-checkpoint").unwrap();
    assert_eq!(marks, "0\n1\nt 0 50\n");
    host.boot();
    assert!(!names(&host).contains(&".kafka_cleanshutdown".to_owned()));
    assert!(
        !host
            .said
            .iter()
            .any(|(_, line)| line.contains("not an orderly one"))
    );
    assert_eq!(read_all(&mut host, "t").len(), 50);
}

fn two_directories() -> Host {
    let mut host = Host::start(&["broker.id=1", "log.dirs=/one,/two"]);
    for name in ["t", "u"] {
        make_topic(&mut host, name);
    }
    host
}

fn dir_of(host: &Host, name: &str) -> DirId {
    let path = format!("{name}-0/partition.metadata");
    host.disk
        .files()
        .into_iter()
        .find(|(_, found, _)| *found == path)
        .unwrap()
        .0
}

#[test]
fn a_failed_directory_takes_only_its_own_partitions() {
    let mut host = two_directories();
    assert_eq!((dir_of(&host, "t"), dir_of(&host, "u")), (0, 1), "spread");
    produce(&mut host, "t", &["a"]);
    produce(&mut host, "u", &["b"]);
    host.disk.fail(1, Fault::FullAfter { bytes: 10 });
    assert_eq!(
        produce(&mut host, "u", &["c"]).error_code,
        ErrorCode::KafkaStorageError
    );
    assert_eq!(
        produce(&mut host, "u", &["d"]).error_code,
        ErrorCode::KafkaStorageError
    );
    assert_eq!(fetch(&mut host, "u", 0).error_code, ErrorCode::KafkaStorageError);
    assert_eq!(produce(&mut host, "t", &["e"]).error_code, ErrorCode::None);
    assert_eq!(read_all(&mut host, "t"), ["a", "e"]);
    assert_eq!(host.stopped, None);

    host.disk.mend(1);
    host.crash();
    host.boot();
    assert_eq!(read_all(&mut host, "u"), ["b"], "what was refused is not there");
}

#[test]
fn without_its_last_directory_the_broker_stops_and_says_so() {
    let mut host = broker();
    make_topic(&mut host, "t");
    let error = DiskError::Io(5);
    host.disk.fail(0, Fault::After { operations: 0, error });
    let conn = host.connect();
    let records = batch(&host, &["a"]);
    let request = host.send(conn, PRODUCE, &produce_request("t", 0, 1, records));
    let answer = produced(host.answer(conn, request));
    assert_eq!(
        answer.topics[0].partitions[0].error_code,
        ErrorCode::KafkaStorageError
    );
    let why = host.stopped.clone().flatten().unwrap();
    assert!(why.contains("/data") && why.contains("error 5"), "{why}");
}

#[test]
fn a_directory_that_is_away_at_boot_is_offline_and_comes_back_whole() {
    let mut host = two_directories();
    produce(&mut host, "u", &["b"]);
    host.shut_down();
    host.set_boot_state(1, Err(DiskError::Io(5)));
    host.boot();
    assert!(host.ready);
    assert_eq!(fetch(&mut host, "u", 0).error_code, ErrorCode::KafkaStorageError);
    assert_eq!(produce(&mut host, "t", &["a"]).error_code, ErrorCode::None);
    let row = make_topic(&mut host, "u").topics[0].partitions[0].clone();
    assert_eq!((row.leader_id, row.offline_replicas), (-1, vec![1]));
    host.shut_down();
    host.set_boot_state(1, Ok(()));
    host.boot();
    assert_eq!(read_all(&mut host, "u"), ["b"]);
}

#[test]
fn directories_of_another_broker_or_cluster_are_refused_with_one_line() {
    let host = broker();
    let mut other = Host::new(host.disk.clone(), &["broker.id=2", "log.dirs=/data"]);
    other.boot();
    let why = other.stopped.flatten().unwrap();
    assert!(why.contains("broker 1") && why.contains("broker.id=1"), "{why}");
}

#[test]
fn a_stray_partition_is_kept_aside_and_a_deleted_one_goes() {
    let mut host = broker();
    make_topic(&mut host, "t");
    produce(&mut host, "t", &["a"]);
    delete_topic(&mut host, "t");
    let has = |host: &Host, end: &str| {
        let of = |path: &str| path.split('/').next().is_some_and(|first| first.ends_with(end));
        host.disk.files().iter().any(|(_, path, _)| of(path))
    };
    assert!(has(&host, "-delete"));
    host.disk
        .put_file(0, "ghost-0/00000000000000000000.log", "")
        .unwrap();
    host.crash();
    host.boot();
    assert!(has(&host, "-delete"), "not before its time");
    assert!(has(&host, "-stray"));
    host.advance(60_000);
    assert!(!has(&host, "-delete"));
    assert!(has(&host, "-stray"));
    make_topic(&mut host, "t");
    assert_eq!(read_all(&mut host, "t"), [""; 0], "another topic of that name");
}

#[test]
fn deleted_records_stay_deleted_and_their_segments_go() {
    let mut host = small_segments();
    for n in 0..60 {
        produce(&mut host, "t", &[&n.to_string()]);
    }
    let delete = |host: &mut Host, offset| {
        let conn = host.connect();
        records_deleted(host.ask(conn, 2, &delete_records_request("t", offset, 0)))
    };
    assert_eq!(delete(&mut host, 61), (ErrorCode::OffsetOutOfRange, -1));
    assert_eq!(delete(&mut host, 33), (ErrorCode::None, 33));
    host.crash();
    host.boot();
    assert_eq!(fetch(&mut host, "t", 0).error_code, ErrorCode::OffsetOutOfRange);
    let answer = fetch(&mut host, "t", 33);
    assert_eq!((answer.log_start_offset, &*values(&answer)[0].1), (33, "33"));
    let size = |host: &Host| -> usize { host.disk.files().len() };
    let before = size(&host);
    host.advance(400_000);
    assert!(
        size(&host) < before,
        "segments wholly below the log start are gone"
    );
    assert_eq!(delete(&mut host, -1), (ErrorCode::None, 60));
}

#[test]
fn retention_drops_old_segments_while_readers_go_on() {
    let mut host = broker();
    create_topic(
        &mut host,
        "t",
        &[("internal.segment.bytes", "600"), ("retention.ms", "1000000")],
    );
    for n in 0..20 {
        produce(&mut host, "t", &[&n.to_string()]);
    }
    host.advance(2_000_000);
    for n in 20..30 {
        produce(&mut host, "t", &[&n.to_string()]);
    }
    let answer = fetch(&mut host, "t", 20);
    assert_eq!(answer.log_start_offset, 20);
    assert_eq!(values(&answer)[0], (20, "20".to_owned()));
    assert_eq!(fetch(&mut host, "t", 0).error_code, ErrorCode::OffsetOutOfRange);
}

#[test]
fn every_prefix_of_a_life_boots_again_with_what_was_answered_by_then() {
    let mut host = Host::new(Default::default(), &["broker.id=1", "log.dirs=/data"]);
    host.operations = Some(Vec::new());
    host.boot();
    create_topic(
        &mut host,
        "t",
        &[("flush.messages", "1"), ("internal.segment.bytes", "300")],
    );
    let mut acknowledged = Vec::new();
    for n in 0..12 {
        produce(&mut host, "t", &[&n.to_string()]);
        acknowledged.push(host.operations.as_ref().unwrap().len());
    }
    let operations: Vec<(DirId, DiskOp)> = host.operations.take().unwrap();
    let expected: Vec<String> = (0..12).map(|n| n.to_string()).collect();
    for end in 0..=operations.len() {
        let mut disk = crate::disk::memory::MemoryDisk::new();
        for (dir, op) in &operations[..end] {
            disk.apply(*dir, op).unwrap();
        }
        disk.power_loss();
        let promised = acknowledged.iter().filter(|&&at| at <= end).count();
        let mut again = Host::new(
            disk,
            &["broker.id=1", "log.dirs=/data", "auto.create.topics.enable=false"],
        );
        // What the coordination service was told was answered first.
        again.coordination.disk = host.coordination.disk.clone();
        again.boot();
        assert!(again.ready, "after {end} operations: {:?}", again.stopped);
        if promised > 0 {
            let found = read_all(&mut again, "t");
            assert_eq!(found[..promised], expected[..promised], "after {end} operations");
        }
    }
}

#[test]
fn a_reader_can_tell_that_offsets_were_given_again_after_a_loss_of_power() {
    let mut host = broker();
    make_topic(&mut host, "t");
    produce(&mut host, "t", &["a", "lost", "lost too"]);
    let epoch = |host: &mut Host| make_topic(host, "t").topics[0].partitions[0].leader_epoch;
    assert_eq!(epoch(&mut host), 0);
    host.lose_power();
    host.boot();
    assert_eq!(epoch(&mut host), 1);
    produce(&mut host, "t", &["another"]);
    let conn = host.connect();
    let mut request = fetch_request("t", 3, 0, 1);
    request.topics[0].partitions[0].last_fetched_epoch = 0;
    let answer = fetched(host.ask(conn, FETCH, &RequestBody::Fetch(request)));
    let row = &answer.topics[0].partitions[0];
    assert_eq!(
        (row.diverging_epoch.epoch, row.diverging_epoch.end_offset),
        (0, 0)
    );
    host.shut_down();
    host.boot();
    assert_eq!(
        read_all(&mut host, "t"),
        ["another"],
        "an orderly stop loses nothing"
    );
    assert_eq!(
        epoch(&mut host),
        2,
        "each life of a leader has an epoch of its own"
    );
}

#[test]
fn without_the_directory_of_the_topics_each_change_is_refused_by_name() {
    use crate::protocol::messages::create_topics_request::CreatableTopic;
    use crate::protocol::messages::delete_topics_request::DeleteTopicState;
    use crate::protocol::messages::{CreateTopicsRequest, DeleteTopicsRequest};

    let mut host = two_directories();
    host.disk.fail(0, Fault::FullAfter { bytes: 0 });
    host.fail_coordination(DiskError::Full);
    assert_eq!(
        produce(&mut host, "t", &["a"]).error_code,
        ErrorCode::KafkaStorageError
    );
    let conn = host.connect();
    let body = message(|body: &mut CreateTopicsRequest| {
        let named = |topic: &mut CreatableTopic| topic.name = "later".into();
        body.topics = vec![message(named)];
    });
    let Some(ResponseBody::CreateTopics(answer)) = host.ask(conn, 7, &RequestBody::CreateTopics(body)) else {
        panic!("no answer to CreateTopics");
    };
    let storage_error = ErrorCode::KafkaStorageError.code();
    assert_eq!(answer.topics[0].error_code, storage_error);
    assert_eq!(&*answer.topics[0].name, "later");
    let body = message(|body: &mut DeleteTopicsRequest| {
        let named = |topic: &mut DeleteTopicState| topic.name = Some("u".into());
        body.topics = vec![message(named)];
    });
    let Some(ResponseBody::DeleteTopics(answer)) = host.ask(conn, 6, &RequestBody::DeleteTopics(body)) else {
        panic!("no answer to DeleteTopics");
    };
    assert_eq!(answer.responses[0].error_code, storage_error);
    assert_eq!(produce(&mut host, "u", &["b"]).error_code, ErrorCode::None);
}
