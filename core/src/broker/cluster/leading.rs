//! The controller in this broker: elected, fed, heard, and let go.
//!
//! The [`Controller`] decides; it never reaches into the broker. What it wants comes out one by one: a
//! change for the coordination service, a word to a broker (this one among them), an answer to a
//! client. A client's answer waits until this broker has carried out what it was told before, so that
//! who asked for a topic finds it here.
//!
//! Invariant: after it resigned, nothing that it had decided leaves any more.

use std::sync::Arc;

use super::configs::Owner;
use super::control::{Speaker, Word};
use super::sends::SendFor;
use super::session::OpFor;
use crate::broker::State;
use crate::broker::admin::{self, Node};
use crate::broker::caller::Caller;
use crate::controller::{CallerToken, ControlRequest, Controller, ControllerEvent, ControllerOutput, TellId};
use crate::coordination::{CoordinationReply, Multi, MultiError, OpId, WatchKind};
use crate::cx::Cx;
use crate::error::{ErrorCode, Refused};
use crate::io::{Level, PeerLane};
use crate::metadata::{BrokerImage, nodes};
use crate::ordered::OrderedMap;
use crate::protocol::control::{
    ControlledShutdownRequest, ControlledShutdownResponse, LeaderAndIsrRequest, StopReplicaRequest,
    UpdateMetadataRequest,
};
use crate::protocol::messages::{AlterPartitionRequest, AlterPartitionResponse, message};
use crate::protocol::{RequestBody, ResponseBody};
use crate::trace::Timer;
use crate::types::{BrokerId, Millis, Uuid};

/// Versions that Kafka 3.9 speaks to its brokers in the ZooKeeper way.
const LEADER_AND_ISR_VERSION: i16 = 7;
const STOP_REPLICA_VERSION: i16 = 4;
const UPDATE_METADATA_VERSION: i16 = 8;
/// As this broker asks itself.
const ALTER_PARTITION_VERSION: i16 = 3;

/// A controller that had to resign may have to again, as soon as it is elected: not at once.
const STAND_AGAIN_AFTER_MS: Millis = 1_000;

/// Who waits for an answer of the controller in this broker.
#[derive(Clone, Debug)]
pub(in crate::broker) enum Waits {
    /// A client or another broker; what it asked, for the case that the office is lost.
    Caller(Caller, Arc<RequestBody>),
    /// This broker's own proposals.
    Proposals,
    /// This broker's own wish to stop.
    Leaving,
}

/// What the broker keeps for its controller.
#[derive(Clone, Debug, Default)]
pub(in crate::broker) struct Office {
    next: CallerToken,
    waiting: OrderedMap<CallerToken, Waits>,
    /// Answers that came while this broker still carries out words.
    answers: Vec<(Waits, ResponseBody)>,
    /// Own words under way, in order.
    own: std::collections::VecDeque<TellId>,
}

impl Office {
    /// Takes out who waits under the token.
    pub fn no_longer_waits(&mut self, token: CallerToken) -> Option<Waits> {
        self.waiting.remove(&token)
    }
}

impl State {
    /// The election was won.
    pub(super) fn take_office(&mut self, cx: &mut Cx, epoch: i32, version: i32) {
        self.cluster.controller_epoch = self.cluster.controller_epoch.max(epoch);
        self.out.say(
            Level::Info,
            format!("broker {} is the controller, epoch {epoch}", self.config.node_id),
        );
        let controller = Controller::elected(cx, epoch, version, self.config.node_id, &self.config);
        self.cluster.controller = Some(Box::new(controller));
        self.controller_goes_on(cx);
    }

    /// Who holds the office, as `/controller` says.
    pub(super) fn controller_is(&mut self, cx: &mut Cx, id: BrokerId) {
        self.cluster.controller_id = id;
        let me = self.config.node_id;
        if id == me {
            return;
        }
        self.resign(cx, "another broker is the controller");
        if id >= 0 {
            self.ready(cx);
            self.ask_for_isrs(cx);
        }
    }

