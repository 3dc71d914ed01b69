//! UpdateMetadata taken up: what clients of this broker are told of the cluster.

use std::sync::Arc;

use super::configs::Owner;
use super::session::in_portions;
use crate::broker::State;
use crate::cx::Cx;
use crate::metadata::{BrokerEndpoint, BrokerImage, PartitionImage};
use crate::protocol::control::{LEADER_DURING_DELETE, UpdateMetadataPartition, UpdateMetadataRequest};
use crate::replica::Standing;
use crate::replica::partition::PartitionId;
use crate::types::{NO_BROKER_EPOCH, Uuid};

impl State {
    /// The brokers that live are these.
    pub(super) fn brokers_told(&mut self, word: &UpdateMetadataRequest) {
        let brokers = word.live_brokers.iter().map(|broker| BrokerImage {
            id: broker.id,
            epoch: NO_BROKER_EPOCH,
            endpoints: broker
                .endpoints
                .iter()
                .map(|endpoint| BrokerEndpoint {
                    listener: endpoint.listener.clone(),
                    host: endpoint.host.clone(),
                    port: u16::try_from(endpoint.port).unwrap_or_default(),
                })
                .collect(),
            rack: broker.rack.clone(),
        });
        Arc::make_mut(&mut self.image).set_brokers(brokers);
        let live = word.live_brokers.iter();
        self.replication.live = live.map(|broker| (broker.id, Standing::default())).collect();
    }

    /// One partition stands so, or its topic is going.
    pub(super) fn partition_told(&mut self, topic: &Arc<str>, id: Uuid, told: &UpdateMetadataPartition) {
        let image = Arc::make_mut(&mut self.image);
        if told.leader == LEADER_DURING_DELETE {
            image.remove_topic(topic);
            self.cluster.deleting.insert(topic.clone());
            return;
        }
        self.cluster.deleting.remove(topic);
        let partition = PartitionImage {
            isr: told.isr.clone(),
            leader: told.leader,
            leader_epoch: told.leader_epoch,
            partition_epoch: told.partition_epoch,
            controller_epoch: told.controller_epoch,
            offline_replicas: told.offline_replicas.clone(),
            ..PartitionImage::without_state(told.replicas.clone())
        };
        image.update_partition(topic, id, told.partition_index, partition);
    }

    /// The whole word is taken up.
    pub(super) fn metadata_updated(&mut self, cx: &mut Cx, word: &UpdateMetadataRequest) {
        let mut unknown = Vec::new();
        for topic in &word.topics {
            let is_there = self.image.topic(&topic.name).is_some();
            if self.cluster.configs.knows(&topic.name, topic.topic_id) {
                let settings = self.cluster.configs.of_topic(&topic.name);
                Arc::make_mut(&mut self.image).set_topic_config(&topic.name, settings);
            } else if is_there {
                unknown.push(Owner::Topic(topic.name.clone()));
            }
        }
        if self.cluster.lost.is_none() {
            for portion in in_portions(&unknown) {
                self.read_configs(portion);
            }
        }
        self.surroundings_changed(cx);
        if word.controller_id == self.config.node_id {
            self.set_strays_aside(cx);
            self.ready(cx);
        } else if self.cluster.stage() == super::Stage::Member {
            self.set_strays_aside(cx);
        }
    }
}

impl State {
    /// What is known of the other brokers has changed: a high watermark may go on without one that is gone.
    fn surroundings_changed(&mut self, cx: &mut Cx) {
        let led: Vec<PartitionId> = self
            .topics
            .partitions()
            .filter(|(_, partition)| partition.followers().iter().any(|follower| follower.log_end >= 0))
            .map(|(id, _)| id)
            .collect();
        for id in led {
            if let Some(partition) = self.topics.partition_mut(id) {
                let moved = partition.surroundings_changed(cx, &self.replication);
                self.partition_moved(cx, id, moved);
            }
        }
    }
}
