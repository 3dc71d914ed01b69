//! Whole logs of which one file is not what it was: recovered after a clean stop and after a kill,
//! looked up by offset and by time, and dumped with every decoder of keys and values.

use std::sync::Arc;

use bytes::Bytes;
use highwater_core::disk::memory::MemoryDisk;
use highwater_core::disk::{FileId, ReadAt};
use highwater_core::log::dump::{self, Dump, DumpOptions, Problems};
use highwater_core::log::lookup::{Locate, SegmentToRead, StartFrom};
use highwater_core::log::names::{FileKind, parse};
use highwater_core::log::producer_state::snapshot;
use highwater_core::log::time_lookup::LocateTime;
use highwater_core::log::{Job, Recover, run_job};
use highwater_core::types::TopicPartition;

use super::records::UNPACKED_BYTES;
use super::{Decoder, file, fixtures};

/// Two segments, transactions, every kind of file.
const LOG: &str = "fx-txn-0";
/// The files that are not spoiled, and the windows through which a job reads files of any length.
const UNSPOILED_BYTES: usize = 4 << 20;

pub fn decoders() -> Vec<Decoder> {
    let producers = format!("{LOG}/00000000000000000017.snapshot");
    let snapshot = file("producer snapshot", &[&producers], |bytes| {
        drop(snapshot::read(bytes));
    });
    let one_spoiled = files(LOG).into_iter().map(|(name, sample)| {
        spoiled(LOG, name, sample, |disk, name| {
            recover(disk);
            if let Some((base, kind, "")) = parse(name)
                && matches!(kind, FileKind::Log | FileKind::OffsetIndex | FileKind::TimeIndex)
            {
                look_up(disk, base);
            }
            dump(disk, LOG, name, dump::Decoder::Text);
        })
    });
    let mut all: Vec<_> = one_spoiled.chain([snapshot]).collect();
    for (log, decoder) in [
        ("__consumer_offsets-0", dump::Decoder::Offsets),
        ("__transaction_state-0", dump::Decoder::TransactionLog),
    ] {
        let logs = files(log).into_iter().filter(|(name, _)| name.ends_with(".log"));
        all.extend(logs.map(|(name, sample)| {
            spoiled(log, name, sample, move |disk, name| {
                dump(disk, log, name, decoder);
            })
        }));
    }
    all
}

/// Takes bytes for one of the log's files, beside the others as they were.
fn spoiled(
    log: &'static str,
    name: String,
    sample: Bytes,
    work: impl Fn(&MemoryDisk, &str) + Send + Sync + 'static,
) -> Decoder {
    let mut disk = MemoryDisk::new();
    for (name, bytes) in files(log) {
        disk.put_file(0, &format!("{log}/{name}"), bytes)
            .expect("a file in memory");
    }
    Decoder {
        name: format!("{log} with a spoiled {name}"),
        samples: vec![sample],
        head_bytes: 0,
        is_wire: false,
        multiple: super::MULTIPLE,
        extra_bytes: UNSPOILED_BYTES,
        decode: Box::new(move |bytes| {
            let mut disk = disk.clone();
            disk.put_file(0, &format!("{log}/{name}"), bytes)
                .expect("a file in memory");
            work(&disk, &name);
        }),
    }
}

/// Name and content of each of the log's files.
fn files(log: &str) -> Vec<(String, Bytes)> {
    let entries = std::fs::read_dir(fixtures().join(log)).expect("list the log");
    let read = entries.map(|entry| {
        let path = entry.expect("read an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_str()
            .expect("a name in UTF-8");
        (
            name.to_owned(),
            Bytes::from(std::fs::read(&path).expect("read a file")),
        )
    });
    let mut files: Vec<_> = read.filter(|(name, _)| !name.ends_with(".dump.txt")).collect();
    files.sort();
    files
}

fn dump(disk: &MemoryDisk, log: &str, name: &str, decoder: dump::Decoder) {
    let mut dump = Dump {
        options: DumpOptions {
            deep_iteration: true,
            print_data_log: true,
            decoder,
            max_decompressed_bytes: UNPACKED_BYTES,
            ..DumpOptions::default()
        },
        disk,
        dir: 0,
        lines: &mut drop,
        problems: Problems::default(),
    };
    let _ = dump.file(&format!("{log}/{name}"), name);
    dump.finish();
}

fn recover(disk: &MemoryDisk) {
    for clean in [true, false] {
        let job = Recover {
            partition: TopicPartition::new("fx-txn", 0),
            dir: 0,
            path: LOG.into(),
            clean,
            recovery_point: 0,
            log_start: 0,
            index_interval_bytes: 128,
            now_ms: 0,
            producer_expiration_ms: 86_400_000,
        };
        run_job(Job::Recover(Box::new(job)), disk, &mut |_| {});
    }
}

/// Looks up in one segment.
fn look_up(disk: &MemoryDisk, base: i64) {
    let log = format!("{LOG}/{base:020}.log");
    let segment = SegmentToRead {
        dir: 0,
        path: Arc::from(LOG),
        base,
        end_bytes: disk.len(0, &log).unwrap_or(0),
        start: StartFrom::IndexFile,
    };
    let locate = Locate {
        segment: segment.clone(),
        file: FileId { dir: 0, number: 1 },
        from: base + 3,
        limit: i64::MAX,
        next_base: None,
        max_bytes: 1000,
        at_least_one: true,
    };
    run_job(Job::Locate(locate), disk, &mut |_| {});
    let by_time = LocateTime {
        segments: vec![segment],
        target_ms: 1_700_000_000_005,
        from: 0,
    };
    run_job(Job::LocateTime(by_time), disk, &mut |_| {});
}
