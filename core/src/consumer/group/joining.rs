//! JoinGroup and SyncGroup, and what a leader does between them.

use std::sync::Arc;

use bytes::Bytes;

use super::Group;
use super::coordinator::group_error;
use super::membership::MemberState;
use crate::client::{ClientCx, NetworkError};
use crate::consumer::assignor::{Assignor, MemberSubscription, Members, Racks, Shares, TopicsForAssignment};
use crate::consumer::error::ConsumerError;
use crate::consumer::generation::Generation;
use crate::consumer::purpose::Purpose;
use crate::consumer::requests;
use crate::consumer::shared::Shared;
use crate::error::ErrorCode;
use crate::ordered::OrderedSet;
use crate::protocol::consumer_protocol::{Assignment, Subscription};
use crate::protocol::messages::{JoinGroupResponse, SyncGroupResponse};
use crate::protocol::{ApiKey, ResponseBody};
use crate::trace::ConsumerFact;
use crate::types::Millis;

/// A join may take as long as a rebalance, and so much more (`JOIN_GROUP_TIMEOUT_LAPSE`).
const JOIN_LAPSE_MS: Millis = 5_000;

impl Group {
    /// Sends JoinGroup, once nothing stands in its way.
    pub(super) fn join(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        if self.member.not_before > cx.now {
            return shared.wake_at(self.member.not_before);
        }
        let Some(node) = self.coordinator.ready(shared, cx) else {
            return;
        };
        let Ok(version) = shared.net.usable_version(&node, ApiKey::JoinGroup, i16::MAX) else {
            return;
        };
        let Some(protocols) = self.protocols(shared, cx) else {
            return;
        };
        let member = &mut self.member;
        let body = requests::join_group(
            version,
            &self.config,
            &member.generation.member,
            &member.rejoin_reason,
            protocols,
        );
        let sent = member.generation.clone();
        let takes_ms = self.config.max_poll_interval_ms.saturating_add(JOIN_LAPSE_MS);
        let (group, id) = (self.config.group.clone(), sent.member.clone());
        let why = member.rejoin_reason.clone();
        shared.emit(cx, || ConsumerFact::JoinSent {
            group,
            member: id,
            why,
        });
        let purpose = Purpose::Join(sent);
        if shared
            .net
            .send(cx, &node, version, &body, purpose, takes_ms)
            .is_ok()
        {
            member.state = MemberState::PreparingRebalance;
            member.joined_topics = Some(shared.subscriptions.topics().clone());
            member.in_flight = true;
        }
    }

