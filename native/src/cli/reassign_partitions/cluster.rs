//! What a reassignment asks of the cluster.

use std::collections::{BTreeMap, BTreeSet};

use highwater_core::protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use highwater_core::protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use highwater_core::protocol::messages::{
    AlterPartitionReassignmentsRequest, DescribeLogDirsRequest, IncrementalAlterConfigsRequest, message,
};

use super::super::Failure;
use super::super::client::{Client, ask, ask_controller, check};
use super::super::describe_topics::described;
use super::super::moves::{PartitionName, by_topic, named};
use super::plan::{Assignment, Directories};
use super::plural;
use crate::output::say;

/// How long the controller may take to begin.
const TIMEOUT_MS: i32 = 60_000;
/// `AlterConfigOp.OpType.DELETE`, and `ConfigResource.Type`.
const DELETE: i8 = 1;
const TOPIC_RESOURCE: i8 = 2;
const BROKER_RESOURCE: i8 = 4;
/// What holds a move back, for a broker and for a topic.
const BROKER_THROTTLES: [&str; 3] = [
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
];
const TOPIC_THROTTLES: [&str; 2] = [
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
];

/// Where all partitions of the topics are now.
pub fn assignment_of_topics(client: &mut Client, topics: &[String]) -> Result<Assignment, Failure> {
    let mut assignment = Assignment::new();
    for topic in described(client, topics)? {
        let name = topic.name.as_deref().unwrap_or_default();
        check(topic.error_code, None).map_err(|_| format!("Topic {name} not found."))?;
        for row in topic.partitions {
            assignment.insert((name.to_owned(), row.partition_index), row.replica_nodes);
        }
    }
    Ok(assignment)
}

/// The directories of a broker, each with the partitions in it.
fn directories_of(
    client: &mut Client,
    broker: i32,
) -> Result<BTreeMap<String, BTreeSet<PartitionName>>, Failure> {
    let mut broker = client.connect_to_broker(broker)?;
    let request = message(|request: &mut DescribeLogDirsRequest| request.topics = None);
    let answer = ask!(broker, DescribeLogDirs, request)?;
    let all = answer.results.into_iter().map(|directory| {
        let partitions = directory.topics.into_iter().flat_map(|topic| {
            let name = topic.name.to_string();
            let rows = topic.partitions.into_iter();
            rows.map(move |row| (name.clone(), row.partition_index))
        });
        (directory.log_dir.to_string(), partitions.collect())
    });
    Ok(all.collect())
}

/// In which directory each replica is, as far as its broker is there to tell.
pub fn directories(client: &mut Client, assignment: &Assignment) -> Result<Directories, Failure> {
    let brokers: BTreeSet<i32> = assignment.values().flatten().copied().collect();
    let alive: Vec<i32> = client
        .brokers()?
        .brokers
        .iter()
        .map(|broker| broker.node_id)
        .collect();
    let mut found = Directories::new();
    for broker in brokers.into_iter().filter(|broker| alive.contains(broker)) {
        for (directory, partitions) in directories_of(client, broker)? {
            let held = partitions.into_iter().filter(|name| {
                let replicas = assignment.get(name);
                replicas.is_some_and(|replicas| replicas.contains(&broker))
            });
            found.extend(held.map(|name| ((name, broker), directory.clone())));
        }
    }
    Ok(found)
}

/// A named directory must be where the replica is, or the only one of its broker.
pub fn check_directories(client: &mut Client, named_directories: &Directories) -> Result<(), Failure> {
    let mut known = BTreeMap::new();
    for ((name, broker), wanted) in named_directories {
        if !known.contains_key(broker) {
            known.insert(*broker, directories_of(client, *broker)?);
        }
        let directories = &known[broker];
        let holds = directories
            .get(wanted)
            .is_some_and(|partitions| partitions.contains(name));
        let is_the_only_one = directories.len() == 1 && directories.contains_key(wanted);
        if !holds && !is_the_only_one {
            let name = named([name], "");
            return Err(format!(
                "{name}: replicas are not moved to a chosen log directory ({wanted} on broker {broker}); \
                 write \"any\" in log_dirs"
            )
            .into());
        }
    }
    Ok(())
}

/// Wants these replicas for the partitions; `None` calls a move off. One line for each that is refused.
pub fn reassign<'a>(
    client: &mut Client,
    targets: impl Iterator<Item = (&'a PartitionName, Option<&'a [i32]>)>,
) -> Result<Vec<String>, Failure> {
    let mut topics = BTreeMap::<&str, Vec<ReassignablePartition>>::new();
    for ((topic, partition), replicas) in targets {
        let row = message(|row: &mut ReassignablePartition| {
            row.partition_index = *partition;
            row.replicas = replicas.map(<[i32]>::to_vec);
        });
        topics.entry(topic).or_default().push(row);
    }
    let request = message(|request: &mut AlterPartitionReassignmentsRequest| {
        request.timeout_ms = TIMEOUT_MS;
        let topics = topics.into_iter().map(|(name, rows)| {
            message(|topic: &mut ReassignableTopic| {
                topic.name = name.into();
                topic.partitions = rows;
            })
        });
        request.topics = topics.collect();
    });
    let answer = ask_controller!(client, AlterPartitionReassignments, request)?;
    check(answer.error_code, answer.error_message.as_deref())?;
    let mut errors = Vec::new();
    for topic in &answer.responses {
        for row in &topic.partitions {
            if let Err(why) = check(row.error_code, row.error_message.as_deref()) {
                errors.push(format!("{}-{}: {why}", topic.name, row.partition_index));
            }
        }
    }
    Ok(errors)
}

/// Takes off what may hold moves back, from all brokers and from the topics of the assignment.
pub fn clear_throttles(client: &mut Client, assignment: &Assignment) -> Result<(), Failure> {
    let alive = client.brokers()?.brokers;
    let mut brokers: BTreeSet<i32> = alive.iter().map(|broker| broker.node_id).collect();
    brokers.extend(assignment.values().flatten());
    let brokers: Vec<String> = brokers.iter().map(i32::to_string).collect();
    let shown = brokers.join(",");
    say!(
        "Clearing broker-level throttles on broker{} {shown}",
        plural(brokers.len())
    );
    clear(client, BROKER_RESOURCE, &brokers, &BROKER_THROTTLES)?;
    let topics = by_topic(assignment.keys());
    let topics: Vec<String> = topics.into_keys().map(str::to_owned).collect();
    let shown = topics.join(",");
    say!(
        "Clearing topic-level throttles on topic{} {shown}",
        plural(topics.len())
    );
    clear(client, TOPIC_RESOURCE, &topics, &TOPIC_THROTTLES)
}

fn clear(client: &mut Client, kind: i8, names: &[String], keys: &[&str]) -> Result<(), Failure> {
    let request = message(|request: &mut IncrementalAlterConfigsRequest| {
        let resources = names.iter().map(|name| {
            message(|resource: &mut AlterConfigsResource| {
                resource.resource_type = kind;
                resource.resource_name = name.as_str().into();
                let delete = |key: &&str| {
                    message(|config: &mut AlterableConfig| {
                        config.name = (*key).into();
                        config.config_operation = DELETE;
                    })
                };
                resource.configs = keys.iter().map(delete).collect();
            })
        });
        request.resources = resources.collect();
    });
    let answer = ask_controller!(client, IncrementalAlterConfigs, request)?;
    let mut rows = answer.responses.iter();
    rows.try_for_each(|row| check(row.error_code, row.error_message.as_deref()))
}
