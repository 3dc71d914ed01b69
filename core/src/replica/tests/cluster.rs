//! The little cluster that the tests drive.

use std::sync::Arc;

use crate::error::ErrorCode;
use crate::log::testing::{DAY_MS, Host, batch};
use crate::log::{JobResult, LogConfig};
use crate::protocol::fetch::{
    EpochEndOffset, FetchRequest, Fetched, FetchedPartition, FetchedRecords, FetchedTopic,
};
use crate::record::Batches;
use crate::replica::fetcher::{EpochAnswer, FetcherSettings, TruncateBy};
use crate::replica::{
    EpochEnd, Fetcher, FetcherRequest, Followed, FollowerFetch, FollowerLogs, FollowerRead, IsrAnswer, Moved,
    Partition, PartitionState, Proposal, Replication, Standing, Waiting,
};
use crate::types::{BrokerId, LeaderEpoch, Millis, Offset, TopicPartition, Uuid};

pub const LAG_MS: Millis = 10_000;

/// A batch as it lies in a log: where, of which epoch, and which (by its timestamp).
pub type Seen = (Offset, LeaderEpoch, Millis);

pub struct Node {
    pub host: Host,
    pub shared: Replication,
    pub partition: Partition,
    pub fetcher: Option<Fetcher>,
    /// A dead node neither fetches nor answers.
    pub alive: bool,
}

pub struct Logs<'a>(pub &'a mut Partition);

impl FollowerLogs for Logs<'_> {
    fn partition(&mut self, name: &TopicPartition) -> Option<&mut Partition> {
        (self.0.name() == name).then_some(&mut *self.0)
    }
}

pub struct Cluster {
    pub nodes: Vec<Node>,
    /// What the controller says.
    pub state: PartitionState,
    settings: FetcherSettings,
    next_timestamp: Millis,
    /// Produces with acks=all that wait: the end offset and the batch, by the part's number.
    waiting: Vec<Seen>,
    /// What was acknowledged to a producer with acks=all.
    pub acknowledged: Vec<Seen>,
    /// Drop the controller's answers.
    pub controller_is_away: bool,
}

pub fn name() -> TopicPartition {
    TopicPartition::new("t", 0)
}

fn settings(truncate_by: TruncateBy) -> FetcherSettings {
    FetcherSettings {
        max_bytes: 1 << 20,
        min_bytes: 1,
        wait_max_ms: 500,
        response_max_bytes: 10 << 20,
        backoff_ms: 1_000,
        producer_expiration_ms: DAY_MS,
        truncate_by,
    }
}

impl Cluster {
    /// Brokers 0.. each with a replica; broker 0 leads in epoch 0, all are in sync.
    pub fn new(brokers: i32, min_insync_replicas: u32, truncate_by: TruncateBy) -> Self {
        let live = (0..brokers).map(|id| {
            let standing = Standing {
                epoch: 100 + i64::from(id),
                shutting_down: false,
            };
            (id, standing)
        });
        let live: crate::ordered::OrderedMap<_, _> = live.collect();
        let nodes = (0..brokers).map(|me| {
            let mut host = Host::new();
            let log = host.create(LogConfig {
                min_insync_replicas,
                ..LogConfig::default()
            });
            Node {
                partition: Partition::new(log, 0),
                host,
                shared: Replication {
                    me,
                    broker_epoch: 100 + i64::from(me),
                    lag_time_max_ms: LAG_MS,
                    check_broker_epochs: true,
                    live: live.clone(),
                },
                fetcher: None,
                alive: true,
            }
        });
        let mut cluster = Self {
            nodes: nodes.collect(),
            state: PartitionState {
                leader_epoch: -1,
                partition_epoch: -1,
                isr: (0..brokers).collect(),
                replicas: (0..brokers).collect(),
                ..PartitionState::default()
            },
            settings: settings(truncate_by),
            next_timestamp: 1_700_000_000_000,
            waiting: Vec::new(),
            acknowledged: Vec::new(),
            controller_is_away: false,
        };
        cluster.elect(0);
        cluster
    }

    pub fn leader(&self) -> usize {
        self.state.leader as usize
    }

    pub fn leading(&mut self) -> &mut Node {
        let leader = self.leader();
        &mut self.nodes[leader]
    }

