//! JoinGroup: who comes in, and what that sets off.
//!
//! A member without an id is given one and asked to come again with it, so that clients which never see
//! the answer do not pile up as members (KIP-394). A static member takes the place of its former life. A
//! member that comes again with nothing new hears of the present generation; anything else begins a
//! rebalance, in which the JoinGroup waits for all others.

use std::sync::Arc;

use bytes::Bytes;

use super::classic::{ClassicGroup, GroupState};
use super::member::Member;
use super::request::{Answer, Join, Joined};
use super::{GroupSettings, GroupTimer, GroupTurn};
use crate::coordinator::Token;
use crate::error::ErrorCode;
use crate::trace::{Fact, GroupFact, RebalanceReason};

impl ClassicGroup {
    /// Handles a JoinGroup; it is answered now, or waits with the member.
    pub(super) fn join(&mut self, turn: &mut GroupTurn, settings: &GroupSettings, token: Token, join: &Join) {
        if !self.has_room(settings, &join.member) {
            self.remove(&join.member);
            return refuse(turn, token, &"".into(), ErrorCode::GroupMaxSizeReached);
        }
        if !self.supports(&join.protocol_type, &join.protocols) {
            return refuse(turn, token, &join.member, ErrorCode::InconsistentGroupProtocol);
        }
        match (join.member.is_empty(), &join.instance_id) {
            (true, None) => self.join_without_id(turn, settings, token, join),
            (true, Some(instance)) => {
                let id = new_member_id(turn, instance);
                match self.static_members.get(instance).cloned() {
                    Some(former) => self.join_in_place_of(turn, settings, token, join, &former, &id),
                    None => self.add_and_rebalance(turn, settings, token, join, &id),
                }
            }
            (false, _) => self.join_again(turn, settings, token, join),
        }
    }

    /// Members that are there always have room; new ones up to `group.max.size`. While a rebalance gathers
    /// members, those count who have come, so that the last to come are left out.
    fn has_room(&self, settings: &GroupSettings, member: &str) -> bool {
        let known = self.members.get(member);
        match self.state {
            GroupState::Empty => true,
            GroupState::PreparingRebalance => {
                known.is_some_and(|known| known.awaiting_join.is_some())
                    || self.awaiting_join < settings.max_size
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                known.is_some() || self.members.len() < settings.max_size
            }
        }
    }

    fn join_without_id(&mut self, turn: &mut GroupTurn, settings: &GroupSettings, token: Token, join: &Join) {
        let id = new_member_id(turn, &join.client_id);
        if !join.can_be_told_its_id {
            return self.add_and_rebalance(turn, settings, token, join, &id);
        }
        self.pending_join.insert(id.clone());
        self.expect_within(turn, &id, join.session_timeout_ms.into());
        turn.cx.emit(|| {
            Fact::Group(GroupFact::MemberIdGiven {
                group: self.id.to_string(),
                member: id.to_string(),
            })
        });
        refuse(turn, token, &id, ErrorCode::MemberIdRequired);
    }

    fn join_again(&mut self, turn: &mut GroupTurn, settings: &GroupSettings, token: Token, join: &Join) {
        if self.pending_join.contains(&join.member) {
            if join.instance_id.is_some() {
                // Only members without an instance id are given an id to come again with.
                return turn.answer(token, Err(ErrorCode::UnknownServerError));
            }
            return self.add_and_rebalance(turn, settings, token, join, &join.member);
        }
        if let Err(code) = self.check_member(&join.member, join.instance_id.as_deref()) {
            return refuse(turn, token, &join.member, code);
        }
        let member = self.members.get(&join.member);
        let is_changed = member.is_some_and(|member| member.protocols != join.protocols);
        let leads = self.is_leader(&join.member);
        let member = join.member.to_string();
        let why = match self.state {
            GroupState::PreparingRebalance => RebalanceReason::MemberJoined { member },
            // The leader comes when topics have changed, which no member's metadata shows.
            GroupState::Stable if leads => RebalanceReason::LeaderJoined { member },
            GroupState::Stable | GroupState::CompletingRebalance if is_changed => {
                RebalanceReason::MetadataChanged { member }
            }
            // It has missed the answer of this generation.
            GroupState::Stable => {
                let answer = Joined {
                    members: Vec::new(),
                    ..self.joined(&join.member)
                };
                return turn.answer(token, Ok(Answer::Joined(answer)));
            }
            GroupState::CompletingRebalance => {
                let answer = self.joined(&join.member);
                return turn.answer(token, Ok(Answer::Joined(answer)));
            }
            GroupState::Empty => return refuse(turn, token, &join.member, ErrorCode::UnknownMemberId),
        };
        self.forget_former_wait(turn, &join.member);
        self.update_member(
            &join.member,
            &join.protocols,
            join.rebalance_timeout_ms,
            join.session_timeout_ms,
            Some(token),
        );
        self.rebalance_or_complete(turn, settings, why);
    }

