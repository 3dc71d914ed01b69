//! The words to the brokers that follow from one decision (`ControllerBrokerRequestBatch`).
//!
//! A decision notes *whom* to tell of *which* partitions; the words are made at its end, from the
//! image that it left. So a partition that changed twice is told once. Each broker gets at most
//!
//! 1. LeaderAndIsr, for the replicas that it holds and that changed
//! 2. UpdateMetadata, to all, for all that changed
//! 3. StopReplica, for what it holds no more
//!
//! A broker that has just come gets everything: first UpdateMetadata, so that it knows the others, then
//! LeaderAndIsr, both marked as full: what they do not name is not there. Topics that are being deleted
//! are named as such, since what the broker holds of them is to be deleted, and not to be kept as unknown.
//! Where that is too much for one word it comes in parts, step by step ([`passes`](super::passes)), and
//! none of them is full. Before it is told everything the broker is told nothing; what it must hear beside
//! that (which of its replicas are new, and what is to be stopped) is put aside.

use std::sync::Arc;

use crate::metadata::{BrokerImage, MetadataImage, PartitionImage, TopicImage};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::control::{
    ControlRequestKind, EPOCH_DURING_DELETE, LEADER_DURING_DELETE, LeaderAndIsrPartition,
    LeaderAndIsrRequest, LeaderAndIsrTopic, LiveLeader, StopReplicaPartition, StopReplicaRequest,
    StopReplicaTopic, UpdateMetadataBroker, UpdateMetadataEndpoint, UpdateMetadataPartition,
    UpdateMetadataRequest, UpdateMetadataTopic,
};
use crate::types::{BrokerId, LeaderEpoch, TopicPartition};

/// Partitions in one request at most: it must fit what a broker accepts as a frame.
pub const MOST_PARTITIONS: usize = 10_000;

/// A word to a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlRequest {
    LeaderAndIsr(LeaderAndIsrRequest),
    UpdateMetadata(UpdateMetadataRequest),
    StopReplica(StopReplicaRequest),
}

/// Who speaks, and what the words are made from.
pub struct Speaker<'a> {
    pub controller_id: BrokerId,
    pub controller_epoch: i32,
    /// Listener on which brokers reach each other.
    pub listener: &'a str,
    pub image: &'a MetadataImage,
    /// Whether this replica's broker lives and its directory has not failed.
    pub is_online: &'a dyn Fn(BrokerId, &TopicPartition) -> bool,
}

/// Whom to tell of what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Brokers that get everything.
    full: OrderedSet<BrokerId>,
    /// Brokers that get a part of everything.
    parts: Vec<(BrokerId, Part)>,
    /// Whether the replica is new.
    leader_and_isr: OrderedMap<BrokerId, OrderedMap<TopicPartition, bool>>,
    /// Whether its files go too.
    stop: OrderedMap<BrokerId, OrderedMap<TopicPartition, bool>>,
    update: OrderedSet<TopicPartition>,
    /// The brokers changed: tell all, even without a partition.
    update_all: bool,
}

/// A part of everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Of what all brokers know.
    Metadata(Vec<TopicPartition>),
    /// Of what the broker itself holds.
    Replicas(Vec<TopicPartition>),
}

impl Part {
    fn is_empty(&self) -> bool {
        match self {
            Self::Metadata(names) | Self::Replicas(names) => names.is_empty(),
        }
    }
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The broker has just come.
    pub fn everything_to(&mut self, broker: BrokerId) {
        self.full.insert(broker);
    }

    pub fn part_to(&mut self, broker: BrokerId, part: Part) {
        if !part.is_empty() {
            self.parts.push((broker, part));
        }
    }

    /// Puts aside what these brokers must hear beside everything, when they are told that.
    pub fn put_aside(&mut self, brokers: &OrderedSet<BrokerId>, aside: &mut Self) {
        for broker in brokers {
            let told = self.leader_and_isr.remove(broker).unwrap_or_default();
            let new = told.into_iter().filter(|(_, is_new)| *is_new);
            aside.leader_and_isr.entry(*broker).or_default().extend(new);
            for (name, delete) in self.stop.remove(broker).unwrap_or_default() {
                aside.stop_replica(*broker, &name, delete);
            }
        }
    }

