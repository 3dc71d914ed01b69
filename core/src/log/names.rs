//! Names of a log's files: the segment's base offset in 20 digits, and what is in the file.

use crate::types::{Offset, Uuid};

/// The kinds of files of one segment (`LogFileUtils`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    Log,
    OffsetIndex,
    TimeIndex,
    TransactionIndex,
    ProducerSnapshot,
}

impl FileKind {
    /// Everything that belongs to a segment and goes with it.
    pub const ALL: [FileKind; 5] = [
        FileKind::Log,
        FileKind::OffsetIndex,
        FileKind::TimeIndex,
        FileKind::TransactionIndex,
        FileKind::ProducerSnapshot,
    ];

    pub fn suffix(self) -> &'static str {
        match self {
            FileKind::Log => "log",
            FileKind::OffsetIndex => "index",
            FileKind::TimeIndex => "timeindex",
            FileKind::TransactionIndex => "txnindex",
            FileKind::ProducerSnapshot => "snapshot",
        }
    }
}

/// Renamed away, to be unlinked after `file.delete.delay.ms`.
pub const DELETED: &str = ".deleted";
/// Written by a compaction that did not end.
pub const CLEANED: &str = ".cleaned";
/// Written by a compaction that ended and was about to take the place of its sources.
pub const SWAP: &str = ".swap";

/// Path within the log directory: `topic-0/00000000000000000042.index`.
pub fn segment_file(path: &str, base: Offset, kind: FileKind) -> String {
    format!("{path}/{base:020}.{}", kind.suffix())
}

/// Base offset, kind and left-over suffix (`.deleted`, or nothing) of a file's name within the
/// partition's directory; `None` for any other file.
pub fn parse(name: &str) -> Option<(Offset, FileKind, &str)> {
    let (digits, rest) = name.split_once('.')?;
    if digits.len() != 20 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let base = digits.parse().ok()?;
    let kind = FileKind::ALL.into_iter().find(|kind| {
        rest.strip_prefix(kind.suffix())
            .is_some_and(|left| left.is_empty() || left.starts_with('.'))
    })?;
    Some((base, kind, &rest[kind.suffix().len()..]))
}

/// What a deleted partition's directory is called until it is unlinked: `topic-0.<32 digits>-delete`,
/// the topic cut so that the name stays within 255 bytes (`UnifiedLog.logDeleteDirName`).
pub fn deleted_directory(path: &str, unique: Uuid) -> String {
    let hex: String = unique.0.iter().map(|byte| format!("{byte:02x}")).collect();
    let suffix = format!(".{hex}-delete");
    let keep = path.len().min(255 - suffix.len());
    format!("{}{suffix}", path.get(..keep).unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        let name = segment_file("t-0", 42, FileKind::TimeIndex);
        assert_eq!(name, "t-0/00000000000000000042.timeindex");
        assert_eq!(parse(&name[4..]), Some((42, FileKind::TimeIndex, "")));
        assert_eq!(
            parse("00000000000000000007.log.deleted"),
            Some((7, FileKind::Log, ".deleted"))
        );
        for other in [
            "partition.metadata",
            "7.log",
            "0000000000000000000x.log",
            "99999999999999999999.log",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_deleted_directory_keeps_its_name_short() {
        let long = "t".repeat(249) + "-0";
        assert_eq!(deleted_directory(&long, Uuid::ZERO).len(), 255);
        assert!(deleted_directory("t-0", Uuid::ZERO).starts_with("t-0.0000"));
    }
}
