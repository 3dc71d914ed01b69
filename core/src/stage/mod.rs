//! What is seen of a cluster, and what is said of it: the stage, without a layout.
//!
//! A [`Stage`] is one partition's picture: who is there, what each replica holds and knows of it, what
//! producers were told, whose ISR is which, what is on its way. It is plain data that follows from a
//! [`ClusterView`](crate::view::ClusterView) alone, so that a simulation, a recording and a live cluster
//! are drawn by the same code, and a picture never shows what no fact has told.
//!
//! Each element says itself: `say()` is the text that a reader without the picture gets, and
//! [`Stage::elements`] lists all of them in the order of reading. The terminal prints that list, the page
//! puts the same strings on what it draws, and a test compares the two.
//!
//! Reading order: [`row`] replicas and their cells; [`promise`] what producers were told; [`isr`] whose
//! ISR; [`figure`] the nodes of the map; [`message`] what is between them; [`tree`] what hangs on sessions in
//! the coordination service; [`producer`] the other picture, of one producer; `fold` how all of it follows
//! from a view, `names` what a reader calls a node.
//!
//! Invariants
//! - equal views give equal stages
//! - every element has a key of its own, and a text that says all that its picture shows

pub mod figure;
mod fold;
pub mod isr;
pub mod message;
mod names;
pub mod producer;
pub mod promise;
pub mod row;
pub mod tree;

use std::ops::Range;
use std::sync::Arc;

use crate::types::{Offset, TopicPartition};
use crate::view::ClusterView;

pub use figure::{CutLink, Figure, Shape};
pub use isr::{IsrHolder, IsrLine};
pub use message::{Idle, Message, Way};
pub use producer::ProducerPicture;
pub use promise::{Promise, PromiseState};
pub use row::{Cell, Heard, Mark, MarkKind, Record, Role, Row, State};
pub use tree::TreePicture;

/// What a stage shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Picture {
    /// A partition's replicas, and the cluster around them.
    #[default]
    Replicas,
    /// The same, and the coordination service's tree.
    Tree,
    /// The producer that was last given something to send.
    Producer,
}

impl Picture {
    /// By its name in stories and in the book.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "replicas" => Some(Self::Replicas),
            "tree" => Some(Self::Tree),
            "producer" => Some(Self::Producer),
            _ => None,
        }
    }
}

/// What of a cluster is to be on stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageOptions {
    pub partition: TopicPartition,
    /// At most so many columns; earlier offsets are folded away.
    pub most_columns: usize,
    /// What was cut off since this fact, counted from 0, is still shown, struck: the moment's first fact.
    pub cut_since: usize,
    pub picture: Picture,
}

/// One partition of a cluster, as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    pub partition: TopicPartition,
    /// In the order of the map: coordination, brokers, producers, consumers.
    pub figures: Vec<Figure>,
    /// Links that carry nothing.
    pub cut_links: Vec<CutLink>,
    /// The columns, an offset each.
    pub offsets: Range<Offset>,
    /// Offsets before the first column that hold the same everywhere.
    pub folded: Option<Folded>,
    /// One for each offset that a producer was told about, by offset; a second one where a rewritten
    /// offset was promised again.
    pub promises: Vec<Promise>,
    pub isrs: Vec<IsrLine>,
    /// One a replica, by broker. [`Stage::sharing`] keeps what has not changed the same `Arc`.
    pub rows: Vec<Arc<Row>>,
    /// What is worth a look, in the order of sending.
    pub messages: Vec<Message>,
    /// What else is on its way.
    pub idle: Idle,
    /// What hangs on sessions, where that is to be seen.
    pub tree: Option<Arc<TreePicture>>,
    /// In place of all that: a producer.
    pub producer: Option<Arc<ProducerPicture>>,
}

/// Columns that are left out: each replica that lives has these records, and knows that they are safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folded {
    pub from: Offset,
    /// The first offset that is shown.
    pub to: Offset,
}

/// An element's name and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// `row:1`, `cell:1:5`, `promise:5`: unique on a stage, and what a story's focus names.
    pub key: String,
    pub say: String,
}

/// Columns of a stage, if nothing else is asked for.
pub const MOST_COLUMNS: usize = 12;

/// The partition that a cluster's picture is about, if nobody says which: the first of the first topic that
/// is not Kafka's own.
pub fn subject(view: &ClusterView) -> Option<TopicPartition> {
    own_partitions(view).min().cloned()
}

/// Partitions of topics that are not Kafka's own.
pub fn own_partitions(view: &ClusterView) -> impl Iterator<Item = &TopicPartition> {
    let told = view.stored.partitions.keys();
    told.filter(|partition| !partition.topic.starts_with("__"))
}

impl Stage {
    /// Everything that is drawn, in the order of reading.
    pub fn elements(&self) -> Vec<Element> {
        if let Some(producer) = &self.producer {
            return producer.elements();
        }
        let mut all = Vec::new();
        let mut add = |key: String, say: String| all.push(Element { key, say });
        for figure in &self.figures {
            add(figure.key(), figure.say());
        }
        for link in &self.cut_links {
            add(link.key(), link.say());
        }
        for message in &self.messages {
            add(message.key(), message.say());
        }
        if let Some(say) = self.idle.say() {
            add("idle".to_owned(), say);
        }
        if let Some(tree) = &self.tree {
            let elements = tree.elements().into_iter();
            elements.for_each(|element| add(element.key, element.say));
        }
        if let Some(folded) = &self.folded {
            add("folded".to_owned(), folded.say());
        }
        for promise in &self.promises {
            add(promise.key(), promise.say());
        }
        for row in &self.rows {
            add(row.key(), row.say());
            for cell in &row.cells {
                add(cell.key(), cell.say());
            }
            for mark in &row.marks {
                add(mark.key(), mark.say());
            }
        }
        for isr in &self.isrs {
            add(isr.key(), isr.say());
        }
        all
    }

    /// Whether nothing differs but what is on its way, which moves by itself.
    pub fn is_same_but_for_messages(&self, other: &Self) -> bool {
        let Self {
            partition,
            figures,
            cut_links,
            offsets,
            folded,
            promises,
            isrs,
            rows,
            messages: _,
            idle: _,
            tree,
            producer,
        } = self;
        *partition == other.partition
            && *figures == other.figures
            && *cut_links == other.cut_links
            && *offsets == other.offsets
            && *folded == other.folded
            && *promises == other.promises
            && *isrs == other.isrs
            && *rows == other.rows
            && *tree == other.tree
            && *producer == other.producer
    }

    /// The texts of all elements: the stage for whoever has no picture.
    pub fn describe(&self) -> Vec<String> {
        self.elements().into_iter().map(|element| element.say).collect()
    }
}

impl Folded {
    pub fn say(&self) -> String {
        let last = self.to - 1;
        format!(
            "offsets {} to {last}: on every replica, and known to be safe there",
            self.from
        )
    }
}

#[cfg(test)]
mod tests;
