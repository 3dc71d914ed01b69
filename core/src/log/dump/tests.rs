//! Every file that Kafka wrote and dumped for the fixtures, dumped here: the same lines.

use bytes::Bytes;

use super::{Decoder, Dump, DumpError, DumpOptions, Line, Problems};
use crate::disk::{DirId, ReadAt};
use crate::error::DiskError;
use crate::ordered::OrderedMap;

macro_rules! files {
    ($($path:literal,)*) => {
        &[$(($path, include_bytes!(concat!("../../../../tests/fixtures/", $path)).as_slice()),)*]
    };
}

macro_rules! dumps {
    ($($path:literal,)*) => {
        &[$(($path, include_str!(concat!("../../../../tests/fixtures/", $path, ".dump.txt"))),)*]
    };
}

const FILES: &[(&str, &[u8])] = files![
    "__consumer_offsets-0/00000000000000000000.index",
    "__consumer_offsets-0/00000000000000000000.log",
    "__consumer_offsets-0/00000000000000000000.timeindex",
    "__consumer_offsets-0/00000000000000000015.snapshot",
    "__consumer_offsets-1/00000000000000000000.index",
    "__consumer_offsets-1/00000000000000000000.log",
    "__consumer_offsets-1/00000000000000000000.timeindex",
    "__consumer_offsets-1/00000000000000000008.snapshot",
    "__transaction_state-0/00000000000000000000.index",
    "__transaction_state-0/00000000000000000000.log",
    "__transaction_state-0/00000000000000000000.timeindex",
    "__transaction_state-0/00000000000000000004.snapshot",
    "__transaction_state-1/00000000000000000000.index",
    "__transaction_state-1/00000000000000000000.log",
    "__transaction_state-1/00000000000000000000.timeindex",
    "__transaction_state-1/00000000000000000011.snapshot",
    "fx-appendtime-0/00000000000000000000.index",
    "fx-appendtime-0/00000000000000000000.log",
    "fx-appendtime-0/00000000000000000000.timeindex",
    "fx-appendtime-0/00000000000000000008.snapshot",
    "fx-compact-0/00000000000000000000.index",
    "fx-compact-0/00000000000000000000.log",
    "fx-compact-0/00000000000000000000.timeindex",
    "fx-compact-0/00000000000000000014.index",
    "fx-compact-0/00000000000000000014.log",
    "fx-compact-0/00000000000000000014.snapshot",
    "fx-compact-0/00000000000000000014.timeindex",
    "fx-compact-0/00000000000000000015.snapshot",
    "fx-records-0/00000000000000000000.index",
    "fx-records-0/00000000000000000000.log",
    "fx-records-0/00000000000000000000.timeindex",
    "fx-records-0/00000000000000000020.index",
    "fx-records-0/00000000000000000020.log",
    "fx-records-0/00000000000000000020.snapshot",
    "fx-records-0/00000000000000000020.timeindex",
    "fx-records-0/00000000000000000046.snapshot",
    "fx-txn-0/00000000000000000000.index",
    "fx-txn-0/00000000000000000000.log",
    "fx-txn-0/00000000000000000000.timeindex",
    "fx-txn-0/00000000000000000004.index",
    "fx-txn-0/00000000000000000004.log",
    "fx-txn-0/00000000000000000004.snapshot",
    "fx-txn-0/00000000000000000004.timeindex",
    "fx-txn-0/00000000000000000004.txnindex",
    "fx-txn-0/00000000000000000017.snapshot",
];

