//! An administrator: tasks one after the other, each at the controller, tried until it takes.
//!
//! Connections, versions and metadata are those of any client of the core; an administrator of Kafka's is
//! no more than that and the requests.

use std::collections::VecDeque;
use std::fmt;

use super::settings;
use crate::client::config::COMMON_KEYS;
use crate::client::{
    ClientConfig, ClientCx, ClientInput, ClientKeys, ClientLane, ClientSettings, NetworkClient, Node,
};
use crate::error::ErrorCode;
use crate::protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use crate::protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use crate::protocol::messages::elect_leaders_request::TopicPartitions;
use crate::protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use crate::protocol::messages::{
    AlterPartitionReassignmentsRequest, CreateTopicsRequest, DeleteTopicsRequest, ElectLeadersRequest,
    IncrementalAlterConfigsRequest, message,
};
use crate::protocol::{ApiKey, RequestBody, ResponseBody};
use crate::trace::{Fact, NodeId, WorldFact};
use crate::types::{BrokerId, Millis, TopicPartition};

const TIMEOUT_MS: i32 = 30_000;
const KEYS: ClientKeys = &[COMMON_KEYS];
/// A task is tried again after so long (`retry.backoff.ms`).
const RETRY_BACKOFF_MS: Millis = 100;
/// Kafka's number for a topic, and for a broker, among configuration resources.
const TOPIC: i8 = 2;
const BROKER: i8 = 4;

/// One thing to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminTask {
    CreateTopic {
        name: String,
        partitions: i32,
        replicas: i16,
        /// One list for each partition, in place of the two numbers; the preferred leader first.
        assignment: Vec<Vec<BrokerId>>,
        configs: Vec<(String, String)>,
    },
    DeleteTopic {
        name: String,
    },
    SetTopicConfig {
        topic: String,
        key: String,
        value: String,
    },
    /// For all brokers, when none is named.
    SetBrokerConfig {
        broker: Option<BrokerId>,
        key: String,
        value: String,
    },
    ElectPreferred {
        partition: TopicPartition,
    },
    ElectUnclean {
        partition: TopicPartition,
    },
    /// `None` gives up a move that is under way.
    Reassign {
        partition: TopicPartition,
        replicas: Option<Vec<BrokerId>>,
    },
}

#[derive(Clone, Debug)]
pub struct Admin {
    id: NodeId,
    net: NetworkClient<()>,
    tasks: VecDeque<AdminTask>,
    asked: bool,
    not_before: Millis,
    due: Option<Millis>,
    /// How the last task ended.
    pub last: Option<ErrorCode>,
}

impl Admin {
    /// # Errors
    /// A setting that a client cannot have, in one line.
    pub fn new(id: NodeId, brokers: &[BrokerId]) -> Result<Self, String> {
        let settings = ClientSettings::read(KEYS, &settings(id, brokers, &[]));
        let config = settings.and_then(|settings| ClientConfig::resolve(&settings));
        let config = config.map_err(|error| error.to_string())?;
        Ok(Self {
            id,
            net: NetworkClient::new(&config, 1, false),
            tasks: VecDeque::new(),
            asked: false,
            not_before: 0,
            due: None,
            last: None,
        })
    }

    pub(in crate::sim::world) fn add(&mut self, cx: &mut ClientCx, task: AdminTask) {
        self.tasks.push_back(task);
        self.go_on(cx);
    }

    pub fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(super) fn next_timeout(&self) -> Option<Millis> {
        self.due
    }

    pub(super) fn handle(&mut self, cx: &mut ClientCx, input: &ClientInput) {
        for answer in self.net.handle(cx, input) {
            self.answered(cx, answer.result.ok());
        }
        self.go_on(cx);
    }

    fn go_on(&mut self, cx: &mut ClientCx) {
        let mut wait = None;
        if !self.asked && !self.tasks.is_empty() {
            wait = if self.not_before > cx.now {
                Some(self.not_before)
            } else {
                self.ask(cx)
            };
        }
        self.net.update_metadata(cx);
        let net = self.net.next_timeout(cx.now);
        self.due = wait.into_iter().chain(net).min();
    }

