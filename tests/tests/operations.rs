//! What an operator sees and does: metrics and health, a stop by SIGTERM and the start after it, many
//! partitions, topics made on demand, keys that do not exist.

use std::path::Path;

use bytes::Bytes;
use highwater_core::error::ErrorCode;
use highwater_core::log::checkpoint::read_offsets;
use highwater_core::record::{BatchBuilder, Codec};
use highwater_core::types::{Offset, TopicPartition};
use highwater_tests::broker::{TestBroker, free_port, run_to_end};
use highwater_tests::requests::*;
use highwater_tests::wire::WireClient;

const TOPIC: &str = "t";

fn batch(records: i32) -> Bytes {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.expect("a clock").as_millis() as i64;
    let mut batch = BatchBuilder::new(Codec::None);
    for _ in 0..records {
        batch.append(now, None, Some(b"value"), &[]);
    }
    batch.build()
}

/// The value of a metric; its name with its labels, as Prometheus writes it.
fn metric(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.split(' ').next() == Some(name))?;
    line.split(' ').nth(1)?.parse().ok()
}

#[test]
fn metrics_count_what_clients_did() {
    let broker = TestBroker::start_with_http(&[]);
    let mut client = WireClient::connect(&broker.address());
    create_topic(&mut client, TOPIC, 1, &[]).expect("a topic");
    let (status, before) = broker.get("/metrics");
    assert!(status.contains("200"), "{status}");
    for number in 0..10 {
        assert_eq!(produce(&mut client, TOPIC, 0, batch(1)), Ok(number));
    }
    for offset in 0..4 {
        assert_eq!(fetch(&mut client, TOPIC, 0, offset).error_code, ErrorCode::None);
    }
    let mut stranger = WireClient::connect(&broker.address());
    stranger.send_raw(b"GET / HTTP/1.1\r\n\r\n");
    stranger.wait_until_closed();
    broker.wait_for_line("HTTP request");

    let (_, text) = broker.get("/metrics");
    let value = |name: &str| metric(&text, name).unwrap_or_else(|| panic!("no {name} in\n{text}"));
    assert_eq!(
        value("highwater_requests_total{broker=\"1\",api=\"Produce\"}"),
        10.0
    );
    assert_eq!(value("highwater_requests_total{broker=\"1\",api=\"Fetch\"}"), 4.0);
    assert_eq!(
        value("highwater_requests_total{broker=\"1\",api=\"CreateTopics\"}"),
        1.0
    );
    assert_eq!(
        value("highwater_produce_latency_seconds_count{broker=\"1\"}"),
        10.0
    );
    assert_eq!(value("highwater_fetch_latency_seconds_count{broker=\"1\"}"), 4.0);
    assert_eq!(value("highwater_connections{broker=\"1\"}"), 1.0);
    assert_eq!(
        value("highwater_connections_closed_for_cause_total{broker=\"1\"}"),
        1.0
    );
    let bytes = "highwater_network_in_bytes_total{broker=\"1\"}";
    assert!(value(bytes) > metric(&before, bytes).expect("counted before"));
    assert!(text.ends_with("# EOF\n"), "complete, as OpenMetrics wants it");
}

#[test]
fn metrics_tell_where_each_log_begins_and_ends_and_how_large_it_is() {
    let broker = TestBroker::start_with_http(&[]);
    let mut client = WireClient::connect(&broker.address());
    create_topic(&mut client, TOPIC, 300, &[]).expect("a topic");
    let bytes = batch(3).len() * 4;
    for number in 0..4 {
        assert_eq!(produce(&mut client, TOPIC, 299, batch(3)), Ok(number * 3));
    }
    assert_eq!(delete_records(&mut client, TOPIC, 299, 4), Ok(4));
    let (_, text) = broker.get("/metrics");
    let value = |name: &str, partition: i32| {
        let labels = format!("{{broker=\"1\",topic=\"{TOPIC}\",partition=\"{partition}\"}}");
        metric(&text, &format!("highwater_{name}{labels}")).unwrap_or_else(|| panic!("no {name} in\n{text}"))
    };
    assert_eq!(value("log_size_bytes", 299), bytes as f64);
    assert_eq!(value("log_start_offset", 299), 4.0);
    assert_eq!(value("log_end_offset", 299), 12.0);
    assert_eq!(value("log_segments", 299), 1.0);
    assert_eq!(
        (value("high_watermark", 299), value("in_sync_replicas", 299)),
        (12.0, 1.0)
    );
    let of_broker = |name: &str| metric(&text, &format!("highwater_{name}{{broker=\"1\"}}"));
    assert_eq!(of_broker("active_controller_count"), Some(1.0));
    assert_eq!(
        (of_broker("partition_count"), of_broker("leader_count")),
        (Some(300.0), Some(300.0))
    );
    assert_eq!(of_broker("under_replicated_partitions"), Some(0.0));
    for partition in 0..299 {
        assert_eq!(value("log_end_offset", partition), 0.0);
    }
}