const DUMPS: &[(&str, &str)] = dumps![
    "__consumer_offsets-0/00000000000000000000.log",
    "__consumer_offsets-0/00000000000000000000.timeindex",
    "__consumer_offsets-0/00000000000000000015.snapshot",
    "__consumer_offsets-1/00000000000000000000.log",
    "__consumer_offsets-1/00000000000000000000.timeindex",
    "__consumer_offsets-1/00000000000000000008.snapshot",
    "__transaction_state-0/00000000000000000000.log",
    "__transaction_state-0/00000000000000000000.timeindex",
    "__transaction_state-0/00000000000000000004.snapshot",
    "__transaction_state-1/00000000000000000000.log",
    "__transaction_state-1/00000000000000000000.timeindex",
    "__transaction_state-1/00000000000000000011.snapshot",
    "fx-appendtime-0/00000000000000000000.index",
    "fx-appendtime-0/00000000000000000000.log",
    "fx-appendtime-0/00000000000000000000.timeindex",
    "fx-appendtime-0/00000000000000000008.snapshot",
    "fx-compact-0/00000000000000000000.index",
    "fx-compact-0/00000000000000000000.log",
    "fx-compact-0/00000000000000000000.timeindex",
    "fx-compact-0/00000000000000000014.log",
    "fx-compact-0/00000000000000000014.snapshot",
    "fx-compact-0/00000000000000000014.timeindex",
    "fx-compact-0/00000000000000000015.snapshot",
    "fx-records-0/00000000000000000000.index",
    "fx-records-0/00000000000000000000.log",
    "fx-records-0/00000000000000000000.timeindex",
    "fx-records-0/00000000000000000020.index",
    "fx-records-0/00000000000000000020.log",
    "fx-records-0/00000000000000000020.snapshot",
    "fx-records-0/00000000000000000020.timeindex",
    "fx-records-0/00000000000000000046.snapshot",
    "fx-txn-0/00000000000000000000.log",
    "fx-txn-0/00000000000000000000.timeindex",
    "fx-txn-0/00000000000000000004.index",
    "fx-txn-0/00000000000000000004.log",
    "fx-txn-0/00000000000000000004.snapshot",
    "fx-txn-0/00000000000000000004.timeindex",
    "fx-txn-0/00000000000000000004.txnindex",
    "fx-txn-0/00000000000000000017.snapshot",
];

/// Files by path, in one directory.
struct Shelf(OrderedMap<String, Bytes>);

impl ReadAt for Shelf {
    fn read_at(&self, _: DirId, path: &str, at: u64, len: usize) -> Result<Bytes, DiskError> {
        let bytes = self.0.get(path).ok_or(DiskError::NotFound)?;
        let from = bytes.len().min(at as usize);
        Ok(bytes.slice(from..bytes.len().min(from + len)))
    }

    fn len(&self, _: DirId, path: &str) -> Result<u64, DiskError> {
        let bytes = self.0.get(path).ok_or(DiskError::NotFound)?;
        Ok(bytes.len() as u64)
    }

    fn list(&self, _: DirId, _: &str) -> Result<Vec<String>, DiskError> {
        Ok(self.0.keys().cloned().collect())
    }
}

impl Shelf {
    /// The files of one fixture directory, by name.
    fn fixture(directory: &str) -> Self {
        let in_directory = |(path, bytes): &(&str, &'static [u8])| {
            let (parent, name) = path.split_once('/')?;
            (parent == directory).then(|| (name.to_owned(), Bytes::from_static(bytes)))
        };
        Self(FILES.iter().filter_map(in_directory).collect())
    }

    fn change(mut self, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut bytes = self.0[name].to_vec();
        change(&mut bytes);
        self.0.insert(name.into(), bytes.into());
        self
    }

    /// All lines, in the order of a terminal, and how the dump ended.
    fn dump(&self, name: &str, options: &DumpOptions) -> (Vec<String>, Result<(), DumpError>) {
        let mut lines = Vec::new();
        let mut dump = Dump {
            options: options.clone(),
            disk: self,
            dir: 0,
            lines: &mut |line| match line {
                Line::Output(text) | Line::Error(text) => lines.push(text),
            },
            problems: Problems::default(),
        };
        let ended = dump.file(name, name);
        dump.finish();
        (lines, ended)
    }
}

