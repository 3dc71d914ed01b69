//! UpdateMetadata taken up: what clients of this broker are told of the cluster.

use std::sync::Arc;

use super::configs::Owner;
use super::session::in_portions;
use crate::broker::State;
use crate::broker::timers::SweepFor;
use crate::cx::Cx;
use crate::metadata::{BrokerEndpoint, BrokerImage, PartitionImage};
use crate::protocol::control::{LEADER_DURING_DELETE, UpdateMetadataPartition, UpdateMetadataRequest};
use crate::replica::Standing;
use crate::types::{NO_BROKER_EPOCH, Uuid};

impl State {
    /// The brokers that live are these. Where others lived before, every high watermark is looked at: it
    /// may go on without one that is gone.
    pub(super) fn brokers_told(&mut self, cx: &Cx, word: &UpdateMetadataRequest) {
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
        let live = live.map(|broker| (broker.id, Standing::default())).collect();
        if self.replication.live != live {
            self.replication.live = live;
            self.sweep(cx, SweepFor::Surroundings);
        }
    }

    /// One partition stands so, or its topic is going.
    pub(super) fn partition_told(
        &mut self,
        cx: &mut Cx,
        topic: &Arc<str>,
        id: Uuid,
        told: &UpdateMetadataPartition,
    ) {
        let image = Arc::make_mut(&mut self.image);
        if told.leader == LEADER_DURING_DELETE {
            let deleted = image.topic(topic).map(|topic| topic.id);
            image.remove_topic(topic);
            self.cluster.deleting.insert(topic.clone());
            if let Some(id) = deleted {
                self.groups_forget_topic(cx, topic, id);
            }
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
        if word.controller_id == self.config.node_id {
            self.set_strays_aside(cx);
            self.ready(cx);
        } else if self.cluster.stage() == super::Stage::Member {
            self.set_strays_aside(cx);
        }
    }
}
