//! Decisions about topics: create, delete, add partitions. Each looks at an image and answers a
//! [`Multi`] or a refusal with Kafka's code and words (`ReplicationControlManager` of Kafka 4.4).

use std::sync::Arc;

use super::image::{MetadataImage, TopicImage};
use super::names::validate_topic_name;
use super::nodes::{self, EntityConfig, PartitionState, TopicAssignment};
use super::placement::{self, Start, UsableBroker};
use crate::config::{BrokerConfig, Settings, alter};
use crate::coordination::Multi;
use crate::error::{ErrorCode, Refused};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, Rng, Uuid};

/// Most partitions that one topic may gain at a time.
const MAX_PARTITIONS_AT_A_TIME: usize = 10_000;

/// A topic as a client asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTopic {
    pub name: String,
    /// -1: the broker's `num.partitions`, or as many as are assigned.
    pub num_partitions: i32,
    /// -1: the broker's `default.replication.factor`, or as assigned.
    pub replication_factor: i16,
    /// Brokers of each partition, by the client's own choice; empty: the broker's choice.
    pub assignments: Vec<(PartitionIndex, Vec<BrokerId>)>,
    /// A value of `None` is refused.
    pub configs: Vec<(String, Option<String>)>,
}

/// A topic that may come to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    pub name: Arc<str>,
    pub id: Uuid,
    /// Brokers of each partition.
    pub replicas: Vec<Vec<BrokerId>>,
    pub configs: Settings,
    pub multi: Multi,
}

/// May the topic be created, and how? `brokers` are those that live, in order.
pub fn create(
    image: &MetadataImage,
    config: &BrokerConfig,
    brokers: &[UsableBroker],
    new: &NewTopic,
    rng: &mut Rng,
) -> Result<Creation, Refused> {
    check_name(image, &new.name)?;
    let configs = check_configs(&new.configs)?;
    let replicas = if new.assignments.is_empty() {
        spread(config, brokers, new, rng)?
    } else {
        assigned(brokers, new)?
    };
    let id = rng.uuid();
    let mut multi = Multi::new().create(
        nodes::topic(&new.name),
        nodes::write(&TopicAssignment::new(id, &replicas)),
    );
    let (path, settings) = (
        nodes::topic_config(&new.name),
        nodes::write(&EntityConfig::new(configs.clone())),
    );
    // Kafka writes it even when nothing is set, in place of whatever an earlier topic of that name left.
    if image.has_leftover_config(&new.name) {
        multi = multi.delete(path.clone(), None);
    }
    multi = multi.create(path, settings);
    multi = multi.create(nodes::partitions(&new.name), "");
    multi = add_partitions(multi, &new.name, 0, &replicas, image.controller_epoch());
    Ok(Creation {
        name: new.name.as_str().into(),
        id,
        replicas,
        configs,
        multi,
    })
}

/// Marks the topic for deletion: from then on clients do not see it. When its files are gone,
/// [`remove`] takes its nodes away.
pub fn mark_deleted(config: &BrokerConfig, topic: &TopicImage) -> Result<Multi, Refused> {
    if !config.delete_topic_enable {
        return Err(Refused::new(
            ErrorCode::TopicDeletionDisabled,
            "Topic deletion is disabled.",
        ));
    }
    Ok(Multi::new().create(nodes::delete_topic(&topic.name), ""))
}

/// Takes every node of a marked topic away; its name is free then.
pub fn remove(topic: &TopicImage) -> Multi {
    let name = &topic.name;
    let mut multi = Multi::new();
    for index in 0..topic.partitions.len() as PartitionIndex {
        multi = multi
            .delete(nodes::partition_state(name, index), None)
            .delete(nodes::partition(name, index), None);
    }
    multi = multi.delete(nodes::partitions(name), None);
    if topic.config_version.is_some() {
        multi = multi.delete(nodes::topic_config(name), None);
    }
    multi
        .delete(nodes::topic(name), Some(topic.version))
        .delete(nodes::delete_topic(name), None)
}

/// May the topic grow to `count` partitions, and how? `assignments` are of the new ones alone.
pub fn create_partitions(
    brokers: &[UsableBroker],
    topic: &TopicImage,
    controller_epoch: i32,
    count: i32,
    assignments: Option<&[Vec<BrokerId>]>,
    rng: &mut Rng,
) -> Result<Multi, Refused> {
    let now = topic.partitions.len();
    let more = additional(topic, count)?;
    let first = topic.partitions.first();
    let factor = first.map_or(1, |partition| partition.replicas.len());
    let added = match assignments {
        None => {
            check_replication_factor(brokers, factor)?;
            let leader = first.and_then(|partition| partition.replicas.first().copied());
            let start = match leader {
                Some(leader) => Start::after(now, leader, brokers),
                None => Start::drawn(brokers.len(), rng),
            };
            placement::assign(brokers, more, factor, start)
        }
        Some(assignments) => {
            if assignments.len() != more {
                let message = format!(
                    "Attempted to add {more} additional partition(s), but only {} assignment(s) were specified.",
                    assignments.len()
                );
                return Err(Refused::new(ErrorCode::InvalidReplicaAssignment, message));
            }
            assignments
                .iter()
                .try_for_each(|replicas| check_replicas(brokers, replicas, Some(factor)))?;
            assignments.to_vec()
        }
    };
    let mut assignment = assignment_of(topic);
    assignment
        .partitions
        .extend((now as PartitionIndex..).zip(added.iter().cloned()));
    let path = nodes::topic(&topic.name);
    let multi = Multi::new().set(path, nodes::write(&assignment), Some(topic.version));
    Ok(add_partitions(
        multi,
        &topic.name,
        now as PartitionIndex,
        &added,
        controller_epoch,
    ))
}

