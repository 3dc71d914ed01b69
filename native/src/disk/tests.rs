use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use bytes::Bytes;
use highwater_core::disk::{DiskOp, FileId, Lane, Queued, ReadAt, Ticket};
use highwater_core::error::DiskError;
use highwater_core::io::Input;
use smallvec::smallvec;
use tempfile::TempDir;

use super::{Disk, JobReader, LockError};

const LOG: FileId = FileId { dir: 0, number: 1 };

struct Bench {
    disk: Disk,
    root: TempDir,
    reports: Receiver<Input>,
}

impl Bench {
    fn new() -> Self {
        Self::with_descriptors(64)
    }

    fn with_descriptors(limit: usize) -> Self {
        let root = tempfile::tempdir().expect("temporary directory");
        let (disk, _) = Disk::open(&[root.path().to_owned()], limit).expect("open");
        let (sender, reports) = channel();
        disk.notify_with(move |input| {
            let _ = sender.send(input);
        });
        Self { disk, root, reports }
    }

    /// Runs the operations with tickets from `first` and waits until the last is done or one failed.
    fn run(&self, first: Ticket, ops: Vec<DiskOp>) -> Result<Ticket, (Ticket, DiskError)> {
        let last = first + ops.len() as Ticket - 1;
        let ops = ops
            .into_iter()
            .enumerate()
            .map(|(i, op)| strict(first + i as Ticket, op));
        let mut reports: Vec<Input> = self.disk.run(0, ops.collect()).into_vec();
        loop {
            for report in reports.drain(..) {
                match report {
                    Input::DiskDone { upto, .. } if upto == last => return Ok(upto),
                    Input::DiskFailed { ticket, error, .. } => return Err((ticket, error)),
                    _ => {}
                }
            }
            reports.push(self.reports.recv().expect("a report"));
        }
    }

    fn reader(&self) -> JobReader<'_> {
        JobReader::new(&self.disk)
    }

    fn content(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.root.path().join(path)).expect("read back")
    }
}

fn queued(lane: Lane, ticket: Ticket, op: DiskOp) -> Queued {
    Queued {
        dir: 0,
        lane,
        ticket,
        op,
    }
}

fn strict(ticket: Ticket, op: DiskOp) -> Queued {
    queued(Lane::Strict, ticket, op)
}

fn aside(ticket: Ticket, op: DiskOp) -> Queued {
    queued(Lane::Aside, ticket, op)
}

fn open(path: &str) -> DiskOp {
    DiskOp::Open {
        file: LOG,
        path: path.into(),
    }
}

