//! What a broker knows of its cluster: topics, partitions, settings, ids.
//!
//! The truth is the coordination tree, with the paths and the JSON of Kafka 3.9's ZooKeeper way
//! ([`nodes`]). From it an immutable [`MetadataImage`] is read; whoever decides (a new topic, an
//! altered setting) looks at an image and writes a [`Multi`] that holds only if the tree is still
//! as the image says; [`Decide`] makes it so, and the next image is there.
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
pub mod producer_ids;
mod told;
pub mod topics;

use std::sync::Arc;

use crate::coordination::Multi;
use crate::cx::Cx;
use crate::error::Refused;

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

    /// Ends a request's changes: they become durable together.
    fn seal(&mut self, cx: &mut Cx);
}

#[cfg(test)]
pub(crate) mod tests;
