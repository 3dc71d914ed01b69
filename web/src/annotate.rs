//! The bytes of what is chosen, each field with its name, place and value.

use bytes::Bytes;
use highwater_core::disk::ReadAt;
use highwater_core::log::names::{FileKind, segment_file};
use highwater_core::log::offset_index::{self, OffsetEntry};
use highwater_core::log::time_index::{self, TimeEntry};
use highwater_core::record::varint::{read_varint, read_varlong};
use highwater_core::record::{BatchHeader, Codec, HEADER_BYTES};
use highwater_core::sim::LogOnMemoryDisk;
use highwater_core::sim::log_on_memory_disk::DIR;
use highwater_core::types::Offset;

use crate::say;

/// Bytes of one thing that are shown at most.
const MOST_BYTES: usize = 2048;

/// What the reader looks into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    Batch { segment: Offset, position: u64 },
    Entry { segment: Offset, at: usize },
    Time { segment: Offset, at: usize },
}

/// Some bytes of a file, and what they mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotated {
    /// The file's name.
    pub file: String,
    /// Where the bytes begin in it.
    pub from: u64,
    pub bytes: Bytes,
    pub fields: Vec<Field>,
    /// Bytes that are not shown.
    pub left_out: usize,
}

/// `from..to` within the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub from: usize,
    pub to: usize,
    pub value: String,
}

impl Annotated {
    /// Which field a byte belongs to.
    pub fn field_at(&self, at: usize) -> Option<usize> {
        self.fields
            .iter()
            .position(|field| (field.from..field.to).contains(&at))
    }
}

impl Chosen {
    pub fn segment(self) -> Offset {
        match self {
            Self::Batch { segment, .. } | Self::Entry { segment, .. } | Self::Time { segment, .. } => segment,
        }
    }

    fn kind(self) -> FileKind {
        match self {
            Self::Batch { .. } => FileKind::Log,
            Self::Entry { .. } => FileKind::OffsetIndex,
            Self::Time { .. } => FileKind::TimeIndex,
        }
    }
}

/// Reads the chosen bytes from the disk. An index entry that is not written yet has its bytes from
/// memory, where it is. `None`: it is no longer there.
pub fn annotate(host: &LogOnMemoryDisk, chosen: Chosen) -> Option<Annotated> {
    let (base, kind) = (chosen.segment(), chosen.kind());
    let path = segment_file(&host.path(), base, kind);
    let (from, bytes) = match chosen {
        Chosen::Batch { position, .. } => {
            let front = host.disk().read_at(DIR, &path, position, HEADER_BYTES).ok()?;
            let size = BatchHeader::parse(&front).map_or(0, |header| header.size_bytes().max(0));
            let bytes = host.disk().read_at(DIR, &path, position, size as usize).ok()?;
            // A torn batch may not even have a header.
            (position, if bytes.is_empty() { front } else { bytes })
        }
        Chosen::Entry { at, .. } => entry_bytes::<{ offset_index::ENTRY_BYTES }>(host, &path, at, || {
            let indexer = active(host, base)?;
            Some(indexer.offsets.entries().get(at)?.to_bytes())
        })?,
        Chosen::Time { at, .. } => entry_bytes::<{ time_index::ENTRY_BYTES }>(host, &path, at, || {
            let indexer = active(host, base)?;
            Some(indexer.times.entries().get(at)?.to_bytes())
        })?,
    };
    if bytes.is_empty() {
        return None;
    }
    let fields = match kind {
        FileKind::OffsetIndex => offset_entry_fields(&bytes, base),
        FileKind::TimeIndex => time_entry_fields(&bytes, base),
        _ => batch_fields(&bytes),
    };
    let left_out = bytes.len().saturating_sub(MOST_BYTES);
    Some(Annotated {
        file: crate::strip::file_name(base, kind),
        from,
        fields: fields
            .into_iter()
            .filter(|field| field.to <= MOST_BYTES)
            .collect(),
        bytes: bytes.slice(..bytes.len() - left_out),
        left_out,
    })
}

fn active(host: &LogOnMemoryDisk, base: Offset) -> Option<&highwater_core::log::segment::Indexer> {
    let indexer = host.log()?.active_segment();
    (indexer.base == base).then_some(indexer)
}

