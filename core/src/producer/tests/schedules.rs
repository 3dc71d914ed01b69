//! Leaders that move, answers that are lost, connections that break, requests that are read late, brokers
//! that refuse: in the order of a seed, on two nodes that check numbers as brokers do.

use std::collections::VecDeque;

use super::script::*;
use crate::client::testing::Heard;
use crate::client::{ClientInput, Node};
use crate::error::ErrorCode;
use crate::log::producer_state::ProducerStateManager;
use crate::log::producer_state::check::{AppendOrigin, Verdict};
use crate::ordered::OrderedMap;
use crate::producer::RecordId;
use crate::protocol::leadership::LeaderIdAndEpoch;
use crate::protocol::produce::ProducePartitionResponse;
use crate::record::BatchHeader;
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, Rng};

const PARTITIONS: usize = 2;
/// An interpreter is slow.
const SEEDS: u64 = if cfg!(target_arch = "wasm32") { 3 } else { 40 };

/// What both nodes have of a partition: whoever leads it has all that was stored.
struct Log {
    leader: BrokerId,
    epoch: LeaderEpoch,
    producers: ProducerStateManager,
    values: Vec<String>,
    batches: Vec<BatchHeader>,
}

#[derive(Default)]
struct Wire {
    unread: VecDeque<Heard>,
    answers: VecDeque<ClientInput>,
}

struct Schedule {
    script: Script,
    rng: Rng,
    logs: Vec<Log>,
    wires: OrderedMap<Node, Wire>,
    /// Requests of closed connections that a node may still read.
    stray: Vec<Heard>,
    sent: OrderedMap<RecordId, (PartitionIndex, String)>,
    has_faults: bool,
}

impl Schedule {
    fn new(seed: u64, pairs: &[(&str, &str)]) -> Self {
        let leaders: Vec<(BrokerId, LeaderEpoch)> = (0..PARTITIONS).map(|_| (1, 0)).collect();
        let log = |(leader, epoch): &(BrokerId, LeaderEpoch)| Log {
            leader: *leader,
            epoch: *epoch,
            producers: ProducerStateManager::default(),
            values: Vec::new(),
            batches: Vec::new(),
        };
        Self {
            logs: leaders.iter().map(log).collect(),
            script: Script::seeded(seed, &leaders, pairs),
            rng: Rng::new(seed),
            wires: OrderedMap::new(),
            stray: Vec::new(),
            sent: OrderedMap::new(),
            has_faults: true,
        }
    }

    fn step(&mut self) {
        match self.rng.below(24) {
            0 => self.move_leader(),
            1 => self.tell_leaders(),
            2 => self.cut(),
            3 if !self.stray.is_empty() => {
                let late = self.stray.remove(0);
                self.answer_to(&late);
            }
            4..8 => {
                let by_ms = self.rng.below(300) as i64;
                self.script.advance(by_ms);
            }
            8..13 => self.read(),
            13..18 => self.hear(),
            _ => self.send(),
        }
        self.collect();
    }

    /// Puts what the producer sent on its wires.
    fn collect(&mut self) {
        self.script.settle();
        for node in std::mem::take(&mut self.script.closed) {
            self.close(&node);
        }
        for heard in std::mem::take(&mut self.script.open) {
            self.wires
                .entry(heard.to.clone())
                .or_default()
                .unread
                .push_back(heard);
        }
    }

    fn send(&mut self) {
        for _ in 0..1 + self.rng.below(4) {
            if self.script.producer.is_blocked() {
                return;
            }
            let index = self.rng.below(PARTITIONS as u64) as PartitionIndex;
            let value = format!("{:04}", self.sent.len());
            let id = self.script.send(index, &[&value])[0];
            self.sent.insert(id, (index, value));
        }
    }

    // ---- faults

    fn move_leader(&mut self) {
        let log = &mut self.logs[self.rng.below(PARTITIONS as u64) as usize];
        (log.leader, log.epoch) = (3 - log.leader, log.epoch + 1);
        if self.rng.below(2) == 0 {
            self.tell_leaders();
        }
    }

    fn tell_leaders(&mut self) {
        self.script.leaders = self.logs.iter().map(|log| (log.leader, log.epoch)).collect();
    }

    fn some_wire(&mut self) -> Option<Node> {
        let nth = self.rng.below(self.wires.len() as u64) as usize;
        self.wires.keys().nth(nth).cloned()
    }

    fn cut(&mut self) {
        if let Some(node) = self.some_wire() {
            self.close(&node);
            let why = "the connection was cut".to_owned();
            self.script.tell(&ClientInput::Disconnected { node, why });
        }
    }

    /// Some of what is on the wire is read yet, and some later; nothing of it is answered.
    fn close(&mut self, node: &Node) {
        let Some(wire) = self.wires.remove(node) else {
            return;
        };
        for heard in wire.unread {
            match self.rng.below(3) {
                0 => drop(self.answer_to(&heard)),
                1 => self.stray.push(heard),
                _ => {}
            }
        }
    }

    // ---- the nodes

    /// A node reads a request, and answers. What lies on a broken connection is read before what comes on
    /// another, or never: if old copies came after the refusal of a new one, no numbers would help.
    fn read(&mut self) {
        let Some(node) = self.some_wire() else {
            return;
        };
        if let Some(heard) = self.wires.get_mut(&node).and_then(|wire| wire.unread.pop_front()) {
            self.stray.retain(|stray| stray.to != node);
            let answer = self.answer_to(&heard);
            self.wires.entry(node).or_default().answers.push_back(answer);
        }
    }

