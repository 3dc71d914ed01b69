//! A consumer without a group: it reads one partition from an offset on, and never stops.

use super::metadata::Metadata;
use super::{ClientCx, ClientOutput, Purpose, RETRY_BACKOFF_MS, Wire, version_of};
use crate::error::ErrorCode;
use crate::io::Part;
use crate::protocol::fetch::{FetchPartition, FetchPartitionResponse, FetchRequest, FetchTopic};
use crate::protocol::{ApiKey, RequestBody, ResponseBody};
use crate::record::Batches;
use crate::trace::{NodeId, WorldFact};
use crate::types::{LeaderEpoch, Millis, NO_EPOCH, Offset, TopicPartition};

/// How long the leader may wait for data (`fetch.max.wait.ms`).
const MAX_WAIT_MS: i32 = 500;
const MAX_BYTES: i32 = 1 << 20;

#[derive(Clone, Debug)]
pub struct Consumer {
    pub partition: TopicPartition,
    /// Next to be read.
    pub position: Offset,
    /// Epoch of the leader that was asked last.
    epoch: LeaderEpoch,
    asked: bool,
    not_before: Millis,
}

impl Consumer {
    pub fn new(partition: TopicPartition, from: Offset) -> Self {
        Self {
            partition,
            position: from,
            epoch: NO_EPOCH,
            asked: false,
            not_before: 0,
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Millis> {
        // Without a leader it waits for metadata, whose answer comes to it too.
        (!self.asked && self.not_before > 0).then_some(self.not_before)
    }

    pub(super) fn go_on(&mut self, cx: &mut ClientCx, wire: &mut Wire, metadata: &mut Metadata) {
        if self.asked || self.not_before > cx.now {
            return;
        }
        self.not_before = 0;
        let Some((leader, epoch)) = metadata.leader(cx.now, &self.partition) else {
            return;
        };
        self.epoch = epoch;
        let body = RequestBody::Fetch(FetchRequest {
            max_wait_ms: MAX_WAIT_MS,
            min_bytes: 1,
            topics: vec![FetchTopic {
                name: (&*self.partition.topic).into(),
                topic_id: Default::default(),
                partitions: vec![FetchPartition {
                    partition: self.partition.partition,
                    current_leader_epoch: epoch,
                    fetch_offset: self.position,
                    max_bytes: MAX_BYTES,
                    ..FetchPartition::default()
                }],
            }],
            ..FetchRequest::default()
        });
        wire.send(cx, leader, version_of(ApiKey::Fetch), &body, Purpose::Own);
        self.asked = true;
    }

    pub(super) fn answered(
        &mut self,
        cx: &mut ClientCx,
        metadata: &mut Metadata,
        client: NodeId,
        body: Option<ResponseBody>,
    ) {
        self.asked = false;
        let part = match body {
            Some(ResponseBody::Fetch(answer)) if answer.error_code == ErrorCode::None => {
                let parts = answer.topics.into_iter().flat_map(|topic| topic.partitions);
                parts.into_iter().next()
            }
            _ => None,
        };
        match part {
            Some(part) if part.error_code == ErrorCode::None => self.take(cx, client, &part),
            Some(part) if part.error_code == ErrorCode::OffsetOutOfRange => {
                cx.out.push(ClientOutput::Fact(WorldFact::OffsetOutOfRange {
                    client,
                    partition: self.partition.clone(),
                    offset: self.position,
                }));
                self.later(cx.now);
                metadata.refresh(cx.now);
            }
            _ => {
                self.later(cx.now);
                metadata.forget(cx.now, &self.partition);
            }
        }
    }

    fn later(&mut self, now: Millis) {
        self.not_before = now + RETRY_BACKOFF_MS;
    }

    fn take(&mut self, cx: &mut ClientCx, client: NodeId, part: &FetchPartitionResponse) {
        let from = self.position;
        for piece in part.records.iter().flatten() {
            let Part::Bytes(bytes) = piece else { continue };
            for batch in Batches::new(bytes.clone()) {
                // The last one may be cut off.
                let Ok(batch) = batch else { break };
                self.position = self.position.max(batch.header.next_offset());
            }
        }
        if self.position > from {
            cx.out.push(ClientOutput::Fact(WorldFact::RecordsRead {
                client,
                partition: self.partition.clone(),
                from,
                to: self.position,
                epoch: self.epoch,
            }));
        }
    }
}
