//! What befalls the cluster, phase by phase. A phase ends when its event was seen, when records go
//! through that were written after it, and when all replicas are in the ISR again.

use std::fmt;

use highwater_core::protocol::ApiKey;
use highwater_core::types::Rng;
use highwater_tests::cluster::{Seen, TestCluster};
use highwater_tests::requests::{CREATE_TOPICS, create_replicated_request, created, metadata, topic_id};

use crate::{Reader, Writer};

const TOPIC: &str = "numbered";
const PARTITIONS: i32 = 3;

#[derive(Clone, Copy, Debug)]
pub enum Phase {
    LeaderKilled,
    FollowerPaused,
    ControllerKilled,
    ControllerPaused,
    Bounced,
    StoppedCleanly,
    ZooKeeperKilled,
}

/// Every phase once, in an order of the seed.
pub fn order(seed: u64) -> Vec<Phase> {
    use Phase::*;
    let mut left = vec![
        LeaderKilled,
        FollowerPaused,
        ControllerKilled,
        ControllerPaused,
        Bounced,
        StoppedCleanly,
        ZooKeeperKilled,
    ];
    let mut rng = Rng::new(seed);
    let mut order = Vec::new();
    while !left.is_empty() {
        order.push(left.remove(rng.below(left.len() as u64) as usize));
    }
    order
}

/// What was seen to happen.
#[derive(Debug, Default)]
pub struct Counts {
    pub records: u64,
    pub leader_changes: u32,
    pub isr_shrinks: u32,
    pub controller_changes: u32,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} records acknowledged and found; seen: {} leader changes, {} ISR shrinks, {} controller changes",
            self.records, self.leader_changes, self.isr_shrinks, self.controller_changes
        )
    }
}

/// A cluster with a writer and a reader of each partition.
pub struct Run {
    // Readers end before the cluster does.
    readers: Vec<Reader>,
    writers: Vec<Writer>,
    cluster: TestCluster,
    counts: Counts,
}

impl Run {
    pub fn start() -> Self {
        let cluster = TestCluster::start(3);
        let controller = cluster.await_controller(None);
        let request = create_replicated_request(TOPIC, PARTITIONS, 3);
        created(cluster.client(controller).ask(CREATE_TOPICS, &request)).expect("a topic");
        let bootstrap = cluster.bootstrap();
        let mut run = Self {
            writers: Vec::new(),
            readers: Vec::new(),
            counts: Counts::default(),
            cluster,
        };
        run.whole();
        run.writers = (0..PARTITIONS)
            .map(|index| Writer::start(&bootstrap, TOPIC, index))
            .collect();
        run.readers = (0..PARTITIONS)
            .map(|index| Reader::start(&bootstrap, TOPIC, index))
            .collect();
        run.goes_on();
        run
    }

    /// Waits for all replicas in all ISRs.
    fn whole(&self) -> Vec<Seen> {
        (0..PARTITIONS)
            .map(|index| self.cluster.await_whole(TOPIC, index))
            .collect()
    }

    /// Waits until records come through that were not written before.
    fn goes_on(&self) {
        for (writer, reader) in self.writers.iter().zip(&self.readers) {
            reader.await_number(writer.written() + 20);
        }
    }

    pub fn play(&mut self, phase: Phase) {
        let before = self.whole();
        match phase {
            Phase::LeaderKilled => self.leader_killed(&before[0]),
            Phase::FollowerPaused => self.follower_paused(&before[0]),
            Phase::ControllerKilled => self.controller_killed(),
            Phase::ControllerPaused => self.controller_paused(),
            Phase::Bounced => self.bounced(&before[0]),
            Phase::StoppedCleanly => self.stopped_cleanly(&before[0]),
            Phase::ZooKeeperKilled => self.zookeeper_killed(),
        }
        self.goes_on();
        let after = self.whole();
        for (before, after) in before.iter().zip(&after) {
            assert!(after.epoch >= before.epoch, "{before:?}, then {after:?}");
        }
    }

    /// Waits until another than this one leads partition 0, and that with a later epoch.
    fn another_leads(&mut self, before: &Seen) {
        self.cluster.await_partition(TOPIC, 0, "another leader", |seen| {
            seen.leader >= 0 && seen.leader != before.leader && seen.epoch > before.epoch
        });
        self.counts.leader_changes += 1;
    }

    fn isr_of_two(&mut self) {
        self.cluster
            .await_partition(TOPIC, 0, "two in the ISR", |seen| seen.isr.len() == 2);
        self.counts.isr_shrinks += 1;
    }

