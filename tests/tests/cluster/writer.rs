//! Somebody who writes records with the numbers 0, 1, 2, … and lives through everything.
//!
//! There are two, librdkafka (kcat, one process a partition) and Java (one process for all of them), and
//! both write into every partition. A record's value is the producer's name and the number: `java 17`. They never give
//! up, so a clean end says that each record was acknowledged; Java also tells where each one lies.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::Ended;
use crate::account::Stored;

/// Keeps a run's log small: some two hundred records a second, of each writer in each partition.
const PACE: Duration = Duration::from_millis(5);

/// When a record counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// All replicas in sync have it; the writers are idempotent.
    All,
    /// The leader has it; a writer that hears no answer may write it twice.
    One,
}

/// Who wrote a record, as its value says.
pub const KCAT: &str = "kcat";
pub const JAVA: &str = "java";

/// A producer.
pub struct Writer {
    pub name: &'static str,
    pub partitions: Vec<i32>,
    child: Ended,
    feeder: JoinHandle<()>,
    stop: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
    /// Hears what it tells.
    listener: JoinHandle<Told>,
    complaints: Arc<Mutex<String>>,
    complains: JoinHandle<()>,
}

/// Offsets that a producer was told, by partition and number.
type Told = BTreeMap<(i32, u64), u64>;

/// What a writer did in its life.
#[derive(Clone)]
pub struct Written {
    /// It wrote the numbers below this one into each of its partitions, and each was acknowledged.
    pub count: u64,
    /// Where they lie, if this producer tells.
    pub told: Told,
}

impl Written {
    /// Every record of a producer that tells was told of, and lies where it was told.
    pub fn lie_as_told(&self, partition: i32, producer: &str, log: &[Stored]) {
        let told = self.told.range((partition, 0)..=(partition, u64::MAX)).count() as u64;
        assert!(
            self.told.is_empty() || told == self.count,
            "{producer} was told of {told} of {} records",
            self.count
        );
        for (&(of, number), &offset) in &self.told {
            let stored = log.get(offset as usize).map(|stored| &stored.record);
            let is_there = stored.is_some_and(|(name, found)| name == producer && *found == number);
            assert!(
                of != partition || is_there,
                "{producer} {number} was acknowledged at offset {offset}, where {stored:?} lies"
            );
        }
    }
}

impl Writer {
    /// One of librdkafka for the partition.
    pub fn kcat(bootstrap: &str, topic: &str, partition: i32, acks: Acks) -> Self {
        let mut command = Command::new("kcat");
        // -E: that all brokers are out of reach for a moment is no reason to end.
        command.args([
            "-P",
            "-E",
            "-b",
            bootstrap,
            "-t",
            topic,
            "-p",
            &partition.to_string(),
        ]);
        // Without idempotence only one request at a time keeps the order.
        command.args(match acks {
            Acks::All => ["-X", "acks=all", "-X", "enable.idempotence=true"],
            Acks::One => ["-X", "acks=1", "-X", "max.in.flight=1"],
        });
        command.args(["-X", "delivery.timeout.ms=3600000", "-X", "linger.ms=5"]);
        // A paused leader keeps its connections: what is under way there is given up this soon.
        command.args(["-X", "socket.timeout.ms=4000"]);
        Self::start(command, KCAT, vec![partition])
    }

    /// One of Java for all partitions.
    pub fn java(bootstrap: &str, topic: &str, partitions: i32, acks: Acks) -> Self {
        highwater_tests::kafka::kafka_jars();
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/clients/java");
        let mut command = Command::new("java");
        command.args(["-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]);
        command.arg(format!("{0}/classes:{0}/lib/*", built.display()));
        command.args(["Numbered", bootstrap, topic, &partitions.to_string()]);
        command.arg(match acks {
            Acks::All => "all",
            Acks::One => "1",
        });
        Self::start(command, JAVA, (0..partitions).collect())
    }

    fn start(mut command: Command, name: &'static str, partitions: Vec<i32>) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("start {name}: {error}"));
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = child.stdout.take().expect("stdout is piped");
        let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stops, counts) = (stop.clone(), written.clone());
        let feeder = std::thread::spawn(move || feed(stdin, name, &stops, &counts));
        let listener = std::thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.filter_map(|line| told(&line)).collect()
        });
        let stderr = child.stderr.take().expect("stderr is piped");
        let complaints = Arc::new(Mutex::new(String::new()));
        let kept = complaints.clone();
        let complains = std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut kept = kept.lock().expect("what it complained of");
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        Self {
            name,
            partitions,
            child: Ended(child),
            feeder,
            stop,
            written,
            listener,
            complaints,
            complains,
        }
    }

    /// What it has complained of so far.
    pub fn complaints(&self) -> String {
        self.complaints.lock().expect("what it complained of").clone()
    }

    /// How many numbers were handed over so far.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }

    /// Lets it end by itself.
    pub fn finish(mut self) -> Written {
        self.stop.store(true, Ordering::SeqCst);
        self.feeder.join().expect("the feeder");
        self.complains.join().expect("what it complained of");
        let said = self.complaints.lock().expect("what it complained of").clone();
        let status = self.child.0.wait().expect("wait for the writer");
        let told = self.listener.join().expect("the listener");
        assert!(status.success(), "{} ended with {status}:\n{said}", self.name);
        assert!(
            !said.contains("elivery failed"),
            "{} gave a record up:\n{said}",
            self.name
        );
        Written {
            count: self.written.load(Ordering::SeqCst),
            told,
        }
    }
}

fn feed(mut stdin: ChildStdin, name: &str, stop: &AtomicBool, written: &AtomicU64) {
    while !stop.load(Ordering::SeqCst) {
        let number = written.load(Ordering::SeqCst);
        if writeln!(stdin, "{name} {number}").is_err() {
            return; // Its end tells why.
        }
        written.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(PACE);
    }
}

/// `PARTITION OFFSET NAME NUMBER`
fn told(line: &str) -> Option<((i32, u64), u64)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [partition, offset, _, number] = words[..] else {
        return None;
    };
    Some((
        (partition.parse().ok()?, number.parse().ok()?),
        offset.parse().ok()?,
    ))
}
