//! Scripts that chance writes: the same seed, the same script.
//!
//! A random run is nothing of its own. It is a script like any other, so what it did can be read,
//! shortened, kept in a file and played again.
//!
//! Beside producers and readers there is a group, whose members come, leave, die and are busy.
//!
//! Every fault that a world knows is drawn: crash, clean stop, loss of power, pause, a cut in one or both
//! directions, a packet dropped, delayed or sent twice, a slow disk, a full one, a clock that is wrong,
//! and the coordination service gone or its answer lost. They end before the script does, and then
//! everything must come to rest.

use crate::types::Rng;

/// Things that happen to the cluster in one script.
const FEWEST_EVENTS: u64 = 10;
const MORE_EVENTS: u64 = 30;
/// In one that shall be short.
const FEW_EVENTS: u64 = 8;
/// At most so long between two of them, each as likely.
const WAITS_MS: [u64; 5] = [5, 20, 100, 500, 3_000];
const SHORT_WAITS_MS: [u64; 3] = [5, 20, 100];
/// A clock is wrong by less than this, either way.
const SKEW_MS: u64 = 3_000;
/// So many bytes more may fit on a disk that is nearly full.
const LEFT_BYTES: u64 = 4_000;

const MEMBERS: [&str; 3] = ["one", "two", "three"];
const ASSIGNORS: [&str; 4] = ["range", "roundrobin", "sticky", "cooperative-sticky"];

const CODECS: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];

/// The script of a seed.
pub fn script(seed: u64) -> String {
    let mut writer = Writer::new(seed);
    let codec = writer.one_of(&CODECS);
    writer.begin(seed, codec);
    let events = FEWEST_EVENTS + writer.rng.below(MORE_EVENTS);
    for _ in 0..events {
        writer.event();
        writer.wait(&WAITS_MS);
    }
    writer.end();
    writer.lines.join("\n") + "\n"
}

/// A short one, that ends in the middle: for worlds that are played often, or where playing is slow. Of five
/// seeds in a row each has another codec.
pub fn short_script(seed: u64) -> String {
    let mut writer = Writer::new(seed);
    let codec = CODECS[(seed % CODECS.len() as u64) as usize];
    writer.begin(seed, codec);
    writer.line(format!("produce t-{} 6 by safe every 3ms", seed % 2));
    for _ in 0..FEW_EVENTS {
        writer.event();
        writer.wait(&SHORT_WAITS_MS);
    }
    writer.lines.join("\n") + "\n"
}

struct Writer {
    rng: Rng,
    lines: Vec<String>,
    brokers: u64,
    down: Vec<u64>,
    paused: Vec<u64>,
    full: Vec<u64>,
    coordination_down: bool,
    /// What all members of the group are set to.
    member: String,
    /// Members that are there, and those of them that are busy.
    members: Vec<&'static str>,
    busy: Vec<&'static str>,
}

