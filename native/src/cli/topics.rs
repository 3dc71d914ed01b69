//! `highwater topics`: creates, lists, describes, alters and deletes topics, with the options and in
//! the lines of Kafka's `kafka-topics.sh`.

use highwater_core::error::ErrorCode;
use highwater_core::protocol::messages::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};
use highwater_core::protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use highwater_core::protocol::messages::delete_topics_request::DeleteTopicState;
use highwater_core::protocol::messages::describe_configs_request::DescribeConfigsResource;
use highwater_core::protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use highwater_core::protocol::messages::describe_topic_partitions_response::{
    DescribeTopicPartitionsResponsePartition as Partition, DescribeTopicPartitionsResponseTopic as Topic,
};
use highwater_core::protocol::messages::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, DescribeConfigsRequest,
    DescribeTopicPartitionsRequest, MetadataRequest, message,
};
use highwater_core::types::Uuid;

use super::Failure;
use super::client::{Client, ask, check};
use super::include_list::IncludeList;

/// `ConfigResource.Type` of topics, and `ConfigSource` of what nobody set.
const TOPIC_RESOURCE: i8 = 2;
const DEFAULT_SOURCE: i8 = 5;
/// How long the broker may take, and how many partitions one answer may hold.
const TIMEOUT_MS: i32 = 60_000;
const PAGE: i32 = 2000;

/// The options of `kafka-topics.sh`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("action").required(true).args(["create", "list", "describe", "alter", "delete"]))]
pub struct Arguments {
    /// The broker to ask, as host:port; several with commas between them.
    #[arg(long)]
    bootstrap_server: String,
    /// Create a topic.
    #[arg(long, requires = "topic")]
    create: bool,
    /// List all topics.
    #[arg(long)]
    list: bool,
    /// Show partitions, replicas and settings of topics.
    #[arg(long)]
    describe: bool,
    /// Give topics more partitions.
    #[arg(long, requires = "topic", requires = "partitions")]
    alter: bool,
    /// Delete topics.
    #[arg(long, requires = "topic")]
    delete: bool,
    /// The topic; but to create one, a regular expression for whole names.
    #[arg(long)]
    topic: Option<String>,
    /// Partitions that the topic is to have; the broker's default if not given.
    #[arg(long)]
    partitions: Option<i32>,
    /// Replicas of each partition; the broker's default if not given.
    #[arg(long)]
    replication_factor: Option<i16>,
    /// Brokers of each partition: broker1:broker2,broker1:broker2,...
    #[arg(long, value_name = "assignment", conflicts_with = "replication_factor")]
    replica_assignment: Option<String>,
    /// A setting of the new topic, as name=value. May be given again.
    #[arg(long, value_name = "name=value")]
    config: Vec<String>,
    /// Do nothing when the topic is not there.
    #[arg(long)]
    if_exists: bool,
    /// Do nothing when the topic is there.
    #[arg(long)]
    if_not_exists: bool,
    /// Leave out Kafka's own topics.
    #[arg(long)]
    exclude_internal: bool,
    /// Of described topics, only those with settings of their own.
    #[arg(long)]
    topics_with_overrides: bool,
    /// Of described partitions, only those with a replica out of sync.
    #[arg(long)]
    under_replicated_partitions: bool,
    /// Of described partitions, only those without a leader.
    #[arg(long)]
    unavailable_partitions: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut client = Client::connect(&arguments.bootstrap_server)?;
    if arguments.create {
        return create(&mut client, arguments);
    }
    let topics = chosen(&mut client, arguments)?;
    if arguments.list {
        topics.iter().for_each(|topic| println!("{topic}"));
        return Ok(());
    }
    match arguments.topic.as_deref() {
        Some(_) if topics.is_empty() && arguments.if_exists => Ok(()),
        Some(name) if topics.is_empty() => Err(format!("Topic '{name}' does not exist as expected").into()),
        _ if arguments.describe => describe(&mut client, arguments, &topics),
        _ if arguments.alter => alter(&mut client, arguments, &topics),
        _ => delete(&mut client, &topics),
    }
}

/// Names of the topics that the command is about, in order.
fn chosen(client: &mut Client, arguments: &Arguments) -> Result<Vec<String>, Failure> {
    let request = message(|request: &mut MetadataRequest| {
        request.topics = None;
        request.allow_auto_topic_creation = false;
    });
    let answer = ask!(client, Metadata, request)?;
    let wanted = arguments.topic.as_deref().map(IncludeList::parse).transpose()?;
    let topics = answer
        .topics
        .iter()
        .filter(|topic| !(arguments.exclude_internal && topic.is_internal));
    let names = topics.filter_map(|topic| topic.name.as_deref());
    let names = names.filter(|name| wanted.as_ref().is_none_or(|wanted| wanted.allows(name)));
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

fn create(client: &mut Client, arguments: &Arguments) -> Result<(), Failure> {
    let name = arguments.topic.as_deref().unwrap_or_default();
    let assignment = arguments
        .replica_assignment
        .as_deref()
        .map(parse_assignment)
        .transpose()?;
    if name.contains(['.', '_']) {
        println!(
            "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could \
             collide. To avoid issues it is best to use either, but not both."
        );
    }
    let mut topic = message(|topic: &mut CreatableTopic| {
        topic.name = name.into();
        topic.num_partitions = arguments.partitions.unwrap_or(-1);
        topic.replication_factor = arguments.replication_factor.unwrap_or(-1);
        topic.assignments = (0..)
            .zip(assignment.unwrap_or_default())
            .map(|(index, brokers)| {
                message(|a: &mut CreatableReplicaAssignment| {
                    a.partition_index = index;
                    a.broker_ids = brokers;
                })
            })
            .collect();
    });
    for setting in &arguments.config {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| format!("--config {setting}: a setting reads name=value"))?;
        topic.configs.push(message(|config: &mut CreatableTopicConfig| {
            config.name = key.trim().into();
            config.value = Some(value.trim().into());
        }));
    }
    let request = message(|request: &mut CreateTopicsRequest| {
        request.topics = vec![topic];
        request.timeout_ms = TIMEOUT_MS;
    });
    let answer = ask!(client, CreateTopics, request)?;
    for result in &answer.topics {
        let exists = result.error_code == ErrorCode::TopicAlreadyExists.code();
        if exists && arguments.if_not_exists {
            return Ok(());
        }
        check(result.error_code, result.error_message.as_deref())?;
    }
    println!("Created topic {name}.");
    Ok(())
}