/// Its partitions are gone, but to start the broker again would not bring them back.
#[test]
fn a_lost_log_directory_is_told_and_the_broker_stays_healthy() {
    let root = tempfile::tempdir().expect("make a temporary directory");
    let (good, lost) = (root.path().join("good"), root.path().join("lost"));
    std::fs::write(&lost, "a file where a directory should be").expect("write a file");
    let dirs = format!("log.dirs={},{}", good.display(), lost.display());
    let broker = TestBroker::start_with_http(&[&dirs]);
    let (status, body) = broker.get("/healthz");
    assert!(status.contains("200"), "{status}");
    assert_eq!(
        body,
        format!("degraded: log directory {} is offline\n", lost.display())
    );
    let (_, text) = broker.get("/metrics");
    assert_eq!(
        metric(&text, "highwater_offline_log_directory_count{broker=\"1\"}"),
        Some(1.0)
    );
    for (path, value) in [(good, 0.0), (lost, 1.0)] {
        let name = format!(
            "highwater_log_directory_offline{{broker=\"1\",log_directory=\"{}\"}}",
            path.display()
        );
        assert_eq!(metric(&text, &name), Some(value), "{text}");
    }
}

#[test]
fn volumes_are_told_with_their_sizes() {
    let broker = TestBroker::start(&[]);
    let mut client = WireClient::connect(&broker.address());
    let answer = log_directories(&mut client);
    let row = &answer.results[0];
    assert_eq!(row.error_code, 0);
    assert!(row.usable_bytes > 0 && row.usable_bytes <= row.total_bytes);
}

#[test]
fn health_is_ok_once_the_broker_serves() {
    let broker = TestBroker::start_with_page();
    let (status, body) = broker.get("/healthz");
    assert!(status.contains("200"), "{status}");
    assert_eq!(body, "ok\n");
}

/// The offset that a checkpoint file of the log directory has for the partition.
fn checkpointed(data: &Path, file: &str, partition: i32) -> Option<Offset> {
    let bytes = std::fs::read(data.join(file)).expect("read a checkpoint");
    let offsets = read_offsets(&bytes).expect("a checkpoint");
    let wanted = TopicPartition::new(TOPIC, partition);
    let found = offsets.into_iter().find(|(partition, _)| *partition == wanted);
    found.map(|(_, offset)| offset)
}

#[test]
fn sigterm_leaves_checkpoints_and_the_clean_mark_and_the_next_start_recovers_nothing() {
    let mut broker = TestBroker::start(&[]);
    let mark = broker.data().join(".kafka_cleanshutdown");
    let mut client = WireClient::connect(&broker.address());
    let id = create_topic(&mut client, TOPIC, 2, &[]).expect("a topic");
    for number in 0..10 {
        assert_eq!(produce(&mut client, TOPIC, 0, batch(3)), Ok(number * 3));
    }
    assert_eq!(delete_records(&mut client, TOPIC, 0, 6), Ok(6));
    assert!(!mark.exists(), "not while it runs");
    assert!(broker.stop().success());

    assert!(mark.exists());
    let data = broker.data();
    let at = |file, partition| checkpointed(&data, file, partition);
    assert_eq!(at("recovery-point-offset-checkpoint", 0), Some(30));
    assert_eq!(at("replication-offset-checkpoint", 0), Some(30));
    assert_eq!(at("log-start-offset-checkpoint", 0), Some(6));
    assert_eq!(at("recovery-point-offset-checkpoint", 1), Some(0));

    const RECOVERS: &str = "not an orderly one";
    for _ in 0..2 {
        broker.restart();
        assert!(!mark.exists(), "the next stop may be no orderly one");
        let mut client = WireClient::connect(&broker.address());
        assert_eq!(topic_id(&mut client, TOPIC), Some(id));
        assert_eq!(read_log(&mut client, TOPIC, 0, 6).len(), 8);
        let log = broker.log();
        assert!(!log.contains(RECOVERS), "{log}");
        assert!(broker.stop().success());
    }
    broker.restart();
    broker.kill();
    broker.restart();
    broker.wait_for_line(RECOVERS);
}

