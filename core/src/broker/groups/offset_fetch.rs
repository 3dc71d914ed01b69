//! OffsetFetch: the offsets of one group, or of many at once.
//!
//! What is read is what is committed to the log. A client that wants *stable* offsets (a transactional
//! one, or one that follows a transactional one) waits besides until everything is committed that was
//! decided before, and hears UNSTABLE_OFFSET_COMMIT where a transaction may still change an offset.

use std::sync::Arc;

use super::State;
use super::members::name;
use super::waiting::Form;
use crate::broker::caller::Caller;
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::group::{Answer, GroupShard, OffsetAndMetadata, OffsetKey};
use crate::ordered::OrderedMap;
use crate::protocol::StrBytes;
use crate::protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use crate::protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use crate::protocol::messages::{OffsetFetchRequest, OffsetFetchResponse, message};
use crate::types::{NO_EPOCH, PartitionIndex, Uuid};

/// From this version on an error of the group as a whole has a place of its own.
const FIRST_WITH_GROUP_ERROR: i16 = 2;
/// From this version on one request asks for many groups.
const FIRST_WITH_MANY_GROUPS: i16 = 8;
/// From this version on topics are named by their ids.
const FIRST_WITH_TOPIC_IDS: i16 = 10;
const NO_OFFSET: i64 = -1;

/// An OffsetFetch that may have to wait for some of its groups.
#[derive(Clone, Debug)]
pub(in crate::broker) struct FetchingOffsets {
    stable: bool,
    groups: Vec<Asked>,
}

/// One group, and what is asked of it.
#[derive(Clone, Debug)]
struct Asked {
    group: Arc<str>,
    /// `None`: all that it has.
    topics: Option<Vec<AskedTopic>>,
    refused: Option<ErrorCode>,
}

#[derive(Clone, Debug)]
struct AskedTopic {
    name: Arc<str>,
    id: Uuid,
    /// Named by an id that nobody knows.
    is_unknown: bool,
    partitions: Vec<PartitionIndex>,
}

/// One offset of an answer.
struct Row {
    partition: PartitionIndex,
    offset: Option<OffsetAndMetadata>,
    code: ErrorCode,
}

impl FetchingOffsets {
    pub(super) fn settle(&mut self, group: usize, refused: Option<ErrorCode>) {
        if let Some(group) = self.groups.get_mut(group) {
            group.refused = refused;
        }
    }
}

impl State {
    pub(in crate::broker) fn offset_fetch(
        &mut self,
        cx: &mut Cx,
        caller: &Caller,
        request: &OffsetFetchRequest,
    ) {
        let groups: Vec<Asked> = if caller.version < FIRST_WITH_MANY_GROUPS {
            vec![one_group(request)]
        } else {
            let groups = request.groups.iter();
            groups.map(|group| self.asked_of(caller.version, group)).collect()
        };
        let names: Vec<Arc<str>> = groups.iter().map(|asked| asked.group.clone()).collect();
        let mut fetching = FetchingOffsets {
            stable: request.require_stable,
            groups,
        };
        if !fetching.stable || names.is_empty() {
            for asked in &mut fetching.groups {
                asked.refused = self.read_group(&asked.group).err();
            }
            return self.answer_offset_fetch(caller, fetching);
        }
        let form = Form::FetchOffsets(Box::new(fetching));
        let first = self.park_for_groups(cx, caller, form, names.len() as u32);
        for (part, group) in (0..).zip(names) {
            let token = crate::coordinator::Token { part, ..first };
            self.ask_group(cx, &group, token, |_, turn| {
                turn.answer_when_committed(token, Answer::Stable);
            });
        }
    }

