//! Brokers that come, go, come back unseen, want to stop, or lose a log directory.
//!
//! What is registered is compared with what was known, by id and by broker epoch: an id that is gone
//! has died, a new one has joined, a known one under a higher epoch has *bounced*, faster than anybody
//! saw it die; it lost what was in its memory all the same, so it is treated as dead and then as new.

use std::sync::Arc;

use bytes::Bytes;

use super::passes::PassFor;
use super::{CallerToken, Controller, Level, TellId, note};
use crate::coordination::Stat;
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::metadata::{PartitionImage, nodes};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::ResponseBody;
use crate::protocol::control::{ControlledShutdownRequest, ControlledShutdownResponse, LeaderAndIsrResponse};
use crate::trace::{ControlFact, ElectionReason};
use crate::types::{BrokerId, TopicPartition};

/// The nodes of brokers that are registered.
pub(super) type Registered = OrderedMap<BrokerId, (Bytes, Stat)>;

/// "Sent by a broker that does not know its epoch."
const UNKNOWN_BROKER_EPOCH: i64 = -1;

impl Controller {
    /// Brokers that were known and are not registered now, or are under a higher epoch.
    pub(super) fn lost_among(&self, cx: &mut Cx, registered: &Registered) -> Vec<BrokerId> {
        let mut lost = Vec::new();
        for broker in self.image.brokers() {
            let node = registered.get(&broker.id);
            let bounced = node.is_some_and(|(_, stat)| stat.czxid > broker.epoch);
            if node.is_none() || bounced {
                cx.cause = note(cx, || ControlFact::BrokerLost {
                    broker: broker.id,
                    bounced,
                });
                lost.push(broker.id);
            }
        }
        lost
    }

    /// They are known no more; what follows for their replicas is a pass of its own.
    pub(super) fn brokers_lost(&mut self, lost: &[BrokerId]) {
        for broker in lost {
            self.channels.close(*broker);
            self.coming.remove(broker);
            self.aside.forget(*broker);
            self.shutting_down.remove(broker);
            self.offline_dirs.remove(broker);
            let path: Arc<str> = nodes::broker(*broker).into();
            self.mirror.put(&path, &None);
            let forgotten = Arc::make_mut(&mut self.image).follow(&self.mirror, &path);
            debug_assert!(forgotten.is_ok());
        }
        self.batch.update_all();
    }

    /// Brokers that hold replicas of the partition, or did, are lost: another leads, and the ISR shrinks.
    pub(super) fn replica_lost(&mut self, cx: &mut Cx, name: &TopicPartition, lost: &[BrokerId]) {
        let replicas = self.partition(name).map(|partition| partition.replicas.clone());
        let here = replicas.into_iter().flatten().filter(|id| lost.contains(id));
        let here: Vec<BrokerId> = here.collect();
        if !here.is_empty() {
            self.replicas_offline(cx, name, &here);
        }
    }

    /// All partitions of lost brokers are decided.
    pub(super) fn loss_decided(&mut self, cx: &mut Cx, lost: &[BrokerId]) {
        self.deletions.brokers_lost(lost);
        self.go_on_deleting(cx);
    }

    /// These replicas serve no more: another leads, and the ISR shrinks.
    fn replicas_offline(&mut self, cx: &mut Cx, name: &TopicPartition, gone: &[BrokerId]) {
        self.elect_if_missing(cx, name);
        self.remove_from_isr(cx, name, gone);
        self.batch.update(name);
        for broker in gone {
            if self.is_alive(*broker) {
                self.batch.stop_replica(*broker, name, false);
            }
        }
    }

    /// Brokers that are new, or say something else of themselves.
    pub(super) fn take_up_registered(&mut self, cx: &mut Cx, registered: Registered) {
        let mut come = Vec::new();
        let mut moved = false;
        for (id, node) in registered {
            let is_new = !self.is_alive(id);
            let path: Arc<str> = nodes::broker(id).into();
            let same = self.mirror.get(&path).is_some_and(|held| held.data == node.0);
            if !is_new && same {
                continue;
            }
            self.mirror.put(&path, &Some(node));
            let read = Arc::make_mut(&mut self.image).follow(&self.mirror, &path);
            match read {
                Err(bad) => self.say(Level::Error, bad.to_string()),
                Ok(()) if is_new => come.push(id),
                Ok(()) => moved = true,
            }
        }
        if moved || !come.is_empty() {
            self.batch.update_all();
        }
        for broker in &come {
            let epoch = self.image.broker(*broker).map_or(-1, |broker| broker.epoch);
            cx.cause = note(cx, || ControlFact::BrokerJoined {
                broker: *broker,
                epoch,
            });
            self.coming.insert(*broker);
        }
        if !come.is_empty() {
            self.go_on_with(cx, PassFor::Come(come));
        }
    }

    /// Brokers that hold replicas of the partition have come: it may be led again, or moved on. Those who
    /// lead must know that the newcomers' replicas are back: metadata names them online.
    pub(super) fn replica_back(&mut self, cx: &mut Cx, name: &TopicPartition, come: &[BrokerId]) {
        self.elect_if_missing(cx, name);
        let partition = self.partition(name);
        if partition.is_some_and(|partition| partition.replicas.iter().any(|id| come.contains(id))) {
            self.batch.update(name);
        }
        self.resume_move(cx, name, Some(come));
    }

    /// All partitions of brokers that came are decided.
    pub(super) fn coming_decided(&mut self, cx: &mut Cx, come: &[BrokerId]) {
        self.deletions.brokers_come(come);
        self.go_on_deleting(cx);
    }

