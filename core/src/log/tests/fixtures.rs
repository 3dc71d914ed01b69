//! The batches that Kafka wrote, appended here, give the files that Kafka wrote.

use bytes::Bytes;

use crate::log::testing::{DAY_MS, Host};
use crate::log::{Log, LogConfig};
use crate::record::{Batch, Batches};

macro_rules! fixture {
    ($path:literal) => {
        Bytes::from_static(include_bytes!(concat!("../../../../tests/fixtures/", $path)))
    };
}

/// Settings of the topics the fixtures are from; they rolled by record time.
fn config() -> LogConfig {
    LogConfig {
        segment_ms: 7 * DAY_MS,
        segment_index_bytes: 4096,
        index_interval_bytes: 128,
        ..LogConfig::default()
    }
}

fn append_all(host: &mut Host, segments: &[Bytes]) -> Log {
    let mut log = host.create(config());
    for segment in segments {
        let batches: Vec<Batch> = Batches::new(segment.clone()).map(Result::unwrap).collect();
        log.append_as_follower(&mut host.cx(), &batches).unwrap();
        host.settle(&mut log);
    }
    log.close(&mut host.cx());
    host.settle(&mut log);
    log
}

fn assert_file(host: &Host, name: &str, kafka: &Bytes) {
    assert_eq!(host.file(name), *kafka, "{name}");
}

#[test]
fn records_of_every_codec() {
    let mut host = Host::new();
    let logs = [
        fixture!("fx-records-0/00000000000000000000.log"),
        fixture!("fx-records-0/00000000000000000020.log"),
    ];
    let log = append_all(&mut host, &logs);
    assert_eq!((log.log_end(), log.recovery_point()), (46, 46));
    let files: [(&str, Bytes); 9] = [
        ("00000000000000000000.log", logs[0].clone()),
        (
            "00000000000000000000.index",
            fixture!("fx-records-0/00000000000000000000.index"),
        ),
        (
            "00000000000000000000.timeindex",
            fixture!("fx-records-0/00000000000000000000.timeindex"),
        ),
        ("00000000000000000020.log", logs[1].clone()),
        (
            "00000000000000000020.index",
            fixture!("fx-records-0/00000000000000000020.index"),
        ),
        (
            "00000000000000000020.timeindex",
            fixture!("fx-records-0/00000000000000000020.timeindex"),
        ),
        (
            "00000000000000000020.snapshot",
            fixture!("fx-records-0/00000000000000000020.snapshot"),
        ),
        (
            "00000000000000000046.snapshot",
            fixture!("fx-records-0/00000000000000000046.snapshot"),
        ),
        (
            "leader-epoch-checkpoint",
            fixture!("fx-records-0/leader-epoch-checkpoint"),
        ),
    ];
    for (name, kafka) in &files {
        assert_file(&host, name, kafka);
    }
    let mut names = host.names();
    names.retain(|name| name != "partition.metadata");
    assert_eq!(names.len(), files.len(), "no file more than Kafka's: {names:?}");
}

#[test]
fn transactions() {
    let mut host = Host::new();
    let logs = [
        fixture!("fx-txn-0/00000000000000000000.log"),
        fixture!("fx-txn-0/00000000000000000004.log"),
    ];
    let log = append_all(&mut host, &logs);
    for (name, kafka) in [
        ("00000000000000000000.log", logs[0].clone()),
        (
            "00000000000000000000.index",
            fixture!("fx-txn-0/00000000000000000000.index"),
        ),
        (
            "00000000000000000000.timeindex",
            fixture!("fx-txn-0/00000000000000000000.timeindex"),
        ),
        ("00000000000000000004.log", logs[1].clone()),
        (
            "00000000000000000004.index",
            fixture!("fx-txn-0/00000000000000000004.index"),
        ),
        (
            "00000000000000000004.timeindex",
            fixture!("fx-txn-0/00000000000000000004.timeindex"),
        ),
        (
            "00000000000000000004.txnindex",
            fixture!("fx-txn-0/00000000000000000004.txnindex"),
        ),
        (
            "00000000000000000004.snapshot",
            fixture!("fx-txn-0/00000000000000000004.snapshot"),
        ),
        (
            "00000000000000000017.snapshot",
            fixture!("fx-txn-0/00000000000000000017.snapshot"),
        ),
    ] {
        assert_file(&host, name, &kafka);
    }
    let aborted: Vec<_> = log.aborted_transactions(0, 17);
    let offsets: Vec<_> = aborted
        .iter()
        .map(|txn| (txn.first_offset, txn.last_offset))
        .collect();
    assert_eq!(offsets, [(5, 8), (11, 15)]);
    assert_eq!(
        log.last_stable_offset(17),
        1,
        "no high watermark has covered the markers yet"
    );
}

