//! The answer to a change that cannot even be tried: the same refusal for each thing that was named.

use super::topics::{asked_deletions, creation_refused, deletion, growth};
use super::{elections, reassignments, text};
use crate::error::Refused;
use crate::full::FULL;
use crate::protocol::messages::{
    AlterConfigsResponse, CreatePartitionsResponse, CreateTopicsResponse, DeleteTopicsResponse,
    IncrementalAlterConfigsResponse, ListPartitionReassignmentsResponse, alter_configs_response,
    incremental_alter_configs_response, message,
};
use crate::protocol::{RequestBody, ResponseBody};

/// As Kafka says it.
pub const NOT_THE_CONTROLLER: &str = "This is not the correct controller for this cluster.";

/// Refuses what only the controller may do, in the answer's own form; `None` for every other request.
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
        RequestBody::DeleteTopics(body) if FULL => {
            let asked = asked_deletions(body, version).into_iter();
            let topics = asked.map(|(name, id)| deletion(name, id, Some(refused)));
            message(|answer: &mut DeleteTopicsResponse| answer.responses = topics.collect()).into()
        }
        RequestBody::CreatePartitions(body) if FULL => {
            let topics = body.topics.iter().map(|topic| growth(&topic.name, Err(refused)));
            message(|answer: &mut CreatePartitionsResponse| answer.results = topics.collect()).into()
        }
        RequestBody::AlterConfigs(body) if FULL => {
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
        RequestBody::AlterPartitionReassignments(body) if FULL => {
            reassignments::refused(body, refused).into()
        }
        RequestBody::ListPartitionReassignments(_) if FULL => {
            message(|answer: &mut ListPartitionReassignmentsResponse| {
                answer.error_code = code;
                answer.error_message = why;
            })
            .into()
        }
        _ => return None,
    };
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::admin::is_change;
    use crate::error::ErrorCode;
    use crate::protocol::messages::{
        AlterConfigsRequest, AlterPartitionReassignmentsRequest, CreatePartitionsRequest,
        CreateTopicsRequest, DeleteTopicsRequest, ElectLeadersRequest, IncrementalAlterConfigsRequest,
        ListPartitionReassignmentsRequest, MetadataRequest,
    };

    /// An answer of another API would be read as damaged.
    #[test]
    fn what_only_the_controller_does_is_refused_in_its_own_form() {
        let all = [
            RequestBody::CreateTopics(CreateTopicsRequest::default()),
            RequestBody::DeleteTopics(DeleteTopicsRequest::default()),
            RequestBody::CreatePartitions(CreatePartitionsRequest::default()),
            RequestBody::AlterConfigs(AlterConfigsRequest::default()),
            RequestBody::IncrementalAlterConfigs(IncrementalAlterConfigsRequest::default()),
            RequestBody::ElectLeaders(ElectLeadersRequest::default()),
            RequestBody::AlterPartitionReassignments(AlterPartitionReassignmentsRequest::default()),
            RequestBody::ListPartitionReassignments(ListPartitionReassignmentsRequest::default()),
        ];
        let refused = Refused::new(ErrorCode::NotController, "another is");
        for body in all {
            assert!(is_change(&body), "{}", body.api());
            let answer = refuse_changes(&body, 0, &refused);
            assert_eq!(answer.map(|answer| answer.api()), Some(body.api()));
        }
        let reads = RequestBody::Metadata(MetadataRequest::default());
        assert!(!is_change(&reads) && refuse_changes(&reads, 0, &refused).is_none());
    }
}