fn entry_bytes<const N: usize>(
    host: &LogOnMemoryDisk,
    path: &str,
    at: usize,
    in_memory: impl FnOnce() -> Option<[u8; N]>,
) -> Option<(u64, Bytes)> {
    let from = (at * N) as u64;
    match in_memory() {
        Some(bytes) => Some((from, Bytes::copy_from_slice(&bytes))),
        None => Some((from, host.disk().read_at(DIR, path, from, N).ok()?)),
    }
}

fn field(name: &str, from: usize, len: usize, value: impl Into<String>) -> Field {
    Field {
        name: name.to_owned(),
        from,
        to: from + len,
        value: value.into(),
    }
}

fn offset_entry_fields(bytes: &[u8], base: Offset) -> Vec<Field> {
    let Some(entry) = bytes.first_chunk().map(|bytes| OffsetEntry::from_bytes(*bytes)) else {
        return Vec::new();
    };
    let offset = offset_index::full_offset(base, entry);
    vec![
        field(
            "relative offset",
            0,
            4,
            format!("{} + {base} (the file's name) = {offset}", entry.relative),
        ),
        field("position", 4, 4, format!("byte {}", say::number(entry.position))),
    ]
}

fn time_entry_fields(bytes: &[u8], base: Offset) -> Vec<Field> {
    let Some(entry) = bytes.first_chunk().map(|bytes| TimeEntry::from_bytes(*bytes)) else {
        return Vec::new();
    };
    let offset = base + i64::from(entry.relative);
    vec![
        field(
            "timestamp",
            0,
            8,
            format!("{} ms, {}", entry.timestamp_ms, say::time(entry.timestamp_ms)),
        ),
        field(
            "relative offset",
            8,
            4,
            format!("{} + {base} (the file's name) = {offset}", entry.relative),
        ),
    ]
}

/// The header's fields in Kafka's names (format 2), then the records'.
fn batch_fields(bytes: &[u8]) -> Vec<Field> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::Settings;
    use crate::world::World;

    fn world(script: &[&str]) -> World {
        let world = World::new(Settings::default()).unwrap();
        script
            .iter()
            .fold(world, |world, action| world.after(&action.parse().unwrap()))
    }

    #[test]
    fn each_byte_of_a_batch_belongs_to_one_field() {
        for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
            let world = world(&[&format!("append 2 6 20 {codec}")]);
            let batch = &world.segments()[0].batches[1];
            let chosen = Chosen::Batch {
                segment: 0,
                position: batch.position,
            };
            let shown = annotate(world.host(), chosen).unwrap();
            assert_eq!(shown.bytes.len() as u64, batch.size_bytes);
            let mut next = 0;
            for field in &shown.fields {
                assert_eq!(field.from, next, "{codec}: {field:?}");
                next = field.to;
            }
            assert_eq!(next, shown.bytes.len(), "{codec}");
        }
    }

    #[test]
    fn entries_are_the_files_bytes() {
        let world = world(&["append 20 6 20 none", "append 8 6 20 none"]);
        let segment = &world.segments()[0];
        for (at, entry) in segment.entries.iter().enumerate() {
            let shown = annotate(world.host(), Chosen::Entry { segment: 0, at }).unwrap();
            assert!(shown.fields[0].value.ends_with(&format!("= {}", entry.offset)));
            assert_eq!(shown.from, 8 * at as u64);
        }
        let times = annotate(world.host(), Chosen::Time { segment: 0, at: 0 }).unwrap();
        assert_eq!(times.bytes.len(), 12);
        // The active segment's entries are in memory and have bytes all the same.
        let active = world.segments().last().unwrap().base;
        assert!(
            annotate(
                world.host(),
                Chosen::Entry {
                    segment: active,
                    at: 0
                }
            )
            .is_some()
        );
        assert_eq!(
            annotate(
                world.host(),
                Chosen::Entry {
                    segment: active,
                    at: 99
                }
            ),
            None
        );
    }

    #[test]
    fn a_torn_batch_is_shown_as_far_as_it_goes() {
        let world = world(&["append 2 6 20 none", "flush", "append 2 6 20 none", "tear"]);
        let torn = world.segments()[0].torn.clone().unwrap();
        let chosen = Chosen::Batch {
            segment: 0,
            position: torn.position,
        };
        let shown = annotate(world.host(), chosen).unwrap();
        assert_eq!(shown.bytes.len() as u64, torn.bytes);
    }
}
