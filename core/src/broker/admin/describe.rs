//! DescribeCluster, DescribeTopicPartitions (KIP-966).

use super::metadata::{leader, offline};
use super::{CLUSTER_OPERATIONS, Cluster, NO_OPERATIONS, TOPIC_OPERATIONS};
use crate::error::ErrorCode;
use crate::metadata::{TopicImage, validate_topic_name};
use crate::ordered::OrderedSet;
use crate::protocol::StrBytes;
use crate::protocol::messages::describe_cluster_response::DescribeClusterBroker;
use crate::protocol::messages::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use crate::protocol::messages::{
    DescribeClusterRequest, DescribeClusterResponse, DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse, message,
};

/// `endpoint_type` of brokers; 2 would be controllers, which listen nowhere here.
const BROKERS: i8 = 1;

pub fn describe_cluster(cluster: &Cluster, request: &DescribeClusterRequest) -> DescribeClusterResponse {
    message(|answer: &mut DescribeClusterResponse| {
        if request.endpoint_type != BROKERS {
            let (code, why) = match request.endpoint_type {
                2 => (
                    ErrorCode::MismatchedEndpointType,
                    "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
                ),
                _ => (ErrorCode::UnsupportedEndpointType, "Unsupported endpoint type"),
            };
            answer.error_code = code.code();
            answer.error_message = Some(why.into());
            return;
        }
        answer.cluster_id = (&**cluster.image.cluster_id()).into();
        answer.controller_id = cluster.controller_id;
        answer.cluster_authorized_operations = if request.include_cluster_authorized_operations {
            CLUSTER_OPERATIONS
        } else {
            NO_OPERATIONS
        };
        answer.brokers = cluster
            .nodes
            .iter()
            .map(|node| {
                message(|broker: &mut DescribeClusterBroker| {
                    broker.broker_id = node.id;
                    broker.host = node.host.as_str().into();
                    broker.port = node.port.into();
                    broker.rack = node.rack.as_deref().map(StrBytes::from);
                })
            })
            .collect();
    })
}

/// Topics by name, as many partitions as the limit allows, and a cursor to where the rest begins.
pub fn describe_topic_partitions(
    cluster: &Cluster,
    request: &DescribeTopicPartitionsRequest,
) -> DescribeTopicPartitionsResponse {
    let all = request.topics.is_empty();
    let names: OrderedSet<&str> = if all {
        cluster.image.topics().map(|topic| &*topic.name).collect()
    } else {
        request.topics.iter().map(|topic| &*topic.name).collect()
    };
    let cursor = request.cursor.as_ref();
    // A client goes on where an answer ended: at a topic that it asked for.
    let is_wrong = cursor
        .is_some_and(|cursor| cursor.partition_index < 0 || (!all && !names.contains(&*cursor.topic_name)));
    if is_wrong {
        return message(|answer: &mut DescribeTopicPartitionsResponse| {
            answer.topics = names
                .iter()
                .map(|name| refused(name, ErrorCode::InvalidRequest))
                .collect();
        });
    }
    let from = cursor.map(|cursor| (&*cursor.topic_name, cursor.partition_index as usize));
    let limit = request
        .response_partition_limit
        .min(cluster.config.max_request_partition_size_limit);
    let mut left = usize::try_from(limit).unwrap_or(0).max(1);
    let mut answer = DescribeTopicPartitionsResponse::default();
    for name in names {
        let first = match from {
            Some((topic, _)) if name < topic => continue,
            Some((topic, partition)) if name == topic => partition,
            _ => 0,
        };
        if left == 0 {
            answer.next_cursor = Some(cursor_at(name, first));
            break;
        }
        match cluster.image.topic(name) {
            None => answer.topics.push(missing(name)),
            Some(topic) => {
                let end = topic.partitions.len().min(first.saturating_add(left));
                left -= end.saturating_sub(first);
                answer.topics.push(slice(cluster, topic, first, end));
                if end < topic.partitions.len() {
                    answer.next_cursor = Some(cursor_at(name, end));
                    break;
                }
            }
        }
    }
    answer
}

fn cursor_at(name: &str, partition: usize) -> Cursor {
    message(|cursor: &mut Cursor| {
        cursor.topic_name = name.into();
        cursor.partition_index = partition as i32;
    })
}

fn missing(name: &str) -> DescribeTopicPartitionsResponseTopic {
    let code = match validate_topic_name(name) {
        Ok(()) => ErrorCode::UnknownTopicOrPartition,
        Err(_) => ErrorCode::InvalidTopicException,
    };
    let mut answer = refused(name, code);
    // What the client might do with it, were it there.
    answer.topic_authorized_operations = TOPIC_OPERATIONS;
    answer
}

fn refused(name: &str, code: ErrorCode) -> DescribeTopicPartitionsResponseTopic {
    message(|answer: &mut DescribeTopicPartitionsResponseTopic| {
        answer.error_code = code.code();
        answer.name = Some(name.into());
        answer.topic_authorized_operations = NO_OPERATIONS;
    })
}

fn slice(
    cluster: &Cluster,
    topic: &TopicImage,
    first: usize,
    end: usize,
) -> DescribeTopicPartitionsResponseTopic {
    message(|answer: &mut DescribeTopicPartitionsResponseTopic| {
        answer.name = Some((&*topic.name).into());
        answer.topic_id = topic.id.into();
        answer.is_internal = topic.is_internal();
        answer.topic_authorized_operations = TOPIC_OPERATIONS;
        let partitions = topic.partitions.iter().enumerate().take(end).skip(first);
        answer.partitions = partitions
            .map(|(index, partition)| {
                message(|answer: &mut DescribeTopicPartitionsResponsePartition| {
                    let (code, leader) = leader(cluster, partition);
                    answer.error_code = code.code();
                    answer.partition_index = index as i32;
                    answer.leader_id = leader;
                    answer.leader_epoch = partition.leader_epoch;
                    answer.replica_nodes = partition.replicas.clone();
                    answer.isr_nodes = partition.isr.clone();
                    answer.eligible_leader_replicas = Some(Vec::new());
                    answer.last_known_elr = Some(Vec::new());
                    answer.offline_replicas = offline(cluster, partition);
                })
            })
            .collect();
    })
}
