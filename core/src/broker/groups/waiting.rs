//! Requests that wait for the coordinator, and how each kind is answered.

use std::sync::Arc;

use super::State;
use super::offset_fetch::FetchingOffsets;
use crate::broker::caller::Caller;
use crate::broker::parked::Parked;
use crate::coordinator::Token;
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::group::{Answer, Leaving};
use crate::protocol::messages::{DeleteGroupsResponse, OffsetCommitResponse, OffsetDeleteResponse};

/// A request in the coordinator's hands.
#[derive(Clone, Debug)]
pub(in crate::broker) struct GroupWait {
    pub(super) caller: Caller,
    pub(super) form: Form,
    /// Parts that are not answered yet.
    pending: u32,
}

/// Where a row of an answer is: topic and partition.
pub(super) type Place = (usize, usize);

/// What was asked, as far as the answer needs it.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Join {
        member: Arc<str>,
    },
    Sync,
    Heartbeat,
    Leave(Vec<Leaving>),
    /// Complete but for those that fail; the places of those that were asked of the coordinator.
    Commit(OffsetCommitResponse, Vec<Place>),
    DeleteOffsets(OffsetDeleteResponse, Vec<Place>),
    /// For each part, the rows that it answers.
    DeleteGroups(DeleteGroupsResponse, Vec<Vec<usize>>),
    FetchOffsets(Box<FetchingOffsets>),
}

impl State {
    /// Parks a request of so many parts; their tokens are numbered from 0.
    pub(super) fn park_for_groups(&mut self, cx: &mut Cx, caller: &Caller, form: Form, parts: u32) -> Token {
        cx.cause = caller.cause;
        let wait = GroupWait {
            caller: *caller,
            form,
            pending: parts,
        };
        let parked = self
            .purgatory
            .park(caller.conn, None, Parked::Group(Box::new(wait)));
        Token { parked, part: 0 }
    }

    /// A part is answered; with the last one the request is.
    pub(super) fn group_answered(&mut self, token: Token, answer: Result<Answer, ErrorCode>) {
        let Some(Parked::Group(wait)) = self.purgatory.get_mut(token.parked) else {
            return;
        };
        wait.pending -= 1;
        let is_last = wait.pending == 0;
        match (&mut wait.form, &answer) {
            (Form::DeleteGroups(rows, places), answer) => {
                if let Some(places) = places.get(token.part as usize) {
                    super::operators::groups_deleted(rows, places, answer);
                }
            }
            (Form::FetchOffsets(fetching), answer) => {
                fetching.settle(token.part as usize, answer.as_ref().err().copied());
            }
            _ => {}
        }
        if is_last && let Some(Parked::Group(wait)) = self.purgatory.take(token.parked) {
            self.answer_for_group(*wait, answer);
        }
    }

    fn answer_for_group(&mut self, wait: GroupWait, answer: Result<Answer, ErrorCode>) {
        let caller = wait.caller;
        match wait.form {
            Form::Join { member } => self.answer_join(&caller, &member, answer),
            Form::Sync => self.answer_sync(&caller, answer),
            Form::Heartbeat => self.answer_heartbeat(&caller, &answer),
            Form::Leave(leaving) => self.answer_leave(&caller, &leaving, answer),
            Form::Commit(rows, places) => self.answer_commit(&caller, rows, &places, &answer),
            Form::DeleteOffsets(rows, places) => self.answer_offset_delete(&caller, rows, &places, &answer),
            Form::DeleteGroups(rows, _) => self.out.answer(&caller, rows),
            Form::FetchOffsets(fetching) => self.answer_offset_fetch(&caller, *fetching),
        }
    }
}
