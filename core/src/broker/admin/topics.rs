//! CreateTopics, DeleteTopics, CreatePartitions.

use std::sync::Arc;

use super::{Node, Outcome, duplicates, invalid, text};
use crate::config::{BrokerConfig, describe};
use crate::coordination::Multi;
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::group::OFFSETS_TOPIC;
use crate::metadata::placement::UsableBroker;
use crate::metadata::topics::{self, Creation, NewTopic};
use crate::metadata::{Decide, TopicImage};
use crate::protocol::StrBytes;
use crate::protocol::messages::create_partitions_request::CreatePartitionsTopic;
use crate::protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use crate::protocol::messages::create_topics_request::CreatableTopic;
use crate::protocol::messages::create_topics_response::{CreatableTopicConfigs, CreatableTopicResult};
use crate::protocol::messages::delete_topics_response::DeletableTopicResult;
use crate::protocol::messages::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreateTopicsRequest, CreateTopicsResponse,
    DeleteTopicsRequest, DeleteTopicsResponse, message,
};
use crate::types::{BrokerId, Uuid};

fn usable(nodes: &[Node]) -> Vec<UsableBroker> {
    let usable = |node: &Node| UsableBroker {
        id: node.id,
        rack: node.rack.clone(),
    };
    nodes.iter().map(usable).collect()
}

/// Gathers the changes of one request and syncs them once.
struct Changes<'a, 'cx, D: Decide> {
    metadata: &'a mut D,
    cx: &'a mut Cx<'cx>,
    topics: Vec<Arc<str>>,
}

impl<D: Decide> Changes<'_, '_, D> {
    fn make(&mut self, topic: &Arc<str>, multi: &Multi) -> Result<(), Refused> {
        self.metadata.decide(self.cx, multi)?;
        self.topics.push(topic.clone());
        Ok(())
    }

    fn finish<R>(self, response: R) -> Outcome<R> {
        if !self.topics.is_empty() {
            self.metadata.seal(self.cx);
        }
        Outcome {
            response,
            topics: self.topics,
        }
    }
}

/// Creates each topic that may be created; with `validate_only` nothing changes.
pub fn create_topics(
    metadata: &mut impl Decide,
    cx: &mut Cx,
    config: &BrokerConfig,
    nodes: &[Node],
    request: &CreateTopicsRequest,
) -> Outcome<CreateTopicsResponse> {
    let twice = duplicates(request.topics.iter().map(|topic| topic.name.clone()));
    let mut changes = Changes {
        metadata,
        cx,
        topics: Vec::new(),
    };
    let mut results: Vec<CreatableTopicResult> = twice
        .iter()
        .map(|name| creation_refused(name, &invalid("Duplicate topic name.")))
        .collect();
    for topic in request.topics.iter().filter(|topic| !twice.contains(&topic.name)) {
        let new = new_topic(topic);
        let created = topics::create(
            changes.metadata.image(),
            config,
            &usable(nodes),
            &new,
            changes.cx.rng,
        );
        let created = created.and_then(|creation| {
            if !request.validate_only {
                changes.make(&creation.name, &creation.multi)?;
            }
            Ok(creation)
        });
        results.push(match created {
            Ok(creation) => creation_done(config, &creation),
            Err(refused) => creation_refused(&topic.name, &refused),
        });
    }
    changes.finish(message(|answer: &mut CreateTopicsResponse| {
        answer.topics = results;
    }))
}

/// Creates topics that a Metadata request named, with the broker's defaults. What cannot be created
/// is left out; the answer to the request says that it is not there.
pub fn create_topics_on_demand(
    metadata: &mut impl Decide,
    cx: &mut Cx,
    config: &BrokerConfig,
    nodes: &[Node],
    names: &[String],
) -> Outcome<()> {
    let mut changes = Changes {
        metadata,
        cx,
        topics: Vec::new(),
    };
    for name in names {
        let new = on_demand(config, name);
        let created = topics::create(
            changes.metadata.image(),
            config,
            &usable(nodes),
            &new,
            changes.cx.rng,
        );
        // Nothing to say to anybody: the name stays unknown, which is what the client is told.
        let _ = created.and_then(|creation| changes.make(&creation.name, &creation.multi));
    }
    changes.finish(())
}

