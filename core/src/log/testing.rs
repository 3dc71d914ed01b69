//! A host for one log in tests: carries out its operations on the in-memory disk, runs its jobs, and
//! can lose the process or the power.

use std::sync::Arc;

use bytes::Bytes;

use super::{Job, JobResult, Log, LogConfig, Outcome, ReadPlan, Recover, Recovered, TimePlan, TimedOffset};
use super::{Truncation, run_job};
use crate::cx::Cx;
use crate::disk::memory::MemoryDisk;
use crate::disk::{AsideTicket, DiskQueue, Lane, Ticket};
use crate::log::producer_state::AppendOrigin;
use crate::record::{BatchBuilder, BatchHeader, Batches, Codec, Compression, Validated};
use crate::trace::{Event, EventId, Fact, Trace};
use crate::types::{Millis, Offset, Rng, TopicPartition, Uuid};

pub const DAY_MS: Millis = 24 * 3600 * 1000;
/// Directory of the tests' partition.
pub const PATH: &str = "t-0";

/// How far each lane is done.
#[derive(Clone, Copy, Default)]
pub struct Done {
    pub strict: Ticket,
    pub aside: AsideTicket,
}

pub struct Host {
    pub disk: MemoryDisk,
    pub queue: DiskQueue,
    pub rng: Rng,
    pub trace: Trace,
    pub now: Millis,
}

impl Host {
    pub fn new() -> Self {
        Self {
            disk: MemoryDisk::new(),
            queue: DiskQueue::default(),
            rng: Rng::new(1),
            trace: Trace::recording(1),
            now: 1_700_000_000_000,
        }
    }

