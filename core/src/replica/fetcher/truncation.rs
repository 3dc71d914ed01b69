//! Cutting a follower's log where it parts ways with its leader's.
//!
//! What the leader says is the largest of its epochs at or below the one asked for, and where that
//! ends. If this log has that epoch too, both share everything up to the lesser of the two ends. If it
//! has not, its own largest epoch below is where the search goes on: with the next fetch, or the next
//! question (KIP-279). Each round goes at least one epoch back, so it ends.
//!
//! Cutting reads the segment that is cut and waits for appends under way, so it takes a ticket, a job,
//! or both.

use super::state::{Phase, Then};
use super::{EpochQuestion, Fetcher, Followed, FollowerLogs, TruncateBy};
use crate::cx::Cx;
use crate::disk::Ticket;
use crate::log::{Log, Rebuilt, Truncation};
use crate::replica::{EpochEnd, Partition};
use crate::trace::{Fact, FetchPause, TruncateReason};
use crate::types::{Offset, TopicPartition};

/// Names one cut, so that a job's result finds no other.
pub type CutId = u64;

/// A log that was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Where it ended.
    pub from: Offset,
    /// Where it ends now; after [`TruncateReason::LeaderStart`] it begins there too.
    pub to: Offset,
    pub why: TruncateReason,
}

/// Where a log is to be cut, and whether nothing is left to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parting {
    to: Offset,
    is_final: bool,
}

// ANCHOR: cut_for
/// `AbstractFetcherThread.getOffsetTruncationState`.
fn cut_for(log: &Log, high_watermark: Offset, leader: EpochEnd) -> Parting {
    let is_final = true;
    if leader.end_offset < 0 {
        return Parting {
            to: high_watermark,
            is_final,
        };
    }
    let leader_end = leader.end_offset.min(log.assigned_end());
    let (epoch, own_end) = log.epochs().end_offset_for(leader.epoch, log.assigned_end());
    if leader.epoch < 0 || own_end < 0 {
        return Parting {
            to: leader_end,
            is_final,
        };
    }
    if epoch != leader.epoch {
        // The leader's epoch is unknown here: this log's own end of what lies below it.
        return Parting {
            to: own_end.min(log.assigned_end()),
            is_final: false,
        };
    }
    Parting {
        to: own_end.min(leader_end),
        is_final,
    }
}
// ANCHOR_END: cut_for

pub(super) fn end_of(partition: &Partition) -> Offset {
    partition.log().map_or(-1, Log::assigned_end)
}

impl Fetcher {
    /// Which epoch ends to ask for, of all partitions that have to.
    pub(super) fn epoch_questions(&mut self, logs: &mut dyn FollowerLogs) -> Option<Vec<EpochQuestion>> {
        let mut questions = Vec::new();
        for name in &self.asking_epoch {
            let Some(fetch) = self.partitions.get(name).filter(|fetch| !fetch.is_delayed()) else {
                continue;
            };
            let log = logs.partition(name).and_then(|partition| partition.log().ok());
            if let Some(epoch) = log.and_then(Log::latest_epoch) {
                questions.push(EpochQuestion {
                    partition: name.clone(),
                    current_leader_epoch: fetch.leader_epoch,
                    epoch,
                });
            }
        }
        (!questions.is_empty()).then_some(questions)
    }

    /// The leader's log has the epoch only up to there.
    pub(super) fn parts_ways(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        name: &TopicPartition,
        leader: EpochEnd,
        into: &mut Vec<Followed>,
    ) {
        let Some(partition) = logs.partition(name) else {
            return;
        };
        let high_watermark = partition.high_watermark();
        let Ok(log) = partition.log() else {
            return;
        };
        let cut = cut_for(log, high_watermark, leader);
        let why = match leader.end_offset {
            0.. => TruncateReason::LeaderEpoch {
                epoch: leader.epoch,
                end_offset: leader.end_offset,
            },
            _ => TruncateReason::HighWatermark,
        };
        let asks_again = !cut.is_final && self.settings.truncate_by == TruncateBy::OffsetForLeaderEpoch;
        let then = if asks_again { Then::AskEpoch } else { Then::Fetch };
        self.begin_cut(cx, logs, name, (cut.to, why, then), into);
    }

    pub(super) fn cut_to_high_watermark(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        name: &TopicPartition,
        into: &mut Vec<Followed>,
    ) {
        let Some(to) = logs.partition(name).map(|partition| partition.high_watermark()) else {
            return;
        };
        self.begin_cut(
            cx,
            logs,
            name,
            (to, TruncateReason::HighWatermark, Then::Fetch),
            into,
        );
    }

