//! ElectLeaders: decided by the controller alone.

use super::text;
use crate::controller::{Controller, ElectionKind};
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::metadata::Decide;
use crate::ordered::OrderedMap;
use crate::protocol::StrBytes;
use crate::protocol::messages::elect_leaders_response::{PartitionResult, ReplicaElectionResult};
use crate::protocol::messages::{ElectLeadersRequest, ElectLeadersResponse, message};
use crate::types::TopicPartition;

/// Elects leaders of the partitions that are named, or of all: of those only what was needed is told.
/// The answer may leave when what the controller decided is acknowledged.
pub fn elect_leaders(
    controller: &mut Controller,
    cx: &mut Cx,
    request: &ElectLeadersRequest,
) -> ElectLeadersResponse {
    let Some(kind) = ElectionKind::from_wire(request.election_type) else {
        return message(|answer: &mut ElectLeadersResponse| {
            answer.error_code = ErrorCode::InvalidRequest.code();
        });
    };
    let named = request.topic_partitions.as_ref().map(|topics| {
        let names = topics.iter().flat_map(|topic| {
            let partitions = topic.partitions.iter();
            partitions.map(|index| TopicPartition::new(&*topic.topic, *index))
        });
        names.collect()
    });
    let all = named.is_none();
    let mut results = controller.elect_leaders(cx, kind, named);
    controller.seal(cx);
    if all {
        let was_needed = |result: &Result<(), Refused>| !matches!(result, Err(refused) if refused.code == ErrorCode::ElectionNotNeeded);
        results.retain(|_, result| was_needed(result));
    }
    answer(results)
}

fn answer(results: OrderedMap<TopicPartition, Result<(), Refused>>) -> ElectLeadersResponse {
    let mut topics: Vec<ReplicaElectionResult> = Vec::new();
    for (name, result) in results {
        let row = message(|row: &mut PartitionResult| {
            row.partition_id = name.partition;
            row.error_code = result.as_ref().err().map_or(0, |refused| refused.code.code());
            row.error_message = result.as_ref().err().and_then(text);
        });
        match topics.last_mut() {
            Some(topic) if *topic.topic == *name.topic => topic.partition_result.push(row),
            _ => topics.push(message(|topic: &mut ReplicaElectionResult| {
                topic.topic = StrBytes::from(&*name.topic);
                topic.partition_result = vec![row];
            })),
        }
    }
    message(|answer: &mut ElectLeadersResponse| answer.replica_election_results = topics)
}

/// First version that can refuse the whole request, so also one that names no partition.
const FIRST_WITH_ERROR: i16 = 1;

/// Why none of it can be tried.
pub(super) fn refused(
    request: &ElectLeadersRequest,
    version: i16,
    refused: &Refused,
) -> ElectLeadersResponse {
    let named = request.topic_partitions.iter().flatten();
    let names = named.flat_map(|topic| {
        let partitions = topic.partitions.iter();
        partitions.map(|index| (TopicPartition::new(&*topic.topic, *index), Err(refused.clone())))
    });
    let mut answer = answer(names.collect());
    if version >= FIRST_WITH_ERROR {
        answer.error_code = refused.code.code();
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::tests::office::Office;
    use crate::protocol::messages::elect_leaders_request::TopicPartitions;

    fn ask(
        office: &mut Office,
        kind: i8,
        named: Option<&[(&str, i32)]>,
    ) -> Vec<(String, i16, Option<String>)> {
        let request = message(|request: &mut ElectLeadersRequest| {
            request.election_type = kind;
            request.topic_partitions = named.map(|named| {
                let topic = |(topic, index): &(&str, i32)| {
                    message(|asked: &mut TopicPartitions| {
                        asked.topic = (*topic).into();
                        asked.partitions = vec![*index];
                    })
                };
                named.iter().map(topic).collect()
            });
        });
        let answer = office.with(|controller, cx| elect_leaders(controller, cx, &request));
        office.run();
        let rows = answer.replica_election_results.iter().flat_map(|topic| {
            topic.partition_result.iter().map(|row| {
                let name = format!("{}-{}", topic.topic, row.partition_id);
                (
                    name,
                    row.error_code,
                    row.error_message.as_ref().map(ToString::to_string),
                )
            })
        });
        rows.collect()
    }

    #[test]
    fn elections_that_clients_ask_for() {
        let mut office = Office::new(3);
        office.create("a", &[&[2, 3], &[1, 2]]).unwrap();
        office.run();
        let words = |row: (&str, i16, &str)| (row.0.to_owned(), row.1, Some(row.2.to_owned()));
        assert_eq!(
            ask(&mut office, 0, Some(&[("a", 0), ("a", 9), ("x", 0)])),
            [
                ("a-0", 84, "Leader election not needed for topic partition."),
                ("a-9", 3, "No such partition as a-9"),
                ("x-0", 3, "No such topic as x"),
            ]
            .map(words)
        );
        assert_eq!(
            ask(&mut office, 0, None),
            [],
            "what needs none is not told, when all are asked for"
        );
        office.kill(&[3]);
        office.run();
        office.kill(&[2]);
        office.register(3);
        office.run();
        let nobody = ("a-0", 80, "The preferred leader was not available.");
        assert_eq!(ask(&mut office, 0, Some(&[("a", 0)])), [words(nobody)]);
        assert_eq!(
            ask(&mut office, 1, Some(&[("a", 0)])),
            [("a-0".to_owned(), 0, None)]
        );
        assert_eq!(office.state("a", 0), "3 3 [3] of [2, 3]");
        assert_eq!(ask(&mut office, 7, None), []);
    }
}
