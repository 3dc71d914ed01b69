//! The session's life: from no session to a registered broker, and back after a loss.
//!
//! Each stage asks something and goes on when the answer is there. Whatever happens to the session,
//! [`State::next_stage`] is asked again what is still missing; so a lost connection (outcome unknown)
//! and a new session need no paths of their own.

use std::sync::Arc;

use bytes::Bytes;

use super::configs::Owner;
use crate::broker::{Phase, State};
use crate::coordination::{
    CoordinationEvent, CoordinationOp, CoordinationReply, Found, Multi, MultiError, NodeError, OpId, Read,
    SessionEpoch, Stat,
};
use crate::cx::Cx;
use crate::io::{Level, Output};
use crate::metadata::nodes;
use crate::ordered::OrderedSet;
use crate::trace::{Fact, Timer};
use crate::types::NO_BROKER;

/// Nodes asked for in one read.
const READ_AT_ONCE: usize = 1000;

/// How far the broker has come with its present session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::broker) enum Stage {
    /// No session was opened.
    Away,
    /// The persistent nodes are looked at and made.
    Nodes,
    /// Settings are read.
    Configs,
    /// The logs are being recovered; nothing is asked.
    Recovery,
    /// This broker's own node is made.
    Registration,
    /// Registered.
    Member,
}

/// What an operation was asked for.
#[derive(Clone, Debug)]
pub(in crate::broker) enum OpFor {
    /// The persistent nodes, in the order of [`nodes::PERSISTENT`], then the cluster's id.
    LookAtNodes,
    MakeNodes,
    ConfigNames,
    Configs(Vec<Owner>),
    /// The change notifications that there are.
    ConfigChanges,
    /// Bytes of these notifications.
    ConfigChange(Vec<Arc<str>>),
    /// An old notification goes.
    PurgeConfigChange,
    Register,
    Registration,
    /// `/controller` and `/controller_epoch`.
    LookAtController,
    /// This broker asked to become the controller.
    Elect,
    /// The last block of producer ids.
    LookAtProducerIds,
    TakeProducerIds(crate::metadata::producer_ids::Block),
    /// The controller shall know of a lost log directory.
    LogDirEvent,
    /// Something that the controller asked, under its own number.
    Controller(OpId),
}

impl State {
    /// Opens the next session.
    pub(in crate::broker) fn open_session(&mut self, cx: &mut Cx) {
        self.cluster.session += 1;
        // Their answers will not come: what needs them asks again once there is a session.
        self.cluster.ops.clear();
        self.cluster.asks_anew = true;
        self.cluster.stage = self.cluster.stage.min(Stage::Registration);
        if self.cluster.stage == Stage::Away {
            let patience = self.config.zookeeper_connection_timeout_ms;
            self.cluster.start_by = Some(cx.now.saturating_add(patience));
            self.cluster.asked_for_session = cx.cause;
        }
        self.out.push(Output::OpenSession {
            session: self.cluster.session,
            timeout_ms: self.config.zookeeper_session_timeout_ms,
        });
    }

    pub(in crate::broker) fn close_session(&mut self) {
        if self.cluster.session > 0 {
            let session = self.cluster.session;
            self.out.push(Output::CloseSession { session });
        }
    }

    /// Asks within the present session.
    pub(in crate::broker) fn coordinate(&mut self, op: CoordinationOp, whom: OpFor) {
        let id = self.cluster.next_op;
        self.cluster.next_op += 1;
        self.cluster.ops.insert(id, whom);
        self.out.push(Output::Coordinate {
            session: self.cluster.session,
            id,
            op,
        });
    }

    pub(in crate::broker) fn submit_multi(&mut self, multi: Multi, whom: OpFor) {
        self.coordinate(CoordinationOp::Multi(multi), whom);
    }

