//! One log on the in-memory disk: the smallest host that a [`Log`] can live with.
//!
//! It carries out the log's operations at once and in order, runs its jobs inline, and keeps the two
//! small files that a start depends on: the recovery point's checkpoint, which follows each sync, and
//! the mark of a clean stop. What else happens to a log happens by a call: the process dies, the power
//! goes, somebody starts it again.
//!
//! Invariants
//! - after each call everything queued has been carried out
//! - a log that is down has no owner; only its disk can be looked at

use std::sync::Arc;

use bytes::Bytes;

use crate::cx::Cx;
use crate::disk::memory::MemoryDisk;
use crate::disk::{DirId, DiskOp, DiskQueue, Lane, ReadAt};
use crate::error::{DiskError, ErrorCode, Refused};
use crate::log::checkpoint::{CleanShutdown, RECOVERY_POINT_FILE, read_offsets, write_offsets};
use crate::log::producer_state::AppendOrigin;
use crate::log::{Appended, Log, LogConfig, Lookup, Recover, Recovered, TimeLookup};
use crate::record::{BatchHeader, Validated};
use crate::trace::{Event, EventId, Trace};
use crate::types::{Millis, Offset, Rng, TopicPartition};

use super::host::EPOCH_MS;

/// The log directory that the log lies in.
pub const DIR: DirId = 0;
/// Losses of power that are tried before giving up on one that tears a write.
const LOSSES_TRIED: u64 = 64;
const NODE: u32 = 1;
const LEADER_EPOCH: i32 = 0;
const PRODUCER_EXPIRATION_MS: Millis = 24 * 3600 * 1000;

/// A log, its disk, and the clock.
#[derive(Clone, Debug)]
pub struct LogOnMemoryDisk {
    pub now: Millis,
    partition: TopicPartition,
    config: Arc<LogConfig>,
    disk: MemoryDisk,
    queue: DiskQueue,
    rng: Rng,
    trace: Trace,
    log: Option<Log>,
}

/// What a start found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The mark of a clean stop was there.
    pub clean: bool,
    pub recovery_point: Offset,
    /// Bytes of `.log` files that were read because they were in doubt.
    pub checked_bytes: u64,
    pub cut_bytes: u64,
    pub cut_why: Option<String>,
    pub log_end: Offset,
}

impl LogOnMemoryDisk {
    /// The empty log of a new partition, its files' names forced to the disk.
    pub fn new(partition: TopicPartition, config: LogConfig) -> Result<Self, DiskError> {
        let mut host = Self {
            now: EPOCH_MS,
            partition: partition.clone(),
            config: Arc::new(config),
            disk: MemoryDisk::new(),
            queue: DiskQueue::default(),
            rng: Rng::new(1),
            trace: Trace::recording(NODE),
            log: None,
        };
        let config = host.config.clone();
        let topic_id = host.rng.uuid();
        let mut log = Log::create(&mut host.cx(), partition, DIR, topic_id, config);
        log.flush(&mut host.cx());
        host.log = Some(log);
        host.settle()?;
        Ok(host)
    }

    /// The partition's directory within the log directory.
    pub fn path(&self) -> String {
        self.partition.to_string()
    }

    /// `None` while it is down.
    pub fn log(&self) -> Option<&Log> {
        self.log.as_ref()
    }

    pub fn disk(&self) -> &MemoryDisk {
        &self.disk
    }

    pub fn config(&self) -> &LogConfig {
        &self.config
    }

    /// The facts since the last call.
    pub fn facts(&mut self) -> Vec<Event> {
        self.trace.take()
    }

