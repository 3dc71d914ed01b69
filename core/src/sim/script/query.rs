//! Questions to a run, as it is at a moment: `leader t-0`, `hw 1 t-0`, `acknowledged all`.
//!
//! A script says what the answer must be (`expect hw 1 t-0 3`); a story shows it in a sentence
//! (`{hw leader:t-0 t-0}`) or takes it for the right answer to a question. There is one set of words
//! for all of them.
//!
//! Invariants
//! - an answer is text, written like the fields of facts: a number, `1,2` for brokers, `none`
//! - what cannot be asked (no such broker, no such client) is an error; what is not there is `none`

use std::fmt;

use super::command::{BrokerRef, NodeRef};
use super::parse::{Bad, Words};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::sim::World;
use crate::sim::world::COORDINATION;
use crate::sim::world::client::{ClientNode, Producer, Role};
use crate::trace::{ConsumerFact, Fact, NodeId, ProducerFact, WorldFact};
use crate::types::{BrokerId, Offset, TopicPartition};
use crate::view::{ClusterView, RoleView};

/// The answer where there is nothing.
pub const NONE: &str = "none";
/// Stands for every producer in `acknowledged` and `failed`.
const ALL: &str = "all";

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    Leader(TopicPartition),
    /// As the leader knows it, in the order of the numbers.
    Isr(TopicPartition),
    /// As that replica knows it.
    HighWatermark(BrokerRef, TopicPartition),
    LogEnd(BrokerRef, TopicPartition),
    /// As the coordination tree has it.
    Controller,
    /// Records that a producer was told are stored; that it gave up.
    Acknowledged(String),
    Failed(String),
    /// Requests in which a producer has sent what it was last given.
    Requests(String),
    /// Of what a producer was last given, the longest time between sending a record and its
    /// acknowledgement, in ms.
    Latency(String),
    /// The next offset of a consumer.
    Position(String, TopicPartition),
    /// Partitions that a consumer has.
    Owned(String),
    /// Records that an application is done with, each as often as it was.
    Processed(String),
    /// Partitions of a group that came to another member than the one that had them before.
    Moved(String),
}

impl Query {
    /// Reads a question and nothing behind it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = Words::new(text);
        let query = words.query().map_err(|bad| bad.why)?;
        match words.next() {
            None => Ok(query),
            Some(word) => Err(format!("`{word}` is more than the question takes")),
        }
    }

    /// What is asked, in a sentence's middle.
    pub fn subject(&self) -> &'static str {
        match self {
            Self::Leader(_) => "the leader",
            Self::Isr(_) => "the ISR",
            Self::HighWatermark(..) => "the high watermark",
            Self::LogEnd(..) => "the log end",
            Self::Controller => "the controller",
            Self::Acknowledged(_) => "the records acknowledged",
            Self::Failed(_) => "the records given up",
            Self::Requests(_) => "the requests",
            Self::Latency(_) => "the longest wait in ms",
            Self::Position(..) => "the position",
            Self::Owned(_) => "the number of partitions",
            Self::Processed(_) => "the records processed",
            Self::Moved(_) => "the partitions moved",
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leader(partition) => write!(f, "leader {partition}"),
            Self::Isr(partition) => write!(f, "isr {partition}"),
            Self::HighWatermark(broker, partition) => write!(f, "hw {broker} {partition}"),
            Self::LogEnd(broker, partition) => write!(f, "leo {broker} {partition}"),
            Self::Controller => write!(f, "controller"),
            Self::Acknowledged(name) => write!(f, "acknowledged {name}"),
            Self::Failed(name) => write!(f, "failed {name}"),
            Self::Requests(name) => write!(f, "requests {name}"),
            Self::Latency(name) => write!(f, "latency {name}"),
            Self::Position(name, partition) => write!(f, "position {name} {partition}"),
            Self::Owned(name) => write!(f, "owned {name}"),
            Self::Processed(name) => write!(f, "processed {name}"),
            Self::Moved(group) => write!(f, "moved {group}"),
        }
    }
}