#[test]
fn sigterm_while_clients_wait_and_write_does_not_wait_for_them() {
    let mut broker = TestBroker::start(&[]);
    let mut client = WireClient::connect(&broker.address());
    create_topic(&mut client, TOPIC, 1, &[]).expect("a topic");
    let mut waiting = WireClient::connect(&broker.address());
    assert!(waiting.send(FETCH, &patient_fetch_request(TOPIC, 0, 0)));
    let mut half = WireClient::connect(&broker.address());
    half.send_raw(&[0, 0, 1, 0, 7]);
    assert_eq!(produce(&mut client, TOPIC, 0, batch(1)), Ok(0));
    assert!(broker.stop().success());
    for client in [&mut waiting, &mut half, &mut client] {
        client.wait_until_closed();
    }
    broker.restart();
    let mut client = WireClient::connect(&broker.address());
    assert_eq!(read_log(&mut client, TOPIC, 0, 0).len(), 1);
}

/// Partitions of one request: each is a directory with files of its own, made durable before the answer.
const PARTITIONS_AT_ONCE: i32 = 500;

/// Makes topics of many partitions each, and finds them again after an orderly stop and after none.
fn many_partitions(topics: i32) {
    let mut broker = TestBroker::start(&[]);
    let names: Vec<String> = (0..topics).map(|number| format!("many-{number}")).collect();
    let mut client = WireClient::connect(&broker.address());
    let some = [0, 1, PARTITIONS_AT_ONCE - 1];
    for name in &names {
        create_topic(&mut client, name, PARTITIONS_AT_ONCE, &[]).expect("a topic");
        for partition in some {
            assert_eq!(produce(&mut client, name, partition, batch(1)), Ok(0));
        }
    }
    assert!(broker.stop().success());
    broker.restart();
    broker.kill();
    broker.restart();
    let mut client = WireClient::connect(&broker.address());
    for name in &names {
        let answer = metadata(&mut client, name, false);
        let rows = &answer.topics[0].partitions;
        assert_eq!(rows.len(), PARTITIONS_AT_ONCE as usize);
        assert!(rows.iter().all(|row| row.error_code == 0 && row.leader_id == 1));
        for partition in some {
            assert_eq!(read_log(&mut client, name, partition, 0).len(), 1);
            assert_eq!(produce(&mut client, name, partition, batch(1)), Ok(1));
        }
    }
}

#[test]
fn many_partitions_are_made_and_found_again() {
    many_partitions(1);
}

#[test]
#[ignore = "minutes where the medium is slow: cargo xtask test --soak"]
fn ten_thousand_partitions_are_made_and_found_again() {
    many_partitions(10_000 / PARTITIONS_AT_ONCE);
}

#[test]
fn topics_are_made_on_demand_only_where_that_is_allowed() {
    let code = |client: &mut WireClient, may_create| {
        ErrorCode::from_code(metadata(client, TOPIC, may_create).topics[0].error_code)
    };
    let unknown = Some(ErrorCode::UnknownTopicOrPartition);

    let broker = TestBroker::start(&["num.partitions=3"]);
    let mut client = WireClient::connect(&broker.address());
    assert_eq!(code(&mut client, false), unknown, "the client forbids it");
    assert_eq!(
        code(&mut client, true),
        unknown,
        "it is made, and who asks again finds it"
    );
    while code(&mut client, false) == unknown {
        std::thread::yield_now();
    }
    assert_eq!(code(&mut client, false), Some(ErrorCode::None));
    assert_eq!(metadata(&mut client, TOPIC, false).topics[0].partitions.len(), 3);
    assert_eq!(produce(&mut client, TOPIC, 2, batch(1)), Ok(0));

    let broker = TestBroker::start(&["auto.create.topics.enable=false"]);
    let mut client = WireClient::connect(&broker.address());
    assert_eq!(code(&mut client, true), unknown, "the broker forbids it");
    assert_eq!(topic_id(&mut client, TOPIC), None);
}

