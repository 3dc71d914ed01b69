//! The nodes of the map, each by its shape, and the links between them that carry nothing.

use super::row::State;
use crate::trace::NodeId;
use crate::types::TopicPartition;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    pub node: NodeId,
    /// `broker 1`, `producer`, `coordination`.
    pub name: String,
    pub shape: Shape,
    pub state: State,
    /// The partition that it leads: it wears the crown. A crashed broker wears none.
    pub leads: Option<TopicPartition>,
    /// It takes itself for the controller.
    pub controller: bool,
    /// A second line: `leader: broker 1; brokers: 1, 2, 3` on the coordination service, `acks=1` on a producer.
    pub note: Option<String>,
}

/// Roles are shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Coordination,
    Broker,
    Producer,
    Consumer,
}

/// A link that carries nothing, in one direction or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutLink {
    pub from: NodeId,
    pub to: NodeId,
    pub from_name: String,
    pub to_name: String,
    pub both_ways: bool,
}

impl Figure {
    pub fn key(&self) -> String {
        match self.shape {
            Shape::Broker => format!("broker:{}", self.node),
            Shape::Coordination => "coordination".to_owned(),
            Shape::Producer | Shape::Consumer => format!("client:{}", self.node),
        }
    }

    pub fn say(&self) -> String {
        let mut said = vec![self.state.said_of(&self.name)];
        if let Some(partition) = &self.leads {
            said.push(format!("leads {partition}"));
        }
        if self.controller {
            said.push("is the controller".to_owned());
        }
        said.extend(self.note.clone());
        said.join(", ")
    }
}

impl CutLink {
    pub fn key(&self) -> String {
        format!("link:{}:{}", self.from, self.to)
    }

    pub fn say(&self) -> String {
        let Self {
            from_name, to_name, ..
        } = self;
        if self.both_ways {
            format!("the link between {from_name} and {to_name} is cut")
        } else {
            format!("nothing gets from {from_name} to {to_name}")
        }
    }
}