    pub(super) fn begin_cut(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        name: &TopicPartition,
        (to, why, then): (Offset, TruncateReason, Then),
        into: &mut Vec<Followed>,
    ) {
        let leader = self.leader;
        let Some(fetch) = self.partitions.get_mut(name) else {
            return;
        };
        fetch.phase = Phase::Cutting {
            to,
            why,
            then,
            wait_for: None,
            job: None,
        };
        self.touched.insert(name.clone());
        let before = cx.cause;
        cx.cause = cx.emit(|| Fact::FollowerTruncates {
            partition: name.clone(),
            leader,
            to,
            why,
        });
        self.cut(cx, logs, name, into);
        cx.cause = before;
    }

    /// Goes on with a cut.
    pub(super) fn cut(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        name: &TopicPartition,
        into: &mut Vec<Followed>,
    ) {
        let number = self.draw();
        let expiration_ms = self.settings.producer_expiration_ms;
        let Some(Phase::Cutting {
            to,
            why,
            then,
            wait_for,
            job,
        }) = self.partitions.get_mut(name).map(|fetch| &mut fetch.phase)
        else {
            return;
        };
        (*wait_for, *job) = (None, None);
        let (to, why, then) = (*to, *why, *then);
        let Some(partition) = logs.partition(name) else {
            return;
        };
        let queued = cx.disk.last_ticket(partition.dir());
        let from = end_of(partition);
        match partition.truncate_to(cx, to, expiration_ms) {
            Ok(Truncation::Nothing) => self.settle(cx, logs, name, (then, queued), into),
            Ok(Truncation::Done) => {
                let to = end_of(partition);
                into.push(Followed::cut(name, Cut { from, to, why }));
                self.settle(cx, logs, name, (then, queued), into);
            }
            Ok(Truncation::WaitFor(ticket)) => {
                *wait_for = Some(ticket);
                into.push(Followed {
                    wait_for: Some(ticket),
                    ..Followed::of(name)
                });
            }
            Ok(Truncation::Rebuild(work)) => {
                *job = Some(number);
                into.push(Followed {
                    rebuild: Some((number, work)),
                    ..Followed::of(name)
                });
            }
            Err(refused) => self.stop(cx, name, FetchPause::Refused(refused.code), into),
        }
    }

    /// A job has read what stays of a log: it is cut, unless the partition is no longer to be, or its log has
    /// changed.
    pub fn rebuilt(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        name: &TopicPartition,
        number: CutId,
        rebuilt: Rebuilt,
    ) -> Vec<Followed> {
        let mut followed = Vec::new();
        let phase = self.partitions.get(name).map(|fetch| fetch.phase);
        let Some(Phase::Cutting { why, then, job, .. }) = phase else {
            return followed;
        };
        let Some(partition) = logs.partition(name).filter(|_| job == Some(number)) else {
            return followed;
        };
        let queued = cx.disk.last_ticket(partition.dir());
        let from = end_of(partition);
        match partition.truncated(cx, rebuilt) {
            Ok(true) => {
                let to = end_of(partition);
                followed.push(Followed::cut(name, Cut { from, to, why }));
                self.settle(cx, logs, name, (then, queued), &mut followed);
            }
            Ok(false) => self.cut(cx, logs, name, &mut followed),
            Err(refused) => self.stop(cx, name, FetchPause::Refused(refused.code), &mut followed),
        }
        followed
    }

    /// The log is as it shall be, as soon as the disk has done what is queued for it. Before, `queued` was
    /// the directory's last operation.
    pub(super) fn settle(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        name: &TopicPartition,
        (then, queued): (Then, Ticket),
        into: &mut Vec<Followed>,
    ) {
        let Some(partition) = logs.partition(name) else {
            return;
        };
        let ticket = cx.disk.last_ticket(partition.dir());
        let is_written = |log: &Log| log.log_end() == log.assigned_end();
        if ticket == queued && partition.log().is_ok_and(is_written) {
            return self.settled(logs, name, then);
        }
        if let Some(fetch) = self.partitions.get_mut(name) {
            fetch.phase = Phase::Writing { ticket, then };
        }
        self.enter(name);
        into.push(Followed {
            wait_for: Some(ticket),
            ..Followed::of(name)
        });
    }

    /// The log is settled on the disk too.
    pub(super) fn settled(&mut self, logs: &mut dyn FollowerLogs, name: &TopicPartition, then: Then) {
        let log = logs.partition(name).and_then(|partition| partition.log().ok());
        // Without an epoch there is nothing to ask for.
        let asks = then == Then::AskEpoch && log.is_some_and(|log| log.latest_epoch().is_some());
        if let Some(fetch) = self.partitions.get_mut(name) {
            fetch.phase = if asks { Phase::AsksEpoch } else { Phase::Ready };
        }
        self.enter(name);
    }
}
