//! The cluster at one moment: brokers, topics by name and by id, their partitions, all settings.
//!
//! Two readers have one each. A controller's is read from the nodes that it has loaded and follows
//! each of its own multis ([`MetadataImage::read`], [`MetadataImage::apply`]). A broker's is what it was
//! told by UpdateMetadata and has read under `/config` ([`told`](super::told)).

use std::ops::Bound;
use std::sync::Arc;

use super::names::collision_key;
use super::nodes::{self, BadNode, NodeSource};
use super::placement::UsableBroker;
use crate::config::{BrokerConfig, Endpoint, Settings};
use crate::coordination::Multi;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::{BrokerId, LeaderEpoch, LeaderRecoveryState, PartitionIndex, ProducerId, Uuid};

/// A partition's state is not written yet: it has no leader and no epochs.
pub const NO_STATE: i32 = -1;
/// "No leader."
pub const NO_LEADER: BrokerId = -1;

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionImage {
    /// The preferred leader first; of a moving partition the wanted ones first, then those that go.
    pub replicas: Vec<BrokerId>,
    /// Of a moving partition, those that come.
    pub adding_replicas: Vec<BrokerId>,
    /// Of a moving partition, those that go.
    pub removing_replicas: Vec<BrokerId>,
    pub isr: Vec<BrokerId>,
    /// [`NO_LEADER`]: none.
    pub leader: BrokerId,
    pub leader_epoch: LeaderEpoch,
    /// Recovering: the leader was elected outside the ISR and has not said yet that it is done with that.
    pub leader_recovery_state: LeaderRecoveryState,
    /// Version of the state node; a change of the ISR must name it. [`NO_STATE`]: there is none yet.
    pub partition_epoch: i32,
    /// Of the controller that wrote the state.
    pub controller_epoch: i32,
    /// As UpdateMetadata told. Empty in a controller's image, which knows it from brokers and directories.
    pub offline_replicas: Vec<BrokerId>,
}

impl PartitionImage {
    /// Assigned, and not led yet.
    pub fn without_state(replicas: Vec<BrokerId>) -> Self {
        Self {
            replicas,
            adding_replicas: Vec::new(),
            removing_replicas: Vec::new(),
            isr: Vec::new(),
            leader: NO_LEADER,
            leader_epoch: -1,
            leader_recovery_state: LeaderRecoveryState::Recovered,
            partition_epoch: NO_STATE,
            controller_epoch: -1,
            offline_replicas: Vec::new(),
        }
    }

    pub fn has_state(&self) -> bool {
        self.partition_epoch != NO_STATE
    }

    pub fn is_reassigning(&self) -> bool {
        !self.adding_replicas.is_empty() || !self.removing_replicas.is_empty()
    }
}

/// A broker that is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerImage {
    pub id: BrokerId,
    /// `czxid` of its node: names one registration of it. -1: not known.
    pub epoch: i64,
    pub endpoints: Vec<BrokerEndpoint>,
    pub rack: Option<Arc<str>>,
}

impl BrokerImage {
    /// Where others on this listener reach it.
    pub fn endpoint(&self, listener: &str) -> Option<&BrokerEndpoint> {
        self.endpoints
            .iter()
            .find(|endpoint| &*endpoint.listener == listener)
    }
}

/// An address of a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerEndpoint {
    pub listener: Arc<str>,
    pub host: Arc<str>,
    pub port: u16,
}

