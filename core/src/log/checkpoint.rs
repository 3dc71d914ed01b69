//! The small text files of a log directory, in Kafka's own formats.
//!
//! | file | where | what it remembers |
//! |---|---|---|
//! | `recovery-point-offset-checkpoint` | log directory | up to where each log is surely on the medium |
//! | `replication-offset-checkpoint` | log directory | each partition's high watermark |
//! | `log-start-offset-checkpoint` | log directory | log starts moved by DeleteRecords |
//! | `cleaner-offset-checkpoint` | log directory | up to where each compacted log is clean |
//! | `leader-epoch-checkpoint` | partition | where each leader epoch began |
//! | [`partition.metadata`](PartitionMetadata) | partition | the topic's id |
//! | [`meta.properties`](MetaProperties) | log directory | whose directory this is |
//! | [`.kafka_cleanshutdown`](CleanShutdown) | log directory | that the last stop was an orderly one |
//!
//! The first five are one format (`CheckpointFile`): a line with the version, a line with the number
//! of entries, then a line for each entry. An empty file stands for no entries: Kafka creates the
//! file before it first writes it. All are small, written whole and replaced as one
//! ([`DiskOp::Replace`](crate::disk::DiskOp::Replace)), so a file is either whole or garbage.

use std::fmt::Write;
use std::str::FromStr;

use bytes::Bytes;
use thiserror::Error;

use crate::log::leader_epoch_cache::EpochEntry;
use crate::types::{Offset, TopicPartition};

mod clean_shutdown;
mod meta_properties;
mod partition_metadata;

pub use clean_shutdown::CleanShutdown;
pub use meta_properties::{MetaProperties, MetaVersion};
pub use partition_metadata::PartitionMetadata;

pub const RECOVERY_POINT_FILE: &str = "recovery-point-offset-checkpoint";
pub const REPLICATION_OFFSET_FILE: &str = "replication-offset-checkpoint";
pub const LOG_START_OFFSET_FILE: &str = "log-start-offset-checkpoint";
pub const CLEANER_OFFSET_FILE: &str = "cleaner-offset-checkpoint";
pub const LEADER_EPOCH_FILE: &str = "leader-epoch-checkpoint";

/// Why a file is not what it should be. Shown after the file's name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadCheckpoint {
    #[error("is not valid UTF-8")]
    NotUtf8,
    #[error("has version {found}, this broker reads {readable}")]
    Version { found: i64, readable: &'static str },
    #[error("line {line} is {text:?}, expected {expected}")]
    Line {
        line: usize,
        text: String,
        expected: &'static str,
    },
    #[error("says it has {said} entries and has {held}")]
    Count { said: u64, held: u64 },
    #[error("lacks {0}")]
    Missing(&'static str),
    #[error("has {key}={value:?}, expected {expected}")]
    Value {
        key: &'static str,
        value: String,
        expected: &'static str,
    },
    #[error("is not the JSON expected: {0}")]
    Json(String),
}

/// Offsets by partition, in the order of the file; of two lines for one partition the later counts.
pub fn read_offsets(bytes: &[u8]) -> Result<Vec<(TopicPartition, Offset)>, BadCheckpoint> {
    read_entries(bytes, "a topic, a partition and an offset", |line| {
        let [topic, partition, offset] = words(line)?;
        let partition = number(partition)?;
        Some((TopicPartition::new(topic, partition), number(offset)?))
    })
}

/// The whole file for these offsets, in the order given.
pub fn write_offsets<'a>(offsets: impl IntoIterator<Item = (&'a TopicPartition, Offset)>) -> Bytes {
    write_entries(offsets, |text, (partition, offset)| {
        let TopicPartition { topic, partition } = partition;
        writeln!(text, "{topic} {partition} {offset}")
    })
}

/// The epochs of `leader-epoch-checkpoint` in the order of the file.
pub fn read_epochs(bytes: &[u8]) -> Result<Vec<EpochEntry>, BadCheckpoint> {
    read_entries(bytes, "a leader epoch and its start offset", |line| {
        let [epoch, start_offset] = words(line)?;
        Some(EpochEntry {
            epoch: number(epoch)?,
            start_offset: number(start_offset)?,
        })
    })
}

/// The whole `leader-epoch-checkpoint`, in the order given.
pub fn write_epochs<'a>(epochs: impl IntoIterator<Item = &'a EpochEntry>) -> Bytes {
    write_entries(epochs, |text, entry| {
        writeln!(text, "{} {}", entry.epoch, entry.start_offset)
    })
}

/// Version of all files of this format.
const VERSION: i64 = 0;

