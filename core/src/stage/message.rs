//! What is on its way between two nodes.

use super::names::Names;
use crate::error::ErrorCode;
use crate::trace::{Carried, ClientKind, NodeId};
use crate::types::{BrokerId, TopicPartition};
use crate::view::{ClusterView, PacketView, RoleView};

/// What the name of an answer ends with, behind the request's.
const ANSWER: &str = " answer";

/// A request or an answer under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub packet: u64,
    pub from: NodeId,
    pub to: NodeId,
    pub from_name: String,
    pub to_name: String,
    /// Kafka's name of the request, or of the request that it answers.
    pub api: String,
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
    /// The packet of that number, if it is on its way and says something of the partition.
    pub fn of(view: &ClusterView, partition: &TopicPartition, packet: u64) -> Option<Self> {
        let sent = view.packets.get(&packet)?;
        Self::named(view, &Names::of(view), partition, packet, sent)
    }

    pub(super) fn named(
        view: &ClusterView,
        names: &Names,
        partition: &TopicPartition,
        packet: u64,
        sent: &PacketView,
    ) -> Option<Self> {
        let is_admin = |node| {
            let client = view.clients.get(node);
            client.is_some_and(|client| client.kind == ClientKind::Admin)
        };
        if is_admin(&sent.from) || is_admin(&sent.to) {
            return None;
        }
        let named = name(sent, partition, names);
        let (name, way) = named.or_else(|| wanted_fetch(view, partition, sent))?;
        Some(Self {
            packet,
            api: api_of(sent).0.to_owned(),
            from: sent.from,
            to: sent.to,
            from_name: names.of_node(sent.from),
            to_name: names.of_node(sent.to),
            name,
            way,
            held: view.cut.contains(&(sent.from, sent.to)),
        })
    }

    pub fn key(&self) -> String {
        format!("message:{}", self.packet)
    }

    /// `Fetch request`, `Produce answer`.
    pub fn api_line(&self) -> String {
        let way = match self.way {
            Way::Request => "request",
            Way::Answer => "answer",
        };
        format!("{} {way}", self.api)
    }

    pub fn say(&self) -> String {
        let (api, held) = (
            self.api_line(),
            if self.held { ", held by a cut link" } else { "" },
        );
        let Self {
            name,
            from_name,
            to_name,
            ..
        } = self;
        format!("{name}: a {api} on its way from {from_name} to {to_name}{held}")
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

/// Kafka's name of the request, and which way the packet goes.
fn api_of(packet: &PacketView) -> (&str, Way) {
    match packet.what.strip_suffix(ANSWER) {
        Some(api) => (api, Way::Answer),
        None => (&packet.what, Way::Request),
    }
}

/// What a reader calls the packet; `None` when it is idle, or is about another partition.
fn name(packet: &PacketView, partition: &TopicPartition, names: &Names) -> Option<(String, Way)> {
    let (api, way) = api_of(packet);
    let mut about = packet.carries.iter();
    let about = about.find(|carried| carried.partition() == partition);
    let name = match about {
        Some(carried) => carried_name(carried, names)?,
        None => match (api, way) {
            ("Metadata", Way::Request) => "who leads?".to_owned(),
            ("Metadata", Way::Answer) => "who leads".to_owned(),
            _ => return None,
        },
    };
    Some((name, way))
}

/// A follower's fetch that says nothing new is worth a look once its leader has something for it.
fn wanted_fetch(
    view: &ClusterView,
    partition: &TopicPartition,
    packet: &PacketView,
) -> Option<(String, Way)> {
    if packet.what != "Fetch" {
        return None;
    }
    let follower = view.replica(packet.from as BrokerId, partition)?;
    let leader = view.last_known(packet.to as BrokerId, partition)?;
    let is_followed = matches!(leader.role, RoleView::Leader { .. });
    let wanted = is_followed && leader.log_end > follower.log_end;
    wanted.then(|| (format!("fetch from {}", follower.log_end), Way::Request))
}

fn carried_name(carried: &Carried, names: &Names) -> Option<String> {
    Some(match carried {
        Carried::Produce { count, .. } => format!("produce {}", records(u64::from(*count))),
        Carried::Stored {
            base_offset,
            code: ErrorCode::None,
            ..
        } => format!("stored at {base_offset}"),
        Carried::Stored { code, .. } => format!("refused: {}", in_words(*code)),
        Carried::FetchFrom { offset, .. } => format!("fetch from {offset}"),
        Carried::Records { code, .. } if *code != ErrorCode::None => {
            format!("refused: {}", in_words(*code))
        }
        Carried::Records {
            count: 0,
            high_watermark,
            ..
        } => format!("safe below {high_watermark}"),
        Carried::Records { count, .. } => records(u64::from(*count)),
        Carried::Leads { leader, epoch, .. } if *leader >= 0 => {
            let leader = names.of_node(*leader as NodeId);
            format!("{leader} leads, epoch {epoch}")
        }
        Carried::Leads { .. } => "nobody leads".to_owned(),
        Carried::Isr { isr, .. } => {
            let isr: Vec<String> = isr.iter().map(BrokerId::to_string).collect();
            format!("ISR {}?", isr.join(", "))
        }
        Carried::EpochEndOf { epoch, .. } => format!("where does epoch {epoch} end?"),
        Carried::EpochEnd {
            epoch, end_offset, ..
        } => format!("epoch {epoch} ends at {end_offset}"),
    })
}

/// `1 record`, `3 records`.
pub(super) fn records(count: u64) -> String {
    match count {
        1 => "1 record".to_owned(),
        count => format!("{count} records"),
    }
}

/// An error code as words: `not leader or follower`.
fn in_words(code: ErrorCode) -> String {
    code.kafka_name().to_ascii_lowercase().replace('_', " ")
}