    fn asked_of(&self, version: i16, asked: &OffsetFetchRequestGroup) -> Asked {
        let topics = asked.topics.as_ref().map(|topics| {
            let topics = topics.iter().map(|topic| {
                let known = match version >= FIRST_WITH_TOPIC_IDS {
                    true => self.image.topic_by_id(topic.topic_id.into()),
                    false => None,
                };
                AskedTopic {
                    name: known.map_or_else(|| name(&topic.name), |known| known.name.clone()),
                    id: topic.topic_id.into(),
                    is_unknown: version >= FIRST_WITH_TOPIC_IDS && known.is_none(),
                    partitions: topic.partition_indexes.clone(),
                }
            });
            topics.collect()
        });
        Asked {
            group: name(&asked.group_id),
            topics,
            refused: None,
        }
    }

    pub(super) fn answer_offset_fetch(&mut self, caller: &Caller, fetching: FetchingOffsets) {
        let version = caller.version;
        let stable = fetching.stable;
        let answer = message(|answer: &mut OffsetFetchResponse| {
            let mut found = fetching.groups.into_iter().map(|asked| {
                let rows = match asked.refused {
                    Some(code) => Err(code),
                    None => self
                        .read_group(&asked.group)
                        .map(|shard| self.rows(version, shard, &asked, stable)),
                };
                (asked, rows.map_err(answer_for))
            });
            if version < FIRST_WITH_MANY_GROUPS {
                if let Some((asked, rows)) = found.next() {
                    fill_one(answer, version, &asked, rows);
                }
                return;
            }
            answer.groups = found
                .map(|(asked, rows)| {
                    message(|group: &mut OffsetFetchResponseGroup| {
                        group.group_id = (&*asked.group).into();
                        match rows {
                            Ok(rows) => group.topics = topics_of(version, rows),
                            Err(code) => group.error_code = code.code(),
                        }
                    })
                })
                .collect();
        });
        self.out.answer(caller, answer);
    }

    fn rows(
        &self,
        version: i16,
        shard: &GroupShard,
        asked: &Asked,
        stable: bool,
    ) -> Vec<(AskedTopic, Vec<Row>)> {
        let offsets = shard.offsets();
        let row = |key: &OffsetKey, offset: Option<&OffsetAndMetadata>| {
            if stable && offsets.is_pending(key) {
                return refusal(key.partition, ErrorCode::UnstableOffsetCommit);
            }
            Row {
                partition: key.partition,
                offset: offset
                    .filter(|offset| self.is_of_this_topic(key, offset))
                    .cloned(),
                code: ErrorCode::None,
            }
        };
        let Some(topics) = &asked.topics else {
            let mut by_topic: OrderedMap<Arc<str>, Vec<Row>> = OrderedMap::new();
            for (key, offset) in offsets.of_group_committed(&asked.group) {
                let row = row(key, Some(offset));
                if row.offset.is_some() || row.code != ErrorCode::None {
                    by_topic.entry(key.topic.clone()).or_default().push(row);
                }
            }
            let all = by_topic.into_iter().map(|(name, rows)| {
                let id = self.image.topic(&name).map_or(Uuid::ZERO, |topic| topic.id);
                let topic = AskedTopic {
                    name,
                    id,
                    is_unknown: false,
                    partitions: Vec::new(),
                };
                (topic, rows)
            });
            // A topic that is gone has no id by which it could be named.
            return all
                .filter(|(topic, _)| version < FIRST_WITH_TOPIC_IDS || !topic.id.is_zero())
                .collect();
        };
        let rows = topics.iter().map(|topic| {
            let rows = topic.partitions.iter().map(|&partition| {
                if topic.is_unknown {
                    return refusal(partition, ErrorCode::UnknownTopicId);
                }
                let key = OffsetKey {
                    group: asked.group.clone(),
                    topic: topic.name.clone(),
                    partition,
                };
                row(&key, offsets.get_committed(&key))
            });
            (topic.clone(), rows.collect())
        });
        rows.collect()
    }

