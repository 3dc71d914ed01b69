//! One shard and what waits for it: how a decision becomes records, and records become answers.

use std::collections::VecDeque;

use bytes::Bytes;

use super::runtime::{Answered, WriteSettings};
use super::turn::{Decided, Write};
use super::{AppendAndWatch, CoordinatorRecord, Shard, Timers, Token, Turn, answer_for};
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::log::BatchRead;
use crate::record::control::{ControlType, EndTransactionMarker};
use crate::record::{BatchBuilder, Record};
use crate::trace::{EventId, Timer};
use crate::types::{LeaderEpoch, Millis, NO_PRODUCER_ID, Offset, ProducerId};

/// The sequence that Kafka's coordinators give to the first record of a batch, though they name no producer.
const BASE_SEQUENCE: i32 = 0;

/// No record takes more bytes than this beside its key and value.
const MOST_RECORD_OVERHEAD: usize = 32;

/// What happens when records are committed, or will never be.
#[derive(Clone, Debug)]
enum Wait<S: Shard> {
    Answer(Token, S::Answer),
    Shard(S::Then),
}

#[derive(Clone, Debug)]
struct Waiting<S: Shard> {
    /// Committed when the high watermark is here.
    until: Offset,
    give_up_at: Millis,
    /// The event that the records were written for: what is left to do when they are given up follows from it.
    because: EventId,
    wait: Wait<S>,
}

#[derive(Clone, Debug)]
pub(super) struct Slot<S: Shard> {
    epoch: LeaderEpoch,
    shard: S,
    timers: Timers<S::Timer>,
    /// In the order of their offsets, which is that of their deadlines too.
    waiting: VecDeque<Waiting<S>>,
    /// After the last record that was decided here.
    end: Offset,
    committed: Offset,
    is_loaded: bool,
}

impl<S: Shard> Slot<S> {
    pub fn new(epoch: LeaderEpoch, shard: S) -> Self {
        Self {
            epoch,
            shard,
            timers: Timers::default(),
            waiting: VecDeque::new(),
            end: 0,
            committed: 0,
            is_loaded: false,
        }
    }

    pub fn epoch(&self) -> LeaderEpoch {
        self.epoch
    }

    pub fn ready(&mut self) -> Result<&mut Self, ErrorCode> {
        match self.is_loaded {
            true => Ok(self),
            false => Err(ErrorCode::CoordinatorLoadInProgress),
        }
    }

    pub fn read(&self) -> Result<&S, ErrorCode> {
        match self.is_loaded {
            true => Ok(&self.shard),
            false => Err(ErrorCode::CoordinatorLoadInProgress),
        }
    }

    pub fn load(&mut self, now: Millis, batches: &[BatchRead], high_watermark: Offset) {
        for batch in batches {
            let header = &batch.header;
            let producer = (header.is_transactional()).then_some(header.producer_id);
            if header.is_control() {
                self.end_transaction(header.producer_id, &batch.records);
            } else {
                for record in &batch.records {
                    self.shard.replay(now, record, producer);
                }
            }
            self.end = header.next_offset();
        }
        self.commit(high_watermark.min(self.end));
    }

    fn end_transaction(&mut self, producer: ProducerId, records: &[Record]) {
        let markers = records.iter().filter_map(EndTransactionMarker::parse);
        for marker in markers {
            let committed = marker.control_type == ControlType::Commit;
            self.shard.end_transaction(producer, committed);
        }
    }

    fn commit(&mut self, below: Offset) {
        self.committed = self.committed.max(below);
        self.shard.committed(self.committed);
    }

    pub fn loaded(
        &mut self,
        cx: &mut Cx,
        log: &mut dyn AppendAndWatch,
        settings: &WriteSettings,
        answers: &mut VecDeque<Answered<S>>,
        at_once: usize,
    ) -> bool {
        let mut is_ready = false;
        self.turn(cx, log, settings, answers, |shard, turn| {
            is_ready = shard.loaded(turn, at_once);
        });
        self.is_loaded |= is_ready;
        self.is_loaded
    }

    /// Lets the shard decide, appends what comes of it, and answers what may be answered.
    pub fn turn(
        &mut self,
        cx: &mut Cx,
        log: &mut dyn AppendAndWatch,
        settings: &WriteSettings,
        answers: &mut VecDeque<Answered<S>>,
        decide: impl FnOnce(&mut S, &mut Turn<S>),
    ) {
        let mut turn = Turn::new(cx, &mut self.timers);
        decide(&mut self.shard, &mut turn);
        let decided = turn.decided();
        self.carry_out(cx, log, settings, answers, decided);
    }

    /// Tells the shard what has become of records.
    fn settle(
        &mut self,
        cx: &mut Cx,
        log: &mut dyn AppendAndWatch,
        settings: &WriteSettings,
        answers: &mut VecDeque<Answered<S>>,
        then: S::Then,
        outcome: Result<(), ErrorCode>,
    ) {
        self.turn(cx, log, settings, answers, |shard, turn| {
            shard.settled(turn, then, outcome);
        });
    }