/// `0:1,1:0`: the brokers of partition 0, of partition 1, and so on.
fn parse_assignment(text: &str) -> Result<Vec<Vec<i32>>, Failure> {
    let brokers = |partition: &str| partition.split(':').map(|broker| broker.trim().parse()).collect();
    let all: Result<_, std::num::ParseIntError> = text.split(',').map(brokers).collect();
    all.map_err(|_| format!("--replica-assignment {text}: it reads broker:broker,broker:broker,...").into())
}

fn alter(client: &mut Client, arguments: &Arguments, topics: &[String]) -> Result<(), Failure> {
    let assignment = arguments
        .replica_assignment
        .as_deref()
        .map(parse_assignment)
        .transpose()?;
    let all = describe_topics(client, topics)?;
    let request = message(|request: &mut CreatePartitionsRequest| {
        request.timeout_ms = TIMEOUT_MS;
        request.topics = all
            .iter()
            .map(|topic| {
                message(|grown: &mut CreatePartitionsTopic| {
                    grown.name = topic.name.clone().unwrap_or_default();
                    grown.count = arguments.partitions.unwrap_or_default();
                    // The option names the old partitions too, the request only the new.
                    grown.assignments = assignment.as_ref().map(|all| {
                        let new = all.iter().skip(topic.partitions.len()).cloned();
                        new.map(|brokers| {
                            message(|a: &mut CreatePartitionsAssignment| a.broker_ids = brokers)
                        })
                        .collect()
                    });
                })
            })
            .collect();
    });
    let answer = ask!(client, CreatePartitions, request)?;
    answer
        .results
        .iter()
        .try_for_each(|result| check(result.error_code, result.error_message.as_deref()))
}

fn delete(client: &mut Client, topics: &[String]) -> Result<(), Failure> {
    let request = message(|request: &mut DeleteTopicsRequest| {
        request.timeout_ms = TIMEOUT_MS;
        let state = |name: &String| message(|t: &mut DeleteTopicState| t.name = Some(name.as_str().into()));
        request.topics = topics.iter().map(state).collect();
        request.topic_names = topics.iter().map(|name| name.as_str().into()).collect();
    });
    let answer = ask!(client, DeleteTopics, request)?;
    answer
        .responses
        .iter()
        .try_for_each(|result| check(result.error_code, result.error_message.as_deref()))
}

fn describe(client: &mut Client, arguments: &Arguments, names: &[String]) -> Result<(), Failure> {
    let topics = describe_topics(client, names)?;
    let settings = own_settings(client, names)?;
    let filtered = arguments.under_replicated_partitions || arguments.unavailable_partitions;
    for (topic, settings) in topics.iter().zip(settings) {
        check(topic.error_code, None)?;
        if arguments.topics_with_overrides && settings.is_empty() {
            continue;
        }
        let name = topic.name.as_deref().unwrap_or_default();
        if !filtered {
            println!(
                "Topic: {name}\tTopicId: {}\tPartitionCount: {}\tReplicationFactor: {}\tConfigs: {settings}",
                Uuid::from(topic.topic_id),
                topic.partitions.len(),
                topic
                    .partitions
                    .first()
                    .map_or(0, |partition| partition.replica_nodes.len()),
            );
        }
        if arguments.topics_with_overrides {
            continue;
        }
        for partition in &topic.partitions {
            let is_under_replicated = partition.isr_nodes.len() < partition.replica_nodes.len();
            let is_shown = !filtered
                || (arguments.under_replicated_partitions && is_under_replicated)
                || (arguments.unavailable_partitions && partition.leader_id < 0);
            if is_shown {
                println!("{}", line(name, partition));
            }
        }
    }
    Ok(())
}

fn line(topic: &str, partition: &Partition) -> String {
    let list = |ids: &[i32]| ids.iter().map(i32::to_string).collect::<Vec<_>>().join(",");
    let maybe = |ids: &Option<Vec<i32>>| ids.as_deref().map_or_else(|| "N/A".to_owned(), list);
    let leader = if partition.leader_id < 0 {
        "none".to_owned()
    } else {
        partition.leader_id.to_string()
    };
    format!(
        "\tTopic: {topic}\tPartition: {}\tLeader: {leader}\tReplicas: {}\tIsr: {}\tElr: {}\tLastKnownElr: {}",
        partition.partition_index,
        list(&partition.replica_nodes),
        list(&partition.isr_nodes),
        maybe(&partition.eligible_leader_replicas),
        maybe(&partition.last_known_elr),
    )
}

/// The topics with all their partitions, page by page.
fn describe_topics(client: &mut Client, names: &[String]) -> Result<Vec<Topic>, Failure> {
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

/// Of each topic what is set for it, by itself or by the brokers, as `key=value,key=value`.
fn own_settings(client: &mut Client, names: &[String]) -> Result<Vec<String>, Failure> {
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
        all.push(lines.collect::<Vec<_>>().join(","));
    }
    Ok(all)
}