    /// What the member tells each assignor of itself.
    fn protocols(&self, shared: &mut Shared, cx: &mut ClientCx) -> Option<Vec<(&'static str, Bytes)>> {
        let owned: Vec<_> = shared.subscriptions.assigned().into_iter().collect();
        let generation = self.member.generation.id;
        let one = |assignor: &&'static dyn Assignor| {
            let last = self.member.last_assignments.get(assignor.name());
            let subscription = Subscription {
                topics: shared.subscriptions.topics().iter().cloned().collect(),
                user_data: assignor.user_data(last),
                owned_partitions: owned.clone(),
                generation: (generation >= 0).then_some(generation),
                rack: shared.config.client_rack.clone(),
            };
            Ok((assignor.name(), subscription.encode()?))
        };
        let all: Result<Vec<_>, crate::error::Malformed> = self.config.assignors.iter().map(one).collect();
        match all {
            Ok(all) => Some(all),
            Err(error) => {
                shared.fail(cx, ConsumerError::Unsupported(error.to_string()));
                None
            }
        }
    }

    /// What was answered to JoinGroup or SyncGroup; without an answer the coordinator is looked for anew, and
    /// the rebalance has failed.
    fn arrived(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        result: Result<ResponseBody, NetworkError>,
    ) -> Option<ResponseBody> {
        self.member.in_flight = false;
        match result {
            Ok(body) => Some(body),
            Err(error) => {
                self.coordinator.lost(shared, cx, &error.to_string());
                self.rebalance_failed(shared, cx, "DisconnectException", true);
                None
            }
        }
    }

    pub(super) fn join_answered(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        sent: &Generation,
        result: Result<ResponseBody, NetworkError>,
    ) {
        let answer = match self.arrived(shared, cx, result) {
            Some(ResponseBody::JoinGroup(answer)) => answer,
            Some(_) => return self.rebalance_failed(shared, cx, "another answer", true),
            None => return,
        };
        let code = ErrorCode::from_code(answer.error_code).unwrap_or(ErrorCode::UnknownServerError);
        if code != ErrorCode::None {
            return self.join_refused(shared, cx, sent, code, &answer);
        }
        if self.member.state != MemberState::PreparingRebalance {
            // It left meanwhile.
            return self.rebalance_failed(shared, cx, "UnjoinedGroupException", true);
        }
        let is_other = answer
            .protocol_type
            .as_deref()
            .is_some_and(|name| name != requests::PROTOCOL_TYPE);
        if is_other {
            let error = group_error(&self.config.group, ErrorCode::InconsistentGroupProtocol);
            self.rebalance_failed(shared, cx, "InconsistentGroupProtocolException", true);
            return shared.fail(cx, error);
        }
        self.joined(shared, cx, answer);
    }

    fn joined(&mut self, shared: &mut Shared, cx: &mut ClientCx, answer: JoinGroupResponse) {
        let member = &mut self.member;
        member.state = MemberState::CompletingRebalance;
        member.generation = Generation {
            id: answer.generation_id,
            member: (&*answer.member_id).into(),
            protocol: answer.protocol_name.as_deref().map(Arc::from),
        };
        member.begin_heartbeats(
            cx.now,
            self.config.heartbeat_interval_ms,
            self.config.session_timeout_ms,
        );
        let leads = answer.leader == answer.member_id;
        let (group, id) = (self.config.group.clone(), member.generation.member.clone());
        shared.emit(cx, || ConsumerFact::Joined {
            group,
            member: id,
            generation: answer.generation_id,
            leads,
        });
        if leads {
            let members = self.members(&answer);
            let topics: OrderedSet<Arc<str>> = members
                .values()
                .flat_map(|member| member.subscription.topics.iter().cloned())
                .collect();
            shared.subscriptions.set_group_topics(topics.clone());
            // What was asked for already may be older than this rebalance.
            let is_fresh = topics.iter().all(|topic| shared.net.metadata.wants(topic))
                && !shared.net.metadata.is_update_wanted();
            let needed = shared.net.metadata.updates() + u64::from(!is_fresh);
            self.member.leading = Some((Box::new(answer), needed));
            shared.again = true;
        } else {
            self.sync(shared, cx, Vec::new());
        }
    }

    fn members(&self, answer: &JoinGroupResponse) -> Members {
        let rows = answer.members.iter().filter_map(|row| {
            // Who says nothing that can be read reads nothing.
            let subscription = Subscription::decode(&row.metadata).ok()?;
            let member = MemberSubscription {
                instance_id: row.group_instance_id.as_deref().map(Arc::from),
                subscription,
            };
            Some((Arc::from(&*row.member_id), member))
        });
        rows.collect()
    }

    /// A leader shares out once it knows the topics of all.
    pub(super) fn lead(&mut self, shared: &mut Shared, cx: &mut ClientCx) {
        let Some((answer, needed)) = &self.member.leading else {
            return;
        };
        if shared.net.metadata.updates() < *needed {
            return;
        }
        let skips = answer.skip_assignment;
        let members = self.members(answer);
        self.member.leading = None;
        self.member.is_leader = true;
        self.member.shared_out = Some(self.snapshot(shared));
        if skips {
            return self.sync(shared, cx, Vec::new());
        }
        let name = self.member.generation.protocol.clone();
        let assignor = self.assignor(name.as_deref());
        let Some(assignor) = assignor else {
            let error = group_error(&self.config.group, ErrorCode::InconsistentGroupProtocol);
            self.rebalance_failed(shared, cx, "IllegalStateException", true);
            return shared.fail(cx, error);
        };
        let shares = assignor.assign(&self.snapshot(shared), &members);
        self.share_out(shared, cx, assignor.name(), shares);
    }

    fn share_out(&mut self, shared: &mut Shared, cx: &mut ClientCx, assignor: &str, shares: Shares) {
        #[cfg(test)]
        let shares = mistaken(shares);
        let (group, generation) = (self.config.group.clone(), self.member.generation.id);
        shared.emit(cx, || ConsumerFact::SharedOut {
            group,
            generation,
            assignor: assignor.to_owned(),
            shares: shares
                .iter()
                .map(|(member, share)| (member.clone(), share.clone()))
                .collect(),
        });
        let encoded = shares.into_iter().map(|(member, partitions)| {
            let assignment = Assignment {
                partitions,
                user_data: None,
            };
            Ok((member, assignment.encode()?))
        });
        match encoded.collect::<Result<Vec<_>, crate::error::Malformed>>() {
            Ok(encoded) => self.sync(shared, cx, encoded),
            Err(error) => {
                self.rebalance_failed(shared, cx, "IllegalStateException", true);
                shared.fail(cx, ConsumerError::Unsupported(error.to_string()));
            }
        }
    }

    pub(super) fn assignor(&self, name: Option<&str>) -> Option<&'static dyn Assignor> {
        let mut all = self.config.assignors.iter();
        all.find(|assignor| Some(assignor.name()) == name).copied()
    }

    /// The topics that matter to the group, as they are known now. Racks count only for a client that has
    /// one.
    pub(super) fn snapshot(&self, shared: &Shared) -> TopicsForAssignment {
        let metadata = &shared.net.metadata;
        let racks = |replicas: &[i32]| -> Racks {
            if shared.config.client_rack.is_none() {
                return Racks::new();
            }
            let brokers = replicas.iter().filter_map(|id| metadata.broker(*id));
            brokers.filter_map(|broker| broker.rack.clone()).collect()
        };
        let known = shared.subscriptions.metadata_topics().into_iter();
        let known = known.filter_map(|name| {
            let topic = metadata.topic(&name)?;
            let partitions = topic.partitions.iter();
            let partitions = partitions.map(|found| {
                found
                    .as_ref()
                    .map_or_else(Racks::new, |found| racks(&found.replicas))
            });
            let partitions = partitions.collect();
            Some((name, partitions))
        });
        known.collect()
    }

    fn join_refused(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        sent: &Generation,
        code: ErrorCode,
        answer: &JoinGroupResponse,
    ) {
        if code == ErrorCode::MemberIdRequired {
            // The handshake of KIP-394: it comes again at once, by this name.
            self.member.generation = Generation::of_member((&*answer.member_id).into());
            let why = format!("need to re-join with the given member-id: {}", answer.member_id);
            why.clone_into(&mut self.member.rejoin_reason);
            self.member.rejoin_needed = true;
            shared.again = true;
            return;
        }
        let group = self.config.group.clone();
        shared.emit(cx, || ConsumerFact::JoinRefused { group, code });
        match code {
            ErrorCode::UnknownMemberId => {
                if self.member.generation == *sent {
                    self.member.reset(
                        shared,
                        cx,
                        "encountered UNKNOWN_MEMBER_ID from JOIN_GROUP response",
                        true,
                    );
                }
                self.rebalance_failed(shared, cx, "UnknownMemberIdException", false);
            }
            ErrorCode::RebalanceInProgress => {
                self.rebalance_failed(shared, cx, "RebalanceInProgressException", false);
            }
            ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator => {
                self.coordinator.give_up(shared, cx, code.kafka_name());
                self.rebalance_failed(shared, cx, code.kafka_name(), true);
            }
            code if code.is_retriable() => self.rebalance_failed(shared, cx, code.kafka_name(), true),
            code => {
                self.rebalance_failed(shared, cx, code.kafka_name(), true);
                shared.fail(cx, group_error(&self.config.group, code));
            }
        }
    }

    /// Asks for the share; a leader hands out everybody's.
    fn sync(&mut self, shared: &mut Shared, cx: &mut ClientCx, shares: Vec<(Arc<str>, Bytes)>) {
        let generation = self.member.generation.clone();
        let node = self.coordinator.node().cloned();
        let node = node.filter(|node| shared.net.ready(cx, node));
        let version = node.as_ref().and_then(|node| {
            let version = shared.net.usable_version(node, ApiKey::SyncGroup, i16::MAX);
            version.ok()
        });
        let (Some(node), Some(version)) = (node, version) else {
            return self.rebalance_failed(shared, cx, "the coordinator is not available", true);
        };
        let body = requests::sync_group(version, &self.config, &generation, shares);
        let purpose = Purpose::Sync(generation);
        match shared.net.send(cx, &node, version, &body, purpose, 0) {
            Ok(_) => self.member.in_flight = true,
            Err(error) => self.rebalance_failed(shared, cx, &error.to_string(), true),
        }
    }

    pub(super) fn sync_answered(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        sent: &Generation,
        result: Result<ResponseBody, NetworkError>,
    ) {
        let answer = match self.arrived(shared, cx, result) {
            Some(ResponseBody::SyncGroup(answer)) => answer,
            Some(_) => return self.rebalance_failed(shared, cx, "another answer", true),
            None => return,
        };
        let code = ErrorCode::from_code(answer.error_code).unwrap_or(ErrorCode::UnknownServerError);
        if code != ErrorCode::None {
            return self.sync_refused(shared, cx, sent, code);
        }
        self.synced(shared, cx, sent, answer);
    }

    fn synced(
        &mut self,
        shared: &mut Shared,
        cx: &mut ClientCx,
        sent: &Generation,
        answer: SyncGroupResponse,
    ) {
        let member = &mut self.member;
        if member.generation != *sent || member.state != MemberState::CompletingRebalance {
            return self.rebalance_failed(shared, cx, "IllegalGenerationException", false);
        }
        let is_other =
            answer.protocol_name.is_some() && answer.protocol_name.as_deref() != sent.protocol.as_deref();
        if is_other {
            let error = group_error(&self.config.group, ErrorCode::InconsistentGroupProtocol);
            self.rebalance_failed(shared, cx, "InconsistentGroupProtocolException", true);
            return shared.fail(cx, error);
        }
        member.state = MemberState::Stable;
        member.rejoin_needed = false;
        member.rejoin_reason.clear();
        member.share = Some(answer.assignment);
        shared.again = true;
    }

    fn sync_refused(&mut self, shared: &mut Shared, cx: &mut ClientCx, sent: &Generation, code: ErrorCode) {
        let group = self.config.group.clone();
        shared.emit(cx, || ConsumerFact::SyncRefused { group, code });
        match code {
            ErrorCode::RebalanceInProgress => {
                self.rebalance_failed(shared, cx, "RebalanceInProgressException", false);
            }
            ErrorCode::UnknownMemberId | ErrorCode::IllegalGeneration => {
                if self.member.generation == *sent {
                    let why = format!("encountered {code} from SYNC_GROUP response");
                    let forget = code == ErrorCode::UnknownMemberId;
                    self.member.reset(shared, cx, &why, forget);
                }
                self.rebalance_failed(shared, cx, code.kafka_name(), false);
            }
            ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator => {
                self.coordinator.give_up(shared, cx, code.kafka_name());
                self.rebalance_failed(shared, cx, code.kafka_name(), true);
            }
            code if code.is_retriable() => self.rebalance_failed(shared, cx, code.kafka_name(), true),
            code => {
                self.rebalance_failed(shared, cx, code.kafka_name(), true);
                shared.fail(cx, group_error(&self.config.group, code));
            }
        }
    }

    /// This rebalance came to nothing: the member joins again, at once or after a pause.
    fn rebalance_failed(&mut self, shared: &mut Shared, cx: &mut ClientCx, why: &str, pauses: bool) {
        self.member.leading = None;
        if pauses {
            self.member.not_before = cx.now + self.retry_backoff_ms;
            shared.wake_at(self.member.not_before);
        }
        let why = format!("rebalance failed due to {why}");
        self.member.want_rejoin(shared, cx, &why);
    }
}

/// The shares as a leader makes them that is mistaken on purpose.
#[cfg(test)]
fn mistaken(mut shares: Shares) -> Shares {
    let mut all: Vec<_> = shares.values().flatten().cloned().collect();
    all.sort();
    for share in shares.values_mut() {
        if mutated!(EverybodyGetsEverything) {
            share.clone_from(&all);
        }
        if mutated!(PartitionLeftOut) {
            share.retain(|partition| Some(partition) != all.first());
        }
    }
    shares
}
