//! `highwater topics --describe`: partitions, replicas and settings of topics, and which of them are
//! in trouble, in the lines of Kafka's `TopicCommand`.
//!
//! A partition that is being moved counts as many replicas as it had before the move.

use std::collections::BTreeSet;

use highwater_core::protocol::messages::describe_configs_request::DescribeConfigsResource;
use highwater_core::protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use highwater_core::protocol::messages::describe_topic_partitions_response::{
    DescribeTopicPartitionsResponsePartition as Partition, DescribeTopicPartitionsResponseTopic as Topic,
};
use highwater_core::protocol::messages::{DescribeConfigsRequest, DescribeTopicPartitionsRequest, message};
use highwater_core::types::Uuid;

use super::Failure;
use super::client::{Client, ask, check};
use super::moves::{self, Move, Moves, joined};
use crate::output::say;

/// `ConfigResource.Type` of topics, and `ConfigSource` of what nobody set.
const TOPIC_RESOURCE: i8 = 2;
const DEFAULT_SOURCE: i8 = 5;
/// How many partitions one answer may hold.
const PAGE: i32 = 2000;

/// What a description is narrowed to; at most one of them.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub struct Filter {
    /// Of described topics, only those with settings of their own.
    #[arg(long, requires = "describe")]
    topics_with_overrides: bool,
    /// Of described partitions, only those with a replica out of sync.
    #[arg(long, requires = "describe")]
    under_replicated_partitions: bool,
    /// Of described partitions, only those whose leader is not there.
    #[arg(long, requires = "describe")]
    unavailable_partitions: bool,
    /// Of described partitions, only those with fewer replicas in sync than min.insync.replicas.
    #[arg(long, requires = "describe")]
    under_min_isr_partitions: bool,
    /// Of described partitions, only those with just as many replicas in sync as min.insync.replicas.
    #[arg(long, requires = "describe")]
    at_min_isr_partitions: bool,
}

impl Filter {
    /// Whether partitions are chosen, so that the lines of topics are left out.
    fn chooses_partitions(&self) -> bool {
        self.under_replicated_partitions
            || self.unavailable_partitions
            || self.under_min_isr_partitions
            || self.at_min_isr_partitions
    }

    fn shows(
        &self,
        partition: &Partition,
        moving: Option<&Move>,
        min_isr: usize,
        alive: &BTreeSet<i32>,
    ) -> bool {
        let in_sync = partition.isr_nodes.len();
        if self.under_replicated_partitions {
            in_sync < replication_factor(partition, moving)
        } else if self.unavailable_partitions {
            !alive.contains(&partition.leader_id)
        } else if self.under_min_isr_partitions {
            partition.leader_id < 0 || in_sync < min_isr
        } else if self.at_min_isr_partitions {
            in_sync == min_isr
        } else {
            true
        }
    }
}

pub fn run(client: &mut Client, filter: &Filter, names: &[String]) -> Result<(), Failure> {
    let topics = described(client, names)?;
    let settings = own_settings(client, names)?;
    let alive = client
        .brokers()?
        .brokers
        .iter()
        .map(|broker| broker.node_id)
        .collect();
    let moves = moves::under_way(client, None)?;
    for (topic, settings) in topics.iter().zip(settings) {
        check(topic.error_code, None)?;
        if filter.topics_with_overrides && settings.shown.is_empty() {
            continue;
        }
        if !filter.chooses_partitions() {
            say!("{}", topic_line(topic, &settings, &moves));
        }
        if filter.topics_with_overrides {
            continue;
        }
        for partition in &topic.partitions {
            let moving = moving(&moves, topic, partition);
            if filter.shows(partition, moving, settings.min_isr, &alive) {
                say!("{}", line(name(topic), partition, moving));
            }
        }
    }
    Ok(())
}

fn name(topic: &Topic) -> &str {
    topic.name.as_deref().unwrap_or_default()
}

fn moving<'a>(moves: &'a Moves, topic: &Topic, partition: &Partition) -> Option<&'a Move> {
    moves.get(&(name(topic).to_owned(), partition.partition_index))
}

/// Replicas of a partition, without those that a move is still bringing.
fn replication_factor(partition: &Partition, moving: Option<&Move>) -> usize {
    let changes = |moving: &&Move| {
        let mut changing = moving.adding.iter().chain(&moving.removing);
        changing.any(|broker| partition.replica_nodes.contains(broker))
    };
    match moving.filter(changes) {
        Some(moving) => moving.replicas.len().saturating_sub(moving.adding.len()),
        None => partition.replica_nodes.len(),
    }
}

fn topic_line(topic: &Topic, settings: &OwnSettings, moves: &Moves) -> String {
    let first = topic.partitions.first();
    format!(
        "Topic: {}\tTopicId: {}\tPartitionCount: {}\tReplicationFactor: {}\tConfigs: {}",
        name(topic),
        Uuid::from(topic.topic_id),
        topic.partitions.len(),
        first.map_or(0, |first| replication_factor(first, moving(moves, topic, first))),
        settings.shown,
    )
}

