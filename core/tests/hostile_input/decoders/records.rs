//! Decoders of record batches: as a reader of a log meets them, and as a produce request brings them.

use bytes::{Bytes, BytesMut};
use highwater_core::record::compression::PURE_RUST;
use highwater_core::record::control::{ControlType, EndTransactionMarker};
use highwater_core::record::{Batches, TopicCompression, ValidationRules, Workspace, validate_produced};
use highwater_core::record::{Codec, Compression};

use super::{Decoder, fixtures};

/// What a body may unpack to here.
pub const UNPACKED_BYTES: usize = 64 << 10;
/// A body as unpacked, in a vector that doubles as it grows, and the codecs' own windows and blocks.
const CODEC_BYTES: usize = 4 * UNPACKED_BYTES + (10 << 20);
/// Where a batch has its checksum, and from where it is taken.
const CRC_AT: usize = 17;
const CRC_FROM: usize = 21;

pub fn decoders() -> Vec<Decoder> {
    let decoder = |name: &str, decode: fn(Bytes)| Decoder {
        name: name.into(),
        samples: batches(),
        head_bytes: 0,
        is_wire: false,
        multiple: super::MULTIPLE,
        extra_bytes: CODEC_BYTES,
        decode: Box::new(decode),
    };
    vec![
        decoder("record batches", read),
        decoder("produced batch", |bytes| {
            validate(bytes, TopicCompression::Producer);
        }),
        decoder("produced batch, re-encoded", |bytes| {
            validate(bytes, TopicCompression::Fixed(Compression::from(Codec::Gzip)));
        }),
    ]
}

/// Every batch of the recorded logs.
fn batches() -> Vec<Bytes> {
    let files = [
        "fx-records-0/00000000000000000000.log",
        "fx-txn-0/00000000000000000000.log",
        "fx-txn-0/00000000000000000004.log",
        "fx-compact-0/00000000000000000000.log",
    ];
    let read = |file| Bytes::from(std::fs::read(fixtures().join(file)).expect(file));
    let batches = files.into_iter().flat_map(|file| Batches::new(read(file)));
    batches.map(|batch| batch.expect("a sound batch").bytes).collect()
}

fn read(bytes: Bytes) {
    for batch in Batches::new(bytes).flatten() {
        let _ = batch.check_crc();
        let Ok(records) = batch.records(&PURE_RUST, UNPACKED_BYTES) else {
            continue;
        };
        for record in records.flatten() {
            if batch.header.is_control() {
                let _ = record.key.as_deref().map(ControlType::parse);
                let _ = EndTransactionMarker::parse(&record);
            }
        }
    }
}

/// Validates the batch with a checksum that is right, so that what is behind it is reached.
fn validate(bytes: Bytes, compression: TopicCompression) {
    let mut bytes = BytesMut::from(bytes);
    if bytes.len() > CRC_FROM {
        let crc = highwater_core::record::crc::crc32c(&bytes[CRC_FROM..]);
        bytes[CRC_AT..CRC_FROM].copy_from_slice(&crc.to_be_bytes());
    }
    let rules = ValidationRules {
        compression,
        max_decompressed_bytes: UNPACKED_BYTES as u32,
        ..ValidationRules::default()
    };
    drop(validate_produced(
        &bytes.freeze(),
        &rules,
        0,
        &mut Workspace::default(),
    ));
}