    pub(in crate::broker) fn coordination(
        &mut self,
        cx: &mut Cx,
        session: SessionEpoch,
        event: CoordinationEvent,
    ) {
        if session != self.cluster.session || self.cluster.lost.is_some() {
            return;
        }
        match event {
            CoordinationEvent::Connected { session_id, .. } => {
                self.cluster.session_id = session_id;
                self.cluster.start_by = None;
                self.next_stage(cx);
                if std::mem::take(&mut self.cluster.asks_anew) {
                    self.words_ask_anew(cx);
                    self.producer_ids_ask_anew();
                }
            }
            CoordinationEvent::Disconnected => {}
            CoordinationEvent::Done { id, result } => {
                if let Some(whom) = self.cluster.ops.remove(&id) {
                    self.op_done(cx, whom, result);
                }
            }
            CoordinationEvent::Unknown { id } => {
                if let Some(whom) = self.cluster.ops.remove(&id) {
                    self.op_unknown(cx, whom);
                }
            }
            CoordinationEvent::Watch { path, what } => self.watch_fired(cx, &path, what),
            CoordinationEvent::Expired => self.session_expired(cx),
            CoordinationEvent::Lost { why } => self.coordination_lost(cx, why),
        }
    }

    /// Everything of the old session is gone: the registration, the controller's office.
    fn session_expired(&mut self, cx: &mut Cx) {
        self.out.say(
            Level::Warn,
            "the session with the coordination service expired; a new one is opened".to_owned(),
        );
        self.resign(cx, "its session expired");
        self.cluster.broker_epoch = -1;
        self.open_session(cx);
    }

    fn coordination_lost(&mut self, cx: &mut Cx, why: String) {
        if !matches!(self.phase, Phase::Running | Phase::Stopping(_)) {
            return self.fail_start(why);
        }
        self.out.say(
            Level::Error,
            format!("{why}: topics and settings cannot be changed any more; what is there is served"),
        );
        self.cluster.lost = Some(why);
        self.cluster.ops.clear();
        self.abandon_changes(cx);
    }

    /// The broker cannot start.
    pub(in crate::broker) fn fail_start(&mut self, why: String) {
        self.phase = Phase::Stopped;
        self.close_session();
        self.out.push(Output::Stopped { failed: Some(why) });
    }

    /// No session came in time.
    pub(in crate::broker) fn session_late(&mut self, cx: &mut Cx) {
        if self.cluster.start_by.is_some_and(|by| by <= cx.now) {
            self.cluster.start_by = None;
            cx.timer_due(Timer::SessionPatience, self.cluster.asked_for_session);
            let place = self.config.zookeeper_connect.as_deref();
            self.fail_start(format!(
                "no session with the coordination service{} within {} ms; is it running?",
                place.map(|place| format!(" at {place}")).unwrap_or_default(),
                self.config.zookeeper_connection_timeout_ms
            ));
        }
    }

    /// Asks for what the present stage needs.
    pub(in crate::broker) fn next_stage(&mut self, cx: &mut Cx) {
        match self.cluster.stage {
            Stage::Away | Stage::Nodes => self.look_at_nodes(),
            Stage::Configs => self.look_at_configs(),
            Stage::Recovery => {}
            Stage::Registration => self.register(cx),
            Stage::Member => {}
        }
    }

    pub(in crate::broker) fn enter_stage(&mut self, cx: &mut Cx, stage: Stage) {
        self.cluster.stage = stage;
        self.next_stage(cx);
    }

    fn look_at_nodes(&mut self) {
        self.cluster.stage = Stage::Nodes;
        let paths = nodes::PERSISTENT.iter().chain([&nodes::CLUSTER_ID]);
        let reads = paths.map(|path| data(path, false)).collect();
        self.coordinate(CoordinationOp::Read(reads), OpFor::LookAtNodes);
    }

    fn nodes_seen(&mut self, cx: &mut Cx, found: &[Found]) {
        let id = match found.last() {
            Some(Found::Data(Some((bytes, _)))) => {
                match nodes::parse::<nodes::ClusterId>(nodes::CLUSTER_ID, bytes) {
                    Ok(node) => Some(node.id),
                    Err(bad) => return self.fail_start(bad.to_string()),
                }
            }
            _ => None,
        };
        let paths = nodes::PERSISTENT.iter().chain([&nodes::CLUSTER_ID]);
        let there = paths
            .zip(found)
            .filter(|(_, found)| matches!(found, Found::Data(Some(_))));
        let there: OrderedSet<&str> = there.map(|(path, _)| *path).collect();
        let on_disk = self.disks_cluster_id();
        let multi = nodes::missing_nodes(
            |path| there.contains(path),
            || on_disk.unwrap_or_else(|| cx.rng.uuid().to_string()),
        );
        match id {
            Some(id) if multi.ops.is_empty() => self.cluster_known(cx, &id),
            _ => self.submit_multi(multi, OpFor::MakeNodes),
        }
    }

