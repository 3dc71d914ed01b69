//! OffsetCommit and OffsetDelete between the wire and the coordinator.
//!
//! Whether the partitions exist is the broker's to say; the coordinator is asked about the others alone.

use std::sync::Arc;

use super::State;
use super::members::{name, opt_name};
use super::waiting::{Form, Place};
use crate::broker::caller::Caller;
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::group::{Answer, Commit, Deletion, Identity, OffsetAndMetadata, OffsetKey};
use crate::metadata::TopicImage;
use crate::protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use crate::protocol::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use crate::protocol::messages::offset_delete_response::{
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use crate::protocol::messages::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetDeleteRequest, OffsetDeleteResponse, message,
};
use crate::types::Millis;

/// From this version on clients know GROUP_ID_NOT_FOUND.
const COMMIT_WITH_GROUP_ID_NOT_FOUND: i16 = 9;
/// From this version on topics are named by their ids.
const COMMIT_WITH_TOPIC_IDS: i16 = 10;
/// "As the broker says."
const DEFAULT_RETENTION_MS: Millis = -1;

impl State {
    pub(in crate::broker) fn offset_commit(
        &mut self,
        cx: &mut Cx,
        caller: &Caller,
        request: &OffsetCommitRequest,
    ) {
        let group = name(&request.group_id);
        let expires_at = match request.retention_time_ms {
            DEFAULT_RETENTION_MS => None,
            retention_ms => Some(cx.now.saturating_add(retention_ms)),
        };
        let (mut offsets, mut places) = (Vec::new(), Vec::new());
        let rows = message(|rows: &mut OffsetCommitResponse| {
            for (topic_at, topic) in request.topics.iter().enumerate() {
                let known = self.topic_of_commit(caller.version, topic);
                let partitions = topic.partitions.iter().enumerate().map(|(at, asked)| {
                    let offset = known.and_then(|known| {
                        let index = asked.partition_index;
                        known.partition(index).ok_or(ErrorCode::UnknownTopicOrPartition)?;
                        Ok(committed(&group, known, asked, cx.now, expires_at))
                    });
                    let code = match offset {
                        Ok(offset) => {
                            offsets.push(offset);
                            places.push((topic_at, at));
                            ErrorCode::None
                        }
                        Err(code) => code,
                    };
                    message(|row: &mut OffsetCommitResponsePartition| {
                        row.partition_index = asked.partition_index;
                        row.error_code = code.code();
                    })
                });
                let partitions = partitions.collect();
                rows.topics.push(message(|row: &mut OffsetCommitResponseTopic| {
                    match caller.version >= COMMIT_WITH_TOPIC_IDS {
                        true => row.topic_id = topic.topic_id,
                        false => row.name = topic.name.clone(),
                    }
                    row.partitions = partitions;
                }));
            }
        });
        if offsets.is_empty() {
            return self.out.answer(caller, rows);
        }
        let commit = Commit {
            who: Identity {
                member: name(&request.member_id),
                instance_id: opt_name(request.group_instance_id.as_ref()),
                generation: request.generation_id_or_member_epoch,
            },
            group: group.clone(),
            knows_group_id_not_found: caller.version >= COMMIT_WITH_GROUP_ID_NOT_FOUND,
            offsets,
        };
        let token = self.park_for_groups(cx, caller, Form::Commit(rows, places), 1);
        self.ask_group(cx, &group, token, |shard, turn| {
            shard.commit(turn, token, &commit);
        });
    }

    fn topic_of_commit(
        &self,
        version: i16,
        topic: &OffsetCommitRequestTopic,
    ) -> Result<&Arc<TopicImage>, ErrorCode> {
        if version >= COMMIT_WITH_TOPIC_IDS {
            let known = self.image.topic_by_id(topic.topic_id.into());
            return known.ok_or(ErrorCode::UnknownTopicId);
        }
        let known = self.image.topic(&topic.name);
        known.ok_or(ErrorCode::UnknownTopicOrPartition)
    }

