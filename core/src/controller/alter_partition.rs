//! AlterPartition: a leader asks for another ISR (KIP-497), as Kafka 3.9's controller judges it.
//!
//! | what is named | and is | answer |
//! |---|---|---|
//! | broker epoch of the leader | not the present one | STALE_BROKER_EPOCH, for the whole request |
//! | topic, partition | not known | UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION |
//! | leader epoch, partition epoch | above ours | NOT_CONTROLLER: somebody else decides by now |
//! | leader epoch | below ours | FENCED_LEADER_EPOCH |
//! | the state as it is already | | that state: a repeated request |
//! | partition epoch | below ours | INVALID_UPDATE_VERSION |
//! | recovery state | impossible | INVALID_REQUEST |
//! | a member of the new ISR | away, leaving, or in another life (KIP-841, KIP-903) | INELIGIBLE_REPLICA |
//!
//! A leader epoch that is right in the hands of a broker that does not lead answers as Kafka 4.4 does,
//! INVALID_REQUEST; a member that is no replica likewise.

use super::{CallerToken, Controller, note};
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::metadata::PartitionImage;
use crate::protocol::messages::alter_partition_request as asked;
use crate::protocol::messages::alter_partition_response as answered;
use crate::protocol::messages::{AlterPartitionRequest, AlterPartitionResponse, message};
use crate::trace::ControlFact;
use crate::types::{BrokerId, LeaderRecoveryState, NO_BROKER_EPOCH, TopicPartition, Uuid};

/// From this version on the request names the epochs of the members (KIP-903).
const FIRST_WITH_EPOCHS: i16 = 3;

impl Controller {
    pub(super) fn alter_partition(
        &mut self,
        cx: &mut Cx,
        caller: CallerToken,
        version: i16,
        request: &AlterPartitionRequest,
    ) {
        let known = self.image.broker(request.broker_id).map(|broker| broker.epoch);
        if known != Some(request.broker_epoch) {
            let refused = message(|answer: &mut AlterPartitionResponse| {
                answer.error_code = ErrorCode::StaleBrokerEpoch.code();
            });
            return self.say_answer(caller, refused);
        }
        let mut changed = Vec::new();
        let topics = request.topics.iter().map(|topic| {
            let name = self
                .image
                .topic_by_id(Uuid::from(topic.topic_id))
                .map(|topic| topic.name.clone());
            (topic, name)
        });
        let topics: Vec<_> = topics.collect();
        let mut answers = Vec::with_capacity(topics.len());
        for (topic, name) in topics {
            let partitions = topic.partitions.iter().map(|partition| {
                let judged = match &name {
                    None => Err(ErrorCode::UnknownTopicId),
                    Some(name) => {
                        let name = TopicPartition::new(name.clone(), partition.partition_index);
                        let judged =
                            self.alter(cx, version, request.broker_id, &name, partition, &mut changed);
                        if let Err(code) = judged {
                            self.note_refused(cx, version, request.broker_id, &name, partition, code);
                        }
                        judged
                    }
                };
                answer(partition.partition_index, judged)
            });
            let partitions = partitions.collect();
            answers.push(message(|answer: &mut answered::TopicData| {
                answer.topic_id = topic.topic_id;
                answer.partitions = partitions;
            }));
        }
        for name in &changed {
            self.batch.update(name);
        }
        self.seal_round(cx);
        self.say_answer(
            caller,
            message(|answer: &mut AlterPartitionResponse| answer.topics = answers),
        );
        // A move may have been waiting for just this member.
        for name in &changed {
            self.complete_move(cx, name);
        }
    }

