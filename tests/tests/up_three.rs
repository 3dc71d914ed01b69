//! `highwater up --brokers 3`: a whole cluster in one process, without a ZooKeeper.

use std::net::TcpListener;
use std::sync::Arc;

use highwater_core::error::ErrorCode;
use highwater_core::record::{BatchBuilder, Codec};
use highwater_tests::broker::{TestBroker, free_ports, run_to_end};
use highwater_tests::cluster::stored;
use highwater_tests::requests::*;
use highwater_tests::wire::WireClient;

const BROKERS: u16 = 3;
const TOPIC: &str = "three";

fn connect(first_port: u16, id: u16) -> WireClient {
    WireClient::connect(&format!("127.0.0.1:{}", first_port + id - 1))
}

/// Makes the topic, with a replica on each broker.
fn create(first_port: u16) {
    let told = metadata(&mut connect(first_port, 1), TOPIC, false);
    let mut controller = connect(first_port, told.controller_id as u16);
    let made = controller.ask(
        CREATE_TOPICS,
        &create_replicated_request(TOPIC, 1, BROKERS as i16),
    );
    created(made).expect("a topic of three replicas");
}

/// A connection to the broker that leads the topic's one partition, when all three replicas are in
/// the ISR.
fn leader(first_port: u16) -> WireClient {
    let connect = |id: u16| connect(first_port, id);
    let mut any = connect(2);
    for _ in 0..600 {
        let told = metadata(&mut any, TOPIC, true);
        if let Some(partition) = told.topics[0].partitions.first()
            && partition.isr_nodes.len() == usize::from(BROKERS)
            && partition.leader_id > 0
        {
            // One broker may have heard who leads before the leader has.
            let mut leader = connect(partition.leader_id as u16);
            if fetch(&mut leader, TOPIC, 0, 0).error_code == ErrorCode::None {
                return leader;
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("the partition never had three replicas in its ISR");
}

fn record(number: i64) -> bytes::Bytes {
    let mut batch = BatchBuilder::new(Codec::None);
    batch.append(1, None, Some(format!("record {number}").as_bytes()), &[]);
    batch.build()
}

#[test]
fn three_brokers_in_one_process_keep_one_log_over_a_restart() {
    let directory = Arc::new(tempfile::tempdir().expect("make a temporary directory"));
    let port = free_ports(BROKERS);
    let mut written = 0;
    for _ in 0..2 {
        let mut process = TestBroker::start_up(directory.clone(), port, BROKERS);
        if written == 0 {
            create(port);
        }
        let mut leader = leader(port);
        assert_eq!(read_log(&mut leader, TOPIC, 0, 0).len() as i64, written);
        for _ in 0..50 {
            assert_eq!(produce(&mut leader, TOPIC, 0, record(written)), Ok(written));
            written += 1;
        }
        assert_eq!(read_log(&mut leader, TOPIC, 0, 0).len() as i64, written);
        assert!(process.stop().success(), "it stops cleanly");
    }
    let log = |id| directory.path().join(format!("data/broker-{id}/{TOPIC}-0"));
    let first = stored(&log(1));
    assert!(!first.is_empty());
    assert!(
        (2..=BROKERS).all(|id| stored(&log(id)) == first),
        "three times the same bytes"
    );
}

#[test]
fn a_change_of_settings_is_taken_by_any_broker_and_followed_by_all() {
    let directory = Arc::new(tempfile::tempdir().expect("make a temporary directory"));
    let port = free_ports(BROKERS);
    let _process = TestBroker::start_up(directory, port, BROKERS);
    create(port);
    leader(port);
    let known = |owner: Owner, key: &str, id: u16, value: &str| {
        let mut client = connect(port, id);
        for _ in 0..600 {
            if config(&mut client, owner, key).as_deref() == Some(value) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("broker {id} never heard of {key}={value}");
    };
    for id in 1..=BROKERS {
        let (mut client, value) = (connect(port, id), format!("{id}000"));
        let mut set = |owner, key| assert_eq!(alter_config(&mut client, owner, key, &value), Ok(()), "{key}");
        set(of_topic(TOPIC), "retention.ms");
        set(of_broker(""), "log.retention.ms");
        let own = id.to_string();
        set(of_broker(&own), "message.max.bytes");
        known(of_broker(&own), "message.max.bytes", id, &value);
        for other in 1..=BROKERS {
            known(of_topic(TOPIC), "retention.ms", other, &value);
            known(of_broker(&other.to_string()), "log.retention.ms", other, &value);
        }
        let unknown = alter_config(&mut client, of_topic("none"), "retention.ms", &value);
        assert_eq!(
            unknown,
            Err(ErrorCode::UnknownTopicOrPartition),
            "the controller's own answer"
        );
    }
}

#[test]
fn the_figures_of_all_brokers_stand_on_one_page() {
    let directory = Arc::new(tempfile::tempdir().expect("make a temporary directory"));
    let port = free_ports(BROKERS);
    let process = TestBroker::start_up(directory, port, BROKERS);
    create(port);
    let mut leader = leader(port);
    assert_eq!(produce(&mut leader, TOPIC, 0, record(0)), Ok(0));
    assert_eq!(produce(&mut leader, TOPIC, 0, record(1)), Ok(1));
    let (status, text) = process.get("/metrics");
    assert!(status.contains("200"), "{status}");
    let lines = |begin: &str| text.lines().filter(|line| line.starts_with(begin)).count();
    for id in 1..=BROKERS {
        let of = format!("broker=\"{id}\"");
        for name in [
            "connections{",
            "network_in_bytes_total{",
            "offline_log_directory_count{",
        ] {
            assert_eq!(
                lines(&format!("highwater_{name}{of}}} ")),
                1,
                "{name} of {id} in\n{text}"
            );
        }
        let log = format!("highwater_log_end_offset{{{of},topic=\"{TOPIC}\",partition=\"0\"}} ");
        assert_eq!(lines(&log), 1, "{text}");
        let buckets = "highwater_produce_latency_seconds_bucket{";
        let of_broker = |line: &&str| line.starts_with(buckets) && line.contains(&of);
        assert!(text.lines().filter(of_broker).count() > 1, "{text}");
    }
    let mut described: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE ")).collect();
    let all = described.len();
    described.sort_unstable();
    described.dedup();
    assert_eq!(described.len(), all, "each name is described once\n{text}");
    assert_eq!(process.get("/healthz").1, "ok\n");
}

#[test]
fn what_cannot_start_says_so_in_one_line() {
    let directory = tempfile::tempdir().expect("make a temporary directory");
    let data = directory.path().join("data");
    let port = free_ports(BROKERS);
    let run = |port: u16, brokers: &str| {
        let port = port.to_string();
        let arguments = [
            "up",
            "--brokers",
            brokers,
            "--port",
            &port,
            "--http",
            "127.0.0.1:0",
            "--data",
        ];
        let arguments = arguments.into_iter().map(Into::into).chain([data.clone().into()]);
        let (status, said) = run_to_end(&arguments.collect::<Vec<_>>());
        assert!(!status.success(), "{said}");
        let lines: Vec<&str> = said.lines().collect();
        let [line] = lines[..] else { panic!("{said}") };
        line.to_owned()
    };
    let second = TcpListener::bind(("127.0.0.1", port + 1)).expect("the second broker's port");
    let line = run(port, "3");
    assert!(
        line.contains(&format!("127.0.0.1:{}", port + 1)) && line.contains("is taken by another program"),
        "{line}"
    );
    drop(second);
    assert!(run(u16::MAX, "3").contains("there are not 3 ports from 65535 on"));
    std::fs::create_dir_all(data.join("broker-1")).expect("make a directory");
    assert!(run(port, "1").contains("holds the data of several brokers"));
    std::fs::remove_dir(data.join("broker-1")).expect("remove it");
    std::fs::write(data.join("meta.properties"), "version=0\nbroker.id=1\n").expect("write a file");
    assert!(run(port, "3").contains("holds the data of one broker"));
}
