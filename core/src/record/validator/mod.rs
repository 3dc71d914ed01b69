//! May this batch enter a log? What Kafka's `LogValidator` and `UnifiedLog` check of a produced
//! batch, with the same error codes.
//!
//! The checks go from cheap to dear: the frame (one batch, format, size), the checksum, the header's
//! counts, then every record in one pass that allocates nothing: over the frame itself, or over the
//! body unpacked into a buffer that is used again. A batch that passes goes on as the slice of the
//! frame that it came in. It is made anew only where Kafka does so: its header when the broker sets
//! the time, or the producer named a wrong max timestamp; the whole when the topic wants another
//! codec or the records' offsets have gaps (Kafka 4.4 stores such offsets as they are when the batch
//! is not compressed, and fails with UNKNOWN_SERVER_ERROR when it is).
//!
//! Two more codes differ on purpose: a codec number that does not exist is
//! UNSUPPORTED_COMPRESSION_TYPE and a body that cannot be unpacked INVALID_RECORD, where Kafka 4.4
//! lets an exception through and answers UNKNOWN_SERVER_ERROR.
//!
//! A batch that a leader already took is not judged again by its followers: they check size, format
//! and checksum ([`check_replicated`]).

mod frame;
mod records;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::batch::{Batch, InvalidBatch};
use super::builder::BatchBuilder;
use super::compression::{Codec, Compression, Decompress, InvalidCompression, PURE_RUST};
use super::header::{BatchHeader, HEADER_BYTES, TimestampType};
use super::record::RawRecord;
use crate::error::ErrorCode;
use crate::types::Millis;

pub use frame::{check_replicated, first_batch};

/// A topic's `compression.type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TopicCompression {
    /// As the producer sent it.
    #[default]
    Producer,
    /// Always this, at this level; batches that come otherwise are re-encoded.
    Fixed(Compression),
}

