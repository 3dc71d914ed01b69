//! The bytes of what is chosen, each field with its name, place and value.

use bytes::Bytes;
use highwater_core::disk::ReadAt;
use highwater_core::log::names::{FileKind, segment_file};
use highwater_core::log::offset_index::{self, OffsetEntry};
use highwater_core::log::time_index::{self, TimeEntry};
use highwater_core::record::{BatchHeader, HEADER_BYTES};
use highwater_core::sim::LogOnMemoryDisk;
use highwater_core::sim::log_on_memory_disk::DIR;
use highwater_core::types::Offset;

use crate::batch_bytes::batch_fields;
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

/// A file to take home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub bytes: Bytes,
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
    /// As many of the bytes as are shown, with the fields that lie in them.
    pub fn of(file: String, from: u64, bytes: &Bytes, fields: Vec<Field>) -> Self {
        let left_out = bytes.len().saturating_sub(MOST_BYTES);
        Self {
            file,
            from,
            fields: fields
                .into_iter()
                .filter(|field| field.to <= MOST_BYTES)
                .collect(),
            bytes: bytes.slice(..bytes.len() - left_out),
            left_out,
        }
    }

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
    let file = crate::strip::file_name(base, kind);
    Some(Annotated::of(file, from, &bytes, fields))
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

pub(crate) fn field(name: &str, from: usize, len: usize, value: impl Into<String>) -> Field {
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