    fn alter(
        &mut self,
        cx: &mut Cx,
        version: i16,
        leader: BrokerId,
        name: &TopicPartition,
        wanted: &asked::PartitionData,
        changed: &mut Vec<TopicPartition>,
    ) -> Result<PartitionImage, ErrorCode> {
        let now = self.partition(name).filter(|partition| partition.has_state());
        let now = now.ok_or(ErrorCode::UnknownTopicOrPartition)?;
        let members = members(version, wanted);
        let isr: Vec<BrokerId> = members.iter().map(|(broker, _)| *broker).collect();
        let recovery =
            LeaderRecoveryState::from_code(wanted.leader_recovery_state).ok_or(ErrorCode::InvalidRequest)?;
        if wanted.leader_epoch > now.leader_epoch || wanted.partition_epoch > now.partition_epoch {
            return Err(ErrorCode::NotController);
        }
        if wanted.leader_epoch < now.leader_epoch {
            return Err(ErrorCode::FencedLeaderEpoch);
        }
        if now.leader != leader {
            return Err(ErrorCode::InvalidRequest);
        }
        if isr == now.isr && recovery == now.leader_recovery_state {
            return Ok(now.clone());
        }
        if wanted.partition_epoch < now.partition_epoch {
            return Err(ErrorCode::InvalidUpdateVersion);
        }
        let is_recovering = recovery == LeaderRecoveryState::Recovering;
        let goes_back = is_recovering && now.leader_recovery_state == LeaderRecoveryState::Recovered;
        if goes_back || (is_recovering && isr.len() > 1) {
            return Err(ErrorCode::InvalidRequest);
        }
        let is_member = |broker: &BrokerId| now.replicas.contains(broker);
        if !isr.contains(&leader) || !isr.iter().all(is_member) || has_twice(&isr) {
            return Err(ErrorCode::InvalidRequest);
        }
        if !members
            .iter()
            .all(|(broker, epoch)| self.is_eligible(*broker, *epoch))
        {
            return Err(ErrorCode::IneligibleReplica);
        }
        let next = PartitionImage {
            isr,
            leader_recovery_state: recovery,
            ..now.clone()
        };
        self.write_state(cx, name, next);
        changed.push(name.clone());
        self.partition(name)
            .cloned()
            .ok_or(ErrorCode::UnknownTopicOrPartition)
    }

    fn note_refused(
        &self,
        cx: &mut Cx,
        version: i16,
        leader: BrokerId,
        name: &TopicPartition,
        wanted: &asked::PartitionData,
        code: ErrorCode,
    ) {
        note(cx, || {
            let members = members(version, wanted);
            let ineligible = members
                .iter()
                .filter(|(broker, epoch)| !self.is_eligible(*broker, *epoch));
            ControlFact::IsrRefused {
                partition: name.clone(),
                leader,
                isr: members.iter().map(|(broker, _)| *broker).collect(),
                code,
                ineligible: ineligible.map(|(broker, _)| *broker).collect(),
            }
        });
    }

    // ANCHOR: is_eligible
    /// Whether the replica lives, means to stay, and is in the life that the leader saw fetching.
    fn is_eligible(&self, broker: BrokerId, epoch: i64) -> bool {
        let Some(known) = self.image.broker(broker) else {
            return false;
        };
        let same_life = epoch == NO_BROKER_EPOCH || epoch == known.epoch || !self.check_broker_epochs;
        same_life && !self.shutting_down.contains(&broker)
    }
    // ANCHOR_END: is_eligible
}

/// The members of the wanted ISR with the epochs that the leader knows them by.
fn members(version: i16, wanted: &asked::PartitionData) -> Vec<(BrokerId, i64)> {
    if version < FIRST_WITH_EPOCHS {
        return wanted
            .new_isr
            .iter()
            .map(|broker| (*broker, NO_BROKER_EPOCH))
            .collect();
    }
    let named = wanted.new_isr_with_epochs.iter();
    named
        .map(|member| (member.broker_id, member.broker_epoch))
        .collect()
}

fn has_twice(isr: &[BrokerId]) -> bool {
    let distinct: crate::ordered::OrderedSet<_> = isr.iter().collect();
    distinct.len() < isr.len()
}

fn answer(index: i32, judged: Result<PartitionImage, ErrorCode>) -> answered::PartitionData {
    message(|answer: &mut answered::PartitionData| {
        answer.partition_index = index;
        match judged {
            Err(code) => answer.error_code = code.code(),
            Ok(partition) => {
                answer.leader_id = partition.leader;
                answer.leader_epoch = partition.leader_epoch;
                answer.isr = partition.isr;
                answer.leader_recovery_state = partition.leader_recovery_state.code();
                answer.partition_epoch = partition.partition_epoch;
            }
        }
    })
}