    /// Asks the controller to do the first task; when to try again if an input does not tell.
    fn ask(&mut self, cx: &mut ClientCx) -> Option<Millis> {
        let controller = self.net.metadata.controller;
        let Some(node) = controller.and_then(|id| self.net.node(id, ClientLane::Data)) else {
            self.net.metadata.request_update(false, cx.cause);
            return None;
        };
        if !self.net.ready(cx, &node) {
            return self.net.ready_at(cx.now, &node);
        }
        if let Some(body) = self.tasks.front().map(request) {
            self.asked = self.send(cx, &node, &body);
        }
        (!self.asked).then(|| {
            self.again(cx);
            self.not_before
        })
    }

    fn send(&mut self, cx: &mut ClientCx, node: &Node, body: &RequestBody) -> bool {
        let api = body.api();
        let version = self.net.usable_version(node, api, most_version(api));
        let sent = version.and_then(|version| self.net.send(cx, node, version, body, (), 0));
        sent.is_ok()
    }

    fn answered(&mut self, cx: &mut ClientCx, body: Option<ResponseBody>) {
        self.asked = false;
        let code = match body.and_then(|body| outcome(&body)) {
            // It may have happened; the second try then says so.
            None => return self.again(cx),
            Some(code) => ErrorCode::from_code(code).unwrap_or(ErrorCode::UnknownServerError),
        };
        let again = matches!(
            code,
            ErrorCode::NotController | ErrorCode::RequestTimedOut | ErrorCode::InvalidReplicationFactor
        );
        if again {
            return self.again(cx);
        }
        if let Some(task) = self.tasks.pop_front() {
            self.last = Some(code);
            let client = self.id;
            let what = task.to_string();
            cx.cause = cx.emit(|| Fact::World(WorldFact::AdminAnswered { client, what, code }));
        }
    }

    fn again(&mut self, cx: &mut ClientCx) {
        self.net.metadata.controller = None;
        self.net.metadata.request_update(false, cx.cause);
        self.not_before = cx.now + RETRY_BACKOFF_MS;
    }
}

/// The last version of each request that is made as here: with topics by name, say.
fn most_version(api: ApiKey) -> i16 {
    match api {
        ApiKey::CreateTopics => 7,
        ApiKey::DeleteTopics => 5,
        ApiKey::ElectLeaders => 2,
        ApiKey::IncrementalAlterConfigs => 1,
        _ => 0,
    }
}

impl fmt::Display for AdminTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateTopic { name, .. } => write!(f, "create topic {name}"),
            Self::DeleteTopic { name } => write!(f, "delete topic {name}"),
            Self::SetTopicConfig { topic, key, value } => write!(f, "set {key}={value} of topic {topic}"),
            Self::SetBrokerConfig { broker, key, value } => match broker {
                Some(broker) => write!(f, "set {key}={value} of broker {broker}"),
                None => write!(f, "set {key}={value} of all brokers"),
            },
            Self::ElectPreferred { partition } => write!(f, "elect the preferred leader of {partition}"),
            Self::ElectUnclean { partition } => write!(f, "elect any leader of {partition}"),
            Self::Reassign { partition, .. } => write!(f, "reassign {partition}"),
        }
    }
}

