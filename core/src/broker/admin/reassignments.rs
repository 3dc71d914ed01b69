//! AlterPartitionReassignments and ListPartitionReassignments (KIP-455): decided by the controller alone.

use super::text;
use crate::controller::Controller;
use crate::controller::reassignment::Assignment;
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::metadata::Decide;
use crate::protocol::StrBytes;
use crate::protocol::messages::alter_partition_reassignments_request::ReassignablePartition;
use crate::protocol::messages::alter_partition_reassignments_response::{
    ReassignablePartitionResponse, ReassignableTopicResponse,
};
use crate::protocol::messages::list_partition_reassignments_response::{
    OngoingPartitionReassignment, OngoingTopicReassignment,
};
use crate::protocol::messages::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, message,
};
use crate::types::TopicPartition;

/// Begins, replaces or (without replicas) cancels moves, each partition for itself.
/// The answer may leave when what the controller decided is acknowledged.
pub fn alter_partition_reassignments(
    controller: &mut Controller,
    cx: &mut Cx,
    request: &AlterPartitionReassignmentsRequest,
) -> AlterPartitionReassignmentsResponse {
    let may_change = request.allow_replication_factor_change;
    let responses = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let name = TopicPartition::new(&*topic.name, asked.partition_index);
            let moved = check_factor(controller, &name, asked, may_change)
                .and_then(|()| controller.reassign(cx, &name, asked.replicas.as_deref()));
            row(asked.partition_index, moved.as_ref().err())
        });
        let partitions = partitions.collect();
        message(|answer: &mut ReassignableTopicResponse| {
            answer.name = topic.name.clone();
            answer.partitions = partitions;
        })
    });
    let responses = responses.collect();
    controller.seal(cx);
    message(|answer: &mut AlterPartitionReassignmentsResponse| {
        answer.allow_replication_factor_change = may_change;
        answer.responses = responses;
    })
}

/// A client may ask that a move keeps the number of replicas (KIP-860).
fn check_factor(
    controller: &Controller,
    name: &TopicPartition,
    asked: &ReassignablePartition,
    may_change: bool,
) -> Result<(), Refused> {
    let topic = controller.image().topic(&name.topic);
    let partition = topic.and_then(|topic| topic.partition(name.partition));
    if let (false, Some(partition), Some(replicas)) = (may_change, partition, &asked.replicas) {
        let (now, then) = (Assignment::of(partition).target().len(), replicas.len());
        if now != then {
            let message = format!("The replication factor is changed from {now} to {then}");
            return Err(Refused::new(ErrorCode::InvalidReplicationFactor, message));
        }
    }
    Ok(())
}

fn row(index: i32, refused: Option<&Refused>) -> ReassignablePartitionResponse {
    message(|answer: &mut ReassignablePartitionResponse| {
        answer.partition_index = index;
        answer.error_code = refused.map_or(0, |refused| refused.code.code());
        answer.error_message = refused.and_then(text);
    })
}

/// Why none of it can be tried.
pub(super) fn refused(
    request: &AlterPartitionReassignmentsRequest,
    refused: &Refused,
) -> AlterPartitionReassignmentsResponse {
    let responses = request.topics.iter().map(|topic| {
        message(|answer: &mut ReassignableTopicResponse| {
            answer.name = topic.name.clone();
            let rows = topic
                .partitions
                .iter()
                .map(|asked| row(asked.partition_index, Some(refused)));
            answer.partitions = rows.collect();
        })
    });
    message(|answer: &mut AlterPartitionReassignmentsResponse| {
        answer.allow_replication_factor_change = request.allow_replication_factor_change;
        answer.error_code = refused.code.code();
        answer.error_message = text(refused);
        answer.responses = responses.collect();
    })
}

