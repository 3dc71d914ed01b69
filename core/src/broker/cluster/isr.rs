//! Changes of the ISR that this broker's leaders propose, asked of the controller (AlterPartition,
//! KIP-497; Kafka's `AlterPartitionManager`).
//!
//! Proposals gather while a request is under way and go together in the next, one request at a time.
//! A controller in this broker is asked directly. While no controller can be reached they wait, and are
//! tried again after a little while.

use super::sends::SendFor;
use crate::broker::State;
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::io::PeerLane;
use crate::ordered::OrderedMap;
use crate::protocol::messages::alter_partition_request::{BrokerState, PartitionData, TopicData};
use crate::protocol::messages::{AlterPartitionRequest, AlterPartitionResponse, WireUuid, message};
use crate::protocol::{RequestBody, ResponseBody};
use crate::replica::partition::PartitionId;
use crate::replica::{IsrAnswer, Proposal};
use crate::trace::{EventId, Timer};
use crate::types::{Millis, Uuid};

/// With the epochs of the members' brokers (KIP-903).
const VERSION: i16 = 3;
/// After an error that may pass, so long until the next try (Kafka's `retry.backoff.ms` of 50 for its
/// channel to the controller).
const AGAIN_AFTER_MS: Millis = 50;

/// What is asked, and what waits to be.
#[derive(Clone, Debug, Default)]
pub(in crate::broker) struct Proposals {
    waiting: OrderedMap<PartitionId, Proposal>,
    under_way: OrderedMap<PartitionId, Proposal>,
    /// No request before that time, because of that event.
    not_before: Millis,
    because: EventId,
}

impl Proposals {
    /// When to try again.
    pub fn next(&self) -> Option<Millis> {
        let idle = self.waiting.is_empty() || !self.under_way.is_empty();
        (!idle).then_some(self.not_before)
    }
}

impl State {
    /// The partition's leader asks for another ISR.
    pub(in crate::broker) fn propose(&mut self, cx: &mut Cx, id: PartitionId, proposal: Proposal) {
        self.cluster.proposals.waiting.insert(id, proposal);
        self.ask_for_isrs(cx);
    }

    /// By the clock: what was put off is asked again.
    pub(super) fn isr_tick(&mut self, cx: &mut Cx) {
        if self.cluster.proposals.next().is_some_and(|at| at <= cx.now) {
            cx.timer_due(Timer::IsrRetry, self.cluster.proposals.because);
            self.ask_for_isrs(cx);
        }
    }

    fn not_before(&mut self, cx: &Cx) {
        self.cluster.proposals.not_before = cx.now.saturating_add(AGAIN_AFTER_MS);
        self.cluster.proposals.because = cx.cause;
    }

    /// Sends what waits, if nothing is under way and it is not too early.
    pub(in crate::broker) fn ask_for_isrs(&mut self, cx: &mut Cx) {
        let proposals = &mut self.cluster.proposals;
        if proposals.waiting.is_empty() || !proposals.under_way.is_empty() || cx.now < proposals.not_before {
            return;
        }
        proposals.under_way = std::mem::take(&mut proposals.waiting);
        let request = self.alter_partition_request();
        if self.cluster.controller.is_some() {
            return self.ask_own_controller(cx, request);
        }
        let controller = self.cluster.controller_id;
        let body = RequestBody::AlterPartition(request);
        if !self.send(
            controller,
            PeerLane::Requests,
            VERSION,
            &body,
            SendFor::AlterPartition,
        ) {
            self.alter_partition_answered(cx, Err("no controller is known".to_owned()));
        }
    }

    fn alter_partition_request(&self) -> AlterPartitionRequest {
        let mut topics: OrderedMap<Uuid, Vec<PartitionData>> = OrderedMap::new();
        for (&id, proposal) in &self.cluster.proposals.under_way {
            let Some(partition) = self.topics.partition(id) else {
                continue;
            };
            let member = |&(broker, epoch): &(i32, i64)| {
                message(|row: &mut BrokerState| {
                    row.broker_id = broker;
                    row.broker_epoch = epoch;
                })
            };
            let row = message(|row: &mut PartitionData| {
                row.partition_index = partition.name().partition;
                row.leader_epoch = proposal.leader_epoch;
                row.partition_epoch = proposal.partition_epoch;
                row.new_isr_with_epochs = proposal.isr.iter().map(member).collect();
            });
            topics.entry(partition.topic_id()).or_default().push(row);
        }
        let topic = |(id, partitions): (Uuid, _)| {
            message(|row: &mut TopicData| {
                row.topic_id = WireUuid::from(id);
                row.partitions = partitions;
            })
        };
        message(|request: &mut AlterPartitionRequest| {
            request.broker_id = self.config.node_id;
            request.broker_epoch = self.cluster.broker_epoch;
            request.topics = topics.into_iter().map(topic).collect();
        })
    }

    /// The controller has answered, or could not be asked.
    pub(super) fn alter_partition_answered(&mut self, cx: &mut Cx, answer: Result<ResponseBody, String>) {
        let asked = std::mem::take(&mut self.cluster.proposals.under_way);
        let answer = match answer {
            Ok(ResponseBody::AlterPartition(answer)) if answer.error_code == 0 => answer,
            _ => {
                // Asked of the wrong broker, or of none: whoever is the controller will be told soon.
                self.not_before(cx);
                for (id, proposal) in asked {
                    self.cluster.proposals.waiting.entry(id).or_insert(proposal);
                }
                return;
            }
        };
        for (id, proposal) in asked {
            self.proposal_answered(cx, id, &proposal, &answer);
        }
        self.ask_for_isrs(cx);
    }

    fn proposal_answered(
        &mut self,
        cx: &mut Cx,
        id: PartitionId,
        proposal: &Proposal,
        answer: &AlterPartitionResponse,
    ) {
        let Some(partition) = self.topics.partition_mut(id) else {
            return;
        };
        let topic_id = WireUuid::from(partition.topic_id());
        let index = partition.name().partition;
        let topics = answer.topics.iter().filter(|topic| topic.topic_id == topic_id);
        let row = topics
            .flat_map(|topic| &topic.partitions)
            .find(|row| row.partition_index == index);
        let result = match row {
            None => Err(ErrorCode::UnknownServerError),
            Some(row) if row.error_code != 0 => {
                Err(ErrorCode::from_code(row.error_code).unwrap_or(ErrorCode::UnknownServerError))
            }
            Some(row) => Ok(IsrAnswer {
                isr: row.isr.clone(),
                leader_epoch: row.leader_epoch,
                partition_epoch: row.partition_epoch,
            }),
        };
        let moved = partition.proposal_done(cx, &self.replication, proposal, result);
        if moved.proposal.is_some() {
            self.not_before(cx);
        }
        self.partition_moved(cx, id, moved);
    }
}