    /// The broker is told now what was put aside for it.
    pub fn take_back(&mut self, broker: BrokerId, aside: &mut Self) {
        for (name, is_new) in aside.leader_and_isr.remove(&broker).unwrap_or_default() {
            let told = self.leader_and_isr.entry(broker).or_default();
            *told.entry(name).or_default() |= is_new;
        }
        for (name, delete) in aside.stop.remove(&broker).unwrap_or_default() {
            self.stop_replica(broker, &name, delete);
        }
    }

    /// The broker is gone, and with it what was meant for it.
    pub fn forget(&mut self, broker: BrokerId) {
        self.leader_and_isr.remove(&broker);
        self.stop.remove(&broker);
    }

    /// These replicas lead or follow the partition as the image says; everybody hears of it.
    pub fn leader_and_isr(&mut self, brokers: &[BrokerId], partition: &TopicPartition, is_new: bool) {
        for broker in brokers {
            let of_broker = self.leader_and_isr.entry(*broker).or_default();
            *of_broker.entry(partition.clone()).or_default() |= is_new;
        }
        self.update(partition);
    }

    /// The replica serves no more; with `delete` its files go.
    pub fn stop_replica(&mut self, broker: BrokerId, partition: &TopicPartition, delete: bool) {
        let of_broker = self.stop.entry(broker).or_default();
        *of_broker.entry(partition.clone()).or_default() |= delete;
    }

    pub fn update(&mut self, partition: &TopicPartition) {
        self.update.insert(partition.clone());
    }

    pub fn update_all(&mut self) {
        self.update_all = true;
    }

    /// The words, in the order in which each broker shall hear them; none to those who wait for everything.
    pub fn words(
        &self,
        speaker: &Speaker,
        waiting: &OrderedSet<BrokerId>,
    ) -> Vec<(BrokerId, i64, ControlRequest)> {
        let mut words = Vec::new();
        for broker in speaker
            .image
            .brokers()
            .filter(|broker| !waiting.contains(&broker.id))
        {
            let mut say = |request| words.push((broker.id, broker.epoch, request));
            for (_, part) in self.parts.iter().filter(|(id, _)| *id == broker.id) {
                self.say_part(speaker, broker, part)
                    .into_iter()
                    .for_each(&mut say);
            }
            let stopped = self.stop.get(&broker.id);
            if self.full.contains(&broker.id) {
                let all = speaker.partitions_of(speaker.image.all_topics());
                speaker
                    .update_metadata(broker, &all, ControlRequestKind::Full)
                    .into_iter()
                    .for_each(&mut say);
                let mine = speaker.replicas_of(broker.id);
                let mine = self.with_new(broker.id, mine);
                speaker
                    .leader_and_isr(broker, &mine, ControlRequestKind::Full)
                    .into_iter()
                    .for_each(&mut say);
                let stop = stopped.map(|stopped| speaker.stop_replica(broker, stopped));
                stop.into_iter().flatten().for_each(&mut say);
            } else {
                let changed: Vec<(TopicPartition, bool)> = self
                    .leader_and_isr
                    .get(&broker.id)
                    .map(|changed| {
                        changed
                            .iter()
                            .map(|(name, is_new)| (name.clone(), *is_new))
                            .collect()
                    })
                    .unwrap_or_default();
                if !changed.is_empty() {
                    let kind = ControlRequestKind::Incremental;
                    speaker
                        .leader_and_isr(broker, &changed, kind)
                        .into_iter()
                        .for_each(&mut say);
                }
                if self.update_all || !self.update.is_empty() {
                    let changed: Vec<TopicPartition> = self.update.iter().cloned().collect();
                    let kind = ControlRequestKind::Unknown;
                    speaker
                        .update_metadata(broker, &changed, kind)
                        .into_iter()
                        .for_each(&mut say);
                }
                let stop = stopped.map(|stopped| speaker.stop_replica(broker, stopped));
                stop.into_iter().flatten().for_each(&mut say);
            }
        }
        words
    }

    fn say_part(&self, speaker: &Speaker, broker: &BrokerImage, part: &Part) -> Vec<ControlRequest> {
        let kind = ControlRequestKind::Unknown;
        match part {
            Part::Metadata(names) => speaker.update_metadata(broker, names, kind),
            Part::Replicas(names) => {
                speaker.leader_and_isr(broker, &self.with_new(broker.id, names.clone()), kind)
            }
        }
    }

