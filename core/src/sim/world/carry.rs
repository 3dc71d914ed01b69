//! What the outputs of brokers and clients lead to: the hands of the world.

use std::collections::VecDeque;

use bytes::Bytes;

use super::World;
use super::agenda::{Happening, Life};
use super::client::Role;
use super::network::Caller;
use super::node::{self, BrokerNode};
use super::shared::make_mut;
use crate::broker::Job;
use crate::client::{ClientCx, ClientInput, ClientOutput};
use crate::disk::{DirId, Lane};
use crate::io::{Input, JobId, Output};
use crate::trace::{EventId, NodeId};
use crate::types::BrokerId;

impl World {
    /// Gives a broker an input, and carries out everything that follows at once.
    pub(super) fn drive(&mut self, id: BrokerId, cause: EventId, input: Input) {
        let mut inputs = VecDeque::from([(input, cause)]);
        while let Some((input, cause)) = inputs.pop_front() {
            let now = self.now;
            let Some(node) = self.broker_mut(id) else { return };
            let outputs = node.tell(now, cause, input);
            self.carry_all(id, cause, outputs, &mut inputs);
        }
    }

    /// Carries out what a broker wants; what it is told in turn at once goes into `inputs`. It follows from
    /// the last fact that the broker has told, or from `cause`.
    pub(super) fn carry_all(
        &mut self,
        id: BrokerId,
        cause: EventId,
        outputs: Vec<Output>,
        inputs: &mut VecDeque<(Input, EventId)>,
    ) {
        let cause = self.gather_broker_facts(id).unwrap_or(cause);
        let Some(outputs) = self.tie_answers(id, outputs) else {
            return;
        };
        for output in outputs {
            let is_end = matches!(output, Output::Stopped { .. });
            self.carry(id, cause, output, inputs);
            if is_end {
                // Nobody is there any more who could say or hear anything.
                return inputs.clear();
            }
        }
    }

    /// Takes the bytes that answers name out of their files, before anything else is carried out: what comes
    /// with them or later may cut, remove or close a file, and an answer is what it was when it was given.
    /// `None`: a broker named bytes that are not there.
    fn tie_answers(&mut self, id: BrokerId, mut outputs: Vec<Output>) -> Option<Vec<Output>> {
        for output in &mut outputs {
            let Output::Respond { parts, .. } = output else {
                continue;
            };
            if let Err(why) = self.broker(id)?.tie(parts) {
                self.broken = Some(format!("broker {id}: {why}"));
                return None;
            }
        }
        Some(outputs)
    }

    /// Moves a broker's facts into the log; the last of them.
    fn gather_broker_facts(&mut self, id: BrokerId) -> Option<EventId> {
        let node = self.brokers.get_mut(&id).map(make_mut)?;
        let mut last = None;
        for event in node.trace.drain() {
            last = Some(event.id);
            self.log.push(event);
        }
        last
    }

    fn carry(
        &mut self,
        id: BrokerId,
        cause: EventId,
        output: Output,
        inputs: &mut VecDeque<(Input, EventId)>,
    ) {
        match output {
            Output::Respond { conn, request, parts } => {
                if let Some(connection) = self.network_mut().get_mut(conn) {
                    connection.answers.insert(request, node::frame(parts));
                }
                self.send_answers(conn, cause);
                self.admit_waiting(conn, inputs);
            }
            Output::Close { conn, reason } => {
                self.close_server_end(conn, &reason, cause);
                inputs.push_back((Input::Disconnected { conn }, cause));
            }
            Output::Disk {
                dir,
                lane,
                ticket,
                op,
            } => {
                if let Some(node) = self.broker_mut(id) {
                    node.queue(dir, lane, ticket, op, cause);
                }
                self.begin_disk(id, dir);
            }
            Output::Job { job, work } => {
                let life = self.broker(id).map_or(0, |node| node.life);
                let at = self.now;
                let broker = id;
                self.plan(
                    at,
                    Happening::Job {
                        broker,
                        life,
                        job,
                        work,
                        cause,
                    },
                );
            }
            Output::Send {
                to,
                id: send,
                sent,
                frame,
            } => self.send_to_peer(id, to, send, sent, frame, cause),
            Output::OpenSession { session, timeout_ms } => self.open_session(id, session, timeout_ms, cause),
            Output::CloseSession { session } => self.close_session(id, session, cause),
            Output::Coordinate {
                session,
                id: op_id,
                op,
            } => self.coordinate(id, session, op_id, op, cause),
            Output::Stopped { failed } => self.stopped(id, failed, cause),
            // The node has taken these.
            Output::Admission(_) | Output::Ready | Output::Say { .. } => {}
        }
    }