impl Words<'_> {
    pub(super) fn query(&mut self) -> Result<Query, Bad> {
        let word = self.want("what is asked")?;
        Ok(match word {
            "leader" => Query::Leader(self.partition()?),
            "isr" => Query::Isr(self.partition()?),
            "hw" => Query::HighWatermark(self.broker()?, self.partition()?),
            "leo" => Query::LogEnd(self.broker()?, self.partition()?),
            "controller" => Query::Controller,
            "acknowledged" => Query::Acknowledged(self.want("a producer, or all")?.to_owned()),
            "failed" => Query::Failed(self.want("a producer, or all")?.to_owned()),
            "requests" => Query::Requests(self.want("a producer")?.to_owned()),
            "latency" => Query::Latency(self.want("a producer")?.to_owned()),
            "position" => Query::Position(self.want("a consumer")?.to_owned(), self.partition()?),
            "owned" => Query::Owned(self.want("a consumer")?.to_owned()),
            "processed" => Query::Processed(self.want("a consumer, or all")?.to_owned()),
            "moved" => Query::Moved(self.want("a group")?.to_owned()),
            _ => return Err(self.bad(word, format!("`{word}` is nothing that can be asked"))),
        })
    }
}

/// A run as it is: what names mean in it, and what it answers.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    pub world: &'a World,
    pub view: &'a ClusterView,
    pub clients: &'a OrderedMap<String, NodeId>,
}