#[test]
fn recompressed_batches_with_the_brokers_time() {
    let mut host = Host::new();
    let logs = [fixture!("fx-appendtime-0/00000000000000000000.log")];
    append_all(&mut host, &logs);
    for (name, kafka) in [
        ("00000000000000000000.log", logs[0].clone()),
        (
            "00000000000000000000.index",
            fixture!("fx-appendtime-0/00000000000000000000.index"),
        ),
        (
            "00000000000000000000.timeindex",
            fixture!("fx-appendtime-0/00000000000000000000.timeindex"),
        ),
    ] {
        assert_file(&host, name, &kafka);
    }
}

#[test]
fn kafkas_own_files_are_opened_and_believed() {
    let mut host = Host::new();
    for (name, bytes) in [
        (
            "00000000000000000000.log",
            fixture!("fx-txn-0/00000000000000000000.log"),
        ),
        (
            "00000000000000000000.index",
            fixture!("fx-txn-0/00000000000000000000.index"),
        ),
        (
            "00000000000000000000.timeindex",
            fixture!("fx-txn-0/00000000000000000000.timeindex"),
        ),
        (
            "00000000000000000004.log",
            fixture!("fx-txn-0/00000000000000000004.log"),
        ),
        (
            "00000000000000000004.index",
            fixture!("fx-txn-0/00000000000000000004.index"),
        ),
        (
            "00000000000000000004.timeindex",
            fixture!("fx-txn-0/00000000000000000004.timeindex"),
        ),
        (
            "00000000000000000004.txnindex",
            fixture!("fx-txn-0/00000000000000000004.txnindex"),
        ),
        (
            "00000000000000000004.snapshot",
            fixture!("fx-txn-0/00000000000000000004.snapshot"),
        ),
        (
            "00000000000000000017.snapshot",
            fixture!("fx-txn-0/00000000000000000017.snapshot"),
        ),
        (
            "leader-epoch-checkpoint",
            fixture!("fx-txn-0/leader-epoch-checkpoint"),
        ),
        ("partition.metadata", fixture!("fx-txn-0/partition.metadata")),
    ] {
        host.disk.put_file(0, &format!("t-0/{name}"), bytes).unwrap();
    }
    let clean = host.recover(true, 17, &config());
    assert_eq!(clean.repairs, []);
    assert!(clean.active_indexes_sound && !clean.epochs_changed && clean.topic_id.is_some());
    assert_eq!(
        (clean.log_start, clean.log_end, clean.recovery_point),
        (0, 17, 17)
    );
    let unclean = host.recover(false, 0, &config());
    assert_eq!((unclean.log_end, unclean.cut_bytes), (17, 0));
    assert_eq!(unclean.active.offsets, clean.active.offsets);
    assert_eq!(unclean.active_aborted, clean.active_aborted);
    let entries =
        |found: &crate::log::Recovered| found.producers.active_producers().cloned().collect::<Vec<_>>();
    assert_eq!(
        entries(&unclean),
        entries(&clean),
        "replayed and from the snapshot"
    );
}