    /// Appends a batch as the leader.
    pub fn append(&mut self, bytes: Bytes) -> Result<Appended, Refused> {
        let header = BatchHeader::parse(&bytes)
            .ok_or_else(|| Refused::new(ErrorCode::CorruptMessage, "the batch has no header"))?;
        let batch = Validated {
            header,
            bytes,
            log_append_time_ms: None,
        };
        self.with_log(|log, cx| log.append_as_leader(cx, &batch, LEADER_EPOCH, AppendOrigin::Client))
            .map_err(|error| Refused::new(ErrorCode::KafkaStorageError, error.to_string()))?
            .unwrap_or_else(|| Err(down()))
    }

    /// Closes the active segment and begins the next.
    pub fn roll(&mut self) -> Result<(), DiskError> {
        self.with_log(Log::roll).map(drop)
    }

    /// Forces everything to the disk.
    pub fn flush(&mut self) -> Result<(), DiskError> {
        self.with_log(|log, cx| log.flush(cx)).map(drop)
    }

    /// Keeps no more than this from now on, and drops what is too much already. With one replica, all
    /// that is written is committed.
    pub fn keep(&mut self, ms: Option<Millis>, bytes: Option<u64>) -> Result<(), DiskError> {
        let config = LogConfig {
            retention_ms: ms,
            retention_bytes: bytes,
            ..(*self.config).clone()
        };
        self.config = Arc::new(config);
        let config = self.config.clone();
        let dropped = self.with_log(|log, cx| {
            log.set_config(config);
            while log.apply_retention(cx, log.log_end()) {}
        });
        dropped.map(drop)
    }

    /// Stops in order: everything is forced to the disk, and the mark of a clean stop is left.
    pub fn stop(&mut self) -> Result<(), DiskError> {
        self.with_log(Log::close)?;
        if self.log.take().is_some() {
            let path = CleanShutdown::FILE.into();
            let bytes = CleanShutdown { broker_epoch: -1 }.write();
            self.disk.apply(DIR, &DiskOp::Replace { path, bytes })?;
        }
        self.disk.crash();
        Ok(())
    }

    /// The process dies: what was written stays.
    pub fn kill(&mut self) {
        self.forget();
        self.disk.crash();
    }

    /// The power goes: what was not forced to the disk is gone.
    pub fn lose_power(&mut self) {
        self.forget();
        self.disk.power_loss();
    }

    /// The power goes while the disk was writing: of all that could be left, something that ends within
    /// a batch, behind a whole one if there can be one; if nothing can, only what was forced is left.
    pub fn lose_power_tearing(&mut self) -> Result<(), DiskError> {
        self.forget();
        let mut torn = None;
        for seed in 0..LOSSES_TRIED {
            let mut left = self.clone();
            left.disk.power_loss_keeping(&mut Rng::new(seed));
            let found = left.recover(false)?;
            if found.cut_bytes == 0 {
                continue;
            }
            let whole_too = found.log_end > found.recovery_point;
            if whole_too || torn.is_none() {
                torn = Some(left.disk);
            }
            if whole_too {
                break;
            }
        }
        match torn {
            Some(left) => self.disk = left,
            None => self.disk.power_loss(),
        }
        Ok(())
    }

    /// Starts again on what the disk has.
    pub fn start(&mut self) -> Result<Restart, DiskError> {
        self.forget();
        let clean = self.disk.len(DIR, CleanShutdown::FILE).is_ok();
        let path = CleanShutdown::FILE.into();
        self.disk.apply(DIR, &DiskOp::Unlink { path })?;
        let mut checked_bytes = 0;
        let recovered = self.recover_counting(clean, &mut checked_bytes)?;
        let restart = Restart {
            clean,
            recovery_point: recovered.recovery_point,
            checked_bytes,
            cut_bytes: recovered.cut_bytes,
            cut_why: recovered.cut_why.clone(),
            log_end: recovered.log_end,
        };
        let config = self.config.clone();
        self.log = Some(Log::open(&mut self.cx(), recovered, config));
        self.settle()?;
        Ok(restart)
    }