    fn carry_out(
        &mut self,
        cx: &mut Cx,
        log: &mut dyn AppendAndWatch,
        settings: &WriteSettings,
        answers: &mut VecDeque<Answered<S>>,
        decided: Decided<S>,
    ) {
        let (writes, now, later) = decided;
        answers.extend(now);
        let mut outcome = Ok(());
        for write in writes {
            let Write {
                records,
                atomic,
                then,
            } = write;
            let appended = self.append(cx, log, settings, &records, atomic);
            outcome = outcome.and(appended);
            match (then, appended) {
                (Some(then), Ok(())) => self.wait(cx, settings, Wait::Shard(then)),
                (Some(then), Err(code)) => self.settle(cx, log, settings, answers, then, Err(code)),
                (None, _) => {}
            }
        }
        for (token, answer) in later {
            match outcome {
                Err(code) => answers.push_back((token, Err(answer_for(code)))),
                Ok(()) if self.end <= self.committed => answers.push_back((token, Ok(answer))),
                Ok(()) => self.wait(cx, settings, Wait::Answer(token, answer)),
            }
        }
        // A partition of one replica may have moved on meanwhile.
        self.high_watermark_moved(cx, log, settings, answers);
    }

    fn wait(&mut self, cx: &Cx, settings: &WriteSettings, wait: Wait<S>) {
        self.waiting.push_back(Waiting {
            until: self.end,
            give_up_at: cx.now + settings.commit_timeout_ms,
            because: cx.cause,
            wait,
        });
    }

    /// Appends records and takes them into the state.
    fn append(
        &mut self,
        cx: &mut Cx,
        log: &mut dyn AppendAndWatch,
        settings: &WriteSettings,
        records: &[CoordinatorRecord],
        atomic: bool,
    ) -> Result<(), ErrorCode> {
        let most = log.max_batch_bytes();
        let mut left = records;
        while !left.is_empty() {
            let mut batch =
                BatchBuilder::new(settings.compression).producer(NO_PRODUCER_ID, -1, BASE_SEQUENCE);
            let mut taken = 0;
            for record in left {
                let size =
                    record.key.len() + record.value.as_ref().map_or(0, Bytes::len) + MOST_RECORD_OVERHEAD;
                if batch.uncompressed_size_bytes() + size > most {
                    break;
                }
                batch.append(cx.now, Some(&record.key), record.value.as_deref(), &[]);
                taken += 1;
            }
            if taken == 0 {
                return Err(ErrorCode::MessageTooLarge);
            }
            if atomic && taken < left.len() {
                return Err(ErrorCode::RecordListTooLarge);
            }
            let base = log.append(cx, batch.build()).map_err(|refused| refused.code)?;
            let (now_in, rest) = left.split_at(taken);
            for (offset, record) in (base..).zip(now_in) {
                let record = Record {
                    offset,
                    timestamp: cx.now,
                    key: Some(record.key.clone()),
                    value: record.value.clone(),
                    headers: Vec::new(),
                };
                self.shard.replay(cx.now, &record, None);
            }
            self.end = base + taken as Offset;
            left = rest;
        }
        Ok(())
    }

    pub fn high_watermark_moved(
        &mut self,
        cx: &mut Cx,
        log: &mut dyn AppendAndWatch,
        settings: &WriteSettings,
        answers: &mut VecDeque<Answered<S>>,
    ) {
        let high_watermark = log.high_watermark().min(self.end);
        if high_watermark <= self.committed {
            return;
        }
        self.commit(high_watermark);
        while let Some(first) = self.waiting.front()
            && first.until <= self.committed
            && let Some(first) = self.waiting.pop_front()
        {
            match first.wait {
                Wait::Answer(token, answer) => answers.push_back((token, Ok(answer))),
                Wait::Shard(then) => self.settle(cx, log, settings, answers, then, Ok(())),
            }
        }
    }

    pub fn next(&self) -> Option<Millis> {
        let waiting = self.waiting.front().map(|waiting| waiting.give_up_at);
        [waiting, self.timers.next()].into_iter().flatten().min()
    }

    /// One wait that has lasted too long, or else one timer.
    pub fn tick(
        &mut self,
        cx: &mut Cx,
        log: &mut dyn AppendAndWatch,
        settings: &WriteSettings,
        answers: &mut VecDeque<Answered<S>>,
    ) {
        let late = self
            .waiting
            .front()
            .is_some_and(|first| first.give_up_at <= cx.now);
        if late && let Some(first) = self.waiting.pop_front() {
            let code = ErrorCode::RequestTimedOut;
            cx.timer_due(Timer::Group, first.because);
            match first.wait {
                Wait::Answer(token, _) => answers.push_back((token, Err(answer_for(code)))),
                Wait::Shard(then) => self.settle(cx, log, settings, answers, then, Err(code)),
            }
        } else if let Some((timer, because)) = self.timers.take_due(cx.now) {
            cx.timer_due(Timer::Group, because);
            self.turn(cx, log, settings, answers, |shard, turn| {
                shard.expired(turn, timer);
            });
        }
    }

    /// The leadership is lost. What would be written now is another's to decide.
    pub fn unload(mut self, cx: &mut Cx, answers: &mut VecDeque<Answered<S>>) {
        let code = ErrorCode::NotCoordinator;
        let mut turn = Turn::new(cx, &mut self.timers);
        for waiting in self.waiting {
            match waiting.wait {
                Wait::Answer(token, _) => turn.answer(token, Err(code)),
                Wait::Shard(then) => self.shard.settled(&mut turn, then, Err(code)),
            }
        }
        self.shard.unloaded(&mut turn);
        answers.extend(turn.answers);
        let later = turn.answers_when_committed.into_iter();
        answers.extend(later.map(|(token, _)| (token, Err(code))));
    }
}