    /// A new leader epoch: this broker leads, those that live hear of it.
    pub fn elect(&mut self, leader: BrokerId) {
        self.state.leader = leader;
        self.state.leader_epoch += 1;
        self.state.partition_epoch += 1;
        for id in 0..self.nodes.len() {
            if self.nodes[id].alive {
                self.tell(id);
            }
        }
    }

    /// The controller's word reaches a broker.
    pub fn tell(&mut self, id: usize) {
        let state = self.state.clone();
        let settings = self.settings;
        let node = &mut self.nodes[id];
        let mut cx = node.host.cx();
        let transition = if state.leader as usize == id {
            node.fetcher = None;
            node.partition.make_leader(&mut cx, &node.shared, &state)
        } else {
            node.partition.make_follower(&mut cx, &state)
        };
        let transition = transition.unwrap();
        let mut followed = Vec::new();
        if state.leader as usize != id {
            let fetcher = node
                .fetcher
                .take()
                .filter(|fetcher| fetcher.leader() == state.leader);
            let mut fetcher = fetcher.unwrap_or_else(|| Fetcher::new(state.leader, settings));
            let logs = &mut Logs(&mut node.partition);
            followed = fetcher.add(&mut cx, logs, &name(), Uuid([7; 16]), state.leader_epoch);
            node.fetcher = Some(fetcher);
        }
        self.moved(id, transition.moved);
        self.follow(id, followed);
    }

    /// Carries out what a broker's disk has to do, and all that follows.
    pub fn settle(&mut self, id: usize) {
        let node = &mut self.nodes[id];
        let done = node.host.carry_out(usize::MAX);
        let mut cx = node.host.cx();
        if let Ok(log) = node.partition.log_mut() {
            log.aside_done(done.aside);
        }
        let moved = node.partition.disk_done(&mut cx, &node.shared, done.strict);
        let mut followed = Vec::new();
        if let Some(fetcher) = &mut node.fetcher {
            let logs = &mut Logs(&mut node.partition);
            followed = fetcher.written(&mut cx, logs, &name(), done.strict);
        }
        self.moved(id, moved);
        self.follow(id, followed);
    }

    fn follow(&mut self, id: usize, followed: Vec<Followed>) {
        for Followed {
            moved,
            wait_for,
            rebuild,
            ..
        } in followed
        {
            self.moved(id, moved);
            if wait_for.is_some() {
                self.settle(id);
            }
            if let Some((number, job)) = rebuild {
                let node = &mut self.nodes[id];
                let JobResult::Rebuilt(rebuilt) = node.host.run(job) else {
                    panic!("another job")
                };
                let fetcher = node.fetcher.as_mut().unwrap();
                let logs = &mut Logs(&mut node.partition);
                let cx = &mut node.host.cx();
                let followed = fetcher.rebuilt(cx, logs, &name(), number, *rebuilt.unwrap());
                self.follow(id, followed);
            }
        }
    }

    fn moved(&mut self, id: usize, moved: Moved) {
        for waiting in moved.acknowledged {
            self.acknowledged.push(self.waiting[waiting.part as usize]);
        }
        if let Some(proposal) = moved.proposal {
            self.propose(id, &proposal);
        }
    }

    /// The controller decides on a proposal, as it decides on all that are not outdated.
    pub fn propose(&mut self, id: usize, proposal: &Proposal) {
        if self.controller_is_away {
            return;
        }
        let known = &self.state;
        let lives = |&(broker, epoch): &(BrokerId, i64)| {
            let node = &self.nodes[broker as usize];
            node.alive && (epoch == -1 || epoch == node.shared.broker_epoch)
        };
        let answer = if proposal.leader_epoch != known.leader_epoch {
            Err(ErrorCode::FencedLeaderEpoch)
        } else if proposal.partition_epoch != known.partition_epoch {
            Err(ErrorCode::InvalidUpdateVersion)
        } else if !proposal.isr.iter().all(lives) {
            Err(ErrorCode::IneligibleReplica)
        } else {
            self.state.isr = proposal.isr.iter().map(|(broker, _)| *broker).collect();
            self.state.partition_epoch += 1;
            Ok(IsrAnswer {
                isr: self.state.isr.clone(),
                leader_epoch: proposal.leader_epoch,
                partition_epoch: self.state.partition_epoch,
            })
        };
        let node = &mut self.nodes[id];
        let cx = &mut node.host.cx();
        let moved = node.partition.proposal_done(cx, &node.shared, proposal, answer);
        self.moved(id, moved);
    }

