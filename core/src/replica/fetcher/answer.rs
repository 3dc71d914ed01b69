//! What a leader's answer means for each partition (`AbstractFetcherThread.processFetchRequest`).
//!
//! An error of one partition is no error of another. Most pass by themselves: the leader has yet to
//! hear that it leads, or the topic is on its way; then the partition is left out for a while. A fenced
//! epoch means that this broker has yet to hear of a new leader; then only the controller's word helps.

use super::state::{Phase, Then};
use super::{EpochQuestion, Fetcher, Followed, FollowerLogs, UnderWay};
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::protocol::fetch::{Fetched, FetchedPartition};
use crate::record::Batch;
use crate::replica::EpochEnd;
use crate::trace::FetchPause;
use crate::types::TopicPartition;

/// The answer to an [`EpochQuestion`]: -1 and -1 when the leader knows nothing of the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochAnswer {
    pub partition: TopicPartition,
    pub end: Result<EpochEnd, ErrorCode>,
}

impl Fetcher {
    /// The leader has answered a fetch.
    pub fn fetched(&mut self, cx: &mut Cx, logs: &mut dyn FollowerLogs, answer: Fetched) -> Vec<Followed> {
        let mut followed = Vec::new();
        let is_due = self
            .under_way
            .take_if(|it| matches!(it, UnderWay::Fetch))
            .is_some();
        if !is_due {
            return followed;
        }
        if !self.session.answered(&answer) {
            if !is_of_session(answer.error_code) {
                let names: Vec<_> = self.partitions.keys().cloned().collect();
                for name in names {
                    self.delay(cx, &name, FetchPause::Refused(answer.error_code));
                }
            }
            return followed;
        }
        for topic in answer.topics {
            for part in topic.partitions {
                let name = self.session.name_of(&topic.name, topic.topic_id, part.partition);
                if let Some(name) = name.filter(|name| self.counts(logs, name)) {
                    self.partition_fetched(cx, logs, &name, &part, &mut followed);
                }
            }
        }
        followed
    }

    /// Whether the partition is still where it was when it was asked for.
    fn counts(&self, logs: &mut dyn FollowerLogs, name: &TopicPartition) -> bool {
        let (Some(fetch), Some(asked)) = (self.partitions.get(name), self.session.asked(name)) else {
            return false;
        };
        let log = logs.partition(name).and_then(|partition| partition.log().ok());
        fetch.is_ready()
            && fetch.leader_epoch == asked.current_leader_epoch
            && log.is_some_and(|log| log.assigned_end() == asked.fetch_offset)
    }

    fn partition_fetched(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        name: &TopicPartition,
        part: &FetchedPartition,
        into: &mut Vec<Followed>,
    ) {
        match part.error_code {
            ErrorCode::None => {}
            ErrorCode::OffsetOutOfRange => return self.out_of_range(name),
            code @ ErrorCode::FencedLeaderEpoch => {
                return self.stop(cx, name, FetchPause::Refused(code), into);
            }
            code => return self.delay(cx, name, FetchPause::Refused(code)),
        }
        if let Some(end) = part.diverging_epoch {
            // HW and log start count from the next fetch, when the logs agree.
            let end = EpochEnd {
                epoch: end.epoch,
                end_offset: end.end_offset,
            };
            return self.parts_ways(cx, logs, name, end, into);
        }
        let records = match &part.records {
            Ok(records) if records.batches.is_empty() && records.cut_off_bytes > 0 => {
                Err("the leader cut the first batch short".to_owned())
            }
            Ok(records) => Ok(&records.batches),
            Err(invalid) => Err(invalid.to_string()),
        };
        match records {
            Ok(batches) => self.append(cx, logs, name, part, batches, into),
            Err(why) => self.delay(cx, name, FetchPause::Unusable(why)),
        }
    }

    fn append(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        name: &TopicPartition,
        part: &FetchedPartition,
        batches: &[Batch],
        into: &mut Vec<Followed>,
    ) {
        let Some(partition) = logs.partition(name) else {
            return;
        };
        let appended = match batches {
            [] => Ok(None),
            _ => partition.append_as_follower(cx, batches).map(Some),
        };
        let ticket = match appended {
            Ok(ticket) => ticket,
            Err(refused) => {
                return self.stop(cx, name, FetchPause::Unusable(refused.to_string()), into);
            }
        };
        let moved = partition.hear_leader(cx, part.high_watermark, part.log_start_offset);
        let end = partition.log().map_or(-1, |log| log.assigned_end());
        let turn = self.draw();
        if let Some(fetch) = self.partitions.get_mut(name) {
            fetch.not_heard = 0;
            fetch.lag = Some((part.high_watermark - end).max(0));
            if let Some(ticket) = ticket {
                fetch.turn = turn;
                fetch.phase = Phase::Writing {
                    ticket,
                    then: Then::Fetch,
                };
            }
        }
        if ticket.is_some() || moved.news {
            self.enter(name);
            into.push(Followed {
                moved,
                wait_for: ticket,
                ..Followed::of(name)
            });
        }
    }

    /// The leader has answered where epochs end: each log is cut where it parts ways with the leader's.
    pub fn epochs_answered(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        answers: &[EpochAnswer],
    ) -> Vec<Followed> {
        let mut followed = Vec::new();
        let asked = self.under_way.take_if(|it| matches!(it, UnderWay::EpochEnds(_)));
        let Some(UnderWay::EpochEnds(questions)) = asked else {
            return followed;
        };
        for question in questions {
            let answer = answers
                .iter()
                .find(|answer| answer.partition == question.partition);
            self.epoch_answered(cx, logs, &question, answer, &mut followed);
        }
        followed
    }

    fn epoch_answered(
        &mut self,
        cx: &mut Cx,
        logs: &mut dyn FollowerLogs,
        question: &EpochQuestion,
        answer: Option<&EpochAnswer>,
        into: &mut Vec<Followed>,
    ) {
        let name = &question.partition;
        let fetch = self.partitions.get(name);
        if !fetch.is_some_and(|fetch| {
            fetch.leader_epoch == question.current_leader_epoch && fetch.phase == Phase::AsksEpoch
        }) {
            return;
        }
        match answer.map(|answer| answer.end) {
            Some(Ok(end)) => {
                self.asking_epoch.remove(name);
                self.parts_ways(cx, logs, name, end, into);
            }
            Some(Err(code @ ErrorCode::FencedLeaderEpoch)) => {
                self.stop(cx, name, FetchPause::Refused(code), into);
            }
            Some(Err(code)) => self.delay(cx, name, FetchPause::Refused(code)),
            None => self.delay(cx, name, FetchPause::Unanswered),
        }
    }
}

/// Errors that a new session cures: the next fetch may go at once.
fn is_of_session(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::None | ErrorCode::FetchSessionIdNotFound | ErrorCode::InvalidFetchSessionEpoch
    )
}
