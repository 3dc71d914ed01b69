//! What a look-up brings along shortens those that follow, and can never make one wrong.

use std::cell::RefCell;

use bytes::Bytes;

use super::recovery::three_segments;
use crate::disk::memory::MemoryDisk;
use crate::disk::{DirId, ReadAt};
use crate::error::DiskError;
use crate::log::lookup::{Locate, Located, StartFrom};
use crate::log::offset_index::OffsetEntry;
use crate::log::{Job, Log, Outcome, ReadPlan};
use crate::types::Offset;

/// A disk that notes what is read.
#[derive(Debug)]
struct Watched<'a> {
    disk: &'a MemoryDisk,
    read: RefCell<Vec<String>>,
}

impl ReadAt for Watched<'_> {
    fn read_at(&self, dir: DirId, path: &str, at: u64, len: usize) -> Result<Bytes, DiskError> {
        self.read.borrow_mut().push(path.to_owned());
        self.disk.read_at(dir, path, at, len)
    }

    fn len(&self, dir: DirId, path: &str) -> Result<u64, DiskError> {
        self.disk.len(dir, path)
    }

    fn list(&self, dir: DirId, path: &str) -> Result<Vec<String>, DiskError> {
        self.disk.list(dir, path)
    }
}

fn locate(log: &Log, from: Offset) -> Locate {
    match log.plan_read(from, 40, 1000, true) {
        Ok(ReadPlan::Locate(Job::Locate(locate))) => locate,
        other => panic!("a closed segment needs a job: {other:?}"),
    }
}

fn run(disk: &MemoryDisk, locate: &Locate) -> (Located, usize) {
    let watched = Watched {
        disk,
        read: RefCell::default(),
    };
    let located = locate.run(&watched).unwrap();
    let of_index = |path: &&String| path.ends_with(".index");
    (located, watched.read.borrow().iter().filter(of_index).count())
}

#[test]
fn who_reads_on_finds_its_place_without_the_index_file() {
    let (host, log) = three_segments();
    let stretch = (0..40).find_map(|from| {
        let (located, searched) = run(&host.disk, &locate(&log, from));
        assert!(searched > 0);
        located.stretch
    });
    let stretch = stretch.expect("entries that follow");
    let mut shortened = 0;
    for from in 0..log.closed_segments()[1].base {
        let plain = locate(&log, from);
        let (expected, _) = run(&host.disk, &plain);
        let Some(entry) = stretch
            .floor(from)
            .filter(|_| plain.segment.base == stretch.segment)
        else {
            continue;
        };
        let mut remembering = plain;
        remembering.segment.start = StartFrom::Remembered(entry);
        let (located, searched) = run(&host.disk, &remembering);
        assert_eq!(
            (&located.outcome, searched),
            (&expected.outcome, 0),
            "offset {from}"
        );
        shortened += 1;
    }
    assert!(shortened > 4, "{shortened}");
}

#[test]
fn what_is_remembered_wrongly_costs_a_search_and_nothing_else() {
    let (host, log) = three_segments();
    for from in 0..log.closed_segments()[1].base {
        let plain = locate(&log, from);
        let (expected, _) = run(&host.disk, &plain);
        for (relative, position) in [(0, 1), (1, 61), (7, 300), (u32::MAX, 0), (3, u32::MAX)] {
            let mut remembering = plain.clone();
            remembering.segment.start = StartFrom::Remembered(OffsetEntry { relative, position });
            let (located, _) = run(&host.disk, &remembering);
            assert!(matches!(located.outcome, Outcome::Found(_)));
            assert_eq!(located.outcome, expected.outcome, "offset {from}");
        }
    }
}
