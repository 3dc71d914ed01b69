//! Writing who leads a partition, and telling it.
//!
//! Invariants
//! - each write raises the partition epoch by one, and the leader epoch when leader or ISR were the
//!   controller's to choose; a change of the ISR that the leader asked for leaves the leader epoch
//! - who is alive counts as it is now: brokers that were lost together are all gone before anybody is elected

use super::partition_state::PartitionState;
use super::{Controller, Level, election, note};
use crate::coordination::Multi;
use crate::cx::Cx;
use crate::metadata::nodes;
use crate::metadata::{NO_LEADER, NO_STATE, PartitionImage};
use crate::trace::{ControlFact, ElectionReason};
use crate::types::{BrokerId, LeaderRecoveryState, PartitionIndex, TopicPartition};

use std::sync::Arc;

impl Controller {
    pub(super) fn partition(&self, name: &TopicPartition) -> Option<&PartitionImage> {
        self.image
            .topic_even_deleting(&name.topic)?
            .partition(name.partition)
    }

    pub(super) fn is_alive(&self, broker: BrokerId) -> bool {
        self.image.broker(broker).is_some()
    }

    /// Whether the replica could serve: its broker lives, leaving or not, and its directory has not failed.
    pub(super) fn is_online(&self, broker: BrokerId, name: &TopicPartition) -> bool {
        let failed = self
            .offline_dirs
            .get(&broker)
            .is_some_and(|failed| failed.contains(name));
        self.is_alive(broker) && !failed
    }

    /// Partitions of topics that are not being deleted for which this holds.
    pub(super) fn partitions_where(
        &self,
        wanted: impl Fn(&TopicPartition, &PartitionImage) -> bool,
    ) -> Vec<TopicPartition> {
        let topics = self.image.topics();
        let all = topics.flat_map(|topic| {
            let each = (0..).zip(&topic.partitions);
            each.map(|(index, partition)| (TopicPartition::new(topic.name.clone(), index), partition))
        });
        let wanted = all.filter(|(name, partition)| wanted(name, partition));
        wanted.map(|(name, _)| name).collect()
    }

    /// Finds a leader for the partition, if it is new or offline.
    pub(super) fn elect_if_missing(&mut self, cx: &mut Cx, name: &TopicPartition) {
        let is_online = |broker| self.is_online(broker, name);
        if PartitionState::of(self.partition(name), is_online).wants_leader() {
            self.elect(cx, ElectionReason::Offline, name, false);
        }
    }

    /// The same for every partition of the topic.
    pub(super) fn elect_in_topic(&mut self, cx: &mut Cx, topic: &Arc<str>) {
        let count = self.image.topic(topic).map_or(0, |topic| topic.partitions.len());
        for index in 0..count as PartitionIndex {
            self.elect_if_missing(cx, &TopicPartition::new(topic.clone(), index));
        }
    }

    /// Elects, writes and tells; false when nobody is fit.
    pub(super) fn elect(
        &mut self,
        cx: &mut Cx,
        reason: ElectionReason,
        name: &TopicPartition,
        unclean_wanted: bool,
    ) -> bool {
        let Some(partition) = self.partition(name).cloned() else {
            return false;
        };
        if !partition.has_state() {
            return self.begin(cx, name, &partition);
        }
        let replicas = self.standings(name, &partition);
        let unclean = unclean_wanted || self.allows_unclean(name);
        let choice = election::elect(reason, &replicas, unclean);
        let emit = choice.clone();
        let before = cx.cause;
        cx.cause = note(cx, || ControlFact::Elected {
            partition: name.clone(),
            reason,
            leader: emit.leader,
            unclean: emit.is_unclean && !mutated!(UncleanElectionUntold),
            candidates: emit.candidates,
        });
        let Some(leader) = choice.leader else {
            cx.cause = before;
            return false;
        };
        let mut next = partition;
        next.leader = leader;
        next.leader_epoch += 1;
        if choice.is_unclean {
            if !mutated!(UncleanLeaderOutsideIsr) {
                next.isr = vec![leader];
            }
            next.leader_recovery_state = LeaderRecoveryState::Recovering;
            self.say(
                Level::Warn,
                format!("broker {leader}, which is not in the ISR, was elected leader of {name}: records may be lost"),
            );
        } else if matches!(
            reason,
            ElectionReason::Offline | ElectionReason::ControlledShutdown
        ) {
            next.isr.retain(|member| {
                let standing = replicas.iter().find(|replica| replica.broker == *member);
                standing.is_some_and(|replica| replica.is_alive && !replica.is_leaving)
            });
        }
        let told = next.replicas.clone();
        self.write_state(cx, name, next);
        cx.cause = before;
        self.batch.leader_and_isr(&told, name, false);
        true
    }

    fn standings(&self, name: &TopicPartition, partition: &PartitionImage) -> Vec<election::Standing> {
        let standing = |broker: &BrokerId| election::Standing {
            broker: *broker,
            is_alive: self.is_online(*broker, name),
            is_leaving: self.shutting_down.contains(broker),
            is_in_isr: partition.isr.contains(broker),
        };
        let wanted = partition.replicas.iter();
        wanted.map(standing).collect()
    }

