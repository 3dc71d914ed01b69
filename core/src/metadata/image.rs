//! The cluster at one moment: topics by name and by id, their partitions, all settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::names::collision_key;
use super::nodes::{self, BadNode};
use crate::config::{BrokerConfig, Settings};
use crate::coordination::{Multi, Tree};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, ProducerId, Uuid};

/// One partition as the tree has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionImage {
    /// The preferred leader first.
    pub replicas: Vec<BrokerId>,
    pub isr: Vec<BrokerId>,
    /// -1: none.
    pub leader: BrokerId,
    pub leader_epoch: LeaderEpoch,
    /// Version of the state node; a change of the ISR must name it.
    pub partition_epoch: i32,
}

/// One topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicImage {
    pub name: Arc<str>,
    pub id: Uuid,
    /// By partition, from 0, without a gap.
    pub partitions: Vec<PartitionImage>,
    /// What the topic itself sets.
    pub configs: Arc<Settings>,
    /// Version of the topic's node, for changes of its partitions.
    pub version: i32,
    /// Version of its settings' node; `None`: not there yet.
    pub config_version: Option<i32>,
}

impl TopicImage {
    pub fn partition(&self, partition: PartitionIndex) -> Option<&PartitionImage> {
        self.partitions.get(usize::try_from(partition).ok()?)
    }

    /// Kafka's own topics, which clients hide (`Topic.isInternal`).
    pub fn is_internal(&self) -> bool {
        is_internal(&self.name)
    }
}

/// Kafka's own topics, which clients hide (`Topic.isInternal`).
pub fn is_internal(name: &str) -> bool {
    matches!(
        name,
        "__consumer_offsets" | "__transaction_state" | "__share_group_state"
    )
}

/// Settings of one owner and the version of their node.
type Versioned = (Arc<Settings>, i32);

/// Everything that answers and decisions need. Shared and never changed; the next one replaces it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataImage {
    cluster_id: Arc<str>,
    topics: BTreeMap<Arc<str>, Arc<TopicImage>>,
    by_id: BTreeMap<Uuid, Arc<str>>,
    by_collision_key: BTreeMap<String, Arc<str>>,
    /// Topics on their way out: clients do not see them, their names are not free yet.
    deleting: BTreeSet<Arc<str>>,
    cluster_configs: Option<Versioned>,
    broker_configs: BTreeMap<BrokerId, Versioned>,
    next_producer_id: ProducerId,
    producer_id_version: Option<i32>,
}

impl MetadataImage {
    /// Reads all of the tree.
    pub fn read(tree: &Tree) -> Result<Self, BadNode> {
        let mut image = Self::default();
        image.read_cluster(tree)?;
        image.read_producer_ids(tree)?;
        for name in tree.children(nodes::BROKER_CONFIGS) {
            image.read_broker_config(tree, name)?;
        }
        for name in tree.children(nodes::TOPICS) {
            image.read_topic(tree, name)?;
        }
        Ok(image)
    }

    /// Takes up what a multi changed: reads again the topics, settings and ids that its paths belong to.
    /// What it wrote was written by this broker, so it can be read.
    pub fn apply(&mut self, tree: &Tree, multi: &Multi) {
        let mut topics = BTreeSet::new();
        for op in &multi.ops {
            let path: &str = op.path();
            let under = |parent: &str| {
                let rest = path.strip_prefix(parent)?.strip_prefix('/')?;
                rest.split('/').next()
            };
            let topic = under(nodes::TOPICS).or_else(|| under(nodes::TOPIC_CONFIGS));
            let read = if let Some(name) = topic.or_else(|| under(nodes::DELETE_TOPICS)) {
                topics.insert(name);
                Ok(())
            } else if let Some(name) = under(nodes::BROKER_CONFIGS) {
                self.read_broker_config(tree, name)
            } else if path == nodes::PRODUCER_ID_BLOCK {
                self.read_producer_ids(tree)
            } else {
                self.read_cluster(tree)
            };
            debug_assert_eq!(read, Ok(()), "a node of our own making");
        }
        for name in topics {
            let read = self.read_topic(tree, name);
            debug_assert_eq!(read, Ok(()), "a node of our own making");
        }
    }

    pub fn cluster_id(&self) -> &Arc<str> {
        &self.cluster_id
    }

    /// The topic, unless it is being deleted.
    pub fn topic(&self, name: &str) -> Option<&Arc<TopicImage>> {
        self.topics
            .get(name)
            .filter(|topic| !self.deleting.contains(&topic.name))
    }

    pub fn topic_by_id(&self, id: Uuid) -> Option<&Arc<TopicImage>> {
        self.topic(self.by_id.get(&id)?)
    }

    /// All topics that clients see, by name.
    pub fn topics(&self) -> impl Iterator<Item = &Arc<TopicImage>> {
        self.topics
            .values()
            .filter(|topic| !self.deleting.contains(&topic.name))
    }

    /// Topics that were marked for deletion and are still there.
    pub fn deleting(&self) -> impl Iterator<Item = &Arc<TopicImage>> {
        self.deleting.iter().filter_map(|name| self.topics.get(name))
    }

    /// Whether a topic of that name, even one on its way out, is there.
    pub fn is_name_taken(&self, name: &str) -> bool {
        self.topics.contains_key(name)
    }

    /// Another topic whose name differs only in '.' and '_'.
    pub fn collides_with(&self, name: &str) -> Option<&Arc<str>> {
        self.by_collision_key
            .get(&collision_key(name))
            .filter(|other| &***other != name)
    }

