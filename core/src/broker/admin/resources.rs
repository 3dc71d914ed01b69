//! ListConfigResources (KIP-1142; before version 1 ListClientMetricsResources): whose settings can be
//! asked for.

use super::Cluster;
use super::configs::{BROKER, TOPIC};
use crate::error::ErrorCode;
use crate::protocol::messages::list_config_resources_response::ConfigResource;
use crate::protocol::messages::{ListConfigResourcesRequest, ListConfigResourcesResponse, message};

/// First version that may ask for other kinds than client metrics, of which there are none here.
const FIRST_WITH_KINDS: i16 = 1;

/// Kinds of resources that Kafka lists: topics, brokers, log levels of brokers, client metrics, groups.
const LISTED: [i8; 5] = [TOPIC, BROKER, 8, 16, 32];

/// The resources of the kinds asked for, of all kinds when none is named.
pub fn list_config_resources(
    cluster: &Cluster,
    request: &ListConfigResourcesRequest,
    version: i16,
) -> ListConfigResourcesResponse {
    let asked = &request.resource_types;
    message(|answer: &mut ListConfigResourcesResponse| {
        if version < FIRST_WITH_KINDS {
            return;
        }
        if asked.iter().any(|kind| !LISTED.contains(kind)) {
            answer.error_code = ErrorCode::UnsupportedVersion.code();
            return;
        }
        let wanted = |kind: i8| asked.is_empty() || asked.contains(&kind);
        let mut list = |kind: i8, name: &str| {
            answer.config_resources.push(message(|row: &mut ConfigResource| {
                row.resource_name = name.into();
                row.resource_type = kind;
            }));
        };
        if wanted(BROKER) {
            let nodes = cluster.nodes.iter();
            nodes.for_each(|node| list(BROKER, &node.id.to_string()));
        }
        if wanted(TOPIC) {
            let topics = cluster.image.topics();
            topics.for_each(|topic| list(TOPIC, &topic.name));
        }
    })
}