    /// Appends one record with acks=all; its error, if it is refused.
    pub fn produce(&mut self) -> Result<(), ErrorCode> {
        self.next_timestamp += 1;
        let timestamp = self.next_timestamp;
        let id = self.leader();
        let node = &mut self.nodes[id];
        node.partition
            .check_append(&mut node.host.cx(), true)
            .map_err(|refused| refused.code)?;
        let epoch = node.partition.leader_epoch();
        let appended = node
            .partition
            .append(&mut node.host.cx(), &batch(&[timestamp], 10));
        let (appended, _) = appended.unwrap();
        self.waiting.push((appended.base_offset, epoch, timestamp));
        self.settle(id);
        let waiting = Waiting {
            parked: 1,
            part: self.waiting.len() as u32 - 1,
        };
        let until = appended.last_offset + 1;
        let node = &mut self.nodes[id];
        let waits = node.partition.wait(until, epoch, true, waiting);
        if !waits.map_err(|refused| refused.code)? {
            self.acknowledged.push(self.waiting[waiting.part as usize]);
        }
        Ok(())
    }

    /// One exchange of a follower with the leader, if it has something to ask.
    pub fn fetch(&mut self, id: usize) {
        self.exchange(id, true);
    }

    /// The same, but the answer to a fetch is lost.
    pub fn fetch_and_lose_the_answer(&mut self, id: usize) {
        self.exchange(id, false);
    }

    fn exchange(&mut self, id: usize, answered: bool) {
        let node = &mut self.nodes[id];
        let Some(fetcher) = node.fetcher.as_mut().filter(|_| node.alive) else {
            return;
        };
        let logs = &mut Logs(&mut node.partition);
        let Some(request) = fetcher.next_request(&mut node.host.cx(), &node.shared, logs) else {
            return;
        };
        let is_right = fetcher.leader() == self.state.leader;
        let reachable = is_right && self.nodes[self.leader()].alive;
        match request {
            FetcherRequest::Fetch(request) if reachable => {
                let answer = self.answer_fetch(&request);
                self.take(
                    id,
                    answered.then_some(answer).ok_or(()),
                    |fetcher, cx, logs, answer| fetcher.fetched(cx, logs, answer),
                );
            }
            FetcherRequest::EpochEnds(questions) if reachable => {
                let leader = self.leader();
                let ends = questions.into_iter().map(|asked| {
                    let end = self.nodes[leader].partition.end_offset_for(asked.epoch);
                    EpochAnswer {
                        partition: asked.partition,
                        end: end
                            .map(|(epoch, end_offset)| EpochEnd { epoch, end_offset })
                            .map_err(|refused| refused.code),
                    }
                });
                let ends: Vec<_> = ends.collect();
                self.take(id, Ok(ends), |fetcher, cx, logs, ends| {
                    fetcher.epochs_answered(cx, logs, &ends)
                });
            }
            FetcherRequest::Offset(question) if reachable => {
                let log = self.nodes[self.leader()].partition.log().unwrap();
                let offset = if question.timestamp == -1 {
                    log.log_end()
                } else {
                    log.log_start()
                };
                self.take(id, Ok(offset), |fetcher, cx, logs, offset| {
                    fetcher.offset_answered(cx, logs, Ok(offset))
                });
            }
            _ => self.take(id, Err::<(), ()>(()), |_, _, _, ()| Vec::new()),
        }
    }

    fn take<T>(
        &mut self,
        id: usize,
        answer: Result<T, ()>,
        hand: impl FnOnce(&mut Fetcher, &mut crate::cx::Cx, &mut dyn FollowerLogs, T) -> Vec<Followed>,
    ) {
        let node = &mut self.nodes[id];
        let fetcher = node.fetcher.as_mut().unwrap();
        let mut cx = node.host.cx();
        let logs = &mut Logs(&mut node.partition);
        let followed = match answer {
            Ok(answer) => hand(fetcher, &mut cx, logs, answer),
            Err(()) => {
                fetcher.request_failed(&mut cx);
                Vec::new()
            }
        };
        self.follow(id, followed);
    }

