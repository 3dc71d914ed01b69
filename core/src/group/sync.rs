//! The second half of a rebalance: the leader shares the partitions out, and the group is stable when
//! that is stored. And heartbeats, by which members hear that they have to come again.

use std::sync::Arc;

use bytes::Bytes;

use super::classic::{ClassicGroup, GroupState};
use super::record::group_record;
use super::request::{Answer, Identity, Sync, Synced};
use super::{GroupSettings, GroupTimer, GroupTurn, Then};
use crate::coordinator::{Token, answer_for};
use crate::error::ErrorCode;
use crate::ordered::OrderedMap;
use crate::trace::{Fact, GroupFact, RebalanceReason, RemovalReason};

/// What the leader of a generation has decided, while it is being stored.
#[derive(Clone, Debug)]
pub struct Assignment {
    pub(super) group: Arc<str>,
    generation: i32,
    of_members: OrderedMap<Arc<str>, Bytes>,
}

impl ClassicGroup {
    /// Handles a SyncGroup; it is answered now, or waits with the member for the leader's assignment.
    pub(super) fn sync(&mut self, turn: &mut GroupTurn, token: Token, sync: Sync) {
        if let Err(code) = self.check_sync(&sync) {
            return turn.answer(token, Ok(Answer::Synced(Synced::refused(code))));
        }
        match self.state {
            // Nobody is a member of an empty group, so nobody gets here.
            GroupState::Empty | GroupState::PreparingRebalance => {
                let answer = Synced::refused(ErrorCode::RebalanceInProgress);
                turn.answer(token, Ok(Answer::Synced(answer)));
            }
            GroupState::CompletingRebalance => {
                let refused = Synced::refused(ErrorCode::RebalanceInProgress);
                self.answer_sync(turn, &sync.member, refused);
                if let Some(member) = self.members.get_mut(&sync.member) {
                    member.awaiting_sync = Some(token);
                }
                self.has_synced(turn, &sync.member);
                if self.is_leader(&sync.member) {
                    self.store_assignment(turn, sync.assignments);
                }
            }
            GroupState::Stable => {
                self.has_synced(turn, &sync.member);
                let answer = self.synced(&sync.member);
                turn.answer(token, Ok(Answer::Synced(answer)));
            }
        }
    }

    fn check_sync(&self, sync: &Sync) -> Result<(), ErrorCode> {
        if self.state == GroupState::Empty {
            return Err(ErrorCode::UnknownMemberId);
        }
        self.check_member(&sync.member, sync.instance_id.as_deref())?;
        if sync.generation != self.generation {
            return Err(ErrorCode::IllegalGeneration);
        }
        let differ = |asked: &Option<Arc<str>>, own: &Option<Arc<str>>| match (asked, own) {
            (Some(asked), Some(own)) => asked != own,
            _ => false,
        };
        if differ(&sync.protocol_type, &self.protocol_type) || differ(&sync.protocol, &self.protocol) {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        Ok(())
    }

    fn has_synced(&mut self, turn: &mut GroupTurn, member: &str) {
        self.pending_sync.remove(member);
        if self.pending_sync.is_empty() {
            turn.timers.cancel(&GroupTimer::Sync(self.id.clone()));
        }
    }

    fn synced(&self, member: &str) -> Synced {
        let member = self.members.get(member);
        Synced {
            error: ErrorCode::None,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            assignment: member.map(|member| member.assignment.clone()).unwrap_or_default(),
        }
    }

    /// Stores who gets what; members whom the leader has forgotten get nothing.
    fn store_assignment(&mut self, turn: &mut GroupTurn, assignments: Vec<(Arc<str>, Bytes)>) {
        let of_members: OrderedMap<Arc<str>, Bytes> = assignments.into_iter().collect();
        let stored = self.to_stored(|member| of_members.get(&member.id).cloned().unwrap_or_default());
        turn.write_then(
            vec![group_record(&self.id, &stored)],
            Then::Assigned(Assignment {
                group: self.id.clone(),
                generation: self.generation,
                of_members,
            }),
        );
    }

    /// The assignment is stored, or could not be. Meanwhile another rebalance may have begun: then it
    /// does not matter any more.
    pub(super) fn assignment_stored(
        &mut self,
        turn: &mut GroupTurn,
        settings: &GroupSettings,
        stored: &Assignment,
        outcome: Result<(), ErrorCode>,
    ) {
        if self.state != GroupState::CompletingRebalance || self.generation != stored.generation {
            return;
        }
        if let Err(code) = outcome {
            self.refuse_assignment(turn, answer_for(code));
            let why = RebalanceReason::AssignmentNotStored;
            return self.prepare_rebalance(turn, settings, why);
        }
        let members: Vec<Arc<str>> = self.members.keys().cloned().collect();
        for id in &members {
            if let Some(member) = self.members.get_mut(id) {
                member.assignment = stored.of_members.get(id).cloned().unwrap_or_default();
            }
            let answer = self.synced(id);
            // Its session may have run out, unseen, while it waited.
            if self.answer_sync(turn, id, answer) {
                self.expect_heartbeat(turn, id);
            }
        }
        self.enter(turn.now(), GroupState::Stable);
        turn.cx.emit(|| {
            Fact::Group(GroupFact::Stable {
                group: self.id.to_string(),
                generation: self.generation,
            })
        });
    }

    /// This generation will not be shared out: who waits for that is told.
    pub(super) fn refuse_assignment(&mut self, turn: &mut GroupTurn, code: ErrorCode) {
        let members: Vec<Arc<str>> = self.members.keys().cloned().collect();
        for id in &members {
            if let Some(member) = self.members.get_mut(id) {
                member.assignment = Bytes::new();
            }
            if self.answer_sync(turn, id, Synced::refused(code)) {
                self.expect_heartbeat(turn, id);
            }
        }
    }

    /// Members that know the generation and never sent their SyncGroup are out.
    pub(super) fn sync_overdue(&mut self, turn: &mut GroupTurn, settings: &GroupSettings) {
        let is_of_a_generation = matches!(self.state, GroupState::CompletingRebalance | GroupState::Stable);
        if !is_of_a_generation || self.pending_sync.is_empty() {
            return;
        }
        let members: Vec<Arc<str>> = self.pending_sync.iter().cloned().collect();
        for member in &members {
            self.take_out(turn, member, RemovalReason::DidNotSync);
        }
        let members = members.iter().map(|member| member.to_string()).collect();
        self.prepare_rebalance(turn, settings, RebalanceReason::SyncOverdue { members });
    }

    /// A member lives. It hears when it has to come again.
    pub(super) fn heartbeat(&mut self, turn: &mut GroupTurn, who: &Identity) -> Result<ErrorCode, ErrorCode> {
        self.check_identity(who)?;
        self.expect_heartbeat(turn, &who.member);
        Ok(match self.state {
            GroupState::PreparingRebalance => ErrorCode::RebalanceInProgress,
            GroupState::Empty => ErrorCode::UnknownMemberId,
            GroupState::CompletingRebalance | GroupState::Stable => ErrorCode::None,
        })
    }
}
