//! Power loss at any moment, with anything left on the medium that the syncs allow.
//!
//! A small host drives one [`Log`] over a [`MemoryDisk`]: it appends, rolls, flushes, truncates and
//! writes checkpoints by the draws of a seed, with some disk operations still under way when the power
//! goes, and those aside long after appends that were asked for later. Then it starts again from what is left, as the broker does, and goes on. What is compared is
//! the batches in the `.log` files, byte by byte, with those that were appended.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use highwater_core::cx::Cx;
use highwater_core::disk::memory::MemoryDisk;
use highwater_core::disk::{AsideTicket, DirId, DiskOp, DiskQueue, Lane, Lanes, ReadAt};
use highwater_core::log::checkpoint::{RECOVERY_POINT_FILE, read_offsets, write_offsets};
use highwater_core::log::producer_state::{
    AppendOrigin, BatchMetadata, ProducerStateManager, TransactionVersion, marker_of,
};
use highwater_core::log::{
    Appended, Job, JobResult, Log, LogConfig, Recover, Recovered, Truncation, run_job,
};
use highwater_core::record::builder::end_transaction_batch;
use highwater_core::record::control::{ControlType, EndTransactionMarker};
use highwater_core::record::{
    Batch, BatchBuilder, BatchHeader, Batches, Codec, Validated, ValidationRules, Workspace,
    validate_produced,
};
use highwater_core::trace::{EventId, Trace};
use highwater_core::types::{LeaderEpoch, Millis, Offset, ProducerId, Rng, Sequence, TopicPartition};

const DIR: DirId = 0;
const PARTITION: &str = "t-0";
/// The producer that sends transactions.
const TRANSACTIONAL: ProducerId = 2;
/// No producer is silent for so long.
const NEVER_MS: Millis = Millis::MAX;

fn partition() -> TopicPartition {
    TopicPartition::new("t", 0)
}

/// One log on one disk, and the test's own memory of what it did.
struct Host {
    rng: Rng,
    now: Millis,
    disk: MemoryDisk,
    queue: DiskQueue,
    trace: Trace,
    /// Operations handed out and not yet done.
    lanes: Lanes,
    /// Up to here what is aside is done, told or not.
    aside_done: AsideTicket,
    log: Option<Log>,
    epoch: LeaderEpoch,
    /// What was appended and not truncated since, by base offset, as it stands in the file.
    appended: BTreeMap<Offset, Bytes>,
    /// The greatest log end that was seen: what acknowledgements stand on.
    acknowledged: Offset,
}

impl Host {
    fn new(seed: u64, config: &Arc<LogConfig>) -> Self {
        let mut host = Self {
            rng: Rng::new(seed),
            now: 1_000_000,
            disk: MemoryDisk::new(),
            queue: DiskQueue::default(),
            trace: Trace::off(),
            lanes: Lanes::default(),
            aside_done: 0,
            log: None,
            epoch: 0,
            appended: BTreeMap::new(),
            acknowledged: 0,
        };
        let topic_id = host.rng.uuid();
        let config = config.clone();
        host.log = Some(host.with_cx(|_, cx| Log::create(cx, partition(), DIR, topic_id, config)));
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
        let result = act(self.log.as_mut(), &mut cx);
        for queued in self.queue.take() {
            self.lanes.push(queued.lane, queued.ticket, queued.op);
        }
        result
    }

