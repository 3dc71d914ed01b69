//! Many lives by chance: produce, retry, hold, kill, lose power, delete records, wait. Whatever
//! happened, what was acknowledged is there once and in order.

use super::client::*;
use crate::error::ErrorCode;
use crate::record::{BatchBuilder, Codec};
use crate::sim::Host;
use crate::types::Rng;

/// One producer that never knows more than a client knows.
struct Producer {
    id: i64,
    sequence: i32,
    /// What it was told is safe, and what it has tried last without an answer.
    acknowledged: Vec<String>,
    doubtful: Option<(i32, String)>,
}

impl Producer {
    /// Sends the next value, or the doubtful one again, and takes the answer if it comes.
    fn send(&mut self, host: &mut Host) {
        let (sequence, value) = self.doubtful.clone().unwrap_or_else(|| {
            let value = format!("v{}", self.sequence);
            (self.sequence, value)
        });
        let mut builder = BatchBuilder::new(Codec::None).producer(self.id, 0, sequence);
        builder.append(host.now, None, Some(value.as_bytes()), &[]);
        let conn = host.connect();
        let request = produce_request("t", 0, -1, builder.build());
        let request = host.send(conn, PRODUCE, &request);
        self.doubtful = Some((sequence, value.clone()));
        let Some(answer) = host.answer(conn, request) else {
            return;
        };
        let row = produced(Some(answer)).topics[0].partitions[0].clone();
        assert_eq!(row.error_code, ErrorCode::None, "{:?}", row.error_message);
        self.doubtful = None;
        self.sequence = sequence + 1;
        self.acknowledged.push(value);
    }

    /// The log holds exactly what was acknowledged, and perhaps the value in doubt.
    fn check(&self, host: &mut Host, seed: u64) {
        let mut found = read_all(host, "t");
        if found.len() > self.acknowledged.len() {
            let last = found.pop();
            assert_eq!(
                last,
                self.doubtful.as_ref().map(|(_, value)| value.clone()),
                "seed {seed}"
            );
        }
        assert_eq!(found, self.acknowledged, "seed {seed}");
    }
}

fn live(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut host = broker();
    create_topic(
        &mut host,
        "t",
        &[
            ("flush.messages", "1"),
            ("internal.segment.bytes", "500"),
            ("index.interval.bytes", "100"),
        ],
    );
    let mut producer = Producer {
        id: 7,
        sequence: 0,
        acknowledged: Vec::new(),
        doubtful: None,
    };
    for _ in 0..60 {
        match rng.below(20) {
            0 => {
                // Operations that never happen: the process dies with them.
                host.hold(0);
                producer.send(&mut host);
                host.crash();
                host.boot();
            }
            1 => {
                host.crash();
                host.boot();
            }
            2 => {
                host.lose_power_keeping(&mut rng);
                host.boot();
            }
            3 => {
                host.shut_down();
                host.boot();
            }
            4 => host.advance(rng.below(400_000) as i64),
            _ => producer.send(&mut host),
        }
        assert!(host.ready, "seed {seed}: {:?}", host.said);
    }
    producer.check(&mut host, seed);
}

#[test]
fn whatever_happens_acknowledged_records_are_there_once_and_in_order() {
    // An interpreter of wasm32 is some fifty times slower.
    let seeds = if cfg!(target_arch = "wasm32") { 2 } else { 40 };
    (0..seeds).for_each(live);
}
