//! The validator's cases one by one, each with Kafka's error code.

use bytes::Bytes;

use super::super::compression::{Codec, Compression, PURE_RUST};
use super::super::crc::crc32c;
use super::super::validator::{
    BatchRefused, MAX_RECORD_ERRORS, TopicCompression, Validated, ValidationRules, Workspace,
    validate_produced,
};
use super::super::{Batch, BatchBuilder, TimestampType};
use super::{header, records};
use crate::error::ErrorCode;
use crate::types::Millis;

const NOW: Millis = 1_700_000_100_000;

fn builder(codec: Codec) -> BatchBuilder {
    let mut builder = BatchBuilder::new(codec);
    for i in 0..3i64 {
        let value = format!("value {i}");
        builder.append(NOW - 10 + i, Some(b"key"), Some(value.as_bytes()), &[]);
    }
    builder
}

fn produced(codec: Codec) -> Bytes {
    builder(codec).build()
}

/// Changes a valid batch and makes its checksum right again.
fn changed(bytes: &Bytes, change: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut bytes = bytes.to_vec();
    change(&mut bytes);
    let crc = crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    bytes.into()
}

fn validate(bytes: &Bytes, rules: &ValidationRules) -> Result<Validated, BatchRefused> {
    validate_produced(bytes, rules, NOW, &mut Workspace::default())
}

fn code(bytes: &Bytes, rules: &ValidationRules) -> ErrorCode {
    validate(bytes, rules).unwrap_err().code
}

fn plain() -> ValidationRules {
    ValidationRules::default()
}

fn contents(bytes: &Bytes) -> Vec<super::Record> {
    let batch = Batch::parse(bytes).unwrap();
    assert_eq!(batch.check_crc(), Ok(()));
    records(&batch)
}

#[test]
fn a_good_batch_goes_on_as_the_slice_it_came_in() {
    for codec in Codec::ALL {
        let frame = Bytes::from([&b"frame"[..], &produced(codec)].concat());
        let bytes = frame.slice(5..);
        let validated = validate(&bytes, &plain()).unwrap();
        assert_eq!(validated.bytes.as_ptr(), bytes.as_ptr(), "{codec:?}");
        assert_eq!(validated.bytes, bytes);
        assert_eq!(validated.header.max_timestamp, NOW - 8);
        assert_eq!(validated.log_append_time_ms, None);
    }
}

#[test]
fn the_request_must_hold_one_batch() {
    let one = produced(Codec::None);
    let two = Bytes::from([&one[..], &one].concat());
    assert_eq!(code(&two, &plain()), ErrorCode::InvalidRecord);
    assert_eq!(code(&Bytes::new(), &plain()), ErrorCode::InvalidRecord);
    assert_eq!(code(&one.slice(..40), &plain()), ErrorCode::InvalidRecord);
    // A second batch that is cut short is cut off.
    let and_a_bit = Bytes::from([&one[..], &one[..50]].concat());
    assert_eq!(validate(&and_a_bit, &plain()).unwrap().bytes, one);
}

#[test]
fn format_and_checksum() {
    let one = produced(Codec::None);
    let magic = |magic| changed(&one, |bytes| bytes[16] = magic);
    assert_eq!(code(&magic(0), &plain()), ErrorCode::InvalidRecord);
    assert_eq!(code(&magic(1), &plain()), ErrorCode::InvalidRecord);
    assert_eq!(code(&magic(3), &plain()), ErrorCode::CorruptMessage);
    let small = changed(&one, |bytes| bytes[8..12].copy_from_slice(&30i32.to_be_bytes()));
    assert_eq!(code(&small, &plain()), ErrorCode::CorruptMessage);
    let mut flipped = one.to_vec();
    flipped[70] ^= 1;
    assert_eq!(code(&flipped.into(), &plain()), ErrorCode::CorruptMessage);
}

#[test]
fn base_offset_and_size_come_before_the_checksum() {
    let mut bytes = builder(Codec::None).base_offset(4).build().to_vec();
    bytes[20] ^= 1;
    assert_eq!(code(&bytes.into(), &plain()), ErrorCode::InvalidRecord);
    let one = produced(Codec::None);
    let at_most = |max_message_bytes| ValidationRules {
        max_message_bytes,
        ..plain()
    };
    assert!(validate(&one, &at_most(one.len() as u32)).is_ok());
    let mut bytes = one.to_vec();
    bytes[20] ^= 1;
    let refused = validate(&bytes.into(), &at_most(one.len() as u32 - 1)).unwrap_err();
    assert_eq!(refused.code, ErrorCode::MessageTooLarge);
}