/// The moves under way, of the partitions that are named or of all; what does not move is left out.
pub fn list_partition_reassignments(
    controller: &Controller,
    request: &ListPartitionReassignmentsRequest,
) -> ListPartitionReassignmentsResponse {
    let named: Option<Vec<TopicPartition>> = request.topics.as_ref().map(|topics| {
        let names = topics.iter().flat_map(|topic| {
            let partitions = topic.partition_indexes.iter();
            partitions.map(|index| TopicPartition::new(&*topic.name, *index))
        });
        names.collect()
    });
    let mut topics: Vec<OngoingTopicReassignment> = Vec::new();
    for (name, assignment) in controller.reassignments(named.as_deref()) {
        let row = message(|row: &mut OngoingPartitionReassignment| {
            row.partition_index = name.partition;
            row.replicas = assignment.replicas;
            row.adding_replicas = assignment.adding;
            row.removing_replicas = assignment.removing;
        });
        match topics.last_mut() {
            Some(topic) if *topic.name == *name.topic => topic.partitions.push(row),
            _ => topics.push(message(|topic: &mut OngoingTopicReassignment| {
                topic.name = StrBytes::from(&*name.topic);
                topic.partitions = vec![row];
            })),
        }
    }
    message(|answer: &mut ListPartitionReassignmentsResponse| answer.topics = topics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::tests::office::Office;
    use crate::protocol::messages::alter_partition_reassignments_request::ReassignableTopic;
    use crate::types::BrokerId;

    fn alter(office: &mut Office, index: i32, replicas: Option<&[BrokerId]>, may_change: bool) -> String {
        let request = message(|request: &mut AlterPartitionReassignmentsRequest| {
            request.allow_replication_factor_change = may_change;
            request.topics = vec![message(|topic: &mut ReassignableTopic| {
                topic.name = "a".into();
                topic.partitions = vec![message(|partition: &mut ReassignablePartition| {
                    partition.partition_index = index;
                    partition.replicas = replicas.map(<[_]>::to_vec);
                })];
            })];
        });
        let answer = office.with(|controller, cx| alter_partition_reassignments(controller, cx, &request));
        office.run();
        let row = &answer.responses[0].partitions[0];
        let code = ErrorCode::from_code(row.error_code).unwrap();
        format!("{code} {}", row.error_message.as_ref().map_or("", |text| text))
    }

    /// `partition: replicas + adding - removing`
    fn moving(office: &Office) -> Vec<String> {
        let answer =
            list_partition_reassignments(&office.controller, &ListPartitionReassignmentsRequest::default());
        let rows = answer.topics.iter().flat_map(|topic| &topic.partitions);
        let shown = rows.map(|row| {
            let (adding, removing) = (&row.adding_replicas, &row.removing_replicas);
            format!(
                "{}: {:?} + {adding:?} - {removing:?}",
                row.partition_index, row.replicas
            )
        });
        shown.collect()
    }

    #[test]
    fn moves_are_begun_listed_and_cancelled_with_kafkas_words() {
        let mut office = Office::new(4);
        office.create("a", &[&[1, 2]]).unwrap();
        office.run();
        assert_eq!(
            alter(&mut office, 0, None, true),
            "NO_REASSIGNMENT_IN_PROGRESS No partition reassignment is in progress."
        );
        assert_eq!(
            alter(&mut office, 5, Some(&[1]), true),
            "UNKNOWN_TOPIC_OR_PARTITION Unable to find partition a:5."
        );
        assert_eq!(
            alter(&mut office, 0, Some(&[]), true),
            "INVALID_REPLICA_ASSIGNMENT The manual partition assignment includes an empty replica list."
        );
        assert_eq!(
            alter(&mut office, 0, Some(&[3, 3]), true),
            "INVALID_REPLICA_ASSIGNMENT The manual partition assignment includes the broker 3 more than once."
        );
        assert_eq!(
            alter(&mut office, 0, Some(&[3]), false),
            "INVALID_REPLICATION_FACTOR The replication factor is changed from 2 to 1"
        );
        assert!(moving(&office).is_empty());
        assert_eq!(alter(&mut office, 0, Some(&[3, 4]), false), "NONE ");
        assert_eq!(moving(&office), ["0: [3, 4, 1, 2] + [3, 4] - [1, 2]"]);
        assert_eq!(alter(&mut office, 0, None, true), "NONE ");
        assert!(moving(&office).is_empty());
        assert_eq!(office.state("a", 0), "1 2 [1, 2] of [1, 2]");
    }
}