    /// Lets the controller go. Whoever waits for it hears that it is not here.
    pub(super) fn resign(&mut self, cx: &mut Cx, why: &str) {
        let Some(mut controller) = self.cluster.controller.take() else {
            return;
        };
        controller.resign(cx, why.to_owned());
        let line = format!(
            "broker {} is no longer the controller: {why}",
            self.config.node_id
        );
        self.out.say(Level::Warn, line);
        self.cluster
            .ops
            .retain(|_, whom| !matches!(whom, OpFor::Controller(_)));
        self.cluster.office.own.clear();
        for (_, waits) in std::mem::take(&mut self.cluster.office.waiting) {
            self.not_controller(cx, waits);
        }
    }

    /// The coordination service is lost: no change comes to an end any more.
    pub(super) fn abandon_changes(&mut self, cx: &mut Cx) {
        self.resign(cx, "the coordination service is lost");
        let why = "the coordination service is lost";
        self.producer_ids_refused(&Refused::new(ErrorCode::KafkaStorageError, why));
    }

    /// The office is lost while somebody waits.
    pub(super) fn not_controller(&mut self, cx: &mut Cx, waits: Waits) {
        let refused = Refused::new(ErrorCode::NotController, admin::NOT_THE_CONTROLLER);
        match waits {
            Waits::Caller(caller, body) => match admin::refuse_changes(&body, caller.version, &refused) {
                Some(answer) => self.out.answer(&caller, answer),
                None => self
                    .out
                    .close(caller.conn, "this broker is not the controller any more"),
            },
            Waits::Proposals => self.alter_partition_answered(cx, Err(admin::NOT_THE_CONTROLLER.to_owned())),
            Waits::Leaving => {
                self.controlled_shutdown_answered(cx, Err(admin::NOT_THE_CONTROLLER.to_owned()));
            }
        }
    }

    pub(super) fn token(&mut self, waits: Waits) -> CallerToken {
        let office = &mut self.cluster.office;
        office.next += 1;
        office.waiting.insert(office.next, waits);
        office.next
    }

    /// A changing request, where this broker is the controller; what it is not comes back.
    pub(in crate::broker) fn change(
        &mut self,
        cx: &mut Cx,
        caller: &Caller,
        body: RequestBody,
    ) -> Option<RequestBody> {
        let is_of_a_broker = matches!(
            body,
            RequestBody::AlterPartition(_) | RequestBody::ControlledShutdown(_)
        );
        if !is_of_a_broker && !admin::is_change(&body) {
            return Some(body);
        }
        if self.cluster.controller.is_none() {
            self.refuse_as_no_controller(caller, &body);
            return None;
        }
        let body = Arc::new(body);
        let token = self.token(Waits::Caller(*caller, body.clone()));
        let event = match &*body {
            RequestBody::AlterPartition(request) => ControllerEvent::AlterPartition {
                caller: token,
                version: caller.version,
                request: request.clone(),
            },
            RequestBody::ControlledShutdown(request) => ControllerEvent::ControlledShutdown {
                caller: token,
                request: request.clone(),
            },
            body => {
                let config = self.config.clone();
                let nodes = self.nodes_of_controller();
                if let Some(controller) = &mut self.cluster.controller {
                    admin::change(controller, cx, &config, &nodes, caller.version, token, body);
                }
                self.controller_goes_on(cx);
                return None;
            }
        };
        self.tell_controller(cx, event);
        None
    }

    /// A controller is asked that is none.
    fn refuse_as_no_controller(&mut self, caller: &Caller, body: &RequestBody) {
        let code = ErrorCode::NotController;
        match body {
            RequestBody::AlterPartition(_) => {
                let answer = message(|answer: &mut AlterPartitionResponse| answer.error_code = code.code());
                self.out.answer(caller, answer);
            }
            RequestBody::ControlledShutdown(_) => self.out.answer(
                caller,
                ControlledShutdownResponse {
                    error_code: code,
                    remaining_partitions: Vec::new(),
                },
            ),
            change => {
                let refused = Refused::new(code, admin::NOT_THE_CONTROLLER);
                if let Some(answer) = admin::refuse_changes(change, caller.version, &refused) {
                    self.out.answer(caller, answer);
                }
            }
        }
    }

