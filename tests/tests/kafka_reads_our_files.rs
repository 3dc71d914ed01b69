//! Kafka's DumpLogSegments reads the files that our log writes, and has nothing to complain of.
//!
//! The tool ends well on corrupt data, so its text is read: every batch must be called valid, every
//! index must pass, and what it shows of records, producers and transactions must be what was sent.
//! Needs Java and Kafka's jars: `cargo xtask test` runs it with the clients.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use highwater_core::cx::Cx;
use highwater_core::disk::memory::MemoryDisk;
use highwater_core::disk::{DirId, DiskOp, DiskQueue, FileId, Lane, Queued, Ticket};
use highwater_core::log::producer_state::{AppendOrigin, TransactionVersion};
use highwater_core::log::{Job, JobResult, Log, LogConfig, Recover, Truncation, run_job};
use highwater_core::record::builder::end_transaction_batch;
use highwater_core::record::control::{ControlType, EndTransactionMarker};
use highwater_core::record::validator::TopicCompression;
use highwater_core::record::{
    Batch, BatchBuilder, Codec, Header, TimestampType, ValidationRules, Workspace, validate_produced,
};
use highwater_core::trace::{EventId, Trace};
use highwater_core::types::{Millis, Offset, Rng, TopicPartition};
use highwater_tests::kafka::dump_log_segments;

const DIR: DirId = 0;
const PARTITION: &str = "t-0";
const DAY_MS: Millis = 24 * 60 * 60 * 1000;

/// A log whose disk does everything at once.
struct Host {
    now: Millis,
    rng: Rng,
    disk: MemoryDisk,
    queue: DiskQueue,
    trace: Trace,
    log: Option<Log>,
    config: Arc<LogConfig>,
    rules: ValidationRules,
    /// Records appended so far, markers among them.
    records: usize,
    batches: usize,
}

impl Host {
    fn new() -> Self {
        let mut host = Self {
            now: 1_700_000_000_000,
            rng: Rng::new(1),
            disk: MemoryDisk::new(),
            queue: DiskQueue::default(),
            trace: Trace::off(),
            log: None,
            config: Arc::new(LogConfig {
                segment_bytes: 1500,
                index_interval_bytes: 128,
                ..LogConfig::default()
            }),
            rules: ValidationRules::default(),
            records: 0,
            batches: 0,
        };
        let (topic_id, config) = (host.rng.uuid(), host.config.clone());
        let partition = TopicPartition::new("t", 0);
        host.log = Some(host.with_cx(|_, cx| Log::create(cx, partition, DIR, topic_id, config)));
        host
    }

    fn with_cx<T>(&mut self, act: impl FnOnce(Option<&mut Log>, &mut Cx<'_>) -> T) -> T {
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
            disk: &mut self.queue,
            trace: &mut self.trace,
            cause: EventId::NONE,
        };
        act(self.log.as_mut(), &mut cx)
    }