impl Writer {
    fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            lines: Vec::new(),
            brokers: 3,
            down: Vec::new(),
            paused: Vec::new(),
            full: Vec::new(),
            coordination_down: false,
            member: String::new(),
            members: Vec::new(),
            busy: Vec::new(),
        }
    }

    fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn one_of(&mut self, words: &[&'static str]) -> &'static str {
        words[self.rng.below(words.len() as u64) as usize]
    }

    fn any_broker(&mut self) -> u64 {
        1 + self.rng.below(self.brokers)
    }

    fn wait(&mut self, waits_ms: &[u64]) {
        let most = waits_ms[self.rng.below(waits_ms.len() as u64) as usize];
        let ms = 1 + self.rng.below(most);
        self.line(format!("run {ms}ms"));
    }

    fn begin(&mut self, seed: u64, codec: &str) {
        self.line(format!("seed {seed}"));
        self.line(format!("brokers {}", self.brokers));
        self.line("setting zookeeper.session.timeout.ms=2000");
        self.line("setting replica.lag.time.max.ms=1000");
        self.line("setting replica.fetch.wait.max.ms=100");
        self.line("setting offsets.topic.num.partitions=1");
        let unclean = self.one_of(&["false", "false", "true"]);
        let least = self.one_of(&["1", "2", "2"]);
        self.line(format!(
            "topic t partitions 2 replicas 3 config min.insync.replicas={least} config unclean.leader.election.enable={unclean}"
        ));
        self.line(format!("producer safe compression.type={codec}"));
        self.line("producer plain enable.idempotence=false linger.ms=0");
        self.line("producer fast acks=1");
        self.line("producer blind acks=0");
        self.line("consumer reader t-0");
        self.line("consumer other t-1");
        let assignor = self.one_of(&ASSIGNORS);
        // A coordinator that lost its power is silent, and a member waits for it as long as a rebalance may take.
        let commits = self.one_of(&["", " commits=before", " commits=after"]);
        self.member = format!(
            "group.id=g partition.assignment.strategy={assignor} auto.offset.reset=earliest auto.commit.interval.ms=1000 session.timeout.ms=6000 heartbeat.interval.ms=1000 max.poll.interval.ms=15000{commits}"
        );
        self.joins("one");
        self.joins("two");
    }

    fn joins(&mut self, name: &'static str) {
        let settings = self.member.clone();
        self.line(format!("consumer {name} {settings}"));
        self.line(format!("subscribe {name} t"));
        self.members.push(name);
    }

    /// A member comes, goes in one way or another, or is busy for a while.
    fn member(&mut self) {
        if let Some(name) = self.busy.pop() {
            return self.line(format!("poll {name}"));
        }
        let absent = MEMBERS.iter().find(|name| !self.members.contains(name));
        if let (Some(name), 0 | 1) = (absent, self.rng.below(3)) {
            return self.joins(name);
        }
        if self.members.is_empty() {
            return;
        }
        let name = self
            .members
            .remove(self.rng.below(self.members.len() as u64) as usize);
        match self.rng.below(3) {
            0 => self.line(format!("kill {name}")),
            1 => self.line(format!("close {name}")),
            _ => {
                self.line(format!("busy {name}"));
                self.members.push(name);
                self.busy.push(name);
            }
        }
    }

    fn event(&mut self) {
        match self.rng.below(27) {
            0..=6 => self.produce(),
            7..=9 => self.kill(),
            10 | 11 => self.start(),
            12 => self.pause(),
            13 | 14 => self.cut(),
            15 | 16 => self.line("heal"),
            17 => {
                let (broker, ms) = (self.any_broker(), self.rng.below(40));
                self.line(format!("slow-disk {broker} {ms}ms"));
            }
            18 => self.coordination(),
            19 => self.fill(),
            20 => {
                let broker = self.any_broker();
                let by_ms = self.rng.below(2 * SKEW_MS) as i64 - SKEW_MS as i64;
                self.line(format!("skew {broker} {by_ms}ms"));
            }
            21..=23 => self.packet(),
            _ => self.member(),
        }
    }

    fn produce(&mut self) {
        let by = self.one_of(&["safe", "safe", "plain", "fast", "blind"]);
        let partition = self.rng.below(2);
        let count = 1 + self.rng.below(20);
        let every = self.one_of(&["", " every 2ms", " every 10ms", " every 50ms"]);
        self.line(format!("produce t-{partition} {count} by {by}{every}"));
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
        let how = self.rng.below(6);
        self.line(match how {
            0..=2 => format!("try crash {id}"),
            3 => format!("try power-loss {id}"),
            4 => format!("try power-loss {id} keeping"),
            _ => format!("try stop {id}"),
        });
        self.down.push(id);
    }

    fn start(&mut self) {
        if let Some(id) = self.down.pop() {
            self.mend(id);
            self.line(format!("try restart {id}"));
        } else if let Some(id) = self.paused.pop() {
            self.line(format!("try resume {id}"));
        } else if let Some(&id) = self.full.last() {
            self.mend(id);
            self.line(format!("try restart {id}"));
        }
    }

    fn mend(&mut self, id: u64) {
        if self.full.contains(&id) {
            self.full.retain(|&full| full != id);
            self.line(format!("mend-disk {id}"));
        }
    }

    fn pause(&mut self) {
        let up = self.up();
        if let Some(&id) = up.get(self.rng.below(up.len().max(1) as u64) as usize) {
            self.line(format!("try pause {id}"));
            self.paused.push(id);
        }
    }

    fn cut(&mut self) {
        let (from, to) = (self.any_broker(), self.any_broker());
        let way = self.one_of(&["", "-> "]);
        match (from == to, self.rng.below(3)) {
            (true, _) | (_, 0) => self.line(format!("cut {from} {way}coordination")),
            _ => self.line(format!("cut {from} {way}{to}")),
        }
    }

    fn coordination(&mut self) {
        if self.coordination_down {
            self.line("coordination restart");
        } else if self.rng.below(2) == 0 {
            let id = self.any_broker();
            return self.line(format!("lose-answer {id}"));
        } else {
            self.line("coordination crash");
        }
        self.coordination_down = !self.coordination_down;
    }

    /// The broker whose disk is full ends, since it has no other.
    fn fill(&mut self) {
        let (id, left) = (self.any_broker(), self.rng.below(LEFT_BYTES));
        self.line(format!("full-disk {id} {left}"));
        if !self.full.contains(&id) {
            self.full.push(id);
        }
    }

    fn packet(&mut self) {
        let fate = self.one_of(&["drop", "delay 200ms", "duplicate"]);
        // Only what a client asks can come twice.
        let requests = ["Produce", "Produce", "Metadata", "InitProducerId"];
        let between = [
            "Fetch",
            "Fetch",
            "LeaderAndIsr",
            "UpdateMetadata",
            "AlterPartition",
        ];
        let what = match (fate, self.rng.below(2)) {
            ("duplicate", _) => "Produce",
            (_, 0) => self.one_of(&requests),
            _ => self.one_of(&between),
        };
        self.line(format!("try step until PacketSent what={what} within 300ms"));
        let answer = match self.rng.below(3) {
            0 if fate != "duplicate" => " answer",
            _ => "",
        };
        self.line(format!("try {fate} {what}{answer}"));
    }

    /// All faults end, and everything must come to rest.
    fn end(&mut self) {
        self.line("heal");
        if self.coordination_down {
            self.line("coordination restart");
        }
        for id in std::mem::take(&mut self.full) {
            self.line(format!("mend-disk {id}"));
        }
        for name in std::mem::take(&mut self.busy) {
            self.line(format!("poll {name}"));
        }
        self.line("resume all");
        self.line("restart all");
        for id in 1..=self.brokers {
            self.line(format!("slow-disk {id} 0ms"));
            self.line(format!("skew {id} 0ms"));
        }
        // One that was paused at its start, or was about to stop, may end only now.
        self.line("run 30s");
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
            for write in [script, short_script] {
                let text = write(seed);
                assert_eq!(text, write(seed));
                Script::parse(&text).unwrap_or_else(|bad| panic!("seed {seed}: {bad}\n{text}"));
            }
        }
    }

    #[test]
    fn every_fault_is_drawn() {
        let all: String = (0..200).map(script).collect();
        for fault in [
            "try crash ",
            "try stop ",
            "try power-loss 1\n",
            "try power-loss 1 keeping\n",
            "try restart ",
            "try pause ",
            "cut 1 2\n",
            "cut 1 -> 2\n",
            "cut 1 -> coordination\n",
            "try drop ",
            "try delay ",
            "try duplicate ",
            "slow-disk ",
            "full-disk ",
            "skew 1 -",
            "coordination crash",
            "lose-answer ",
            "consumer three ",
            "kill ",
            "close ",
            "busy ",
            "poll ",
        ] {
            assert!(all.contains(fault), "no script says `{fault}`");
        }
    }
}