impl From<Endpoint> for BrokerEndpoint {
    fn from(endpoint: Endpoint) -> Self {
        Self {
            listener: endpoint.name.into(),
            host: endpoint.host.into(),
            port: endpoint.port,
        }
    }
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataImage {
    pub(super) cluster_id: Arc<str>,
    /// -1: none is known.
    pub(super) controller_id: BrokerId,
    /// The highest that was heard of.
    pub(super) controller_epoch: i32,
    pub(super) brokers: OrderedMap<BrokerId, Arc<BrokerImage>>,
    pub(super) topics: OrderedMap<Arc<str>, Arc<TopicImage>>,
    pub(super) by_id: OrderedMap<Uuid, Arc<str>>,
    pub(super) by_collision_key: OrderedMap<String, Arc<str>>,
    /// Topics on their way out: clients do not see them, their names are not free yet.
    deleting: OrderedSet<Arc<str>>,
    /// Names under `/config/topics` of which there is no topic.
    leftover_configs: OrderedSet<Arc<str>>,
    pub(super) cluster_configs: Option<Versioned>,
    pub(super) broker_configs: OrderedMap<BrokerId, Versioned>,
    next_producer_id: ProducerId,
    producer_id_version: Option<i32>,
}

impl Default for MetadataImage {
    /// Nothing is known.
    fn default() -> Self {
        Self {
            cluster_id: "".into(),
            controller_id: -1,
            controller_epoch: 0,
            brokers: OrderedMap::new(),
            topics: OrderedMap::new(),
            by_id: OrderedMap::new(),
            by_collision_key: OrderedMap::new(),
            deleting: OrderedSet::new(),
            leftover_configs: OrderedSet::new(),
            cluster_configs: None,
            broker_configs: OrderedMap::new(),
            next_producer_id: 0,
            producer_id_version: None,
        }
    }
}

impl MetadataImage {
    /// Reads all that is there. A node that cannot be read is left out and named: what hangs on it is
    /// not known, the rest is.
    pub fn read(source: &impl NodeSource) -> (Self, Vec<BadNode>) {
        let mut image = Self::default();
        let mut bad = Vec::new();
        bad.extend(image.read_cluster(source).err());
        bad.extend(image.read_producer_ids(source).err());
        for name in source.child_names(nodes::BROKER_IDS) {
            bad.extend(image.read_broker(source, &name).err());
        }
        for name in source.child_names(nodes::BROKER_CONFIGS) {
            bad.extend(image.read_broker_config(source, &name).err());
        }
        for name in source.child_names(nodes::TOPICS) {
            bad.extend(image.read_topic(source, &name).err());
        }
        for name in source.child_names(nodes::TOPIC_CONFIGS) {
            image.look_for_leftover(source, &name);
        }
        (image, bad)
    }

    /// Takes up what a multi changed: reads again the topics, brokers, settings and ids that its paths
    /// belong to. What cannot be read is left out and named.
    pub fn apply(&mut self, source: &impl NodeSource, multi: &Multi) -> Vec<BadNode> {
        let owners: OrderedSet<Changed> = multi.ops.iter().filter_map(|op| Changed::at(op.path())).collect();
        let read = owners.into_iter().map(|owner| self.read_again(source, owner));
        read.filter_map(Result::err).collect()
    }

    /// Reads again what hangs on the node at this path, after it was changed by somebody.
    pub fn follow(&mut self, source: &impl NodeSource, path: &str) -> Result<(), BadNode> {
        Changed::at(path).map_or(Ok(()), |owner| self.read_again(source, owner))
    }

    fn read_again(&mut self, source: &impl NodeSource, owner: Changed) -> Result<(), BadNode> {
        match owner {
            Changed::Cluster => self.read_cluster(source),
            Changed::ProducerIds => self.read_producer_ids(source),
            Changed::Broker(name) => self.read_broker(source, name),
            Changed::BrokerConfig(name) => self.read_broker_config(source, name),
            Changed::Topic(name) => self.read_topic(source, name),
        }
    }

    /// The state of one partition, as a controller wrote it just now.
    pub fn set_partition(&mut self, topic: &str, index: PartitionIndex, partition: PartitionImage) {
        let Some(topic) = self.topics.get_mut(topic) else {
            return;
        };
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        if let Some(place) = Arc::make_mut(topic).partitions.get_mut(at) {
            *place = partition;
        }
    }

    /// The topic's node was written just now, without anything in it that the image does not have.
    pub fn set_topic_version(&mut self, topic: &str, version: i32) {
        if let Some(topic) = self.topics.get_mut(topic) {
            Arc::make_mut(topic).version = version;
        }
    }

    /// The topic stays as it was known, since its node cannot be read any more.
    pub fn keep_topic(&mut self, topic: Arc<TopicImage>) {
        self.put_topic(topic);
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

    /// The topic, whether it is being deleted or not.
    pub fn topic_even_deleting(&self, name: &str) -> Option<&Arc<TopicImage>> {
        self.topics.get(name)
    }

    pub fn is_deleting(&self, name: &str) -> bool {
        self.deleting.contains(name)
    }

    /// All topics, those that are being deleted too, by name.
    pub fn all_topics(&self) -> impl Iterator<Item = &Arc<TopicImage>> {
        self.topics.values()
    }

    /// The same, from this name on.
    pub fn all_topics_from<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Arc<TopicImage>> + use<'a> {
        let from = (Bound::Included(name), Bound::Unbounded);
        self.topics.range::<str, _>(from).map(|(_, topic)| topic)
    }

    /// The brokers that are registered, by id.
    pub fn brokers(&self) -> impl Iterator<Item = &Arc<BrokerImage>> {
        self.brokers.values()
    }

    pub fn broker(&self, id: BrokerId) -> Option<&Arc<BrokerImage>> {
        self.brokers.get(&id)
    }