    /// The steps of a look-up by offset; `None` while the log is down or when it does not reach so far.
    pub fn explain_lookup(&self, target: Offset) -> Result<Option<Lookup>, DiskError> {
        match &self.log {
            Some(log) if (log.log_start()..log.log_end()).contains(&target) => log
                .explain_lookup(target, &self.disk)
                .map(|(steps, _)| Some(steps)),
            _ => Ok(None),
        }
    }

    /// The steps of a look-up by time; `None` while the log is down or when no record reaches the time.
    pub fn explain_time_lookup(&self, target_ms: Millis) -> Result<Option<TimeLookup>, DiskError> {
        match &self.log {
            Some(log) => log.explain_time_lookup(target_ms, &self.disk),
            None => Ok(None),
        }
    }

    /// What the checkpoint says; 0 when it says nothing.
    pub fn checkpointed_recovery_point(&self) -> Offset {
        let offsets = self.disk.read_file(DIR, RECOVERY_POINT_FILE).ok();
        let offsets = offsets
            .and_then(|bytes| read_offsets(&bytes).ok())
            .unwrap_or_default();
        let ours = offsets
            .into_iter()
            .find(|(partition, _)| *partition == self.partition);
        ours.map_or(0, |(_, offset)| offset)
    }

    fn recover(&self, clean: bool) -> Result<Recovered, DiskError> {
        self.recover_counting(clean, &mut 0)
    }

    fn recover_counting(&self, clean: bool, checked_bytes: &mut u64) -> Result<Recovered, DiskError> {
        let job = Recover {
            partition: self.partition.clone(),
            dir: DIR,
            path: self.path().into(),
            clean,
            recovery_point: self.checkpointed_recovery_point(),
            log_start: 0,
            index_interval_bytes: self.config.index_interval_bytes,
            now_ms: self.now,
            producer_expiration_ms: PRODUCER_EXPIRATION_MS,
        };
        job.run(&self.disk, &mut |progress| *checked_bytes = progress.total_bytes)
    }

    fn forget(&mut self) {
        self.log = None;
        self.queue = DiskQueue::default();
    }

    fn cx(&mut self) -> Cx<'_> {
        Cx {
            now: self.now,
            rng: &mut self.rng,
            disk: &mut self.queue,
            trace: &mut self.trace,
            cause: EventId::NONE,
        }
    }

    /// Lets the log do something and carries out what follows; `None` while it is down.
    fn with_log<T>(&mut self, act: impl FnOnce(&mut Log, &mut Cx<'_>) -> T) -> Result<Option<T>, DiskError> {
        let Some(mut log) = self.log.take() else {
            return Ok(None);
        };
        let outcome = act(&mut log, &mut self.cx());
        self.log = Some(log);
        self.settle()?;
        Ok(Some(outcome))
    }

    fn settle(&mut self) -> Result<(), DiskError> {
        let (mut upto, mut upto_aside) = (0, 0);
        for queued in self.queue.take() {
            self.disk.apply(queued.dir, &queued.op)?;
            match queued.lane {
                Lane::Strict => upto = queued.ticket,
                Lane::Aside => upto_aside = queued.ticket,
            }
        }
        let Some(mut log) = self.log.take() else {
            return Ok(());
        };
        log.aside_done(upto_aside);
        log.disk_done(&mut self.cx(), upto);
        let point = log.recovery_point();
        self.log = Some(log);
        if point != self.checkpointed_recovery_point() {
            let path = RECOVERY_POINT_FILE.into();
            let bytes = write_offsets([(&self.partition, point)]);
            self.disk.apply(DIR, &DiskOp::Replace { path, bytes })?;
        }
        Ok(())
    }
}