    // ---- disks and jobs

    fn begin_disk(&mut self, id: BrokerId, dir: DirId) {
        let Some(node) = self.broker_mut(id) else { return };
        let (life, delay) = (node.life, node.disk_delay_ms);
        let at = self.now + delay;
        let begun = self.broker_mut(id).map(|node| node.begin(dir));
        for lane in begun.into_iter().flatten() {
            let broker = id;
            self.plan(
                at,
                Happening::DiskDone {
                    broker,
                    life,
                    dir,
                    lane,
                },
            );
        }
    }

    pub(super) fn disk_done(&mut self, broker: BrokerId, life: Life, dir: DirId, lane: Lane) -> bool {
        let done = Happening::DiskDone {
            broker,
            life,
            dir,
            lane,
        };
        let Some(node) = self.awake(broker, life, done) else {
            return false;
        };
        let Some((input, cause)) = node.carry_out(dir, lane) else {
            return false;
        };
        self.begin_disk(broker, dir);
        self.drive(broker, cause, input);
        true
    }

    pub(super) fn job_done(
        &mut self,
        broker: BrokerId,
        life: Life,
        job: JobId,
        work: Job,
        cause: EventId,
    ) -> bool {
        // A paused process runs no thread.
        if self
            .broker(broker)
            .is_some_and(|node| node.life == life && node.paused)
        {
            let waits = Happening::Job {
                broker,
                life,
                job,
                work,
                cause,
            };
            if let Some(node) = self.broker_mut(broker) {
                node.backlog.push(waits);
            }
            return false;
        }
        let Some(node) = self
            .broker(broker)
            .filter(|node| node.life == life && node.is_running())
        else {
            return false;
        };
        let input = node.run(job, work);
        self.drive(broker, cause, input);
        true
    }

    /// The broker, if it still lives the life that this is meant for and is not paused; a paused one
    /// gets it later.
    pub(super) fn awake(&mut self, id: BrokerId, life: Life, what: Happening) -> Option<&mut BrokerNode> {
        let node = self.broker_mut(id)?;
        if node.life != life || !node.is_running() {
            return None;
        }
        if node.paused {
            node.backlog.push(what);
            return None;
        }
        Some(node)
    }

    // ---- clients

    /// Lets a client do something because of that event, and carries out everything that follows at once.
    pub(super) fn drive_client(
        &mut self,
        id: NodeId,
        cause: EventId,
        what: impl FnOnce(&mut Role, &mut ClientCx),
    ) {
        let mut inputs = VecDeque::new();
        self.let_client(id, cause, what, &mut inputs);
        while let Some((input, cause)) = inputs.pop_front() {
            self.let_client(id, cause, |role, cx| role.handle(cx, &input), &mut inputs);
        }
    }

    fn let_client(
        &mut self,
        id: NodeId,
        cause: EventId,
        what: impl FnOnce(&mut Role, &mut ClientCx),
        inputs: &mut VecDeque<(ClientInput, EventId)>,
    ) {
        let now = self.now;
        let client = self.clients.get_mut(&id).map(make_mut);
        let Some(client) = client.filter(|client| !client.is_dead) else {
            return;
        };
        let (facts, wishes) = client.run(now, cause, what);
        client.last = facts.last().map_or(cause, |event| event.id);
        client.note_timeout();
        let last = client.last;
        facts.into_iter().for_each(|event| self.log.push(event));
        for wish in wishes {
            self.grant(id, wish, last, inputs);
        }
    }

    /// Carries out what a client wants; what it is told in turn at once goes into `inputs`.
    fn grant(
        &mut self,
        client: NodeId,
        wish: ClientOutput,
        cause: EventId,
        inputs: &mut VecDeque<(ClientInput, EventId)>,
    ) {
        let (to, id, sent, answered, frame) = match wish {
            ClientOutput::Disconnect { node } => return self.hang_up(client, &node, cause),
            ClientOutput::Send {
                to,
                id,
                sent,
                answered,
                frame,
            } => (to, id, sent, answered, frame),
        };
        let server = node::broker_at(&to.host);
        let Some(server) = server.filter(|server| self.broker(*server).is_some()) else {
            let why = format!("{} is no address of a broker", to.host);
            return inputs.push_back((ClientInput::SendFailed { id, why }, cause));
        };
        let caller = Caller::Client { client, node: to };
        self.send(caller, server, id, sent, answered, frame, cause);
        if !answered {
            // That it is written is all that will ever be said of it.
            let frame = Bytes::new();
            inputs.push_back((ClientInput::Response { id, frame }, cause));
        }
    }
}
