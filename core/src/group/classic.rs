//! A classic group: its members, its generation, its state (Kafka's `ClassicGroup`).
//!
//! ```text
//!            first member                 all joined, or time is up
//!   Empty ---------------> PreparingRebalance ------------------> CompletingRebalance
//!     ^                          ^     ^                            |  leader's assignment
//!     | nobody joined            |     | member joins, leaves, dies |  is stored
//!     +--------------------------+     +--------- Stable <----------+
//! ```
//!
//! Here are the parts that only keep the books. What they add up to is told in [`join`](super::join),
//! [`rebalance`](super::rebalance), [`sync`](super::sync) and [`leave`](super::leave).
//!
//! Invariants
//! - a generation has one leader, and it is a member
//! - a generation only grows
//! - every protocol's supporters are counted: a protocol can be chosen when all members support it
//! - a member that waits has one token for JoinGroup and one for SyncGroup at most, each answered once

use std::sync::Arc;

use bytes::Bytes;

use super::member::{Member, Protocol};
use super::record::{StoredGroup, StoredMember};
use super::request::{Answer, Joined, JoinedMember, Synced};
use super::subscription;
use super::{GroupTurn, Identity};
use crate::coordinator::Token;
use crate::error::ErrorCode;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::trace::EventId;
use crate::types::{Millis, NO_TIMESTAMP};

/// The type of protocol that consumers use; others (Kafka Connect) have names of their own.
pub const CONSUMER: &str = "consumer";

/// Kafka's `ClassicGroupState`. There is no Dead here: a group that is gone is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupState {
    Empty,
    PreparingRebalance,
    CompletingRebalance,
    Stable,
}

impl GroupState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
        }
    }
}

/// While the first members of a group gather: how long the present wait is, and what may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InitialDelay {
    pub delay_ms: Millis,
    pub remaining_ms: Millis,
    /// Somebody came during the present wait.
    pub member_added: bool,
}

#[derive(Clone, Debug)]
pub struct ClassicGroup {
    pub(super) id: Arc<str>,
    pub(super) state: GroupState,
    /// `None`: an old record did not say.
    pub(super) state_since_ms: Option<Millis>,
    /// `None`: nobody ever joined; the group only holds offsets.
    pub(super) protocol_type: Option<Arc<str>>,
    pub(super) protocol: Option<Arc<str>>,
    pub(super) generation: i32,
    pub(super) leader: Option<Arc<str>>,
    pub(super) members: OrderedMap<Arc<str>, Member>,
    /// Instance id to member id.
    pub(super) static_members: OrderedMap<Arc<str>, Arc<str>>,
    /// Were given an id and have not come again with it.
    pub(super) pending_join: OrderedSet<Arc<str>>,
    /// Know the generation, and have not sent their SyncGroup.
    pub(super) pending_sync: OrderedSet<Arc<str>>,
    pub(super) awaiting_join: usize,
    supporters: OrderedMap<Arc<str>, usize>,
    /// `None`: not consumers, or their subscriptions cannot be read.
    pub(super) subscribed: Option<OrderedSet<Arc<str>>>,
    /// Set while an initial rebalance gathers members.
    pub(super) initial: Option<InitialDelay>,
    /// The rebalance that is under way.
    pub(super) rebalance: EventId,
}

impl ClassicGroup {
    /// A group of nobody.
    pub fn new(id: Arc<str>, now: Millis) -> Self {
        Self {
            id,
            state: GroupState::Empty,
            state_since_ms: Some(now),
            protocol_type: None,
            protocol: None,
            generation: 0,
            leader: None,
            members: OrderedMap::new(),
            static_members: OrderedMap::new(),
            pending_join: OrderedSet::new(),
            pending_sync: OrderedSet::new(),
            awaiting_join: 0,
            supporters: OrderedMap::new(),
            subscribed: None,
            initial: None,
            rebalance: EventId::NONE,
        }
    }

    /// The group as its record has it: empty, or stable.
    pub fn from_stored(id: Arc<str>, stored: StoredGroup, now: Millis) -> Self {
        let mut group = Self::new(id, now);
        if !stored.members.is_empty() {
            group.state = GroupState::Stable;
        }
        group.state_since_ms = Some(stored.state_since_ms).filter(|&at| at != NO_TIMESTAMP);
        group.protocol_type = Some(stored.protocol_type).filter(|kind| !kind.is_empty());
        group.generation = stored.generation;
        group.leader = stored.leader;
        let protocol = stored.protocol.clone().unwrap_or_else(|| "".into());
        group.protocol = stored.protocol;
        for member in stored.members {
            let metadata = Bytes::copy_from_slice(&member.subscription);
            group.add(Member {
                id: member.id,
                instance_id: member.instance_id,
                client_id: member.client_id,
                client_host: member.client_host,
                rebalance_timeout_ms: member.rebalance_timeout_ms,
                session_timeout_ms: member.session_timeout_ms,
                protocols: Arc::new([Protocol {
                    name: protocol.clone(),
                    metadata,
                }]),
                assignment: Bytes::copy_from_slice(&member.assignment),
                awaiting_join: None,
                awaiting_sync: None,
                is_new: false,
            });
        }
        if group
            .leader
            .as_ref()
            .is_some_and(|leader| !group.members.contains_key(leader))
        {
            group.leader = group.members.keys().next().cloned();
        }
        group.subscribed = subscription::of_group(&group);
        group
    }