fn down() -> Refused {
    Refused::new(ErrorCode::KafkaStorageError, "the broker is down: start it first")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{BatchBuilder, Codec};
    use crate::trace::Fact;

    fn host() -> LogOnMemoryDisk {
        let config = LogConfig {
            segment_bytes: 600,
            index_interval_bytes: 100,
            ..LogConfig::default()
        };
        LogOnMemoryDisk::new(TopicPartition::new("t", 0), config).unwrap()
    }

    fn append(host: &mut LogOnMemoryDisk, batches: usize) {
        for _ in 0..batches {
            host.now += 1000;
            let mut builder = BatchBuilder::new(Codec::None);
            for at in 0..3 {
                builder.append(host.now + at, None, Some(b"a value"), &[]);
            }
            host.append(builder.build()).unwrap();
        }
    }

    #[test]
    fn a_killed_log_has_all_that_was_written_and_checks_it() {
        let mut host = host();
        append(&mut host, 10);
        host.kill();
        assert!(host.log().is_none());
        let restart = host.start().unwrap();
        assert_eq!(
            (restart.clean, restart.log_end, restart.cut_bytes),
            (false, 30, 0)
        );
        assert!(restart.checked_bytes > 0);
    }

    #[test]
    fn a_clean_stop_leaves_nothing_to_check() {
        let mut host = host();
        append(&mut host, 10);
        host.stop().unwrap();
        let restart = host.start().unwrap();
        assert_eq!(
            (restart.clean, restart.log_end, restart.checked_bytes),
            (true, 30, 0)
        );
        host.kill();
        assert!(!host.start().unwrap().clean, "the mark was taken away");
    }

    #[test]
    fn a_torn_write_is_cut_and_told() {
        let mut host = host();
        append(&mut host, 2);
        host.flush().unwrap();
        append(&mut host, 2);
        host.lose_power_tearing().unwrap();
        host.facts();
        let restart = host.start().unwrap();
        assert_eq!((restart.recovery_point, restart.log_end), (6, 9));
        assert!(restart.cut_bytes > 0 && restart.cut_why.is_some());
        let told = host.facts().into_iter().any(|event| {
            matches!(event.fact, Fact::LogRecovered { cut_bytes, .. } if cut_bytes == restart.cut_bytes)
        });
        assert!(told);
    }

    #[test]
    fn what_is_too_old_or_too_much_is_dropped_by_whole_segments() {
        let mut host = host();
        append(&mut host, 20);
        host.keep(None, Some(700)).unwrap();
        let log = host.log().unwrap();
        assert!(log.log_start() > 0 && log.log_end() == 60);
        assert_eq!(log.log_start(), log.closed_segments()[0].base);
        host.now += 60_000;
        host.keep(Some(30_000), None).unwrap();
        assert_eq!(host.log().unwrap().log_start(), 60);
    }

    #[test]
    fn what_was_not_forced_goes_with_the_power() {
        let mut host = host();
        append(&mut host, 2);
        host.flush().unwrap();
        append(&mut host, 2);
        host.lose_power();
        assert_eq!(host.start().unwrap().log_end, 6);
    }

    #[test]
    fn the_steps_of_look_ups_lead_to_the_record() {
        let mut host = host();
        append(&mut host, 20);
        for target in 0..60 {
            let steps = host.explain_lookup(target).unwrap().unwrap();
            let last = steps.scanned.last().unwrap();
            assert!((last.base_offset..=last.last_offset).contains(&target));
            assert!(steps.segment <= target && last.reaches_target);
            let time = EPOCH_MS + 1000 * (target / 3 + 1) + target % 3;
            let steps = host.explain_time_lookup(time).unwrap().unwrap();
            assert_eq!(steps.found.unwrap().offset, target);
            let walked = steps.offsets.scanned;
            assert_eq!(walked.iter().filter(|batch| batch.reaches_target).count(), 1);
            let floor = steps.halvings.iter().rev().find(|halving| halving.at_or_below);
            assert_eq!(floor.map(|halving| halving.entry), steps.entry);
        }
        assert_eq!(host.explain_lookup(60).unwrap(), None);
        assert_eq!(host.explain_time_lookup(EPOCH_MS * 2).unwrap(), None);
    }
}