    /// Lets the log act, then does what it asks of the disk.
    fn with_log<T>(&mut self, act: impl FnOnce(&mut Log, &mut Cx<'_>) -> T) -> T {
        let result = self.with_cx(|log, cx| act(log.expect("the log is open"), cx));
        if let Some(upto) = self.work() {
            self.with_cx(|log, cx| log.expect("the log is open").disk_done(cx, upto));
        }
        result
    }

    fn work(&mut self) -> Option<Ticket> {
        let mut done = None;
        for Queued {
            dir,
            lane,
            ticket,
            op,
        } in self.queue.take()
        {
            self.disk
                .apply(dir, &op)
                .unwrap_or_else(|error| panic!("{op:?}: {error}"));
            if lane == Lane::Strict {
                done = Some(ticket);
            }
        }
        done
    }

    fn produce(&mut self, batch: &Bytes) {
        let valid = validate_produced(batch, &self.rules, self.now, &mut Workspace::default());
        let valid = valid.expect("a sound batch");
        let appended = self.with_log(|log, cx| log.append_as_leader(cx, &valid, 0, AppendOrigin::Client));
        appended.expect("the log takes the batch");
        self.count(&valid.bytes);
    }

    fn end_transaction(&mut self, producer_id: i64, control_type: ControlType) {
        let marker = EndTransactionMarker {
            control_type,
            coordinator_epoch: 4,
        };
        let bytes = end_transaction_batch(marker, producer_id, 0, self.now);
        let batch = Batch::parse(&bytes).expect("a marker");
        let legacy = TransactionVersion::Legacy;
        let appended = self.with_log(|log, cx| log.append_marker_as_leader(cx, &batch, 0, legacy));
        appended.expect("the log takes the marker");
        self.count(&bytes);
    }

    fn count(&mut self, batch: &Bytes) {
        let batch = Batch::parse(batch).expect("a batch");
        self.records += batch.header.record_count as usize;
        self.batches += 1;
    }

    fn close(&mut self) {
        self.with_log(|log, cx| log.close(cx));
    }

    fn next_offset(&self) -> Offset {
        self.log.as_ref().expect("the log is open").assigned_end()
    }

    /// Writes all files of the partition to a real directory and lets Kafka's tool read them.
    fn dump(&self, options: &[&str]) -> String {
        let directory = tempfile::tempdir().expect("make a temporary directory");
        let mut files: Vec<PathBuf> = Vec::new();
        for (_, path, _) in self.disk.files() {
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", &path));
            let readable = [".log", "index", ".snapshot"]
                .iter()
                .any(|end| name.ends_with(end));
            if parent != PARTITION || !readable {
                continue;
            }
            let file = directory.path().join(name);
            let bytes = self.disk.read_file(DIR, &path).expect("a listed file");
            std::fs::write(&file, &bytes).expect("write to the temporary directory");
            files.push(file);
        }
        dump_log_segments(&files, options)
    }
}

fn batch(codec: Codec, now: Millis) -> BatchBuilder {
    let mut builder = BatchBuilder::new(codec);
    fill(&mut builder, now);
    builder
}

/// Four records with everything that may be null or empty.
fn fill(builder: &mut BatchBuilder, now: Millis) {
    let header = |key: &str, value: Option<&[u8]>| Header {
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: value.map(Bytes::copy_from_slice),
    };
    let headers = [header("h1", Some(b"one")), header("h2", None)];
    builder.append(now, Some(b"key"), Some(b"value"), &[]);
    builder.append(now + 1, None, Some(b"no key"), &headers);
    builder.append(now + 2, Some(b"tombstone"), None, &[]);
    builder.append(
        now + 3,
        Some(b""),
        Some(b""),
        &[header("dup", Some(b"")), header("dup", Some(b"b"))],
    );
}

/// What the tool's text complains of, if of anything. A segment whose first offset is not 0 is always
/// called non-consecutive, by one line that says so: that is no complaint.
fn complaint(text: &str) -> Option<String> {
    let words = [
        "isvalid: false",
        "nvalid",
        "Exception",
        "rror",
        "orrupt",
        "ismatch",
        "Found",
        "Could not",
    ];
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if words.iter().any(|word| line.contains(word)) {
            return Some(line.to_owned());
        }
        let Some(file) = line.strip_prefix("Non-consecutive offsets in ") else {
            continue;
        };
        let name = file.rsplit('/').next().unwrap_or(file);
        let base: Offset = name.trim_end_matches(".log").parse().unwrap_or(0);
        let gap = lines.next().unwrap_or_default().trim();
        let more = lines.peek().is_some_and(|next| next.starts_with("  "));
        if base == 0 || gap != format!("-1 is followed by {base}") || more {
            return Some(format!("{line}: {gap}"));
        }
    }
    None
}

/// Lets Kafka's tool read every file, and compares the counts; answers what it said.
fn assert_kafka_reads(host: &Host) -> String {
    let text = host.dump(&["--deep-iteration", "--print-data-log"]);
    assert_eq!(complaint(&text), None, "in\n{text}");
    assert_eq!(
        text.matches("isvalid: true").count(),
        host.batches,
        "batches in\n{text}"
    );
    assert_eq!(
        text.matches("| offset: ").count(),
        host.records,
        "records in\n{text}"
    );
    let sane = host.dump(&["--index-sanity-check"]);
    let indexes = host
        .disk
        .files()
        .iter()
        .filter(|(_, path, _)| path.ends_with("index"))
        .count();
    let transactions = host
        .disk
        .files()
        .iter()
        .filter(|(_, path, _)| path.ends_with("txnindex"))
        .count();
    let passed = sane.matches("passed sanity check.").count() + sane.matches(".index is empty.").count();
    assert_eq!(passed, indexes - transactions, "in\n{sane}");
    text
}

