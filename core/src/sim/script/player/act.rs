//! What a script does to the world, and by what names it means whom.

use super::{PATIENCE_MS, Player};
use crate::sim::script::command::{BrokerRef, Command, ConsumerSpec, NodeRef, PacketFate};
use crate::sim::world::client::{Act, AdminTask, ProducerOptions, Role};
use crate::sim::world::network::PacketId;
use crate::trace::NodeId;
use crate::types::{BrokerId, Millis};

impl Player {
    pub(super) fn play_command(&mut self, command: &Command) -> Result<(), String> {
        if command.is_setup() {
            return self.set_up(command);
        }
        if let Command::Show(names) = command {
            self.shown = names.iter().cloned().collect();
            return Ok(());
        }
        if let Command::Expect(expectation) = command {
            return self.expect(expectation);
        }
        self.started()?;
        self.since = self.folded;
        self.act(command)?;
        self.take_in();
        // What is done from outside cannot be run again from a checkpoint before it.
        if !command.only_waits() && !matches!(command, Command::Topic(_) | Command::Admin(_)) {
            self.remember();
        }
        Ok(())
    }

    pub(super) fn set_up(&mut self, command: &Command) -> Result<(), String> {
        if self.world.is_some() {
            return Err("this must stand before anything happens".to_owned());
        }
        match command {
            Command::Seed(seed) => self.options.seed = *seed,
            Command::Brokers(count) => self.options.brokers = *count,
            Command::Setting(setting) => self.options.settings.push(setting.clone()),
            Command::Delay(least, most) if least <= most => self.options.delay_ms = (*least, *most),
            Command::Delay(..) => return Err("the least delay is greater than the greatest".to_owned()),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn act(&mut self, command: &Command) -> Result<(), String> {
        match command {
            Command::Topic(task) => self.administer(task, true)?,
            Command::Admin(task) => self.administer(task, false)?,
            Command::Producer(name, options) => {
                let id = self.started()?.add_producer(options)?;
                self.clients.insert(name.clone(), id);
            }
            Command::Consumer(name, spec) => self.consumer(name, spec)?,
            Command::Act(name, act) => {
                let id = self.client(name)?;
                let done = self.started()?.act(id, act);
                done.map_err(|why| format!("{name}: {why}"))?;
            }
            Command::Kill(name) => {
                let id = self.client(name)?;
                if !self.started()?.kill_client(id) {
                    return Err(format!("{name} is dead"));
                }
            }
            Command::Produce(sending, by) => {
                let client = self.producer(by.as_ref())?;
                self.started()?.produce(client, sending.clone());
            }
            Command::Step(steps) => {
                for _ in 0..*steps {
                    self.step(Millis::MAX)?;
                }
            }
            Command::StepVisible => self.step_to_visible()?,
            Command::StepUntil(wanted, within) => self.step_until(wanted, *within)?,
            Command::Run(ms) => self.run(*ms)?,
            Command::Settle => self.settle()?,
            Command::Packet { fate, what, from, to } => {
                self.packet(fate, what, from.as_ref(), to.as_ref())?;
            }
            Command::Try(command) => {
                self.trying = true;
                // That it could not be done is no failure here.
                let _ = self.act(command);
                self.trying = false;
            }
            fault => self.hurt(fault)?,
        }
        Ok(())
    }

    pub(super) fn hurt(&mut self, fault: &Command) -> Result<(), String> {
        match fault {
            Command::Crash(broker) => {
                let id = self.broker(broker)?;
                done(self.started()?.crash(id), id, "does not run")
            }
            Command::PowerLoss { broker, keeping } => {
                let id = self.broker(broker)?;
                let world = self.started()?;
                let lost = if *keeping {
                    world.lose_power_keeping(id)
                } else {
                    world.lose_power(id)
                };
                done(lost, id, "does not run")
            }
            Command::Restart(None) => {
                let world = self.started()?;
                let down: Vec<BrokerId> = world
                    .brokers()
                    .filter(|node| !node.is_running())
                    .map(|node| node.id)
                    .collect();
                down.into_iter().for_each(|id| {
                    world.start_broker(id);
                });
                Ok(())
            }
            Command::Restart(Some(broker)) => {
                let id = self.broker(broker)?;
                done(self.started()?.start_broker(id), id, "runs already")
            }
            Command::Stop(broker) => {
                let id = self.broker(broker)?;
                done(self.started()?.shut_down(id), id, "does not run")
            }
            Command::Pause(broker) => {
                let id = self.broker(broker)?;
                done(self.started()?.pause(id), id, "cannot be paused")
            }
            Command::Resume(None) => {
                let world = self.started()?;
                let paused: Vec<BrokerId> = world
                    .brokers()
                    .filter(|node| node.paused)
                    .map(|node| node.id)
                    .collect();
                paused.into_iter().for_each(|id| {
                    world.resume(id);
                });
                Ok(())
            }
            Command::Resume(Some(broker)) => {
                let id = self.broker(broker)?;
                done(self.started()?.resume(id), id, "is not paused")
            }
            Command::Cut { from, to, one_way } => {
                let (from, to) = (self.node(from)?, self.node(to)?);
                let world = self.started()?;
                if *one_way {
                    world.cut_one_way(from, to);
                } else {
                    world.cut(from, to);
                }
                Ok(())
            }
            Command::Isolate(node) => {
                let node = self.node(node)?;
                self.started()?.isolate(node);
                Ok(())
            }
            other => self.hurt_otherwise(other),
        }
    }

    pub(super) fn hurt_otherwise(&mut self, fault: &Command) -> Result<(), String> {
        match fault {
            Command::Heal(None) => self.started()?.heal(),
            Command::Heal(Some((from, to, one_way))) => {
                let (from, to) = (self.node(from)?, self.node(to)?);
                let world = self.started()?;
                world.heal_one_way(from, to);
                if !one_way {
                    world.heal_one_way(to, from);
                }
            }
            Command::SlowDisk(broker, ms) => {
                let id = self.broker(broker)?;
                self.started()?.slow_disk(id, *ms);
            }
            Command::FullDisk(broker, bytes) => {
                let id = self.broker(broker)?;
                self.started()?.fill_disk(id, *bytes);
            }
            Command::MendDisk(broker) => {
                let id = self.broker(broker)?;
                self.started()?.mend_disk(id);
            }
            Command::Skew(broker, ms) => {
                let id = self.broker(broker)?;
                self.started()?.skew_clock(id, *ms);
            }
            Command::CoordinationCrash => {
                let crashed = self.started()?.crash_coordination();
                return crashed
                    .then_some(())
                    .ok_or("the coordination service does not run".to_owned());
            }
            Command::CoordinationRestart => {
                let started = self.started()?.start_coordination();
                return started
                    .then_some(())
                    .ok_or("the coordination service runs already".to_owned());
            }
            Command::LoseAnswer(broker) => {
                let id = self.broker(broker)?;
                self.started()?.lose_next_answer(id);
            }
            _ => {}
        }
        Ok(())
    }

    /// Asks the controller, and waits for the answer; a topic must come to be, and its leaders.
    pub(super) fn administer(&mut self, task: &AdminTask, must: bool) -> Result<(), String> {
        let admin = match self.admin {
            Some(admin) => admin,
            None => {
                let admin = self.started()?.add_admin()?;
                self.admin = Some(admin);
                admin
            }
        };
        self.started()?.administer(admin, task.clone());
        self.take_in();
        self.remember();
        let until = self.started()?.now() + PATIENCE_MS;
        while !self
            .started()?
            .client(admin)
            .is_some_and(|client| client.is_idle())
        {
            if !self.step(until)? {
                if self.broke.is_some() {
                    return Ok(());
                }
                return Err("no controller has answered".to_owned());
            }
        }
        let last = match self.started()?.client(admin).map(|client| &client.role) {
            Some(Role::Admin(admin)) => admin.last,
            _ => None,
        };
        match last {
            Some(code) if code != crate::error::ErrorCode::None => {
                Err(format!("the controller answers {}", code.kafka_name()))
            }
            _ if must => self.settle(),
            _ => Ok(()),
        }
    }

    fn producer(&mut self, by: Result<&String, &ProducerOptions>) -> Result<NodeId, String> {
        let options = match by {
            Ok(name) => {
                let known = self.clients.get(name).copied();
                return known.ok_or_else(|| format!("there is no producer {name}"));
            }
            Err(options) => options,
        };
        // What was named has no blank.
        let name = format!("a producer{options}");
        if let Some(&id) = self.clients.get(&name) {
            return Ok(id);
        }
        let id = self.started()?.add_producer(options)?;
        self.clients.insert(name, id);
        Ok(id)
    }

    /// A consumer of that name, in place of one that may have had it before.
    fn consumer(&mut self, name: &str, spec: &ConsumerSpec) -> Result<(), String> {
        let world = self.started()?;
        let id = world.add_consumer(&spec.options)?;
        if let Some((partition, from)) = &spec.reads {
            world.act(id, &Act::Assign(vec![partition.clone()]))?;
            world.act(id, &Act::Seek(partition.clone(), *from))?;
        }
        self.clients.insert(name.to_owned(), id);
        Ok(())
    }

    /// Waits for the packet, if it is not under way yet, and does it.
    pub(super) fn packet(
        &mut self,
        fate: &PacketFate,
        what: &str,
        from: Option<&NodeRef>,
        to: Option<&NodeRef>,
    ) -> Result<(), String> {
        let from = from.map(|node| self.node(node)).transpose()?;
        let to = to.map(|node| self.node(node)).transpose()?;
        let patience = if self.trying { -1 } else { PATIENCE_MS };
        let until = self.started()?.now() + patience;
        loop {
            if let Some(id) = self.find_packet(what, from, to) {
                let world = self.started()?;
                match fate {
                    PacketFate::Drop => world.drop_packet(id),
                    PacketFate::Delay(ms) => world.delay_packet(id, *ms),
                    PacketFate::Duplicate => world.duplicate_packet(id),
                };
                return Ok(());
            }
            if !self.step(until)? {
                return Err(format!("no {what} was sent"));
            }
        }
    }

    pub(super) fn find_packet(
        &self,
        what: &str,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Option<PacketId> {
        let under_way = self.world.as_ref()?.agenda().packets();
        let mut ids = under_way.filter_map(|(_, packet)| {
            let seen = self.view.packets.get(&packet.id)?;
            let fits = seen.what == what
                && from.is_none_or(|from| from == seen.from)
                && to.is_none_or(|to| to == seen.to);
            fits.then_some(packet.id)
        });
        ids.next()
    }

    // ---- names

    pub(super) fn broker(&self, broker: &BrokerRef) -> Result<BrokerId, String> {
        self.sight()?.broker(broker)
    }

    pub(super) fn node(&self, node: &NodeRef) -> Result<NodeId, String> {
        self.sight()?.node(node)
    }

    fn client(&self, name: &str) -> Result<NodeId, String> {
        self.sight()?.client(name)
    }
}

fn done(done: bool, id: BrokerId, why: &str) -> Result<(), String> {
    if done {
        Ok(())
    } else {
        Err(format!("broker {id} {why}"))
    }
}
