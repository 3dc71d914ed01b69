//! A coordinator with a partition in memory, whose high watermark moves when the test says so.

use bytes::Bytes;

use super::{AppendAndWatch, Coordinators, Shard, Token, Turn, WriteSettings};
use crate::cx::Cx;
use crate::disk::DiskQueue;
use crate::error::{ErrorCode, Refused};
use crate::log::BatchRead;
use crate::record::Batch;
use crate::record::compression::PURE_RUST;
use crate::trace::{Event, EventId, Fact, Trace};
use crate::types::{Millis, Offset, Rng};

#[derive(Clone, Debug, Default)]
pub struct Partition {
    pub batches: Vec<BatchRead>,
    pub end: Offset,
    pub high_watermark: Offset,
    /// Appends fail with this.
    pub refuses: Option<ErrorCode>,
    /// Everything appended is committed at once.
    pub commits_at_once: bool,
    pub max_batch_bytes: usize,
}

impl AppendAndWatch for Partition {
    fn append(&mut self, _: &mut Cx, batch: Bytes) -> Result<Offset, Refused> {
        if let Some(code) = self.refuses {
            return Err(code.into());
        }
        let mut batch = Batch::parse(&batch).unwrap();
        batch.check_crc().unwrap();
        assert!(batch.bytes.len() <= self.max_batch_bytes);
        batch.header.base_offset = self.end;
        let records = batch.records(&PURE_RUST, 1 << 20).unwrap();
        let records = records.map(Result::unwrap).collect();
        let base = self.end;
        self.end = batch.header.next_offset();
        if self.commits_at_once {
            self.high_watermark = self.end;
        }
        self.batches.push(BatchRead {
            header: batch.header,
            records,
        });
        Ok(base)
    }

    fn high_watermark(&self) -> Offset {
        self.high_watermark
    }

    fn max_batch_bytes(&self) -> usize {
        self.max_batch_bytes
    }
}

/// The coordinator of partition 0.
pub struct World<S: Shard> {
    disk: DiskQueue,
    rng: Rng,
    trace: Trace,
    /// What is asked follows from this.
    cause: EventId,
    pub now: Millis,
    pub coordinators: Coordinators<S>,
    pub partition: Partition,
}

impl<S: Shard> World<S> {
    /// Serves an empty partition with this shard.
    pub fn serving(seed: u64, empty: S) -> Self {
        let mut world = Self {
            disk: DiskQueue::default(),
            rng: Rng::new(seed),
            trace: Trace::recording(1),
            cause: EventId::NONE,
            now: 1_000,
            coordinators: Coordinators::default(),
            partition: Partition {
                max_batch_bytes: 1_000,
                ..Partition::default()
            },
        };
        world.coordinators.configure(WriteSettings {
            commit_timeout_ms: 5_000,
            ..WriteSettings::default()
        });
        world.elected(1, empty);
        world.load();
        world
    }

    pub fn with<T>(&mut self, act: impl FnOnce(&mut Coordinators<S>, &mut Cx, &mut Partition) -> T) -> T {
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
            disk: &mut self.disk,
            trace: &mut self.trace,
            cause: self.cause,
        };
        act(&mut self.coordinators, &mut cx, &mut self.partition)
    }

    /// What is asked from now on, until time passes, follows from this.
    pub fn because(&mut self, fact: Fact) -> EventId {
        self.cause = EventId::NONE;
        self.cause = self.with(|_, cx, _| cx.emit(|| fact));
        self.cause
    }

    pub fn elected(&mut self, epoch: i32, empty: S) {
        self.with(|coordinators, cx, _| coordinators.elected(cx, 0, epoch, empty));
    }

    pub fn resigned(&mut self) {
        self.with(|coordinators, cx, _| coordinators.resigned(cx, 0));
    }

    pub fn load(&mut self) {
        self.with(|coordinators, cx, partition| {
            coordinators.loaded_batches(cx.now, 0, &partition.batches, partition);
            assert!(coordinators.loaded(cx, 0, partition, usize::MAX));
        });
    }

    /// The token is `part` 0 when the shard cannot decide.
    pub fn decide(&mut self, asked: Token, decide: impl FnOnce(&mut S, &mut Turn<S>)) {
        self.with(|coordinators, cx, partition| coordinators.decide(cx, 0, partition, asked, decide));
    }

    pub fn high_watermark(&mut self, to: Offset) {
        self.partition.high_watermark = to;
        self.with(|coordinators, cx, partition| coordinators.high_watermark_moved(cx, 0, partition));
    }

    /// Lets time pass; what comes due meanwhile is done at its time.
    pub fn pass(&mut self, ms: Millis) {
        let until = self.now + ms;
        self.cause = EventId::NONE;
        while let Some(at) = self.coordinators.next().filter(|&at| at <= until) {
            self.now = self.now.max(at);
            if let Some(partition) = self.coordinators.due(self.now) {
                self.with(|coordinators, cx, log| coordinators.tick(cx, partition, log));
            }
        }
        self.now = until;
    }

    /// What was answered since the last call, by the tokens' numbers.
    pub fn answers(&mut self) -> Vec<(u32, Result<S::Answer, ErrorCode>)> {
        let polled = std::iter::from_fn(|| self.coordinators.poll_answer());
        polled.map(|(token, answer)| (token.part, answer)).collect()
    }

    pub fn shard(&self) -> &S {
        self.coordinators.read(0).ok().unwrap()
    }

    pub fn facts(&mut self) -> Vec<Event> {
        self.trace.take()
    }
}

pub fn token(part: u32) -> Token {
    Token { parked: 0, part }
}
