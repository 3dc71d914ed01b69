//! What a broker knows of its cluster: topics, partitions, settings, ids.
//!
//! The truth is the coordination tree, with the paths and the JSON of Kafka 3.9's ZooKeeper way
//! ([`nodes`]). From it an immutable [`MetadataImage`] is read; whoever decides (a new topic, an
//! altered setting) looks at an image and writes a [`Multi`] that holds only if the tree is still
//! as the image says. [`Metadata`] does the multi, and the next image is there.
//!
//! Invariants
//! - the image equals the one read afresh from the tree, after every change
//! - who decides changes nothing but through [`Decide`]
//! - a topic's id never changes, and no id is given twice
//! - a producer id is answered only after the block it is from is on disk, and no block is given twice

pub mod configs;
mod image;
mod names;
pub mod nodes;
pub mod placement;
mod producer_ids;
mod told;
pub mod topics;

use std::sync::Arc;

use crate::coordination::{Coordination, Multi, MultiError, Recovered};
use crate::cx::Cx;
use crate::disk::{DirId, Ticket};
use crate::error::{ErrorCode, Refused};
use crate::types::{BrokerId, ProducerId};

pub use image::{
    BrokerEndpoint, BrokerImage, MetadataImage, NO_LEADER, NO_STATE, PartitionImage, TopicImage, is_internal,
};
pub use names::{collision_key, validate_topic_name};
pub use nodes::BadNode;

/// Whoever may change the cluster: decisions look at its image and hand it multis.
pub trait Decide {
    /// With everything decided so far, acknowledged or not.
    fn image(&self) -> &Arc<MetadataImage>;

    /// Makes the change part of what is decided. It holds only if everything is as the image says.
    fn decide(&mut self, cx: &mut Cx, multi: &Multi) -> Result<(), Refused>;

    /// Ends a request's changes: they become durable together. Answer when the ticket is done.
    fn seal(&mut self, cx: &mut Cx) -> Ticket;
}

impl Decide for Metadata {
    fn image(&self) -> &Arc<MetadataImage> {
        &self.image
    }

    fn decide(&mut self, cx: &mut Cx, multi: &Multi) -> Result<(), Refused> {
        self.append(cx, multi)
            .map_err(|error| Refused::new(ErrorCode::UnknownServerError, error.to_string()))
    }

    fn seal(&mut self, cx: &mut Cx) -> Ticket {
        self.sync(cx)
    }
}

/// The tree, its image, and the producer ids in hand. Owned by the broker.
#[derive(Clone, Debug)]
pub struct Metadata {
    coordination: Coordination,
    image: Arc<MetadataImage>,
    producer_ids: producer_ids::Block,
}

impl Metadata {
    /// Takes up what recovery found. A new tree gets its first nodes, with `cluster_id` or one that is
    /// drawn now; an old one keeps the id it has. Nothing may be answered before the ticket is done.
    pub fn open(
        cx: &mut Cx,
        dir: DirId,
        recovered: Recovered,
        cluster_id: Option<&str>,
    ) -> Result<(Self, Ticket), BadNode> {
        let coordination = Coordination::open(cx, dir, recovered);
        let (image, bad) = MetadataImage::read(coordination.tree());
        if let Some(bad) = bad.into_iter().next() {
            return Err(bad);
        }
        let image = Arc::new(image);
        let mut metadata = Self {
            coordination,
            image,
            producer_ids: producer_ids::Block::default(),
        };
        let cluster_id = cluster_id.map_or_else(|| cx.rng.uuid().to_string(), str::to_owned);
        let first = nodes::missing_nodes(metadata.coordination.tree(), &cluster_id);
        let ticket = if first.ops.is_empty() {
            cx.disk.last_ticket(dir)
        } else {
            metadata.submit(cx, &first).map_err(|error| BadNode {
                path: error.path.to_string(),
                why: error.error.to_string(),
            })?
        };
        Ok((metadata, ticket))
    }

    /// As of now, acknowledged or not.
    pub fn image(&self) -> &Arc<MetadataImage> {
        &self.image
    }

    /// Does a decided change and takes up its image. Answer for it when the ticket is done.
    pub fn submit(&mut self, cx: &mut Cx, multi: &Multi) -> Result<Ticket, MultiError> {
        self.append(cx, multi)?;
        Ok(self.sync(cx))
    }

    /// One of several changes that share a sync: nothing is acknowledged before [`Metadata::sync`].
    pub fn append(&mut self, cx: &mut Cx, multi: &Multi) -> Result<(), MultiError> {
        self.coordination.append(cx, multi, 0)?;
        let bad = Arc::make_mut(&mut self.image).apply(self.coordination.tree(), multi);
        debug_assert_eq!(bad, [], "a node of our own making");
        Ok(())
    }

    /// Makes everything appended so far durable, when the ticket is done.
    pub fn sync(&mut self, cx: &mut Cx) -> Ticket {
        self.coordination.sync(cx.disk)
    }

    /// The host carried out every operation of the directory up to this ticket.
    pub fn disk_done(&mut self, upto: Ticket) {
        self.coordination.disk_done(upto);
    }

    /// Whether what was submitted under this ticket is on disk for good.
    pub fn is_durable(&self, ticket: Ticket) -> bool {
        self.coordination.is_durable(ticket)
    }

    /// A producer id never given before, to be answered when the ticket is done.
    pub fn next_producer_id(
        &mut self,
        cx: &mut Cx,
        broker: BrokerId,
    ) -> Result<(ProducerId, Ticket), Refused> {
        if self.producer_ids.is_used_up() {
            let (block, multi) = producer_ids::next_block(&self.image, broker)?;
            let ticket = self
                .submit(cx, &multi)
                .map_err(|error| Refused::new(ErrorCode::UnknownServerError, error.to_string()))?;
            self.producer_ids = block.under(ticket);
        }
        Ok(self.producer_ids.take())
    }
}

#[cfg(test)]
pub(crate) mod tests;