    /// What is set for all brokers (`None`) or for one, beside `server.properties`.
    pub fn broker_configs(&self, broker: Option<BrokerId>) -> Arc<Settings> {
        self.broker_entry(broker)
            .map(|(settings, _)| settings.clone())
            .unwrap_or_default()
    }

    /// Version of the node of those settings; `None`: not there yet.
    pub fn broker_config_version(&self, broker: Option<BrokerId>) -> Option<i32> {
        self.broker_entry(broker).map(|(_, version)| *version)
    }

    /// The broker's settings with what this image sets for it laid over `server.properties`.
    pub fn effective(&self, broker: &BrokerConfig) -> BrokerConfig {
        broker.with_dynamic(
            &self.broker_configs(None),
            &self.broker_configs(Some(broker.node_id)),
        )
    }

    /// First producer id of the next block, and the version of the block's node.
    pub(super) fn producer_ids(&self) -> (ProducerId, Option<i32>) {
        (self.next_producer_id, self.producer_id_version)
    }

    fn broker_entry(&self, broker: Option<BrokerId>) -> Option<&Versioned> {
        match broker {
            Some(id) => self.broker_configs.get(&id),
            None => self.cluster_configs.as_ref(),
        }
    }

    fn read_cluster(&mut self, tree: &Tree) -> Result<(), BadNode> {
        if let Some(nodes::ClusterId { id, .. }) = nodes::read(tree, nodes::CLUSTER_ID)? {
            self.cluster_id = id.into();
        }
        Ok(())
    }

    fn read_producer_ids(&mut self, tree: &Tree) -> Result<(), BadNode> {
        let block: Option<nodes::ProducerIdBlock> = nodes::read(tree, nodes::PRODUCER_ID_BLOCK)?;
        self.next_producer_id = block.map_or(0, |block| block.block_end.saturating_add(1));
        self.producer_id_version = tree.get(nodes::PRODUCER_ID_BLOCK).map(|node| node.stat.version);
        Ok(())
    }

    fn read_broker_config(&mut self, tree: &Tree, name: &str) -> Result<(), BadNode> {
        let path = format!("{}/{name}", nodes::BROKER_CONFIGS);
        let versioned = read_config(tree, &path)?;
        if name == nodes::DEFAULT_ENTITY {
            self.cluster_configs = versioned;
            return Ok(());
        }
        let id = name.parse().map_err(|_| BadNode {
            path,
            why: "the name is no broker id".to_owned(),
        })?;
        match versioned {
            Some(versioned) => self.broker_configs.insert(id, versioned),
            None => self.broker_configs.remove(&id),
        };
        Ok(())
    }

    fn read_topic(&mut self, tree: &Tree, name: &str) -> Result<(), BadNode> {
        if let Some(before) = self.topics.remove(name) {
            self.by_id.remove(&before.id);
            self.by_collision_key.remove(&collision_key(name));
        }
        self.deleting.remove(name);
        let Some(topic) = read_topic(tree, name)? else {
            return Ok(());
        };
        if tree.exists(&nodes::delete_topic(name)) {
            self.deleting.insert(topic.name.clone());
        }
        self.by_id.insert(topic.id, topic.name.clone());
        self.by_collision_key
            .insert(collision_key(name), topic.name.clone());
        self.topics.insert(topic.name.clone(), Arc::new(topic));
        Ok(())
    }
}

fn read_config(tree: &Tree, path: &str) -> Result<Option<Versioned>, BadNode> {
    let Some(node) = tree.get(path) else {
        return Ok(None);
    };
    let config: Option<nodes::EntityConfig> = nodes::read(tree, path)?;
    let settings = config.map(|entity| entity.config).unwrap_or_default();
    Ok(Some((Arc::new(settings), node.stat.version)))
}

fn read_topic(tree: &Tree, name: &str) -> Result<Option<TopicImage>, BadNode> {
    let path = nodes::topic(name);
    let Some(node) = tree.get(&path) else {
        return Ok(None);
    };
    let bad = |why: &str| BadNode {
        path: path.clone(),
        why: why.to_owned(),
    };
    let assignment: nodes::TopicAssignment = nodes::read(tree, &path)?.ok_or_else(|| bad("it is empty"))?;
    let mut partitions = Vec::with_capacity(assignment.partitions.len());
    for (expected, (index, replicas)) in (0..).zip(assignment.partitions) {
        if index != expected {
            return Err(bad(&format!("partition {expected} is missing")));
        }
        partitions.push(read_partition(tree, name, index, replicas)?);
    }
    let configs = read_config(tree, &nodes::topic_config(name))?;
    Ok(Some(TopicImage {
        name: name.into(),
        id: assignment.topic_id,
        partitions,
        version: node.stat.version,
        config_version: configs.as_ref().map(|(_, version)| *version),
        configs: configs.map(|(settings, _)| settings).unwrap_or_default(),
    }))
}

fn read_partition(
    tree: &Tree,
    name: &str,
    index: PartitionIndex,
    replicas: Vec<BrokerId>,
) -> Result<PartitionImage, BadNode> {
    let path = nodes::partition_state(name, index);
    let state: Option<nodes::PartitionState> = nodes::read(tree, &path)?;
    let state = state.ok_or_else(|| BadNode {
        path: path.clone(),
        why: "it is missing".to_owned(),
    })?;
    Ok(PartitionImage {
        replicas,
        isr: state.isr,
        leader: state.leader,
        leader_epoch: state.leader_epoch,
        partition_epoch: tree.get(&path).map_or(0, |node| node.stat.version),
    })
}
