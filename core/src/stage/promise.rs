//! What producers were told is stored, offset by offset, and what became of it.

use super::row::Record;
use crate::types::Offset;

/// A record that a producer was told is safe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    pub offset: Offset,
    pub record: Record,
    /// What the producer had asked for; -1 is all.
    pub acks: i16,
    pub state: PromiseState,
}

/// What a promise is worth by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PromiseState {
    /// A live replica has the record, and no leader took office without it.
    Kept,
    /// No live replica has it; whether it is lost depends on who leads next.
    InDoubt,
    /// A leader took office without it. That stays, whatever comes.
    Broken,
}

impl Promise {
    /// Two promises of one offset differ in their leader epoch.
    pub fn key(&self) -> String {
        format!("promise:{}:{}", self.offset, self.record.epoch)
    }

    /// `acks=1`, `acks=all`.
    pub fn acks(&self) -> String {
        acks(self.acks)
    }

    pub fn say(&self) -> String {
        let (offset, record, acks) = (self.offset, self.record.label(), self.acks());
        let told = format!("offset {offset}: a producer was told that {record} is safe ({acks})");
        match self.state {
            PromiseState::Kept => told,
            PromiseState::InDoubt => format!("{told}; in doubt, no live replica has it"),
            PromiseState::Broken => format!("{told}; broken"),
        }
    }
}

/// `acks=1`, `acks=all`.
pub(super) fn acks(acks: i16) -> String {
    match acks {
        -1 => "acks=all".to_owned(),
        acks => format!("acks={acks}"),
    }
}