    /// Makes this broker's own node, which lives as long as the session.
    fn register(&mut self, cx: &mut Cx) {
        let node = nodes::Broker::new(&self.advertised, self.config.rack.as_deref(), cx.now);
        let multi = Multi::new().create_ephemeral(nodes::broker(self.config.node_id), nodes::write(&node));
        self.submit_multi(multi, OpFor::Register);
    }

    fn register_done(&mut self, result: &Result<CoordinationReply, MultiError>) {
        if let Err(error) = result
            && error.error != NodeError::NodeExists
        {
            let line = format!("broker {} cannot register: {error}", self.config.node_id);
            self.out.say(Level::Error, line);
        }
        self.look_at_registration();
    }

    fn look_at_registration(&mut self) {
        let path = nodes::broker(self.config.node_id);
        self.coordinate(CoordinationOp::Read(vec![data(&path, true)]), OpFor::Registration);
    }

    /// The node is gone: an older life's, and now there is room, or ours, by somebody's hand.
    pub(super) fn registration_gone(&mut self, cx: &mut Cx) {
        if self.cluster.stage >= Stage::Registration {
            self.cluster.stage = Stage::Registration;
            self.register(cx);
        }
    }

    /// Ours: its czxid is the broker epoch. Another's: an older life of this broker, or a twin.
    fn registration_seen(&mut self, cx: &mut Cx, found: Option<&(Bytes, Stat)>) {
        let Some((_, stat)) = found else {
            return self.register(cx);
        };
        if stat.ephemeral_owner != self.cluster.session_id {
            let id = self.config.node_id;
            self.out.say(
                Level::Warn,
                format!(
                    "broker {id} is still registered by an earlier session; waiting until that expires \
                     (is another broker running with broker.id={id}?)"
                ),
            );
            return;
        }
        if self.cluster.stage == Stage::Registration {
            self.cluster.broker_epoch = stat.czxid;
            self.replication.broker_epoch = stat.czxid;
            self.cluster.stage = Stage::Member;
            let (broker, epoch) = (self.config.node_id, stat.czxid);
            cx.emit(|| Fact::BrokerRegistered { broker, epoch });
            self.look_at_controller();
            // The watch of the last session is gone with it.
            self.look_at_config_changes();
        }
    }

    pub(super) fn look_at_controller(&mut self) {
        let reads = vec![
            data(nodes::CONTROLLER, true),
            data(nodes::CONTROLLER_EPOCH, false),
        ];
        self.coordinate(CoordinationOp::Read(reads), OpFor::LookAtController);
    }

    /// Follows the controller that there is, or tries to become it.
    fn controller_seen(&mut self, cx: &mut Cx, found: &[Found]) {
        let [Found::Data(holder), Found::Data(epoch)] = found else {
            return;
        };
        let Some((bytes, stat)) = holder else {
            self.controller_is(cx, NO_BROKER);
            return self.run_for_controller(cx, epoch.as_ref());
        };
        let node = match nodes::parse::<nodes::Controller>(nodes::CONTROLLER, bytes) {
            Ok(node) => node,
            Err(bad) => return self.out.say(Level::Error, bad.to_string()),
        };
        if stat.ephemeral_owner != self.cluster.session_id {
            self.controller_is(cx, node.brokerid);
        } else if let Some((epoch, version)) = self.cluster.candidacy.take() {
            self.controller_is(cx, node.brokerid);
            self.take_office(cx, epoch, version);
        } else if self.cluster.controller.is_none() {
            // This broker gave the office up, and the node says otherwise while the session lives.
            let multi = Multi::new().delete(nodes::CONTROLLER, Some(stat.version));
            self.submit_multi(multi, OpFor::Elect);
        }
    }