    /// Topics that are not there and are needed, by a client that named them or by this broker itself: the
    /// controller makes them, and nobody waits for that here.
    pub(in crate::broker) fn create_needed(&mut self, cx: &mut Cx, names: &[String]) {
        match self.controls() {
            true => self.create_here(cx, names),
            false => self.ask_controller_to_create(names),
        }
    }

    /// Whether the controller is in this broker, and serves.
    pub(in crate::broker) fn controls(&self) -> bool {
        let controller = self.cluster.controller.as_ref();
        controller.is_some_and(|controller| controller.is_serving())
    }

    fn create_here(&mut self, cx: &mut Cx, names: &[String]) {
        let nodes = self.nodes_of_controller();
        let config = self.config.clone();
        if let Some(controller) = &mut self.cluster.controller {
            admin::create_topics_on_demand(&mut **controller, cx, &config, &nodes, names);
        }
        self.controller_goes_on(cx);
    }

    fn ask_controller_to_create(&mut self, names: &[String]) {
        let body = RequestBody::CreateTopics(admin::creation_on_demand(&self.config, names));
        let controller = self.cluster.controller_id;
        self.send(
            controller,
            PeerLane::Requests,
            admin::CREATION_ON_DEMAND_VERSION,
            &body,
            SendFor::AutoCreate,
        );
    }

    pub(super) fn ask_own_controller(&mut self, cx: &mut Cx, request: AlterPartitionRequest) {
        let caller = self.token(Waits::Proposals);
        let version = ALTER_PARTITION_VERSION;
        let event = ControllerEvent::AlterPartition {
            caller,
            version,
            request,
        };
        self.tell_controller(cx, event);
    }

    pub(in crate::broker) fn ask_own_controller_to_leave(
        &mut self,
        cx: &mut Cx,
        request: ControlledShutdownRequest,
    ) {
        let caller = self.token(Waits::Leaving);
        self.tell_controller(cx, ControllerEvent::ControlledShutdown { caller, request });
    }

    fn tell_controller(&mut self, cx: &mut Cx, event: ControllerEvent) {
        if let Some(controller) = &mut self.cluster.controller {
            controller.on_event(cx, event);
        }
        self.controller_goes_on(cx);
    }

    pub(super) fn controller_op_done(
        &mut self,
        cx: &mut Cx,
        id: OpId,
        result: Option<Result<CoordinationReply, MultiError>>,
    ) {
        if let Some(controller) = &mut self.cluster.controller {
            controller.coordination(cx, id, result);
        }
        self.controller_goes_on(cx);
    }

    pub(super) fn controller_tick(&mut self, cx: &mut Cx) {
        if self.cluster.stand_again_at.is_some_and(|at| at <= cx.now) {
            self.cluster.stand_again_at = None;
            cx.timer_due(Timer::StandAgain, self.cluster.resigned);
            self.look_at_controller();
        }
        let due = self
            .cluster
            .controller
            .as_ref()
            .and_then(|controller| controller.poll_timeout());
        if due.is_some_and(|at| at <= cx.now) {
            self.tell_controller(cx, ControllerEvent::Tick);
        }
    }

    /// Whether the controller in this broker has something long under way.
    pub(in crate::broker) fn controller_has_work(&self) -> bool {
        let controller = self.cluster.controller.as_ref();
        controller.is_some_and(|controller| controller.has_work())
    }

    /// Goes on with it, by one step.
    pub(in crate::broker) fn controller_works(&mut self, cx: &mut Cx) {
        if !self.controller_has_work() {
            return;
        }
        if let Some(controller) = &mut self.cluster.controller {
            controller.work(cx);
        }
        self.controller_goes_on(cx);
    }

