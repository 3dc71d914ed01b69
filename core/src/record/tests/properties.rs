//! Any records survive a round trip; any bytes are at worst refused.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::super::compression::{Codec, Decompress, PURE_RUST};
use super::super::{
    Batch, BatchBuilder, Batches, Header, Record, ValidationRules, Workspace, validate_produced,
};
use super::{LIMIT, records};

fn any_bytes(up_to: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..up_to).prop_map(Bytes::from)
}

fn any_header() -> impl Strategy<Value = Header> {
    (any_bytes(10), option::of(any_bytes(10))).prop_map(|(key, value)| Header { key, value })
}

fn any_record() -> impl Strategy<Value = (i64, Option<Bytes>, Option<Bytes>, Vec<Header>)> {
    (
        prop_oneof![any::<i64>(), 0i64..1000],
        option::of(any_bytes(100)),
        option::of(any_bytes(300)),
        vec(any_header(), 0..4),
    )
}

fn any_codec() -> impl Strategy<Value = Codec> {
    (0u8..5).prop_map(|id| Codec::from_id(id).unwrap())
}

proptest! {
    #[test]
    fn records_come_back_as_they_went_in(
        codec in any_codec(),
        base_offset in 0..i64::MAX / 2,
        given in vec(any_record(), 1..20),
    ) {
        let mut builder = BatchBuilder::new(codec).base_offset(base_offset).producer(9, 3, 5);
        for (timestamp, key, value, headers) in &given {
            builder.append(*timestamp, key.as_deref(), value.as_deref(), headers);
        }
        let bytes = builder.build();
        let batch = Batch::parse(&bytes).unwrap();
        prop_assert_eq!(batch.check_crc(), Ok(()));
        prop_assert_eq!(batch.header.codec(), Some(codec));
        prop_assert_eq!(batch.header.next_offset(), base_offset + given.len() as i64);
        let expected: Vec<Record> = (base_offset..)
            .zip(given)
            .map(|(offset, (timestamp, key, value, headers))| Record {
                offset, timestamp, key, value, headers,
            })
            .collect();
        prop_assert_eq!(records(&batch), expected);
    }

    #[test]
    fn any_bytes_are_at_worst_refused(bytes in vec(any::<u8>(), 0..400)) {
        let bytes = Bytes::from(bytes);
        for batch in Batches::new(bytes.clone()).flatten() {
            if let Ok(records) = batch.records(&PURE_RUST, LIMIT) {
                for _ in records {}
            }
        }
        let rules = ValidationRules::default();
        let _ = validate_produced(&bytes, &rules, 0, &mut Workspace::default());
    }

    /// A right frame around any body: the decoders see it all.
    #[test]
    fn any_body_is_at_worst_refused(
        codec in any_codec(),
        count in any::<i32>(),
        body in vec(any::<u8>(), 0..400),
    ) {
        let mut bytes = BatchBuilder::new(codec).build().to_vec();
        bytes.truncate(61);
        bytes.extend_from_slice(&body);
        let length = (bytes.len() - 12) as i32;
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        bytes[23..27].copy_from_slice(&count.wrapping_sub(1).to_be_bytes());
        bytes[57..61].copy_from_slice(&count.to_be_bytes());
        let crc = super::super::crc::crc32c(&bytes[21..]);
        bytes[17..21].copy_from_slice(&crc.to_be_bytes());
        let bytes = Bytes::from(bytes);
        let rules = ValidationRules::default();
        let _ = validate_produced(&bytes, &rules, 0, &mut Workspace::default());
        let batch = Batch::parse(&bytes).unwrap();
        if let Ok(records) = batch.records(&PURE_RUST, LIMIT) {
            for _ in records {}
        }
    }

    #[test]
    fn decoders_keep_their_limit(codec in any_codec(), limit in 0usize..2000, body in vec(any::<u8>(), 0..400)) {
        let mut out = Vec::new();
        if PURE_RUST.decompress(codec, &body, limit, &mut out).is_ok() {
            prop_assert!(out.len() <= limit);
        }
    }
}
