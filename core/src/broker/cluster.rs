//! Metadata: who is there, which topics, where their partitions are led; and the making of a topic
//! that a client simply names.

use std::sync::Arc;

use super::State;
use super::caller::Caller;
use super::metadata::topics::{NewTopic, create};
use super::metadata::{MetadataImage, TopicImage, validate_topic_name};
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::protocol::StrBytes;
use crate::protocol::messages::metadata_request::MetadataRequestTopic;
use crate::protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use crate::protocol::messages::{MetadataRequest, MetadataResponse, message};
use crate::types::Uuid;

/// First version in which null, not an empty list, asks for all topics.
const FIRST_WITH_NULL_FOR_ALL: i16 = 1;
/// First version that may ask by topic id (ids are there from 10, but ignored).
const FIRST_BY_ID: i16 = 12;
const FIRST_WITH_TOPIC_ID: i16 = 10;
/// First version that may forbid the making of topics.
const FIRST_WITH_ALLOW_CREATION: i16 = 4;

impl State {
    pub(super) fn metadata_request(&mut self, cx: &mut Cx, caller: Caller, request: &MetadataRequest) {
        let asked = request.topics.as_deref();
        let all = match asked {
            None => true,
            Some(topics) => topics.is_empty() && caller.version < FIRST_WITH_NULL_FOR_ALL,
        };
        let may_create = caller.version < FIRST_WITH_ALLOW_CREATION || request.allow_auto_topic_creation;
        let mut created = false;
        let rows = if all {
            let image = self.image().cloned().unwrap_or_default();
            image
                .topics()
                .map(|topic| self.topic_row(&caller, topic))
                .collect()
        } else {
            let asked = asked.unwrap_or_default();
            let mut rows = Vec::with_capacity(asked.len());
            for topic in asked {
                rows.push(self.asked_topic(cx, &caller, topic, may_create, &mut created));
            }
            rows
        };
        let answer = message(|answer: &mut MetadataResponse| {
            answer.brokers = self.broker_row(&caller).into_iter().collect();
            answer.cluster_id = Some(self.cluster_id().into());
            answer.controller_id = self.config.node_id;
            answer.topics = rows;
        });
        if created {
            self.answer_when_durable(cx, caller, answer);
        } else {
            self.out.answer(&caller, answer);
        }
    }

    fn asked_topic(
        &mut self,
        cx: &mut Cx,
        caller: &Caller,
        asked: &MetadataRequestTopic,
        may_create: bool,
        created: &mut bool,
    ) -> MetadataResponseTopic {
        let image = self.image().cloned().unwrap_or_default();
        let id = Uuid::from(asked.topic_id);
        let Some(name) = asked.name.as_deref() else {
            let found = image.topic_by_id(id).filter(|_| caller.version >= FIRST_BY_ID);
            return match found {
                Some(topic) => self.topic_row(caller, topic),
                None => error_row(caller, None, id, ErrorCode::UnknownTopicId),
            };
        };
        if let Some(topic) = image.topic(name) {
            return self.topic_row(caller, topic);
        }
        let code = match self.auto_create(cx, &image, name, may_create) {
            // Kafka's words for "made just now, ask again": the client waits a moment and does.
            Ok(()) => {
                *created = true;
                ErrorCode::LeaderNotAvailable
            }
            Err(refused) => refused.code,
        };
        let made = self.image().and_then(|image| image.topic(name).cloned());
        match made {
            Some(topic) => self.topic_row(caller, &topic),
            None => error_row(caller, Some(name), Uuid::ZERO, code),
        }
    }

    fn auto_create(
        &mut self,
        cx: &mut Cx,
        image: &MetadataImage,
        name: &str,
        may_create: bool,
    ) -> Result<(), Refused> {
        validate_topic_name(name).map_err(|why| Refused::new(ErrorCode::InvalidTopicException, why))?;
        if !may_create || !self.config.auto_create_topics_enable {
            return Err(ErrorCode::UnknownTopicOrPartition.into());
        }
        let new = NewTopic {
            name: name.to_owned(),
            num_partitions: -1,
            replication_factor: -1,
            assignments: Vec::new(),
            configs: Vec::new(),
        };
        let brokers = [self.config.node_id];
        let creation = create(image, &self.config, &brokers, &new, cx.rng)?;
        self.submit(cx, &creation.multi)?;
        self.follow_topic(cx, name);
        Ok(())
    }

    fn broker_row(&self, caller: &Caller) -> Option<MetadataResponseBroker> {
        let endpoint = self.own_endpoint(caller.listener)?;
        Some(message(|row: &mut MetadataResponseBroker| {
            row.node_id = endpoint.node_id;
            row.host = endpoint.host;
            row.port = endpoint.port;
            row.rack = endpoint.rack.filter(|_| caller.version >= 1);
        }))
    }

    fn topic_row(&self, caller: &Caller, topic: &TopicImage) -> MetadataResponseTopic {
        let placed = self.topics.by_name(&topic.name);
        message(|row: &mut MetadataResponseTopic| {
            row.name = Some((&*topic.name).into());
            if caller.version >= FIRST_WITH_TOPIC_ID {
                row.topic_id = topic.id.into();
            }
            row.is_internal = topic.is_internal();
            row.partitions = (0..)
                .zip(&topic.partitions)
                .map(|(index, partition)| {
                    let id = placed.and_then(|placed| placed.partitions.get(index as usize));
                    let placed = id.and_then(|&id| self.topics.partition(id));
                    let is_online = placed.is_some_and(|found| found.is_online());
                    message(|row: &mut MetadataResponsePartition| {
                        row.partition_index = index;
                        row.replica_nodes.clone_from(&partition.replicas);
                        row.isr_nodes.clone_from(&partition.isr);
                        row.leader_id = partition.leader;
                        if caller.version >= 7 {
                            row.leader_epoch =
                                placed.map_or(partition.leader_epoch, |found| found.leader_epoch());
                        }
                        if !is_online {
                            row.error_code = ErrorCode::LeaderNotAvailable.code();
                            row.leader_id = -1;
                            if caller.version >= 5 {
                                row.offline_replicas.clone_from(&partition.replicas);
                            }
                        }
                    })
                })
                .collect();
        })
    }

    pub(super) fn image(&self) -> Option<&Arc<MetadataImage>> {
        self.metadata.as_ref().map(|metadata| metadata.image())
    }

    pub(super) fn cluster_id(&self) -> &str {
        self.image().map_or("", |image| image.cluster_id())
    }
}

fn error_row(caller: &Caller, name: Option<&str>, id: Uuid, code: ErrorCode) -> MetadataResponseTopic {
    message(|row: &mut MetadataResponseTopic| {
        row.error_code = code.code();
        // Null is allowed only from the version that can ask by id.
        let absent = || (caller.version < FIRST_BY_ID).then(StrBytes::default);
        row.name = name.map(StrBytes::from).or_else(absent);
        if caller.version >= FIRST_WITH_TOPIC_ID {
            row.topic_id = id.into();
        }
    })
}
