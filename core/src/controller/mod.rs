//! The controller: the one broker that decides for the cluster (`kafka.controller.KafkaController`).
//!
//! A value with one owner, the broker that was elected. It reads what the coordination tree holds
//! ([`loading`]), and from then on every event is a decision on an immutable image:
//!
//! ```text
//! event -> decide on the image -> changed nodes, one multi that checks /controller_epoch
//!                              -> done to mirror and image at once
//!                              -> words to brokers, answers to clients: behind that multi ([`pending`])
//! ```
//!
//! Reading order: [`election`], [`reassignment`], [`balance`], [`partition_state`], [`replica_state`] are
//! pure ideas; [`mirror`], [`pending`], [`tell`], [`channels`], [`passes`] are the machinery; [`leadership`],
//! [`brokers`], [`alter_partition`], [`topics`], [`deletion`], [`moving`], [`elections`] each carry out one kind
//! of event; [`watching`] takes up what others write.
//!
//! Invariants
//! - a leader is in the ISR, or there is none; the ISR is a part of the replicas; epochs only rise
//! - every write is refused once another controller was elected, and then this one resigns
//! - nobody is told what is not acknowledged; after it resigned it tells nobody anything
//! - one bad node is said and passed over; it stops nothing else

mod alter_partition;
pub mod balance;
mod brokers;
pub mod channels;
mod deletion;
pub mod election;
mod elections;
mod leadership;
mod loading;
mod mirror;
mod moving;
pub mod partition_state;
mod passes;
mod pending;
pub mod reassignment;
pub mod replica_state;
mod tell;
#[cfg(test)]
pub(crate) mod tests;
mod topics;
mod watching;

use std::collections::VecDeque;
use std::sync::Arc;

pub use channels::TellId;
pub use elections::ElectionKind;
pub use tell::ControlRequest;

use crate::config::BrokerConfig;
use crate::coordination::{CoordinationOp, CoordinationReply, Multi, MultiError, Op, OpId};
use crate::cx::Cx;
use crate::io::Level;
use crate::metadata::{MetadataImage, nodes};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::protocol::ResponseBody;
use crate::protocol::control::ControlledShutdownRequest;
use crate::protocol::messages::AlterPartitionRequest;
use crate::trace::{ControlFact, EventId, Fact, Timer};
use crate::types::{BrokerId, Millis, TopicPartition};

use channels::Channels;
use deletion::Deletions;
use mirror::Mirror;
use passes::Passes;
use pending::{Pending, Word};
use tell::{Batch, Speaker};
use watching::ReadFor;

/// Stands for somebody who waits for an answer; the broker gives and knows it.
pub type CallerToken = u64;

/// Bytes of one multi at most: ZooKeeper takes no request above a megabyte.
const MOST_MULTI_BYTES: usize = 500_000;

/// What happens to a controller, besides what it reads and watches.
#[derive(Clone, Debug)]
pub enum ControllerEvent {
    /// A leader asks for another ISR (KIP-497).
    AlterPartition {
        caller: CallerToken,
        version: i16,
        request: AlterPartitionRequest,
    },
    /// A broker wants to stop.
    ControlledShutdown {
        caller: CallerToken,
        request: ControlledShutdownRequest,
    },
    /// A word was answered.
    Told { tell: TellId, answer: Box<ResponseBody> },
    /// A word will not be answered: not connected, connection lost.
    TellFailed { tell: TellId },
    /// The time of [`Controller::poll_timeout`] has come.
    Tick,
}

/// What a controller wants done.
#[derive(Clone, Debug)]
pub enum ControllerOutput {
    /// Ask within the session that elected it, in this order; the answer goes to
    /// [`Controller::coordination`] under the same number, which is the controller's own.
    Coordinate {
        id: OpId,
        op: CoordinationOp,
    },
    /// Say it to the broker, which may be this one; then [`ControllerEvent::Told`] or `TellFailed`.
    Tell {
        tell: TellId,
        broker: BrokerId,
        request: Arc<ControlRequest>,
    },
    Answer {
        caller: CallerToken,
        body: Box<ResponseBody>,
    },
    /// The office is lost, and what was to be answered is not known: close the connection or answer
    /// NOT_CONTROLLER.
    Abandon {
        caller: CallerToken,
    },
    /// Another controller was or will be elected: drop this one and look at `/controller` again.
    Resign {
        why: String,
    },
    Say {
        level: Level,
        text: String,
    },
}

