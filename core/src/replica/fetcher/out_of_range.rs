//! A fetch that is out of the leader's range (`AbstractFetcherThread.fetchOffsetAndTruncate`).
//!
//! The log is not wiped for it. First the leader is asked where its log ends: if before this one, this
//! one has more than it may (an unclean election) and is cut there. If not, it is asked where its log
//! begins: only if that is behind this one's end (retention took what this broker missed while it was
//! away) this log is of no use, and begins anew there. Else the fetch is tried again from the same end.

use super::state::{Phase, Then};
use super::truncation::{Cut, end_of};
use super::{Fetcher, Followed, FollowerLogs, OffsetQuestion, UnderWay};
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::trace::{Fact, FetchPause, TruncateReason};
use crate::types::{Millis, Offset, TopicPartition};

const LATEST: Millis = -1;
const EARLIEST: Millis = -2;

impl Fetcher {
    pub(super) fn out_of_range(&mut self, name: &TopicPartition) {
        if let Some(fetch) = self.partitions.get_mut(name) {
            fetch.phase = Phase::AsksEnd;
        }
        self.enter(name);
    }

    pub(super) fn offset_question(&mut self) -> Option<OffsetQuestion> {
        let mut asking = self.asking_offset.iter();
        asking.find_map(|name| {
            let fetch = self.partitions.get(name).filter(|fetch| !fetch.is_delayed())?;
            Some(OffsetQuestion {
                partition: name.clone(),
                current_leader_epoch: fetch.leader_epoch,
                timestamp: if fetch.phase == Phase::AsksEnd {
                    LATEST
                } else {
                    EARLIEST
                },
            })
        })
    }

    /// The leader has answered an [`OffsetQuestion`].
    pub fn offset_answered(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        answer: Result<Offset, ErrorCode>,
    ) -> Vec<Followed> {
        let mut followed = Vec::new();
        let Some(UnderWay::Offset(question)) = self.under_way.take_if(|it| matches!(it, UnderWay::Offset(_)))
        else {
            return followed;
        };
        let name = &question.partition;
        let asked_so = |phase| match question.timestamp {
            LATEST => phase == Phase::AsksEnd,
            _ => phase == Phase::AsksStart,
        };
        let fetch = self.partitions.get(name);
        if !fetch
            .is_some_and(|fetch| fetch.leader_epoch == question.current_leader_epoch && asked_so(fetch.phase))
        {
            return followed;
        }
        self.asking_offset.remove(name);
        let log = logs.partition(name).and_then(|partition| partition.log().ok());
        let own_end = log.map_or(-1, |log| log.assigned_end());
        match answer {
            Ok(end) if question.timestamp == LATEST && end < own_end => {
                let cut = (end, TruncateReason::LeaderEnd, Then::Fetch);
                self.begin_cut(cx, logs, name, cut, &mut followed);
            }
            Ok(_) if question.timestamp == LATEST => self.leave_range(name, Phase::AsksStart),
            Ok(start) if start > own_end => self.begin_anew(cx, logs, name, start, &mut followed),
            Ok(_) => self.leave_range(name, Phase::Ready),
            Err(ErrorCode::FencedLeaderEpoch) => {
                let why = FetchPause::Refused(ErrorCode::FencedLeaderEpoch);
                self.stop(cx, name, why, &mut followed);
            }
            Err(code) => {
                self.leave_range(name, Phase::Ready);
                self.delay(cx, name, FetchPause::Refused(code));
            }
        }
        followed
    }

    fn leave_range(&mut self, name: &TopicPartition, phase: Phase) {
        if let Some(fetch) = self.partitions.get_mut(name) {
            fetch.phase = phase;
        }
        self.enter(name);
    }

    /// Nothing of this log is of use.
    fn begin_anew(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        name: &TopicPartition,
        at: Offset,
        into: &mut Vec<Followed>,
    ) {
        let (leader, why) = (self.leader, TruncateReason::LeaderStart);
        cx.emit(|| Fact::FollowerTruncates {
            partition: name.clone(),
            leader,
            to: at,
            why,
        });
        let Some(partition) = logs.partition(name) else {
            return;
        };
        let queued = cx.disk.last_ticket(partition.dir());
        let from = end_of(partition);
        match partition.truncate_fully_and_start_at(cx, at) {
            Ok(()) => {
                into.push(Followed::cut(name, Cut { from, to: at, why }));
                self.settle(cx, logs, name, (Then::Fetch, queued), into);
            }
            Err(refused) => self.stop(cx, name, FetchPause::Refused(refused.code), into),
        }
    }
}
