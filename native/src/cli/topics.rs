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
use highwater_core::protocol::messages::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, MetadataRequest, message,
};

use super::Failure;
use super::client::{Client, ask, ask_controller, check};
use super::describe_topics;
use super::include_list::IncludeList;
use crate::output::say;

/// How long the broker may take.
const TIMEOUT_MS: i32 = 60_000;

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
    #[command(flatten)]
    filter: describe_topics::Filter,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut client = Client::connect(&arguments.bootstrap_server)?;
    if arguments.create {
        return create(&mut client, arguments);
    }
    let topics = chosen(&mut client, arguments)?;
    if arguments.list {
        topics.iter().for_each(|topic| say!("{topic}"));
        return Ok(());
    }
    match arguments.topic.as_deref() {
        Some(_) if topics.is_empty() && arguments.if_exists => Ok(()),
        Some(name) if topics.is_empty() => Err(format!("Topic '{name}' does not exist as expected").into()),
        _ if arguments.describe => describe_topics::run(&mut client, &arguments.filter, &topics),
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
        say!(
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
    let answer = ask_controller!(client, CreateTopics, request)?;
    for result in &answer.topics {
        let exists = result.error_code == ErrorCode::TopicAlreadyExists.code();
        if exists && arguments.if_not_exists {
            return Ok(());
        }
        check(result.error_code, result.error_message.as_deref())?;
    }
    say!("Created topic {name}.");
    Ok(())
}

/// `0:1,1:0`: the brokers of partition 0, of partition 1, and so on; as many for each, and each once.
fn parse_assignment(text: &str) -> Result<Vec<Vec<i32>>, Failure> {
    let brokers = |partition: &str| partition.split(':').map(|broker| broker.trim().parse()).collect();
    let all: Result<Vec<Vec<i32>>, std::num::ParseIntError> = text.split(',').map(brokers).collect();
    let all =
        all.map_err(|_| format!("--replica-assignment {text}: it reads broker:broker,broker:broker,..."))?;
    for (index, brokers) in all.iter().enumerate() {
        let is_twice = |(at, id): &(usize, &i32)| brokers[..*at].contains(id);
        let twice = brokers.iter().enumerate().filter(is_twice);
        let twice: Vec<String> = twice.map(|(_, id)| id.to_string()).collect();
        if !twice.is_empty() {
            let twice = twice.join(",");
            return Err(format!("Partition replica lists may not contain duplicate entries: {twice}").into());
        }
        if brokers.len() != all[0].len() {
            return Err(format!("Partition {index} has different replication factor: {brokers:?}").into());
        }
    }
    Ok(all)
}

fn alter(client: &mut Client, arguments: &Arguments, topics: &[String]) -> Result<(), Failure> {
    let assignment = arguments
        .replica_assignment
        .as_deref()
        .map(parse_assignment)
        .transpose()?;
    let all = describe_topics::described(client, topics)?;
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
    let answer = ask_controller!(client, CreatePartitions, request)?;
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
    let answer = ask_controller!(client, DeleteTopics, request)?;
    answer
        .responses
        .iter()
        .try_for_each(|result| check(result.error_code, result.error_message.as_deref()))
}
