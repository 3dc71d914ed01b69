//! The coordination service's tree, and the sessions that some of its nodes hang on: a column a broker, a row
//! a node.
//!
//! What goes in a moment stays until that ends: a node struck, a watch used up, a session over.

use super::Element;
use super::fold::state;
use super::names::Names;
use super::row::State;
use crate::coordination::SessionId;
use crate::metadata::nodes;
use crate::trace::NodeId;
use crate::types::{BrokerId, LeaderEpoch, Millis, TopicPartition};
use crate::view::{BrokerView, ClusterView, Ephemeral, Past, Watched};

/// The tree, as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreePicture {
    /// `/controller_epoch`, once it is there.
    pub controller_epoch: Option<i32>,
    pub state: Option<StateNode>,
    /// One a broker, in order.
    pub columns: Vec<Column>,
}

/// What belongs to one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub broker: BrokerId,
    /// `broker 1`.
    pub name: String,
    pub state: State,
    pub session: Session,
    /// What goes with its session, and what has gone in this moment.
    pub nodes: Vec<TreeNode>,
    pub watches: Vec<Watch>,
    /// As the partition's node has it.
    pub leads: bool,
    pub in_isr: bool,
}

/// A broker's session, as far as its nodes tell of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Session {
    /// It has no node there, so nobody can say which session is its.
    Unknown,
    Connected(SessionId),
    /// It ends if nobody comes back in so many ms after it was heard of last.
    Silent(SessionId, Millis),
    /// In this moment.
    Over(SessionId),
}

/// An ephemeral node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeNode {
    pub node: Ephemeral,
    /// The session that it goes with, or went with; `None`: it was deleted by itself.
    pub session: Option<SessionId>,
    pub gone: bool,
}

/// A watch of a broker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    pub broker: BrokerId,
    pub watched: Watched,
    /// It has fired in this moment, and was not set again.
    pub used_up: bool,
}

/// The partition's node, which stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateNode {
    pub partition: TopicPartition,
    /// `None`: nobody leads.
    pub leader: Option<BrokerId>,
    pub leader_epoch: LeaderEpoch,
    pub isr: Vec<BrokerId>,
}

impl TreePicture {
    /// `since`: what went since the fact with that number is still there, struck.
    pub fn of(view: &ClusterView, partition: &TopicPartition, since: usize) -> Self {
        let stored = view.stored.partitions.get(partition);
        let state_node = stored.map(|stored| StateNode {
            partition: partition.clone(),
            leader: stored.leader,
            leader_epoch: stored.leader_epoch,
            isr: stored.isr.clone(),
        });
        let names = Names::of(view);
        let past: Vec<Past> = view.memory.tree.since(since).collect();
        let column = |(&broker, seen): (&BrokerId, &BrokerView)| Column {
            broker,
            name: names.of_node(broker as NodeId),
            state: state(seen),
            session: session(view, broker, &past),
            nodes: tree_nodes(view, broker, &past),
            watches: watches(view, broker, &past),
            leads: state_node
                .as_ref()
                .is_some_and(|node| node.leader == Some(broker)),
            in_isr: state_node.as_ref().is_some_and(|node| node.isr.contains(&broker)),
        };
        Self {
            controller_epoch: view.tree.controller_epoch,
            columns: view.brokers.iter().map(column).collect(),
            state: state_node,
        }
    }

    /// Everything that is drawn, in the order of reading.
    pub fn elements(&self) -> Vec<Element> {
        let mut all = Vec::new();
        let mut add = |key: String, say: String| all.push(Element { key, say });
        for column in &self.columns {
            add(column.key(), column.say());
        }
        if let Some(say) = self.say_epoch() {
            add(EPOCH_KEY.to_owned(), say);
        }
        for watched in [Watched::Controller, Watched::BrokerIds] {
            for column in &self.columns {
                column
                    .nodes_below(watched)
                    .for_each(|node| add(node.key(), node.say()));
                column
                    .watches_of(watched)
                    .for_each(|watch| add(watch.key(), watch.say()));
            }
        }
        if let Some(node) = &self.state {
            add(STATE_KEY.to_owned(), node.say());
        }
        all
    }

    pub fn say_epoch(&self) -> Option<String> {
        let epoch = self.controller_epoch?;
        Some(format!("{}: {epoch}", nodes::CONTROLLER_EPOCH))
    }
}

/// Of `/controller_epoch`.
pub const EPOCH_KEY: &str = "node:/controller_epoch";
/// Of the partition's node.
pub const STATE_KEY: &str = "node:state";

fn session(view: &ClusterView, broker: BrokerId, past: &[Past]) -> Session {
    let over = past.iter().rev().find_map(|past| match past {
        Past::Session(of, session) if *of == broker => Some(*session),
        _ => None,
    });
    let Some(&session) = view.tree.registered.get(&broker) else {
        return over.map_or(Session::Unknown, Session::Over);
    };
    match view.tree.sessions.get(&session) {
        Some(seen) if seen.connected => Session::Connected(session),
        Some(seen) => Session::Silent(session, seen.timeout_ms),
        // Its nodes go next.
        None => Session::Over(session),
    }
}

