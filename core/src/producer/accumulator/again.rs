//! How a batch comes back into its queue: as it was, after a failure that may pass; in parts, when the
//! broker finds it too large.

use super::{Accumulator, NO_COMPRESSION};
use crate::producer::batch::{BatchId, ProducerBatch, sequence_after};
use crate::producer::idempotence::Idempotence;

impl Accumulator {
    /// A batch that failed goes back to the front; a numbered one to its place among the numbered.
    pub fn requeue(&mut self, id: BatchId, idempotence: &Idempotence) {
        let Some(batch) = self.batches.get_mut(&id) else {
            return;
        };
        batch.is_queued = true;
        let partition = batch.partition.clone();
        let queue = self.queue(&partition);
        let earlier = queue
            .iter()
            .take_while(|queued| idempotence.precedes(&partition, **queued, id));
        let place = earlier.count();
        queue.insert(place, id);
    }

    /// Puts the records of a batch that is too large into smaller ones, at its place. The batch that was,
    /// and its parts; nothing when it cannot be split.
    pub fn split(
        &mut self,
        id: BatchId,
        idempotence: &mut Idempotence,
    ) -> Option<(ProducerBatch, Vec<BatchId>)> {
        let unpacked = self.batches.get(&id)?.unpack()?;
        let big = self.remove(id)?;
        self.topic(&big.partition.topic).ratio = big.ratio().max(NO_COMPRESSION);
        let limit = self.limit_of_parts(&big);
        let mut parts: Vec<ProducerBatch> = Vec::new();
        for (record, packed) in unpacked {
            if let Some(last) = parts.last_mut().filter(|last| last.has_room_for(&packed)) {
                last.append(record, &packed);
                continue;
            }
            let mut part = self.new_batch(&big.partition, big.created_ms, big.cause, limit);
            part.is_part = true;
            part.append(record, &packed);
            parts.push(part);
        }
        let mut identity = big.identity;
        let ids: Vec<BatchId> = parts.iter().map(|part| part.id).collect();
        for mut part in parts {
            part.close();
            part.identity = identity;
            if let Some((_, _, sequence)) = &mut identity {
                *sequence = sequence_after(*sequence, part.records.len());
            }
            self.insert(part);
        }
        idempotence.replace(&big, &ids);
        // The last goes in first, so that those without numbers keep their order too.
        ids.iter().rev().for_each(|part| self.requeue(*part, idempotence));
        Some((big, ids))
    }

    /// `batch.size`, unless the batch is no larger than that: then half of it, so that there are at least
    /// two parts.
    fn limit_of_parts(&self, big: &ProducerBatch) -> usize {
        let bytes = big.estimated_bytes();
        if bytes > self.batch_size_bytes {
            self.batch_size_bytes
        } else {
            bytes / 2
        }
    }
}