fn deep() -> DumpOptions {
    DumpOptions {
        deep_iteration: true,
        print_data_log: true,
        ..DumpOptions::default()
    }
}

#[test]
fn every_fixture_gives_kafkas_lines() {
    let mut compared = 0;
    for (path, expected) in DUMPS {
        let (directory, name) = path.split_once('/').unwrap();
        let decoder = match directory.trim_end_matches(|c| c != '_') {
            "__consumer_" => Decoder::Offsets,
            "__transaction_" => Decoder::TransactionLog,
            _ => Decoder::Text,
        };
        let options = DumpOptions { decoder, ..deep() };
        let (lines, ended) = Shelf::fixture(directory).dump(name, &options);
        assert_eq!(ended, Ok(()), "{path}");
        // A value may itself hold line ends.
        assert_eq!(lines.join("\n") + "\n", *expected, "{path}");
        compared += 1;
    }
    assert!(compared > 25, "{compared}");
}

const FIRST: &str = "00000000000000000000.log";
const INDEX: &str = "00000000000000000000.index";
const TIME_INDEX: &str = "00000000000000000000.timeindex";

#[test]
fn a_tail_that_is_no_batch_is_counted() {
    let shelf = Shelf::fixture("fx-records-0").change(FIRST, |bytes| bytes.truncate(1000));
    let (lines, ended) = shelf.dump(FIRST, &DumpOptions::default());
    assert_eq!(ended, Ok(()));
    // Two batches end at byte 959.
    assert_eq!(lines.len(), 2 + 2 + 1);
    assert_eq!(lines[4], format!("Found 41 invalid bytes at the end of {FIRST}"));
}

#[test]
fn zeroes_at_the_end_are_a_tail_or_corrupt_as_kafka_has_it() {
    let tail = |tail: &[u8]| {
        Shelf::fixture("fx-records-0")
            .change(FIRST, |bytes| bytes.extend_from_slice(tail))
            .dump(FIRST, &DumpOptions::default())
    };
    // Too short for a header with its format; then one that claims more than there is.
    for bytes in [
        &[0; 17][..],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    ] {
        let (lines, ended) = tail(bytes);
        assert_eq!(ended, Ok(()));
        let expected = format!("Found {} invalid bytes at the end of {FIRST}", bytes.len());
        assert_eq!(lines.last(), Some(&expected));
    }
    assert!(matches!(tail(&[0; 18]).1, Err(DumpError::Corrupt { .. })));
}

#[test]
fn a_part_of_a_log_has_no_invalid_tail() {
    let options = DumpOptions {
        max_bytes: 1000,
        ..DumpOptions::default()
    };
    let (lines, ended) = Shelf::fixture("fx-records-0").dump(FIRST, &options);
    assert_eq!((lines.len(), ended), (4, Ok(())));
}

#[test]
fn a_damaged_batch_is_said_to_be_invalid() {
    let shelf = Shelf::fixture("fx-records-0").change(FIRST, |bytes| bytes[100] ^= 1);
    let (lines, ended) = shelf.dump(FIRST, &DumpOptions::default());
    assert_eq!(ended, Ok(()));
    assert!(lines[2].ends_with("isvalid: false"));
    assert!(lines[3].ends_with("isvalid: true"));
}

#[test]
fn a_giant_or_tiny_length_ends_the_dump() {
    let with_length = |length: i32| {
        Shelf::fixture("fx-records-0")
            .change(FIRST, |bytes| bytes[8..12].copy_from_slice(&length.to_be_bytes()))
            .dump(FIRST, &deep())
    };
    let (lines, ended) = with_length(i32::MAX);
    assert_eq!(ended, Ok(()));
    assert_eq!(
        lines[2],
        format!("Found 1582 invalid bytes at the end of {FIRST}")
    );
    for length in [0, -1] {
        assert!(matches!(with_length(length).1, Err(DumpError::Corrupt { .. })));
    }
}

