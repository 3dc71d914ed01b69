//! `highwater up --brokers 3`: a whole cluster in one process, without a ZooKeeper.

use std::net::TcpListener;
use std::sync::Arc;

use highwater_core::error::ErrorCode;
use highwater_core::record::{BatchBuilder, Codec};
use highwater_tests::broker::{TestBroker, free_port};
use highwater_tests::cluster::stored;
use highwater_tests::requests::*;
use highwater_tests::wire::WireClient;

const BROKERS: u16 = 3;
const TOPIC: &str = "three";

/// The first of three ports in a row that were free a moment ago.
fn free_ports() -> u16 {
    loop {
        let first = free_port();
        let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if first < u16::MAX - BROKERS && (first..first + BROKERS).all(is_free) {
            return first;
        }
    }
}

/// A connection to the broker that leads the topic's one partition, when all three replicas are in
/// the ISR.
fn leader(first_port: u16) -> WireClient {
    let connect = |id: u16| WireClient::connect(&format!("127.0.0.1:{}", first_port + id - 1));
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
    let port = free_ports();
    let mut written = 0;
    for _ in 0..2 {
        let mut process = TestBroker::start_up(directory.clone(), port, BROKERS);
        if written == 0 {
            let mut controller = WireClient::connect(&process.address());
            let told = metadata(&mut controller, TOPIC, false);
            let at = port + told.controller_id as u16 - 1;
            let mut controller = WireClient::connect(&format!("127.0.0.1:{at}"));
            let made = controller.ask(CREATE_TOPICS, &create_replicated_request(TOPIC, 1, 3));
            created(made).expect("a topic of three replicas");
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
