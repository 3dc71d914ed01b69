//! Beginning and ending replicas as the controller decides (`ReplicaManager.becomeLeaderOrFollower`,
//! `stopReplicas`).
//!
//! A replica is begun with the log that was found on disk, if there is one of its topic's id, else with
//! a new one in the emptiest directory. What its new role completes (acknowledgements that will never
//! come, fetches that must look again) is told at once.

use std::sync::Arc;

use crate::broker::admit::TopicRules;
use crate::broker::produce::deleted;
use crate::broker::topics::Topic;
use crate::broker::{State, inspect};
use crate::config::TopicConfig;
use crate::cx::Cx;
use crate::disk::{DirId, DiskOp};
use crate::error::{ErrorCode, Refused};
use crate::log::Log;
use crate::protocol::control::{EPOCH_DURING_DELETE, LeaderAndIsrPartition, StopReplicaPartition};
use crate::replica::partition::PartitionId;
use crate::replica::{Partition, PartitionState, Transition};
use crate::trace::Fact;
use crate::types::{NO_BROKER, TopicPartition, Uuid};

impl State {
    /// This broker leads or follows the partition from now on.
    pub(super) fn lead_or_follow(
        &mut self,
        cx: &mut Cx,
        name: &Arc<str>,
        topic_id: Uuid,
        told: &LeaderAndIsrPartition,
    ) -> Result<(), Refused> {
        let me = self.config.node_id;
        if !told.replicas.contains(&me) {
            let why = format!("broker {me} holds no replica of {name}-{}", told.partition_index);
            return Err(Refused::new(ErrorCode::UnknownTopicOrPartition, why));
        }
        let topic_id = self.put_topic(name, topic_id)?;
        let id = self.replica_of(cx, name, topic_id, told);
        let state = PartitionState {
            leader: told.leader,
            leader_epoch: told.leader_epoch,
            partition_epoch: told.partition_epoch,
            isr: told.isr.clone(),
            replicas: told.replicas.clone(),
            adding_replicas: told.adding_replicas.clone(),
            removing_replicas: told.removing_replicas.clone(),
        };
        let Some(partition) = self.topics.partition_mut(id) else {
            return Err(ErrorCode::UnknownTopicOrPartition.into());
        };
        if told.leader == me {
            self.fetch_no_more(id);
            let Some(partition) = self.topics.partition_mut(id) else {
                return Err(ErrorCode::UnknownTopicOrPartition.into());
            };
            let transition = partition.make_leader(cx, &self.replication, &state)?;
            self.transition_made(cx, id, transition);
            self.groups_follow_leadership(cx, id);
        } else {
            let transition = partition.make_follower(cx, &state)?;
            let begins_anew = transition.new_epoch;
            let is_online = partition.is_online();
            self.groups_leave(cx, id);
            self.transition_made(cx, id, transition);
            if begins_anew {
                self.fetch_no_more(id);
                if told.leader != NO_BROKER && is_online {
                    self.fetch_from(cx, id, told.leader);
                }
            }
            if !is_online {
                return Err(ErrorCode::KafkaStorageError.into());
            }
        }
        Ok(())
    }

    fn transition_made(&mut self, cx: &mut Cx, id: PartitionId, transition: Transition) {
        let dir = self.topics.partition(id).map(Partition::dir);
        if let Some(dir) = dir {
            self.after_partition(cx, dir, id);
        }
        self.partition_moved(cx, id, transition.moved);
        self.reschedule(id);
    }

    /// The topic in this broker's own list, with the settings that are known now. Gives its id.
    pub(super) fn put_topic(&mut self, name: &Arc<str>, id: Uuid) -> Result<Uuid, Refused> {
        if let Some(topic) = self.topics.by_name(name) {
            if id.is_zero() || topic.id == id {
                return Ok(topic.id);
            }
            let why = format!("topic {name} is known here by the id {}, not {id}", topic.id);
            return Err(Refused::new(ErrorCode::InconsistentTopicId, why));
        }
        self.refresh_topic(name, id);
        Ok(id)
    }

    /// Takes over the topic's settings as they are known now.
    pub(in crate::broker) fn refresh_topic(&mut self, name: &Arc<str>, id: Uuid) {
        let settings = self.cluster.configs.of_topic(name);
        let config = TopicConfig::resolve(&self.config, &settings);
        let partitions = self.topics.by_name(name).map(|topic| topic.partitions.clone());
        self.topics.put(Topic {
            name: name.clone(),
            id,
            partitions: partitions.unwrap_or_default(),
            log_config: Arc::new(config.log_config()),
            rules: Arc::new(TopicRules {
                name: name.clone(),
                id,
                validation: config.validation_rules(),
            }),
        });
        self.admission_changed = true;
    }