    /// A broker was told something and has answered.
    pub(super) fn told(&mut self, cx: &mut Cx, tell: TellId, answer: &ResponseBody) {
        let Some((broker, _)) = self.channels.answered(tell) else {
            return;
        };
        let code = match answer {
            ResponseBody::LeaderAndIsr(answer) => answer.error_code,
            ResponseBody::UpdateMetadata(answer) => answer.error_code,
            ResponseBody::StopReplica(answer) => answer.error_code,
            _ => ErrorCode::UnknownServerError,
        };
        if code == ErrorCode::StaleControllerEpoch {
            return self.resign(cx, format!("broker {broker} has heard of a later controller"));
        }
        if code != ErrorCode::None && code != ErrorCode::StaleBrokerEpoch {
            self.say(
                Level::Error,
                format!("broker {broker} refused what it was told: {code}"),
            );
        }
        match answer {
            ResponseBody::LeaderAndIsr(answer) if code == ErrorCode::None => {
                self.replicas_reported(cx, broker, answer);
            }
            ResponseBody::StopReplica(answer) => self.replicas_stopped(cx, broker, answer),
            _ => {}
        }
    }

    /// A replica that answers KAFKA_STORAGE_ERROR lies in a failed directory (KIP-112).
    fn replicas_reported(&mut self, cx: &mut Cx, broker: BrokerId, answer: &LeaderAndIsrResponse) {
        let mut newly: OrderedMap<TopicPartition, Vec<BrokerId>> = OrderedMap::new();
        for topic in &answer.topics {
            let Some(name) = self
                .image
                .topic_by_id(topic.topic_id)
                .map(|topic| topic.name.clone())
            else {
                continue;
            };
            for partition in &topic.partitions {
                let name = TopicPartition::new(name.clone(), partition.partition_index);
                let failed = self.offline_dirs.entry(broker).or_default();
                match partition.error_code {
                    ErrorCode::KafkaStorageError if failed.insert(name.clone()) => {
                        newly.insert(name, vec![broker]);
                    }
                    ErrorCode::None => drop(failed.remove(&name)),
                    _ => {}
                }
            }
        }
        if !newly.is_empty() {
            let names: Vec<String> = newly.keys().map(ToString::to_string).collect();
            let text = format!(
                "on broker {broker} these replicas are offline: {}",
                names.join(", ")
            );
            self.say(Level::Warn, text);
            for (name, gone) in &newly {
                self.replicas_offline(cx, name, gone);
            }
        }
    }

    /// A directory of these brokers failed: asks each that holds the partition what became of it.
    pub(super) fn ask_what_failed(&mut self, name: &TopicPartition, brokers: &OrderedSet<BrokerId>) {
        let Some(partition) = self.partition(name).filter(|partition| partition.has_state()) else {
            return;
        };
        let here = partition.replicas.iter().filter(|id| brokers.contains(id));
        let here: Vec<BrokerId> = here.copied().collect();
        if !here.is_empty() {
            self.batch.leader_and_isr(&here, name, false);
        }
    }

    /// Moves leadership away from a broker that wants to stop, and tells what it still leads.
    pub(super) fn controlled_shutdown(
        &mut self,
        cx: &mut Cx,
        caller: CallerToken,
        request: &ControlledShutdownRequest,
    ) {
        let broker = request.broker_id;
        let refused = match self.image.broker(broker) {
            None => Some(ErrorCode::BrokerNotAvailable),
            Some(known) => {
                let named = Some(request.broker_epoch).filter(|epoch| *epoch != UNKNOWN_BROKER_EPOCH);
                let is_stale = named.is_some_and(|epoch| epoch < known.epoch);
                is_stale.then_some(ErrorCode::StaleBrokerEpoch)
            }
        };
        if let Some(code) = refused {
            return self.answer_leaving(cx, caller, Err(code));
        }
        self.shutting_down.insert(broker);
        cx.cause = note(cx, || ControlFact::BrokerLeaving { broker });
        let remaining = Vec::new();
        self.ask_for_pass(
            cx,
            PassFor::Leave {
                caller,
                broker,
                remaining,
            },
        );
    }

    /// The broker is to have no part in the partition; true when it leads it still.
    pub(super) fn leave_partition(&mut self, cx: &mut Cx, name: &TopicPartition, broker: BrokerId) -> bool {
        let is_led_by = |partition: &PartitionImage| partition.leader == broker;
        let is_shared = |partition: &&PartitionImage| {
            partition.has_state() && partition.replicas.len() > 1 && partition.replicas.contains(&broker)
        };
        let Some(partition) = self.partition(name).filter(is_shared) else {
            return false;
        };
        if is_led_by(partition) {
            self.elect(cx, ElectionReason::ControlledShutdown, name, false);
        } else {
            self.remove_from_isr(cx, name, &[broker]);
            self.batch.stop_replica(broker, name, false);
        }
        self.partition(name).is_some_and(is_led_by)
    }

    pub(super) fn answer_leaving(
        &mut self,
        cx: &mut Cx,
        caller: CallerToken,
        left: Result<Vec<TopicPartition>, ErrorCode>,
    ) {
        let error_code = left.as_ref().err().copied().unwrap_or(ErrorCode::None);
        let answer = ControlledShutdownResponse {
            error_code,
            remaining_partitions: left.unwrap_or_default(),
        };
        self.seal_round(cx);
        self.say_answer(caller, answer);
    }
}
