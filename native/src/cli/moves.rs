//! Partitions that are being moved, as the controller lists them.

use std::collections::BTreeMap;

use highwater_core::protocol::messages::list_partition_reassignments_request::ListPartitionReassignmentsTopics;
use highwater_core::protocol::messages::{ListPartitionReassignmentsRequest, message};

use super::Failure;
use super::client::{Client, ask_controller, check};

/// How long the controller may take.
const TIMEOUT_MS: i32 = 60_000;

/// A topic's name and a partition's number.
pub type PartitionName = (String, i32);
pub type Moves = BTreeMap<PartitionName, Move>;

/// One move under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// All replicas of now, those that come and those that go among them.
    pub replicas: Vec<i32>,
    pub adding: Vec<i32>,
    pub removing: Vec<i32>,
}

/// The moves under way, of these partitions or of all.
pub fn under_way(client: &mut Client, of: Option<&[PartitionName]>) -> Result<Moves, Failure> {
    let topics = of.map(|names| {
        let topics = by_topic(names).into_iter().map(|(name, partitions)| {
            message(|topic: &mut ListPartitionReassignmentsTopics| {
                topic.name = name.into();
                topic.partition_indexes = partitions;
            })
        });
        topics.collect()
    });
    let request = message(|request: &mut ListPartitionReassignmentsRequest| {
        request.timeout_ms = TIMEOUT_MS;
        request.topics = topics;
    });
    let answer = ask_controller!(client, ListPartitionReassignments, request)?;
    check(answer.error_code, answer.error_message.as_deref())?;
    let mut moves = Moves::new();
    for topic in answer.topics {
        for row in topic.partitions {
            let moving = Move {
                replicas: row.replicas,
                adding: row.adding_replicas,
                removing: row.removing_replicas,
            };
            moves.insert((topic.name.to_string(), row.partition_index), moving);
        }
    }
    Ok(moves)
}

/// The numbers of the partitions of each topic.
pub fn by_topic<'a>(names: impl IntoIterator<Item = &'a PartitionName>) -> BTreeMap<&'a str, Vec<i32>> {
    let mut topics = BTreeMap::<_, Vec<_>>::new();
    for (topic, partition) in names {
        topics.entry(topic.as_str()).or_default().push(*partition);
    }
    topics
}

/// `1,2,3`
pub fn joined(ids: &[i32]) -> String {
    ids.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}

/// `topic-0, topic-1`, with what stands between two.
pub fn named<'a>(names: impl IntoIterator<Item = &'a PartitionName>, between: &str) -> String {
    let names = names
        .into_iter()
        .map(|(topic, partition)| format!("{topic}-{partition}"));
    names.collect::<Vec<_>>().join(between)
}
