//! The log grid: a row a replica, a column an offset.
//!
//! A row shows what that replica knows: its own high watermark, its own log end, and, if it leads, what
//! it last heard of its followers. Whether a cell is drawn as committed follows the row's own high
//! watermark, never another's.

use crate::types::{BrokerId, LeaderEpoch, Offset};

/// A replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub broker: BrokerId,
    /// `broker 1`.
    pub name: String,
    /// A row of a broker that is down stays as it was last known, and is dimmed.
    pub state: State,
    /// The last that it knew of itself, when it is down.
    pub role: Role,
    /// -1 before anybody has told it.
    pub epoch: LeaderEpoch,
    /// As the leader in office has it; `None` while nobody leads.
    pub in_isr: Option<bool>,
    pub log_start: Offset,
    pub log_end: Offset,
    /// Its own.
    pub high_watermark: Offset,
    /// What the leader remembers of each follower; empty for who does not lead.
    pub heard: Vec<Heard>,
    /// By offset; the columns where it has nothing, and nothing was cut, are missing.
    pub cells: Vec<Cell>,
    /// High watermark, log end, and a tick for each of `heard`.
    pub marks: Vec<Mark>,
}

/// How a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Up,
    Paused,
    Crashed,
}

/// What a replica takes itself for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nobody has told it yet.
    Untold,
    Leader,
    Follower,
}

/// A follower's log end, as its leader heard it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    pub broker: BrokerId,
    /// `None` before its first fetch.
    pub log_end: Option<Offset>,
}

/// A record's name: the same record is the one with the same offset and leader epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Counts the records of the partition in the order in which leaders appended them, from 0.
    pub number: u64,
    /// Of the leader that appended it: its colour.
    pub epoch: LeaderEpoch,
}

/// An offset of a replica's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub broker: BrokerId,
    pub offset: Offset,
    /// `None`: there is nothing any more, for it was cut off.
    pub record: Option<Record>,
    /// Another record was here, and was cut off in this moment: it stays, struck.
    pub cut: Option<Record>,
    /// Below the row's own high watermark: a solid border, else a dashed one.
    pub committed: bool,
    /// A producer was told that it is safe: a check mark.
    pub acknowledged: bool,
    /// Acknowledged, and no live replica has it: whoever leads next decides what becomes of it.
    pub in_doubt: bool,
    /// Acknowledged, and a leader took office without it; no live replica has it.
    pub lost: bool,
    /// A batch begins here, and a segment.
    pub first_of_batch: bool,
    pub first_of_segment: bool,
}

/// Something at the border before an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub broker: BrokerId,
    pub kind: MarkKind,
    pub offset: Offset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// A rule across the row, before this offset.
    HighWatermark,
    LogEnd,
    /// The leader's tick for that follower's log end.
    Heard(BrokerId),
}

impl State {
    /// `broker 1 is up`.
    pub fn said_of(self, name: &str) -> String {
        match self {
            State::Up => format!("{name} is up"),
            State::Paused => format!("{name} is paused"),
            State::Crashed => format!("{name} is down"),
        }
    }
}

impl Record {
    /// `r5`.
    pub fn label(&self) -> String {
        format!("r{}", self.number)
    }
}

impl Row {
    pub fn key(&self) -> String {
        format!("row:{}", self.broker)
    }

    /// The line under its name: `leader, epoch 1`, `follower`, `crashed, was leader`.
    pub fn role_line(&self) -> String {
        let role = match self.role {
            Role::Leader => "leader",
            Role::Follower => "follower",
            Role::Untold => "waits to be told who leads",
        };
        match (self.state, self.role) {
            (State::Crashed, Role::Leader) => "crashed, was leader".to_owned(),
            (State::Crashed, _) => "crashed".to_owned(),
            (State::Paused, _) => format!("paused, {role}"),
            (State::Up, Role::Leader) => format!("{role}, epoch {}", self.epoch),
            (State::Up, _) => role.to_owned(),
        }
    }

    /// Whether it wears the crown.
    pub fn is_crowned(&self) -> bool {
        self.role == Role::Leader && self.state != State::Crashed
    }

    /// `in ISR`, `out of ISR`.
    pub fn isr_line(&self) -> Option<&'static str> {
        Some(if self.in_isr? { "in ISR" } else { "out of ISR" })
    }

    pub fn say(&self) -> String {
        let mut said = format!("{}: {}", self.name, self.role_line());
        if let Some(isr) = self.isr_line() {
            said += &format!(", {isr}");
        }
        match self.log_end - self.log_start {
            0 => said += "; holds nothing",
            1 => said += &format!("; holds offset {}", self.log_start),
            _ => said += &format!("; holds offsets {} to {}", self.log_start, self.log_end - 1),
        }
        if self.state == State::Crashed {
            said += ", as last known";
        }
        said
    }
}

impl Cell {
    pub fn key(&self) -> String {
        format!("cell:{}:{}", self.broker, self.offset)
    }

    pub fn say(&self) -> String {
        let mut said = format!("broker {}, offset {}: ", self.broker, self.offset);
        match self.record {
            Some(record) => said += &format!("{}, epoch {}", record.label(), record.epoch),
            None => said += "nothing",
        }
        if self.record.is_some() {
            said += match self.committed {
                true => ", known to be safe here",
                false => ", not known to be safe here",
            };
        }
        if self.acknowledged {
            said += ", acknowledged";
        }
        if self.in_doubt {
            said += ", on no live replica";
        }
        if self.lost {
            said += ", lost";
        }
        if let Some(cut) = self.cut {
            said += &format!("; {} of epoch {} was cut off", cut.label(), cut.epoch);
        }
        if self.first_of_segment {
            said += "; a segment begins";
        } else if self.first_of_batch {
            said += "; a batch begins";
        }
        said
    }
}

impl Mark {
    pub fn key(&self) -> String {
        let broker = self.broker;
        match self.kind {
            MarkKind::HighWatermark => format!("hw:{broker}"),
            MarkKind::LogEnd => format!("leo:{broker}"),
            MarkKind::Heard(follower) => format!("heard:{broker}:{follower}"),
        }
    }

    pub fn say(&self) -> String {
        let Self { broker, offset, .. } = self;
        match self.kind {
            MarkKind::HighWatermark => format!("broker {broker}: high watermark {offset}"),
            MarkKind::LogEnd => format!("broker {broker}: log end offset {offset}"),
            MarkKind::Heard(follower) => {
                format!("broker {broker} has heard of broker {follower} at {offset}")
            }
        }
    }
}