#[test]
fn every_codec_in_several_segments() {
    let mut host = Host::new();
    for codec in [
        Codec::None,
        Codec::Gzip,
        Codec::Snappy,
        Codec::Lz4,
        Codec::Zstd,
        Codec::None,
    ] {
        for _ in 0..5 {
            let batch = batch(codec, host.now).build();
            host.produce(&batch);
            host.now += DAY_MS / 24;
        }
    }
    host.close();
    let text = assert_kafka_reads(&host);
    assert!(
        text.matches("Log starting offset").count() >= 3,
        "several segments"
    );
    let lines = [
        "key: key payload: value",
        "headerKeys: [h1,h2] payload: no key",
        "keySize: 9 valueSize: -1 sequence: -1 headerKeys: [] key: tombstone",
        "headerKeys: [dup,dup]",
    ];
    for line in lines {
        assert_eq!(text.matches(line).count(), 30, "{line} in\n{text}");
    }
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        assert!(text.contains(&format!("compresscodec: {codec}")), "{codec}");
    }
}

#[test]
fn the_brokers_own_time_and_codec() {
    let mut host = Host::new();
    host.rules.timestamp_type = TimestampType::LogAppendTime;
    host.rules.compression = TopicCompression::Fixed(Codec::Lz4.into());
    for codec in [Codec::None, Codec::Gzip, Codec::Lz4] {
        let batch = batch(codec, 1000).build();
        host.produce(&batch);
        host.now += 1;
    }
    host.close();
    let text = assert_kafka_reads(&host);
    assert_eq!(text.matches("compresscodec: lz4").count(), 3, "in\n{text}");
    assert!(text.contains("LogAppendTime: 1700000000002"), "in\n{text}");
}

#[test]
fn producers_and_transactions() {
    let mut host = Host::new();
    let mut sequences = [0; 3];
    for turn in 0..30 {
        let producer_id = turn % 3;
        let transactional = producer_id > 0;
        let sequence = &mut sequences[producer_id as usize];
        let mut builder = BatchBuilder::new(Codec::None)
            .producer(producer_id, 0, *sequence)
            .transactional(transactional);
        *sequence += 4;
        fill(&mut builder, host.now);
        let batch = builder.build();
        host.produce(&batch);
        if turn % 6 > 3 {
            let end = if turn % 4 == 0 {
                ControlType::Commit
            } else {
                ControlType::Abort
            };
            host.end_transaction(producer_id, end);
        }
        host.now += 1000;
    }
    host.with_log(|log, cx| log.roll(cx));
    host.close();
    let text = assert_kafka_reads(&host);
    assert!(
        text.contains("endTxnMarker: COMMIT coordinatorEpoch: 4"),
        "in\n{text}"
    );
    assert!(
        text.contains("endTxnMarker: ABORT coordinatorEpoch: 4"),
        "in\n{text}"
    );
    let log = host.log.as_ref().expect("the log is open");
    let aborted = log.aborted_transactions(0, Offset::MAX);
    assert!(!aborted.is_empty());
    for txn in aborted {
        let line = format!(
            "version: 0 producerId: {} firstOffset: {} lastOffset: {} lastStableOffset: {}",
            txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset
        );
        assert_eq!(text.matches(&line).count(), 1, "{line} in\n{text}");
    }
    let last = text.rsplit(".snapshot").next().expect("the last snapshot");
    for entry in log.producers().active_producers() {
        let known = format!("producerId: {} producerEpoch: 0", entry.producer_id);
        let sequence = format!("lastSequence: {} ", entry.last_sequence());
        assert!(
            last.contains(&known) && last.contains(&sequence),
            "{known} {sequence} in\n{text}"
        );
    }
}

