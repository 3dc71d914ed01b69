//! Admin requests and Metadata: [`admin`](super::admin) decides, this file asks and answers.
//!
//! Reading requests are answered at once, from what this broker was told. Changing ones are the
//! controller's: in this broker it decides and answers when the change is durable, from any other
//! the client hears NOT_CONTROLLER and asks again there; settings are passed on.

use super::State;
use super::admin::{self, Cluster, Node};
use super::caller::Caller;
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::full::FULL;
use crate::protocol::messages::metadata_response::MetadataResponsePartition;
use crate::protocol::messages::{MetadataRequest, MetadataResponse};
use crate::protocol::{RequestBody, ResponseBody};

/// First version of Metadata that may forbid the making of topics.
const FIRST_WITH_ALLOW_CREATION: i16 = 4;

impl State {
    /// Handles one of the admin requests; what it is not comes back.
    pub(super) fn admin_request(
        &mut self,
        cx: &mut Cx,
        caller: &Caller,
        body: RequestBody,
    ) -> Option<RequestBody> {
        if self.is_to_be_passed_on(&body) {
            self.pass_on(cx, caller, body);
            return None;
        }
        if let Some(refused) = self.cannot_change()
            && let Some(answer) = admin::refuse_changes(&body, caller.version, &refused)
        {
            self.out.answer(caller, answer);
            return None;
        }
        match body {
            RequestBody::Metadata(body) => self.metadata_request(cx, caller, body),
            other if !FULL => return self.change(cx, caller, other),
            RequestBody::DescribeCluster(body) => {
                self.read(caller, |cluster| admin::describe_cluster(cluster, &body));
            }
            RequestBody::DescribeTopicPartitions(body) => {
                self.read(caller, |cluster| admin::describe_topic_partitions(cluster, &body));
            }
            RequestBody::DescribeConfigs(body) => {
                self.read(caller, |cluster| admin::describe_configs(cluster, &body));
            }
            RequestBody::ListConfigResources(body) => {
                self.read(caller, |cluster| {
                    admin::list_config_resources(cluster, &body, caller.version)
                });
            }
            other => return self.change(cx, caller, other),
        }
        None
    }

    /// Why nothing can be changed here: another broker is the controller, or the tree is lost.
    fn cannot_change(&self) -> Option<Refused> {
        if let Some(why) = &self.cluster.lost {
            let why = format!("{why}: nothing can be changed");
            return Some(Refused::new(ErrorCode::KafkaStorageError, why));
        }
        if self.controls() {
            return None;
        }
        Some(Refused::new(ErrorCode::NotController, admin::NOT_THE_CONTROLLER))
    }

    /// Answers from what is known.
    fn read<R: Into<ResponseBody>>(&mut self, caller: &Caller, answer: impl FnOnce(&Cluster) -> R) {
        let nodes = self.nodes(caller);
        let answer = answer(&self.known_cluster(&nodes));
        self.out.answer(caller, answer);
    }

    fn metadata_request(&mut self, cx: &mut Cx, caller: &Caller, mut request: MetadataRequest) {
        if caller.version < FIRST_WITH_ALLOW_CREATION {
            request.allow_auto_topic_creation = true;
        }
        let nodes = self.nodes(caller);
        let wanted = admin::topics_to_create(&self.known_cluster(&nodes), &request);
        // Unknown is what the client hears, though the topic is made for it: it asks again a little later.
        self.answer_metadata(caller, &request);
        if !wanted.is_empty() && self.cluster.lost.is_none() {
            self.create_needed(cx, &wanted);
        }
    }

    fn answer_metadata(&mut self, caller: &Caller, request: &MetadataRequest) {
        let nodes = self.nodes(caller);
        let mut response = admin::metadata(&self.known_cluster(&nodes), request, caller.version);
        self.mark_offline(caller.version, &mut response);
        self.out.answer(caller, response);
    }

    /// Partitions in a failed log directory have no leader; the image does not know of directories.
    fn mark_offline(&self, version: i16, response: &mut MetadataResponse) {
        if self.directories.iter().all(|(_, dir)| dir.failed.is_none()) {
            return;
        }
        for topic in &mut response.topics {
            let Some(placed) = topic.name.as_deref().and_then(|name| self.topics.by_name(name)) else {
                continue;
            };
            let offline = |row: &&mut MetadataResponsePartition| {
                let id = placed.partitions.get(&row.partition_index);
                let partition = id.and_then(|&id| self.topics.partition(id));
                partition.is_some_and(|partition| !partition.is_online())
            };
            for row in topic.partitions.iter_mut().filter(offline) {
                row.error_code = ErrorCode::LeaderNotAvailable.code();
                row.leader_id = -1;
                if version >= 5 {
                    row.offline_replicas.clone_from(&row.replica_nodes);
                }
            }
        }
    }

    /// The brokers that live, as this caller reaches them.
    pub(super) fn nodes(&self, caller: &Caller) -> Vec<Node> {
        let Some(listener) = self.advertised.get(usize::from(caller.listener)) else {
            return Vec::new();
        };
        let known = self.image.brokers().filter_map(|broker| {
            let endpoint = broker.endpoint(&listener.name)?;
            Some(Node {
                id: broker.id,
                host: endpoint.host.to_string(),
                port: endpoint.port,
                rack: broker.rack.as_deref().map(str::to_owned),
            })
        });
        known.collect()
    }

    fn known_cluster<'a>(&'a self, nodes: &'a [Node]) -> Cluster<'a> {
        Cluster {
            image: &self.image,
            config: &self.config,
            nodes,
            controller_id: self.cluster.controller_id,
        }
    }
}