/// A topic as the broker makes it by itself: an internal one as it must be, any other with the defaults.
pub(super) fn on_demand(config: &BrokerConfig, name: &str) -> NewTopic {
    if name != OFFSETS_TOPIC {
        return NewTopic {
            name: name.to_owned(),
            num_partitions: -1,
            replication_factor: -1,
            ..NewTopic::default()
        };
    }
    let configs = [
        ("cleanup.policy", "compact".to_owned()),
        ("compression.type", "producer".to_owned()),
        ("segment.bytes", config.offsets_topic_segment_bytes.to_string()),
    ];
    NewTopic {
        name: name.to_owned(),
        num_partitions: config.offsets_topic_num_partitions,
        replication_factor: config.offsets_topic_replication_factor,
        configs: configs.map(|(key, value)| (key.to_owned(), Some(value))).into(),
        ..NewTopic::default()
    }
}

fn new_topic(topic: &CreatableTopic) -> NewTopic {
    NewTopic {
        name: topic.name.to_string(),
        num_partitions: topic.num_partitions,
        replication_factor: topic.replication_factor,
        assignments: topic
            .assignments
            .iter()
            .map(|a| (a.partition_index, a.broker_ids.clone()))
            .collect(),
        configs: topic
            .configs
            .iter()
            .map(|c| (c.name.to_string(), c.value.as_deref().map(str::to_owned)))
            .collect(),
    }
}

pub(super) fn creation_refused(name: &StrBytes, refused: &Refused) -> CreatableTopicResult {
    message(|answer: &mut CreatableTopicResult| {
        answer.name = name.clone();
        answer.error_code = refused.code.code();
        answer.error_message = text(refused);
        answer.num_partitions = -1;
        answer.replication_factor = -1;
    })
}

fn creation_done(config: &BrokerConfig, creation: &Creation) -> CreatableTopicResult {
    let factor = creation.replicas.first().map_or(0, Vec::len);
    message(|answer: &mut CreatableTopicResult| {
        answer.name = (&*creation.name).into();
        answer.topic_id = creation.id.into();
        answer.error_message = None;
        answer.num_partitions = creation.replicas.len() as i32;
        answer.replication_factor = factor as i16;
        let entries = describe::topic(config, &creation.configs, None);
        answer.configs = Some(
            entries
                .into_iter()
                .map(|entry| {
                    message(|answer: &mut CreatableTopicConfigs| {
                        answer.name = entry.name.into();
                        answer.value = entry.value.map(StrBytes::from);
                        answer.read_only = entry.read_only;
                        answer.config_source = entry.source as i8;
                        answer.is_sensitive = entry.sensitive;
                    })
                })
                .collect(),
        );
    })
}

/// Marks each topic for deletion. The broker deletes the logs of the [`Outcome`]'s topics, then
/// [removes](topics::remove) their nodes, and answers when that is on disk: then their names are free.
pub fn delete_topics(
    metadata: &mut impl Decide,
    cx: &mut Cx,
    config: &BrokerConfig,
    request: &DeleteTopicsRequest,
    version: i16,
) -> Outcome<DeleteTopicsResponse> {
    let asked = asked_deletions(request, version);
    let twice = duplicates(asked.iter().cloned());
    let mut changes = Changes {
        metadata,
        cx,
        topics: Vec::new(),
    };
    let mut results = Vec::with_capacity(asked.len());
    for (name, id) in &twice {
        results.push(deletion(
            name.clone(),
            *id,
            Some(&invalid("Duplicate topic name or id.")),
        ));
    }
    for (name, id) in asked.into_iter().filter(|asked| !twice.contains(asked)) {
        results.push(match find_to_delete(&changes, name.as_deref(), id) {
            Err(refused) => deletion(name, id, Some(&refused)),
            Ok(topic) => {
                let marked =
                    topics::mark_deleted(config, &topic).and_then(|multi| changes.make(&topic.name, &multi));
                let refused = marked.err().map(|refused| as_of_version(refused, version));
                deletion(Some((&*topic.name).into()), topic.id, refused.as_ref())
            }
        });
    }
    changes.finish(message(|answer: &mut DeleteTopicsResponse| {
        answer.responses = results;
    }))
}

