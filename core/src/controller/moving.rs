//! Moving partitions to other brokers (KIP-455, `KafkaController.onPartitionReassignment`).
//!
//! ```text
//! start     replicas = wanted + leaving; a new leader epoch; the coming ones are told to follow
//! (the coming ones catch up, and the leader adds them to the ISR by AlterPartition)
//! complete  all wanted in the ISR: replicas = wanted, a leader among them, ISR without the leaving,
//!           whose files go
//! ```
//!
//! Each step is one round: states first, then the topic's node, so that a controller that dies in
//! between leaves a move that its successor takes up. A later wish replaces an earlier one; a
//! cancelled one goes back to where it came from.

use std::sync::Arc;

use super::election;
use super::reassignment::{Assignment, without};
use super::{Controller, Level, note};
use crate::coordination::Multi;
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::metadata::placement::UsableBroker;
use crate::metadata::{NO_LEADER, nodes, topics};
use crate::ordered::OrderedMap;
use crate::trace::{ControlFact, ElectionReason};
use crate::types::{BrokerId, TopicPartition};

impl Controller {
    /// Moves the partition to `target`, or cancels its move (`None`), or says why not, in Kafka's words.
    pub fn reassign(
        &mut self,
        cx: &mut Cx,
        name: &TopicPartition,
        target: Option<&[BrokerId]>,
    ) -> Result<(), Refused> {
        let wanted = self.judge_move(name, target)?;
        self.forget_wish(std::slice::from_ref(name));
        self.start_move(cx, name, &wanted);
        Ok(())
    }

    fn judge_move(&self, name: &TopicPartition, target: Option<&[BrokerId]>) -> Result<Assignment, Refused> {
        let unknown = |message: String| Refused::new(ErrorCode::UnknownTopicOrPartition, message);
        let topic = self.image.topic(&name.topic);
        let topic = topic.ok_or_else(|| unknown(format!("Unable to find a topic named {}.", name.topic)))?;
        let partition = topic
            .partition(name.partition)
            .filter(|partition| partition.has_state());
        let partition = partition.ok_or_else(|| {
            unknown(format!(
                "Unable to find partition {}:{}.",
                name.topic, name.partition
            ))
        })?;
        let now = Assignment::of(partition);
        let Some(target) = target else {
            if !now.is_moving() {
                return Err(Refused::new(
                    ErrorCode::NoReassignmentInProgress,
                    "No partition reassignment is in progress.",
                ));
            }
            let wanted = now.move_to(&now.origin());
            keeps_somebody(&partition.isr, &wanted)?;
            return Ok(wanted);
        };
        let mut usable = self.image.usable_brokers();
        let replicas = now.replicas.iter().map(|id| UsableBroker::new(*id));
        usable.extend(replicas);
        topics::check_replicas(&usable, target, None)?;
        let wanted = now.move_to(target);
        keeps_somebody(&partition.isr, &wanted)?;
        Ok(wanted)
    }

    /// Moves that a tool wrote to `/admin/reassign_partitions`.
    pub(super) fn wanted_moves(&mut self, cx: &mut Cx) {
        let wish: Result<Option<nodes::Reassignments>, _> =
            nodes::read(&self.mirror, nodes::REASSIGN_PARTITIONS);
        let wish = match wish {
            Ok(Some(wish)) => wish,
            Ok(None) => return,
            Err(bad) => {
                self.say(Level::Error, bad.to_string());
                return self.take_wish_away(nodes::REASSIGN_PARTITIONS);
            }
        };
        let mut done = Vec::new();
        for wanted in wish.partitions {
            let name = TopicPartition::new(wanted.topic, wanted.partition);
            if self
                .moves_to(&name)
                .is_some_and(|target| target == wanted.replicas)
            {
                continue;
            }
            match self.judge_move(&name, Some(&wanted.replicas)) {
                Ok(assignment) => self.start_move(cx, &name, &assignment),
                Err(why) => {
                    self.say(Level::Error, format!("{name} is not moved: {why}"));
                    done.push(name);
                    continue;
                }
            }
            if self.moves_to(&name).is_none() {
                done.push(name);
            }
        }
        self.forget_wish(&done);
    }