    fn with_log<T>(&mut self, act: impl FnOnce(&mut Log, &mut Cx<'_>) -> T) -> T {
        self.with_cx(|log, cx| act(log.expect("the log is open"), cx))
    }

    fn log(&self) -> &Log {
        self.log.as_ref().expect("the log is open")
    }

    /// Does up to `count` operations, of the lane that is drawn each time, and tells the log.
    fn work(&mut self, count: usize) {
        for _ in 0..count {
            let drawn = match self.rng.below(3) {
                0 => Lane::Aside,
                _ => Lane::Strict,
            };
            let other = match drawn {
                Lane::Aside => Lane::Strict,
                Lane::Strict => Lane::Aside,
            };
            if !self.work_in(drawn) && !self.work_in(other) {
                break;
            }
        }
        // The news of what is aside may come late.
        if self.rng.below(2) == 0 {
            self.tell_aside();
        }
    }

    /// Does the lane's next operation, if it may begin.
    fn work_in(&mut self, lane: Lane) -> bool {
        let Some((ticket, op)) = self.lanes.begin(lane) else {
            return false;
        };
        let done = self.disk.apply(DIR, &op);
        done.unwrap_or_else(|error| panic!("{op:?}: {error}"));
        self.lanes.done(lane, ticket);
        match lane {
            Lane::Aside => self.aside_done = ticket,
            Lane::Strict => {
                self.with_log(|log, cx| log.disk_done(cx, ticket));
                self.acknowledged = self.acknowledged.max(self.log().log_end());
            }
        }
        true
    }

    fn tell_aside(&mut self) {
        let upto = self.aside_done;
        self.with_log(|log, _| log.aside_done(upto));
    }

    /// Does strict operations only, while what is aside lets them.
    fn work_strict(&mut self) {
        while self.work_in(Lane::Strict) {}
    }

    fn work_all(&mut self) {
        self.work(usize::MAX);
        self.tell_aside();
        let idle = self.lanes.is_empty(Lane::Strict) && self.lanes.is_empty(Lane::Aside);
        assert!(idle, "each operation is done in its turn");
    }

    /// Some number of operations, as many as may be under way.
    fn draw_under_way(&mut self) -> usize {
        self.rng.below(12) as usize
    }

    fn step(&mut self, truncate: bool) {
        self.now += self.rng.below(1000) as Millis;
        match self.rng.below(24) {
            0 => self.with_log(|log, cx| log.roll(cx)),
            1 => drop(self.with_log(|log, cx| log.flush(cx))),
            2 => self.with_log(|log, cx| log.tick(cx)),
            3 => self.checkpoint(),
            4 => self.epoch += 1,
            5 if truncate => self.truncate(),
            6 => self.work_all(),
            7..9 => self.work_strict(),
            9..14 => {
                let count = self.draw_under_way();
                self.work(count);
            }
            _ => self.append(),
        }
    }

    /// Appends what one of three idempotent producers sends next, of whom one sends transactions.
    fn append(&mut self) {
        let producer_id = self.rng.below(3) as ProducerId;
        if producer_id == TRANSACTIONAL && self.rng.below(2) == 0 {
            return self.end_transaction();
        }
        let sequence = self.next_sequence(producer_id);
        let batch = some_batch(&mut self.rng, self.now, producer_id, sequence);
        let appended = self.produce(&batch);
        assert!(!appended.duplicate);
        self.remember(&batch.header, &batch.bytes, appended.base_offset);
    }

    fn end_transaction(&mut self) {
        let control_type = match self.rng.below(2) {
            0 => ControlType::Commit,
            _ => ControlType::Abort,
        };
        let marker = EndTransactionMarker {
            control_type,
            coordinator_epoch: 0,
        };
        let bytes = end_transaction_batch(marker, TRANSACTIONAL, 0, self.now);
        let batch = Batch::parse(&bytes).expect("a marker");
        let (epoch, version) = (self.epoch, TransactionVersion::Legacy);
        let appended = self.with_log(|log, cx| log.append_marker_as_leader(cx, &batch, epoch, version));
        let base = appended.expect("the log takes the marker").base_offset;
        self.remember(&batch.header, &batch.bytes, base);
    }

    fn remember(&mut self, header: &BatchHeader, bytes: &Bytes, base: Offset) {
        let head = header.patch_head(base, self.epoch);
        let stored = [&head[..], &bytes[head.len()..]].concat();
        self.appended.insert(base, stored.into());
    }

    fn produce(&mut self, batch: &Validated) -> Appended {
        let (epoch, origin) = (self.epoch, AppendOrigin::Client);
        let appended = self.with_log(|log, cx| log.append_as_leader(cx, batch, epoch, origin));
        appended.expect("the log takes the batch")
    }

    fn next_sequence(&self, producer_id: ProducerId) -> Sequence {
        let known = self.log().producers().last_entry(producer_id);
        known.map_or(0, |entry| entry.last_sequence() + 1)
    }

    fn checkpoint(&mut self) {
        let bytes = write_offsets([(&partition(), self.log().recovery_point())]);
        let path = RECOVERY_POINT_FILE.into();
        self.with_cx(|_, cx| cx.disk.push_aside(DIR, DiskOp::Replace { path, bytes }));
    }

    /// Cuts the log at the start of some batch, under a new leader.
    fn truncate(&mut self) {
        let starts: Vec<_> = self.appended.keys().copied().collect();
        let Some(&to) = starts.get(self.rng.below(starts.len() as u64) as usize) else {
            return;
        };
        self.work_all();
        match self.with_log(|log, cx| log.truncate_to(cx, to, NEVER_MS)) {
            Truncation::Rebuild(job) => {
                let JobResult::Rebuilt(Ok(rebuilt)) = run_job(job, &self.disk, &mut |_| {}) else {
                    panic!("the rebuild failed");
                };
                assert!(self.with_log(|log, cx| log.truncated(cx, *rebuilt)));
            }
            Truncation::Done | Truncation::Nothing => {}
            Truncation::WaitFor(_) => panic!("nothing is under way"),
        }
        self.appended.retain(|&base, _| base < to);
        self.acknowledged = self.acknowledged.min(to);
        self.epoch += 1;
    }

    /// The power goes while operations are under way; the broker of before is no more.
    fn lose_power(&mut self) {
        self.stop();
        self.disk.power_loss_keeping(&mut self.rng);
    }

    /// The process dies; the system goes on.
    fn crash(&mut self) {
        self.stop();
        self.disk.crash();
    }

    fn stop(&mut self) {
        self.log = None;
        self.lanes = Lanes::default();
        self.aside_done = 0;
        self.queue = DiskQueue::default();
    }

    fn recovery_point_on_disk(&self) -> Offset {
        let file = self.disk.read_file(DIR, RECOVERY_POINT_FILE).unwrap_or_default();
        let offsets = read_offsets(&file).expect("a checkpoint is whole or not there");
        let ours = offsets.iter().rev().find(|(found, _)| *found == partition());
        ours.map_or(0, |(_, offset)| *offset)
    }

    /// Reads the log's files as a start after an unclean stop does. `None`: there is no such directory.
    fn recover(&self, config: &LogConfig) -> Option<Recovered> {
        self.disk.list(DIR, PARTITION).ok()?;
        let job = Job::Recover(Box::new(Recover {
            partition: partition(),
            dir: DIR,
            path: PARTITION.into(),
            clean: false,
            recovery_point: self.recovery_point_on_disk(),
            log_start: 0,
            index_interval_bytes: config.index_interval_bytes,
            now_ms: self.now,
            producer_expiration_ms: NEVER_MS,
        }));
        match run_job(job, &self.disk, &mut |_| {}) {
            JobResult::Recovered(Ok(recovered)) => Some(*recovered),
            other => panic!("recovery failed: {other:?}"),
        }
    }

    /// Starts again; answers whether there was a log at all.
    fn restart(&mut self, config: &Arc<LogConfig>) -> bool {
        let Some(recovered) = self.recover(config) else {
            return false;
        };
        let config = config.clone();
        self.log = Some(self.with_cx(|_, cx| Log::open(cx, recovered, config)));
        true
    }

    /// The batches in the `.log` files, by base offset.
    fn stored(&self) -> BTreeMap<Offset, Bytes> {
        let names = self.disk.list(DIR, PARTITION).unwrap_or_default();
        let mut stored = BTreeMap::new();
        for name in names.iter().filter(|name| name.ends_with(".log")) {
            let path = format!("{PARTITION}/{name}");
            let file = self.disk.read_file(DIR, &path).expect("a listed file");
            for batch in Batches::new(file) {
                let batch = batch.unwrap_or_else(|why| panic!("{name}: {why}"));
                batch.check_crc().unwrap_or_else(|why| panic!("{name}: {why}"));
                stored.insert(batch.header.base_offset, batch.bytes);
            }
        }
        stored
    }
}

fn some_batch(rng: &mut Rng, now: Millis, producer_id: ProducerId, sequence: Sequence) -> Validated {
    let mut builder = BatchBuilder::new(Codec::None)
        .producer(producer_id, 0, sequence)
        .transactional(producer_id == TRANSACTIONAL);
    for _ in 0..=rng.below(4) {
        let value = vec![rng.next_u64() as u8; rng.below(400) as usize];
        builder.append(now, None, Some(&value), &[]);
    }
    validate(&builder.build(), now)
}

fn validate(batch: &Bytes, now: Millis) -> Validated {
    let rules = ValidationRules::default();
    validate_produced(batch, &rules, now, &mut Workspace::default()).expect("a sound batch")
}

fn config(flush_messages: u64) -> Arc<LogConfig> {
    Arc::new(LogConfig {
        segment_bytes: 3000,
        index_interval_bytes: 200,
        flush_messages,
        ..LogConfig::default()
    })
}

fn header(batch: &Bytes) -> BatchHeader {
    BatchHeader::parse(batch).expect("a whole header")
}

/// The offset after the last batch.
fn end(stored: &BTreeMap<Offset, Bytes>) -> Offset {
    stored
        .values()
        .last()
        .map_or(0, |batch| header(batch).next_offset())
}

/// What is stored must be the beginning of what was appended, down to the byte.
fn assert_prefix(stored: &BTreeMap<Offset, Bytes>, appended: &BTreeMap<Offset, Bytes>, seed: u64) {
    for ((base, batch), (expected_base, expected)) in stored.iter().zip(appended) {
        assert_eq!(base, expected_base, "seed {seed}: a hole");
        assert_eq!(batch, expected, "seed {seed}: other bytes at offset {base}");
    }
    assert!(
        stored.len() <= appended.len(),
        "seed {seed}: more than was appended"
    );
}

/// What is known of the producers must be what the stored batches say, and each one's last batch, sent
/// again, must be found and not be stored again.
fn assert_producers(host: &mut Host, stored: &BTreeMap<Offset, Bytes>, seed: u64) {
    let mut replayed = ProducerStateManager::default();
    let mut aborted = Vec::new();
    for batch in stored.values() {
        let batch = Batch::parse(batch).expect("a whole batch");
        let marker = marker_of(&batch);
        let marker = marker
            .as_ref()
            .map(|(marker, timestamp_ms)| (marker, *timestamp_ms));
        let completed = replayed.replay(&batch.header, marker);
        aborted.extend(completed.and_then(|completed| completed.aborted()));
    }
    let indexed = host.log().aborted_transactions(0, Offset::MAX);
    assert_eq!(indexed, aborted, "seed {seed}: the aborted transactions");
    let undecided = host.log().producers().first_undecided_offset();
    assert_eq!(
        undecided,
        replayed.first_undecided_offset(),
        "seed {seed}: the open transaction"
    );
    // Offsets only: in a snapshot a batch has the time of whatever its producer did last.
    let last = |state: &ProducerStateManager| -> Vec<_> {
        let offsets = |batch: &BatchMetadata| (batch.first_offset(), batch.last_offset, batch.last_sequence);
        let entries = state.active_producers();
        entries
            .map(|entry| (entry.producer_id, entry.batches.last().map(offsets)))
            .collect()
    };
    assert_eq!(
        last(host.log().producers()),
        last(&replayed),
        "seed {seed}: the producers"
    );
    for (producer_id, batch) in last(&replayed) {
        // Of a producer that is known by a marker alone there is nothing to send again.
        let Some((first_offset, ..)) = batch else {
            continue;
        };
        let mut sent = stored[&first_offset].to_vec();
        sent[..8].fill(0);
        let again = host.produce(&validate(&sent.into(), host.now));
        assert!(
            again.duplicate,
            "seed {seed}: a retry of producer {producer_id} was stored twice"
        );
        assert_eq!(again.base_offset, first_offset, "seed {seed}");
    }
}

/// A second start, before or after the first one's repairs have reached the disk or the medium, finds
/// the same end.
fn assert_recovers_alike(host: &mut Host, config: &Arc<LogConfig>, seed: u64) {
    let first_end = host.log().assigned_end();
    let done = host.draw_under_way();
    host.work(done);
    if host.rng.below(2) == 0 {
        host.crash();
    } else {
        host.lose_power();
    }
    assert!(host.restart(config), "seed {seed}");
    assert_eq!(
        host.log().assigned_end(),
        first_end,
        "seed {seed}: after {done} repairs"
    );
    host.work_all();
    let again = host.recover(config).expect("the log is there");
    assert_eq!(again.log_end, first_end, "seed {seed}: after all repairs");
    assert_eq!(again.cut_bytes, 0, "seed {seed}: {:?}", again.cut_why);
}

/// One life after another, each ended by a loss of power.
fn live(seed: u64, flush_messages: u64) {
    let config = config(flush_messages);
    let mut host = Host::new(seed, &config);
    for _ in 0..3 {
        for _ in 0..host.rng.below(80) {
            host.step(false);
        }
        host.lose_power();
        let (recovery_point, acknowledged) = (host.recovery_point_on_disk(), host.acknowledged);
        let flushes_each = flush_messages == 1;
        if !host.restart(&config) {
            assert_eq!(recovery_point, 0, "seed {seed}: the log is gone");
            assert!(
                !flushes_each || acknowledged == 0,
                "seed {seed}: acknowledged and gone"
            );
            return;
        }
        let log_end = host.log().log_end();
        assert!(
            log_end >= recovery_point,
            "seed {seed}: {log_end} is below {recovery_point}"
        );
        assert!(
            !flushes_each || log_end >= acknowledged,
            "seed {seed}: {log_end} of {acknowledged} left"
        );
        assert_recovers_alike(&mut host, &config, seed);
        let stored = host.stored();
        assert_prefix(&stored, &host.appended, seed);
        assert_eq!(end(&stored), log_end, "seed {seed}");
        assert_producers(&mut host, &stored, seed);
        host.appended = stored;
        host.acknowledged = log_end;
    }
}

#[test]
fn what_was_acknowledged_after_a_flush_of_each_message_is_there() {
    for seed in 0..200 {
        live(seed, 1);
    }
}

#[test]
fn without_flushes_what_is_lost_lies_at_or_above_the_recovery_point() {
    for seed in 0..200 {
        live(seed, u64::MAX);
    }
}

#[test]
fn a_few_messages_between_flushes_lose_no_more_than_the_recovery_point_says() {
    for seed in 0..100 {
        live(seed, 7);
    }
}

/// After truncations the medium may hold what was truncated or what came after it; the log that is
/// recovered is whole all the same, and stays what it is.
#[test]
fn a_truncated_log_recovers_to_a_whole_one() {
    for seed in 0..200 {
        let config = config(if seed % 2 == 0 { 1 } else { u64::MAX });
        let mut host = Host::new(seed, &config);
        for _ in 0..host.rng.below(100) {
            host.step(true);
        }
        host.lose_power();
        if !host.restart(&config) {
            continue;
        }
        assert_recovers_alike(&mut host, &config, seed);
        let stored = host.stored();
        let mut next = stored.keys().next().copied().unwrap_or(0);
        for (&base, batch) in &stored {
            assert_eq!(next, base, "seed {seed}: a hole");
            next = header(batch).next_offset();
            let epoch = header(batch).partition_leader_epoch;
            let known = host.log().epochs().epoch_for_offset(base);
            assert_eq!(known, Some(epoch), "seed {seed}: the epoch of offset {base}");
        }
        assert_eq!(next, host.log().log_end(), "seed {seed}");
        assert_producers(&mut host, &stored, seed);
    }
}