    fn leader_killed(&mut self, before: &Seen) {
        self.cluster.kill(before.leader);
        self.another_leads(before);
        self.isr_of_two();
        self.goes_on();
        self.cluster.restart(before.leader);
    }

    fn stopped_cleanly(&mut self, before: &Seen) {
        self.cluster.stop(before.leader);
        self.another_leads(before);
        self.goes_on();
        self.cluster.restart(before.leader);
    }

    fn follower_paused(&mut self, before: &Seen) {
        let follower = before.isr.iter().copied().find(|id| *id != before.leader);
        let follower = follower.expect("a follower");
        self.cluster.pause(follower, true);
        self.isr_of_two();
        self.goes_on();
        self.cluster.pause(follower, false);
    }

    fn controller_killed(&mut self) {
        let controller = self.cluster.await_controller(None);
        self.cluster.kill(controller);
        self.cluster.await_controller(Some(controller));
        self.counts.controller_changes += 1;
        self.goes_on();
        self.cluster.restart(controller);
    }

    /// It finds a client's request when it wakes up, and is the controller no longer.
    fn controller_paused(&mut self) {
        let controller = self.cluster.await_controller(None);
        let mut client = self.cluster.client(controller);
        // The connection is taken in and known before the broker sleeps.
        metadata(&mut client, TOPIC, false);
        let name = format!("never-{controller}");
        self.cluster.pause(controller, true);
        let successor = self.cluster.await_controller(Some(controller));
        self.counts.controller_changes += 1;
        assert!(client.send(CREATE_TOPICS, &create_replicated_request(&name, 1, 3)));
        let number = client.last_sent();
        self.cluster.pause(controller, false);
        if let Some(answer) = client.receive(ApiKey::CreateTopics, CREATE_TOPICS, number) {
            let refused = created(answer);
            assert!(refused.is_err(), "a deposed controller made a topic: {refused:?}");
        }
        assert_eq!(self.cluster.await_controller(None), successor);
        self.whole();
        for id in self.cluster.running() {
            assert_eq!(topic_id(&mut self.cluster.client(id), &name), None, "broker {id}");
        }
    }

    /// Down and up again at once. Its old session must end before it registers anew, and the
    /// controller must see that it was away.
    fn bounced(&mut self, before: &Seen) {
        self.cluster.kill(before.leader);
        self.cluster.restart(before.leader);
        self.cluster
            .await_partition(TOPIC, 0, "a later leader epoch", |seen| {
                seen.leader >= 0 && seen.epoch > before.epoch
            });
        self.counts.leader_changes += 1;
    }

    /// Who leads goes on leading meanwhile.
    fn zookeeper_killed(&mut self) {
        self.cluster.zookeeper.kill();
        self.goes_on();
        self.cluster.zookeeper.start_again();
        self.cluster.await_controller(None);
        self.cluster.await_brokers(3);
        // Someone is in office and can write: a topic is made.
        let name = "after-zookeeper";
        self.cluster.until("a topic after ZooKeeper came back", || {
            let controller = self.cluster.await_controller(None);
            let request = create_replicated_request(name, 1, 3);
            let mut client = self.cluster.client(controller);
            created(client.ask(CREATE_TOPICS, &request)).map_err(|error| error.to_string())
        });
        self.cluster.await_whole(name, 0);
    }

    /// Each record was acknowledged, is seen by the readers at its place, and lies in all replicas.
    pub fn finish(mut self) -> Counts {
        let written: Vec<u64> = self.writers.drain(..).map(Writer::finish).collect();
        for (reader, written) in self.readers.iter().zip(&written) {
            reader.await_number(written - 1);
        }
        self.whole();
        for index in 0..PARTITIONS {
            self.cluster.await_equal_logs(TOPIC, index);
        }
        // Another reader, from the start: nothing vanished that was seen, and nothing follows.
        let bootstrap = self.cluster.bootstrap();
        for (index, written) in (0..).zip(&written) {
            Reader::start(&bootstrap, TOPIC, index).await_number(written - 1);
            let leader = self.cluster.await_whole(TOPIC, index).leader;
            let end = highwater_tests::requests::fetch(&mut self.cluster.client(leader), TOPIC, index, 0);
            assert_eq!(
                end.high_watermark as u64, *written,
                "{TOPIC}-{index} ends where its writer did"
            );
        }
        self.counts.records = written.iter().sum();
        self.counts
    }
}