/// What the topic's node says now.
pub fn assignment_of(topic: &TopicImage) -> TopicAssignment {
    let mut assignment = TopicAssignment::new(topic.id, &[]);
    for (index, partition) in (0..).zip(&topic.partitions) {
        assignment.partitions.insert(index, partition.replicas.clone());
        if !partition.adding_replicas.is_empty() {
            let adding = partition.adding_replicas.clone();
            assignment.adding_replicas.insert(index, adding);
        }
        if !partition.removing_replicas.is_empty() {
            let removing = partition.removing_replicas.clone();
            assignment.removing_replicas.insert(index, removing);
        }
    }
    assignment
}

fn check_name(image: &MetadataImage, name: &str) -> Result<(), Refused> {
    if name == "__cluster_metadata" {
        let message = format!("Creation of internal topic {name} is prohibited.");
        return Err(Refused::new(ErrorCode::InvalidRequest, message));
    }
    validate_topic_name(name).map_err(|why| Refused::new(ErrorCode::InvalidTopicException, why))?;
    if image.is_name_taken(name) {
        return Err(Refused::new(
            ErrorCode::TopicAlreadyExists,
            format!("Topic '{name}' already exists."),
        ));
    }
    match image.collides_with(name) {
        None => Ok(()),
        Some(other) => {
            let message = format!("Topic '{name}' collides with existing topic: {other}");
            Err(Refused::new(ErrorCode::InvalidTopicException, message))
        }
    }
}

fn check_configs(given: &[(String, Option<String>)]) -> Result<Settings, Refused> {
    let nulls: Vec<&str> = given
        .iter()
        .filter(|(_, value)| value.is_none())
        .map(|(key, _)| key.as_str())
        .collect();
    if !nulls.is_empty() {
        let message = format!("Null value not supported for topic configs: {}", nulls.join(","));
        return Err(Refused::new(ErrorCode::InvalidConfig, message));
    }
    let configs = given
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), value.clone()?)))
        .collect();
    alter::check_topic(&configs)?;
    Ok(configs)
}

/// The broker's own choice of replicas.
fn spread(
    config: &BrokerConfig,
    brokers: &[UsableBroker],
    new: &NewTopic,
    rng: &mut Rng,
) -> Result<Vec<Vec<BrokerId>>, Refused> {
    if new.replication_factor < -1 || new.replication_factor == 0 {
        let message = "Replication factor must be larger than 0, or -1 to use the default value.";
        return Err(Refused::new(ErrorCode::InvalidReplicationFactor, message));
    }
    if new.num_partitions < -1 || new.num_partitions == 0 {
        let message = "Number of partitions was set to an invalid non-positive value.";
        return Err(Refused::new(ErrorCode::InvalidPartitions, message));
    }
    let count = if new.num_partitions == -1 {
        config.num_partitions
    } else {
        new.num_partitions
    };
    let factor = if new.replication_factor == -1 {
        config.default_replication_factor
    } else {
        new.replication_factor
    };
    let (count, factor) = (
        usize::try_from(count).unwrap_or(0),
        usize::try_from(factor).unwrap_or(0),
    );
    if count > MAX_PARTITIONS_AT_A_TIME {
        let message = "Excessively large number of partitions per request.";
        return Err(Refused::new(ErrorCode::PolicyViolation, message));
    }
    check_replication_factor(brokers, factor)?;
    Ok(placement::assign(
        brokers,
        count,
        factor,
        Start::drawn(brokers.len(), rng),
    ))
}

fn check_replication_factor(brokers: &[UsableBroker], factor: usize) -> Result<(), Refused> {
    if factor <= brokers.len() {
        return Ok(());
    }
    let message = format!(
        "Unable to replicate the partition {factor} time(s): The target replication factor of {factor} cannot be \
         reached because only {} broker(s) are registered or some brokers have all their log directories cordoned.",
        brokers.len()
    );
    Err(Refused::new(ErrorCode::InvalidReplicationFactor, message))
}