    pub(super) fn answer_commit(
        &mut self,
        caller: &Caller,
        mut rows: OffsetCommitResponse,
        places: &[Place],
        answer: &Result<Answer, ErrorCode>,
    ) {
        for (&(topic, partition), code) in places.iter().zip(outcomes(answer)) {
            let topic = rows.topics.get_mut(topic);
            if let Some(row) = topic.and_then(|topic| topic.partitions.get_mut(partition)) {
                row.error_code = code.code();
            }
        }
        self.out.answer(caller, rows);
    }

    pub(in crate::broker) fn offset_delete(
        &mut self,
        cx: &mut Cx,
        caller: &Caller,
        request: &OffsetDeleteRequest,
    ) {
        let group = name(&request.group_id);
        let (mut offsets, mut places) = (Vec::new(), Vec::new());
        let rows = message(|rows: &mut OffsetDeleteResponse| {
            for (topic_at, topic) in request.topics.iter().enumerate() {
                let known = self.image.topic(&topic.name);
                let partitions = topic.partitions.iter().enumerate().map(|(at, asked)| {
                    let index = asked.partition_index;
                    let there = known.filter(|known| known.partition(index).is_some());
                    if let Some(known) = there {
                        places.push((topic_at, at));
                        offsets.push(OffsetKey {
                            group: group.clone(),
                            topic: known.name.clone(),
                            partition: index,
                        });
                    }
                    let code = match there {
                        Some(_) => ErrorCode::None,
                        None => ErrorCode::UnknownTopicOrPartition,
                    };
                    message(|row: &mut OffsetDeleteResponsePartition| {
                        row.partition_index = index;
                        row.error_code = code.code();
                    })
                });
                let partitions = partitions.collect();
                rows.topics.push(message(|row: &mut OffsetDeleteResponseTopic| {
                    row.name = topic.name.clone();
                    row.partitions = partitions;
                }));
            }
        });
        if offsets.is_empty() {
            return self.out.answer(caller, rows);
        }
        let form = Form::DeleteOffsets(rows, places);
        let token = self.park_for_groups(cx, caller, form, 1);
        if group.is_empty() {
            return self.group_answered(token, Err(ErrorCode::InvalidGroupId));
        }
        let deletion = Deletion {
            group: group.clone(),
            offsets,
        };
        self.ask_group(cx, &group, token, |shard, turn| {
            shard.delete_offsets(turn, token, &deletion);
        });
    }

    pub(super) fn answer_offset_delete(
        &mut self,
        caller: &Caller,
        mut rows: OffsetDeleteResponse,
        places: &[Place],
        answer: &Result<Answer, ErrorCode>,
    ) {
        if let Err(code) = answer {
            // Of the group as a whole: nothing is said of its partitions.
            rows.topics.clear();
            rows.error_code = code.code();
            return self.out.answer(caller, rows);
        }
        for (&(topic, partition), code) in places.iter().zip(outcomes(answer)) {
            let topic = rows.topics.get_mut(topic);
            if let Some(row) = topic.and_then(|topic| topic.partitions.get_mut(partition)) {
                row.error_code = code.code();
            }
        }
        self.out.answer(caller, rows);
    }
}

fn committed(
    group: &Arc<str>,
    topic: &TopicImage,
    asked: &OffsetCommitRequestPartition,
    now: Millis,
    expires_at: Option<Millis>,
) -> (OffsetKey, OffsetAndMetadata) {
    let key = OffsetKey {
        group: group.clone(),
        topic: topic.name.clone(),
        partition: asked.partition_index,
    };
    let offset = OffsetAndMetadata {
        offset: asked.committed_offset,
        leader_epoch: asked.committed_leader_epoch,
        metadata: asked.committed_metadata.as_deref().unwrap_or_default().into(),
        commit_timestamp_ms: now,
        expire_timestamp_ms: expires_at,
        topic_id: topic.id,
    };
    (key, offset)
}

/// The outcome of each offset, in order.
fn outcomes(answer: &Result<Answer, ErrorCode>) -> Box<dyn Iterator<Item = ErrorCode> + '_> {
    match answer {
        Ok(Answer::Offsets(codes)) => Box::new(codes.iter().copied()),
        Ok(_) => Box::new(std::iter::repeat(ErrorCode::UnknownServerError)),
        Err(code) => Box::new(std::iter::repeat(*code)),
    }
}
