use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use highwater_core::disk::{DiskOp, FileId, Lane, Ticket};
use smallvec::smallvec;

use super::*;
use crate::server::Limits;

/// A core that writes a byte for each `Disconnected`, and counts what is written.
struct Counter {
    outputs: VecDeque<Output>,
    handled: Arc<AtomicU64>,
    written: Arc<AtomicU64>,
    ticket: Ticket,
    sync_every: u64,
}

const FILE: FileId = FileId { dir: 0, number: 1 };

impl Counter {
    fn disk(&mut self, op: DiskOp) {
        self.ticket += 1;
        self.outputs.push_back(Output::Disk {
            dir: 0,
            lane: Lane::Strict,
            ticket: self.ticket,
            op,
        });
    }
}

impl Machine for Counter {
    fn handle(&mut self, _now: Millis, input: Input) {
        match input {
            Input::Disconnected { conn } => {
                let at = self.handled.fetch_add(1, Ordering::SeqCst);
                let bufs = smallvec![Bytes::copy_from_slice(&[conn as u8])];
                self.disk(DiskOp::Append { file: FILE, at, bufs });
                if self.sync_every > 0 && at.is_multiple_of(self.sync_every) {
                    self.disk(DiskOp::Sync { file: FILE });
                }
            }
            Input::DiskDone { upto, .. } => self.written.store(upto, Ordering::SeqCst),
            other => panic!("not expected: {other:?}"),
        }
    }
    fn work(&mut self, _now: Millis, _steps: usize) -> bool {
        false
    }
    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }
    fn poll_timeout(&self) -> Option<Millis> {
        None
    }
}

/// Many threads submit; when all have returned, nothing may be left lying.
fn hammer(sync_every: u64) {
    const THREADS: u64 = 8;
    const EACH: u64 = 5_000;
    let root = tempfile::tempdir().expect("temporary directory");
    let (disk, _) = Disk::open(&[root.path().to_owned()], 16).expect("open");
    let (handled, written) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let open = DiskOp::Open {
        file: FILE,
        path: "f".into(),
    };
    let first = Output::Disk {
        dir: 0,
        lane: Lane::Strict,
        ticket: 1,
        op: open,
    };
    let core = Counter {
        outputs: VecDeque::from([first]),
        handled: Arc::clone(&handled),
        written: Arc::clone(&written),
        ticket: 1,
        sync_every,
    };
    let driver = Driver::new(
        Box::new(core),
        disk,
        Connections::new(Limits::default()),
        Clock::manual(0),
        None,
    );
    driver.start();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let driver = &driver;
            scope.spawn(move || {
                for _ in 0..EACH {
                    driver.submit(Input::Disconnected { conn: thread });
                }
            });
        }
    });
    assert_eq!(handled.load(Ordering::SeqCst), THREADS * EACH);
    let syncs = if sync_every > 0 {
        (THREADS * EACH).div_ceil(sync_every)
    } else {
        0
    };
    let last = 1 + THREADS * EACH + syncs;
    // The directory's thread may still be at it.
    while written.load(Ordering::SeqCst) < last {
        std::thread::yield_now();
    }
    let content = std::fs::read(root.path().join("f")).expect("read back");
    for thread in 0..THREADS {
        let count = content.iter().filter(|&&b| u64::from(b) == thread).count();
        assert_eq!(count as u64, EACH);
    }
}

#[test]
fn nothing_is_left_lying_when_many_threads_submit() {
    for _ in 0..5 {
        hammer(0);
    }
}

#[test]
fn nothing_is_left_lying_when_the_disk_thread_submits_too() {
    hammer(97);
}