    /// The replica as this broker has it, begun now if it has not.
    fn replica_of(
        &mut self,
        cx: &mut Cx,
        name: &Arc<str>,
        topic_id: Uuid,
        told: &LeaderAndIsrPartition,
    ) -> PartitionId {
        let index = told.partition_index;
        let known = self
            .topics
            .by_name(name)
            .and_then(|topic| topic.partitions.get(&index));
        if let Some(&id) = known {
            return id;
        }
        let at = TopicPartition::new(name.clone(), index);
        let partition = self.new_replica(cx, &at, topic_id, told.is_new);
        if let Ok(log) = partition.log() {
            cx.emit(|| Fact::ReplicaOpened {
                partition: at.clone(),
                log_start: log.log_start(),
                log_end: log.log_end(),
                high_watermark: partition.high_watermark(),
                epochs: inspect::epochs(log),
            });
        }
        let id = self.topics.add_partition(partition);
        self.topics.place_partition(name, index, id);
        id
    }

    /// With the log that was found; else, unless a lost directory may have it, with a new one.
    fn new_replica(&mut self, cx: &mut Cx, name: &TopicPartition, topic_id: Uuid, is_new: bool) -> Partition {
        let config = self.topics.by_name(&name.topic).map_or_else(
            || self.log_config_of(&name.topic),
            |topic| topic.log_config.clone(),
        );
        if let Some(held) = self.claim(cx, name, topic_id) {
            let log = Log::open(cx, held.recovered, config);
            return Partition::new(log, held.high_watermark);
        }
        let lost = self.directories.iter().find(|(_, dir)| dir.failed.is_some());
        match (lost.map(|(dir, _)| dir), self.directories.emptiest()) {
            (Some(lost), _) if !is_new => Partition::offline(name.clone(), topic_id, lost),
            (_, Some(dir)) => {
                self.count_partition(dir);
                Partition::new(Log::create(cx, name.clone(), dir, topic_id, config), 0)
            }
            (lost, None) => Partition::offline(name.clone(), topic_id, lost.unwrap_or_default()),
        }
    }

    fn count_partition(&mut self, dir: DirId) {
        if let Some(dir) = self.directories.get_mut(dir) {
            dir.partitions += 1;
        }
    }

    /// This broker follows the partition no more, and deletes its log if it is told so.
    pub(super) fn stop_replica(
        &mut self,
        cx: &mut Cx,
        topic: &Arc<str>,
        told: &StopReplicaPartition,
    ) -> Result<(), Refused> {
        let index = told.partition_index;
        let known = self
            .topics
            .by_name(topic)
            .and_then(|topic| topic.partitions.get(&index).copied());
        let Some(id) = known else {
            let name = TopicPartition::new(topic.clone(), index);
            if told.delete_partition
                && let Some(held) = self.cluster.held.remove(&name)
            {
                let config = self.log_config_of(topic);
                let log = Log::open(cx, held.recovered, config);
                self.delete_log(cx, log);
            }
            return Ok(());
        };
        let epoch = self.topics.partition(id).map_or(-1, Partition::leader_epoch);
        let any = [EPOCH_DURING_DELETE, crate::types::NO_EPOCH];
        if !any.contains(&told.leader_epoch) && told.leader_epoch < epoch {
            let why = format!(
                "{topic}-{index} is in leader epoch {epoch}, not {}",
                told.leader_epoch
            );
            return Err(Refused::new(ErrorCode::FencedLeaderEpoch, why));
        }
        self.fetch_no_more(id);
        self.groups_leave(cx, id);
        if !told.delete_partition {
            // It goes on being known, as a follower of nobody, until the next word.
            return Ok(());
        }
        self.drop_replica(cx, topic, id, index);
        Ok(())
    }

    fn drop_replica(&mut self, cx: &mut Cx, topic: &Arc<str>, id: PartitionId, index: i32) {
        // Who looks again shall not find it.
        if self.topics.displace_partition(topic, index) {
            self.topics.remove(topic);
            self.cluster.configs.forget_topic(topic);
            self.admission_changed = true;
        }
        self.wake_watchers(cx, id);
        let Some(mut partition) = self.topics.remove_partition(id) else {
            return;
        };
        cx.emit(|| Fact::ReplicaClosed {
            partition: partition.name().clone(),
        });
        if let Some(timer) = partition.timer {
            self.timers.cancel_log(timer, id);
        }
        let gone = deleted();
        for waiting in partition.take_waiting() {
            self.produce_part_done(waiting, Some(&gone));
        }
        self.low_watermark_moved(id);
        if let Some(log) = partition.into_log() {
            self.delete_log(cx, log);
        }
    }

    fn delete_log(&mut self, cx: &mut Cx, log: Log) {
        let dir = log.dir();
        if let Some(found) = self.directories.get_mut(dir) {
            found.partitions = found.partitions.saturating_sub(1);
            found.checkpoints_stale = true;
        }
        self.timers.unlink_later(log.delete(cx));
        cx.disk.push(dir, DiskOp::SyncDirectory { path: "".into() });
    }
}