#[test]
fn index_entries_are_compared_with_the_log() {
    // The first entry says 7 at 767.
    let shelf = Shelf::fixture("fx-records-0").change(INDEX, |bytes| bytes[3] = 6);
    let verify = DumpOptions {
        verify_index_only: true,
        ..DumpOptions::default()
    };
    let (lines, ended) = shelf.dump(INDEX, &verify);
    assert_eq!(ended, Ok(()));
    assert_eq!(
        lines[1..],
        [
            format!("Mismatches in :{INDEX}"),
            "  Index offset: 6, log offset: 7".into()
        ]
    );
    let past_the_end = Shelf::fixture("fx-records-0").change(INDEX, |bytes| bytes[4] = 9);
    assert!(matches!(
        past_the_end.dump(INDEX, &verify).1,
        Err(DumpError::Corrupt { .. })
    ));
}

#[test]
fn time_index_entries_are_compared_with_the_log() {
    let shelf = Shelf::fixture("fx-records-0").change(TIME_INDEX, |bytes| {
        bytes[7] ^= 1;
        bytes[11] = 7;
        bytes[12..20].fill(0);
        bytes[35] = 14;
    });
    let (lines, ended) = shelf.dump(TIME_INDEX, &DumpOptions::default());
    assert_eq!(ended, Ok(()));
    assert_eq!(
        lines[5..],
        [
            format!("Found timestamp mismatch in :{TIME_INDEX}"),
            "  Index timestamp: 1700000001002, log timestamp: 1700000001003".into(),
            "  Index timestamp: 0, log timestamp: 1700000002003".into(),
            format!("Found out of order timestamp in :{TIME_INDEX}"),
            "  Index timestamp: 0, Previously indexed timestamp: 1700000001002".into(),
            "The following indexed offsets are not found in the log.".into(),
            "Indexed offset: 14, found log offset: 15".into(),
        ]
    );
}

#[test]
fn zeroes_after_the_entries_are_not_printed() {
    for name in [INDEX, TIME_INDEX] {
        let (whole, _) = Shelf::fixture("fx-records-0").dump(name, &DumpOptions::default());
        let padded = Shelf::fixture("fx-records-0").change(name, |bytes| bytes.resize(4096, 0));
        assert_eq!(padded.dump(name, &DumpOptions::default()), (whole, Ok(())));
    }
}

#[test]
fn sanity_is_what_a_broker_checks_at_its_start() {
    let sanity = DumpOptions {
        index_sanity_check: true,
        ..DumpOptions::default()
    };
    for name in [INDEX, TIME_INDEX] {
        let (lines, ended) = Shelf::fixture("fx-records-0").dump(name, &sanity);
        assert_eq!(ended, Ok(()));
        assert_eq!(lines[1..], [format!("{name} passed sanity check.")]);
        let cut = Shelf::fixture("fx-records-0").change(name, |bytes| bytes.truncate(13));
        assert!(cut.dump(name, &sanity).1.is_err());
    }
    let empty = Shelf::fixture("fx-records-0").change(INDEX, Vec::clear);
    assert_eq!(empty.dump(INDEX, &sanity).0[1..], [format!("{INDEX} is empty.")]);
}

#[test]
fn a_broken_snapshot_and_an_unknown_file_are_named() {
    let name = "00000000000000000046.snapshot";
    let shelf = Shelf::fixture("fx-records-0").change(name, |bytes| bytes[20] ^= 1);
    let (lines, ended) = shelf.dump(name, &deep());
    assert_eq!((lines.len(), ended), (2, Ok(())));
    let (lines, _) = shelf.dump("notes.txt", &deep());
    assert_eq!(lines[1], "Ignoring unknown file notes.txt");
    assert!(matches!(
        shelf.dump("missing.log", &deep()).1,
        Err(DumpError::Name { .. })
    ));
    assert!(matches!(
        shelf.dump("7.log", &deep()).1,
        Err(DumpError::Disk { .. })
    ));
}
