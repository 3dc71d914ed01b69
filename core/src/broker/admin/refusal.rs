//! The answer to a change that cannot even be tried: the same refusal for each thing that was named.

use super::topics::{asked_deletions, creation_refused, deletion, growth};
use super::{elections, reassignments, text};
use crate::error::Refused;
use crate::protocol::messages::{
    AlterConfigsResponse, CreatePartitionsResponse, CreateTopicsResponse, DeleteTopicsResponse,
    IncrementalAlterConfigsResponse, alter_configs_response, incremental_alter_configs_response, message,
};
use crate::protocol::{RequestBody, ResponseBody};

/// Refuses all that the request would change; `None` when it changes nothing.
pub fn refuse_changes(body: &RequestBody, version: i16, refused: &Refused) -> Option<ResponseBody> {
    let (code, why) = (refused.code.code(), text(refused));
    let answer = match body {
        RequestBody::CreateTopics(body) => {
            let topics = body
                .topics
                .iter()
                .map(|topic| creation_refused(&topic.name, refused));
            message(|answer: &mut CreateTopicsResponse| answer.topics = topics.collect()).into()
        }
        RequestBody::DeleteTopics(body) => {
            let asked = asked_deletions(body, version).into_iter();
            let topics = asked.map(|(name, id)| deletion(name, id, Some(refused)));
            message(|answer: &mut DeleteTopicsResponse| answer.responses = topics.collect()).into()
        }
        RequestBody::CreatePartitions(body) => {
            let topics = body.topics.iter().map(|topic| growth(&topic.name, Err(refused)));
            message(|answer: &mut CreatePartitionsResponse| answer.results = topics.collect()).into()
        }
        RequestBody::AlterConfigs(body) => {
            let resources = body.resources.iter().map(|resource| {
                message(
                    |answer: &mut alter_configs_response::AlterConfigsResourceResponse| {
                        answer.resource_type = resource.resource_type;
                        answer.resource_name = resource.resource_name.clone();
                        answer.error_code = code;
                        answer.error_message = why.clone();
                    },
                )
            });
            message(|answer: &mut AlterConfigsResponse| answer.responses = resources.collect()).into()
        }
        RequestBody::IncrementalAlterConfigs(body) => {
            let resources = body.resources.iter().map(|resource| {
                message(
                    |answer: &mut incremental_alter_configs_response::AlterConfigsResourceResponse| {
                        answer.resource_type = resource.resource_type;
                        answer.resource_name = resource.resource_name.clone();
                        answer.error_code = code;
                        answer.error_message = why.clone();
                    },
                )
            });
            message(|answer: &mut IncrementalAlterConfigsResponse| answer.responses = resources.collect())
                .into()
        }
        RequestBody::ElectLeaders(body) => elections::refused(body, version, refused).into(),
        RequestBody::AlterPartitionReassignments(body) => reassignments::refused(body, refused).into(),
        _ => return None,
    };
    Some(answer)
}
