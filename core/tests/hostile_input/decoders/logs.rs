//! Whole logs of which one file is not what it was: recovered after a clean stop and after a kill,
//! and looked up by offset and by time.

use std::sync::Arc;

use bytes::Bytes;
use highwater_core::disk::FileId;
use highwater_core::disk::memory::MemoryDisk;
use highwater_core::log::lookup::{Locate, SegmentToRead, StartFrom};
use highwater_core::log::names::{FileKind, parse};
use highwater_core::log::producer_state::snapshot;
use highwater_core::log::time_lookup::LocateTime;
use highwater_core::log::{Job, Recover, run_job};
use highwater_core::types::TopicPartition;

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
    let whole = files();
    let spoiled = whole.clone().into_iter().map(|(name, sample)| {
        let disk = on_disk(&whole);
        Decoder {
            name: format!("log with a spoiled {name}"),
            samples: vec![sample],
            head_bytes: 0,
            is_wire: false,
            extra_bytes: UNSPOILED_BYTES,
            decode: Box::new(move |bytes| {
                let mut disk = disk.clone();
                let end_bytes = bytes.len() as u64;
                disk.put_file(0, &format!("{LOG}/{name}"), bytes)
                    .expect("a file in memory");
                recover(&disk);
                if let Some((base, FileKind::Log | FileKind::OffsetIndex | FileKind::TimeIndex, "")) =
                    parse(&name)
                {
                    look_up(&disk, base, name.ends_with(".log").then_some(end_bytes));
                }
            }),
        }
    });
    spoiled.chain([snapshot]).collect()
}

/// Name and content of each of the log's files.
fn files() -> Vec<(String, Bytes)> {
    let entries = std::fs::read_dir(fixtures().join(LOG)).expect("list the log");
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

fn on_disk(files: &[(String, Bytes)]) -> MemoryDisk {
    let mut disk = MemoryDisk::new();
    for (name, bytes) in files {
        disk.put_file(0, &format!("{LOG}/{name}"), bytes.clone())
            .expect("a file in memory");
    }
    disk
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

/// Looks up in one segment; `end_bytes` is the length of its `.log` if that is the spoiled file.
fn look_up(disk: &MemoryDisk, base: i64, end_bytes: Option<u64>) {
    let log = format!("{LOG}/{base:020}.log");
    let whole = || disk.read_file(0, &log).map_or(0, |bytes| bytes.len() as u64);
    let segment = SegmentToRead {
        dir: 0,
        path: Arc::from(LOG),
        base,
        end_bytes: end_bytes.unwrap_or_else(whole),
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