    /// Its client has given up an earlier JoinGroup and asks anew: the earlier one is not waited for.
    fn forget_former_wait(&mut self, turn: &mut GroupTurn, member: &str) {
        let waits = self.members.get(member).and_then(|member| member.awaiting_join);
        if waits.is_some() {
            let answer = Joined::refused(&member.into(), ErrorCode::RebalanceInProgress);
            self.answer_join(turn, member, answer);
        }
    }

    fn add_and_rebalance(
        &mut self,
        turn: &mut GroupTurn,
        settings: &GroupSettings,
        token: Token,
        join: &Join,
        id: &Arc<str>,
    ) {
        if let Some(initial) = &mut self.initial {
            initial.member_added = true;
        }
        if self.members.is_empty() {
            self.protocol_type = Some(join.protocol_type.clone());
        }
        self.add(Member {
            id: id.clone(),
            instance_id: join.instance_id.clone(),
            client_id: join.client_id.clone(),
            client_host: join.client_host.clone(),
            rebalance_timeout_ms: join.rebalance_timeout_ms,
            session_timeout_ms: join.session_timeout_ms,
            protocols: join.protocols.clone(),
            assignment: Bytes::new(),
            awaiting_join: Some(token),
            awaiting_sync: None,
            is_new: true,
        });
        // It cannot send heartbeats while its JoinGroup waits, and whether its client is still there
        // cannot be seen: it has this long.
        self.expect_within(turn, id, settings.new_member_join_timeout_ms);
        turn.cx.emit(|| {
            Fact::Group(GroupFact::MemberJoined {
                group: self.id.to_string(),
                member: id.to_string(),
                instance: join.instance_id.as_deref().map(str::to_owned),
            })
        });
        let why = RebalanceReason::MemberJoined {
            member: id.to_string(),
        };
        self.rebalance_or_complete(turn, settings, why);
    }

    /// Something is to be heard of the member within this time, or it is taken for dead.
    pub(super) fn expect_within(&self, turn: &mut GroupTurn, member: &Arc<str>, timeout_ms: i64) {
        let timer = GroupTimer::Heartbeat(self.id.clone(), member.clone());
        let at = turn.cx.now.saturating_add(timeout_ms);
        turn.timers.set(timer, at, turn.cx.cause);
    }

    /// The member was heard of.
    pub(super) fn expect_heartbeat(&self, turn: &mut GroupTurn, member: &Arc<str>) {
        if let Some(known) = self.members.get(member) {
            self.expect_within(turn, member, known.session_timeout_ms.into());
        }
    }

    pub(super) fn expect_no_more(&self, turn: &mut GroupTurn, member: &Arc<str>) {
        let timer = GroupTimer::Heartbeat(self.id.clone(), member.clone());
        turn.timers.cancel(&timer);
    }
}

/// What the client calls itself, and a drawn UUID as Java writes it.
fn new_member_id(turn: &mut GroupTurn, prefix: &str) -> Arc<str> {
    let [a, b, c, d, e] = [0..4, 4..6, 6..8, 8..10, 10..16];
    let id = turn.cx.rng.uuid().0;
    let hex = |range: std::ops::Range<usize>| -> String {
        id.iter()
            .skip(range.start)
            .take(range.len())
            .map(|byte| format!("{byte:02x}"))
            .collect()
    };
    format!("{prefix}-{}-{}-{}-{}-{}", hex(a), hex(b), hex(c), hex(d), hex(e)).into()
}

pub(super) fn refuse(turn: &mut GroupTurn, token: Token, member: &Arc<str>, code: ErrorCode) {
    turn.answer(token, Ok(Answer::Joined(Joined::refused(member, code))));
}
