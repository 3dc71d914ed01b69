//! Brokers that come, go, come back unseen, want to stop, or lose a log directory.
//!
//! What is registered is compared with what was known, by id and by broker epoch: an id that is gone
//! has died, a new one has joined, a known one under a higher epoch has *bounced*, faster than anybody
//! saw it die; it lost what was in its memory all the same, so it is treated as dead and then as new.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::{CallerToken, Controller, Level, TellId, note};
use crate::coordination::Stat;
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::metadata::nodes;
use crate::protocol::ResponseBody;
use crate::protocol::control::{ControlledShutdownRequest, ControlledShutdownResponse, LeaderAndIsrResponse};
use crate::trace::{ControlFact, ElectionReason};
use crate::types::{BrokerId, TopicPartition};

/// "Sent by a broker that does not know its epoch."
const UNKNOWN_BROKER_EPOCH: i64 = -1;

impl Controller {
    /// These brokers are registered now.
    pub(super) fn brokers_changed(&mut self, cx: &mut Cx, registered: &BTreeMap<BrokerId, (Bytes, Stat)>) {
        let known: BTreeMap<BrokerId, i64> = self
            .image
            .brokers()
            .map(|broker| (broker.id, broker.epoch))
            .collect();
        let gone = |id: &BrokerId| !registered.contains_key(id);
        let bounced = |id: &BrokerId| {
            let epochs = registered.get(id).zip(known.get(id));
            epochs.is_some_and(|((_, stat), epoch)| stat.czxid > *epoch)
        };
        let lost: Vec<BrokerId> = known
            .keys()
            .copied()
            .filter(|id| gone(id) || bounced(id))
            .collect();
        for broker in &lost {
            let bounced = bounced(broker);
            cx.cause = note(cx, || ControlFact::BrokerLost {
                broker: *broker,
                bounced,
            });
        }
        if !lost.is_empty() {
            self.brokers_lost(cx, &lost);
        }
        let mut come = Vec::new();
        let mut moved = false;
        for (id, node) in registered {
            let is_new = !known.contains_key(id) || lost.contains(id);
            let path: Arc<str> = nodes::broker(*id).into();
            let same = self.mirror.get(&path).is_some_and(|held| held.data == node.0);
            if !is_new && same {
                continue;
            }
            self.mirror.put(&path, &Some(node.clone()));
            let read = Arc::make_mut(&mut self.image).follow(&self.mirror, &path);
            match read {
                Err(bad) => self.say(Level::Error, bad.to_string()),
                Ok(()) if is_new => come.push(*id),
                Ok(()) => moved = true,
            }
        }
        if moved {
            self.batch.update_all();
        }
        if !come.is_empty() {
            self.brokers_come(cx, &come);
        }
    }

    fn brokers_lost(&mut self, cx: &mut Cx, lost: &[BrokerId]) {
        for broker in lost {
            self.channels.close(*broker);
            self.shutting_down.remove(broker);
            self.offline_dirs.remove(broker);
            let path: Arc<str> = nodes::broker(*broker).into();
            self.mirror.put(&path, &None);
            let forgotten = Arc::make_mut(&mut self.image).follow(&self.mirror, &path);
            debug_assert!(forgotten.is_ok());
        }
        self.batch.update_all();
        let mut replicas: BTreeMap<TopicPartition, Vec<BrokerId>> = BTreeMap::new();
        for topic in self.image.topics() {
            for (index, partition) in (0..).zip(&topic.partitions) {
                let here = partition.replicas.iter().copied().filter(|id| lost.contains(id));
                let here: Vec<BrokerId> = here.collect();
                if !here.is_empty() {
                    replicas.insert(TopicPartition::new(topic.name.clone(), index), here);
                }
            }
        }
        self.replicas_offline(cx, &replicas);
        self.deletions.brokers_lost(lost);
        self.go_on_deleting(cx);
    }

    /// These replicas serve no more: others lead, and the ISR shrinks.
    fn replicas_offline(&mut self, cx: &mut Cx, replicas: &BTreeMap<TopicPartition, Vec<BrokerId>>) {
        self.elect_where_missing(cx);
        for (name, gone) in replicas {
            self.remove_from_isr(cx, name, gone);
            self.batch.update(name);
            for broker in gone {
                if self.is_alive(*broker) {
                    self.batch.stop_replica(*broker, name, false);
                }
            }
        }
    }

    fn brokers_come(&mut self, cx: &mut Cx, come: &[BrokerId]) {
        for broker in come {
            let epoch = self.image.broker(*broker).map_or(-1, |broker| broker.epoch);
            cx.cause = note(cx, || ControlFact::BrokerJoined {
                broker: *broker,
                epoch,
            });
            self.channels.open(*broker, epoch);
            self.batch.everything_to(*broker);
        }
        self.batch.update_all();
        self.elect_where_missing(cx);
        // Those who lead must know that the newcomers' replicas are back: metadata names them online.
        let back =
            self.partitions_where(|_, partition| partition.replicas.iter().any(|id| come.contains(id)));
        for name in &back {
            self.batch.update(name);
        }
        self.resume_moves(cx, come);
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
        let mut newly: BTreeMap<TopicPartition, Vec<BrokerId>> = BTreeMap::new();
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
            self.replicas_offline(cx, &newly);
        }
    }

    /// Brokers say that a directory failed: asks each what became of its replicas.
    pub(super) fn directories_failed(&mut self, brokers: &BTreeSet<BrokerId>) {
        for &broker in brokers {
            let here = self.partitions_where(|_, partition| {
                partition.has_state() && partition.replicas.contains(&broker)
            });
            for name in here {
                self.batch.leader_and_isr(&[broker], &name, false);
            }
        }
    }

    /// Moves leadership away from a broker that wants to stop, and tells what it still leads.
    pub(super) fn controlled_shutdown(
        &mut self,
        cx: &mut Cx,
        caller: CallerToken,
        request: &ControlledShutdownRequest,
    ) {
        let answer = match self.leave(cx, request) {
            Ok(remaining_partitions) => ControlledShutdownResponse {
                error_code: ErrorCode::None,
                remaining_partitions,
            },
            Err(error_code) => ControlledShutdownResponse {
                error_code,
                remaining_partitions: Vec::new(),
            },
        };
        self.seal_round(cx);
        self.say_answer(caller, answer);
    }

    fn leave(
        &mut self,
        cx: &mut Cx,
        request: &ControlledShutdownRequest,
    ) -> Result<Vec<TopicPartition>, ErrorCode> {
        let id = request.broker_id;
        let known = self.image.broker(id).ok_or(ErrorCode::BrokerNotAvailable)?;
        if request.broker_epoch != UNKNOWN_BROKER_EPOCH && request.broker_epoch < known.epoch {
            return Err(ErrorCode::StaleBrokerEpoch);
        }
        self.shutting_down.insert(id);
        cx.cause = note(cx, || ControlFact::BrokerLeaving { broker: id });
        let shared = self.partitions_where(|_, partition| {
            partition.has_state() && partition.replicas.len() > 1 && partition.replicas.contains(&id)
        });
        for name in shared {
            let leads = self
                .partition(&name)
                .is_some_and(|partition| partition.leader == id);
            if leads {
                self.elect(cx, ElectionReason::ControlledShutdown, &name, false);
            } else {
                self.remove_from_isr(cx, &name, &[id]);
                self.batch.stop_replica(id, &name, false);
            }
        }
        Ok(self.partitions_where(|_, partition| partition.leader == id && partition.replicas.len() > 1))
    }
}
