//! What a request was sent for: it comes back with the answer.

use std::sync::Arc;

use super::batch::{BatchId, Identity};
use crate::ordered::OrderedMap;
use crate::types::{TopicPartition, Uuid};

#[derive(Clone, Debug)]
pub(super) enum Purpose {
    Produce(SentBatches),
    /// InitProducerId.
    ProducerId,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SentBatches {
    pub batches: Vec<SentBatch>,
    /// The names of topics that the request calls by their ids.
    pub names: OrderedMap<Uuid, Arc<str>>,
}

/// A batch as it was sent; meanwhile it may have ended, or have other numbers.
#[derive(Clone, Debug)]
pub(super) struct SentBatch {
    pub batch: BatchId,
    pub partition: TopicPartition,
    pub identity: Option<Identity>,
    pub records: usize,
}