    /// A watch of this session has fired: whoever set it looks again.
    pub(super) fn watch_fired(&mut self, cx: &mut Cx, path: &Arc<str>, what: WatchKind) {
        match &**path {
            nodes::CONTROLLER => return self.look_at_controller(),
            nodes::CONFIG_CHANGES => self.look_at_config_changes(),
            _ if **path == nodes::broker(self.config.node_id) && what == WatchKind::Deleted => {
                self.registration_gone(cx);
            }
            _ => {}
        }
        if let Some(controller) = &mut self.cluster.controller {
            controller.watch(cx, path, what);
        }
        self.controller_goes_on(cx);
    }

    /// Somebody has changed settings: the controller goes by them too.
    pub(super) fn tell_controller_of_config(&mut self, cx: &mut Cx, entity_path: &str) {
        if let Some(controller) = &mut self.cluster.controller {
            controller.config_changed(entity_path);
        }
        self.controller_goes_on(cx);
    }

    /// Carries out what the controller wants.
    fn controller_goes_on(&mut self, cx: &mut Cx) {
        while let Some(output) = self
            .cluster
            .controller
            .as_mut()
            .and_then(|controller| controller.poll())
        {
            match output {
                ControllerOutput::Coordinate { id, op } => self.coordinate(op, OpFor::Controller(id)),
                ControllerOutput::Tell {
                    tell,
                    broker,
                    request,
                } => self.say_to(cx, tell, broker, &request),
                ControllerOutput::Answer { caller, body } => {
                    if let Some(waits) = self.cluster.office.waiting.remove(&caller) {
                        self.cluster.office.answers.push((waits, *body));
                    }
                }
                ControllerOutput::Abandon { caller } => {
                    if let Some(waits) = self.cluster.office.waiting.remove(&caller) {
                        self.not_controller(cx, waits);
                    }
                }
                ControllerOutput::Resign { why } => {
                    self.resign(cx, &why);
                    self.cluster.resigned = cx.cause;
                    self.cluster.stand_again_at = Some(cx.now.saturating_add(STAND_AGAIN_AFTER_MS));
                    return;
                }
                ControllerOutput::Say { level, text } => self.out.say(level, text),
            }
        }
        self.give_answers(cx);
    }

    /// Gives the controller's answers, unless this broker still has to do what they speak of.
    pub(super) fn give_answers(&mut self, cx: &mut Cx) {
        let me = self.config.node_id;
        let controller = self.cluster.controller.as_ref();
        if self.cluster.words.is_busy() || controller.is_some_and(|controller| controller.is_telling(me)) {
            return;
        }
        for (waits, body) in std::mem::take(&mut self.cluster.office.answers) {
            match waits {
                Waits::Caller(caller, _) => self.out.answer(&caller, body),
                Waits::Proposals => self.alter_partition_answered(cx, Ok(body)),
                Waits::Leaving => self.controlled_shutdown_answered(cx, Ok(body)),
            }
        }
    }