#[test]
fn after_an_unclean_stop_and_after_a_truncation() {
    let mut host = Host::new();
    for _ in 0..20 {
        let batch = batch(Codec::None, host.now).build();
        host.produce(&batch);
        host.now += 1000;
    }
    // The process dies in the middle of a write.
    let log = host.log.take().expect("the log is open");
    let segment = log.active_segment();
    let path = format!("{PARTITION}/{:020}.log", segment.base).into();
    let file = FileId {
        dir: DIR,
        number: u64::MAX,
    };
    let bufs = [Bytes::from_static(b"half a batch")].into_iter().collect();
    let at = segment.size_bytes;
    for op in [DiskOp::Open { file, path }, DiskOp::Append { file, at, bufs }] {
        host.disk.apply(DIR, &op).expect("the last segment is there");
    }
    host.disk.crash();
    let job = Job::Recover(Box::new(Recover {
        partition: TopicPartition::new("t", 0),
        dir: DIR,
        path: PARTITION.into(),
        clean: false,
        recovery_point: 0,
        log_start: 0,
        index_interval_bytes: host.config.index_interval_bytes,
        now_ms: host.now,
        producer_expiration_ms: DAY_MS,
    }));
    let JobResult::Recovered(Ok(recovered)) = run_job(job, &host.disk, &mut |_| {}) else {
        panic!("recovery failed");
    };
    assert_eq!(recovered.cut_bytes, 12);
    let config = host.config.clone();
    host.log = Some(host.with_cx(|_, cx| Log::open(cx, *recovered, config)));
    host.with_log(|log, cx| log.flush(cx));

    // A new leader had only the first ten batches; two more follow.
    let to = 40;
    let truncation = host.with_log(|log, cx| log.truncate_to(cx, to, DAY_MS));
    let Truncation::Rebuild(job) = truncation else {
        panic!("nothing to truncate: {truncation:?}");
    };
    let JobResult::Rebuilt(Ok(rebuilt)) = run_job(job, &host.disk, &mut |_| {}) else {
        panic!("the rebuild failed");
    };
    assert!(host.with_log(|log, cx| log.truncated(cx, *rebuilt)));
    assert_eq!(host.next_offset(), to);
    (host.batches, host.records) = (10, 40);
    for _ in 0..2 {
        let batch = batch(Codec::Zstd, host.now).build();
        host.produce(&batch);
    }
    host.close();
    assert_kafka_reads(&host);
}

/// The tool's complaints are heard: one damaged byte in a batch, one in an index.
#[test]
fn damage_is_complained_of() {
    for (file, at) in [
        ("00000000000000000000.log", 300),
        ("00000000000000000000.index", 3),
    ] {
        let mut host = Host::new();
        for _ in 0..5 {
            let batch = batch(Codec::None, host.now).build();
            host.produce(&batch);
            host.now += 1000;
        }
        host.close();
        let path = format!("{PARTITION}/{file}");
        let mut bytes = host.disk.read_file(DIR, &path).expect("the file").to_vec();
        bytes[at] ^= 1;
        host.disk.put_file(DIR, &path, bytes).expect("write it back");
        let text = host.dump(&["--deep-iteration"]);
        assert!(complaint(&text).is_some(), "{file}: no complaint in\n{text}");
    }
}

/// Plays a script, and writes the disks of its brokers as they are at its end.
fn play(script: &std::path::Path, dump: &std::path::Path) {
    let mut sim = std::process::Command::new(highwater_tests::broker::binary());
    let output = sim
        .arg("sim")
        .arg(script)
        .arg("--dump-dir")
        .arg(dump)
        .output()
        .expect("run highwater sim");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn the_logs_of_a_simulated_cluster() {
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = tempfile::tempdir().expect("make a temporary directory");
    for (topic, script) in [
        ("orders", "acks/all_survives_the_leader"),
        ("t", "truncation/fast_leader_changes"),
    ] {
        let to = directory.path().join(topic);
        play(&tests.join("scenarios").join(script), &to);
        let logs =
            (1..=3).map(|broker| to.join(format!("broker-{broker}/{topic}-0/00000000000000000000.log")));
        let logs: Vec<PathBuf> = logs.filter(|log| log.exists()).collect();
        assert!(logs.len() >= 2, "{script}: a log of each replica");
        let text = dump_log_segments(&logs, &["--deep-iteration", "--print-data-log"]);
        assert_eq!(complaint(&text), None, "in\n{text}");
        assert!(
            text.contains("isvalid: true") && text.contains("payload: 102:0"),
            "{text}"
        );
    }
}

/// An index is written when its log is closed, here by a clean stop.
#[test]
fn the_index_of_a_simulated_broker_that_stopped() {
    const SCRIPT: &str = "brokers 3
setting log.index.interval.bytes=1
topic t partitions 1 replicas 3
producer p acks=all linger.ms=5
produce t-0 2 by p
settle
produce t-0 2 by p
settle
produce t-0 2 by p
settle
stop 1
run 2s
";
    let directory = tempfile::tempdir().expect("make a temporary directory");
    let script = directory.path().join("script");
    std::fs::write(&script, SCRIPT).expect("write the script");
    play(&script, directory.path());
    let log = directory.path().join("broker-1/t-0/00000000000000000000.log");
    let index = log.with_extension("index");
    let sane = dump_log_segments(std::slice::from_ref(&index), &["--index-sanity-check"]);
    assert!(sane.contains("passed sanity check."), "{sane}");
    // An entry before the second batch and one before the third.
    assert_eq!(std::fs::metadata(&index).expect("an index").len(), 16);
    let text = dump_log_segments(&[log, index], &[]);
    assert_eq!(complaint(&text), None, "in\n{text}");
}