fn append(at: u64, pieces: &[&'static str]) -> DiskOp {
    DiskOp::Append {
        file: LOG,
        at,
        bufs: pieces.iter().map(|p| Bytes::from_static(p.as_bytes())).collect(),
    }
}

#[test]
fn neighbouring_appends_become_the_bytes_they_say() {
    let bench = Bench::new();
    let mut ops = vec![open("t-0/0.log")];
    ops.extend((0..3000).map(|i| append(i * 4, &["ab", "cd"])));
    ops.push(append(2, &["XY"]));
    assert_eq!(bench.run(1, ops), Ok(3002));
    let content = bench.content("t-0/0.log");
    assert_eq!(content.len(), 12_000);
    assert_eq!(&content[..8], b"abXYabcd");
}

#[test]
fn order_holds_across_a_sync_that_goes_to_the_thread() {
    let bench = Bench::new();
    let ops = vec![
        open("t-0/0.log"),
        append(0, &["old"]),
        DiskOp::Sync { file: LOG },
        DiskOp::Truncate { file: LOG, len: 1 },
        append(1, &["new"]),
        DiskOp::SyncDirectory { path: "t-0".into() },
        DiskOp::Close { file: LOG },
    ];
    assert_eq!(bench.run(1, ops), Ok(7));
    assert_eq!(bench.content("t-0/0.log"), b"onew");
    assert!(bench.disk.file(LOG).is_none());
}

#[test]
fn what_waits_behind_a_sync_is_done_before_what_comes_later() {
    let bench = Bench::new();
    assert_eq!(bench.run(1, vec![open("f")]), Ok(1));
    for round in 0..200u64 {
        let first = 2 + round * 3;
        let early = vec![
            strict(first, append(0, &["a"])),
            strict(first + 1, DiskOp::Sync { file: LOG }),
        ];
        bench.disk.run(0, early);
        assert_eq!(bench.run(first + 2, vec![append(0, &["b"])]), Ok(first + 2));
        assert_eq!(bench.content("f"), b"b");
    }
}

#[test]
fn a_replaced_file_is_whole_and_leaves_no_other() {
    let bench = Bench::new();
    for (ticket, text) in [(1, "one"), (2, "two")] {
        let op = DiskOp::Replace {
            path: "deep/down/checkpoint".into(),
            bytes: Bytes::from_static(text.as_bytes()),
        };
        assert_eq!(bench.run(ticket, vec![op]), Ok(ticket));
        assert_eq!(bench.content("deep/down/checkpoint"), text.as_bytes());
    }
    assert_eq!(
        bench.reader().list(0, "deep/down"),
        Ok(vec!["checkpoint".to_owned()])
    );
}

#[test]
fn readers_use_the_file_that_is_open_until_another_takes_its_place() {
    let bench = Bench::new();
    assert_eq!(bench.run(1, vec![open("t-0/0.log"), append(0, &["data"])]), Ok(2));
    std::fs::remove_file(bench.root.path().join("t-0/0.log")).expect("take the name away");
    let read = || bench.reader().read_at(0, "t-0/0.log", 0, 100);
    assert_eq!(
        read(),
        Ok(Bytes::from_static(b"data")),
        "nothing is looked up by name"
    );
    let replace = DiskOp::Replace {
        path: "t-0/0.log".into(),
        bytes: Bytes::from_static(b"other"),
    };
    assert_eq!(bench.run(3, vec![replace]), Ok(3));
    assert_eq!(read(), Ok(Bytes::from_static(b"other")));
}

#[test]
fn readers_find_a_file_under_its_old_name() {
    let bench = Bench::new();
    let rename = |from: &str, to: &str| DiskOp::Rename {
        from: from.into(),
        to: to.into(),
    };
    let ops = vec![
        open("t-0/0.log"),
        append(0, &["data"]),
        rename("t-0/0.log", "t-0/0.log.deleted"),
        rename("t-0", "t-0.x-delete"),
    ];
    assert_eq!(bench.run(1, ops), Ok(4));
    assert_eq!(
        bench.reader().read_at(0, "t-0/0.log", 1, 100),
        Ok(Bytes::from_static(b"ata"))
    );
    assert_eq!(bench.reader().len(0, "t-0/0.log.deleted"), Ok(4));
    let held = bench.disk.file(LOG).expect("still open");
    let gone = DiskOp::Unlink {
        path: "t-0.x-delete".into(),
    };
    assert_eq!(bench.run(5, vec![gone]), Ok(5));
    assert_eq!(bench.reader().len(0, "t-0/0.log"), Err(DiskError::NotFound));
    let mut bytes = [0; 4];
    held.file
        .read_exact_at(&mut bytes, 0)
        .expect("an open file outlives its name");
    assert_eq!(&bytes, b"data");
    let again = DiskOp::Unlink {
        path: "t-0.x-delete".into(),
    };
    assert_eq!(bench.run(6, vec![again]), Ok(6), "missing is fine");
}

#[test]
fn a_failure_names_its_operation_and_nothing_follows_it() {
    let bench = Bench::new();
    let ops = vec![
        open("f"),
        append(0, &["a"]),
        DiskOp::Rename {
            from: "missing".into(),
            to: "b".into(),
        },
        append(1, &["b"]),
    ];
    assert_eq!(bench.run(1, ops), Err((3, DiskError::NotFound)));
    assert!(bench.disk.run(0, vec![strict(5, append(1, &["c"]))]).is_empty());
    assert_eq!(bench.content("f"), b"a");
}

#[test]
fn a_path_cannot_leave_its_directory() {
    for path in ["../f", "/etc/f", "a/../../f"] {
        let bench = Bench::new();
        let (ticket, error) = bench.run(1, vec![open(path)]).expect_err("refused");
        assert_eq!((ticket, error), (1, DiskError::Io(22)), "{path}");
    }
}

#[test]
fn more_files_than_descriptors_are_opened_again_when_asked_for() {
    let bench = Bench::with_descriptors(16);
    let file = |number| FileId { dir: 0, number };
    for number in 0..100u64 {
        let ops = vec![
            DiskOp::Open {
                file: file(number),
                path: format!("{number}.log").into(),
            },
            DiskOp::Append {
                file: file(number),
                at: 0,
                bufs: smallvec![Bytes::from(number.to_string())],
            },
        ];
        assert_eq!(bench.run(number * 2 + 1, ops), Ok(number * 2 + 2));
    }
    let open = std::fs::read_dir("/proc/self/fd").expect("descriptors");
    let root_text = bench.root.path().display().to_string();
    let ours = open
        .filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok())
        .filter(|to| to.display().to_string().starts_with(&root_text));
    assert!(ours.count() <= 17, "16 files and the lock");
    for number in 0..100u64 {
        let held = bench.disk.file(file(number)).expect("opened again");
        let length = held.file.metadata().expect("metadata").len();
        assert_eq!(length, number.to_string().len() as u64);
    }
}