/// The client's choice of replicas.
fn assigned(brokers: &[UsableBroker], new: &NewTopic) -> Result<Vec<Vec<BrokerId>>, Refused> {
    let refuse = |code, message: &str| Err(Refused::new(code, message));
    if new.replication_factor != -1 {
        let message =
            "A manual partition assignment was specified, but replication factor was not set to -1.";
        return refuse(ErrorCode::InvalidRequest, message);
    }
    if new.num_partitions != -1 {
        let message = "A manual partition assignment was specified, but numPartitions was not set to -1.";
        return refuse(ErrorCode::InvalidRequest, message);
    }
    let assignments: OrderedMap<_, _> = new.assignments.iter().cloned().collect();
    if assignments.len() < new.assignments.len() {
        let message = "Found multiple manual partition assignments for the same partition";
        return refuse(ErrorCode::InvalidReplicaAssignment, message);
    }
    if assignments.len() > MAX_PARTITIONS_AT_A_TIME {
        return refuse(
            ErrorCode::PolicyViolation,
            "Excessively large number of partitions per request.",
        );
    }
    let mut factor = None;
    for replicas in assignments.values() {
        check_replicas(brokers, replicas, factor)?;
        factor = Some(replicas.len());
    }
    if (0..)
        .zip(assignments.keys())
        .any(|(expected, index)| *index != expected)
    {
        let message = "partitions should be a consecutive 0-based integer sequence";
        return refuse(ErrorCode::InvalidReplicaAssignment, message);
    }
    Ok(assignments.into_values().collect())
}

/// Whether a partition may be held by these brokers, with Kafka's words when not.
pub fn check_replicas(
    brokers: &[UsableBroker],
    replicas: &[BrokerId],
    factor: Option<usize>,
) -> Result<(), Refused> {
    let refuse = |message: String| Err(Refused::new(ErrorCode::InvalidReplicaAssignment, message));
    if replicas.is_empty() {
        return refuse("The manual partition assignment includes an empty replica list.".to_owned());
    }
    let mut seen = OrderedSet::new();
    if let Some(twice) = replicas.iter().find(|broker| !seen.insert(**broker)) {
        return refuse(format!(
            "The manual partition assignment includes the broker {twice} more than once."
        ));
    }
    if let Some(unknown) = seen
        .iter()
        .find(|id| brokers.iter().all(|broker| broker.id != **id))
    {
        return refuse(format!(
            "The manual partition assignment includes broker {unknown}, but no such broker is registered."
        ));
    }
    match factor {
        Some(factor) if factor != replicas.len() => refuse(format!(
            "The manual partition assignment includes a partition with {} replica(s), but this is not consistent \
             with previous partitions, which have {factor} replica(s).",
            replicas.len()
        )),
        _ => Ok(()),
    }
}

fn additional(topic: &TopicImage, count: i32) -> Result<usize, Refused> {
    let now = topic.partitions.len();
    let asked = usize::try_from(count).unwrap_or(0);
    if asked == now {
        let message = format!("Topic already has {now} partition(s).");
        return Err(Refused::new(ErrorCode::InvalidPartitions, message));
    }
    if asked < now {
        let message = format!(
            "The topic {} currently has {now} partition(s); {count} would not be an increase.",
            topic.name
        );
        return Err(Refused::new(ErrorCode::InvalidPartitions, message));
    }
    if asked - now > MAX_PARTITIONS_AT_A_TIME {
        let message = "Excessively large number of additional partitions per request.";
        return Err(Refused::new(ErrorCode::PolicyViolation, message));
    }
    Ok(asked - now)
}

/// These partitions enter new leader epochs under the leader they have.
pub fn raise_leader_epochs(topic: &TopicImage, epochs: &[(PartitionIndex, LeaderEpoch)]) -> Multi {
    epochs.iter().fold(Multi::new(), |multi, &(index, leader_epoch)| {
        let Some(partition) = topic.partition(index) else {
            return multi;
        };
        let state = PartitionState {
            controller_epoch: 0,
            isr: partition.isr.clone(),
            leader: partition.leader,
            leader_epoch,
            leader_recovery_state: 0,
            version: 1,
        };
        let path = nodes::partition_state(&topic.name, index);
        multi.set(path, nodes::write(&state), Some(partition.partition_epoch))
    })
}

/// Nodes of partitions from `first` on, each led by its preferred replica, all replicas in sync: they
/// live, or they could not be chosen.
fn add_partitions(
    multi: Multi,
    name: &str,
    first: PartitionIndex,
    replicas: &[Vec<BrokerId>],
    controller_epoch: i32,
) -> Multi {
    (first..).zip(replicas).fold(multi, |multi, (index, replicas)| {
        let state = PartitionState {
            controller_epoch,
            isr: replicas.clone(),
            leader: replicas.first().copied().unwrap_or(-1),
            leader_epoch: 0,
            leader_recovery_state: 0,
            version: 1,
        };
        multi
            .create(nodes::partition(name, index), "")
            .create(nodes::partition_state(name, index), nodes::write(&state))
    })
}