    /// Not of a topic of the same name that was deleted.
    fn is_of_this_topic(&self, key: &OffsetKey, offset: &OffsetAndMetadata) -> bool {
        let now = self.image.topic(&key.topic).map_or(Uuid::ZERO, |topic| topic.id);
        offset.topic_id.is_zero() || now.is_zero() || offset.topic_id == now
    }
}

/// Codes that older consumers do not take from this request (`handleOffsetFetchException`).
fn answer_for(code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::CoordinatorNotAvailable => ErrorCode::NotCoordinator,
        other => other,
    }
}

fn refusal(partition: PartitionIndex, code: ErrorCode) -> Row {
    Row {
        partition,
        offset: None,
        code,
    }
}

/// The only group of an older request.
fn one_group(request: &OffsetFetchRequest) -> Asked {
    let topics = request.topics.as_ref().map(|topics| {
        let topics = topics.iter().map(|topic| AskedTopic {
            name: name(&topic.name),
            id: Uuid::ZERO,
            is_unknown: false,
            partitions: topic.partition_indexes.clone(),
        });
        topics.collect()
    });
    Asked {
        group: name(&request.group_id),
        topics,
        refused: None,
    }
}

impl Row {
    fn number(&self) -> i64 {
        self.offset.as_ref().map_or(NO_OFFSET, |offset| offset.offset)
    }

    fn leader_epoch(&self) -> i32 {
        self.offset
            .as_ref()
            .map_or(NO_EPOCH, |offset| offset.leader_epoch)
    }

    fn metadata(&self) -> Option<StrBytes> {
        let metadata = self.offset.as_ref().map_or("", |offset| &offset.metadata);
        Some(metadata.into())
    }
}

/// First version that has the leader epoch.
const FIRST_WITH_LEADER_EPOCH: i16 = 5;

fn fill_one(
    answer: &mut OffsetFetchResponse,
    version: i16,
    asked: &Asked,
    rows: Result<Vec<(AskedTopic, Vec<Row>)>, ErrorCode>,
) {
    let rows = match rows {
        Ok(rows) => rows,
        Err(code) if version >= FIRST_WITH_GROUP_ERROR => {
            answer.error_code = code.code();
            return;
        }
        Err(code) => {
            let refused = asked.topics.iter().flatten().map(|topic| {
                let rows = topic.partitions.iter().map(|&partition| refusal(partition, code));
                (topic.clone(), rows.collect())
            });
            refused.collect()
        }
    };
    let topics = rows.into_iter().map(|(topic, rows)| {
        message(|out: &mut OffsetFetchResponseTopic| {
            out.name = (&*topic.name).into();
            let rows = rows.iter().map(|row| {
                message(|out: &mut OffsetFetchResponsePartition| {
                    out.partition_index = row.partition;
                    out.committed_offset = row.number();
                    if version >= FIRST_WITH_LEADER_EPOCH {
                        out.committed_leader_epoch = row.leader_epoch();
                    }
                    out.metadata = row.metadata();
                    out.error_code = row.code.code();
                })
            });
            out.partitions = rows.collect();
        })
    });
    answer.topics = topics.collect();
}

fn topics_of(version: i16, rows: Vec<(AskedTopic, Vec<Row>)>) -> Vec<OffsetFetchResponseTopics> {
    let topics = rows.into_iter().map(|(topic, rows)| {
        message(|out: &mut OffsetFetchResponseTopics| {
            match version >= FIRST_WITH_TOPIC_IDS {
                true => out.topic_id = topic.id.into(),
                false => out.name = (&*topic.name).into(),
            }
            let rows = rows.iter().map(|row| {
                message(|out: &mut OffsetFetchResponsePartitions| {
                    out.partition_index = row.partition;
                    out.committed_offset = row.number();
                    out.committed_leader_epoch = row.leader_epoch();
                    out.metadata = row.metadata();
                    out.error_code = row.code.code();
                })
            });
            out.partitions = rows.collect();
        })
    });
    topics.collect()
}
