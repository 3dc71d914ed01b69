//! A controller, the tree that it writes, and brokers that answer whatever they are told.
//!
//! After every step it is checked that what the tree holds is sound, that nobody was told what the
//! tree does not hold, and that the controller's image is what its mirror says.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::config::{BrokerConfig, Endpoint};
use crate::controller::passes::PARTITIONS_A_STEP;
use crate::controller::*;
use crate::coordination::{
    CoordinationOp, CoordinationReply, Found, Multi, MultiError, Op, OpId, OpResult, Read, Tree, WatchKind,
};
use crate::cx::Cx;
use crate::disk::DiskQueue;
use crate::error::{ErrorCode, Refused};
use crate::metadata::placement::UsableBroker;
use crate::metadata::topics::{self, NewTopic};
use crate::metadata::{Decide, MetadataImage, nodes};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::ResponseBody;
use crate::protocol::control::*;
use crate::trace::{EventId, Trace};
use crate::types::{BrokerId, Millis, Rng, TopicPartition};

/// Session whose ephemeral nodes the brokers' are.
const SESSION: i64 = 1;

pub struct Office {
    pub tree: Tree,
    pub controller: Controller,
    pub now: Millis,
    rng: Rng,
    disk: DiskQueue,
    trace: Trace,
    asked: VecDeque<(OpId, CoordinationOp)>,
    /// Path, and whether its children are watched.
    watches: OrderedSet<(Arc<str>, bool)>,
    unanswered: VecDeque<(TellId, BrokerId, Arc<ControlRequest>)>,
    pub told: Vec<(BrokerId, ControlRequest)>,
    pub answers: OrderedMap<CallerToken, ResponseBody>,
    pub abandoned: Vec<CallerToken>,
    pub resigned: Option<String>,
    pub said: Vec<String>,
    /// Replicas in failed directories.
    pub failed: OrderedSet<(BrokerId, TopicPartition)>,
    /// Brokers that are connected to nobody.
    pub mute: OrderedSet<BrokerId>,
    /// Partitions that one step of every controller looks at.
    a_step: usize,
    epochs: OrderedMap<Arc<str>, (i64, i32, i32)>,
}

pub fn name(topic: &str, partition: i32) -> TopicPartition {
    TopicPartition::new(topic, partition)
}

impl Office {
    /// Brokers 1 to `count` are registered, and broker 1 is elected; everything is loaded.
    pub fn new(count: i32) -> Self {
        let mut office = Self::empty(count);
        office.run();
        office
    }

    pub fn empty(count: i32) -> Self {
        let mut tree = Tree::default();
        let start = nodes::PERSISTENT
            .iter()
            .fold(Multi::new(), |multi, path| multi.create(*path, ""));
        let start = start.create(nodes::CONTROLLER_EPOCH, "1");
        tree.apply(&start, SESSION).unwrap();
        for id in 1..=count {
            tree.apply(&registration(id), SESSION).unwrap();
        }
        Self::on(tree, 1, 0)
    }

    fn on(tree: Tree, epoch: i32, version: i32) -> Self {
        let (mut rng, mut disk, mut trace) =
            (Rng::new(epoch as u64), DiskQueue::default(), Trace::recording(1));
        let mut cx = Cx {
            now: 0,
            rng: &mut rng,
            disk: &mut disk,
            trace: &mut trace,
            cause: EventId::NONE,
        };
        let config = BrokerConfig::load("f", "broker.id=1", &[]).unwrap().config;
        let controller = Controller::elected(&mut cx, epoch, version, 1, &config);
        let mut office = Self {
            tree,
            controller,
            now: 0,
            rng,
            disk,
            trace,
            asked: VecDeque::new(),
            watches: OrderedSet::new(),
            unanswered: VecDeque::new(),
            told: Vec::new(),
            answers: OrderedMap::new(),
            abandoned: Vec::new(),
            resigned: None,
            said: Vec::new(),
            failed: OrderedSet::new(),
            mute: OrderedSet::new(),
            a_step: PARTITIONS_A_STEP,
            epochs: OrderedMap::new(),
        };
        office.take();
        office
    }