impl Sight<'_> {
    pub fn answer(&self, query: &Query) -> Result<String, String> {
        let found = match query {
            Query::Leader(partition) => self.view.leader(partition).map(|id| id.to_string()),
            Query::Isr(partition) => self.isr(partition),
            Query::HighWatermark(broker, partition) => {
                let replica = self.view.replica(self.broker(broker)?, partition);
                replica.map(|replica| replica.high_watermark.to_string())
            }
            Query::LogEnd(broker, partition) => {
                let replica = self.view.replica(self.broker(broker)?, partition);
                replica.map(|replica| replica.log_end.to_string())
            }
            Query::Controller => self.world.controller().map(|id| id.to_string()),
            Query::Acknowledged(name) => self.counted(name, |producer| producer.acknowledged)?,
            Query::Failed(name) => self.counted(name, |producer| producer.failed)?,
            Query::Requests(name) => Some(self.requests(name)?.to_string()),
            Query::Latency(name) => self.counted(name, |producer| producer.latency_ms as u64)?,
            Query::Position(name, partition) => {
                let position = self.assigned(name)?.get(partition).copied().flatten();
                position.map(|position| position.to_string())
            }
            Query::Owned(name) => Some(self.assigned(name)?.len().to_string()),
            Query::Processed(name) => Some(self.processed(name)?.to_string()),
            Query::Moved(group) => Some(self.moved(group).to_string()),
        };
        Ok(found.unwrap_or_else(|| NONE.to_owned()))
    }

    fn isr(&self, partition: &TopicPartition) -> Option<String> {
        let leader = self.view.leader(partition)?;
        match &self.view.replica(leader, partition)?.role {
            RoleView::Leader { isr, .. } => Some(list_in_order(isr)),
            _ => None,
        }
    }

    /// Of the producer of that name, or of all.
    fn counted(&self, name: &str, count: impl Fn(&Producer) -> u64) -> Result<Option<String>, String> {
        let of = |id: NodeId| match self.world.client(id).map(|client| &client.role) {
            Some(Role::Producer(producer)) => Some(count(producer)),
            _ => None,
        };
        let counted = if name == ALL {
            Some(self.clients.values().filter_map(|&id| of(id)).sum())
        } else {
            of(self.client(name)?)
        };
        Ok(counted.map(|count: u64| count.to_string()))
    }

    fn requests(&self, name: &str) -> Result<usize, String> {
        let (id, mut sent) = (self.client(name)?, 0);
        for event in self.world.trace().iter() {
            match &event.fact {
                Fact::World(WorldFact::RecordsGiven { client, .. }) if *client == id => sent = 0,
                Fact::Producer(ProducerFact::RequestSent { .. }) if event.id.node == id => sent += 1,
                _ => {}
            }
        }
        Ok(sent)
    }

    // ---- consumers

    /// The partitions that a consumer has, each with its next offset.
    fn assigned(&self, name: &str) -> Result<&OrderedMap<TopicPartition, Option<Offset>>, String> {
        let id = self.client(name)?;
        let is_consumer = |client: &&ClientNode| matches!(client.role, Role::Consumer(_));
        let seen = self.world.client(id).filter(is_consumer);
        let seen = seen.and_then(|_| self.view.clients.get(&id));
        let assigned = seen.map(|seen| &seen.assigned);
        assigned.ok_or_else(|| format!("{name} is no consumer"))
    }

    fn processed(&self, name: &str) -> Result<u64, String> {
        let by = match name {
            ALL => None,
            name => Some(self.client(name)?),
        };
        let counts = self.world.trace().iter().filter_map(|event| match &event.fact {
            Fact::World(WorldFact::RecordsProcessed { client, count, .. })
                if by.is_none_or(|by| by == *client) =>
            {
                Some(u64::from(*count))
            }
            _ => None,
        });
        Ok(counts.sum())
    }

    fn moved(&self, of: &str) -> usize {
        let (mut owners, mut moved) = (OrderedMap::new(), 0);
        for event in self.world.trace().iter() {
            let Fact::Consumer(ConsumerFact::PartitionsAssigned { group, owned, .. }) = &event.fact else {
                continue;
            };
            for partition in owned.iter().filter(|_| **group == *of) {
                let before = owners.insert(partition, event.id.node);
                moved += usize::from(before.is_some_and(|before| before != event.id.node));
            }
        }
        moved
    }

    // ---- names

    pub fn broker(&self, broker: &BrokerRef) -> Result<BrokerId, String> {
        match broker {
            BrokerRef::Id(id) => {
                let found = self.world.broker(*id).map(|_| *id);
                found.ok_or_else(|| format!("there is no broker {id}"))
            }
            BrokerRef::Controller => {
                let controller = self.world.controller();
                controller.ok_or_else(|| "there is no controller".to_owned())
            }
            BrokerRef::Leader(partition) => {
                let leader = self.view.leader(partition);
                leader.ok_or_else(|| format!("nobody leads {partition}"))
            }
            BrokerRef::Follower(partition) => {
                let follows = |id: &BrokerId| {
                    let replica = self.view.replica(*id, partition);
                    replica.is_some_and(|replica| matches!(replica.role, RoleView::Follower { .. }))
                };
                let mut all = self.view.brokers.keys().copied();
                all.find(follows)
                    .ok_or_else(|| format!("nobody follows {partition}"))
            }
        }
    }

    pub fn node(&self, node: &NodeRef) -> Result<NodeId, String> {
        match node {
            NodeRef::Broker(broker) => self.broker(broker).map(|id| id as NodeId),
            NodeRef::Coordination => Ok(COORDINATION),
            NodeRef::Client(name) => self.client(name),
        }
    }

    pub fn client(&self, name: &str) -> Result<NodeId, String> {
        let found = self.clients.get(name).copied();
        found.ok_or_else(|| format!("there is no client {name}"))
    }
}

/// Brokers as scripts and fields write them.
/// An ISR has no order of its own.
pub(super) fn list_in_order(brokers: &[BrokerId]) -> String {
    let in_order: OrderedSet<BrokerId> = brokers.iter().copied().collect();
    list(&in_order.into_iter().collect::<Vec<_>>())
}

pub(super) fn list(brokers: &[BrokerId]) -> String {
    let ids: Vec<String> = brokers.iter().map(BrokerId::to_string).collect();
    ids.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_and_written() {
        for text in [
            "leader t-0",
            "isr a-b-1",
            "hw leader:t-0 t-0",
            "leo 2 t-0",
            "controller",
            "acknowledged all",
            "failed safe",
            "requests safe",
            "latency safe",
            "position reader t-0",
            "owned one",
            "processed all",
            "moved g",
        ] {
            let query = Query::parse(text).unwrap();
            assert_eq!(query.to_string(), text);
        }
        for (text, why) in [
            ("weather t-0", "`weather` is nothing that can be asked"),
            ("hw 1", "a partition is missing"),
            ("leader t-0 now", "`now` is more than the question takes"),
        ] {
            assert_eq!(Query::parse(text).unwrap_err(), why);
        }
    }
}