#[test]
fn an_unknown_key_is_a_warning_that_names_it() {
    let broker = TestBroker::start(&["no.such.key=1"]);
    let line = broker.wait_for_line("no.such.key");
    assert!(
        line.contains("WARN") && line.contains("server.properties line 4"),
        "{line}"
    );
}

#[test]
fn idle_connections_are_closed_and_busy_ones_kept() {
    let broker = TestBroker::start(&["connections.max.idle.ms=300"]);
    let mut idle = WireClient::connect(&broker.address());
    create_topic(&mut idle, TOPIC, 1, &[]).expect("a topic");
    let from = format!("from {}:", idle.own_address());
    let mut busy = WireClient::connect(&broker.address());
    let until_closed = std::thread::spawn(move || idle.wait_until_closed());
    while !until_closed.is_finished() {
        produce(&mut busy, TOPIC, 0, batch(1)).expect("a batch is taken");
    }
    let line = broker.wait_for_line(&from);
    assert!(line.contains("connections.max.idle.ms"), "{line}");
    produce(&mut busy, TOPIC, 0, batch(1)).expect("a batch is taken");
}

/// Foreign and empty files in the log directory are nobody's business, and said so at most.
#[test]
fn strange_files_in_the_log_directory_stop_nothing() {
    let mut broker = TestBroker::start(&[]);
    let mut client = WireClient::connect(&broker.address());
    create_topic(&mut client, TOPIC, 1, &[]).expect("a topic");
    assert_eq!(produce(&mut client, TOPIC, 0, batch(1)), Ok(0));
    assert!(broker.stop().success());

    let (data, partition) = (broker.data(), broker.data().join("t-0"));
    for name in ["lost+found", "backup-of-yesterday", "x-1.old"] {
        std::fs::create_dir(data.join(name)).expect("make a directory");
    }
    for name in ["notes.txt", "meta.properties.tmp", ".DS_Store"] {
        std::fs::write(data.join(name), "").expect("write a file");
        std::fs::write(partition.join(name), "").expect("write a file");
    }
    for name in ["00000000000000000000.index", "00000000000000000000.timeindex"] {
        std::fs::write(partition.join(name), "").expect("empty an index");
    }
    for name in [
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        "log-start-offset-checkpoint",
        "t-0/leader-epoch-checkpoint",
        "t-0/00000000000000000001.snapshot",
        "t-0/00000000000000000001.log",
    ] {
        std::fs::write(data.join(name), "").expect("empty a file");
    }
    broker.restart();
    let mut client = WireClient::connect(&broker.address());
    assert_eq!(read_log(&mut client, TOPIC, 0, 0).len(), 1);
    for name in ["notes.txt", "lost+found", "backup-of-yesterday"] {
        assert!(data.join(name).exists(), "{name} is left alone");
    }
}

#[test]
fn a_zookeeper_that_is_not_there_is_waited_for_and_given_up_with_one_line() {
    let root = tempfile::tempdir().expect("make a temporary directory");
    let file = root.path().join("server.properties");
    let zookeeper = format!("127.0.0.1:{}", free_port());
    let properties = format!(
        "broker.id=1\nlisteners=PLAINTEXT://127.0.0.1:{}\nlog.dirs={}\nzookeeper.connect={zookeeper}\n\
         zookeeper.connection.timeout.ms=1500\n",
        free_port(),
        root.path().join("data").display()
    );
    std::fs::write(&file, properties).expect("write server.properties");
    let (status, said) = run_to_end(&["server".into(), file.into()]);
    assert!(!status.success(), "{said}");
    let lines_with = |words: &str| said.lines().filter(|line| line.contains(words)).count();
    assert_eq!(lines_with("trying on"), 1, "{said}");
    assert_eq!(lines_with("within 1500 ms"), 1, "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(
        last.contains(&zookeeper) && last.contains("is it running"),
        "{said}"
    );
}
