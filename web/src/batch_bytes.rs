//! What each byte of a record batch means (format 2), as far as the bytes are sound.

use highwater_core::record::varint::{read_varint, read_varlong};
use highwater_core::record::{BatchHeader, Codec, HEADER_BYTES};
use highwater_core::types::Offset;

use crate::annotate::{Field, field};

/// The header's fields in Kafka's names (format 2), then the records'.
pub fn batch_fields(bytes: &[u8]) -> Vec<Field> {
    let Some(header) = BatchHeader::parse(bytes) else {
        return vec![field("torn", 0, bytes.len(), "too short for a header")];
    };
    let codec = header.codec();
    let mut fields = vec![
        field("baseOffset", 0, 8, header.base_offset.to_string()),
        field(
            "batchLength",
            8,
            4,
            format!("{}: bytes from here to the end", header.batch_length),
        ),
        field(
            "partitionLeaderEpoch",
            12,
            4,
            header.partition_leader_epoch.to_string(),
        ),
        field("magic", 16, 1, header.magic.to_string()),
        field(
            "crc",
            17,
            4,
            format!("{:#010x}: of everything behind it", header.crc),
        ),
        field(
            "attributes",
            21,
            2,
            format!(
                "compression {}, {}",
                codec.map_or("unknown", Codec::name),
                header.timestamp_type().name()
            ),
        ),
        field(
            "lastOffsetDelta",
            23,
            4,
            format!(
                "{}: the last offset is {}",
                header.last_offset_delta,
                header.last_offset()
            ),
        ),
        field("baseTimestamp", 27, 8, format!("{} ms", header.base_timestamp)),
        field("maxTimestamp", 35, 8, format!("{} ms", header.max_timestamp)),
        field("producerId", 43, 8, none_or(header.producer_id)),
        field("producerEpoch", 51, 2, none_or(i64::from(header.producer_epoch))),
        field("baseSequence", 53, 4, none_or(i64::from(header.base_sequence))),
        field("recordsCount", 57, 4, header.record_count.to_string()),
    ];
    let body = bytes.get(HEADER_BYTES..).unwrap_or_default();
    if codec == Some(Codec::None) {
        record_fields(body, header.record_count, header.base_offset, &mut fields);
    } else if !body.is_empty() {
        let name = codec.map_or("unknown", Codec::name);
        fields.push(field(
            "records",
            HEADER_BYTES,
            body.len(),
            format!("all packed by {name}"),
        ));
    }
    fields
}

fn none_or(value: i64) -> String {
    if value == -1 {
        "-1: none".to_owned()
    } else {
        value.to_string()
    }
}

/// Fields of the records of an uncompressed body, as far as they are sound.
fn record_fields(body: &[u8], count: i32, base_offset: Offset, fields: &mut Vec<Field>) {
    let mut at = 0;
    for _ in 0..count {
        if record(body, &mut at, base_offset, fields).is_none() {
            let left = body.len().saturating_sub(at);
            if left > 0 {
                fields.push(field("torn", HEADER_BYTES + at, left, "no whole record"));
            }
            return;
        }
    }
}

fn record(body: &[u8], at: &mut usize, base_offset: Offset, fields: &mut Vec<Field>) -> Option<()> {
    let start = *at;
    let mut found = Vec::new();
    let mut next = start;
    let mut take = |name: &str, from: usize, to: usize, value: String| {
        found.push(field(name, HEADER_BYTES + from, to - from, value));
    };
    let length = read_varint(body, &mut next)?;
    let end = next.checked_add(usize::try_from(length).ok()?)?;
    if end > body.len() {
        return None;
    }
    take("record: length", start, next, format!("{length} bytes follow"));
    take("attributes", next, next + 1, "0: unused".to_owned());
    next += 1;
    let mut from = next;
    let timestamp = read_varlong(body, &mut next)?;
    take("timestampDelta", from, next, format!("+{timestamp} ms"));
    from = next;
    let offset = read_varint(body, &mut next)?;
    let full = base_offset + i64::from(offset);
    take("offsetDelta", from, next, format!("{offset}: offset {full}"));
    for name in ["key", "value"] {
        from = next;
        let length = read_varint(body, &mut next)?;
        take(&format!("{name} length"), from, next, length.to_string());
        if let Ok(length) = usize::try_from(length) {
            let bytes = body.get(next..next.checked_add(length)?)?;
            take(
                name,
                next,
                next + length,
                format!("“{}”", String::from_utf8_lossy(bytes)),
            );
            next += length;
        }
    }
    from = next;
    let headers = read_varint(body, &mut next)?;
    take("headers", from, next, headers.to_string());
    fields.append(&mut found);
    *at = end;
    Some(())
}
