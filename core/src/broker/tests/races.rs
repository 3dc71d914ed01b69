//! What comes between a question and its answer: jobs under way, directories lost, topics deleted.

use super::client::*;
use crate::disk::memory::Fault;
use crate::error::{DiskError, ErrorCode};
use crate::io::{ConnId, Input, Part, RequestId};
use crate::log::checkpoint::CleanShutdown;
use crate::protocol::RequestBody;
use crate::protocol::fetch::{FetchPartition, FetchRequest, FetchTopic};
use crate::protocol::produce::{ProducePartition, ProduceRequest, ProduceTopic};
use crate::sim::Host;

const SMALL: [(&str, &str); 3] = [
    ("internal.segment.bytes", "600"),
    ("segment.index.bytes", "64"),
    ("index.interval.bytes", "100"),
];

/// The next operation fails.
fn gone() -> Fault {
    Fault::After {
        operations: 0,
        error: DiskError::Io(5),
    }
}

/// Asks for the first record of each topic.
fn fetch_all(topics: &[&str], change: impl Fn(&mut FetchRequest)) -> RequestBody {
    let topics = topics.iter().map(|name| FetchTopic {
        name: (*name).into(),
        topic_id: Default::default(),
        partitions: vec![FetchPartition {
            max_bytes: 1 << 20,
            ..FetchPartition::default()
        }],
    });
    let mut request = FetchRequest {
        max_wait_ms: 60_000,
        min_bytes: 1,
        topics: topics.collect(),
        ..FetchRequest::default()
    };
    change(&mut request);
    RequestBody::Fetch(request)
}

#[test]
fn a_partition_gets_a_whole_batch_or_nothing() {
    let mut host = broker();
    for topic in ["t", "u"] {
        create_topic(&mut host, topic, &SMALL);
        for n in 0..100 {
            produce(&mut host, topic, &[&format!("value {n}")]);
        }
    }
    let conn = host.connect();
    let mut bytes_of = |max_bytes| {
        let request = fetch_all(&["t", "u"], |request| request.max_bytes = max_bytes);
        let answer = fetched(host.ask(conn, FETCH, &request));
        let rows = answer.topics.iter().map(|topic| &topic.partitions[0]);
        let sizes = rows.map(|row| {
            let parts = row.records.iter().flatten();
            let bytes: usize = parts
                .map(|part| match part {
                    Part::Bytes(bytes) => bytes.len(),
                    Part::File { len, .. } => *len as usize,
                })
                .sum();
            assert_eq!(bytes > 0, !values(row).is_empty(), "{bytes} bytes and no batch");
            bytes
        });
        sizes.collect::<Vec<_>>()
    };
    let whole = bytes_of(i32::MAX);
    assert!(whole[0] > 100 && whole[1] > 100, "{whole:?}");
    for more in [0, 1, 20, 60, 61, 80, 200] {
        bytes_of(whole[0] as i32 + more);
    }
}

/// A produce to every partition of `t`, more than are done in one step.
fn wide_produce(host: &mut Host, acks: i16) -> (ConnId, RequestId) {
    let records = batch(host, &["a"]);
    let partitions = (0..100).map(|index| ProducePartition {
        index,
        records: Some(records.clone()),
    });
    let request = RequestBody::Produce(ProduceRequest {
        transactional_id: None,
        acks,
        timeout_ms: 1000,
        topics: vec![ProduceTopic {
            name: "t".into(),
            topic_id: Default::default(),
            partitions: partitions.collect(),
        }],
    });
    let conn = host.connect();
    let sent = host.send(conn, PRODUCE, &request);
    (conn, sent)
}

#[test]
fn a_directory_lost_amid_a_wide_produce_acknowledges_nothing_and_keeps_nobody_waiting() {
    for acks in [1, -1] {
        let settings = ["broker.id=1", "log.dirs=/a,/b", "num.partitions=200"];
        let mut host = Host::start(&settings);
        make_topic(&mut host, "t");
        host.disk.fail(1, gone());
        let (conn, sent) = wide_produce(&mut host, acks);
        let answer = produced(host.answer(conn, sent));
        let rows = &answer.topics[0].partitions;
        let with = |code| rows.iter().filter(|row| row.error_code == code).count();
        let (good, lost) = (with(ErrorCode::None), with(ErrorCode::KafkaStorageError));
        assert_eq!((good, lost), (50, 50), "acks={acks}");
    }
}

