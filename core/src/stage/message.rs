//! What is on its way between two nodes.

use crate::trace::NodeId;

/// A request or an answer under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub packet: u64,
    pub from: NodeId,
    pub to: NodeId,
    pub from_name: String,
    pub to_name: String,
    /// As a reader says it: `fetch from 5`, `3 records`, `stored at 5`.
    pub name: String,
    pub way: Way,
    /// Its link is cut: it waits there, and may never arrive.
    pub held: bool,
}

/// Requests are filled, answers hollow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Request,
    Answer,
}

/// Messages that say nothing new, counted only: fetches that find nothing, heartbeats, pings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    pub count: usize,
}

impl Message {
    pub fn key(&self) -> String {
        format!("message:{}", self.packet)
    }

    pub fn say(&self) -> String {
        let Self {
            name,
            from_name,
            to_name,
            ..
        } = self;
        let held = if self.held { ", held by a cut link" } else { "" };
        format!("{name}, on its way from {from_name} to {to_name}{held}")
    }
}

impl Idle {
    /// `None` when there are none.
    pub fn say(&self) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some("1 idle message on its way".to_owned()),
            count => Some(format!("{count} idle messages on their way")),
        }
    }
}
