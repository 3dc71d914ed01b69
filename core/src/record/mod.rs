//! Record batches, format v2: what producers send, what segments hold and what consumers get, the
//! same bytes all the way.
//!
//! A batch is a header of 61 bytes and a body of records, compressed as a whole or not at all:
//!
//! ```text
//!  0 base offset       8   ┐ given by the broker, outside the checksum,
//!  8 length            4   │ so a broker that appends a batch patches
//! 12 leader epoch      4   ┘ 16 bytes and touches nothing else
//! 16 magic (2)         1
//! 17 CRC-32C           4     of all that follows
//! 21 attributes        2     0-2 codec, 3 timestamp type, 4 transactional, 5 control, 6 delete horizon
//! 23 last offset delta 4
//! 27 base timestamp    8     or the delete horizon
//! 35 max timestamp     8
//! 43 producer id       8
//! 51 producer epoch    2
//! 53 base sequence     4
//! 57 record count      4
//! 61 records           …     varint lengths, deltas to the base offset and base timestamp
//! ```
//!
//! Reading order: [`varint`] and [`crc`] are the bricks; [`header`] the 61 bytes; [`record`] one
//! record; [`compression`] the five codecs; [`batch`] puts them together for reading, [`control`]
//! reads the markers that end a transaction; [`builder`] writes; [`validator`] decides whether what
//! a producer sent may enter a log.
//!
//! Invariants
//! - a length or a count is believed only after it was compared with the bytes that are there
//! - null and empty (key, value, header value) are never confused
//! - the same records and settings give the same bytes on every target

pub mod batch;
pub mod builder;
pub mod compression;
pub mod control;
pub mod crc;
pub mod header;
#[expect(
    clippy::module_inception,
    reason = "a record is one thing, the layer of records another"
)]
pub mod record;
pub mod validator;
pub mod varint;

pub use batch::{Batch, Batches, InvalidBatch};
pub use builder::BatchBuilder;
pub use compression::{Codec, Compression, Decompress};
pub use header::{BatchHeader, HEADER_BYTES, LOG_OVERHEAD_BYTES, TimestampType};
pub use record::{Header, Record};
pub use validator::{
    BatchRefused, TopicCompression, Validated, ValidationRules, Workspace, validate_produced,
};

#[cfg(test)]
mod tests;