#[test]
fn counts_must_agree_with_each_other() {
    let one = produced(Codec::None);
    let with = |delta: i32, count: i32| {
        changed(&one, |bytes| {
            bytes[23..27].copy_from_slice(&delta.to_be_bytes());
            bytes[57..61].copy_from_slice(&count.to_be_bytes());
        })
    };
    assert!(validate(&with(2, 3), &plain()).is_ok());
    for (delta, count) in [(2, 2), (3, 3), (-1, 0), (0, 0), (0, -1), (i32::MAX, i32::MIN)] {
        assert_eq!(code(&with(delta, count), &plain()), ErrorCode::InvalidRecord);
    }
    // And with the records that are there.
    assert_eq!(code(&with(1, 2), &plain()), ErrorCode::InvalidRecord);
    assert_eq!(code(&with(3, 4), &plain()), ErrorCode::InvalidRecord);
    assert_eq!(
        code(&with(i32::MAX - 1, i32::MAX), &plain()),
        ErrorCode::InvalidRecord
    );
}

#[test]
fn what_only_a_broker_may_write() {
    let control = builder(Codec::None).control(true).build();
    assert_eq!(code(&control, &plain()), ErrorCode::InvalidRecord);
    let no_sequence = builder(Codec::None).producer(7, 0, -1).build();
    assert_eq!(code(&no_sequence, &plain()), ErrorCode::InvalidRecord);
    let idempotent = builder(Codec::None).producer(7, 0, 0).transactional(true).build();
    assert!(validate(&idempotent, &plain()).is_ok());
}

#[test]
fn an_unknown_codec() {
    let unknown = changed(&produced(Codec::None), |bytes| bytes[22] |= 5);
    assert_eq!(code(&unknown, &plain()), ErrorCode::UnsupportedCompressionType);
    let not_gzip = changed(&produced(Codec::None), |bytes| bytes[22] |= 1);
    assert_eq!(code(&not_gzip, &plain()), ErrorCode::InvalidRecord);
}

#[test]
fn a_bomb_stays_packed() {
    let zeros = vec![0; 1_000_000];
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let mut builder = BatchBuilder::new(codec);
        builder.append(NOW, None, Some(&zeros), &[]);
        let bomb = builder.build();
        let body = ValidationRules {
            max_decompressed_bytes: 200_000,
            ..plain()
        };
        assert_eq!(code(&bomb, &body), ErrorCode::MessageTooLarge, "{codec:?}");
        let record = ValidationRules {
            max_decompressed_message_bytes: 200_000,
            ..plain()
        };
        assert_eq!(code(&bomb, &record), ErrorCode::InvalidRecord, "{codec:?}");
        assert!(validate(&bomb, &plain()).is_ok(), "{codec:?}");
    }
}

#[test]
fn a_compacted_topic_needs_keys() {
    let compacted = ValidationRules {
        compacted: true,
        ..plain()
    };
    for codec in Codec::ALL {
        assert!(validate(&produced(codec), &compacted).is_ok());
        let mut builder = builder(codec);
        builder.append(NOW, None, Some(b"v"), &[]);
        builder.append(NOW, Some(b""), Some(b"an empty key is a key"), &[]);
        let refused = validate(&builder.build(), &compacted).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRecord);
        assert_eq!(refused.record_errors.len(), 1);
        assert_eq!(refused.record_errors[0].0, 3);
    }
}

#[test]
fn record_errors_are_bounded() {
    let compacted = ValidationRules {
        compacted: true,
        ..plain()
    };
    let mut builder = BatchBuilder::new(Codec::Zstd);
    for _ in 0..5000 {
        builder.append(NOW, None, None, &[]);
    }
    let refused = validate(&builder.build(), &compacted).unwrap_err();
    assert_eq!(refused.record_errors.len(), MAX_RECORD_ERRORS);
    assert!(refused.message.unwrap().contains("5000"));
}

#[test]
fn timestamps_are_held_to_the_topics_range() {
    let rules = ValidationRules {
        timestamp_before_max_ms: 1000,
        timestamp_after_max_ms: 500,
        ..plain()
    };
    let at = |timestamp| {
        let mut builder = BatchBuilder::new(Codec::None);
        builder.append(timestamp, Some(b"k"), None, &[]);
        builder.build()
    };
    for good in [NOW - 1000, NOW, NOW + 500, -1] {
        assert!(validate(&at(good), &rules).is_ok(), "{good}");
    }
    for bad in [NOW - 1001, NOW + 501, 0, i64::MAX] {
        let refused = validate(&at(bad), &rules).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidTimestamp, "{bad}");
        assert_eq!(refused.record_errors[0].0, 0);
    }
    let broker_time = ValidationRules {
        timestamp_type: TimestampType::LogAppendTime,
        ..rules
    };
    assert!(
        validate(&at(0), &broker_time).is_ok(),
        "the producer's time does not count"
    );
}