    /// The leader's answer; it keeps no sessions.
    pub fn answer_fetch(&mut self, request: &FetchRequest) -> Fetched {
        let leader = self.leader();
        let topics = request.topics.iter().map(|topic| FetchedTopic {
            name: topic.name.clone(),
            topic_id: topic.topic_id,
            partitions: topic
                .partitions
                .iter()
                .map(|asked| {
                    let fetch = FollowerFetch {
                        replica: request.replica_id,
                        broker_epoch: request.replica_epoch,
                        offset: asked.fetch_offset,
                        log_start: asked.log_start_offset,
                        current_leader_epoch: asked.current_leader_epoch,
                        last_fetched_epoch: asked.last_fetched_epoch,
                    };
                    let node = &mut self.nodes[leader];
                    let cx = &mut node.host.cx();
                    let read = node.partition.follower_fetches(cx, &node.shared, &fetch);
                    let mut part = FetchedPartition {
                        partition: asked.partition,
                        error_code: ErrorCode::None,
                        high_watermark: -1,
                        log_start_offset: -1,
                        diverging_epoch: None,
                        current_leader: None,
                        records: Ok(FetchedRecords::default()),
                    };
                    match read {
                        Err(refused) => part.error_code = refused.code,
                        Ok(FollowerRead::Diverges(EpochEnd { epoch, end_offset })) => {
                            part.diverging_epoch = Some(EpochEndOffset { epoch, end_offset });
                        }
                        Ok(FollowerRead::Reads(moved)) => {
                            self.moved(leader, moved);
                            let node = &self.nodes[leader];
                            let log = node.partition.log().unwrap();
                            let bytes = node.host.fetch(log, asked.fetch_offset, 1 << 20);
                            part.high_watermark = node.partition.high_watermark();
                            part.log_start_offset = log.log_start();
                            part.records = Ok(FetchedRecords {
                                batches: Batches::new(bytes).map(Result::unwrap).collect(),
                                cut_off_bytes: 0,
                            });
                        }
                    }
                    part
                })
                .collect(),
        });
        Fetched {
            error_code: ErrorCode::None,
            session_id: 0,
            topics: topics.collect(),
            node_endpoints: Vec::new(),
        }
    }

    /// Time passes for all.
    pub fn wait(&mut self, ms: Millis) {
        for node in &mut self.nodes {
            node.host.now += ms;
        }
    }

    /// The leader looks for members that lag.
    pub fn shrink(&mut self) {
        let id = self.leader();
        let node = &mut self.nodes[id];
        let cx = &mut node.host.cx();
        if let Some(proposal) = node.partition.maybe_shrink_isr(cx, &node.shared) {
            self.propose(id, &proposal);
        }
    }

    /// Everyone who lives fetches until nothing is new.
    pub fn catch_up(&mut self) {
        for _ in 0..12 {
            for id in 0..self.nodes.len() {
                self.fetch(id);
            }
            self.wait(1_000);
        }
    }

    /// A broker dies; its log stays as it is.
    pub fn kill(&mut self, id: usize) {
        self.nodes[id].alive = false;
    }

    /// It comes back in a new life, knowing the high watermark that it had written down.
    pub fn start(&mut self, id: usize, high_watermark: Offset) {
        let node = &mut self.nodes[id];
        let log = node.partition.log().unwrap().clone();
        node.partition = Partition::new(log, high_watermark);
        node.fetcher = None;
        node.alive = true;
        let epoch = node.shared.broker_epoch + 100;
        for node in &mut self.nodes {
            node.shared.live.entry(id as BrokerId).or_default().epoch = epoch;
        }
        self.nodes[id].shared.broker_epoch = epoch;
    }

    pub fn log_of(&self, id: usize) -> Vec<Seen> {
        let node = &self.nodes[id];
        let headers = node.host.read_all(node.partition.log().unwrap(), 0);
        let seen = headers.iter();
        seen.map(|h| (h.base_offset, h.partition_leader_epoch, h.max_timestamp))
            .collect()
    }

    /// Cuts a broker's log as a loss of power would.
    pub fn lose(&mut self, id: usize, from: Offset) {
        let node = &mut self.nodes[id];
        let mut log = node.partition.log().unwrap().clone();
        node.host.truncate(&mut log, from);
        node.partition = Partition::new(log, 0);
    }

    pub fn high_watermark(&self, id: usize) -> Offset {
        self.nodes[id].partition.high_watermark()
    }

    pub fn log_end(&self, id: usize) -> Offset {
        self.nodes[id].partition.log().unwrap().log_end()
    }
}

/// Keeps the log's settings where a test wants others.
pub fn set_min_isr(node: &mut Node, min_insync_replicas: u32) {
    let log = node.partition.log_mut().unwrap();
    log.set_config(Arc::new(LogConfig {
        min_insync_replicas,
        ..LogConfig::default()
    }));
}
