//! Batches cut short, flipped bit by bit, or lying about their size.

use bytes::Bytes;

use super::super::compression::{Codec, PURE_RUST};
use super::super::validator::check_replicated;
use super::super::{Batch, BatchBuilder, Batches, InvalidBatch};
use super::{LIMIT, header};

fn sample(codec: Codec) -> Bytes {
    let mut builder = BatchBuilder::new(codec);
    for i in 0..20u8 {
        let value = [i; 30];
        builder.append(1000 + i64::from(i), Some(&[i]), Some(&value), &[]);
    }
    builder.append(2000, None, None, &[header("h", Some("v")), header("n", None)]);
    builder.build()
}

#[test]
fn a_batch_cut_at_any_byte_is_truncated() {
    let whole = sample(Codec::None);
    for cut in 1..whole.len() {
        let found: Vec<_> = Batches::new(whole.slice(..cut)).collect();
        let truncated = matches!(found[..], [Err(InvalidBatch::Truncated { .. })]);
        assert!(truncated, "cut at {cut}: {found:?}");
    }
    assert!(Batches::new(Bytes::new()).next().is_none());
}

#[test]
fn a_run_of_batches_ends_where_one_is_cut() {
    let whole = sample(Codec::Lz4);
    let two = [&whole[..], &whole, &whole[..30]].concat();
    assert_eq!(check_replicated(&two.into()).unwrap().len(), 2);
}

#[test]
fn a_flipped_bit_is_caught() {
    for codec in Codec::ALL {
        let whole = sample(codec);
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bad = whole.to_vec();
                bad[at] ^= 1 << bit;
                // Base offset and leader epoch stand outside the checksum, by design.
                let outside = at < 8 || (12..16).contains(&at);
                let caught = Batch::parse(&bad.into()).and_then(|batch| batch.check_crc());
                assert_eq!(caught.is_ok(), outside, "{codec:?} byte {at} bit {bit}");
            }
        }
    }
}

#[test]
fn lengths_that_lie_are_refused_without_looking_further() {
    let with_length = |length: i32| {
        let mut bytes = sample(Codec::None).to_vec();
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        Batch::parse(&bytes.into())
    };
    for length in [i32::MIN, -1, 0, 48] {
        assert_eq!(with_length(length), Err(InvalidBatch::TooSmall { length }));
    }
    assert!(matches!(
        with_length(i32::MAX),
        Err(InvalidBatch::Truncated { .. })
    ));
}

#[test]
fn other_formats_are_named() {
    let with_magic = |magic: u8| {
        let mut bytes = sample(Codec::None).to_vec();
        bytes[16] = magic;
        Batch::parse(&bytes.into()).unwrap_err()
    };
    assert_eq!(with_magic(0), InvalidBatch::OldMagic(0));
    assert_eq!(with_magic(1), InvalidBatch::OldMagic(1));
    assert_eq!(with_magic(3), InvalidBatch::UnknownMagic(3));
    assert_eq!(with_magic(0xff), InvalidBatch::UnknownMagic(-1));
}

#[test]
fn a_wrong_count_is_found_by_reading() {
    let read = |count: i32| {
        let mut batch = Batch::parse(&sample(Codec::Gzip)).unwrap();
        batch.header.record_count = count;
        batch
            .records(&PURE_RUST, LIMIT)
            .and_then(|records| records.collect::<Result<Vec<_>, _>>())
    };
    assert_eq!(read(21).unwrap().len(), 21);
    assert!(matches!(read(20), Err(InvalidBatch::LeftOver { .. })));
    assert!(matches!(read(22), Err(InvalidBatch::Record { index: 21, .. })));
    assert_eq!(read(-1), Err(InvalidBatch::RecordCount { count: -1 }));
}
