//! Somebody who reads a partition along, without a group, and remembers all that was seen.
//!
//! It is librdkafka (kcat). Whatever happens, each record that it hands over lies one offset behind the one
//! before: an offset that goes back, comes twice or is left out ends the test.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};

use crate::{COMES_WITHIN, Ended};

/// Who wrote a record, and its number.
pub type Record = (String, u64);

/// A consumer of one partition from its first record on.
pub struct Reader {
    _child: Ended,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    log: Mutex<Log>,
    more: Condvar,
}

#[derive(Default)]
struct Log {
    /// By offset.
    records: Vec<Record>,
    /// The highest number of each producer.
    last: BTreeMap<String, u64>,
    wrong: Option<String>,
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
        let seen = Arc::new(Seen::default());
        let sees = seen.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                sees.take(&line);
            }
            sees.end();
        });
        Self {
            _child: Ended(child),
            seen,
        }
    }

    /// Waits until this producer's record of this number, or a later one, was seen.
    pub fn await_number(&self, producer: &str, number: u64) {
        self.wait(&format!("{producer} {number}"), |log| {
            log.last.get(producer).is_some_and(|last| *last >= number)
        });
    }

    /// Waits until all before this offset were seen.
    pub fn await_offset(&self, end: usize) {
        self.wait(&format!("offset {end}"), |log| log.records.len() >= end);
    }

    fn wait(&self, what: &str, is_there: impl Fn(&Log) -> bool) {
        let log = self.seen.log.lock().expect("the reader's log");
        let goes_on = |log: &mut Log| log.wrong.is_none() && !is_there(log);
        let waited = self.seen.more.wait_timeout_while(log, COMES_WITHIN, goes_on);
        let (log, waited) = waited.expect("the reader's log");
        let (wrong, next, last) = (log.wrong.clone(), log.records.len(), log.last.clone());
        // Nobody else shall find the lock held by a panic.
        drop(log);
        if let Some(why) = wrong {
            panic!("the reader: {why}");
        }
        assert!(
            !waited.timed_out(),
            "{what} does not come; the next offset is {next}, and the last ones seen are {last:?}"
        );
    }

    /// All that was seen so far, by offset.
    pub fn records(&self) -> Vec<Record> {
        self.seen.log.lock().expect("the reader's log").records.clone()
    }
}

impl Seen {
    fn take(&self, line: &str) {
        let mut log = self.log.lock().expect("the reader's log");
        if log.wrong.is_none() {
            log.wrong = log.add(line).err();
        }
        self.more.notify_all();
    }

    fn end(&self) {
        let mut log = self.log.lock().expect("the reader's log");
        let at = log.records.len();
        log.wrong.get_or_insert(format!("it ended before offset {at}"));
        self.more.notify_all();
    }
}

impl Log {
    /// `OFFSET NAME NUMBER`
    fn add(&mut self, line: &str) -> Result<(), String> {
        let strange = || format!("it saw {line:?}");
        let words: Vec<&str> = line.split(' ').collect();
        let [offset, producer, number] = words[..] else {
            return Err(strange());
        };
        let offset: usize = offset.parse().map_err(|_| strange())?;
        let number: u64 = number.parse().map_err(|_| strange())?;
        if offset != self.records.len() {
            return Err(format!(
                "after {} records it saw offset {offset}",
                self.records.len()
            ));
        }
        self.records.push((producer.to_owned(), number));
        let last = self.last.entry(producer.to_owned()).or_default();
        *last = number.max(*last);
        Ok(())
    }
}
