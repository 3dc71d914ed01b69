//! The checks that need no record: how many batches, their size and format, the checksum, the
//! header's counts.

use bytes::Bytes;

use super::super::batch::{Batch, Batches, InvalidBatch};
use super::super::compression::Codec;
use super::super::header::{BatchHeader, LOG_OVERHEAD_BYTES};
use super::{BatchRefused, ValidationRules};
use crate::error::ErrorCode;

/// Least length that a batch of any format claims (`LegacyRecord.RECORD_OVERHEAD_V0`).
const LEAST_LENGTH: i32 = 14;

/// The one batch in a partition's part of a produce request; what is no whole batch after it is cut
/// off, as Kafka does (`ProduceRequest.validateRecords`).
pub fn first_batch(bytes: &Bytes) -> Result<Batch, BatchRefused> {
    let batch = match Batch::parse(bytes) {
        Ok(batch) => batch,
        Err(InvalidBatch::Truncated { .. }) => {
            return Err(BatchRefused::new(
                ErrorCode::InvalidRecord,
                "the request has no whole record batch for the partition",
            ));
        }
        Err(other) => return Err(other.into()),
    };
    let rest = bytes.slice(batch.bytes.len()..);
    check_claim(&rest)?;
    match Batch::parse(&rest) {
        Ok(_) | Err(InvalidBatch::OldMagic(_)) => Err(BatchRefused::new(
            ErrorCode::InvalidRecord,
            "the request has more than one record batch for the partition",
        )),
        Err(InvalidBatch::Truncated { .. }) => Ok(batch),
        Err(other) => Err(other.into()),
    }
}

/// Bytes that are cut short may claim any length but one that no batch of any format has
/// (`ByteBufferLogInputStream.nextBatchSize`, which looks at the length before anything else).
fn check_claim(rest: &[u8]) -> Result<(), BatchRefused> {
    let Some(&[.., l0, l1, l2, l3]) = rest.first_chunk::<LOG_OVERHEAD_BYTES>() else {
        return Ok(());
    };
    let length = i32::from_be_bytes([l0, l1, l2, l3]);
    if length < LEAST_LENGTH {
        return Err(InvalidBatch::TooSmall { length }.into());
    }
    Ok(())
}

/// Base offset, size and checksum, in Kafka's order (`UnifiedLog.analyzeAndValidateRecords`).
pub(super) fn check_front(batch: &Batch, rules: &ValidationRules) -> Result<(), BatchRefused> {
    let base_offset = batch.header.base_offset;
    if base_offset != 0 {
        return Err(BatchRefused::new(
            ErrorCode::InvalidRecord,
            format!("a produced batch must have base offset 0, this one has {base_offset}"),
        ));
    }
    let size = batch.bytes.len() as u64;
    if size > u64::from(rules.max_message_bytes) {
        return Err(too_large(size, rules));
    }
    Ok(batch.check_crc()?)
}

/// Codec, counts and flags (`LogValidator.validateBatch`).
pub(super) fn check_header(header: &BatchHeader) -> Result<Codec, BatchRefused> {
    let invalid = |message: String| Err(BatchRefused::new(ErrorCode::InvalidRecord, message));
    let codec = header
        .codec()
        .ok_or(InvalidBatch::UnknownCodec(header.codec_id()))?;
    let (count, delta) = (header.record_count, header.last_offset_delta);
    if delta < 0 {
        return invalid(format!("the batch's last offset delta is {delta}"));
    }
    if count <= 0 {
        return invalid(format!("the batch claims {count} records"));
    }
    if i64::from(delta) + 1 != i64::from(count) {
        return invalid(format!(
            "the batch claims {count} records, but its last offset delta is {delta}"
        ));
    }
    if header.is_control() {
        return invalid("a client may not write control records".into());
    }
    if header.has_producer_id() && header.base_sequence < 0 {
        return invalid(format!(
            "the batch of producer {} has sequence {}",
            header.producer_id, header.base_sequence
        ));
    }
    Ok(codec)
}

pub(super) fn too_large(size: u64, rules: &ValidationRules) -> BatchRefused {
    BatchRefused::new(
        ErrorCode::MessageTooLarge,
        format!(
            "the batch has {size} bytes, the topic takes {} (max.message.bytes)",
            rules.max_message_bytes
        ),
    )
}

/// What a follower checks of the batches it fetched, and recovery of those it finds: size, format,
/// checksum. Gives the whole batches up to the first that is cut short, which ends a fetch as a rule.
///
/// # Errors
/// The first batch that is wrong in another way than being cut short.
pub fn check_replicated(bytes: &Bytes) -> Result<Vec<Batch>, InvalidBatch> {
    let mut whole = Vec::new();
    for batch in Batches::new(bytes.clone()) {
        match batch {
            Err(InvalidBatch::Truncated { .. }) => break,
            other => {
                let batch = other?;
                batch.check_crc()?;
                whole.push(batch);
            }
        }
    }
    Ok(whole)
}