    /// Whether the topic prefers a leader that may lack records to none.
    pub(super) fn allows_unclean(&self, name: &TopicPartition) -> bool {
        const KEY: &str = "unclean.leader.election.enable";
        let own = self.image.topic_even_deleting(&name.topic);
        let own = own.and_then(|topic| topic.configs.get(KEY).cloned());
        let set = own.or_else(|| self.image.broker_configs(Some(self.me)).get(KEY).cloned());
        let set = set.or_else(|| self.image.broker_configs(None).get(KEY).cloned());
        let set = set.or_else(|| self.config.value(KEY).map(str::to_owned));
        set.is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
    }

    /// A new partition: led by the first replica that lives, those that live are in sync.
    fn begin(&mut self, cx: &mut Cx, name: &TopicPartition, partition: &PartitionImage) -> bool {
        let is_up = |broker: &BrokerId| self.is_online(*broker, name) && !self.shutting_down.contains(broker);
        let isr: Vec<BrokerId> = partition.replicas.iter().copied().filter(is_up).collect();
        let standing = |replica| election::Standing {
            is_in_isr: true,
            ..replica
        };
        let replicas = self.standings(name, partition).into_iter().map(standing);
        let choice = election::elect(ElectionReason::New, &replicas.collect::<Vec<_>>(), false);
        let leader = choice.leader;
        let before = cx.cause;
        cx.cause = note(cx, || ControlFact::Elected {
            partition: name.clone(),
            reason: ElectionReason::New,
            leader,
            unclean: false,
            candidates: choice.candidates,
        });
        let Some(leader) = leader else {
            cx.cause = before;
            return false;
        };
        let next = PartitionImage {
            isr: isr.clone(),
            leader,
            leader_epoch: 0,
            ..partition.clone()
        };
        self.write_state(cx, name, next);
        cx.cause = before;
        self.batch.leader_and_isr(&isr, name, true);
        true
    }

    /// The replicas drop out of the ISR; a leader among them leads no more. An ISR never becomes empty:
    /// who was in it last is who may lead next.
    pub(super) fn remove_from_isr(&mut self, cx: &mut Cx, name: &TopicPartition, gone: &[BrokerId]) {
        let Some(partition) = self.partition(name).filter(|partition| partition.has_state()) else {
            return;
        };
        let mut next = partition.clone();
        let left: Vec<BrokerId> = next.isr.iter().copied().filter(|id| !gone.contains(id)).collect();
        if !left.is_empty() {
            next.isr = left;
        }
        if gone.contains(&next.leader) {
            next.leader = NO_LEADER;
        }
        if (&next.isr, next.leader) == (&partition.isr, partition.leader) {
            return;
        }
        next.leader_epoch += 1;
        let told: Vec<BrokerId> = next
            .replicas
            .iter()
            .copied()
            .filter(|id| !gone.contains(id))
            .collect();
        self.write_state(cx, name, next);
        self.batch.leader_and_isr(&told, name, false);
    }

    /// The partition enters a new leader epoch under the same leader.
    pub(super) fn raise_epoch(&mut self, cx: &mut Cx, name: &TopicPartition) {
        if let Some(partition) = self.partition(name).filter(|partition| partition.has_state()) {
            let mut next = partition.clone();
            next.leader_epoch += 1;
            let told = next.replicas.clone();
            self.write_state(cx, name, next);
            self.batch.leader_and_isr(&told, name, false);
        }
    }

    /// Writes the partition's state, as this controller's, and takes it up.
    pub(super) fn write_state(&mut self, cx: &mut Cx, name: &TopicPartition, mut next: PartitionImage) {
        if mutated!(EpochNotRaised) {
            next.leader_epoch = 0;
        }
        let node = nodes::PartitionState {
            controller_epoch: self.epoch,
            isr: next.isr.clone(),
            leader: next.leader,
            leader_epoch: next.leader_epoch,
            leader_recovery_state: next.leader_recovery_state.code(),
            version: 1,
        };
        let path = nodes::partition_state(&name.topic, name.partition);
        let data = nodes::write(&node);
        let multi = if next.partition_epoch == NO_STATE {
            self.parents_of(name).create(path, data)
        } else {
            Multi::new().set(path, data, Some(next.partition_epoch))
        };
        if let Err(error) = self.mirror.apply(&multi) {
            // The image is read from the mirror: only a fault of ours comes here.
            debug_assert!(false, "{error}");
            return;
        }
        self.ops.extend(multi.ops);
        next.partition_epoch += 1;
        next.controller_epoch = self.epoch;
        note(cx, || ControlFact::PartitionDecided {
            partition: name.clone(),
            leader: next.leader,
            leader_epoch: next.leader_epoch,
            isr: next.isr.clone(),
            replicas: next.replicas.clone(),
            partition_epoch: next.partition_epoch,
        });
        Arc::make_mut(&mut self.image).set_partition(&name.topic, name.partition, next);
    }

    /// Nodes that a partition's first state needs above it and that are not there.
    fn parents_of(&self, name: &TopicPartition) -> Multi {
        let above = [
            nodes::partitions(&name.topic),
            nodes::partition(&name.topic, name.partition),
        ];
        let missing = above.into_iter().filter(|path| !self.mirror.contains(path));
        missing.fold(Multi::new(), |multi, path| multi.create(path, ""))
    }
}