#[test]
fn records_that_come_while_a_job_runs_wake_the_fetch() {
    let mut host = broker();
    create_topic(&mut host, "t", &SMALL);
    make_topic(&mut host, "u");
    for n in 0..100 {
        produce(&mut host, "t", &[&format!("value {n}")]);
    }
    let conn = host.connect();
    host.hold_jobs(true);
    // What the job finds is not enough, and what comes to the other partition meanwhile is.
    let request = fetch_all(&["u", "t"], |request| {
        request.topics[1].partitions[0].max_bytes = 100;
        request.min_bytes = 5000;
    });
    let sent = host.send(conn, FETCH, &request);
    produce(&mut host, "u", &[&"x".repeat(6000)]);
    host.hold_jobs(false);
    assert!(
        host.answer(conn, sent).is_some(),
        "nothing more will come to wake it"
    );
}

#[test]
fn a_job_that_ends_after_its_topic_answers_that_the_topic_is_gone() {
    let mut host = broker();
    create_topic(&mut host, "t", &SMALL);
    for n in 0..100 {
        produce(&mut host, "t", &[&format!("value {n}")]);
    }
    let conn = host.connect();
    host.hold_jobs(true);
    let sent = host.send(conn, FETCH, &fetch_all(&["t"], |_| {}));
    delete_topic(&mut host, "t");
    create_topic(&mut host, "t", &SMALL);
    host.hold_jobs(false);
    let answer = fetched(host.answer(conn, sent));
    let row = &answer.topics[0].partitions[0];
    assert_eq!(row.error_code, ErrorCode::UnknownTopicOrPartition);
    assert!(values(row).is_empty());
}

#[test]
fn directories_that_are_no_partitions_may_lie_in_every_log_directory() {
    let mut host = Host::new(
        crate::disk::memory::MemoryDisk::new(),
        &["broker.id=1", "log.dirs=/a,/b"],
    );
    for dir in [0, 1] {
        host.disk.put_file(dir, "lost+found/x", "x").unwrap();
    }
    host.boot();
    assert_eq!((host.ready, &host.stopped), (true, &None));
    host.disk.put_file(0, "t-0/x", "x").unwrap();
    host.disk.put_file(1, "t-0/x", "x").unwrap();
    host.crash();
    host.boot();
    let why = host.stopped.flatten().unwrap();
    assert!(why.contains("t-0 lies in two log directories"), "{why}");
}

#[test]
fn a_partition_without_its_metadata_file_gets_it_back() {
    let mut host = broker();
    make_topic(&mut host, "t");
    produce(&mut host, "t", &["a"]);
    let before = host.disk.read_file(0, "t-0/partition.metadata").unwrap();
    host.crash();
    let path = "t-0/partition.metadata".into();
    host.disk.apply(0, &crate::disk::DiskOp::Unlink { path }).unwrap();
    host.boot();
    assert_eq!(host.disk.read_file(0, "t-0/partition.metadata"), Ok(before));
    assert_eq!(read_all(&mut host, "t"), ["a"]);
}

#[test]
fn a_lost_directory_frees_all_who_wait_on_it() {
    let mut host = Host::start(&["broker.id=1", "log.dirs=/a,/b", "num.partitions=2"]);
    make_topic(&mut host, "t");
    host.hold(0);
    host.hold(1);
    let (conn, other) = (host.connect(), host.connect());
    let lost = (0..2).find(|index| {
        let name = format!("t-{index}/00000000000000000000.log");
        host.disk.read_file(1, &name).is_ok()
    });
    let lost = lost.unwrap();
    let records = batch(&host, &["a"]);
    let sent: Vec<_> = [1, -1]
        .map(|acks| host.send(conn, PRODUCE, &produce_request("t", lost, acks, records.clone())))
        .into();
    let fetch = RequestBody::Fetch({
        let mut request = fetch_request("t", 0, 60_000, 1);
        request.topics[0].partitions[0].partition = lost;
        request
    });
    let waits = host.send(other, FETCH, &fetch);
    host.disk.fail(1, gone());
    host.release(1);
    for request in sent {
        let answer = produced(host.answer(conn, request));
        let code = answer.topics[0].partitions[0].error_code;
        assert_eq!(code, ErrorCode::KafkaStorageError);
    }
    let answer = fetched(host.answer(other, waits));
    assert_eq!(
        answer.topics[0].partitions[0].error_code,
        ErrorCode::KafkaStorageError
    );
}