    /// The record of the present generation, in which each member has this assignment.
    pub fn to_stored(&self, assignment_of: impl Fn(&Member) -> Bytes) -> StoredGroup {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let stored = |member: &Member| StoredMember {
            id: member.id.clone(),
            instance_id: member.instance_id.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            rebalance_timeout_ms: member.rebalance_timeout_ms,
            session_timeout_ms: member.session_timeout_ms,
            subscription: member.metadata(protocol),
            assignment: assignment_of(member),
        };
        StoredGroup {
            protocol_type: self.protocol_type.clone().unwrap_or_else(|| "".into()),
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            state_since_ms: self.state_since_ms.unwrap_or(NO_TIMESTAMP),
            members: self.members.values().map(stored).collect(),
        }
    }

    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    pub fn state(&self) -> GroupState {
        self.state
    }

    pub fn generation(&self) -> i32 {
        self.generation
    }

    pub fn protocol_type(&self) -> Option<&Arc<str>> {
        self.protocol_type.as_ref()
    }

    pub fn protocol(&self) -> Option<&Arc<str>> {
        self.protocol.as_ref()
    }

    pub fn leader(&self) -> Option<&Arc<str>> {
        self.leader.as_ref()
    }

    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    pub fn is_empty(&self) -> bool {
        self.state == GroupState::Empty
    }

