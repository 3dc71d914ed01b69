//! A cluster for a test: brokers, each a process of its own, and a real ZooKeeper.
//!
//! Everything is awaited as a client would see it: by Metadata of a broker that runs.
//!
//! Invariants
//! - a broker that is paused or dead is never asked
//! - no process outlives the value

use std::path::Path;
use std::time::{Duration, Instant};

use highwater_core::protocol::messages::MetadataResponse;
use highwater_core::protocol::messages::metadata_response::MetadataResponsePartition;

use crate::broker::TestBroker;
use crate::requests::metadata;
use crate::wire::WireClient;
use crate::zookeeper::TestZooKeeper;

/// What a cluster owes comes within this time; never reached by one that works.
const WITHIN: Duration = Duration::from_secs(120);
/// Between two looks at what cannot be waited for otherwise.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The usual settings of every broker here.
const SETTINGS: [&str; 7] = [
    "zookeeper.session.timeout.ms=2000",
    "zookeeper.connection.timeout.ms=60000",
    "replica.lag.time.max.ms=1000",
    "min.insync.replicas=2",
    "default.replication.factor=3",
    "unclean.leader.election.enable=false",
    "auto.leader.rebalance.enable=false",
];

/// Brokers with the ids 1, 2, …
pub struct TestCluster {
    pub zookeeper: TestZooKeeper,
    brokers: Vec<Member>,
}

struct Member {
    broker: TestBroker,
    runs: bool,
}

/// One partition as a broker told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// -1: none.
    pub leader: i32,
    pub epoch: i32,
    /// Sorted.
    pub isr: Vec<i32>,
}

/// A follower's log was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// `topic-0`
    pub partition: String,
    pub from: i64,
    pub to: i64,
}

impl Cut {
    /// `… PARTITION follows broker LEADER, and is cut from FROM to TO: WHY`
    fn parse(line: &str) -> Option<Self> {
        let (before, cut) = line.split_once(", and is cut from ")?;
        let (who, _) = before.rsplit_once(" follows ")?;
        let (offsets, _) = cut.split_once(':')?;
        let (from, to) = offsets.split_once(" to ")?;
        Some(Self {
            partition: who.rsplit(' ').next()?.to_owned(),
            from: from.parse().ok()?,
            to: to.parse().ok()?,
        })
    }
}

impl TestCluster {
    /// Starts so many brokers, in a hurry to find each other dead or late; they take connections, and
    /// know of each other when they do.
    pub fn start(brokers: i32) -> Self {
        Self::start_with(brokers, &SETTINGS)
    }

    /// The same with other settings.
    pub fn start_with(brokers: i32, settings: &[&str]) -> Self {
        let zookeeper = TestZooKeeper::start();
        let connect = format!("zookeeper.connect={}", zookeeper.address());
        let settings = [settings, &[connect.as_str()]].concat();
        let member = |id| Member {
            broker: TestBroker::start_member(id, &settings),
            runs: true,
        };
        let brokers = (1..=brokers).map(member).collect();
        let cluster = Self { zookeeper, brokers };
        cluster.await_brokers(cluster.brokers.len());
        cluster
    }

    fn member(&mut self, id: i32) -> &mut Member {
        &mut self.brokers[id as usize - 1]
    }

    /// The broker of this id.
    pub fn broker(&self, id: i32) -> &TestBroker {
        &self.brokers[id as usize - 1].broker
    }

    /// kill -9.
    pub fn kill(&mut self, id: i32) {
        let member = self.member(id);
        member.runs = false;
        member.broker.kill();
    }

    /// Starts one again that was killed or stopped.
    pub fn restart(&mut self, id: i32) {
        let member = self.member(id);
        member.broker.restart();
        member.runs = true;
    }

    /// SIGSTOP, or SIGCONT.
    pub fn pause(&mut self, id: i32, paused: bool) {
        let member = self.member(id);
        member.broker.pause(paused);
        member.runs = !paused;
    }

    /// Stops it cleanly.
    pub fn stop(&mut self, id: i32) {
        let member = self.member(id);
        member.runs = false;
        assert!(member.broker.stop().success(), "broker {id} stops cleanly");
    }

    /// The ids of those that run.
    pub fn running(&self) -> Vec<i32> {
        let all = self.brokers.iter().zip(1..);
        all.filter(|(member, _)| member.runs).map(|(_, id)| id).collect()
    }

    /// `host:port,…` of all, dead or not.
    pub fn bootstrap(&self) -> String {
        let all: Vec<String> = self
            .brokers
            .iter()
            .map(|member| member.broker.address())
            .collect();
        all.join(",")
    }

    pub fn client(&self, id: i32) -> WireClient {
        WireClient::connect(&self.broker(id).address())
    }

    /// Waits until every broker that runs tells of so many.
    pub fn await_brokers(&self, count: usize) {
        self.everywhere(&format!("{count} brokers"), None, |told| {
            (told.brokers.len() == count)
                .then_some(())
                .ok_or(format!("{} brokers", told.brokers.len()))
        });
    }