    // ANCHOR: run_for_controller
    /// One multi makes `/controller` and takes the next epoch: of several that try, one succeeds. What
    /// the epoch's node will be then is remembered now: read afterwards, it could be a successor's.
    fn run_for_controller(&mut self, cx: &mut Cx, seen: Option<&(Bytes, Stat)>) {
        let node = nodes::Controller::new(self.config.node_id, cx.now);
        let multi = Multi::new().create_ephemeral(nodes::CONTROLLER, nodes::write(&node));
        let multi = match seen {
            Some((bytes, stat)) => {
                let before = std::str::from_utf8(bytes)
                    .ok()
                    .and_then(|text| text.parse::<i32>().ok());
                let epoch = before.unwrap_or(self.cluster.controller_epoch).saturating_add(1);
                self.cluster.candidacy = Some((epoch, stat.version.wrapping_add(1)));
                multi.set(nodes::CONTROLLER_EPOCH, epoch.to_string(), Some(stat.version))
            }
            None => {
                self.cluster.candidacy = Some((1, 0));
                multi.create(nodes::CONTROLLER_EPOCH, "1")
            }
        };
        self.submit_multi(multi, OpFor::Elect);
    }
    // ANCHOR_END: run_for_controller

    fn op_done(&mut self, cx: &mut Cx, whom: OpFor, result: Result<CoordinationReply, MultiError>) {
        let found = match &result {
            Ok(CoordinationReply::Read(found)) => found.as_slice(),
            _ => &[],
        };
        match whom {
            OpFor::LookAtNodes => self.nodes_seen(cx, found),
            // Refused or not: another broker may have been faster, so look again.
            OpFor::MakeNodes => self.look_at_nodes(),
            OpFor::ConfigNames => self.config_names_seen(cx, found),
            OpFor::Configs(owners) => self.configs_seen(cx, &owners, found),
            OpFor::ConfigChanges => self.config_changes_seen(cx, found),
            OpFor::ConfigChange(names) => self.config_change_seen(cx, &names, found),
            OpFor::Register => self.register_done(&result),
            OpFor::Registration => {
                if let Some(Found::Data(node)) = found.first() {
                    self.registration_seen(cx, node.as_ref());
                }
            }
            OpFor::LookAtController => self.controller_seen(cx, found),
            // Whoever holds the office now: it is read, whatever came of the try.
            OpFor::Elect => self.look_at_controller(),
            OpFor::LookAtProducerIds => self.producer_ids_seen(found),
            OpFor::TakeProducerIds(block) => self.producer_ids_taken(block, &result),
            OpFor::LogDirEvent | OpFor::PurgeConfigChange => {}
            OpFor::Controller(id) => self.controller_op_done(cx, id, Some(result)),
        }
    }

    /// It happened or not: ask again, or look.
    fn op_unknown(&mut self, cx: &mut Cx, whom: OpFor) {
        match whom {
            OpFor::LookAtNodes | OpFor::MakeNodes => self.look_at_nodes(),
            OpFor::ConfigNames | OpFor::Configs(_) if self.cluster.stage == Stage::Configs => {
                self.look_at_configs();
            }
            OpFor::Configs(owners) => self.read_configs(owners),
            OpFor::ConfigNames | OpFor::ConfigChanges | OpFor::ConfigChange(_) => {
                self.look_at_config_changes();
            }
            OpFor::Register | OpFor::Registration => self.look_at_registration(),
            OpFor::LookAtController | OpFor::Elect => self.look_at_controller(),
            OpFor::LookAtProducerIds | OpFor::TakeProducerIds(_) => self.look_at_producer_ids(),
            // What is still there goes at the next look.
            OpFor::PurgeConfigChange => {}
            // Said twice it does no harm.
            OpFor::LogDirEvent => self.tell_of_lost_directory(),
            OpFor::Controller(id) => self.controller_op_done(cx, id, None),
        }
    }
}

/// A look at a node's bytes.
pub(in crate::broker) fn data(path: &str, watch: bool) -> Read {
    Read::Data {
        path: path.into(),
        watch,
    }
}

/// Splits a long list of looks, so that no answer grows without bound.
pub(super) fn in_portions<T: Clone>(items: &[T]) -> impl Iterator<Item = Vec<T>> + '_ {
    items.chunks(READ_AT_ONCE).map(<[T]>::to_vec)
}
