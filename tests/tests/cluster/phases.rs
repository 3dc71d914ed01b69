//! What befalls the cluster, phase by phase. A phase ends when its event was seen, when records go
//! through that were written after it, and when all replicas are in the ISR again.

use std::time::{Duration, Instant};

use highwater_core::protocol::ApiKey;
use highwater_core::types::Rng;
use highwater_tests::cluster::{Seen, until};
use highwater_tests::requests::{CREATE_TOPICS, create_replicated_request, created, metadata, topic_id};

use crate::run::{Run, TOPIC};
use crate::writer::Acks;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    LeaderKilled,
    /// With records that nobody else has: they are cut off its log when it comes back.
    LeaderKilledAhead,
    FollowerPaused,
    ControllerKilled,
    ControllerPaused,
    Bounced,
    StoppedCleanly,
    ZooKeeperKilled,
}

pub const ALL: [Phase; 8] = [
    Phase::LeaderKilled,
    Phase::LeaderKilledAhead,
    Phase::FollowerPaused,
    Phase::ControllerKilled,
    Phase::ControllerPaused,
    Phase::Bounced,
    Phase::StoppedCleanly,
    Phase::ZooKeeperKilled,
];

/// The phases that `HIGHWATER_PHASES` names, in its order: to play again what went wrong.
pub fn named() -> Option<Vec<Phase>> {
    let names = std::env::var("HIGHWATER_PHASES").ok()?;
    let phase = |name: &str| {
        let found = ALL.into_iter().find(|phase| format!("{phase:?}") == name.trim());
        found.unwrap_or_else(|| panic!("HIGHWATER_PHASES: there is no phase {name}"))
    };
    Some(names.split(',').map(phase).collect())
}

/// These phases in an order of the seed.
pub fn in_order_of(seed: u64, phases: &[Phase]) -> Vec<Phase> {
    let mut left = phases.to_vec();
    let mut rng = Rng::new(seed);
    let mut order = Vec::new();
    while !left.is_empty() {
        order.push(left.remove(rng.below(left.len() as u64) as usize));
    }
    order
}

/// The leader is not always ahead of all others when it is killed: it is tried so often.
const TRIES: usize = 10;
/// Several batches: under acks=1 some of them have been acknowledged by then.
const SOME_RECORDS_BYTES: usize = 1_000;
/// Less than `replica.lag.time.max.ms`.
const SHORTER_THAN_THE_LAG: Duration = Duration::from_millis(600);

impl Phase {
    /// `before` is how the partitions stand, by index.
    pub fn play(self, run: &mut Run, before: &[Seen]) {
        match self {
            Phase::LeaderKilled => run.leader_killed(&before[0]),
            Phase::LeaderKilledAhead => run.leader_killed_ahead(),
            Phase::FollowerPaused => run.follower_paused(&before[0]),
            Phase::ControllerKilled => run.controller_killed(),
            Phase::ControllerPaused => run.controller_paused(),
            Phase::Bounced => run.bounced(&before[0]),
            Phase::StoppedCleanly => run.stopped_cleanly(&before[0]),
            Phase::ZooKeeperKilled => run.zookeeper_killed(),
        }
    }
}

impl Run {
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

    /// Both followers sleep for a moment, too short to drop out of the ISR; what is written meanwhile
    /// dies with the leader.
    fn leader_killed_ahead(&mut self) {
        for _ in 0..TRIES {
            let before = self.cluster.await_whole(TOPIC, 0);
            let cuts = self.cuts_of_first();
            if self.kill_ahead(&before) && self.cuts_of_first() > cuts {
                return;
            }
        }
        panic!("in {TRIES} tries no leader died with records that only it had");
    }

    fn cuts_of_first(&self) -> usize {
        let name = format!("{TOPIC}-0");
        let cuts = self.cluster.cuts();
        cuts.iter().filter(|cut| cut.partition == name).count()
    }

    /// False when the followers slept too long: then nobody else may lead.
    fn kill_ahead(&mut self, before: &Seen) -> bool {
        let leader = before.leader;
        let followers: Vec<i32> = before.isr.iter().copied().filter(|id| *id != leader).collect();
        for follower in &followers {
            self.cluster.pause(*follower, true);
        }
        self.await_ahead(leader, &followers);
        self.cluster.kill(leader);
        for follower in &followers {
            self.cluster.pause(*follower, false);
        }
        let seen = self
            .cluster
            .await_partition(TOPIC, 0, "another leader, or none", |seen| {
                let is_offline = seen.leader < 0 && seen.isr == [leader];
                is_offline || seen.leader >= 0 && seen.leader != leader && seen.epoch > before.epoch
            });
        let is_led = seen.leader >= 0;
        if is_led {
            self.counts.leader_changes += 1;
            self.goes_on();
        }
        self.cluster.restart(leader);
        self.whole();
        is_led
    }

    /// Waits until the leader has some records that its sleeping followers have not: under acks=all as
    /// many as the writers let out unanswered. It is never long, or the ISR changes.
    fn await_ahead(&self, leader: i32, followers: &[i32]) {
        let stored = |id: i32| self.cluster.stored(id, TOPIC, 0).len();
        let theirs = followers.iter().map(|id| stored(*id)).max().unwrap_or_default();
        let wanted = match self.acks {
            Acks::All => theirs + 1,
            Acks::One => theirs + SOME_RECORDS_BYTES,
        };
        let by = Instant::now() + SHORTER_THAN_THE_LAG;
        while stored(leader) < wanted && Instant::now() < by {
            std::thread::sleep(Duration::from_millis(10));
        }
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
        let name = format!("never-{controller}-{}", self.counts.controller_changes);
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
        let name = format!("after-zookeeper-{}", self.counts.zookeeper_deaths);
        self.counts.zookeeper_deaths += 1;
        until("a topic after ZooKeeper came back", || {
            let controller = self.cluster.await_controller(None);
            let request = create_replicated_request(&name, 1, 3);
            let mut client = self.cluster.client(controller);
            created(client.ask(CREATE_TOPICS, &request)).map_err(|error| error.to_string())
        });
        self.cluster.await_whole(&name, 0);
    }
}