/// What a topic's configuration says about the batches it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidationRules {
    /// `max.message.bytes`: of a whole batch as it is stored.
    pub max_message_bytes: u32,
    /// `message.timestamp.type`
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`
    pub timestamp_before_max_ms: Millis,
    /// `message.timestamp.after.max.ms`
    pub timestamp_after_max_ms: Millis,
    /// Whether `cleanup.policy` has `compact`: then every record needs a key.
    pub compacted: bool,
    /// `compression.type`
    pub compression: TopicCompression,
    /// `max.decompressed.message.bytes`: of one record of a compressed batch, when unpacked.
    pub max_decompressed_message_bytes: u32,
    /// What all records of a compressed batch together may come to when unpacked. Kafka has no such
    /// bound; here a batch's memory is bounded whatever the topic says.
    pub max_decompressed_bytes: u32,
}

impl Default for ValidationRules {
    /// Kafka's defaults.
    fn default() -> Self {
        Self {
            max_message_bytes: 1_048_588,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: Millis::MAX,
            timestamp_after_max_ms: 3_600_000,
            compacted: false,
            compression: TopicCompression::Producer,
            max_decompressed_message_bytes: 2_147_483_639,
            max_decompressed_bytes: 100 << 20,
        }
    }
}

/// A batch that may be appended once its first 16 bytes are patched
/// ([`BatchHeader::patch_head`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validated {
    /// The header of `bytes`: base offset 0, checksum and max timestamp right. The time index gets
    /// its max timestamp with its last offset.
    pub header: BatchHeader,
    /// The slice of the frame, or new bytes where Kafka makes new ones.
    pub bytes: Bytes,
    /// The time that the broker gave, under LogAppendTime: part of the answer.
    pub log_append_time_ms: Option<Millis>,
}

/// Why a batch is not taken, as the answer to the producer has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchRefused {
    pub code: ErrorCode,
    pub message: Option<String>,
    /// Index of a record in the batch, and what is wrong with it. At most [`MAX_RECORD_ERRORS`].
    pub record_errors: Vec<(i32, Option<String>)>,
    /// The log judged the batch, not the request's handler alone: then the answer has the log's start
    /// offset beside the error (`ReplicaManager.appendRecordsToLeader`).
    pub by_log: bool,
}

/// Kafka names every bad record; a small batch could make that an answer of hundreds of megabytes.
pub const MAX_RECORD_ERRORS: usize = 100;

impl BatchRefused {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: Some(message.into()),
            record_errors: Vec::new(),
            by_log: false,
        }
    }

    /// The same, as the log's judgement. Of a batch that is damaged or too large Kafka does not say
    /// where its log starts.
    pub fn by_log(self) -> Self {
        let unsaid = matches!(
            self.code,
            ErrorCode::CorruptMessage
                | ErrorCode::MessageTooLarge
                | ErrorCode::RecordListTooLarge
                | ErrorCode::KafkaStorageError
        );
        Self {
            by_log: !unsaid,
            ..self
        }
    }
}

impl From<InvalidBatch> for BatchRefused {
    fn from(why: InvalidBatch) -> Self {
        let code = match &why {
            InvalidBatch::TooSmall { .. } | InvalidBatch::UnknownMagic(_) | InvalidBatch::Crc { .. } => {
                ErrorCode::CorruptMessage
            }
            InvalidBatch::UnknownCodec(_) => ErrorCode::UnsupportedCompressionType,
            InvalidBatch::Compression(InvalidCompression::TooLarge { .. }) => ErrorCode::MessageTooLarge,
            _ => ErrorCode::InvalidRecord,
        };
        Self::new(code, why.to_string())
    }
}

/// What validation needs beside the batch: decoders, and a buffer that is used again. One for each
/// place that validates.
#[derive(Debug)]
pub struct Workspace {
    decompress: &'static dyn Decompress,
    buffer: Vec<u8>,
    /// Bytes that batches may still come to when unpacked, beside the bound that the rules set to each.
    left: usize,
    /// A batch was refused that may have come to more than was left.
    is_over: bool,
}

/// A larger buffer is given back after use.
const KEPT_BUFFER_BYTES: usize = 4 << 20;

impl Workspace {
    pub fn new(decompress: &'static dyn Decompress) -> Self {
        Self {
            decompress,
            buffer: Vec::new(),
            left: usize::MAX,
            is_over: false,
        }
    }

    /// From now on batches may come to so many bytes in all.
    pub fn allow(&mut self, bytes: usize) {
        (self.left, self.is_over) = (bytes, false);
    }

    /// Whether a batch was refused that might be taken if more were allowed.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    fn unpack(&mut self, codec: Codec, body: &[u8], limit: usize) -> Result<(), InvalidCompression> {
        let allowed = limit.min(self.left);
        let unpacked = self.decompress.decompress(codec, body, allowed, &mut self.buffer);
        // A decoder that may not hold enough may also take the data for damaged.
        if unpacked.is_err() && allowed < limit {
            (self.left, self.is_over) = (0, true);
        }
        self.left = self.left.saturating_sub(self.buffer.len());
        unpacked
    }
}

/// The buffer is scratch, so that a clone begins with none.
impl Clone for Workspace {
    fn clone(&self) -> Self {
        Self::new(self.decompress)
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new(&PURE_RUST)
    }
}

/// Checks the records of one partition in a produce request: exactly one batch, fit for the topic.
///
/// `now` is the time of the append, in ms.
pub fn validate_produced(
    bytes: &Bytes,
    rules: &ValidationRules,
    now: Millis,
    workspace: &mut Workspace,
) -> Result<Validated, BatchRefused> {
    let batch = first_batch(bytes)?;
    validate_batch(batch, rules, now, workspace).map_err(BatchRefused::by_log)
}

fn validate_batch(
    batch: Batch,
    rules: &ValidationRules,
    now: Millis,
    workspace: &mut Workspace,
) -> Result<Validated, BatchRefused> {
    frame::check_front(&batch, rules)?;
    let codec = frame::check_header(&batch.header)?;

    workspace.buffer.clear();
    let body = if codec == Codec::None {
        batch.body()
    } else {
        let limit = rules.max_decompressed_bytes as usize;
        let unpacked = workspace.unpack(codec, batch.body(), limit);
        unpacked.map_err(InvalidBatch::from)?;
        &workspace.buffer[..]
    };
    let found = records::scan(&batch.header, body, rules, now)?;

    let log_append_time_ms = match rules.timestamp_type {
        TimestampType::CreateTime => None,
        TimestampType::LogAppendTime => Some(now),
    };
    let target = match rules.compression {
        TopicCompression::Producer => Compression::from(codec),
        TopicCompression::Fixed(target) => target,
    };
    let validated = if target.codec != codec || !found.offsets_are_sequential {
        let bytes = re_encode(&batch.header, body, target, log_append_time_ms);
        check_size_again(&bytes, rules)?;
        with_header(&bytes)?
    } else {
        with_times(batch, log_append_time_ms, found.max_timestamp)
    };
    if workspace.buffer.capacity() > KEPT_BUFFER_BYTES {
        workspace.buffer = Vec::new();
    }
    Ok(Validated {
        log_append_time_ms,
        ..validated
    })
}

/// Makes the batch anew from its records, with sequential offsets and the topic's codec
/// (`LogValidator.buildRecordsAndAssignOffsets`).
fn re_encode(
    header: &BatchHeader,
    body: &[u8],
    target: Compression,
    log_append_time_ms: Option<Millis>,
) -> Bytes {
    let mut builder = BatchBuilder::new(target)
        .leader_epoch(header.partition_leader_epoch)
        .producer(header.producer_id, header.producer_epoch, header.base_sequence)
        .transactional(header.is_transactional())
        .log_append_time(log_append_time_ms);
    let mut at = 0;
    for offset_delta in 0..header.record_count {
        // All records were read before: none fails now.
        let Ok(record) = RawRecord::read(body, &mut at) else {
            break;
        };
        let timestamp = records::timestamp_of(header, record.timestamp_delta);
        let record = RawRecord {
            offset_delta,
            ..record
        };
        builder.append_raw(record, timestamp);
    }
    builder.build()
}

fn check_size_again(bytes: &Bytes, rules: &ValidationRules) -> Result<(), BatchRefused> {
    if bytes.len() as u64 <= u64::from(rules.max_message_bytes) {
        return Ok(());
    }
    Err(frame::too_large(bytes.len() as u64, rules))
}

fn with_header(bytes: &Bytes) -> Result<Validated, BatchRefused> {
    let batch = Batch::parse(bytes)?;
    Ok(Validated {
        header: batch.header,
        bytes: batch.bytes,
        log_append_time_ms: None,
    })
}

/// Sets timestamp type and max timestamp where they are not what the log wants
/// (`DefaultRecordBatch.setMaxTimestamp`); only then is the batch copied.
fn with_times(batch: Batch, log_append_time_ms: Option<Millis>, max_found: Millis) -> Validated {
    let Batch { mut header, bytes } = batch;
    let timestamp_type = match log_append_time_ms {
        Some(_) => TimestampType::LogAppendTime,
        None => TimestampType::CreateTime,
    };
    let max_timestamp = log_append_time_ms.unwrap_or(max_found);
    let unchanged = header.timestamp_type() == timestamp_type && header.max_timestamp == max_timestamp;
    if unchanged {
        return Validated {
            header,
            bytes,
            log_append_time_ms,
        };
    }
    header.attributes = BatchHeader::pack_attributes(
        header.codec().unwrap_or_default(),
        timestamp_type,
        header.is_transactional(),
        header.is_control(),
        header.delete_horizon_ms().is_some(),
    );
    header.max_timestamp = max_timestamp;
    let mut out = bytes.to_vec();
    header.crc = header.compute_crc(&out[HEADER_BYTES..]);
    out[..HEADER_BYTES].copy_from_slice(&header.encode());
    Validated {
        header,
        bytes: out.into(),
        log_append_time_ms,
    }
}