#[test]
fn a_retention_check_amid_the_stop_touches_no_closed_log() {
    let mut host = broker();
    create_topic(&mut host, "t", &[("retention.ms", "1000")]);
    produce(&mut host, "t", &["a"]);
    host.hold(0);
    host.handle(Input::Shutdown);
    host.advance(600_000);
    host.release(0);
    assert_eq!(host.stopped, Some(None));
    let mark = host.disk.read_file(0, CleanShutdown::FILE);
    assert!(mark.is_ok(), "{mark:?}");
}

#[test]
fn a_check_that_is_never_due_is_not_due_at_once() {
    let settings = [
        "broker.id=1",
        "log.retention.check.interval.ms=9223372036854775807",
    ];
    let mut host = Host::start(&settings);
    make_topic(&mut host, "t");
    host.advance(1_000_000);
    assert!(host.ready);
}

#[test]
fn an_index_that_a_look_up_finds_wrong_is_built_again_at_once() {
    let mut host = broker();
    create_topic(&mut host, "t", &SMALL);
    for n in 0..100 {
        produce(&mut host, "t", &[&format!("value {n}")]);
    }
    let path = "t-0/00000000000000000000.index";
    let right = host.disk.read_file(0, path).unwrap();
    let mut wrong = right.to_vec();
    // The first entry points into the middle of a batch.
    wrong[7] ^= 1;
    host.disk.put_file(0, path, wrong).unwrap();
    for _ in 0..2 {
        assert_eq!(values(&fetch(&mut host, "t", 3))[0].0, 3, "the answer is right");
    }
    assert_eq!(host.disk.read_file(0, path), Ok(right));
    let said = |text: &str| host.said.iter().filter(|(_, line)| line.contains(text)).count();
    assert_eq!(said("an index of segment 0 is wrong"), 1, "{:?}", host.said);
}

#[test]
fn a_long_start_says_how_many_logs_are_done() {
    let mut host = Host::start(&["broker.id=1", "num.partitions=3"]);
    make_topic(&mut host, "t");
    host.crash();
    host.hold_jobs(true);
    host.boot();
    host.next_job();
    host.now += 6000;
    host.next_job();
    assert!(!host.ready);
    let last = host.said.last().map(|(_, line)| line.as_str());
    assert_eq!(last, Some("recovered 1 of 3 logs"));
    host.hold_jobs(false);
    assert!(host.ready);
}

#[test]
fn records_behind_damage_in_a_closed_segment_are_not_passed_over_in_silence() {
    let mut host = broker();
    create_topic(&mut host, "t", &SMALL);
    for n in 0..100 {
        produce(&mut host, "t", &[&format!("value {n}")]);
    }
    host.shut_down();
    let (log, index) = ("t-0/00000000000000000000.log", "t-0/00000000000000000000.index");
    let mut damaged = host.disk.read_file(0, log).unwrap().to_vec();
    let second = 12 + u32::from_be_bytes(damaged[8..12].try_into().unwrap()) as usize;
    damaged[second + 8..second + 12].fill(0);
    host.disk.put_file(0, log, damaged).unwrap();
    let path = index.into();
    host.disk.apply(0, &crate::disk::DiskOp::Unlink { path }).unwrap();
    host.boot();
    assert!(host.ready);
    let answer = fetch(&mut host, "t", 1);
    assert_eq!(answer.error_code, ErrorCode::CorruptMessage);
    assert_eq!(
        values(&fetch(&mut host, "t", 50))[0].0,
        50,
        "the others are there"
    );
}
