//! The first half of a rebalance: members are gathered, then a generation is formed.
//!
//! A group of nobody waits `group.initial.rebalance.delay.ms` for more members to come, and again while
//! they do, up to the rebalance timeout. Any later rebalance waits for those who are members, at most
//! their longest rebalance timeout: who has not come by then is out, but for static members, whose
//! absence only their session ends.

use std::sync::Arc;

use super::classic::{ClassicGroup, GroupState, InitialDelay};
use super::record::group_record;
use super::request::{Answer, Joined};
use super::{GroupSettings, GroupTimer, GroupTurn};
use crate::error::ErrorCode;
use crate::trace::{Fact, GroupFact, RebalanceReason, RemovalReason};

impl ClassicGroup {
    /// Begins a rebalance, or, if one is under way, ends its gathering when everybody is there.
    pub(super) fn rebalance_or_complete(
        &mut self,
        turn: &mut GroupTurn,
        settings: &GroupSettings,
        why: RebalanceReason,
    ) {
        match self.state {
            GroupState::PreparingRebalance => self.complete_if_all_joined(turn),
            _ => self.prepare_rebalance(turn, settings, why),
        }
    }

    pub(super) fn prepare_rebalance(
        &mut self,
        turn: &mut GroupTurn,
        settings: &GroupSettings,
        why: RebalanceReason,
    ) {
        if self.state == GroupState::CompletingRebalance {
            self.refuse_assignment(turn, ErrorCode::RebalanceInProgress);
        }
        self.pending_sync.clear();
        turn.timers.cancel(&GroupTimer::Sync(self.id.clone()));
        self.rebalance = turn.cx.emit(|| {
            Fact::Group(GroupFact::RebalanceStarted {
                group: self.id.to_string(),
                generation: self.generation,
                why,
            })
        });
        let is_initial = self.state == GroupState::Empty;
        self.enter(turn.now(), GroupState::PreparingRebalance);
        if is_initial {
            let delay_ms = settings.initial_rebalance_delay_ms;
            self.initial = Some(InitialDelay {
                delay_ms,
                remaining_ms: (self.rebalance_timeout_ms() - delay_ms).max(0),
                member_added: false,
            });
            self.gather_for(turn, delay_ms);
        } else if self.has_all_joined() {
            self.complete_join(turn);
        } else {
            self.gather_for(turn, self.rebalance_timeout_ms());
        }
    }

    fn gather_for(&self, turn: &mut GroupTurn, wait_ms: i64) {
        let timer = GroupTimer::Join(self.id.clone());
        let at = turn.cx.now.saturating_add(wait_ms);
        turn.timers.set(timer, at, self.rebalance);
    }

    /// A first generation is never formed before its delay is over.
    pub(super) fn complete_if_all_joined(&mut self, turn: &mut GroupTurn) {
        let gathers = self.state == GroupState::PreparingRebalance && self.initial.is_none();
        if gathers && self.has_all_joined() {
            self.complete_join(turn);
        }
    }

    /// The time for gathering is over.
    pub(super) fn gathering_over(&mut self, turn: &mut GroupTurn, settings: &GroupSettings) {
        if self.state != GroupState::PreparingRebalance {
            return;
        }
        match self.initial {
            Some(initial) if initial.member_added && initial.remaining_ms != 0 => {
                let delay_ms = settings.initial_rebalance_delay_ms.min(initial.remaining_ms);
                self.initial = Some(InitialDelay {
                    delay_ms,
                    remaining_ms: (initial.remaining_ms - initial.delay_ms).max(0),
                    member_added: false,
                });
                self.gather_for(turn, delay_ms);
            }
            _ => self.complete_join(turn),
        }
    }

    /// Forms the next generation of those who have come, and tells them.
    pub(super) fn complete_join(&mut self, turn: &mut GroupTurn) {
        turn.timers.cancel(&GroupTimer::Join(self.id.clone()));
        let absent = self.members.values();
        let absent = absent.filter(|member| member.awaiting_join.is_none() && !member.is_static());
        let absent: Vec<Arc<str>> = absent.map(|member| member.id.clone()).collect();
        for member in absent {
            self.take_out(turn, &member, RemovalReason::DidNotJoin);
        }
        if !self.elect_joined_leader() && !self.members.is_empty() {
            // Only static members are left, and none has come: their sessions decide.
            self.initial = None;
            return self.gather_for(turn, self.rebalance_timeout_ms());
        }
        self.next_generation(turn.now());
        self.generation_formed(turn);
        if self.state == GroupState::Empty {
            let stored = self.to_stored(|_| Default::default());
            return turn.write(vec![group_record(&self.id, &stored)]);
        }
        let members: Vec<Arc<str>> = self.members.keys().cloned().collect();
        for id in members {
            let answer = self.joined(&id);
            self.answer_join(turn, &id, answer);
            self.expect_heartbeat(turn, &id);
            if let Some(member) = self.members.get_mut(&id) {
                member.is_new = false;
            }
            self.pending_sync.insert(id);
        }
        let timer = GroupTimer::Sync(self.id.clone());
        let at = turn.cx.now.saturating_add(self.rebalance_timeout_ms());
        turn.timers.set(timer, at, self.rebalance);
    }

    fn generation_formed(&mut self, turn: &mut GroupTurn) {
        let cause = std::mem::replace(&mut turn.cx.cause, self.rebalance);
        turn.cx.emit(|| {
            Fact::Group(GroupFact::GenerationFormed {
                group: self.id.to_string(),
                generation: self.generation,
                protocol: self.protocol.as_deref().map(str::to_owned),
                leader: self.leader.as_deref().map(str::to_owned),
                members: self.members.keys().map(|id| id.to_string()).collect(),
            })
        });
        turn.cx.cause = cause;
    }

    /// Takes a member out and says why. If its JoinGroup waits, its client shall come as a new member.
    pub(super) fn take_out(&mut self, turn: &mut GroupTurn, member: &Arc<str>, why: RemovalReason) {
        let code = ErrorCode::UnknownMemberId;
        self.answer_join(turn, member, Joined::refused(&"".into(), code));
        self.expect_no_more(turn, member);
        let removed = self.remove(member);
        if let Some(token) = removed.and_then(|member| member.awaiting_sync) {
            let answer = super::Synced::refused(code);
            turn.answer(token, Ok(Answer::Synced(answer)));
        }
        turn.cx.emit(|| {
            Fact::Group(GroupFact::MemberRemoved {
                group: self.id.to_string(),
                member: member.to_string(),
                why,
            })
        });
    }

    /// Nothing was heard of the member for its session timeout.
    pub(super) fn session_over(&mut self, turn: &mut GroupTurn, settings: &GroupSettings, member: &Arc<str>) {
        if self.pending_join.contains(member) {
            self.take_out(turn, member, RemovalReason::NeverJoined);
            if self.state == GroupState::PreparingRebalance && self.has_all_joined() {
                self.complete_join(turn);
            }
            return;
        }
        let known = self.members.get(member);
        if known.is_none_or(|known| known.has_satisfied_heartbeat()) {
            return;
        }
        self.take_out(turn, member, RemovalReason::SessionExpired);
        match self.state {
            GroupState::Stable | GroupState::CompletingRebalance => {
                let member = member.to_string();
                self.prepare_rebalance(turn, settings, RebalanceReason::SessionExpired { member });
            }
            GroupState::PreparingRebalance if self.has_all_joined() => self.complete_join(turn),
            GroupState::PreparingRebalance | GroupState::Empty => {}
        }
    }
}