    /// Likewise, with controllers that look at so few partitions in one step.
    pub fn stepping(count: i32, a_step: usize) -> Self {
        let mut office = Self::empty(count);
        office.take_steps_of(a_step);
        office.run();
        office
    }

    fn take_steps_of(&mut self, a_step: usize) {
        self.a_step = a_step;
        self.controller.passes.a_step = a_step;
    }

    /// Another controller takes the office over: the tree stays, all else begins anew.
    pub fn next_controller(&mut self) {
        let bump = self.depose();
        let mut next = Self::on(self.tree.clone(), bump.0, bump.1);
        next.epochs = std::mem::take(&mut self.epochs);
        next.take_steps_of(self.a_step);
        *self = next;
    }

    /// Another controller is elected, and the old one does not know.
    pub fn depose(&mut self) -> (i32, i32) {
        let node = self.tree.get(nodes::CONTROLLER_EPOCH).unwrap();
        let epoch = std::str::from_utf8(&node.data).unwrap().parse::<i32>().unwrap() + 1;
        let version = node.stat.version + 1;
        let bump = Multi::new().set(nodes::CONTROLLER_EPOCH, epoch.to_string(), None);
        self.tree.apply(&bump, SESSION).unwrap();
        (epoch, version)
    }

    pub fn with<R>(&mut self, work: impl FnOnce(&mut Controller, &mut Cx) -> R) -> R {
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
            disk: &mut self.disk,
            trace: &mut self.trace,
            cause: EventId::NONE,
        };
        let result = work(&mut self.controller, &mut cx);
        self.take();
        result
    }

    pub fn event(&mut self, event: ControllerEvent) {
        self.with(|controller, cx| controller.on_event(cx, event));
    }

    fn take(&mut self) {
        while let Some(output) = self.controller.poll() {
            let is_over = self.resigned.is_some();
            match output {
                ControllerOutput::Coordinate { id, op } => {
                    assert!(!is_over);
                    self.asked.push_back((id, op));
                }
                ControllerOutput::Tell {
                    tell,
                    broker,
                    request,
                } => {
                    assert!(!is_over, "after it resigned it tells nobody anything");
                    self.check_told(&request);
                    self.told.push((broker, (*request).clone()));
                    self.unanswered.push_back((tell, broker, request));
                }
                ControllerOutput::Answer { caller, body } => {
                    assert!(!is_over);
                    assert!(self.answers.insert(caller, *body).is_none(), "one answer each");
                }
                ControllerOutput::Abandon { caller } => self.abandoned.push(caller),
                ControllerOutput::Resign { why } => self.resigned = Some(why),
                ControllerOutput::Say { text, .. } => self.said.push(text),
            }
        }
    }

    /// Serves and answers until nothing is left.
    pub fn run(&mut self) {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 10_000, "it comes to rest");
        }
    }

    /// Serves one question of the controller, or answers one word of it.
    pub fn step(&mut self) -> bool {
        let did = self.serve() || self.work() || self.answer_word();
        self.check();
        did
    }

    /// One step of something long; false when there is nothing long.
    pub fn work(&mut self) -> bool {
        let has_work = self.controller.has_work();
        if has_work {
            self.with(|controller, cx| controller.work(cx));
        }
        has_work
    }

    /// Partitions whose states the controller has asked to write, since that was last served.
    pub fn states_asked(&self) -> usize {
        let multis = self.asked.iter().filter_map(|(_, op)| match op {
            CoordinationOp::Multi(multi) => Some(multi),
            CoordinationOp::Read(_) => None,
        });
        let paths = multis.flat_map(|multi| multi.ops.iter().map(Op::path));
        let states: OrderedSet<_> = paths.filter(|path| path.ends_with("/state")).collect();
        states.len()
    }

    /// Serves the oldest question; false when there is none.
    pub fn serve(&mut self) -> bool {
        let Some((id, op)) = self.asked.pop_front() else {
            return false;
        };
        let result = match op {
            CoordinationOp::Multi(multi) => self.apply(&multi).map(CoordinationReply::Multi),
            CoordinationOp::Read(reads) => Ok(CoordinationReply::Read(
                reads.into_iter().map(|read| self.look(read)).collect(),
            )),
        };
        self.with(|controller, cx| controller.coordination(cx, id, Some(result)));
        true
    }

    /// The oldest question gets no answer; a write among them happened or not.
    pub fn lose(&mut self, happened: bool) {
        let (id, op) = self.asked.pop_front().unwrap();
        if let (CoordinationOp::Multi(multi), true) = (&op, happened) {
            self.apply(multi).unwrap();
        }
        self.with(|controller, cx| controller.coordination(cx, id, None));
    }

    /// Likewise, if the oldest question is a write.
    pub fn lose_write(&mut self, happened: bool) {
        if matches!(self.asked.front(), Some((_, CoordinationOp::Multi(_)))) {
            let (id, op) = self.asked.pop_front().unwrap();
            if let (CoordinationOp::Multi(multi), true) = (&op, happened)
                && self.apply(multi).is_err()
            {
                // Refused for good: nobody would say "unknown" to that.
                return self.asked.push_front((id, op));
            }
            self.with(|controller, cx| controller.coordination(cx, id, None));
        }
    }

    fn look(&mut self, read: Read) -> Found {
        match read {
            Read::Data { path, watch } => {
                if watch {
                    self.watches.insert((path.clone(), false));
                }
                Found::Data(self.tree.get(&path).map(|node| (node.data.clone(), node.stat)))
            }
            Read::Children { path, watch } => {
                if watch {
                    self.watches.insert((path.clone(), true));
                }
                let there = self.tree.exists(&path);
                Found::Children(there.then(|| self.tree.children(&path).cloned().collect()))
            }
        }
    }

    /// Somebody else writes.
    pub fn outside(&mut self, multi: &Multi) {
        self.apply(multi).unwrap();
        self.check();
    }

    fn apply(&mut self, multi: &Multi) -> Result<Vec<OpResult>, MultiError> {
        let results = self.tree.apply(multi, SESSION)?;
        for op in &multi.ops {
            let (what, path) = match op {
                Op::Create { path, .. } => (WatchKind::Created, path),
                Op::Set { path, .. } => (WatchKind::DataChanged, path),
                Op::Delete { path, .. } => (WatchKind::Deleted, path),
                Op::Check { .. } => continue,
            };
            self.fire(path, false, what);
            if what != WatchKind::DataChanged {
                let parent: Arc<str> = path.rsplit_once('/').unwrap().0.into();
                self.fire(&parent, true, WatchKind::ChildrenChanged);
            }
        }
        Ok(results)
    }

    fn fire(&mut self, path: &Arc<str>, children: bool, what: WatchKind) {
        if self.watches.remove(&(path.clone(), children)) {
            self.with(|controller, cx| controller.watch(cx, path, what));
        }
    }

    /// The oldest word is answered by its broker.
    pub fn answer_word(&mut self) -> bool {
        let Some((tell, broker, request)) = self.unanswered.pop_front() else {
            return false;
        };
        if self.mute.contains(&broker) {
            self.event(ControllerEvent::TellFailed { tell });
            return true;
        }
        let answer = Box::new(self.carried_out(broker, &request));
        self.event(ControllerEvent::Told { tell, answer });
        true
    }

    fn carried_out(&self, broker: BrokerId, request: &ControlRequest) -> ResponseBody {
        match request {
            ControlRequest::UpdateMetadata(_) => UpdateMetadataResponse {
                error_code: ErrorCode::None,
            }
            .into(),
            ControlRequest::LeaderAndIsr(request) => {
                let topics = request.topics.iter().map(|topic| LeaderAndIsrTopicError {
                    name: topic.name.clone(),
                    topic_id: topic.topic_id,
                    partitions: topic
                        .partitions
                        .iter()
                        .map(|partition| {
                            let replica = (
                                broker,
                                TopicPartition::new(topic.name.clone(), partition.partition_index),
                            );
                            let failed = self.failed.contains(&replica);
                            LeaderAndIsrPartitionError {
                                partition_index: partition.partition_index,
                                error_code: if failed {
                                    ErrorCode::KafkaStorageError
                                } else {
                                    ErrorCode::None
                                },
                            }
                        })
                        .collect(),
                });
                LeaderAndIsrResponse {
                    error_code: ErrorCode::None,
                    topics: topics.collect(),
                }
                .into()
            }
            ControlRequest::StopReplica(request) => {
                let stopped = request.topics.iter().flat_map(|topic| {
                    topic
                        .partitions
                        .iter()
                        .map(|partition| StopReplicaPartitionError {
                            partition: TopicPartition::new(topic.name.clone(), partition.partition_index),
                            error_code: ErrorCode::None,
                        })
                });
                StopReplicaResponse {
                    error_code: ErrorCode::None,
                    partitions: stopped.collect(),
                }
                .into()
            }
        }
    }

    pub fn register(&mut self, id: BrokerId) {
        let mut multi = Multi::new();
        if self.tree.exists(&nodes::broker(id)) {
            multi = multi.delete(nodes::broker(id), None);
        }
        multi.ops.extend(registration(id).ops);
        self.outside(&multi);
    }

    /// These brokers' sessions end in one tick.
    pub fn kill(&mut self, ids: &[BrokerId]) {
        let gone = ids.iter().filter(|id| self.tree.exists(&nodes::broker(**id)));
        let multi = gone.fold(Multi::new(), |multi, id| multi.delete(nodes::broker(*id), None));
        self.outside(&multi);
    }

    pub fn create(&mut self, topic: &str, assignments: &[&[BrokerId]]) -> Result<(), Refused> {
        let new = NewTopic {
            name: topic.to_owned(),
            num_partitions: -1,
            replication_factor: -1,
            assignments: (0..)
                .zip(assignments.iter().map(|replicas| replicas.to_vec()))
                .collect(),
            configs: Vec::new(),
        };
        let usable: Vec<UsableBroker> = self.controller.image().usable_brokers();
        self.with(|controller, cx| {
            let creation = topics::create(
                controller.image(),
                &BrokerConfig::default(),
                &usable,
                &new,
                cx.rng,
            )?;
            controller.decide(cx, &creation.multi)?;
            controller.seal(cx);
            Ok(())
        })
    }

    pub fn delete(&mut self, topic: &str) {
        let topic = self.controller.image().topic(topic).unwrap().clone();
        let mark = topics::mark_deleted(&BrokerConfig::default(), &topic).unwrap();
        self.with(|controller, cx| {
            controller.decide(cx, &mark).unwrap();
            controller.seal(cx);
        });
    }

    /// `leader epoch [isr] of [replicas]`, as the tree has it.
    pub fn state(&self, topic: &str, partition: i32) -> String {
        let state: nodes::PartitionState = nodes::read(&self.tree, &nodes::partition_state(topic, partition))
            .unwrap()
            .unwrap();
        let assignment: nodes::TopicAssignment =
            nodes::read(&self.tree, &nodes::topic(topic)).unwrap().unwrap();
        format!(
            "{} {} {:?} of {:?}",
            state.leader, state.leader_epoch, state.isr, assignment.partitions[&partition]
        )
    }

    pub fn version(&self, topic: &str, partition: i32) -> i32 {
        self.tree
            .get(&nodes::partition_state(topic, partition))
            .unwrap()
            .stat
            .version
    }

    pub fn broker_epoch(&self, id: BrokerId) -> i64 {
        self.tree
            .get(&nodes::broker(id))
            .map_or(-1, |node| node.stat.czxid)
    }

    /// What each broker was told since the last call, one word a line.
    pub fn heard(&mut self) -> Vec<String> {
        let told = std::mem::take(&mut self.told);
        told.iter()
            .map(|(broker, request)| format!("{broker}: {}", shown(request)))
            .collect()
    }

    fn check(&mut self) {
        for topic in self.tree.children(nodes::TOPICS) {
            let Ok(Some(assignment)) =
                nodes::read::<nodes::TopicAssignment>(&self.tree, &nodes::topic(topic))
            else {
                continue;
            };
            for (index, replicas) in &assignment.partitions {
                let path: Arc<str> = nodes::partition_state(topic, *index).into();
                let Ok(Some(state)) = nodes::read::<nodes::PartitionState>(&self.tree, &path) else {
                    continue;
                };
                assert!(
                    state.leader == -1 || state.isr.contains(&state.leader),
                    "{path}: {state:?}"
                );
                assert!(
                    state.isr.iter().all(|id| replicas.contains(id)),
                    "{path}: {state:?} of {replicas:?}"
                );
                assert!(!state.isr.is_empty(), "{path}");
                let stat = self.tree.get(&path).unwrap().stat;
                let now = (stat.czxid, state.leader_epoch, state.controller_epoch);
                if let Some(before) = self.epochs.insert(path.clone(), now)
                    && before.0 == now.0
                {
                    assert!(now.1 >= before.1 && now.2 >= before.2, "{path}: epochs only rise");
                }
            }
        }
        // While topics are read, the mirror has them before the image.
        if self.resigned.is_none() && self.controller.is_serving() && self.controller.reads.is_empty() {
            let (mut afresh, _) = MetadataImage::read(&self.controller.mirror);
            afresh.set_controller(self.controller.me, self.controller.epoch());
            assert_eq!(
                **self.controller.image(),
                afresh,
                "the image is what the mirror says"
            );
        }
    }

    /// Nobody hears of a state that the tree does not hold yet.
    fn check_told(&self, request: &ControlRequest) {
        let ControlRequest::LeaderAndIsr(request) = request else {
            return;
        };
        for topic in &request.topics {
            for said in &topic.partitions {
                let path = nodes::partition_state(&topic.name, said.partition_index);
                let Some(node) = self.tree.get(&path) else {
                    continue;
                };
                assert!(
                    node.stat.version >= said.partition_epoch,
                    "{path} is told before it is written"
                );
                if node.stat.version == said.partition_epoch {
                    let state: nodes::PartitionState = nodes::read(&self.tree, &path).unwrap().unwrap();
                    assert_eq!((state.leader, &state.isr), (said.leader, &said.isr), "{path}");
                }
            }
        }
    }
}