fn line(topic: &str, partition: &Partition, moving: Option<&Move>) -> String {
    let maybe = |ids: &Option<Vec<i32>>| ids.as_deref().map_or_else(|| "N/A".to_owned(), joined);
    let leader = if partition.leader_id < 0 {
        "none".to_owned()
    } else {
        partition.leader_id.to_string()
    };
    let moving = moving.map_or_else(String::new, |moving| {
        let (adding, removing) = (joined(&moving.adding), joined(&moving.removing));
        format!("\tAdding Replicas: {adding}\tRemoving Replicas: {removing}")
    });
    format!(
        "\tTopic: {topic}\tPartition: {}\tLeader: {leader}\tReplicas: {}\tIsr: {}{moving}\tElr: {}\tLastKnownElr: {}",
        partition.partition_index,
        joined(&partition.replica_nodes),
        joined(&partition.isr_nodes),
        maybe(&partition.eligible_leader_replicas),
        maybe(&partition.last_known_elr),
    )
}

/// The topics with all their partitions, page by page.
pub fn described(client: &mut Client, names: &[String]) -> Result<Vec<Topic>, Failure> {
    let mut request = message(|request: &mut DescribeTopicPartitionsRequest| {
        request.topics = names
            .iter()
            .map(|name| message(|topic: &mut TopicRequest| topic.name = name.as_str().into()))
            .collect();
        request.response_partition_limit = PAGE;
    });
    let mut topics: Vec<Topic> = Vec::new();
    if names.is_empty() {
        return Ok(topics);
    }
    loop {
        let answer = ask!(client, DescribeTopicPartitions, request.clone())?;
        for topic in answer.topics {
            match topics.last_mut() {
                Some(last) if last.name == topic.name => last.partitions.extend(topic.partitions),
                _ => topics.push(topic),
            }
        }
        let Some(next) = answer.next_cursor else {
            return Ok(topics);
        };
        request.cursor = Some(message(|cursor: &mut Cursor| {
            cursor.topic_name = next.topic_name;
            cursor.partition_index = next.partition_index;
        }));
    }
}

/// What is set for a topic.
struct OwnSettings {
    /// By itself or by the brokers, as `key=value,key=value`.
    shown: String,
    /// `min.insync.replicas`, whoever set it.
    min_isr: usize,
}

fn own_settings(client: &mut Client, names: &[String]) -> Result<Vec<OwnSettings>, Failure> {
    let request = message(|request: &mut DescribeConfigsRequest| {
        request.resources = names
            .iter()
            .map(|name| {
                message(|resource: &mut DescribeConfigsResource| {
                    resource.resource_type = TOPIC_RESOURCE;
                    resource.resource_name = name.as_str().into();
                    resource.configuration_keys = None;
                })
            })
            .collect();
    });
    let answer = ask!(client, DescribeConfigs, request)?;
    let mut all = Vec::new();
    for result in &answer.results {
        check(result.error_code, result.error_message.as_deref())?;
        let set = result
            .configs
            .iter()
            .filter(|entry| entry.config_source != DEFAULT_SOURCE);
        let lines = set.map(|entry| format!("{}={}", entry.name, entry.value.as_deref().unwrap_or("null")));
        let mut entries = result.configs.iter();
        let min_isr = entries.find(|entry| &*entry.name == "min.insync.replicas");
        all.push(OwnSettings {
            shown: lines.collect::<Vec<_>>().join(","),
            min_isr: min_isr
                .and_then(|entry| entry.value.as_deref()?.parse().ok())
                .unwrap_or(1),
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(leader: i32, replicas: &[i32], isr: &[i32]) -> Partition {
        message(|partition: &mut Partition| {
            partition.leader_id = leader;
            partition.replica_nodes = replicas.to_vec();
            partition.isr_nodes = isr.to_vec();
        })
    }

    #[test]
    fn a_filter_finds_the_partitions_in_trouble() {
        #[derive(clap::Parser)]
        struct Line {
            #[arg(long)]
            describe: bool,
            #[command(flatten)]
            filter: Filter,
        }
        let shows = |option: &str, partition: &Partition| {
            let words = ["topics", "--describe", option];
            let line = <Line as clap::Parser>::try_parse_from(words).unwrap();
            line.describe && line.filter.shows(partition, None, 2, &BTreeSet::from([1, 2]))
        };
        let cases = [
            // under-replicated, unavailable, under min ISR, at min ISR
            (partition(1, &[1, 2, 3], &[1, 2, 3]), [false, false, false, false]),
            (partition(1, &[1, 2, 3], &[1, 2]), [true, false, false, true]),
            (partition(1, &[1, 2, 3], &[1]), [true, false, true, false]),
            (partition(-1, &[1, 2], &[1, 2]), [false, true, true, true]),
            (partition(3, &[3, 1], &[3, 1]), [false, true, false, true]),
        ];
        for (partition, expected) in cases {
            let options = [
                "--under-replicated-partitions",
                "--unavailable-partitions",
                "--under-min-isr-partitions",
                "--at-min-isr-partitions",
            ];
            assert_eq!(
                options.map(|option| shows(option, &partition)),
                expected,
                "{partition:?}"
            );
        }
    }

    #[test]
    fn a_partition_that_moves_counts_the_replicas_that_it_had() {
        let moving = Move {
            replicas: vec![3, 1, 2],
            adding: vec![3],
            removing: vec![2],
        };
        let partition = partition(1, &[3, 1, 2], &[1, 2]);
        assert_eq!(replication_factor(&partition, Some(&moving)), 2);
        assert_eq!(
            line("t", &partition, Some(&moving)),
            "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 3,1,2\tIsr: 1,2\tAdding Replicas: 3\tRemoving Replicas: 2\tElr: N/A\tLastKnownElr: N/A"
        );
    }
}