/// Where a controller stands.
#[derive(Clone, Debug)]
enum Stage {
    Loading(loading::Loading),
    Serving,
    Resigned,
}

/// The controller. See the module's text.
#[derive(Clone, Debug)]
pub struct Controller {
    me: BrokerId,
    epoch: i32,
    /// Version of `/controller_epoch` while this controller is in office.
    epoch_version: i32,
    /// This broker's `server.properties`; what AlterConfigs set lies in the image.
    config: BrokerConfig,
    /// Listener on which brokers reach each other.
    listener: Arc<str>,
    /// KIP-903: an AlterPartition must name the present epochs of the replicas it adds. Goes beyond
    /// Kafka 3.9's ZooKeeper way; off, one can see what it prevents.
    check_broker_epochs: bool,
    stage: Stage,
    mirror: Mirror,
    image: Arc<MetadataImage>,
    shutting_down: OrderedSet<BrokerId>,
    /// Replicas whose log directory has failed, as their brokers said.
    offline_dirs: OrderedMap<BrokerId, OrderedSet<TopicPartition>>,
    deletions: Deletions,
    /// Topics whose nodes are watched.
    watched_topics: OrderedSet<Arc<str>>,
    /// Decided, and not yet asked: ends with [`Controller::seal_round`].
    ops: Vec<Op>,
    /// Topics whose assignment changed in this round.
    reassigned: OrderedSet<Arc<str>>,
    batch: Batch,
    /// Brokers that have come and are not told everything yet, and what they must hear beside it.
    coming: OrderedSet<BrokerId>,
    aside: Batch,
    passes: Passes,
    pending: Pending,
    channels: Channels,
    reads: OrderedMap<OpId, ReadFor>,
    last_op: OpId,
    balance_at: Option<Millis>,
    /// Events that came before everything was loaded.
    early: VecDeque<ControllerEvent>,
    out: VecDeque<ControllerOutput>,
}

impl Controller {
    /// The office was won with this epoch, in the multi that left `/controller_epoch` at this version.
    /// Starts to load what there is.
    pub fn elected(cx: &mut Cx, epoch: i32, epoch_version: i32, me: BrokerId, config: &BrokerConfig) -> Self {
        let mut image = MetadataImage::default();
        image.set_controller(me, epoch);
        let mut controller = Self {
            me,
            epoch,
            epoch_version,
            config: config.clone(),
            listener: config.inter_broker_listener.as_str().into(),
            check_broker_epochs: config.check_broker_epochs,
            stage: Stage::Loading(loading::Loading::default()),
            mirror: Mirror::default(),
            image: Arc::new(image),
            shutting_down: OrderedSet::new(),
            offline_dirs: OrderedMap::new(),
            deletions: Deletions::default(),
            watched_topics: OrderedSet::new(),
            ops: Vec::new(),
            reassigned: OrderedSet::new(),
            batch: Batch::default(),
            coming: OrderedSet::new(),
            aside: Batch::default(),
            passes: Passes::default(),
            pending: Pending::default(),
            channels: Channels::default(),
            reads: OrderedMap::new(),
            last_op: 0,
            balance_at: None,
            early: VecDeque::new(),
            out: VecDeque::new(),
        };
        cx.cause = cx.emit(|| Fact::ControllerElected { broker: me, epoch });
        controller.start_loading();
        controller
    }

    /// What the controller knows and has decided, acknowledged or not.
    pub fn image(&self) -> &Arc<MetadataImage> {
        &self.image
    }

    pub fn epoch(&self) -> i32 {
        self.epoch
    }

    /// Whether everything is loaded: before, requests of clients are answered NOT_CONTROLLER.
    pub fn is_serving(&self) -> bool {
        matches!(self.stage, Stage::Serving)
    }

    /// Whether the broker has not carried out yet what was released for it.
    pub fn is_telling(&self, broker: BrokerId) -> bool {
        self.channels.is_busy(broker)
    }

    /// Turns KIP-903's check on or off.
    pub fn check_broker_epochs(&mut self, check: bool) {
        self.check_broker_epochs = check;
    }

    /// Takes in what happened.
    pub fn on_event(&mut self, cx: &mut Cx, event: ControllerEvent) {
        match self.stage {
            Stage::Resigned => match event {
                ControllerEvent::AlterPartition { caller, .. }
                | ControllerEvent::ControlledShutdown { caller, .. } => {
                    self.out.push_back(ControllerOutput::Abandon { caller });
                }
                _ => {}
            },
            Stage::Loading(_) => self.early.push_back(event),
            Stage::Serving => {
                self.handle(cx, event);
                self.go_on(cx);
                self.seal_round(cx);
            }
        }
        self.release(cx);
    }