#[test]
fn one_bad_time_among_other_errors_decides_the_code() {
    let rules = ValidationRules {
        compacted: true,
        ..plain()
    };
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append(NOW, None, None, &[]);
    builder.append(NOW + 7_200_000, Some(b"k"), None, &[]);
    let refused = validate(&builder.build(), &rules).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidTimestamp);
    assert_eq!(refused.record_errors.len(), 2);
}

#[test]
fn log_append_time_is_set_by_the_broker() {
    let rules = ValidationRules {
        timestamp_type: TimestampType::LogAppendTime,
        ..plain()
    };
    for codec in Codec::ALL {
        let validated = validate(&produced(codec), &rules).unwrap();
        assert_eq!(validated.log_append_time_ms, Some(NOW));
        assert_eq!(validated.header, Batch::parse(&validated.bytes).unwrap().header);
        assert_eq!(validated.header.timestamp_type(), TimestampType::LogAppendTime);
        assert_eq!(validated.header.codec(), Some(codec));
        let read = contents(&validated.bytes);
        assert!(read.iter().all(|record| record.timestamp == NOW));
        // The body is the producer's, untouched.
        assert_eq!(validated.bytes[61..], produced(codec)[61..]);
    }
    let by_producer = builder(Codec::None).log_append_time(Some(NOW)).build();
    assert_eq!(code(&by_producer, &rules), ErrorCode::InvalidTimestamp);
}

#[test]
fn a_wrong_max_timestamp_is_put_right() {
    let lie = changed(&produced(Codec::Lz4), |bytes| {
        bytes[35..43].copy_from_slice(&i64::MAX.to_be_bytes());
    });
    let validated = validate(&lie, &plain()).unwrap();
    assert_eq!(validated.bytes, produced(Codec::Lz4));
    assert_eq!(validated.header.max_timestamp, NOW - 8);
}

#[test]
fn the_topics_codec_wins() {
    for from in Codec::ALL {
        for to in Codec::ALL {
            let rules = ValidationRules {
                compression: TopicCompression::Fixed(Compression::from(to)),
                ..plain()
            };
            let mut builder = builder(from).producer(4, 2, 8).transactional(true);
            builder.append(NOW, None, None, &[header("h", None), header("h", Some(""))]);
            let given = builder.build();
            let validated = validate(&given, &rules).unwrap();
            assert_eq!(validated.header.codec(), Some(to));
            assert_eq!(contents(&validated.bytes), contents(&given));
            assert_eq!(validated.header.producer_id, 4);
            assert_eq!(validated.header.last_sequence(), 11);
            assert!(validated.header.is_transactional());
            if from == to {
                assert_eq!(validated.bytes.as_ptr(), given.as_ptr());
            }
        }
    }
}

#[test]
fn re_encoding_must_fit_too() {
    let mut builder = BatchBuilder::new(Codec::Gzip);
    builder.append(NOW, None, Some(&[7; 50_000]), &[]);
    let rules = ValidationRules {
        compression: TopicCompression::Fixed(Codec::None.into()),
        max_message_bytes: 10_000,
        ..plain()
    };
    assert_eq!(code(&builder.build(), &rules), ErrorCode::MessageTooLarge);
}

#[test]
fn offsets_with_gaps_are_numbered_anew() {
    for codec in Codec::ALL {
        let mut builder = BatchBuilder::new(codec);
        for delta in [0, 5, 2] {
            builder.append_at_delta(delta, NOW, Some(b"k"), None, &[]);
        }
        let validated = validate(&builder.build(), &plain()).unwrap();
        let offsets: Vec<i64> = contents(&validated.bytes).iter().map(|r| r.offset).collect();
        assert_eq!(offsets, [0, 1, 2], "{codec:?}");
        assert_eq!(validated.header.last_offset_delta, 2);
    }
}

#[test]
fn the_workspace_serves_batch_after_batch() {
    let mut workspace = Workspace::new(&PURE_RUST);
    for codec in Codec::ALL.into_iter().cycle().take(20) {
        let bytes = produced(codec);
        let validated = validate_produced(&bytes, &plain(), NOW, &mut workspace);
        assert_eq!(validated.unwrap().bytes, bytes);
    }
}
