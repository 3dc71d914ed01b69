//! A cluster with writers and readers of every partition, from its start to the account at its end.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use highwater_tests::cluster::{Cut, Seen, TestCluster};
use highwater_tests::requests::{CREATE_TOPICS, create_replicated_request, created, fetch};

use crate::account::{Account, account, stored};
use crate::phases::Phase;
use crate::reader::Reader;
use crate::writer::{Acks, Writer, Written};

pub const TOPIC: &str = "numbered";
const PARTITIONS: i32 = 3;
/// So many records of each writer come through before anything goes on.
const AHEAD: u64 = 20;

/// Whether `cargo xtask test --skip NAME` was said.
fn skips(name: &str) -> bool {
    std::env::var("HIGHWATER_SKIP").is_ok_and(|names| names.split(',').any(|skipped| skipped == name))
}

/// What was seen to happen.
#[derive(Debug, Default)]
pub struct Counts {
    pub records: u64,
    /// Of one partition.
    pub leader_changes: u32,
    pub isr_shrinks: u32,
    pub controller_changes: u32,
    pub zookeeper_deaths: u32,
    pub cuts: usize,
    /// Under acks=1: what became of each partition's records.
    accounts: Vec<(i32, Account)>,
}

impl Counts {
    /// How often records were lost.
    pub fn lost(&self) -> usize {
        self.accounts.iter().map(|(_, account)| account.lost.len()).sum()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} records acknowledged; seen: {} leader changes, {} ISR shrinks, {} controller changes, \
             {} deaths of ZooKeeper, {} truncations",
            self.records,
            self.leader_changes,
            self.isr_shrinks,
            self.controller_changes,
            self.zookeeper_deaths,
            self.cuts
        )?;
        for (partition, account) in &self.accounts {
            if account.repeated > 0 {
                write!(f, "\n{TOPIC}-{partition}: {} stored twice", account.repeated)?;
            }
            for lost in &account.lost {
                write!(
                    f,
                    "\n{TOPIC}-{partition}: lost {lost}, which another leader had not fetched"
                )?;
            }
        }
        Ok(())
    }
}

/// See the module's text.
pub struct Run {
    // Clients end before the cluster does.
    readers: Vec<Reader>,
    writers: Vec<Writer>,
    pub acks: Acks,
    pub cluster: TestCluster,
    pub counts: Counts,
}

impl Run {
    pub fn start(acks: Acks) -> Self {
        let cluster = TestCluster::start(3);
        let controller = cluster.await_controller(None);
        let request = create_replicated_request(TOPIC, PARTITIONS, 3);
        created(cluster.client(controller).ask(CREATE_TOPICS, &request)).expect("a topic");
        let bootstrap = cluster.bootstrap();
        let mut run = Self {
            writers: Vec::new(),
            readers: Vec::new(),
            acks,
            counts: Counts::default(),
            cluster,
        };
        run.whole();
        run.writers = (0..PARTITIONS)
            .map(|index| Writer::kcat(&bootstrap, TOPIC, index, acks))
            .collect();
        if !skips("java") {
            let java = Writer::java(&bootstrap, TOPIC, PARTITIONS, acks);
            run.writers.push(java);
        }
        run.readers = (0..PARTITIONS)
            .map(|index| Reader::start(&bootstrap, TOPIC, index))
            .collect();
        run.goes_on();
        run
    }

    /// Waits for all replicas in all ISRs.
    pub fn whole(&self) -> Vec<Seen> {
        (0..PARTITIONS)
            .map(|index| self.cluster.await_whole(TOPIC, index))
            .collect()
    }

    /// Waits until records of every writer come through in every partition that were not written before.
    pub fn goes_on(&self) {
        let ahead: Vec<u64> = self
            .writers
            .iter()
            .map(|writer| writer.written() + AHEAD)
            .collect();
        for (writer, ahead) in self.writers.iter().zip(ahead) {
            for partition in &writer.partitions {
                self.readers[*partition as usize].await_number(writer.name, ahead);
            }
        }
    }

    /// One phase, and then all is as before.
    pub fn play(&mut self, phase: Phase) {
        let before = self.whole();
        phase.play(self, &before);
        self.goes_on();
        let after = self.whole();
        for (before, after) in before.iter().zip(&after) {
            assert!(after.epoch >= before.epoch, "{before:?}, then {after:?}");
        }
    }

    /// Ends the writers and accounts for every record that they wrote.
    pub fn finish(mut self) -> Counts {
        let mut written: BTreeMap<i32, Vec<(&str, Written)>> = BTreeMap::new();
        for writer in std::mem::take(&mut self.writers) {
            let (name, partitions) = (writer.name, writer.partitions.clone());
            let wrote = writer.finish();
            for partition in partitions {
                let of = written.entry(partition).or_default();
                of.push((name, wrote.clone()));
            }
        }
        self.whole();
        let cuts = self.cluster.cuts();
        for (partition, written) in &written {
            self.finish_partition(*partition, written, &cuts);
        }
        self.counts.cuts = cuts.len();
        std::mem::take(&mut self.counts)
    }

    fn finish_partition(&mut self, partition: i32, written: &[(&str, Written)], cuts: &[Cut]) {
        let name = format!("{TOPIC}-{partition}");
        let in_partition = |why: String| format!("{name}: {why}");
        let log = stored(self.cluster.await_equal_logs(TOPIC, partition))
            .map_err(in_partition)
            .expect("a sound log");
        let leader = self.cluster.await_whole(TOPIC, partition).leader;
        let end = fetch(&mut self.cluster.client(leader), TOPIC, partition, 0).high_watermark;
        assert_eq!(
            end,
            log.len() as i64,
            "{name}: the high watermark reaches the end"
        );

        // Who read along has seen all of it, and nothing else.
        let reader = &self.readers[partition as usize];
        reader.await_offset(log.len());
        for (offset, (seen, stored)) in reader.records().iter().zip(&log).enumerate() {
            assert_eq!(
                *seen, stored.record,
                "{name}: at offset {offset}, seen and stored"
            );
        }
        let of_partition: Vec<Cut> = cuts.iter().filter(|cut| cut.partition == name).cloned().collect();
        for (producer, written) in written {
            let account = account(&log, &of_partition, producer, written.count)
                .map_err(in_partition)
                .expect("every record accounted for");
            self.counts.records += written.count;
            if self.acks == Acks::All {
                assert_eq!(account, Account::default(), "{name}: {producer}");
                written.lie_as_told(partition, producer, &log);
            }
            self.counts.accounts.push((partition, account));
        }
    }
}

impl Drop for Run {
    /// How everything stands, where something was awaited in vain.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for writer in &self.writers {
            let (name, of, written) = (writer.name, &writer.partitions, writer.written());
            eprintln!(
                "--- {name} wrote {written} records into {of:?}, and said\n{}",
                writer.complaints()
            );
        }
        // A broker may be gone that should not be.
        let told = |index| catch_unwind(AssertUnwindSafe(|| self.cluster.told(TOPIC, index)));
        for index in 0..PARTITIONS {
            for (id, seen) in told(index).unwrap_or_default() {
                let holds = stored(self.cluster.stored(id, TOPIC, index)).map(|log| log.len());
                let answer = catch_unwind(AssertUnwindSafe(|| {
                    fetch(&mut self.cluster.client(id), TOPIC, index, 0)
                }));
                let high_watermark = answer.map(|answer| (answer.error_code, answer.high_watermark));
                eprintln!(
                    "--- {TOPIC}-{index}: broker {id} holds {holds:?} records, tells {seen:?}, and to a fetch: \
                     {high_watermark:?}"
                );
            }
        }
    }
}