fn request(task: &AdminTask) -> RequestBody {
    match task {
        AdminTask::CreateTopic {
            name,
            partitions,
            replicas,
            assignment,
            configs,
        } => RequestBody::CreateTopics(message(|body: &mut CreateTopicsRequest| {
            body.timeout_ms = TIMEOUT_MS;
            body.topics = vec![message(|topic: &mut CreatableTopic| {
                topic.name = name.as_str().into();
                let by_hand = !assignment.is_empty();
                topic.num_partitions = if by_hand { -1 } else { *partitions };
                topic.replication_factor = if by_hand { -1 } else { *replicas };
                topic.assignments = assigned(assignment);
                topic.configs = configs.iter().map(creatable).collect();
            })];
        })),
        AdminTask::DeleteTopic { name } => {
            RequestBody::DeleteTopics(message(|body: &mut DeleteTopicsRequest| {
                body.timeout_ms = TIMEOUT_MS;
                body.topic_names = vec![name.as_str().into()];
            }))
        }
        AdminTask::SetTopicConfig { topic, key, value } => set(TOPIC, topic.clone(), key, value),
        AdminTask::SetBrokerConfig { broker, key, value } => {
            let name = broker.map(|broker| broker.to_string()).unwrap_or_default();
            set(BROKER, name, key, value)
        }
        AdminTask::ElectPreferred { partition } => elect(0, partition),
        AdminTask::ElectUnclean { partition } => elect(1, partition),
        AdminTask::Reassign { partition, replicas } => RequestBody::AlterPartitionReassignments(message(
            |body: &mut AlterPartitionReassignmentsRequest| {
                body.timeout_ms = TIMEOUT_MS;
                body.topics = vec![message(|topic: &mut ReassignableTopic| {
                    topic.name = (&*partition.topic).into();
                    topic.partitions = vec![message(|part: &mut ReassignablePartition| {
                        part.partition_index = partition.partition;
                        part.replicas.clone_from(replicas);
                    })];
                })];
            },
        )),
    }
}

fn assigned(assignment: &[Vec<BrokerId>]) -> Vec<CreatableReplicaAssignment> {
    let numbered = (0..).zip(assignment);
    let one = |(index, brokers): (i32, &Vec<BrokerId>)| {
        message(|assigned: &mut CreatableReplicaAssignment| {
            assigned.partition_index = index;
            assigned.broker_ids.clone_from(brokers);
        })
    };
    numbered.map(one).collect()
}

fn creatable((key, value): &(String, String)) -> CreatableTopicConfig {
    message(|config: &mut CreatableTopicConfig| {
        config.name = key.as_str().into();
        config.value = Some(value.as_str().into());
    })
}

fn set(kind: i8, name: String, key: &str, value: &str) -> RequestBody {
    RequestBody::IncrementalAlterConfigs(message(|body: &mut IncrementalAlterConfigsRequest| {
        body.resources = vec![message(|resource: &mut AlterConfigsResource| {
            resource.resource_type = kind;
            resource.resource_name = name.into();
            resource.configs = vec![message(|config: &mut AlterableConfig| {
                config.name = key.into();
                config.value = Some(value.into());
            })];
        })];
    }))
}

fn elect(kind: i8, partition: &TopicPartition) -> RequestBody {
    RequestBody::ElectLeaders(message(|body: &mut ElectLeadersRequest| {
        body.election_type = kind;
        body.timeout_ms = TIMEOUT_MS;
        body.topic_partitions = Some(vec![message(|topic: &mut TopicPartitions| {
            topic.topic = (&*partition.topic).into();
            topic.partitions = vec![partition.partition];
        })]);
    }))
}

/// The first error code in the answer, or none (0).
fn outcome(body: &ResponseBody) -> Option<i16> {
    Some(match body {
        ResponseBody::CreateTopics(answer) => answer.topics.first()?.error_code,
        ResponseBody::DeleteTopics(answer) => answer.responses.first()?.error_code,
        ResponseBody::IncrementalAlterConfigs(answer) => answer.responses.first()?.error_code,
        ResponseBody::ElectLeaders(answer) if answer.error_code != 0 => answer.error_code,
        ResponseBody::ElectLeaders(answer) => {
            let results = answer.replica_election_results.first();
            let part = results.and_then(|topic| topic.partition_result.first());
            part.map_or(0, |part| part.error_code)
        }
        ResponseBody::AlterPartitionReassignments(answer) if answer.error_code != 0 => answer.error_code,
        ResponseBody::AlterPartitionReassignments(answer) => {
            let topic = answer.responses.first();
            let part = topic.and_then(|topic| topic.partitions.first());
            part.map_or(0, |part| part.error_code)
        }
        _ => return None,
    })
}
