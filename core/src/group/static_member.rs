//! A static member comes again without its id: its former life is fenced and gives it its place
//! (KIP-345).
//!
//! In a stable group that is no reason for a rebalance, as long as the protocol stays: the group is
//! stored with the new id and the old assignment, and only then the member hears of it.

use std::sync::Arc;

use super::classic::{ClassicGroup, GroupState};
use super::member::Protocol;
use super::record::group_record;
use super::request::{Join, Joined, Synced};
use super::{GroupSettings, GroupTurn, Then};
use crate::coordinator::Token;
use crate::error::ErrorCode;
use crate::trace::{Fact, GroupFact, RebalanceReason};

/// A static member whose new id is being stored.
#[derive(Clone, Debug)]
pub struct Replacement {
    pub(super) group: Arc<str>,
    instance: Arc<str>,
    new: Arc<str>,
    former: Arc<str>,
    former_protocols: Arc<[Protocol]>,
    former_rebalance_timeout_ms: i32,
    former_session_timeout_ms: i32,
    leader_before: Option<Arc<str>>,
    can_skip_assignment: bool,
    pub(super) token: Token,
}

impl ClassicGroup {
    pub(super) fn join_in_place_of(
        &mut self,
        turn: &mut GroupTurn,
        settings: &GroupSettings,
        token: Token,
        join: &Join,
        former: &Arc<str>,
        new: &Arc<str>,
    ) {
        let Some(instance) = &join.instance_id else {
            return;
        };
        let leader_before = self.leader.clone();
        let Some(member) = self.members.get(former) else {
            return;
        };
        let replacement = Replacement {
            group: self.id.clone(),
            instance: instance.clone(),
            new: new.clone(),
            former: former.clone(),
            former_protocols: member.protocols.clone(),
            former_rebalance_timeout_ms: member.rebalance_timeout_ms,
            former_session_timeout_ms: member.session_timeout_ms,
            leader_before,
            can_skip_assignment: join.can_skip_assignment,
            token,
        };
        self.replace(turn, instance, former, new);
        self.expect_heartbeat(turn, new);
        self.update_member(
            new,
            &join.protocols,
            join.rebalance_timeout_ms,
            join.session_timeout_ms,
            Some(token),
        );
        let why = RebalanceReason::StaticMemberReplaced {
            member: new.to_string(),
        };
        match self.state {
            GroupState::Stable if self.protocol == self.select_protocol() => {
                let stored = self.to_stored(|member| member.assignment.clone());
                turn.write_then(
                    vec![group_record(&self.id, &stored)],
                    Then::Replaced(Box::new(replacement)),
                );
            }
            // The leader may be sharing out partitions to the former id just now.
            GroupState::Stable | GroupState::CompletingRebalance => {
                self.prepare_rebalance(turn, settings, why);
            }
            GroupState::PreparingRebalance | GroupState::Empty => self.complete_if_all_joined(turn),
        }
    }

    /// Gives the place of one id to another. Whatever the former waits for ends here.
    fn replace(&mut self, turn: &mut GroupTurn, instance: &Arc<str>, former: &Arc<str>, new: &Arc<str>) {
        let code = ErrorCode::FencedInstanceId;
        self.answer_join(turn, former, Joined::refused(former, code));
        self.answer_sync(turn, former, Synced::refused(code));
        self.expect_no_more(turn, former);
        let Some(mut member) = self.members.remove(former) else {
            return;
        };
        member.id = new.clone();
        member.is_new = false;
        self.members.insert(new.clone(), member);
        if self.is_leader(former) {
            self.leader = Some(new.clone());
        }
        if self.pending_sync.remove(former) {
            self.pending_sync.insert(new.clone());
        }
        self.static_members.insert(instance.clone(), new.clone());
        turn.cx.emit(|| {
            Fact::Group(GroupFact::StaticMemberReplaced {
                group: self.id.to_string(),
                instance: instance.to_string(),
                former: former.to_string(),
                member: new.to_string(),
            })
        });
    }

    /// The new id is stored, or could not be: then the former one has its place again.
    pub(super) fn replaced(
        &mut self,
        turn: &mut GroupTurn,
        replacement: &Replacement,
        outcome: Result<(), ErrorCode>,
    ) {
        let new = &replacement.new;
        let token = Some(replacement.token);
        if self.members.get(new).and_then(|member| member.awaiting_join) != token {
            // It has left, or asked anew: this request was answered then.
            return;
        }
        match outcome {
            Ok(()) => {
                let mut answer = self.joined(new);
                if replacement.can_skip_assignment {
                    answer.skip_assignment = self.is_leader(new);
                } else {
                    // To a client that knows no better, another is leader: it shall assign nothing.
                    let leader = replacement.leader_before.clone();
                    answer.leader = leader.unwrap_or_else(|| "".into());
                    answer.members = Vec::new();
                }
                self.answer_join(turn, new, answer);
            }
            Err(code) => {
                let answer = Joined {
                    error: code,
                    member: "".into(),
                    leader: replacement.leader_before.clone().unwrap_or_else(|| "".into()),
                    members: Vec::new(),
                    ..self.joined(new)
                };
                self.answer_join(turn, new, answer);
                self.update_member(
                    new,
                    &replacement.former_protocols,
                    replacement.former_rebalance_timeout_ms,
                    replacement.former_session_timeout_ms,
                    None,
                );
                self.replace(turn, &replacement.instance, new, &replacement.former);
                self.expect_heartbeat(turn, &replacement.former);
            }
        }
    }
}