fn tree_nodes(view: &ClusterView, broker: BrokerId, past: &[Past]) -> Vec<TreeNode> {
    let holder = view.tree.controller.filter(|(holder, _)| *holder == broker);
    let registered = view.tree.registered.get(&broker);
    let there = [
        (Ephemeral::Controller(broker), holder.map(|(_, session)| session)),
        (Ephemeral::Registered(broker), registered.copied()),
    ];
    let mut all = Vec::new();
    for (node, session) in there {
        let gone = past.iter().rev().find_map(|past| match past {
            Past::Node(gone, with) if *gone == node => Some(*with),
            _ => None,
        });
        let (session, gone) = match (session, gone) {
            (Some(session), _) => (Some(session), false),
            (None, Some(with)) => (with, true),
            (None, None) => continue,
        };
        all.push(TreeNode { node, session, gone });
    }
    all
}

fn watches(view: &ClusterView, broker: BrokerId, past: &[Past]) -> Vec<Watch> {
    let session = view.tree.registered.get(&broker);
    let all = [Watched::Controller, Watched::BrokerIds].into_iter();
    let watch = |watched| {
        let is_set = session.is_some_and(|&session| view.tree.watches.contains(&(watched, session)));
        let is_used_up = past.contains(&Past::Watch(watched, broker));
        (is_set || is_used_up).then_some(Watch {
            broker,
            watched,
            used_up: !is_set,
        })
    };
    all.filter_map(watch).collect()
}

impl Column {
    /// The nodes in the row of what is watched.
    pub fn nodes_below(&self, watched: Watched) -> impl Iterator<Item = &TreeNode> {
        let is_it = move |node: &&TreeNode| match node.node {
            Ephemeral::Controller(_) => watched == Watched::Controller,
            Ephemeral::Registered(_) => watched == Watched::BrokerIds,
        };
        self.nodes.iter().filter(is_it)
    }

    pub fn watches_of(&self, watched: Watched) -> impl Iterator<Item = &Watch> {
        self.watches.iter().filter(move |watch| watch.watched == watched)
    }

    pub fn key(&self) -> String {
        format!("session:{}", self.broker)
    }

    pub fn session_line(&self) -> String {
        match self.session {
            Session::Unknown => "no node".to_owned(),
            Session::Connected(session) | Session::Silent(session, _) | Session::Over(session) => {
                format!("session {session}")
            }
        }
    }

    /// What is the matter with broker and session: `down, silent`.
    pub fn trouble(&self) -> String {
        let broker = match self.state {
            State::Up => None,
            State::Paused => Some("paused"),
            State::Crashed => Some("down"),
        };
        let session = match self.session {
            Session::Silent(..) => Some("silent"),
            Session::Over(_) => Some("over"),
            Session::Unknown | Session::Connected(_) => None,
        };
        let said: Vec<&str> = broker.into_iter().chain(session).collect();
        said.join(", ")
    }

    pub fn say(&self) -> String {
        let session = match self.session {
            Session::Unknown => "has no node in the tree".to_owned(),
            Session::Connected(session) => format!("connected in session {session}"),
            Session::Silent(session, ms) => {
                format!("nobody is connected in session {session}, which ends after {ms} ms of silence")
            }
            Session::Over(session) => format!("session {session} is over"),
        };
        format!("{}, {session}", self.state.said_of(&self.name))
    }
}

impl TreeNode {
    pub fn key(&self) -> String {
        // The next holder's node has the same path.
        match (self.gone, self.node) {
            (true, Ephemeral::Controller(broker)) => format!("gone:{}:{broker}", nodes::CONTROLLER),
            _ => format!("node:{}", self.node.path()),
        }
    }

    pub fn say(&self) -> String {
        let path = self.node.path();
        let of = match self.node {
            Ephemeral::Controller(broker) => format!("{path}: broker {broker}"),
            Ephemeral::Registered(_) => path,
        };
        match (self.gone, self.session) {
            (false, Some(session)) => format!("{of}, goes with session {session}"),
            (true, Some(session)) => format!("{of}, gone with session {session}"),
            _ => format!("{of}, deleted"),
        }
    }
}

impl Watch {
    pub fn key(&self) -> String {
        format!("watch:{}:{}", self.watched.path(), self.broker)
    }

    pub fn say(&self) -> String {
        let (broker, path) = (self.broker, self.watched.path());
        let what = match self.watched {
            Watched::Controller => path.to_owned(),
            Watched::BrokerIds => format!("which nodes are under {path}"),
        };
        match self.used_up {
            false => format!("broker {broker} watches {what}, and will be told once"),
            true => format!("broker {broker} was told of a change: it watched {what}, and does no more"),
        }
    }
}

impl StateNode {
    pub fn path(&self) -> String {
        nodes::partition_state(&self.partition.topic, self.partition.partition)
    }

    pub fn say(&self) -> String {
        let leader = match self.leader {
            Some(leader) => format!("broker {leader}"),
            None => "none".to_owned(),
        };
        let isr: Vec<String> = self.isr.iter().map(BrokerId::to_string).collect();
        format!(
            "{}: leader {leader}, leader epoch {}, ISR {}",
            self.path(),
            self.leader_epoch,
            isr.join(", ")
        )
    }
}
