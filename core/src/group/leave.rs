//! LeaveGroup: members go of their own accord, or are sent away by an operator, who names static members
//! by their instance id alone (KIP-345).

use std::sync::Arc;

use super::classic::{ClassicGroup, GroupState};
use super::request::Leaving;
use super::{GroupSettings, GroupTurn};
use crate::error::ErrorCode;
use crate::trace::{RebalanceReason, RemovalReason};

impl ClassicGroup {
    /// Lets each of them go; gives each one's outcome. The others rebalance.
    pub(super) fn leave(
        &mut self,
        turn: &mut GroupTurn,
        settings: &GroupSettings,
        leaving: &[Leaving],
    ) -> Vec<ErrorCode> {
        let mut gone = Vec::new();
        let mut outcomes = Vec::with_capacity(leaving.len());
        for who in leaving {
            outcomes.push(match self.member_leaving(who) {
                Ok(member) => {
                    self.take_out(turn, &member, RemovalReason::Left);
                    gone.push(member.to_string());
                    ErrorCode::None
                }
                Err(code) => code,
            });
        }
        if !gone.is_empty() {
            match self.state {
                GroupState::Stable | GroupState::CompletingRebalance => {
                    self.prepare_rebalance(turn, settings, RebalanceReason::MembersLeft { members: gone });
                }
                GroupState::PreparingRebalance => self.complete_if_all_joined(turn),
                GroupState::Empty => {}
            }
        }
        outcomes
    }

    fn member_leaving(&self, who: &Leaving) -> Result<Arc<str>, ErrorCode> {
        if who.member.is_empty() {
            let instance = who.instance_id.as_ref().ok_or(ErrorCode::UnknownMemberId)?;
            let member = self.static_members.get(instance);
            return member.cloned().ok_or(ErrorCode::UnknownMemberId);
        }
        if !self.pending_join.contains(&who.member) {
            self.check_member(&who.member, who.instance_id.as_deref())?;
        }
        Ok(who.member.clone())
    }
}