    /// The registered brokers, as those that may hold a replica.
    pub fn usable_brokers(&self) -> Vec<UsableBroker> {
        let usable = |broker: &Arc<BrokerImage>| UsableBroker {
            id: broker.id,
            rack: broker.rack.as_deref().map(str::to_owned),
        };
        self.brokers.values().map(usable).collect()
    }

    /// -1: none is known.
    pub fn controller_id(&self) -> BrokerId {
        self.controller_id
    }

    /// The highest epoch of a controller that was heard of.
    pub fn controller_epoch(&self) -> i32 {
        self.controller_epoch
    }

    pub fn set_controller(&mut self, id: BrokerId, epoch: i32) {
        self.controller_id = id;
        self.controller_epoch = self.controller_epoch.max(epoch);
    }

    /// Topics that were marked for deletion and are still there.
    pub fn deleting(&self) -> impl Iterator<Item = &Arc<TopicImage>> {
        self.deleting.iter().filter_map(|name| self.topics.get(name))
    }

    /// Whether a topic of that name, even one on its way out, is there.
    pub fn is_name_taken(&self, name: &str) -> bool {
        self.topics.contains_key(name)
    }

    /// Whether settings lie there of a topic of that name that there is not.
    pub fn has_leftover_config(&self, name: &str) -> bool {
        self.leftover_configs.contains(name)
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

    fn broker_entry(&self, broker: Option<BrokerId>) -> Option<&Versioned> {
        match broker {
            Some(id) => self.broker_configs.get(&id),
            None => self.cluster_configs.as_ref(),
        }
    }

    fn read_cluster(&mut self, source: &impl NodeSource) -> Result<(), BadNode> {
        if let Some(nodes::ClusterId { id, .. }) = nodes::read(source, nodes::CLUSTER_ID)? {
            self.cluster_id = id.into();
        }
        Ok(())
    }

    fn read_producer_ids(&mut self, source: &impl NodeSource) -> Result<(), BadNode> {
        let block: Option<nodes::ProducerIdBlock> = nodes::read(source, nodes::PRODUCER_ID_BLOCK)?;
        self.next_producer_id = block.map_or(0, |block| block.block_end.saturating_add(1));
        self.producer_id_version = source.node(nodes::PRODUCER_ID_BLOCK).map(|node| node.version);
        Ok(())
    }

    fn read_broker(&mut self, source: &impl NodeSource, name: &str) -> Result<(), BadNode> {
        let path = format!("{}/{name}", nodes::BROKER_IDS);
        let id = broker_id(&path, name)?;
        self.brokers.remove(&id);
        let Some(epoch) = source.node(&path).map(|node| node.czxid) else {
            return Ok(());
        };
        let node: nodes::Broker = nodes::read(source, &path)?.ok_or_else(|| BadNode {
            path,
            why: "it is empty".to_owned(),
        })?;
        let broker = BrokerImage {
            id,
            epoch,
            endpoints: node.endpoints().into_iter().map(BrokerEndpoint::from).collect(),
            rack: node.rack.map(Arc::from),
        };
        self.brokers.insert(id, Arc::new(broker));
        Ok(())
    }

    fn read_broker_config(&mut self, source: &impl NodeSource, name: &str) -> Result<(), BadNode> {
        let path = format!("{}/{name}", nodes::BROKER_CONFIGS);
        let versioned = read_config(source, &path)?;
        if name == nodes::DEFAULT_ENTITY {
            self.cluster_configs = versioned;
            return Ok(());
        }
        let id = broker_id(&path, name)?;
        match versioned {
            Some(versioned) => self.broker_configs.insert(id, versioned),
            None => self.broker_configs.remove(&id),
        };
        Ok(())
    }

    fn read_topic(&mut self, source: &impl NodeSource, name: &str) -> Result<(), BadNode> {
        self.forget_topic(name);
        self.look_for_leftover(source, name);
        let Some(topic) = read_topic(source, name)? else {
            return Ok(());
        };
        if source.node(&nodes::delete_topic(name)).is_some() {
            self.deleting.insert(topic.name.clone());
        }
        self.put_topic(topic);
        Ok(())
    }

    fn look_for_leftover(&mut self, source: &impl NodeSource, name: &str) {
        let is_there = |path: &str| source.node(path).is_some();
        if is_there(&nodes::topic_config(name)) && !is_there(&nodes::topic(name)) {
            self.leftover_configs.insert(name.into());
        } else {
            self.leftover_configs.remove(name);
        }
    }

    pub(super) fn put_topic(&mut self, topic: impl Into<Arc<TopicImage>>) {
        let topic = topic.into();
        self.by_id.insert(topic.id, topic.name.clone());
        self.by_collision_key
            .insert(collision_key(&topic.name), topic.name.clone());
        self.topics.insert(topic.name.clone(), topic);
    }

    pub(super) fn forget_topic(&mut self, name: &str) {
        if let Some(before) = self.topics.remove(name) {
            self.by_id.remove(&before.id);
            self.by_collision_key.remove(&collision_key(name));
        }
        self.deleting.remove(name);
    }
}

/// What a node belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Changed<'a> {
    Cluster,
    ProducerIds,
    Broker(&'a str),
    BrokerConfig(&'a str),
    Topic(&'a str),
}

impl<'a> Changed<'a> {
    /// `None`: the image does not hold what is there.
    fn at(path: &'a str) -> Option<Self> {
        let under = |parent: &str| {
            let rest = path.strip_prefix(parent)?.strip_prefix('/')?;
            rest.split('/').next()
        };
        let topic = [nodes::TOPICS, nodes::TOPIC_CONFIGS, nodes::DELETE_TOPICS]
            .into_iter()
            .find_map(under);
        match path {
            nodes::CLUSTER_ID => Some(Changed::Cluster),
            nodes::PRODUCER_ID_BLOCK => Some(Changed::ProducerIds),
            _ => topic
                .map(Changed::Topic)
                .or_else(|| under(nodes::BROKER_IDS).map(Changed::Broker))
                .or_else(|| under(nodes::BROKER_CONFIGS).map(Changed::BrokerConfig)),
        }
    }
}

fn broker_id(path: &str, name: &str) -> Result<BrokerId, BadNode> {
    name.parse().map_err(|_| BadNode {
        path: path.to_owned(),
        why: "the name is no broker id".to_owned(),
    })
}

fn read_config(source: &impl NodeSource, path: &str) -> Result<Option<Versioned>, BadNode> {
    let Some(node) = source.node(path) else {
        return Ok(None);
    };
    let config: Option<nodes::EntityConfig> = nodes::read(source, path)?;
    let settings = config.map(|entity| entity.config).unwrap_or_default();
    Ok(Some((Arc::new(settings), node.version)))
}

fn read_topic(source: &impl NodeSource, name: &str) -> Result<Option<TopicImage>, BadNode> {
    let path = nodes::topic(name);
    let Some(node) = source.node(&path) else {
        return Ok(None);
    };
    let bad = |why: &str| BadNode {
        path: path.clone(),
        why: why.to_owned(),
    };
    let assignment: nodes::TopicAssignment = nodes::read(source, &path)?.ok_or_else(|| bad("it is empty"))?;
    let mut partitions = Vec::with_capacity(assignment.partitions.len());
    for (expected, (&index, replicas)) in (0..).zip(&assignment.partitions) {
        if index != expected {
            return Err(bad(&format!("partition {expected} is missing")));
        }
        if replicas.is_empty() {
            return Err(bad(&format!("partition {index} has no replicas")));
        }
        let mut partition = PartitionImage::without_state(replicas.clone());
        let moving =
            |of: &OrderedMap<PartitionIndex, Vec<BrokerId>>| of.get(&index).cloned().unwrap_or_default();
        partition.adding_replicas = moving(&assignment.adding_replicas);
        partition.removing_replicas = moving(&assignment.removing_replicas);
        read_state(source, name, index, &mut partition)?;
        partitions.push(partition);
    }
    let configs = read_config(source, &nodes::topic_config(name))?;
    Ok(Some(TopicImage {
        name: name.into(),
        id: assignment.topic_id,
        partitions,
        version: node.version,
        config_version: configs.as_ref().map(|(_, version)| *version),
        configs: configs.map(|(settings, _)| settings).unwrap_or_default(),
    }))
}

/// Takes up the partition's state, if it is written.
fn read_state(
    source: &impl NodeSource,
    name: &str,
    index: PartitionIndex,
    partition: &mut PartitionImage,
) -> Result<(), BadNode> {
    let path = nodes::partition_state(name, index);
    let state: Option<nodes::PartitionState> = nodes::read(source, &path)?;
    if let (Some(state), Some(node)) = (state, source.node(&path)) {
        partition.isr = state.isr;
        partition.leader = state.leader;
        partition.leader_epoch = state.leader_epoch;
        partition.leader_recovery_state =
            LeaderRecoveryState::from_code(state.leader_recovery_state).unwrap_or_default();
        partition.controller_epoch = state.controller_epoch;
        partition.partition_epoch = node.version;
    }
    Ok(())
}
