//! Snapshots: when one is taken, which are kept, and the way back after a restart or a truncation.
//!
//! A snapshot is taken at each roll (named by the new segment's base offset) and at an orderly stop
//! (named by the log end). At a restart the newest usable one is loaded, and only the batches above
//! it are read again. This file decides; the log writes and deletes the files:
//! offsets answered as *deleted* name files to unlink.

use std::sync::Arc;

use bytes::Bytes;

use super::ProducerStateManager;
use super::snapshot::{self, CorruptSnapshot};
use crate::ordered::OrderedSet;
use crate::types::{Millis, Offset};

/// What [`truncate_and_reload`](ProducerStateManager::truncate_and_reload) did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Snapshots whose files are to be unlinked: out of range, or corrupt.
    pub deleted: Vec<Offset>,
    /// Snapshots that could not be used, and why; they are among the deleted.
    pub corrupt: Vec<(Offset, CorruptSnapshot)>,
    /// Replay the log's batches from here on to its end; `None` when the state already stood there.
    pub replay_from: Option<Offset>,
}

impl ProducerStateManager {
    /// The state of a log that starts at `log_start` and has these snapshot files; still to be filled
    /// by [`truncate_and_reload`](Self::truncate_and_reload) and replay.
    pub fn with_snapshots(log_start: Offset, snapshots: impl IntoIterator<Item = Offset>) -> Self {
        Self {
            snapshots: snapshots.into_iter().collect(),
            map_end_offset: log_start,
            last_snapshot_offset: log_start,
            ..Self::default()
        }
    }

    /// The snapshot to write at the present end: its offset and the whole file. `None` when the
    /// newest one stands there already.
    pub fn take_snapshot(&mut self) -> Option<(Offset, Bytes)> {
        if self.map_end_offset <= self.last_snapshot_offset {
            return None;
        }
        self.last_snapshot_offset = self.map_end_offset;
        self.snapshots.insert(self.map_end_offset);
        Some((self.map_end_offset, snapshot::write(self.producers.values())))
    }

    /// Moves the end over offsets that hold no batch, as at the beginning of a segment.
    pub fn advance_to(&mut self, offset: Offset) {
        self.map_end_offset = self.map_end_offset.max(offset);
    }

    /// Makes the state that of a log `log_start..log_end`. Snapshots out of that range go. If the end
    /// is not where the state stands, the newest usable snapshot is loaded, `read` giving the bytes of
    /// each one tried (`None`: the file is gone), and the caller replays the rest.
    pub fn truncate_and_reload(
        &mut self,
        log_start: Offset,
        log_end: Offset,
        now: Millis,
        expiration_ms: Millis,
        read: &mut dyn FnMut(Offset) -> Option<Bytes>,
    ) -> Reloaded {
        let mut reloaded = Reloaded {
            deleted: self.remove_snapshots(|offset| offset > log_end || offset <= log_start),
            ..Reloaded::default()
        };
        if log_end == self.map_end_offset {
            self.on_log_start_moved(log_start);
            return reloaded;
        }
        self.forget_producers();
        self.map_end_offset = log_start;
        self.last_snapshot_offset = log_start;
        while let Some(offset) = self.latest_snapshot() {
            match read(offset).map(|file| snapshot::read(&file)) {
                Some(Ok(entries)) => {
                    let alive = entries
                        .into_iter()
                        .filter(|entry| !entry.is_expired(now, expiration_ms));
                    self.load(alive);
                    self.map_end_offset = offset;
                    self.last_snapshot_offset = offset;
                    break;
                }
                unusable => {
                    self.snapshots.remove(&offset);
                    reloaded.deleted.push(offset);
                    if let Some(Err(why)) = unusable {
                        reloaded.corrupt.push((offset, why));
                    }
                }
            }
        }
        reloaded.replay_from = Some(self.map_end_offset);
        reloaded
    }

    /// Whether a log that ends at `log_end` needs snapshots read, or the state already stands there.
    pub fn needs_reload(&self, log_end: Offset) -> bool {
        log_end != self.map_end_offset
    }

    /// The log begins anew at `offset`: all is forgotten; answers the snapshots deleted.
    pub fn truncate_fully_and_start_at(&mut self, offset: Offset) -> Vec<Offset> {
        self.forget_producers();
        self.map_end_offset = offset;
        self.last_snapshot_offset = 0;
        self.remove_snapshots(|_| true)
    }

    /// Records below `log_start` are gone. Producers stay: they may go on where they were.
    pub fn on_log_start_moved(&mut self, log_start: Offset) {
        self.transactions.replicated_below(log_start);
        self.map_end_offset = self.map_end_offset.max(log_start);
        self.last_snapshot_offset = self.latest_snapshot().unwrap_or(log_start);
    }

    /// At a start: forgets snapshots that belong to no segment, but for the newest of those if it lies
    /// above all segments, for an orderly stop took it; answers the deleted ones.
    pub fn remove_stray_snapshots(&mut self, segment_bases: impl IntoIterator<Item = Offset>) -> Vec<Offset> {
        let bases: OrderedSet<Offset> = segment_bases.into_iter().collect();
        let newest = self.snapshots.difference(&bases).max().copied();
        let kept = newest.filter(|&stray| bases.last().is_none_or(|&base| stray >= base));
        self.remove_snapshots(|offset| !bases.contains(&offset) && Some(offset) != kept)
    }

    /// The log start has passed these; answers the deleted ones.
    pub fn delete_snapshots_before(&mut self, offset: Offset) -> Vec<Offset> {
        self.remove_snapshots(|snapshot| snapshot < offset)
    }

    /// Its segment is deleted, and the snapshot with it; false when there was none.
    pub fn remove_snapshot(&mut self, segment_base: Offset) -> bool {
        self.snapshots.remove(&segment_base)
    }

    pub fn latest_snapshot(&self) -> Option<Offset> {
        self.snapshots.last().copied()
    }

    /// Offsets of the snapshot files that are there, rising.
    pub fn snapshots(&self) -> impl Iterator<Item = Offset> {
        self.snapshots.iter().copied()
    }

    fn load(&mut self, entries: impl Iterator<Item = super::ProducerStateEntry>) {
        let producers = Arc::make_mut(&mut self.producers);
        for entry in entries {
            if let Some(first_offset) = entry.current_txn_first_offset {
                self.transactions.begin(first_offset, entry.producer_id);
            }
            producers.insert(entry.producer_id, entry);
        }
    }

    fn forget_producers(&mut self) {
        self.producers = Arc::default();
        self.transactions.clear();
    }

    fn remove_snapshots(&mut self, gone: impl Fn(Offset) -> bool) -> Vec<Offset> {
        self.snapshots.extract_if(.., |&offset| gone(offset)).collect()
    }
}