fn registration(id: BrokerId) -> Multi {
    let endpoint = Endpoint {
        name: "PLAINTEXT".to_owned(),
        host: "127.0.0.1".to_owned(),
        port: 9000 + id as u16,
    };
    let node = nodes::Broker::new(&[endpoint], None, 0);
    Multi::new().create_ephemeral(nodes::broker(id), nodes::write(&node))
}

fn shown(request: &ControlRequest) -> String {
    match request {
        ControlRequest::LeaderAndIsr(request) => {
            let partitions = request.topics.iter().flat_map(|topic| {
                topic.partitions.iter().map(|p| {
                    let new = if p.is_new { " new" } else { "" };
                    format!(
                        " {}-{}={}/{}{new}",
                        topic.name, p.partition_index, p.leader, p.leader_epoch
                    )
                })
            });
            format!("LeaderAndIsr{}", partitions.collect::<String>())
        }
        ControlRequest::UpdateMetadata(request) => {
            let partitions = request.topics.iter().flat_map(|topic| {
                topic.partitions.iter().map(|p| {
                    let offline = match p.offline_replicas.is_empty() {
                        true => String::new(),
                        false => format!(" offline {:?}", p.offline_replicas),
                    };
                    format!(" {}-{}={}{offline}", topic.name, p.partition_index, p.leader)
                })
            });
            let brokers: Vec<i32> = request.live_brokers.iter().map(|broker| broker.id).collect();
            format!("UpdateMetadata of {brokers:?}{}", partitions.collect::<String>())
        }
        ControlRequest::StopReplica(request) => {
            let partitions = request.topics.iter().flat_map(|topic| {
                topic.partitions.iter().map(|p| {
                    let delete = if p.delete_partition { " delete" } else { "" };
                    format!(" {}-{}{delete}", topic.name, p.partition_index)
                })
            });
            format!("StopReplica{}", partitions.collect::<String>())
        }
    }
}