#[test]
fn a_truncation_asks_about_readers_first() {
    let bench = Bench::new();
    let asked = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    bench.disk.reset_readers_with(move |file| {
        let length = file.file.metadata().map_or(0, |m| m.len());
        seen.lock().push(length);
        file.retain_readers(|_| false);
    });
    assert_eq!(bench.run(1, vec![open("f"), append(0, &["abcdef"])]), Ok(2));
    let truncate = |len| DiskOp::Truncate { file: LOG, len };
    assert_eq!(bench.run(3, vec![truncate(5)]), Ok(3));
    assert!(asked.lock().is_empty(), "nobody reads");
    bench.disk.file(LOG).expect("open").add_reader(7);
    assert_eq!(bench.run(4, vec![append(5, &["x"])]), Ok(4));
    assert!(asked.lock().is_empty(), "an append harms nobody");
    assert_eq!(bench.run(5, vec![append(0, &["x"])]), Ok(5));
    assert_eq!(*asked.lock(), [6], "an overwrite does, and asks before");
    bench.disk.file(LOG).expect("open").add_reader(7);
    assert_eq!(bench.run(6, vec![truncate(1)]), Ok(6));
    assert_eq!(*asked.lock(), [6, 6]);
}

#[test]
fn a_directory_belongs_to_one_broker() {
    let bench = Bench::new();
    let second = Disk::open(&[bench.root.path().to_owned()], 64);
    assert!(matches!(second, Err(LockError::InUse(_))));
    let root = bench.root.path().to_owned();
    drop(bench.disk);
    assert!(Disk::open(&[root], 64).is_ok());
}

#[test]
fn the_reader_that_does_not_wait_reads_what_is_in_memory() {
    let bench = Bench::new();
    assert_eq!(bench.run(1, vec![open("t-0/0.log"), append(0, &["data"])]), Ok(2));
    let reader = JobReader::of_memory(&bench.disk);
    let read = reader.read_at(0, "t-0/0.log", 0, 100);
    // A file system that cannot tell counts as cold; nothing else may fail.
    assert!(reader.was_cold() || read == Ok(Bytes::from_static(b"data")));
    assert_eq!(reader.len(0, "none"), Err(DiskError::NotFound));
}