    fn with_new(&self, broker: BrokerId, partitions: Vec<TopicPartition>) -> Vec<(TopicPartition, bool)> {
        let told = self.leader_and_isr.get(&broker);
        partitions
            .into_iter()
            .map(|name| {
                let is_new = told.and_then(|told| told.get(&name)).copied().unwrap_or(false);
                (name, is_new)
            })
            .collect()
    }
}

impl Speaker<'_> {
    fn partitions_of<'i>(&self, topics: impl Iterator<Item = &'i Arc<TopicImage>>) -> Vec<TopicPartition> {
        let partitions = topics.flat_map(|topic| {
            let names = (0..)
                .zip(&topic.partitions)
                .filter(|(_, partition)| partition.has_state());
            names.map(|(index, _)| TopicPartition::new(topic.name.clone(), index))
        });
        partitions.collect()
    }

    fn replicas_of(&self, broker: BrokerId) -> Vec<TopicPartition> {
        let mut all = self.partitions_of(self.image.topics());
        all.retain(|name| {
            self.partition(name)
                .is_some_and(|partition| partition.replicas.contains(&broker))
        });
        all
    }

    fn partition(&self, name: &TopicPartition) -> Option<&PartitionImage> {
        let topic = self.image.topic_even_deleting(&name.topic)?;
        topic
            .partition(name.partition)
            .filter(|partition| partition.has_state())
    }

    /// A full request names everything or it is not full: too large, it goes in parts that are not.
    fn parts<T: Clone>(items: &[T], kind: ControlRequestKind) -> Vec<(Vec<T>, ControlRequestKind)> {
        if items.len() <= MOST_PARTITIONS {
            return vec![(items.to_vec(), kind)];
        }
        let parts = items.chunks(MOST_PARTITIONS);
        parts
            .map(|part| (part.to_vec(), ControlRequestKind::Unknown))
            .collect()
    }

    fn leader_and_isr(
        &self,
        broker: &BrokerImage,
        partitions: &[(TopicPartition, bool)],
        kind: ControlRequestKind,
    ) -> Vec<ControlRequest> {
        let parts = Self::parts(partitions, kind);
        let request = |(part, kind): (Vec<(TopicPartition, bool)>, ControlRequestKind)| {
            let mut leaders = OrderedSet::new();
            let mut topics: Vec<LeaderAndIsrTopic> = Vec::new();
            for (name, is_new) in part {
                let Some(partition) = self.partition(&name) else {
                    continue;
                };
                leaders.insert(partition.leader);
                let said = become_leader_or_follower(&name, partition, is_new);
                match topics.last_mut() {
                    Some(topic) if topic.name == name.topic => topic.partitions.push(said),
                    _ => topics.push(LeaderAndIsrTopic {
                        topic_id: self.topic_id(&name),
                        name: name.topic,
                        partitions: vec![said],
                    }),
                }
            }
            ControlRequest::LeaderAndIsr(LeaderAndIsrRequest {
                controller_id: self.controller_id,
                controller_epoch: self.controller_epoch,
                broker_epoch: broker.epoch,
                kind,
                topics,
                live_leaders: leaders
                    .into_iter()
                    .filter_map(|leader| self.live_leader(leader))
                    .collect(),
                ..LeaderAndIsrRequest::default()
            })
        };
        parts.into_iter().map(request).collect()
    }

    fn topic_id(&self, name: &TopicPartition) -> crate::types::Uuid {
        let topic = self.image.topic_even_deleting(&name.topic);
        topic.map(|topic| topic.id).unwrap_or_default()
    }

    fn live_leader(&self, leader: BrokerId) -> Option<LiveLeader> {
        let endpoint = self.image.broker(leader)?.endpoint(self.listener)?;
        Some(LiveLeader {
            broker_id: leader,
            host: endpoint.host.clone(),
            port: endpoint.port.into(),
        })
    }

    fn update_metadata(
        &self,
        broker: &BrokerImage,
        partitions: &[TopicPartition],
        kind: ControlRequestKind,
    ) -> Vec<ControlRequest> {
        let live_brokers: Vec<UpdateMetadataBroker> = self.image.brokers().map(live).collect();
        let request = |(part, kind): (Vec<TopicPartition>, ControlRequestKind)| {
            let mut topics: Vec<UpdateMetadataTopic> = Vec::new();
            for name in part {
                let Some(partition) = self.partition(&name) else {
                    continue;
                };
                let said = self.metadata_of(&name, partition);
                match topics.last_mut() {
                    Some(topic) if topic.name == name.topic => topic.partitions.push(said),
                    _ => topics.push(UpdateMetadataTopic {
                        topic_id: self.topic_id(&name),
                        name: name.topic,
                        partitions: vec![said],
                    }),
                }
            }
            ControlRequest::UpdateMetadata(UpdateMetadataRequest {
                controller_id: self.controller_id,
                controller_epoch: self.controller_epoch,
                broker_epoch: broker.epoch,
                kind,
                topics,
                live_brokers: live_brokers.clone(),
                ..UpdateMetadataRequest::default()
            })
        };
        Self::parts(partitions, kind).into_iter().map(request).collect()
    }

    fn metadata_of(&self, name: &TopicPartition, partition: &PartitionImage) -> UpdateMetadataPartition {
        let is_deleting = self.image.is_deleting(&name.topic);
        let offline = partition
            .replicas
            .iter()
            .filter(|replica| !(self.is_online)(**replica, name));
        UpdateMetadataPartition {
            partition_index: name.partition,
            controller_epoch: partition.controller_epoch,
            leader: if is_deleting {
                LEADER_DURING_DELETE
            } else {
                partition.leader
            },
            leader_epoch: if is_deleting {
                EPOCH_DURING_DELETE
            } else {
                partition.leader_epoch
            },
            isr: partition.isr.clone(),
            partition_epoch: partition.partition_epoch,
            replicas: partition.replicas.clone(),
            offline_replicas: offline.copied().collect(),
        }
    }

    fn stop_replica(
        &self,
        broker: &BrokerImage,
        partitions: &OrderedMap<TopicPartition, bool>,
    ) -> Vec<ControlRequest> {
        let partitions: Vec<_> = partitions.iter().collect();
        let request = |part: &[(&TopicPartition, &bool)]| {
            let mut topics: Vec<StopReplicaTopic> = Vec::new();
            for (name, delete) in part {
                let said = StopReplicaPartition {
                    partition_index: name.partition,
                    leader_epoch: self.epoch_for_stop(name),
                    delete_partition: **delete,
                };
                match topics.last_mut() {
                    Some(topic) if topic.name == name.topic => topic.partitions.push(said),
                    _ => topics.push(StopReplicaTopic {
                        name: name.topic.clone(),
                        partitions: vec![said],
                    }),
                }
            }
            ControlRequest::StopReplica(StopReplicaRequest {
                controller_id: self.controller_id,
                controller_epoch: self.controller_epoch,
                broker_epoch: broker.epoch,
                topics,
                ..StopReplicaRequest::default()
            })
        };
        partitions.chunks(MOST_PARTITIONS).map(request).collect()
    }

    fn epoch_for_stop(&self, name: &TopicPartition) -> LeaderEpoch {
        match self.partition(name) {
            Some(partition) if !self.image.is_deleting(&name.topic) => partition.leader_epoch,
            _ => EPOCH_DURING_DELETE,
        }
    }
}

fn become_leader_or_follower(
    name: &TopicPartition,
    partition: &PartitionImage,
    is_new: bool,
) -> LeaderAndIsrPartition {
    LeaderAndIsrPartition {
        partition_index: name.partition,
        controller_epoch: partition.controller_epoch,
        leader: partition.leader,
        leader_epoch: partition.leader_epoch,
        isr: partition.isr.clone(),
        partition_epoch: partition.partition_epoch,
        replicas: partition.replicas.clone(),
        adding_replicas: partition.adding_replicas.clone(),
        removing_replicas: partition.removing_replicas.clone(),
        is_new,
        leader_recovery_state: partition.leader_recovery_state,
    }
}

fn live(broker: &Arc<BrokerImage>) -> UpdateMetadataBroker {
    let endpoint = |endpoint: &crate::metadata::BrokerEndpoint| UpdateMetadataEndpoint {
        port: endpoint.port.into(),
        host: endpoint.host.clone(),
        listener: endpoint.listener.clone(),
        security_protocol: 0,
    };
    UpdateMetadataBroker {
        id: broker.id,
        endpoints: broker.endpoints.iter().map(endpoint).collect(),
        rack: broker.rack.clone(),
    }
}
