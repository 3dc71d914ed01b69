//! Members that come, leave and die in the order of a seed.

use super::cluster::*;
use crate::ordered::OrderedMap;
use crate::types::Rng;

const PARTITIONS: i32 = 5;

struct Schedule {
    cluster: Cluster,
    members: Vec<u32>,
    rng: Rng,
    /// Values by partition, in order.
    produced: OrderedMap<i32, Vec<String>>,
    /// Values that members read who are gone.
    read: OrderedMap<String, u32>,
}

impl Schedule {
    fn new(seed: u64) -> Self {
        let mut cluster = Cluster::new();
        cluster.create("t", PARTITIONS, &[]);
        Self {
            cluster,
            members: Vec::new(),
            rng: Rng::new(seed),
            produced: OrderedMap::new(),
            read: OrderedMap::new(),
        }
    }

    fn one_of_the_members(&mut self) -> Option<u32> {
        let at = self.rng.below(self.members.len() as u64) as usize;
        (!self.members.is_empty()).then(|| self.members.remove(at))
    }

    fn count(&mut self, values: Vec<String>) {
        for value in values {
            *self.read.entry(value).or_default() += 1;
        }
    }

    fn step(&mut self, settings: &[(&str, &str)]) {
        match self.rng.below(10) {
            0..3 if self.members.len() < 6 => {
                let id = self.cluster.join(settings, &["t"]);
                self.members.push(id);
            }
            3 => {
                if let Some(id) = self.one_of_the_members() {
                    let left = self.cluster.close(id);
                    self.count(left.values());
                }
            }
            4 => {
                if let Some(id) = self.one_of_the_members() {
                    let values = self.cluster.member(id).values();
                    self.count(values);
                    self.cluster.kill(id);
                }
            }
            _ => {
                let index = self.rng.below(PARTITIONS as u64) as i32;
                let before = self.produced.entry(index).or_default();
                let value = format!("{index}-{}", before.len());
                before.push(value.clone());
                self.cluster.produce("t", index, &[&value]);
            }
        }
        let pause = self.rng.below(4_000) as i64;
        self.cluster.advance(pause);
        self.cluster.owners();
    }
}

/// Whatever happens, nobody shares a partition, everything is read, and in the end everything has an owner.
fn whatever_happens(strategy: &str) {
    for seed in 0..5 {
        let mut schedule = Schedule::new(seed);
        let settings = [
            ("partition.assignment.strategy", strategy),
            ("session.timeout.ms", "10000"),
            ("heartbeat.interval.ms", "1000"),
        ];
        for _ in 0..40 {
            schedule.step(&settings);
        }
        let last = schedule.cluster.join(&settings, &["t"]);
        schedule.members.push(last);
        schedule.cluster.advance(40_000);
        let owned: usize = schedule.cluster.owners().values().map(|owned| owned.len()).sum();
        assert_eq!(owned, PARTITIONS as usize, "seed {seed}");
        for id in schedule.members.clone() {
            let member = schedule.cluster.member(id);
            assert!(member.consumer.is_stable(), "seed {seed}");
            assert_eq!(member.errors(), [], "seed {seed}");
            let values = member.values();
            schedule.count(values);
        }
        for value in schedule.produced.values().flatten() {
            assert!(
                schedule.read.contains_key(value),
                "seed {seed}: {value} was never read"
            );
        }
    }
}

#[test]
fn whatever_happens_to_members_of_range_everything_is_read() {
    whatever_happens("range");
}

#[test]
fn whatever_happens_to_members_of_round_robin_everything_is_read() {
    whatever_happens("roundrobin");
}

#[test]
fn whatever_happens_to_members_of_cooperative_sticky_everything_is_read() {
    whatever_happens("cooperative-sticky");
}
