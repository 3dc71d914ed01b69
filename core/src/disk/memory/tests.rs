use smallvec::smallvec;

use super::*;
use crate::ordered::OrderedSet;

const DIR: DirId = 0;

fn file(number: u64) -> FileId {
    FileId { dir: DIR, number }
}

fn open(number: u64, path: &str) -> DiskOp {
    DiskOp::Open {
        file: file(number),
        path: path.into(),
    }
}

fn append(number: u64, at: u64, text: &str) -> DiskOp {
    DiskOp::Append {
        file: file(number),
        at,
        bufs: smallvec![Bytes::copy_from_slice(text.as_bytes())],
    }
}

fn sync_directory(path: &str) -> DiskOp {
    DiskOp::SyncDirectory { path: path.into() }
}

fn rename(from: &str, to: &str) -> DiskOp {
    DiskOp::Rename {
        from: from.into(),
        to: to.into(),
    }
}

fn unlink(path: &str) -> DiskOp {
    DiskOp::Unlink { path: path.into() }
}

fn disk(ops: &[DiskOp]) -> MemoryDisk {
    let mut disk = MemoryDisk::new();
    for op in ops {
        disk.apply(DIR, op).unwrap();
    }
    disk
}

fn read(disk: &MemoryDisk, path: &str) -> Option<String> {
    let bytes = disk.read_file(DIR, path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[test]
fn reads_what_was_written_and_lists_names_in_order() {
    let disk = disk(&[
        open(1, "t-0/a.log"),
        append(1, 0, "hello"),
        append(1, 4, "p!"),
        open(2, "t-0/a.index"),
        open(3, "top"),
        DiskOp::Truncate {
            file: file(1),
            len: 5,
        },
    ]);
    assert_eq!(read(&disk, "t-0/a.log").unwrap(), "hellp");
    assert_eq!(disk.read_at(DIR, "t-0/a.log", 3, 100).unwrap()[..], *b"lp");
    assert_eq!(disk.len(DIR, "t-0/a.log"), Ok(5));
    assert_eq!(disk.list(DIR, "").unwrap(), ["t-0/", "top"]);
    assert_eq!(disk.list(DIR, "t-0").unwrap(), ["a.index", "a.log"]);
    assert_eq!(disk.list(DIR, "t-1"), Err(DiskError::NotFound));
    assert_eq!(
        disk.list(1, ""),
        Ok(vec![]),
        "a log directory nobody wrote to is empty"
    );
    let paths: Vec<_> = disk
        .files()
        .into_iter()
        .map(|(_, path, len)| (path, len))
        .collect();
    assert_eq!(
        paths,
        [
            ("t-0/a.index".into(), 0),
            ("t-0/a.log".into(), 5),
            ("top".into(), 0)
        ]
    );
}

#[test]
fn a_binding_follows_renames_and_outlives_its_name_until_closed() {
    let mut disk = disk(&[
        open(1, "t-0/a"),
        rename("t-0", "t-0.deleted"),
        append(1, 0, "kept"),
        rename("t-0.deleted/a", "t-0.deleted/b"),
    ]);
    assert_eq!(read(&disk, "t-0.deleted/b").unwrap(), "kept");
    disk.apply(DIR, &unlink("t-0.deleted")).unwrap();
    assert_eq!(disk.list(DIR, "").unwrap(), Vec::<String>::new());
    assert_eq!(disk.read_open(file(1), 1, 10).unwrap()[..], *b"ept");
    disk.apply(DIR, &DiskOp::Close { file: file(1) }).unwrap();
    assert_eq!(disk.read_open(file(1), 0, 10), Err(NOT_OPEN));
}

#[test]
fn nodes_are_freed_when_nothing_leads_to_them() {
    let mut disk = disk(&[
        open(1, "t-0/a"),
        sync_directory("t-0"),
        sync_directory(""),
        rename("t-0/a", "t-0/b"),
        unlink("t-0"),
        sync_directory(""),
        DiskOp::Close { file: file(1) },
    ]);
    for _ in 0..3 {
        let bytes = Bytes::from_static(b"x");
        disk.apply(
            DIR,
            &DiskOp::Replace {
                path: "c".into(),
                bytes,
            },
        )
        .unwrap();
    }
    assert_eq!(
        disk.volumes[&DIR].nodes.len(),
        2,
        "the log directory and one file"
    );
    assert_eq!(disk.volumes[&DIR].leads.len(), 1);
}

#[test]
fn a_loss_of_power_forgets_bytes_that_were_not_synced() {
    let mut disk = disk(&[
        open(1, "a"),
        sync_directory(""),
        append(1, 0, "synced"),
        DiskOp::Sync { file: file(1) },
        append(1, 6, " not"),
        DiskOp::Truncate {
            file: file(1),
            len: 2,
        },
    ]);
    assert_eq!(read(&disk, "a").unwrap(), "sy");
    disk.power_loss();
    assert_eq!(read(&disk, "a").unwrap(), "synced");
    assert_eq!(disk.apply(DIR, &append(1, 0, "x")), Err(NOT_OPEN));
}

#[test]
fn a_loss_of_power_forgets_names_that_were_not_synced() {
    let mut disk = disk(&[
        open(1, "old"),
        open(2, "gone"),
        sync_directory(""),
        rename("old", "new"),
        unlink("gone"),
        open(3, "t-0/deep"),
        DiskOp::Sync { file: file(3) },
        sync_directory("t-0"),
    ]);
    assert_eq!(disk.list(DIR, "").unwrap(), ["new", "t-0/"]);
    disk.power_loss();
    assert_eq!(
        disk.list(DIR, "").unwrap(),
        ["gone", "old"],
        "the partition's own name was not synced"
    );
}

#[test]
fn replace_survives_with_its_name_and_keeps_the_old_file_for_whoever_has_it_open() {
    let replace = |text: &'static str| DiskOp::Replace {
        path: "c".into(),
        bytes: Bytes::from_static(text.as_bytes()),
    };
    let mut disk = disk(&[replace("one"), open(1, "c"), replace("two"), open(2, "beside")]);
    assert_eq!(disk.read_open(file(1), 0, 10).unwrap()[..], *b"one");
    disk.power_loss();
    assert_eq!(read(&disk, "c").unwrap(), "two");
    assert_eq!(read(&disk, "beside"), None);
}

#[test]
fn a_crash_of_the_process_keeps_every_byte() {
    let mut disk = disk(&[open(1, "a"), append(1, 0, "kept")]);
    disk.crash();
    assert_eq!(read(&disk, "a").unwrap(), "kept");
    assert_eq!(disk.apply(DIR, &append(1, 4, "x")), Err(NOT_OPEN));
}

#[test]
fn a_drawn_loss_reaches_every_prefix_and_nothing_else() {
    let before = disk(&[
        open(1, "a"),
        sync_directory(""),
        append(1, 0, "S"),
        DiskOp::Sync { file: file(1) },
        append(1, 1, "ab"),
        DiskOp::Truncate {
            file: file(1),
            len: 2,
        },
        append(1, 2, "c"),
    ]);
    let mut rng = Rng::new(11);
    let mut seen = OrderedSet::new();
    for _ in 0..400 {
        let mut after = before.clone();
        after.power_loss_keeping(&mut rng);
        seen.insert(read(&after, "a").unwrap());
    }
    let possible = ["S", "S\0\0", "Sa", "Sa\0", "Sab", "Sac"];
    assert_eq!(seen, possible.into_iter().map(String::from).collect());
    assert_eq!(read(&before, "a").unwrap(), "Sac", "a clone's loss is its own");
}

#[test]
fn a_drawn_loss_keeps_the_order_of_names_within_a_directory() {
    let before = disk(&[open(1, "a"), rename("a", "b"), open(2, "c")]);
    let mut rng = Rng::new(5);
    let mut seen = OrderedSet::new();
    for _ in 0..100 {
        let mut after = before.clone();
        after.power_loss_keeping(&mut rng);
        seen.insert(after.list(DIR, "").unwrap().join(" "));
    }
    assert_eq!(
        seen,
        ["", "a", "b", "b c"].into_iter().map(String::from).collect()
    );
}

#[test]
fn a_full_directory_takes_what_fits_and_then_nothing() {
    let mut disk = disk(&[open(1, "a"), append(1, 0, "12")]);
    disk.fail(DIR, Fault::FullAfter { bytes: 3 });
    disk.apply(DIR, &append(1, 2, "34")).unwrap();
    assert_eq!(disk.apply(DIR, &append(1, 4, "567")), Err(DiskError::Full));
    assert_eq!(read(&disk, "a").unwrap(), "12345");
    assert_eq!(disk.apply(DIR, &unlink("a")), Err(DiskError::Full), "offline");
    disk.mend(DIR);
    disk.apply(DIR, &append(1, 5, "6")).unwrap();
    assert_eq!(read(&disk, "a").unwrap(), "123456");
}

#[test]
fn a_fault_strikes_one_directory_at_the_named_operation() {
    let mut disk = MemoryDisk::new();
    let error = DiskError::Io(5);
    disk.fail(DIR, Fault::After { operations: 2, error });
    disk.apply(DIR, &open(1, "a")).unwrap();
    disk.apply(DIR, &append(1, 0, "x")).unwrap();
    assert_eq!(disk.apply(DIR, &DiskOp::Sync { file: file(1) }), Err(error));
    assert_eq!(disk.apply(DIR, &append(1, 1, "y")), Err(error));
    disk.apply(1, &open(2, "b")).unwrap();
}

#[test]
fn a_write_past_the_end_or_out_of_the_directory_is_refused() {
    for op in [
        append(1, 1, "gap"),
        DiskOp::Truncate {
            file: file(1),
            len: 9,
        },
        open(2, "../x"),
        open(2, ""),
    ] {
        assert_eq!(disk(&[open(1, "a")]).apply(DIR, &op), Err(INVALID), "{op:?}");
    }
}