    /// The producer hears an answer.
    fn hear(&mut self) {
        let Some(node) = self.some_wire() else {
            return;
        };
        if let Some(answer) = self
            .wires
            .get_mut(&node)
            .and_then(|wire| wire.answers.pop_front())
        {
            self.script.tell(&answer);
        }
    }

    fn answer_to(&mut self, heard: &Heard) -> ClientInput {
        let body = answer(heard, |batch| self.row(heard.to.id, batch));
        heard.answer(body)
    }

    fn row(&mut self, node: BrokerId, batch: &HeardBatch) -> ProducePartitionResponse {
        let whim = if self.has_faults {
            self.rng.below(40)
        } else {
            u64::MAX
        };
        let tells_leader = self.rng.below(2) == 0;
        let log = &mut self.logs[batch.index as usize];
        if log.leader != node {
            let mut row = refused(batch, ErrorCode::NotLeaderOrFollower);
            if tells_leader {
                row.current_leader = LeaderIdAndEpoch {
                    leader_id: log.leader,
                    leader_epoch: log.epoch,
                };
            }
            return row;
        }
        match whim {
            0 => return refused(batch, ErrorCode::NotEnoughReplicas),
            1 => return refused(batch, ErrorCode::InvalidRecord),
            2 => return refused(batch, ErrorCode::CorruptMessage),
            _ => {}
        }
        if batch.is_too_large() {
            return refused(batch, ErrorCode::MessageTooLarge);
        }
        let base_offset = match log.producers.check(&batch.header, AppendOrigin::Client) {
            Ok(Verdict::Duplicate { first_offset, .. }) => first_offset,
            Ok(Verdict::New) => log.append(batch),
            Err(why) => return refused(batch, why.code),
        };
        match whim {
            4 => refused(batch, ErrorCode::NotEnoughReplicasAfterAppend),
            5 => refused(batch, ErrorCode::RequestTimedOut),
            _ => stored(batch, base_offset),
        }
    }

    // ---- the end

    /// Everything works again, and everything ends.
    fn end(&mut self) {
        self.has_faults = false;
        self.tell_leaders();
        for _ in 0..2_000 {
            self.collect();
            if self.script.ended.len() == self.sent.len() && self.script.producer.requests_in_flight() == 0 {
                return;
            }
            let busy = |wire: &Wire| !wire.unread.is_empty() || !wire.answers.is_empty();
            if self.wires.values().any(busy) {
                self.read();
                self.hear();
            } else {
                self.script.advance(50);
            }
        }
        panic!(
            "records that never end: {:?}",
            self.sent.len() - self.script.ended.len()
        );
    }

    fn check(&self, seed: u64) {
        assert!(self.script.all_memory_is_back(), "seed {seed}");
        for (index, log) in (0..).zip(&self.logs) {
            assert!(
                log.values.is_sorted_by(|one, next| one < next),
                "seed {seed}, t-{index}: {:?}\n{:#?}",
                log.values,
                self.script.told()
            );
            log.check_numbers(seed);
        }
        for (id, (index, value)) in &self.sent {
            let log = &self.logs[*index as usize];
            match &self.script.ended[id] {
                Ok(metadata) => assert_eq!(&log.values[metadata.offset as usize], value, "seed {seed}"),
                Err(error) => assert!(
                    !error.to_string().contains("OUT_OF_ORDER"),
                    "seed {seed}: record {id}: {error}"
                ),
            }
        }
    }
}

impl HeardBatch {
    /// Some records are taken only alone.
    fn is_too_large(&self) -> bool {
        let is_odd = |value: &String| value.parse::<u32>().unwrap() % 13 == 0;
        self.values.len() > 1 && self.values.iter().any(is_odd)
    }
}

impl Log {
    fn append(&mut self, batch: &HeardBatch) -> Offset {
        let base_offset = self.values.len() as Offset;
        self.producers.apply(&batch.header, base_offset);
        self.values.extend(batch.values.iter().cloned());
        self.batches.push(batch.header);
        base_offset
    }

    /// Within an epoch numbers begin at 0 and leave nothing out. Only the first of all may be higher: when
    /// the first part of a batch that was split is given up, the log knows of no number yet.
    fn check_numbers(&self, seed: u64) {
        let mut next = OrderedMap::new();
        for (nth, batch) in self.batches.iter().enumerate() {
            let begin = if nth == 0 { batch.base_sequence } else { 0 };
            let expected = next
                .entry((batch.producer_id, batch.producer_epoch))
                .or_insert(begin);
            assert_eq!(batch.base_sequence, *expected, "seed {seed}: {batch:?}");
            *expected = batch.last_sequence() + 1;
        }
    }
}

fn whatever_happens(pairs: &[(&str, &str)]) {
    let mut all = vec![("request.timeout.ms", "1000"), ("delivery.timeout.ms", "3000")];
    all.extend(pairs);
    let (mut acknowledged, mut failed) = (0, 0);
    for seed in 0..SEEDS {
        let mut schedule = Schedule::new(seed, &all);
        (0..200).for_each(|_| schedule.step());
        schedule.end();
        schedule.check(seed);
        let ended = schedule.script.ended.values();
        acknowledged += ended.clone().filter(|end| end.is_ok()).count();
        failed += ended.filter(|end| end.is_err()).count();
    }
    assert!(acknowledged > failed && failed > 0, "{acknowledged} {failed}");
}

#[test]
fn whatever_leaders_and_wires_do_nothing_is_stored_twice_or_out_of_order() {
    whatever_happens(&[("linger.ms", "0"), ("batch.size", "1")]);
}

#[test]
fn nor_with_large_batches_in_little_memory() {
    whatever_happens(&[
        ("linger.ms", "20"),
        ("batch.size", "200"),
        ("buffer.memory", "1000"),
        ("compression.type", "lz4"),
    ]);
}