    fn handle(&mut self, cx: &mut Cx, event: ControllerEvent) {
        match event {
            ControllerEvent::AlterPartition {
                caller,
                version,
                request,
            } => self.alter_partition(cx, caller, version, &request),
            ControllerEvent::ControlledShutdown { caller, request } => {
                self.controlled_shutdown(cx, caller, &request);
            }
            ControllerEvent::Told { tell, answer } => self.told(cx, tell, &answer),
            ControllerEvent::TellFailed { tell } => self.channels.failed(tell, cx.now, cx.cause),
            ControllerEvent::Tick => self.tick(cx),
        }
    }

    /// The service answered what was asked under this number; `None`: its outcome is not known.
    pub fn coordination(
        &mut self,
        cx: &mut Cx,
        id: OpId,
        result: Option<Result<CoordinationReply, MultiError>>,
    ) {
        if matches!(self.stage, Stage::Resigned) {
            return;
        }
        if self.pending.is_write(id) {
            self.write_done(cx, id, result);
        } else if let Some(whom) = self.reads.remove(&id) {
            match result {
                Some(Ok(CoordinationReply::Read(found))) => self.read_done(cx, whom, found),
                Some(_) => self.resign(cx, "the coordination service refused a read".to_owned()),
                None => self.ask_again(whom),
            }
        }
        self.go_on(cx);
        self.seal_round(cx);
        self.release(cx);
    }

    fn write_done(&mut self, cx: &mut Cx, id: OpId, result: Option<Result<CoordinationReply, MultiError>>) {
        match result {
            Some(Ok(_)) => self.pending.done(id),
            Some(Err(error)) if error.path.as_ref() == nodes::CONTROLLER_EPOCH => {
                self.resign(cx, "another controller was elected since".to_owned());
            }
            Some(Err(error)) => self.resign(cx, format!("the tree is not as it was loaded: {error}")),
            None => match self.pending.evidence(id) {
                Some(evidence) => self.settle(id, evidence),
                None => self.resign(cx, "the outcome of a write is not known".to_owned()),
            },
        }
    }

    /// The next thing to do; call until `None`.
    pub fn poll(&mut self) -> Option<ControllerOutput> {
        self.out.pop_front()
    }

    /// When to call with [`ControllerEvent::Tick`], if nothing comes before.
    pub fn poll_timeout(&self) -> Option<Millis> {
        let times = [self.balance_at, self.channels.next_at(), self.deletions.next_at()];
        times.into_iter().flatten().min().filter(|_| self.is_serving())
    }

    fn tick(&mut self, cx: &mut Cx) {
        if self.channels.next_at().is_some_and(|at| at <= cx.now) {
            cx.timer_due(Timer::TellRetry, self.channels.because());
        }
        if self.balance_at.is_some_and(|at| at <= cx.now) {
            cx.timer_due(Timer::LeaderBalance, EventId::NONE);
            self.balance_leaders(cx);
        }
        self.answer_late_deletions(cx.now);
    }

    /// Answers when everything decided so far is acknowledged and the brokers are being told.
    pub fn answer(&mut self, cx: &mut Cx, caller: CallerToken, body: impl Into<ResponseBody>) {
        if matches!(self.stage, Stage::Resigned) {
            return self.out.push_back(ControllerOutput::Abandon { caller });
        }
        self.seal_round(cx);
        self.say_answer(caller, body);
        self.release(cx);
    }

    fn say_answer(&mut self, caller: CallerToken, body: impl Into<ResponseBody>) {
        self.pending.word(Word::Answer {
            caller,
            body: Box::new(body.into()),
        });
    }

    /// Asks the service for what this round changed, and puts its words behind.
    fn seal_round(&mut self, cx: &mut Cx) {
        if matches!(self.stage, Stage::Resigned) {
            return;
        }
        self.write_assignments(cx);
        for multi in in_portions(std::mem::take(&mut self.ops)) {
            let multi = Multi {
                ops: [self.office_check()].into_iter().chain(multi).collect(),
            };
            let id = self.next_op();
            self.pending.write(id, &multi);
            let op = CoordinationOp::Multi(multi);
            self.out.push_back(ControllerOutput::Coordinate { id, op });
        }
        if self.batch.is_empty() {
            return;
        }
        let mut batch = std::mem::take(&mut self.batch);
        batch.put_aside(&self.coming, &mut self.aside);
        let speaker = Speaker {
            controller_id: self.me,
            controller_epoch: self.epoch,
            listener: &self.listener,
            image: &self.image,
            is_online: &|broker, partition| self.is_online(broker, partition),
        };
        let words = batch.words(&speaker, &self.coming);
        for (broker, broker_epoch, request) in words {
            self.pending.word(Word::Tell {
                broker,
                broker_epoch,
                request: Arc::new(request),
            });
        }
    }