    /// Waits until the brokers that run agree on a controller that runs, other than this one.
    pub fn await_controller(&self, other_than: Option<i32>) -> i32 {
        let running = self.running();
        self.everywhere("a controller", None, |told| {
            let it = told.controller_id;
            let fits = running.contains(&it) && Some(it) != other_than;
            fits.then_some(it).ok_or(format!("controller {it}"))
        })
    }

    /// Waits until all that run tell of the partition what is wanted.
    pub fn await_partition(
        &self,
        topic: &str,
        index: i32,
        what: &str,
        wanted: impl Fn(&Seen) -> bool,
    ) -> Seen {
        self.everywhere(what, Some(topic), |told| {
            let partitions = told.topics.first().map(|topic| topic.partitions.as_slice());
            let partition = partitions
                .unwrap_or_default()
                .iter()
                .find(|partition| partition.partition_index == index)
                .ok_or_else(|| format!("no {topic}-{index}"))?;
            let seen = Seen::of(partition);
            if wanted(&seen) {
                Ok(seen)
            } else {
                Err(format!("{seen:?}"))
            }
        })
    }

    /// What each broker that runs tells of the partition now.
    pub fn told(&self, topic: &str, index: i32) -> Vec<(i32, Option<Seen>)> {
        let tell = |id| {
            let told = metadata(&mut self.client(id), topic, false);
            let partitions = told.topics.iter().flat_map(|topic| &topic.partitions);
            let mut found = partitions.filter(|partition| partition.partition_index == index);
            (id, found.next().map(Seen::of))
        };
        self.running().into_iter().map(tell).collect()
    }

    /// The partition as soon as all of its three replicas are in the ISR.
    pub fn await_whole(&self, topic: &str, index: i32) -> Seen {
        self.await_partition(topic, index, "three in the ISR", |seen| {
            seen.leader >= 0 && seen.isr.len() == 3
        })
    }

    /// Asks all that run until each gives the same answer.
    fn everywhere<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        topic: Option<&str>,
        fits: impl Fn(&MetadataResponse) -> Result<T, String>,
    ) -> T {
        let mut clients: Vec<(i32, WireClient)> = self
            .running()
            .into_iter()
            .map(|id| (id, self.client(id)))
            .collect();
        until(what, || {
            let mut answer = None;
            for (id, client) in &mut clients {
                let told = metadata(client, topic.unwrap_or("no-such-topic"), false);
                let found = fits(&told).map_err(|seen| format!("broker {id}: {seen}"))?;
                if answer.as_ref().is_some_and(|other| *other != found) {
                    return Err(format!("broker {id}: {found:?}, and another {answer:?}"));
                }
                answer = Some(found);
            }
            answer.ok_or_else(|| "no broker runs".to_owned())
        })
    }

    /// The bytes that the broker holds of a partition.
    pub fn stored(&self, id: i32, topic: &str, index: i32) -> Vec<u8> {
        stored(&self.broker(id).data().join(format!("{topic}-{index}")))
    }

    /// Waits until all replicas of the partition hold the same bytes; gives them.
    pub fn await_equal_logs(&self, topic: &str, index: i32) -> Vec<u8> {
        until("equal logs", || {
            let ids = 1..=self.brokers.len() as i32;
            let mut bytes: Vec<Vec<u8>> = ids.map(|id| self.stored(id, topic, index)).collect();
            match bytes.iter().all(|other| *other == bytes[0]) {
                true => Ok(bytes.remove(0)),
                false => Err(format!(
                    "{:?} bytes",
                    bytes.iter().map(Vec::len).collect::<Vec<_>>()
                )),
            }
        })
    }

    /// Every cut of a follower's log, as the brokers said it.
    pub fn cuts(&self) -> Vec<Cut> {
        let all = self.brokers.iter().map(|member| member.broker.whole_log());
        let lines = all.flat_map(|log| log.lines().filter_map(Cut::parse).collect::<Vec<_>>());
        lines.collect()
    }
}

/// Looks until there is what is looked for.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let by = Instant::now() + WITHIN;
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) if Instant::now() > by => panic!("never {what}; last seen: {seen}"),
            Err(_) => std::thread::sleep(LOOK_EVERY),
        }
    }
}

/// The bytes of all segments of a log, in order.
pub fn stored(log: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(log).into_iter().flatten().flatten();
    let mut segments: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    segments.sort();
    segments
        .iter()
        .flat_map(|segment| std::fs::read(segment).unwrap_or_default())
        .collect()
}

impl Seen {
    pub fn of(partition: &MetadataResponsePartition) -> Self {
        let mut isr: Vec<i32> = partition.isr_nodes.clone();
        isr.sort_unstable();
        Self {
            leader: partition.leader_id,
            epoch: partition.leader_epoch,
            isr,
        }
    }
}
