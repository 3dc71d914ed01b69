//! Scripts that chance writes: the same seed, the same script.
//!
//! A random run is nothing of its own. It is a script like any other, so what it did can be read,
//! shortened, kept in a file and played again.

use crate::types::Rng;

/// Things that happen to the cluster in one script.
const FEWEST_EVENTS: u64 = 10;
const MORE_EVENTS: u64 = 30;

/// The script of a seed.
pub fn script(seed: u64) -> String {
    let mut writer = Writer {
        rng: Rng::new(seed),
        lines: Vec::new(),
        brokers: 3,
        down: Vec::new(),
        paused: Vec::new(),
        coordination_down: false,
    };
    writer.begin(seed);
    let events = FEWEST_EVENTS + writer.rng.below(MORE_EVENTS);
    for _ in 0..events {
        writer.event();
        let wait = [5, 20, 100, 500, 3_000][writer.rng.below(5) as usize];
        let ms = 1 + writer.rng.below(wait);
        writer.line(format!("run {ms}ms"));
    }
    writer.end();
    writer.lines.join("\n") + "\n"
}

struct Writer {
    rng: Rng,
    lines: Vec<String>,
    brokers: u64,
    down: Vec<u64>,
    paused: Vec<u64>,
    coordination_down: bool,
}

impl Writer {
    fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn one_of(&mut self, words: &[&'static str]) -> &'static str {
        words[self.rng.below(words.len() as u64) as usize]
    }

    fn begin(&mut self, seed: u64) {
        self.line(format!("seed {seed}"));
        self.line(format!("brokers {}", self.brokers));
        self.line("setting zookeeper.session.timeout.ms=2000");
        self.line("setting replica.lag.time.max.ms=1000");
        self.line("setting replica.fetch.wait.max.ms=100");
        let unclean = self.one_of(&["false", "false", "true"]);
        let least = self.one_of(&["1", "2", "2"]);
        self.line(format!(
            "topic t partitions 2 replicas 3 config min.insync.replicas={least} config unclean.leader.election.enable={unclean}"
        ));
        let codec = self.one_of(&["none", "gzip", "snappy", "lz4", "zstd"]);
        self.line(format!("producer safe acks=all idempotent compression={codec}"));
        self.line("producer plain acks=all");
        self.line("producer fast acks=1");
        self.line("producer blind acks=0");
        self.line("consumer reader t-0");
        self.line("consumer other t-1");
    }

    fn event(&mut self) {
        match self.rng.below(20) {
            0..=6 => {
                let by = self.one_of(&["safe", "safe", "plain", "fast", "blind"]);
                let partition = self.rng.below(2);
                let (count, batches) = (1 + self.rng.below(5), 1 + self.rng.below(4));
                self.line(format!("produce t-{partition} {count} by {by} batches {batches}"));
            }
            7..=9 => self.kill(),
            10 | 11 => self.start(),
            12 => self.pause(),
            13 | 14 => {
                let from = 1 + self.rng.below(self.brokers);
                let to = 1 + self.rng.below(self.brokers);
                let way = self.one_of(&["", "-> "]);
                match (from == to, self.rng.below(3)) {
                    (true, _) | (_, 0) => self.line(format!("cut {from} {way}coordination")),
                    _ => self.line(format!("cut {from} {way}{to}")),
                }
            }
            15 | 16 => self.line("heal"),
            17 => {
                let (broker, ms) = (1 + self.rng.below(self.brokers), self.rng.below(40));
                self.line(format!("slow-disk {broker} {ms}ms"));
            }
            18 => self.coordination(),
            _ => {
                let what = self.one_of(&["drop", "duplicate", "delay 200ms"]);
                let packet = self.one_of(&["Produce", "Fetch", "Fetch answer", "Metadata"]);
                if what == "duplicate" {
                    self.line("try duplicate Produce");
                } else {
                    self.line(format!("try {what} {packet}"));
                }
            }
        }
    }

    fn up(&self) -> Vec<u64> {
        let is_up = |id: &u64| !self.down.contains(id) && !self.paused.contains(id);
        (1..=self.brokers).filter(is_up).collect()
    }

    fn kill(&mut self) {
        let up = self.up();
        if up.is_empty() {
            return self.start();
        }
        let id = up[self.rng.below(up.len() as u64) as usize];
        let how = self.one_of(&["crash", "crash", "power-loss"]);
        self.line(format!("try {how} {id}"));
        self.down.push(id);
    }

    fn start(&mut self) {
        if let Some(id) = self.down.pop() {
            self.line(format!("try restart {id}"));
        } else if let Some(id) = self.paused.pop() {
            self.line(format!("try resume {id}"));
        }
    }

    fn pause(&mut self) {
        let up = self.up();
        if let Some(&id) = up.get(self.rng.below(up.len().max(1) as u64) as usize) {
            self.line(format!("try pause {id}"));
            self.paused.push(id);
        }
    }

    fn coordination(&mut self) {
        if self.coordination_down {
            self.line("coordination restart");
        } else if self.rng.below(2) == 0 {
            let id = 1 + self.rng.below(self.brokers);
            return self.line(format!("lose-answer {id}"));
        } else {
            self.line("coordination crash");
        }
        self.coordination_down = !self.coordination_down;
    }

    /// All faults end, and everything must come to rest.
    fn end(&mut self) {
        self.line("heal");
        if self.coordination_down {
            self.line("coordination restart");
        }
        self.line("resume all");
        self.line("restart all");
        for id in 1..=self.brokers {
            self.line(format!("slow-disk {id} 0ms"));
        }
        // One that was paused at its start may have given up.
        self.line("run 5s");
        self.line("restart all");
        self.line("settle");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::script::Script;

    #[test]
    fn every_seed_gives_a_script_that_can_be_read() {
        for seed in 0..200 {
            let text = script(seed);
            assert_eq!(text, script(seed));
            Script::parse(&text).unwrap_or_else(|bad| panic!("seed {seed}: {bad}\n{text}"));
        }
    }
}
