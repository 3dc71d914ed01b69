//! The topics of which this broker holds replicas, by name and by id, and those partitions.
//!
//! The controller says which; this is the same knowledge in the form that a
//! request needs: one look-up by name or id, one by number. A partition is found by its
//! [`PartitionId`], which is never given twice, so that whoever kept one of a deleted partition finds
//! nothing.

use std::sync::Arc;

use super::admit::{Admission, TopicRules};
use crate::error::{ErrorCode, Refused};
use crate::log::LogConfig;
use crate::ordered::OrderedMap;
use crate::replica::Partition;
use crate::replica::partition::PartitionId;
use crate::types::{PartitionIndex, Uuid};

/// One topic.
#[derive(Clone, Debug)]
pub struct Topic {
    pub name: Arc<str>,
    pub id: Uuid,
    /// Those that this broker holds.
    pub partitions: OrderedMap<PartitionIndex, PartitionId>,
    pub log_config: Arc<LogConfig>,
    /// What its batches are checked against; replaced when the configuration changes.
    pub rules: Arc<TopicRules>,
}

/// All topics and partitions.
#[derive(Clone, Debug, Default)]
pub struct Topics {
    by_name: OrderedMap<Arc<str>, Topic>,
    by_id: OrderedMap<Uuid, Arc<str>>,
    partitions: Vec<Option<Box<Partition>>>,
}

impl Topics {
    pub fn by_name(&self, name: &str) -> Option<&Topic> {
        self.by_name.get(name)
    }

    pub fn by_id(&self, id: Uuid) -> Option<&Topic> {
        self.by_name(self.by_id.get(&id)?)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Topic> {
        self.by_name.values()
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The topic that a request means: by id if it gives one, else by name.
    pub fn resolve(&self, name: &str, id: Uuid) -> Result<&Topic, ErrorCode> {
        if id.is_zero() {
            self.by_name(name).ok_or(ErrorCode::UnknownTopicOrPartition)
        } else {
            self.by_id(id).ok_or(ErrorCode::UnknownTopicId)
        }
    }

    /// The partition that a request means.
    pub fn find(&self, name: &str, id: Uuid, index: PartitionIndex) -> Result<PartitionId, Refused> {
        let topic = self.resolve(name, id)?;
        topic.partitions.get(&index).copied().ok_or_else(|| {
            Refused::new(
                ErrorCode::UnknownTopicOrPartition,
                format!("topic {} has no partition {index}", topic.name),
            )
        })
    }

    pub fn partition(&self, id: PartitionId) -> Option<&Partition> {
        self.partitions.get(id as usize)?.as_deref()
    }

    pub fn partition_mut(&mut self, id: PartitionId) -> Option<&mut Partition> {
        self.partitions.get_mut(id as usize)?.as_deref_mut()
    }

    /// Every partition that there is, in the order in which they came.
    pub fn partitions(&self) -> impl Iterator<Item = (PartitionId, &Partition)> {
        let numbered = self.partitions.iter().enumerate();
        numbered.filter_map(|(id, partition)| Some((id as PartitionId, partition.as_deref()?)))
    }

    /// The number that the next partition added gets; all below were given.
    pub fn next_partition(&self) -> PartitionId {
        self.partitions.len() as PartitionId
    }

    pub fn add_partition(&mut self, partition: Partition) -> PartitionId {
        let id = self.next_partition();
        self.partitions.push(Some(Box::new(partition)));
        id
    }

    pub fn remove_partition(&mut self, id: PartitionId) -> Option<Partition> {
        Some(*self.partitions.get_mut(id as usize)?.take()?)
    }

    /// Adds a topic or takes over its new shape.
    pub fn put(&mut self, topic: Topic) {
        self.by_id.insert(topic.id, topic.name.clone());
        self.by_name.insert(topic.name.clone(), topic);
    }

    /// The topic's partition of this number is that one.
    pub fn place_partition(&mut self, topic: &str, index: PartitionIndex, id: PartitionId) {
        if let Some(topic) = self.by_name.get_mut(topic) {
            topic.partitions.insert(index, id);
        }
    }

    /// The broker holds it no more. True when it held no other of the topic.
    pub fn displace_partition(&mut self, topic: &str, index: PartitionIndex) -> bool {
        self.by_name.get_mut(topic).is_none_or(|topic| {
            topic.partitions.remove(&index);
            topic.partitions.is_empty()
        })
    }

    /// Takes a topic out; its partitions stay until they are removed one by one.
    pub fn remove(&mut self, name: &str) -> Option<Topic> {
        let topic = self.by_name.remove(name)?;
        self.by_id.remove(&topic.id);
        Some(topic)
    }

    /// The rules for the connections' side.
    pub fn admission(&self) -> Admission {
        Admission::new(self.iter().map(|topic| topic.rules.clone()))
    }
}
