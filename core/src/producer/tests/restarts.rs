//! A broker that dies, connections that break and answers that are lost, in the order of a seed.

use super::cluster::*;
use crate::ordered::OrderedMap;
use crate::producer::RecordId;
use crate::types::{PartitionIndex, Rng};

const PARTITIONS: i32 = 3;
/// An interpreter is slow.
const SEEDS: u64 = if cfg!(target_arch = "wasm32") { 2 } else { 16 };

struct Run {
    scene: Scene,
    rng: Rng,
    sent: OrderedMap<RecordId, (PartitionIndex, String)>,
}

impl Run {
    fn new(seed: u64, pairs: &[(&str, &str)]) -> Self {
        let mut scene = Scene::new(PARTITIONS, pairs);
        scene.seed(seed);
        Self {
            scene,
            rng: Rng::new(seed),
            sent: OrderedMap::new(),
        }
    }

    fn step(&mut self) {
        let scene = &mut self.scene;
        match self.rng.below(20) {
            0 => scene.cut(),
            1 => scene.restart_broker(),
            2 => scene.wires.holds_answers = !scene.wires.holds_answers,
            3..8 => scene.advance(self.rng.below(700) as i64),
            8..12 => {
                let steps = self.rng.below(6);
                (0..steps).for_each(|_| {
                    scene.carry();
                });
            }
            _ => self.send(),
        }
    }

    fn send(&mut self) {
        for _ in 0..1 + self.rng.below(4) {
            if self.scene.producer.is_blocked() {
                return;
            }
            let index = self.rng.below(PARTITIONS as u64) as PartitionIndex;
            let value = format!("{:04}", self.sent.len());
            self.scene.send(index, &[&value]);
            self.sent.insert(self.sent.len() as RecordId, (index, value));
        }
    }

    /// Everything works again, and everything ends.
    fn end(&mut self) {
        self.scene.wires.holds_answers = false;
        self.scene.advance(150_000);
        assert_eq!(self.scene.ended.len(), self.sent.len(), "each record ends");
        let producer = &self.scene.producer;
        assert_eq!(
            producer.memory_available_bytes(),
            producer.config().buffer_memory_bytes
        );
        assert_eq!(producer.requests_in_flight(), 0);
    }
}

#[test]
fn whatever_happens_records_are_stored_once_and_in_order() {
    for seed in 0..SEEDS {
        let small = [("linger.ms", "0"), ("batch.size", "100")];
        let lingers = [("linger.ms", "20"), ("compression.type", "lz4")];
        let mut run = Run::new(seed, if seed % 2 == 0 { &small } else { &lingers });
        (0..150).for_each(|_| run.step());
        run.end();
        assert!(run.scene.ended.values().all(Result::is_ok), "seed {seed}");
        for index in 0..PARTITIONS {
            let stored = run.scene.stored(index);
            let sent = run.sent.iter().filter(|(_, (place, _))| *place == index);
            let sent: Vec<(&RecordId, &String)> = sent.map(|(id, (_, value))| (id, value)).collect();
            let values: Vec<&String> = sent.iter().map(|(_, value)| *value).collect();
            assert_eq!(
                stored.iter().collect::<Vec<_>>(),
                values,
                "seed {seed}, t-{index}"
            );
            for (offset, (id, _)) in (0..).zip(sent) {
                assert_eq!(
                    run.scene.ended[id].as_ref().unwrap().offset,
                    offset,
                    "seed {seed}"
                );
            }
        }
    }
}

#[test]
fn without_idempotence_records_are_doubled_sooner_or_later() {
    let doubled = (0..10).any(|seed| {
        let pairs = [("linger.ms", "0"), ("enable.idempotence", "false")];
        let mut run = Run::new(seed, &pairs);
        (0..150).for_each(|_| run.step());
        run.end();
        let stored: usize = (0..PARTITIONS).map(|index| run.scene.stored(index).len()).sum();
        stored > run.sent.len()
    });
    assert!(doubled);
}