/// A bench whose operations aside begin, and then go on only when told.
fn slow_aside() -> (Bench, Receiver<DiskOp>, Sender<()>) {
    let bench = Bench::new();
    let (begun, begins) = channel();
    let (go, goes) = channel();
    let goes = parking_lot::Mutex::new(goes);
    let before = move |op: &DiskOp| {
        let _ = begun.send(op.clone());
        let _ = goes.lock().recv();
    };
    let directory = &bench.disk.directories[0];
    assert!(directory.backlog.before_aside.set(Box::new(before)).is_ok());
    (bench, begins, go)
}

#[test]
fn an_append_is_done_while_a_sync_aside_is_under_way() {
    let (bench, begins, go) = slow_aside();
    let sync = DiskOp::Sync { file: LOG };
    let first = vec![
        strict(1, open("f")),
        strict(2, append(0, &["a"])),
        aside(1, sync.clone()),
    ];
    let done = bench.disk.run(0, first);
    assert!(matches!(done[..], [Input::DiskDone { upto: 2, .. }]));
    assert_eq!(begins.recv(), Ok(sync));
    let done = bench.disk.run(0, vec![strict(3, append(1, &["b"]))]);
    assert!(
        matches!(done[..], [Input::DiskDone { upto: 3, .. }]),
        "here and at once"
    );
    assert_eq!(bench.content("f"), b"ab");
    assert!(bench.reports.try_recv().is_err(), "the sync is not done");
    go.send(()).expect("it waits");
    let report = bench.reports.recv().expect("a report");
    assert!(matches!(report, Input::AsideDone { upto: 1, .. }));
}

#[test]
fn what_would_harm_a_sync_aside_waits_for_it_and_the_rest_behind() {
    let (bench, begins, go) = slow_aside();
    let ops = vec![
        strict(1, open("f")),
        strict(2, append(0, &["a"])),
        aside(1, DiskOp::Sync { file: LOG }),
        strict(3, DiskOp::Close { file: LOG }),
        strict(4, open("f")),
        strict(5, append(0, &["b"])),
    ];
    let done = bench.disk.run(0, ops);
    assert!(matches!(done[..], [Input::DiskDone { upto: 2, .. }]));
    begins.recv().expect("the sync begins");
    assert_eq!(bench.content("f"), b"a");
    go.send(()).expect("it waits");
    let reports: Vec<Input> = bench.reports.iter().take(2).collect();
    let aside_done = |input: &Input| matches!(input, Input::AsideDone { upto: 1, .. });
    let strict_done = |input: &Input| matches!(input, Input::DiskDone { upto: 5, .. });
    assert!(reports.iter().any(aside_done) && reports.iter().any(strict_done));
    assert_eq!(bench.content("f"), b"b");
}

#[test]
fn a_failure_aside_ends_the_directory() {
    let bench = Bench::new();
    let missing = DiskOp::SyncDirectory {
        path: "missing".into(),
    };
    let done = bench.disk.run(0, vec![strict(1, open("f")), aside(1, missing)]);
    assert!(matches!(done[..], [Input::DiskDone { upto: 1, .. }]));
    let report = bench.reports.recv().expect("a report");
    let failed = Input::DiskFailed {
        dir: 0,
        lane: Lane::Aside,
        ticket: 1,
        error: DiskError::NotFound,
    };
    assert_eq!(format!("{report:?}"), format!("{failed:?}"));
    let later = bench.disk.run(0, vec![strict(2, append(0, &["a"]))]);
    assert!(later.is_empty());
}

#[test]
fn a_thread_that_cannot_be_started_fails_the_directory() {
    let bench = Bench::new();
    let no_threads = &bench.disk.directories[0].backlog.no_threads;
    no_threads.store(true, std::sync::atomic::Ordering::SeqCst);
    let path = "t-0/0.log".into();
    let again = DiskError::Io(rustix::io::Errno::AGAIN.raw_os_error());
    let ops = vec![DiskOp::Open { file: LOG, path }, DiskOp::Sync { file: LOG }];
    assert_eq!(bench.run(1, ops), Err((2, again)));
    let more = bench.disk.run(0, vec![strict(3, DiskOp::Close { file: LOG })]);
    assert!(more.is_empty(), "it takes no further one");
}