/// The topics that are to be deleted, as they were named: by name, or by id from version 6 on.
pub(super) fn asked_deletions(request: &DeleteTopicsRequest, version: i16) -> Vec<(Option<StrBytes>, Uuid)> {
    if version < 6 {
        request
            .topic_names
            .iter()
            .map(|name| (Some(name.clone()), Uuid::ZERO))
            .collect()
    } else {
        request
            .topics
            .iter()
            .map(|topic| (topic.name.clone(), topic.topic_id.into()))
            .collect()
    }
}

fn find_to_delete(
    changes: &Changes<impl Decide>,
    name: Option<&str>,
    id: Uuid,
) -> Result<Arc<TopicImage>, Refused> {
    let image = changes.metadata.image();
    let (topic, code) = match (name, id.is_zero()) {
        (Some(name), true) => (image.topic(name), ErrorCode::UnknownTopicOrPartition),
        (None, false) => (image.topic_by_id(id), ErrorCode::UnknownTopicId),
        (Some(_), false) => return Err(invalid("You may not specify both topic name and topic id.")),
        (None, true) => return Err(invalid("Neither topic name nor id were specified.")),
    };
    topic.cloned().ok_or_else(|| code.into())
}

/// TOPIC_DELETION_DISABLED is known from version 3 on.
fn as_of_version(refused: Refused, version: i16) -> Refused {
    match refused.code {
        ErrorCode::TopicDeletionDisabled if version < 3 => Refused {
            code: ErrorCode::InvalidRequest,
            ..refused
        },
        _ => refused,
    }
}

pub(super) fn deletion(name: Option<StrBytes>, id: Uuid, refused: Option<&Refused>) -> DeletableTopicResult {
    message(|answer: &mut DeletableTopicResult| {
        answer.name = name;
        answer.topic_id = id.into();
        answer.error_code = refused.map_or(0, |refused| refused.code.code());
        answer.error_message = refused.and_then(text);
    })
}

/// Adds partitions to each topic; with `validate_only` nothing changes.
pub fn create_partitions(
    metadata: &mut impl Decide,
    cx: &mut Cx,
    nodes: &[Node],
    request: &CreatePartitionsRequest,
) -> Outcome<CreatePartitionsResponse> {
    let twice = duplicates(request.topics.iter().map(|topic| topic.name.clone()));
    let mut changes = Changes {
        metadata,
        cx,
        topics: Vec::new(),
    };
    let mut results: Vec<CreatePartitionsTopicResult> = twice
        .iter()
        .map(|name| growth(name, Err(&invalid("Duplicate topic name."))))
        .collect();
    for topic in request.topics.iter().filter(|topic| !twice.contains(&topic.name)) {
        let grown = grow(&mut changes, nodes, topic, request.validate_only);
        results.push(growth(&topic.name, grown.as_ref().copied()));
    }
    changes.finish(message(|answer: &mut CreatePartitionsResponse| {
        answer.results = results;
    }))
}

fn grow(
    changes: &mut Changes<impl Decide>,
    nodes: &[Node],
    asked: &CreatePartitionsTopic,
    validate_only: bool,
) -> Result<(), Refused> {
    let topic = changes.metadata.image().topic(&asked.name).cloned();
    let topic = topic.ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let assignments: Option<Vec<Vec<BrokerId>>> = asked
        .assignments
        .as_ref()
        .map(|all| all.iter().map(|a| a.broker_ids.clone()).collect());
    let rng = &mut *changes.cx.rng;
    let epoch = changes.metadata.image().controller_epoch();
    let (count, assignments) = (asked.count, assignments.as_deref());
    let multi = topics::create_partitions(&usable(nodes), &topic, epoch, count, assignments, rng)?;
    if validate_only {
        Ok(())
    } else {
        changes.make(&topic.name, &multi)
    }
}

pub(super) fn growth(name: &StrBytes, grown: Result<(), &Refused>) -> CreatePartitionsTopicResult {
    message(|answer: &mut CreatePartitionsTopicResult| {
        answer.name = name.clone();
        answer.error_code = grown.map_or_else(|refused| refused.code.code(), |()| 0);
        answer.error_message = grown.err().and_then(text);
    })
}