    /// Where the partition moves to, if it does.
    fn moves_to(&self, name: &TopicPartition) -> Option<Vec<BrokerId>> {
        let moving = self.partition(name)?;
        moving.is_reassigning().then(|| Assignment::of(moving).target())
    }

    /// Goes on with the partition's move, if it moves to a broker that came back (to any, when none are named).
    pub(super) fn resume_move(&mut self, cx: &mut Cx, name: &TopicPartition, come: Option<&[BrokerId]>) {
        let partition = self.partition(name);
        let moving = partition.filter(|partition| partition.is_reassigning());
        let waits_for = |move_to: &Assignment| {
            come.is_none_or(|come| move_to.target().iter().any(|id| come.contains(id)))
        };
        if let Some(assignment) = moving.map(Assignment::of).filter(waits_for) {
            self.start_move(cx, name, &assignment);
        }
    }

    /// Ends the partition's move, if it moves and all wanted replicas are in sync.
    pub(super) fn complete_move(&mut self, cx: &mut Cx, name: &TopicPartition) {
        let moving = self
            .partition(name)
            .filter(|partition| partition.is_reassigning());
        let complete = moving.filter(|partition| Assignment::of(partition).is_complete(&partition.isr));
        if let Some(assignment) = complete.map(Assignment::of) {
            self.start_move(cx, name, &assignment);
        }
    }

    fn start_move(&mut self, cx: &mut Cx, name: &TopicPartition, wanted: &Assignment) {
        let Some(partition) = self.partition(name) else {
            return;
        };
        let before = Assignment::of(partition);
        if before != *wanted {
            cx.cause = note(cx, || ControlFact::ReassignmentStarted {
                partition: name.clone(),
                target: wanted.target(),
                adding: wanted.adding.clone(),
                removing: wanted.removing.clone(),
            });
            self.set_assignment(name, wanted);
            let unneeded = without(&before.replicas, &wanted.replicas);
            self.stop_removed(cx, name, &unneeded);
        }
        let Some(isr) = self.partition(name).map(|partition| partition.isr.clone()) else {
            return;
        };
        if wanted.is_complete(&isr) {
            self.finish_move(cx, name, wanted);
        } else {
            self.raise_epoch(cx, name);
            self.batch.leader_and_isr(&wanted.adding, name, true);
        }
    }

    /// All wanted replicas are in sync: one of them leads, the others go.
    fn finish_move(&mut self, cx: &mut Cx, name: &TopicPartition, wanted: &Assignment) {
        let Some(partition) = self.partition(name).cloned() else {
            return;
        };
        let target = wanted.target();
        let mut leader = partition.leader;
        if !target.contains(&leader) || !self.is_online(leader, name) {
            let standing = |broker: &BrokerId| election::Standing {
                broker: *broker,
                is_alive: self.is_online(*broker, name),
                is_leaving: self.shutting_down.contains(broker),
                is_in_isr: partition.isr.contains(broker),
            };
            let standings: Vec<_> = target.iter().map(standing).collect();
            let choice = election::elect(ElectionReason::Reassignment, &standings, false);
            note(cx, || ControlFact::Elected {
                partition: name.clone(),
                reason: ElectionReason::Reassignment,
                leader: choice.leader,
                unclean: false,
                candidates: choice.candidates,
            });
            match choice.leader {
                Some(elected) => leader = elected,
                // Nobody of them lives: when one comes back, the move ends.
                None => return,
            }
        }
        self.set_assignment(name, &Assignment::settled(target.clone()));
        let Some(mut next) = self.partition(name).cloned() else {
            return;
        };
        next.leader = leader;
        next.leader_epoch += 1;
        next.isr
            .retain(|member| target.contains(member) || mutated!(RemovedStayInIsr));
        self.write_state(cx, name, next);
        self.batch.leader_and_isr(&target, name, false);
        for removed in &wanted.removing {
            self.batch.stop_replica(*removed, name, true);
        }
        note(cx, || ControlFact::ReassignmentCompleted {
            partition: name.clone(),
            replicas: target.clone(),
        });
        self.forget_wish(std::slice::from_ref(name));
        self.go_on_deleting(cx);
    }

