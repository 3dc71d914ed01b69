//! Admin requests and Metadata: [`admin`](super::admin) decides, this file lets the broker follow.
//!
//! Reading requests are answered at once. A changing one comes back as an [`Outcome`]: the logs of the
//! topics that it names follow the new image, and the answer leaves when the change is durable.

use std::sync::Arc;

use super::State;
use super::admin::{self, Cluster, Node, Outcome};
use super::caller::Caller;
use super::storage::COORDINATION_DIR;
use crate::config::BrokerConfig;
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::metadata::{Metadata, MetadataImage};
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
        if !self.directories.is_online(COORDINATION_DIR)
            && let Some(answer) = admin::refuse_changes(&body, caller.version, &topics_are_lost())
        {
            self.out.answer(caller, answer);
            return None;
        }
        match body {
            RequestBody::Metadata(mut body) => self.metadata_request(cx, caller, &mut body),
            RequestBody::DescribeCluster(body) => {
                self.read(caller, |cluster| admin::describe_cluster(cluster, &body));
            }
            RequestBody::DescribeTopicPartitions(body) => {
                self.read(caller, |cluster| admin::describe_topic_partitions(cluster, &body));
            }
            RequestBody::DescribeConfigs(body) => {
                self.read(caller, |cluster| admin::describe_configs(cluster, &body));
            }
            RequestBody::FindCoordinator(body) => {
                let answer = admin::find_coordinator(&body, caller.version);
                self.out.answer(caller, answer);
            }
            RequestBody::CreateTopics(body) => self.change(cx, caller, |metadata, cx, config, nodes| {
                admin::create_topics(metadata, cx, config, nodes, &body)
            }),
            RequestBody::DeleteTopics(body) => self.change(cx, caller, |metadata, cx, config, _| {
                admin::delete_topics(metadata, cx, config, &body, caller.version)
            }),
            RequestBody::CreatePartitions(body) => self.change(cx, caller, |metadata, cx, _, nodes| {
                admin::create_partitions(metadata, cx, nodes, &body)
            }),
            RequestBody::AlterConfigs(body) => self.change(cx, caller, |metadata, cx, config, _| {
                admin::alter_configs(metadata, cx, config, &body)
            }),
            RequestBody::IncrementalAlterConfigs(body) => {
                self.change(cx, caller, |metadata, cx, config, _| {
                    admin::incremental_alter_configs(metadata, cx, config, &body)
                });
            }
            other => return Some(other),
        }
        None
    }

    /// Answers from what is known.
    fn read<R: Into<ResponseBody>>(&mut self, caller: &Caller, answer: impl FnOnce(&Cluster) -> R) {
        let nodes = self.nodes(caller);
        let image = self.image().cloned().unwrap_or_default();
        let answer = answer(&self.cluster(&image, &nodes));
        self.out.answer(caller, answer);
    }

    /// Lets a change happen, and answers when it is durable.
    fn change<R: Into<ResponseBody>>(
        &mut self,
        cx: &mut Cx,
        caller: &Caller,
        decide: impl FnOnce(&mut Metadata, &mut Cx, &BrokerConfig, &[Node]) -> Outcome<R>,
    ) {
        let nodes = self.nodes(caller);
        if let Some(outcome) = self.decide(cx, &nodes, decide) {
            self.answer_outcome(cx, caller, outcome);
        } else {
            self.out.close(caller.conn, "the broker has no topics yet");
        }
    }

    /// Decides and follows; `None` when nothing can be written.
    fn decide<R>(
        &mut self,
        cx: &mut Cx,
        nodes: &[Node],
        decide: impl FnOnce(&mut Metadata, &mut Cx, &BrokerConfig, &[Node]) -> Outcome<R>,
    ) -> Option<Outcome<R>> {
        if !self.directories.is_online(COORDINATION_DIR) {
            return None;
        }
        let before = self.image()?.clone();
        let config = self.config.clone();
        let outcome = decide(self.metadata.as_mut()?, cx, &config, nodes);
        self.follow(cx, &before, &outcome.topics);
        Some(outcome)
    }

    fn answer_outcome<R: Into<ResponseBody>>(&mut self, cx: &mut Cx, caller: &Caller, outcome: Outcome<R>) {
        match outcome.ticket {
            Some(_) => self.answer_when_durable(cx, *caller, outcome.response),
            None => self.out.answer(caller, outcome.response),
        }
    }

    /// Follows what has changed: settings of the broker, then the topics named.
    fn follow(&mut self, cx: &mut Cx, before: &MetadataImage, topics: &[Arc<str>]) {
        let node_id = self.config.node_id;
        let settings =
            |image: &MetadataImage| (image.broker_configs(None), image.broker_configs(Some(node_id)));
        if self.image().is_some_and(|now| settings(now) != settings(before)) {
            self.follow_broker_config(cx);
        }
        for name in topics {
            self.follow_to_the_end(cx, name);
        }
    }

    fn metadata_request(&mut self, cx: &mut Cx, caller: &Caller, request: &mut MetadataRequest) {
        if caller.version < FIRST_WITH_ALLOW_CREATION {
            request.allow_auto_topic_creation = true;
        }
        let nodes = self.nodes(caller);
        let image = self.image().cloned().unwrap_or_default();
        let wanted = admin::topics_to_create(&self.cluster(&image, &nodes), request);
        let created = if wanted.is_empty() {
            None
        } else {
            self.decide(cx, &nodes, |metadata, cx, config, nodes| {
                admin::create_topics_on_demand(metadata, cx, config, nodes, &wanted)
            })
        };
        let image = self.image().cloned().unwrap_or_default();
        let mut response = admin::metadata(&self.cluster(&image, &nodes), request, caller.version);
        self.mark_offline(caller.version, &mut response);
        let ticket = created.and_then(|outcome| outcome.ticket);
        let outcome = Outcome {
            response,
            ticket,
            topics: Vec::new(),
        };
        self.answer_outcome(cx, caller, outcome);
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
                let id = placed.partitions.get(row.partition_index as usize);
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

    /// The brokers that live, as this caller reaches them: this one.
    fn nodes(&self, caller: &Caller) -> Vec<Node> {
        let endpoint = self.advertised.get(usize::from(caller.listener));
        let node = endpoint.map(|endpoint| Node {
            id: self.config.node_id,
            host: endpoint.host.clone(),
            port: endpoint.port,
            rack: self.config.rack.clone(),
        });
        node.into_iter().collect()
    }

    fn cluster<'a>(&'a self, image: &'a MetadataImage, nodes: &'a [Node]) -> Cluster<'a> {
        Cluster {
            image,
            config: &self.config,
            nodes,
            controller_id: self.config.node_id,
        }
    }

    pub(super) fn image(&self) -> Option<&Arc<MetadataImage>> {
        self.metadata.as_ref().map(|metadata| metadata.image())
    }

    pub(super) fn cluster_id(&self) -> &str {
        self.image().map_or("", |image| image.cluster_id())
    }
}

/// Why nothing can be changed.
fn topics_are_lost() -> Refused {
    let why = "the log directory that keeps the topics is offline: nothing can be changed";
    Refused::new(ErrorCode::KafkaStorageError, why)
}