    pub fn uses_consumer_protocol(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER)
    }

    /// Whether offsets of the topic are in use. Of consumers whose subscriptions cannot be read every
    /// topic's may be.
    pub fn is_subscribed_to(&self, topic: &str) -> bool {
        match &self.subscribed {
            Some(topics) => topics.contains(topic),
            None => self.uses_consumer_protocol(),
        }
    }

    pub(super) fn is_leader(&self, member: &str) -> bool {
        self.leader.as_deref() == Some(member)
    }

    pub(super) fn enter(&mut self, now: Millis, state: GroupState) {
        self.state = state;
        self.state_since_ms = Some(now);
    }

    pub(super) fn has_all_joined(&self) -> bool {
        self.members.len() == self.awaiting_join && self.pending_join.is_empty()
    }

    pub(super) fn rebalance_timeout_ms(&self) -> Millis {
        let longest = self
            .members
            .values()
            .map(|member| member.rebalance_timeout_ms)
            .max();
        Millis::from(longest.unwrap_or(0).max(0))
    }

    /// Takes a member in. It brings the type of protocol if it is the first.
    pub(super) fn add(&mut self, member: Member) {
        if let Some(instance) = &member.instance_id {
            self.static_members.insert(instance.clone(), member.id.clone());
        }
        if self.leader.is_none() {
            self.leader = Some(member.id.clone());
        }
        self.awaiting_join += usize::from(member.awaiting_join.is_some());
        self.count_protocols(&member.protocols, true);
        self.pending_join.remove(&member.id);
        self.members.insert(member.id.clone(), member);
    }

    /// Takes a member, or one that was to become it, out of the books. If it led, the next one leads.
    pub(super) fn remove(&mut self, id: &str) -> Option<Member> {
        let removed = self.members.remove(id);
        if let Some(member) = &removed {
            self.count_protocols(&member.protocols.clone(), false);
            self.awaiting_join -= usize::from(member.awaiting_join.is_some());
            if let Some(instance) = &member.instance_id {
                self.static_members.remove(instance);
            }
        }
        if self.is_leader(id) {
            self.leader = self.members.keys().next().cloned();
        }
        self.pending_join.remove(id);
        self.pending_sync.remove(id);
        removed
    }

    fn count_protocols(&mut self, protocols: &[Protocol], more: bool) {
        for protocol in protocols {
            let count = self.supporters.entry(protocol.name.clone()).or_insert(0);
            *count = if more { *count + 1 } else { count.saturating_sub(1) };
            if *count == 0 {
                self.supporters.remove(&protocol.name);
            }
        }
    }

    /// The member comes again, perhaps with other protocols.
    pub(super) fn update_member(
        &mut self,
        id: &str,
        protocols: &Arc<[Protocol]>,
        rebalance_timeout_ms: i32,
        session_timeout_ms: i32,
        token: Option<Token>,
    ) {
        let Some(member) = self.members.get_mut(id) else {
            return;
        };
        let before = std::mem::replace(&mut member.protocols, protocols.clone());
        member.rebalance_timeout_ms = rebalance_timeout_ms;
        member.session_timeout_ms = session_timeout_ms;
        let was_waiting = std::mem::replace(&mut member.awaiting_join, token).is_some();
        self.awaiting_join -= usize::from(was_waiting);
        self.awaiting_join += usize::from(token.is_some());
        self.count_protocols(&before, false);
        self.count_protocols(protocols, true);
    }

    /// Whether who comes with these can be a member beside those that are there.
    pub(super) fn supports(&self, protocol_type: &str, protocols: &[Protocol]) -> bool {
        if self.state == GroupState::Empty {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        let is_of_all = |protocol: &Protocol| {
            let count = self.supporters.get(&protocol.name).copied();
            count.unwrap_or(0) == self.members.len()
        };
        self.protocol_type.as_deref() == Some(protocol_type) && protocols.iter().any(is_of_all)
    }

    /// The protocol that most members like best, among those that all support.
    pub(super) fn select_protocol(&self) -> Option<Arc<str>> {
        let all = self
            .supporters
            .iter()
            .filter(|(_, count)| **count == self.members.len());
        let candidates: OrderedSet<&Arc<str>> = all.map(|(name, _)| name).collect();
        let mut votes: OrderedMap<Arc<str>, usize> = OrderedMap::new();
        for vote in self
            .members
            .values()
            .filter_map(|member| member.vote(&candidates))
        {
            *votes.entry(vote).or_default() += 1;
        }
        let most = votes.values().copied().max()?;
        votes
            .into_iter()
            .find(|(_, count)| *count == most)
            .map(|(name, _)| name)
    }

    /// If the leader has not joined, another that has becomes leader. False when nobody has.
    pub(super) fn elect_joined_leader(&mut self) -> bool {
        let Some(leader) = self.leader.as_ref().and_then(|id| self.members.get(id)) else {
            return false;
        };
        if leader.awaiting_join.is_some() {
            return true;
        }
        let joined = self
            .members
            .values()
            .find(|member| member.awaiting_join.is_some());
        match joined.map(|member| member.id.clone()) {
            Some(id) => {
                self.leader = Some(id);
                true
            }
            None => false,
        }
    }

    /// Begins the next generation with those who are here.
    pub(super) fn next_generation(&mut self, now: Millis) {
        self.generation += 1;
        self.initial = None;
        self.protocol = self.select_protocol();
        self.subscribed = subscription::of_group(self);
        let state = match self.members.is_empty() {
            true => GroupState::Empty,
            false => GroupState::CompletingRebalance,
        };
        self.enter(now, state);
        self.pending_sync.clear();
    }

    // ANCHOR: check_identity
    /// Is this who it claims to be? (`validateMember`)
    ///
    /// Errors: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID when another has the instance's place.
    pub(super) fn check_member(&self, member: &str, instance_id: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(instance) = instance_id {
            let holder = self
                .static_members
                .get(instance)
                .ok_or(ErrorCode::UnknownMemberId)?;
            if &**holder != member {
                return Err(ErrorCode::FencedInstanceId);
            }
        }
        match self.members.contains_key(member) {
            true => Ok(()),
            false => Err(ErrorCode::UnknownMemberId),
        }
    }

    /// The same, and of the present generation.
    pub(super) fn check_identity(&self, who: &Identity) -> Result<(), ErrorCode> {
        self.check_member(&who.member, who.instance_id.as_deref())?;
        match who.generation == self.generation {
            true => Ok(()),
            false => Err(ErrorCode::IllegalGeneration),
        }
    }
    // ANCHOR_END: check_identity

    /// Everyone as the leader needs to see them.
    pub(super) fn joined_members(&self) -> Vec<JoinedMember> {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let seen = |member: &Member| JoinedMember {
            id: member.id.clone(),
            instance_id: member.instance_id.clone(),
            metadata: member.metadata(protocol),
        };
        self.members.values().map(seen).collect()
    }

    /// The present generation, as a member hears of it.
    pub(super) fn joined(&self, member: &Arc<str>) -> Joined {
        Joined {
            error: ErrorCode::None,
            member: member.clone(),
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone().unwrap_or_else(|| "".into()),
            skip_assignment: false,
            members: match self.is_leader(member) {
                true => self.joined_members(),
                false => Vec::new(),
            },
        }
    }

    /// Answers the member's JoinGroup, if it waits.
    pub(super) fn answer_join(&mut self, turn: &mut GroupTurn, member: &str, answer: Joined) {
        let member = self.members.get_mut(member);
        if let Some(token) = member.and_then(|member| member.awaiting_join.take()) {
            self.awaiting_join -= 1;
            turn.answer(token, Ok(Answer::Joined(answer)));
        }
    }

    /// Answers the member's SyncGroup; false when it did not wait.
    pub(super) fn answer_sync(&mut self, turn: &mut GroupTurn, member: &str, answer: Synced) -> bool {
        let member = self.members.get_mut(member);
        let token = member.and_then(|member| member.awaiting_sync.take());
        if let Some(token) = token {
            turn.answer(token, Ok(Answer::Synced(answer)));
        }
        token.is_some()
    }
}