    /// Fails in every multi once another controller has taken the office.
    fn office_check(&self) -> Op {
        Op::Check {
            path: nodes::CONTROLLER_EPOCH.into(),
            version: Some(self.epoch_version),
        }
    }

    /// Lets out what no write stands before.
    fn release(&mut self, cx: &Cx) {
        while let Some(word) = self.pending.next_word() {
            match word {
                Word::Tell {
                    broker,
                    broker_epoch,
                    request,
                } => self.channels.push(broker, broker_epoch, request),
                Word::Answer { caller, body } => {
                    self.say_all(cx.now);
                    self.out.push_back(ControllerOutput::Answer { caller, body });
                }
            }
        }
        self.say_all(cx.now);
    }

    fn say_all(&mut self, now: Millis) {
        while let Some(said) = self.channels.next(now) {
            self.out.push_back(ControllerOutput::Tell {
                tell: said.id,
                broker: said.broker,
                request: said.request,
            });
        }
    }

    /// Gives the office up: nobody is told anything any more.
    pub fn resign(&mut self, cx: &mut Cx, why: String) {
        if matches!(self.stage, Stage::Resigned) {
            return;
        }
        self.stage = Stage::Resigned;
        let epoch = self.epoch;
        cx.cause = cx.emit(|| Fact::ControllerResigned {
            epoch,
            why: why.clone(),
        });
        self.ops.clear();
        self.batch = Batch::default();
        let passes = self.passes.abandon();
        self.reads.clear();
        self.channels.clear();
        let early = std::mem::take(&mut self.early).into_iter();
        let early = early.filter_map(|event| match event {
            ControllerEvent::AlterPartition { caller, .. }
            | ControllerEvent::ControlledShutdown { caller, .. } => Some(caller),
            _ => None,
        });
        let waiting: Vec<CallerToken> = self.pending.abandon().into_iter().chain(early).collect();
        let waiting = waiting.into_iter().chain(self.deletions.abandon()).chain(passes);
        self.out.retain(|output| {
            matches!(
                output,
                ControllerOutput::Answer { .. } | ControllerOutput::Say { .. }
            )
        });
        self.out
            .extend(waiting.map(|caller| ControllerOutput::Abandon { caller }));
        self.out.push_back(ControllerOutput::Resign { why });
    }

    fn next_op(&mut self) -> OpId {
        self.last_op += 1;
        self.last_op
    }

    fn say(&mut self, level: Level, text: impl Into<String>) {
        let text = format!("controller {}: {}", self.me, text.into());
        self.out.push_back(ControllerOutput::Say { level, text });
    }

    /// Makes a change part of this round: done here at once.
    fn change(&mut self, multi: Multi) -> Result<(), MultiError> {
        self.mirror.apply(&multi)?;
        let bad = Arc::make_mut(&mut self.image).apply(&self.mirror, &multi);
        for bad in bad {
            self.say(Level::Error, bad.to_string());
        }
        self.ops.extend(multi.ops);
        Ok(())
    }
}

/// Records a fact of the controller.
#[track_caller]
fn note(cx: &mut Cx, build: impl FnOnce() -> ControlFact) -> EventId {
    cx.emit(|| Fact::Control(build()))
}

/// Splits operations, in their order, into lists that one multi can carry.
fn in_portions(ops: Vec<Op>) -> Vec<Vec<Op>> {
    let mut portions: Vec<Vec<Op>> = Vec::new();
    let mut bytes = usize::MAX;
    for op in ops {
        let data = match &op {
            Op::Create { data, .. } | Op::Set { data, .. } => data.len(),
            _ => 0,
        };
        // Lengths, version, access list: what ZooKeeper adds to an operation.
        let size = op.path().len() + data + 64;
        bytes = bytes.saturating_add(size);
        if bytes > MOST_MULTI_BYTES {
            portions.push(Vec::new());
            bytes = size;
        }
        if let Some(portion) = portions.last_mut() {
            portion.push(op);
        }
    }
    portions
}