fn read_entries<T>(
    bytes: &[u8],
    expected: &'static str,
    entry: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, BadCheckpoint> {
    let mut lines = text(bytes)?.lines().enumerate();
    let bad = |line: usize, text: &str, expected| BadCheckpoint::Line {
        line: line + 1,
        text: text.to_owned(),
        expected,
    };
    let Some((at, line)) = lines.next() else {
        return Ok(Vec::new());
    };
    match line.parse() {
        Ok(VERSION) => {}
        Ok(found) => return Err(BadCheckpoint::Version { found, readable: "0" }),
        Err(_) => return Err(bad(at, line, "a version number")),
    }
    let Some((at, line)) = lines.next() else {
        return Ok(Vec::new());
    };
    let said: u64 = line.parse().map_err(|_| bad(at, line, "the number of entries"))?;
    let entries = lines
        .map(|(at, line)| entry(line).ok_or_else(|| bad(at, line, expected)))
        .collect::<Result<Vec<T>, _>>()?;
    match entries.len() as u64 {
        held if held == said => Ok(entries),
        held => Err(BadCheckpoint::Count { said, held }),
    }
}

fn write_entries<T>(
    entries: impl IntoIterator<Item = T>,
    write: impl Fn(&mut String, T) -> std::fmt::Result,
) -> Bytes {
    let (mut lines, mut count) = (String::new(), 0usize);
    for entry in entries {
        // Writing to a String cannot fail.
        let _ = write(&mut lines, entry);
        count += 1;
    }
    format!("{VERSION}\n{count}\n{lines}").into()
}

fn text(bytes: &[u8]) -> Result<&str, BadCheckpoint> {
    std::str::from_utf8(bytes).map_err(|_| BadCheckpoint::NotUtf8)
}

/// The line's words, when there are exactly as many as asked for.
fn words<const N: usize>(line: &str) -> Option<[&str; N]> {
    let words: Vec<_> = line.split_ascii_whitespace().collect();
    words.try_into().ok()
}

/// A number that is not negative: offsets, epochs and partitions all begin at 0.
fn number<T: FromStr + PartialOrd + Default>(word: &str) -> Option<T> {
    word.parse().ok().filter(|number| *number >= T::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECOVERY_POINT: &[u8] = include_bytes!("../../../tests/fixtures/recovery-point-offset-checkpoint");
    const REPLICATION: &[u8] = include_bytes!("../../../tests/fixtures/replication-offset-checkpoint");
    const LOG_START: &[u8] = include_bytes!("../../../tests/fixtures/log-start-offset-checkpoint");
    const CLEANER: &[u8] = include_bytes!("../../../tests/fixtures/cleaner-offset-checkpoint");
    const EPOCHS: &[u8] = include_bytes!("../../../tests/fixtures/fx-txn-0/leader-epoch-checkpoint");

    #[test]
    fn kafkas_offset_checkpoints_read_and_write_back_to_the_same_bytes() {
        for (file, entries) in [
            (RECOVERY_POINT, 9),
            (REPLICATION, 9),
            (LOG_START, 0),
            (CLEANER, 1),
        ] {
            let offsets = read_offsets(file).unwrap();
            assert_eq!(offsets.len(), entries);
            let written = write_offsets(offsets.iter().map(|(partition, offset)| (partition, *offset)));
            assert_eq!(written[..], *file);
        }
        let cleaner = read_offsets(CLEANER).unwrap();
        assert_eq!(cleaner, [(TopicPartition::new("fx-compact", 0), 14)]);
    }

    #[test]
    fn kafkas_epoch_checkpoint_reads_and_writes_back_to_the_same_bytes() {
        let epochs = read_epochs(EPOCHS).unwrap();
        assert_eq!(
            epochs,
            [EpochEntry {
                epoch: 0,
                start_offset: 0
            }]
        );
        assert_eq!(write_epochs(&epochs)[..], *EPOCHS);
    }

    #[test]
    fn a_file_created_but_never_written_has_no_entries() {
        assert_eq!(read_offsets(b""), Ok(vec![]));
        assert_eq!(read_offsets(b"0\n"), Ok(vec![]));
    }

    #[test]
    fn garbage_is_told_by_line() {
        let told = |bytes: &[u8]| read_offsets(bytes).unwrap_err().to_string();
        assert_eq!(told(b"1\n0\n"), "has version 1, this broker reads 0");
        assert_eq!(told(b"zero\n"), "line 1 is \"zero\", expected a version number");
        assert_eq!(
            told(b"0\n-1\n"),
            "line 2 is \"-1\", expected the number of entries"
        );
        assert_eq!(told(b"0\n2\nt 0 5\n"), "says it has 2 entries and has 1");
        assert_eq!(
            told(b"0\n99999999999\n"),
            "says it has 99999999999 entries and has 0"
        );
        assert_eq!(told(b"0\n1\n\0\0\0\xff"), "is not valid UTF-8");
        let expected = "expected a topic, a partition and an offset";
        for line in [
            "t 0",
            "t 0 1 2",
            "t x 1",
            "t 0 1x",
            "t -1 0",
            "t 0 -1",
            "t 0 99999999999999999999",
            "",
        ] {
            let file = format!("0\n1\n{line}\n");
            assert_eq!(told(file.as_bytes()), format!("line 3 is {line:?}, {expected}"));
        }
    }
}