    fn say_to(&mut self, cx: &mut Cx, tell: TellId, broker: BrokerId, request: &ControlRequest) {
        if broker == self.config.node_id {
            self.cluster.office.own.push_back(tell);
            self.learn_from_own_controller(cx, request);
            let word = match request.clone() {
                ControlRequest::LeaderAndIsr(word) => Word::LeaderAndIsr(word),
                ControlRequest::StopReplica(word) => Word::StopReplica(word),
                ControlRequest::UpdateMetadata(word) => Word::UpdateMetadata(word),
            };
            return self.controller_says(cx, Speaker::Own, word);
        }
        let (version, body) = match request.clone() {
            ControlRequest::LeaderAndIsr(word) => (LEADER_AND_ISR_VERSION, RequestBody::LeaderAndIsr(word)),
            ControlRequest::StopReplica(word) => (STOP_REPLICA_VERSION, RequestBody::StopReplica(word)),
            ControlRequest::UpdateMetadata(word) => {
                (UPDATE_METADATA_VERSION, RequestBody::UpdateMetadata(word))
            }
        };
        let listener = self.config.inter_broker_listener.clone();
        let known = self.cluster.controller.as_ref().and_then(|controller| {
            let endpoint = controller.image().broker(broker)?.endpoint(&listener)?;
            Some((endpoint.host.clone(), endpoint.port))
        });
        let said = known.is_some_and(|(host, port)| {
            let whom = SendFor::Told { tell };
            self.send_to(broker, host, port, PeerLane::Control, version, &body, whom)
        });
        if !said {
            self.tell_controller(cx, ControllerEvent::TellFailed { tell });
        }
    }

    /// Settings of topics that are named: known here without another look, since the controller that
    /// names them has them.
    fn learn_from_own_controller(&mut self, cx: &mut Cx, request: &ControlRequest) {
        let named: Vec<(Arc<str>, Uuid)> = match request {
            ControlRequest::LeaderAndIsr(LeaderAndIsrRequest { topics, .. }) => topics
                .iter()
                .map(|topic| (topic.name.clone(), topic.topic_id))
                .collect(),
            ControlRequest::UpdateMetadata(UpdateMetadataRequest { topics, .. }) => topics
                .iter()
                .map(|topic| (topic.name.clone(), topic.topic_id))
                .collect(),
            ControlRequest::StopReplica(StopReplicaRequest { .. }) => Vec::new(),
        };
        let image = self
            .cluster
            .controller
            .as_ref()
            .map(|controller| controller.image().clone());
        for (name, id) in named {
            let topic = image.as_ref().and_then(|image| image.topic_even_deleting(&name));
            if let Some(topic) = topic.filter(|topic| topic.id == id) {
                self.cluster.configs.learn_for(&name, id);
                self.settings_learned(cx, Owner::Topic(name), topic.configs.clone());
            }
        }
    }

    pub(super) fn told(&mut self, cx: &mut Cx, tell: TellId, answer: Result<ResponseBody, String>) {
        let event = match answer {
            Ok(answer) => ControllerEvent::Told {
                tell,
                answer: Box::new(answer),
            },
            Err(_) => ControllerEvent::TellFailed { tell },
        };
        self.tell_controller(cx, event);
    }

    /// This broker has carried out its own controller's word.
    pub(super) fn own_word_answered(&mut self, cx: &mut Cx, answer: ResponseBody) {
        if let Some(tell) = self.cluster.office.own.pop_front() {
            self.told(cx, tell, Ok(answer));
        }
    }

    /// A log directory has failed: the controller shall let others lead (`/log_dir_event_notification`).
    pub(in crate::broker) fn tell_of_lost_directory(&mut self) {
        if self.cluster.stage() != super::Stage::Member || self.cluster.lost.is_some() {
            return;
        }
        let event = nodes::LogDirEvent::failure(self.config.node_id);
        let multi = Multi::new().create_sequential(nodes::log_dir_event_prefix(), nodes::write(&event));
        self.submit_multi(multi, OpFor::LogDirEvent);
    }

    /// The brokers as the controller knows them, for placing replicas.
    fn nodes_of_controller(&self) -> Vec<Node> {
        let Some(controller) = &self.cluster.controller else {
            return Vec::new();
        };
        let node = |broker: &Arc<BrokerImage>| {
            let endpoint = broker.endpoint(&self.config.inter_broker_listener);
            Node {
                id: broker.id,
                host: endpoint
                    .map(|endpoint| endpoint.host.to_string())
                    .unwrap_or_default(),
                port: endpoint.map_or(0, |endpoint| endpoint.port),
                rack: broker.rack.as_deref().map(str::to_owned),
            }
        };
        controller.image().brokers().map(node).collect()
    }
}