    /// Replicas that are wanted no more, in the middle of a move: out of the ISR, and their files go.
    fn stop_removed(&mut self, cx: &mut Cx, name: &TopicPartition, removed: &[BrokerId]) {
        if removed.is_empty() {
            return;
        }
        self.remove_from_isr(cx, name, removed);
        if self
            .partition(name)
            .is_some_and(|partition| partition.leader == NO_LEADER)
        {
            self.elect(cx, ElectionReason::Offline, name, false);
        }
        for broker in removed {
            self.batch.stop_replica(*broker, name, true);
        }
    }

    /// The partition's replicas are these; the topic's node is written at the end of the round.
    fn set_assignment(&mut self, name: &TopicPartition, assignment: &Assignment) {
        let Some(mut next) = self.partition(name).cloned() else {
            return;
        };
        next.replicas = assignment.replicas.clone();
        next.adding_replicas = assignment.adding.clone();
        next.removing_replicas = assignment.removing.clone();
        Arc::make_mut(&mut self.image).set_partition(&name.topic, name.partition, next);
        self.reassigned.insert(name.topic.clone());
    }

    /// Writes the nodes of the topics whose assignment changed in this round.
    pub(super) fn write_assignments(&mut self, _cx: &mut Cx) {
        for name in std::mem::take(&mut self.reassigned) {
            let Some(topic) = self.image.topic_even_deleting(&name).cloned() else {
                continue;
            };
            let data = nodes::write(&topics::assignment_of(&topic));
            let multi = Multi::new().set(nodes::topic(&name), data, Some(topic.version));
            let written = self.mirror.apply(&multi);
            debug_assert!(written.is_ok());
            Arc::make_mut(&mut self.image).set_topic_version(&name, topic.version.wrapping_add(1));
            self.ops.extend(multi.ops);
        }
    }

    /// The moves under way, of these partitions or of all.
    pub fn reassignments(&self, wanted: Option<&[TopicPartition]>) -> OrderedMap<TopicPartition, Assignment> {
        let moving = self.partitions_where(|name, partition| {
            partition.is_reassigning() && wanted.is_none_or(|wanted| wanted.contains(name))
        });
        let assignments = moving.into_iter().filter_map(|name| {
            let assignment = Assignment::of(self.partition(&name)?);
            Some((name, assignment))
        });
        assignments.collect()
    }

    /// Takes partitions out of `/admin/reassign_partitions`.
    fn forget_wish(&mut self, names: &[TopicPartition]) {
        self.retain_wishes(|name| !names.contains(name));
    }

    /// Nobody moves the partitions of topics that are being deleted.
    pub(super) fn forget_wishes_for(&mut self, topics: &[Arc<str>]) {
        self.retain_wishes(|name| !topics.contains(&name.topic));
    }

    fn retain_wishes(&mut self, keep: impl Fn(&TopicPartition) -> bool) {
        let wish: Result<Option<nodes::Reassignments>, _> =
            nodes::read(&self.mirror, nodes::REASSIGN_PARTITIONS);
        let Ok(Some(mut wish)) = wish else {
            return;
        };
        let before = wish.partitions.len();
        wish.partitions
            .retain(|wanted| keep(&TopicPartition::new(wanted.topic.clone(), wanted.partition)));
        if wish.partitions.is_empty() {
            self.take_wish_away(nodes::REASSIGN_PARTITIONS);
        } else if wish.partitions.len() < before {
            let held = self
                .mirror
                .get(nodes::REASSIGN_PARTITIONS)
                .map(|held| held.version);
            let multi = Multi::new().set(nodes::REASSIGN_PARTITIONS, nodes::write(&wish), held);
            let written = self.change(multi);
            debug_assert!(written.is_ok());
        }
    }

    /// Deletes a node that a tool wrote, when it is dealt with; then the next wish can be written.
    pub(super) fn take_wish_away(&mut self, path: &'static str) {
        if self.mirror.contains(path) {
            let deleted = self.change(Multi::new().delete(path, None));
            debug_assert!(deleted.is_ok());
        }
    }
}

/// While a partition moves, a replica that was about to come may be the only one in sync: it stays.
fn keeps_somebody(isr: &[BrokerId], wanted: &Assignment) -> Result<(), Refused> {
    if isr.iter().any(|member| wanted.replicas.contains(member)) {
        return Ok(());
    }
    let message =
        format!("Every replica in the ISR {isr:?} would be removed; wait until another has caught up.");
    Err(Refused::new(ErrorCode::InvalidReplicaAssignment, message))
}
