//! What a shard has at hand while it decides, and what its decision comes to.

use super::{CoordinatorRecord, Shard, Timers, Token};
use crate::cx::Cx;
use crate::error::ErrorCode;
use crate::types::Millis;

/// Records that are appended together.
pub(super) struct Write<S: Shard> {
    pub records: Vec<CoordinatorRecord>,
    /// All in one batch, or none. Else they may be spread over several.
    pub atomic: bool,
    pub then: Option<S::Then>,
}

/// What a turn came to: writes, answers to give now, answers to give when all is committed.
pub(super) type Decided<S> = (
    Vec<Write<S>>,
    Vec<(Token, Result<<S as Shard>::Answer, ErrorCode>)>,
    Vec<(Token, <S as Shard>::Answer)>,
);

/// One decision of a shard.
pub struct Turn<'a, 'cx, S: Shard> {
    pub cx: &'a mut Cx<'cx>,
    pub timers: &'a mut Timers<S::Timer>,
    pub(super) writes: Vec<Write<S>>,
    pub(super) answers: Vec<(Token, Result<S::Answer, ErrorCode>)>,
    pub(super) answers_when_committed: Vec<(Token, S::Answer)>,
}

impl<'a, 'cx, S: Shard> Turn<'a, 'cx, S> {
    pub(super) fn new(cx: &'a mut Cx<'cx>, timers: &'a mut Timers<S::Timer>) -> Self {
        Self {
            cx,
            timers,
            writes: Vec::new(),
            answers: Vec::new(),
            answers_when_committed: Vec::new(),
        }
    }

    pub(super) fn decided(self) -> Decided<S> {
        (self.writes, self.answers, self.answers_when_committed)
    }

    pub fn now(&self) -> Millis {
        self.cx.now
    }

    /// Answers at once, whatever is still to be committed.
    pub fn answer(&mut self, token: Token, answer: Result<S::Answer, ErrorCode>) {
        self.answers.push((token, answer));
    }

    /// Answers when everything is committed that was decided up to and with this turn.
    pub fn answer_when_committed(&mut self, token: Token, answer: S::Answer) {
        self.answers_when_committed.push((token, answer));
    }

    /// Appends these records, all in one batch. Nothing happens when there are none.
    pub fn write(&mut self, records: Vec<CoordinatorRecord>) {
        self.push(records, true, None);
    }

    /// The same; `then` is [settled](Shard::settled) when they are committed or will never be.
    pub fn write_then(&mut self, records: Vec<CoordinatorRecord>, then: S::Then) {
        self.push(records, true, Some(then));
    }

    /// Appends records that need not stay together.
    pub fn write_in_pieces(&mut self, records: Vec<CoordinatorRecord>) {
        self.push(records, false, None);
    }

    pub fn has_writes(&self) -> bool {
        !self.writes.is_empty()
    }

    fn push(&mut self, records: Vec<CoordinatorRecord>, atomic: bool, then: Option<S::Then>) {
        if !records.is_empty() {
            self.writes.push(Write {
                records,
                atomic,
                then,
            });
        }
    }
}
