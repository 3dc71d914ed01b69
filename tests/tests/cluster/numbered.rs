//! Numbered records: somebody who writes 0, 1, 2, … into a partition, and somebody who reads along.
//!
//! Both are librdkafka (kcat) and live through everything: the writer is idempotent, waits for all
//! replicas and never gives up, so its clean end says that each record was acknowledged. It is the
//! partition's only writer; then record n must lie at offset n, for whoever looks and whenever.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// So long after an event a record must come through.
const COMES_WITHIN: Duration = Duration::from_secs(60);
/// Keeps a run's log small: a few hundred records a second.
const PACE: Duration = Duration::from_millis(3);

/// A producer of one partition.
pub struct Writer {
    child: Child,
    feeder: JoinHandle<()>,
    stop: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
}

impl Writer {
    pub fn start(bootstrap: &str, topic: &str, partition: i32) -> Self {
        let mut child = Command::new("kcat")
            .args(["-P", "-b", bootstrap, "-t", topic, "-p", &partition.to_string()])
            .args(["-X", "acks=all", "-X", "enable.idempotence=true"])
            .args(["-X", "delivery.timeout.ms=900000", "-X", "linger.ms=5"])
            // A paused leader keeps its connections open: what is under way there is given up this soon.
            .args(["-X", "socket.timeout.ms=4000"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start kcat");
        let stdin = child.stdin.take().expect("stdin is piped");
        let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stops, counts) = (stop.clone(), written.clone());
        let feeder = std::thread::spawn(move || feed(stdin, &stops, &counts));
        Self {
            child,
            feeder,
            stop,
            written,
        }
    }

    /// How many were handed over so far.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }

    /// Ends it; how many records it wrote, each of which was acknowledged.
    pub fn finish(mut self) -> u64 {
        self.stop.store(true, Ordering::SeqCst);
        self.feeder.join().expect("the feeder");
        let mut said = String::new();
        let stderr = self.child.stderr.as_mut().expect("stderr is piped");
        stderr.read_to_string(&mut said).expect("what kcat said");
        let status = self.child.wait().expect("wait for kcat");
        assert!(status.success(), "the writer ended with {status}:\n{said}");
        assert!(!said.contains("elivery failed"), "a record was given up:\n{said}");
        self.written.load(Ordering::SeqCst)
    }
}

fn feed(mut stdin: ChildStdin, stop: &AtomicBool, written: &AtomicU64) {
    while !stop.load(Ordering::SeqCst) {
        let number = written.load(Ordering::SeqCst);
        if writeln!(stdin, "{number}").is_err() {
            return; // Its end tells why.
        }
        written.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(PACE);
    }
}

/// A consumer without a group, from the first record on.
pub struct Reader {
    child: Child,
    seen: Arc<Seen>,
}

struct Seen {
    /// The next offset, or what was wrong.
    next: Mutex<Result<u64, String>>,
    more: Condvar,
}

impl Reader {
    pub fn start(bootstrap: &str, topic: &str, partition: i32) -> Self {
        let mut child = Command::new("kcat")
            .args(["-C", "-b", bootstrap, "-t", topic, "-p", &partition.to_string()])
            // -E: that all brokers are out of reach for a moment is no reason to end.
            .args(["-E", "-o", "beginning", "-u", "-q", "-f", "%o %s\n"])
            .args(["-X", "socket.timeout.ms=4000"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("start kcat");
        let stdout = child.stdout.take().expect("stdout is piped");
        let seen = Arc::new(Seen {
            next: Mutex::new(Ok(0)),
            more: Condvar::new(),
        });
        let sees = seen.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                sees.take(&line);
            }
            sees.end();
        });
        Self { child, seen }
    }

    /// Waits until it has seen this number; all before it were seen, in order and once.
    pub fn await_number(&self, number: u64) {
        let next = self.seen.next.lock().expect("the reader's state");
        let waits = |next: &mut Result<u64, String>| matches!(next, Ok(next) if *next <= number);
        let waited = self.seen.more.wait_timeout_while(next, COMES_WITHIN, waits);
        let (next, waited) = waited.expect("the reader's state");
        // Nobody else shall find the lock held by a panic.
        let (next, late) = (next.clone(), waited.timed_out());
        match next {
            Err(why) => panic!("the reader: {why}"),
            Ok(next) => assert!(!late, "record {number} does not come; the next one is {next}"),
        }
    }
}

impl Seen {
    fn take(&self, line: &str) {
        let mut next = self.next.lock().expect("the reader's state");
        if let Ok(expected) = *next {
            *next = match line == format!("{expected} {expected}") {
                true => Ok(expected + 1),
                false => Err(format!(
                    "offset and number are {line:?} where both should be {expected}"
                )),
            };
        }
        self.more.notify_all();
    }

    fn end(&self) {
        let mut next = self.next.lock().expect("the reader's state");
        if let Ok(at) = *next {
            *next = Err(format!("it ended before offset {at}"));
        }
        self.more.notify_all();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
