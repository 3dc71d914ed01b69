//! The shards of one coordinator in this broker, one for each partition that it leads.

use std::collections::VecDeque;

use super::slot::Slot;
use super::{AppendAndWatch, Shard, Token, Turn};
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::log::BatchRead;
use crate::ordered::OrderedMap;
use crate::record::compression::Compression;
use crate::types::{LeaderEpoch, Millis, PartitionIndex};

/// An answer that is due.
pub type Answered<S> = (Token, Result<<S as Shard>::Answer, ErrorCode>);

/// How records are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteSettings {
    pub compression: Compression,
    /// An answer that waits longer for its records fails (`offsets.commit.timeout.ms`).
    pub commit_timeout_ms: Millis,
}

/// Every shard that lives here.
#[derive(Clone, Debug)]
pub struct Coordinators<S: Shard> {
    slots: OrderedMap<PartitionIndex, Slot<S>>,
    answers: VecDeque<Answered<S>>,
    settings: WriteSettings,
}

impl<S: Shard> Default for Coordinators<S> {
    fn default() -> Self {
        Self {
            slots: OrderedMap::new(),
            answers: VecDeque::new(),
            settings: WriteSettings::default(),
        }
    }
}

impl<S: Shard> Coordinators<S> {
    pub fn configure(&mut self, settings: WriteSettings) {
        self.settings = settings;
    }

    /// This broker leads the partition from now on. The log is to be read and given to
    /// [`loaded_batches`](Self::loaded_batches), then [`loaded`](Self::loaded) said until it is true.
    pub fn elected(&mut self, cx: &mut Cx, partition: PartitionIndex, epoch: LeaderEpoch, empty: S) {
        self.resigned(cx, partition);
        self.slots.insert(partition, Slot::new(epoch, empty));
    }

    /// This broker leads the partition no more: whoever waits for its shard hears NOT_COORDINATOR.
    pub fn resigned(&mut self, cx: &mut Cx, partition: PartitionIndex) {
        if let Some(slot) = self.slots.remove(&partition) {
            slot.unload(cx, &mut self.answers);
        }
    }

    /// In which leader epoch the shard lives, if there is one.
    pub fn epoch(&self, partition: PartitionIndex) -> Option<LeaderEpoch> {
        self.slots.get(&partition).map(Slot::epoch)
    }

    /// A piece of the log was read, in order.
    pub fn loaded_batches(
        &mut self,
        now: Millis,
        partition: PartitionIndex,
        batches: &[BatchRead],
        log: &dyn AppendAndWatch,
    ) {
        if let Some(slot) = self.slots.get_mut(&partition) {
            slot.load(now, batches, log.high_watermark());
        }
    }

    /// The log was read to its end: makes the shard ready, at most so many things at once. True when it serves
    /// (or is gone); until then this is to be called again.
    pub fn loaded(
        &mut self,
        cx: &mut Cx,
        partition: PartitionIndex,
        log: &mut dyn AppendAndWatch,
        at_once: usize,
    ) -> bool {
        let slot = self.slots.get_mut(&partition);
        slot.is_none_or(|slot| slot.loaded(cx, log, &self.settings, &mut self.answers, at_once))
    }

    /// Lets the partition's shard decide. `token` hears of it when the shard is not here or is being
    /// loaded: then nothing is decided.
    pub fn decide(
        &mut self,
        cx: &mut Cx,
        partition: PartitionIndex,
        log: &mut dyn AppendAndWatch,
        token: Token,
        decide: impl FnOnce(&mut S, &mut Turn<S>),
    ) {
        let slot = self.slots.get_mut(&partition).ok_or(ErrorCode::NotCoordinator);
        match slot.and_then(Slot::ready) {
            Ok(slot) => slot.turn(cx, log, &self.settings, &mut self.answers, decide),
            Err(code) => self.answers.push_back((token, Err(code))),
        }
    }

    /// A decision that nobody has asked for; nothing happens where no shard serves.
    pub fn decide_unasked(
        &mut self,
        cx: &mut Cx,
        partition: PartitionIndex,
        log: &mut dyn AppendAndWatch,
        decide: impl FnOnce(&mut S, &mut Turn<S>),
    ) {
        let slot = self.slots.get_mut(&partition);
        if let Some(Ok(slot)) = slot.map(Slot::ready) {
            slot.turn(cx, log, &self.settings, &mut self.answers, decide);
        }
    }

    /// The partition's shard, to read what is committed.
    ///
    /// Errors: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
    pub fn read(&self, partition: PartitionIndex) -> Result<&S, ErrorCode> {
        self.slots
            .get(&partition)
            .ok_or(ErrorCode::NotCoordinator)?
            .read()
    }

    /// The shards that are led here, by partition, from this one on; those that are being loaded are an error.
    pub fn read_from(
        &self,
        partition: PartitionIndex,
    ) -> impl Iterator<Item = (PartitionIndex, Result<&S, ErrorCode>)> {
        let slots = self.slots.range(partition..);
        slots.map(|(&partition, slot)| (partition, slot.read()))
    }

    /// The high watermark has moved: answers leave, and what waited goes on.
    pub fn high_watermark_moved(
        &mut self,
        cx: &mut Cx,
        partition: PartitionIndex,
        log: &mut dyn AppendAndWatch,
    ) {
        if let Some(slot) = self.slots.get_mut(&partition) {
            slot.high_watermark_moved(cx, log, &self.settings, &mut self.answers);
        }
    }

    /// The partition that has something due.
    pub fn due(&self, now: Millis) -> Option<PartitionIndex> {
        let mut slots = self.slots.iter();
        let due = slots.find(|(_, slot)| slot.next().is_some_and(|at| at <= now));
        due.map(|(&partition, _)| partition)
    }

    /// Does one thing that is due in the partition.
    pub fn tick(&mut self, cx: &mut Cx, partition: PartitionIndex, log: &mut dyn AppendAndWatch) {
        if let Some(slot) = self.slots.get_mut(&partition) {
            slot.tick(cx, log, &self.settings, &mut self.answers);
        }
    }

    pub fn next(&self) -> Option<Millis> {
        self.slots.values().filter_map(Slot::next).min()
    }

    /// The next answer to give; call until `None`.
    pub fn poll_answer(&mut self) -> Option<Answered<S>> {
        self.answers.pop_front()
    }
}