    pub fn cx(&mut self) -> Cx<'_> {
        Cx {
            now: self.now,
            rng: &mut self.rng,
            disk: &mut self.queue,
            trace: &mut self.trace,
            cause: EventId::NONE,
        }
    }

    pub fn create(&mut self, config: LogConfig) -> Log {
        let mut cx = self.cx();
        let partition = TopicPartition::new("t", 0);
        let mut log = Log::create(&mut cx, partition, 0, Uuid([7; 16]), Arc::new(config));
        self.settle(&mut log);
        log
    }

    /// Carries out what is queued, and answers.
    pub fn settle(&mut self, log: &mut Log) -> bool {
        let done = self.carry_out(usize::MAX);
        self.tell(log, done)
    }

    /// Tells the log what is done.
    pub fn tell(&mut self, log: &mut Log, done: Done) -> bool {
        log.aside_done(done.aside);
        log.disk_done(&mut self.cx(), done.strict)
    }

    /// Carries out the first `count` operations queued and forgets the rest; the last tickets done.
    pub fn carry_out(&mut self, count: usize) -> Done {
        let mut done = Done::default();
        for queued in self.queue.take().into_iter().take(count) {
            self.disk
                .apply(queued.dir, &queued.op)
                .unwrap_or_else(|error| panic!("{:?}: {error}", queued.op));
            match queued.lane {
                Lane::Strict => done.strict = queued.ticket,
                Lane::Aside => done.aside = queued.ticket,
            }
        }
        done
    }

    pub fn append(&mut self, log: &mut Log, batch: &Validated) -> Offset {
        let appended = log.append_as_leader(&mut self.cx(), batch, 0, AppendOrigin::Client);
        self.settle(log);
        appended.unwrap().base_offset
    }

    pub fn run(&self, job: Job) -> JobResult {
        run_job(job, &self.disk, &mut |_| {})
    }

    /// Reads from the disk what a start would find.
    pub fn recover(&self, clean: bool, recovery_point: Offset, config: &LogConfig) -> Recovered {
        self.recover_from(Recover {
            clean,
            recovery_point,
            ..self.recover_job(config)
        })
    }

    /// An unclean start without any checkpoint.
    pub fn recover_job(&self, config: &LogConfig) -> Recover {
        Recover {
            partition: TopicPartition::new("t", 0),
            dir: 0,
            path: PATH.into(),
            clean: false,
            recovery_point: 0,
            log_start: 0,
            index_interval_bytes: config.index_interval_bytes,
            now_ms: self.now,
            producer_expiration_ms: DAY_MS,
        }
    }

    pub fn recover_from(&self, job: Recover) -> Recovered {
        match self.run(Job::Recover(Box::new(job))) {
            JobResult::Recovered(recovered) => *recovered.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// A start after a crash or a stop.
    pub fn start(&mut self, clean: bool, recovery_point: Offset, config: &LogConfig) -> Log {
        self.start_with(config, |job| {
            job.clean = clean;
            job.recovery_point = recovery_point;
        })
    }

    /// A start whose checkpoints say what `set` sets.
    pub fn start_with(&mut self, config: &LogConfig, set: impl FnOnce(&mut Recover)) -> Log {
        self.queue = DiskQueue::default();
        self.disk.crash();
        let mut job = self.recover_job(config);
        set(&mut job);
        let recovered = self.recover_from(job);
        let mut log = Log::open(&mut self.cx(), recovered, Arc::new(config.clone()));
        self.settle(&mut log);
        log
    }

    pub fn truncate(&mut self, log: &mut Log, to: Offset) {
        match log.truncate_to(&mut self.cx(), to, DAY_MS) {
            Truncation::Nothing | Truncation::Done => {}
            Truncation::WaitFor(ticket) => panic!("everything is settled, yet {ticket} is awaited"),
            Truncation::Rebuild(job) => match self.run(job) {
                JobResult::Rebuilt(rebuilt) => assert!(log.truncated(&mut self.cx(), *rebuilt.unwrap())),
                other => panic!("{other:?}"),
            },
        }
        self.settle(log);
    }

    /// What a fetch from `from` up to the log end is answered; the plan's kind is checked nowhere.
    pub fn fetch(&self, log: &Log, from: Offset, max_bytes: u32) -> Bytes {
        let mut from = from;
        loop {
            let range = match log.plan_read(from, log.log_end(), max_bytes, true).unwrap() {
                ReadPlan::Empty => return Bytes::new(),
                ReadPlan::Here(range) => range,
                ReadPlan::Locate(job) => match self.run(job) {
                    JobResult::Located(located) => match located.unwrap().outcome {
                        Outcome::Found(range) => range,
                        Outcome::Empty => return Bytes::new(),
                        Outcome::Next(next) => {
                            assert!(next > from, "a reader must get on");
                            from = next;
                            continue;
                        }
                        Outcome::Corrupt { position, why } => panic!("byte {position}: {why}"),
                    },
                    other => panic!("{other:?}"),
                },
            };
            return self
                .disk
                .read_open(range.file, range.pos, range.len as usize)
                .unwrap();
        }
    }

    /// Headers of all batches from `from` on, by one fetch after the other.
    pub fn read_all(&self, log: &Log, from: Offset) -> Vec<BatchHeader> {
        let (mut from, mut headers) = (from, Vec::new());
        loop {
            let bytes = self.fetch(log, from, 1000);
            if bytes.is_empty() {
                return headers;
            }
            for batch in Batches::new(bytes).map_while(Result::ok) {
                from = batch.header.next_offset();
                headers.push(batch.header);
            }
        }
    }

    /// Base offset of the batch that a read from `from` starts with.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn first_read(&self, log: &Log, from: Offset) -> Option<Offset> {
        BatchHeader::parse(&self.fetch(log, from, 1)).map(|header| header.base_offset)
    }

    pub fn find_time(&self, plan: TimePlan) -> Option<TimedOffset> {
        match plan {
            TimePlan::Nothing => None,
            TimePlan::Locate(job) => match self.run(job) {
                JobResult::LocatedTime(found) => found.unwrap().found,
                other => panic!("{other:?}"),
            },
        }
    }

    pub fn facts(&mut self) -> Vec<Fact> {
        self.trace
            .take()
            .into_iter()
            .map(|event: Event| event.fact)
            .collect()
    }

    /// Names in the partition's directory.
    pub fn names(&self) -> Vec<String> {
        let files = self.disk.files().into_iter();
        files
            .filter_map(|(_, path, _)| path.strip_prefix("t-0/").map(str::to_owned))
            .collect()
    }

    pub fn file(&self, name: &str) -> Bytes {
        self.disk.read_file(0, &format!("{PATH}/{name}")).unwrap()
    }
}

/// A batch of records with these timestamps, each with a value of `value_bytes` bytes.
pub fn batch(timestamps: &[Millis], value_bytes: usize) -> Validated {
    built(BatchBuilder::new(Compression::default()), timestamps, value_bytes)
}

/// The same of an idempotent producer.
pub fn produced(producer: i64, sequence: i32, count: usize) -> Validated {
    let builder = BatchBuilder::new(Compression::from(Codec::None)).producer(producer, 0, sequence);
    built(builder, &vec![1_700_000_000_000; count], 10)
}

pub fn built(mut builder: BatchBuilder, timestamps: &[Millis], value_bytes: usize) -> Validated {
    for &timestamp in timestamps {
        builder.append(timestamp, None, Some(&vec![b'v'; value_bytes]), &[]);
    }
    validated(builder.build())
}

pub fn validated(bytes: Bytes) -> Validated {
    Validated {
        header: BatchHeader::parse(&bytes).unwrap(),
        bytes,
        log_append_time_ms: None,
    }
}
