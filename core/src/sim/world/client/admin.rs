//! An administrator: tasks one after the other, each at the controller, tried until it takes.

use std::collections::VecDeque;
use std::fmt;

use super::metadata::Metadata;
use super::{ClientCx, ClientOutput, Purpose, RETRY_BACKOFF_MS, Wire, version_of};
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
use crate::protocol::{RequestBody, ResponseBody};
use crate::trace::{NodeId, WorldFact};
use crate::types::{BrokerId, Millis, TopicPartition};

const TIMEOUT_MS: i32 = 30_000;
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

#[derive(Clone, Debug, Default)]
pub struct Admin {
    tasks: VecDeque<AdminTask>,
    asked: bool,
    not_before: Millis,
    /// How the last task ended.
    pub last: Option<ErrorCode>,
}

impl Admin {
    pub fn add(&mut self, task: AdminTask) {
        self.tasks.push_back(task);
    }

    pub fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(super) fn next_timeout(&self) -> Option<Millis> {
        (!self.asked && !self.tasks.is_empty() && self.not_before > 0).then_some(self.not_before)
    }

    pub(super) fn go_on(&mut self, cx: &mut ClientCx, wire: &mut Wire, metadata: &mut Metadata) {
        if self.asked || self.not_before > cx.now {
            return;
        }
        self.not_before = 0;
        let Some(task) = self.tasks.front() else { return };
        let Some(controller) = metadata.controller else {
            return metadata.refresh(cx.now);
        };
        let body = request(task);
        wire.send(cx, controller, version_of(body.api()), &body, Purpose::Own);
        self.asked = true;
    }

    pub(super) fn answered(
        &mut self,
        cx: &mut ClientCx,
        metadata: &mut Metadata,
        client: NodeId,
        body: Option<ResponseBody>,
    ) {
        self.asked = false;
        let code = match body.and_then(|body| outcome(&body)) {
            // It may have happened; the second try then says so.
            None => return self.again(cx, metadata),
            Some(code) => ErrorCode::from_code(code).unwrap_or(ErrorCode::UnknownServerError),
        };
        let again = matches!(
            code,
            ErrorCode::NotController | ErrorCode::RequestTimedOut | ErrorCode::InvalidReplicationFactor
        );
        if again {
            return self.again(cx, metadata);
        }
        if let Some(task) = self.tasks.pop_front() {
            self.last = Some(code);
            let what = task.to_string();
            cx.out.push(ClientOutput::Fact(WorldFact::AdminAnswered {
                client,
                what,
                code,
            }));
        }
    }

    fn again(&mut self, cx: &mut ClientCx, metadata: &mut Metadata) {
        metadata.controller = None;
        metadata.refresh(cx.now);
        self.not_before = cx.now + RETRY_BACKOFF_MS;
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
