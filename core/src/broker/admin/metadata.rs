//! Metadata: which brokers there are, and who leads what.

use super::{CLUSTER_OPERATIONS, Cluster, NO_OPERATIONS, TOPIC_OPERATIONS};
use crate::error::ErrorCode;
use crate::metadata::{PartitionImage, TopicImage, validate_topic_name};
use crate::ordered::OrderedSet;
use crate::protocol::StrBytes;
use crate::protocol::messages::metadata_request::MetadataRequestTopic;
use crate::protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use crate::protocol::messages::{MetadataRequest, MetadataResponse, message};
use crate::types::Uuid;

/// Topics that the request names, that are not there and may be created on the way. The request itself is
/// answered as if they were not; who asks again finds them (Kafka's `AutoTopicCreationManager`).
pub fn topics_to_create(cluster: &Cluster, request: &MetadataRequest) -> Vec<String> {
    if !request.allow_auto_topic_creation || !cluster.config.auto_create_topics_enable {
        return Vec::new();
    }
    let asked = request
        .topics
        .iter()
        .flatten()
        .filter(|topic| topic.topic_id.is_zero());
    let names: OrderedSet<&str> = asked.filter_map(|topic| topic.name.as_deref()).collect();
    let missing = names
        .into_iter()
        .filter(|name| !cluster.image.is_name_taken(name));
    missing
        .filter(|name| validate_topic_name(name).is_ok())
        .map(str::to_owned)
        .collect()
}

/// The answer. No list of topics means all of them; an empty list means none, but all in version 0.
pub fn metadata(cluster: &Cluster, request: &MetadataRequest, version: i16) -> MetadataResponse {
    let with_operations = request.include_topic_authorized_operations;
    let topics = match &request.topics {
        Some(asked) if version > 0 || !asked.is_empty() => {
            let mut seen = OrderedSet::new();
            let asked = asked
                .iter()
                .filter(|topic| seen.insert((topic.name.clone(), topic.topic_id)));
            asked
                .map(|topic| one(cluster, topic, with_operations, version))
                .collect()
        }
        _ => cluster
            .image
            .topics()
            .map(|topic| found(cluster, topic, with_operations))
            .collect(),
    };
    message(|answer: &mut MetadataResponse| {
        answer.brokers = cluster
            .nodes
            .iter()
            .map(|node| {
                message(|broker: &mut MetadataResponseBroker| {
                    broker.node_id = node.id;
                    broker.host = node.host.as_str().into();
                    broker.port = node.port.into();
                    broker.rack = node.rack.as_deref().map(StrBytes::from);
                })
            })
            .collect();
        answer.cluster_id = Some((&**cluster.image.cluster_id()).into());
        answer.controller_id = cluster.controller_id;
        answer.topics = topics;
        if request.include_cluster_authorized_operations && (8..=10).contains(&version) {
            answer.cluster_authorized_operations = CLUSTER_OPERATIONS;
        }
    })
}

fn one(
    cluster: &Cluster,
    asked: &MetadataRequestTopic,
    with_operations: bool,
    version: i16,
) -> MetadataResponseTopic {
    let id = Uuid::from(asked.topic_id);
    let name = asked.name.clone();
    let (topic, code) = if id.is_zero() {
        let name = name.as_deref().unwrap_or_default();
        let code = match validate_topic_name(name) {
            Ok(()) => ErrorCode::UnknownTopicOrPartition,
            Err(_) => ErrorCode::InvalidTopicException,
        };
        (cluster.image.topic(name), code)
    } else {
        (cluster.image.topic_by_id(id), ErrorCode::UnknownTopicId)
    };
    if let Some(topic) = topic {
        return found(cluster, topic, with_operations);
    }
    message(|answer: &mut MetadataResponseTopic| {
        answer.error_code = code.code();
        // Before version 12 a name cannot be null.
        answer.name = name.or_else(|| (version < 12).then(StrBytes::default));
        answer.topic_id = asked.topic_id;
        answer.topic_authorized_operations = operations(with_operations);
    })
}

/// What a client may do with any topic, told when it wants to know.
fn operations(wanted: bool) -> i32 {
    if wanted { TOPIC_OPERATIONS } else { NO_OPERATIONS }
}

fn found(cluster: &Cluster, topic: &TopicImage, with_operations: bool) -> MetadataResponseTopic {
    message(|answer: &mut MetadataResponseTopic| {
        answer.name = Some((&*topic.name).into());
        answer.topic_id = topic.id.into();
        answer.is_internal = topic.is_internal();
        answer.topic_authorized_operations = operations(with_operations);
        answer.partitions = (0..)
            .zip(&topic.partitions)
            .map(|(index, partition)| {
                message(|answer: &mut MetadataResponsePartition| {
                    let (code, leader) = leader(cluster, partition);
                    answer.error_code = code.code();
                    answer.partition_index = index;
                    answer.leader_id = leader;
                    answer.leader_epoch = partition.leader_epoch;
                    answer.replica_nodes = partition.replicas.clone();
                    answer.isr_nodes = partition.isr.clone();
                    answer.offline_replicas = offline(cluster, partition);
                })
            })
            .collect();
    })
}

/// The leader, or -1 and why.
pub(super) fn leader(cluster: &Cluster, partition: &PartitionImage) -> (ErrorCode, i32) {
    if cluster.is_alive(partition.leader) {
        (ErrorCode::None, partition.leader)
    } else {
        (ErrorCode::LeaderNotAvailable, -1)
    }
}

pub(super) fn offline(cluster: &Cluster, partition: &PartitionImage) -> Vec<i32> {
    partition
        .replicas
        .iter()
        .copied()
        .filter(|replica| !cluster.is_alive(*replica))
        .collect()
}
