//! Carrying a script out, one step at a time.
//!
//! The player owns the world. It folds every fact into a view, lets the invariants look after each
//! step, and keeps the facts that the script wants shown. Where a broken invariant is expected it must
//! break, in that very command; else the first that breaks ends the script.

mod act;
mod compare;
mod expect;

use std::ops::Range;

use thiserror::Error;

use super::command::{Command, Expectation, Line, Script};
use super::pattern::{self, Pattern};
use super::query::Sight;
use crate::full::FULL;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::sim::Teller;
use crate::sim::host::EPOCH_MS;
use crate::sim::invariants::{Broken, Checker};
use crate::sim::world::node::BrokerNode;
use crate::sim::world::{COORDINATION, FIRST_CLIENT, World, WorldOptions};
use crate::trace::{Event, NodeId};
use crate::types::{BrokerId, Millis, TopicPartition};
use crate::view::{ClusterView, RoleView};

/// Steps between two looks at everything.
const WHOLE_EVERY: u64 = 256;
/// `settle`, a topic, an administrator's wish: given up after so long.
const PATIENCE_MS: Millis = 180_000;
/// More steps within one virtual millisecond are a loop that never ends.
const MOST_STEPS_A_MS: u64 = 100_000;

/// A script that did not go as written.
#[derive(Clone, Debug, Error)]
#[error("line {line}, step {step}, {ms} ms: {why}")]
pub struct Failure {
    pub line: usize,
    pub step: u64,
    pub ms: Millis,
    pub why: String,
    /// The invariant that broke, if one did.
    pub invariant: Option<&'static str>,
}

/// An invariant that broke, and when.
#[derive(Clone, Debug)]
struct Break {
    broken: Broken,
    step: u64,
    ms: Millis,
    /// The facts of that step, by their place in the trace.
    facts: Range<usize>,
}

/// Which invariants are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// None: for measuring.
    Nowhere,
    /// Those that cost what a step touched.
    AtWhatIsTouched,
    /// All, though not after each step.
    Everywhere,
}

/// A script in the middle of its run.
#[derive(Clone, Debug)]
pub struct Player {
    options: WorldOptions,
    world: Option<World>,
    view: ClusterView,
    checker: Option<Checker>,
    /// Whether every disk is looked at, now and then.
    looks_at_all: bool,
    folded: usize,
    /// Facts that a reader stops at, by their place in the trace.
    visible: Vec<usize>,
    /// How many facts there were after each step of the world.
    steps: Vec<usize>,
    shown: OrderedSet<String>,
    output: Vec<String>,
    clients: OrderedMap<String, NodeId>,
    admin: Option<NodeId>,
    /// The first fact of the last command that let things happen.
    since: usize,
    broke: Option<Break>,
    /// Something broke as expected. What follows from it on the disks is no news.
    has_broken: bool,
    checkpoint: Option<Box<(World, Checker, ClusterView)>>,
    steps_since_whole: u64,
    line: usize,
    same_ms: (Millis, u64),
    /// In a `try`.
    trying: bool,
    /// After each step the view is compared with what the brokers hold.
    compares: bool,
    teller: Option<Box<Teller>>,
    /// For each moment that the last line has brought: the lines it had shown before.
    told_after: Vec<usize>,
    /// The last fact of each node whose cause was looked at.
    known: OrderedMap<NodeId, u64>,
    looked_at: usize,
}

impl Player {
    /// Begins with what a script needs that says nothing of it.
    pub fn new() -> Self {
        Self {
            options: WorldOptions::default(),
            world: None,
            view: ClusterView::default(),
            checker: Some(Checker::default()),
            looks_at_all: true,
            folded: 0,
            visible: Vec::new(),
            steps: Vec::new(),
            shown: OrderedSet::new(),
            output: Vec::new(),
            clients: OrderedMap::new(),
            admin: None,
            since: 0,
            broke: None,
            has_broken: false,
            checkpoint: None,
            steps_since_whole: 0,
            line: 0,
            same_ms: (0, 0),
            trying: false,
            compares: false,
            teller: None,
            told_after: Vec::new(),
            known: OrderedMap::new(),
            looked_at: 0,
        }
    }

    /// Looks at these invariants; all, if this is not said.
    pub fn looking(mut self, look: Look) -> Self {
        self.checker = (look != Look::Nowhere).then(Checker::default);
        self.looks_at_all = look == Look::Everywhere;
        self
    }

    /// Compares the view with what the brokers hold, after each step, and looks that each fact has a cause.
    pub fn comparing(mut self) -> Self {
        self.compares = true;
        self
    }

    /// Tells the story of the run.
    pub fn telling(mut self, teller: Teller) -> Self {
        self.teller = Some(Box::new(teller));
        self
    }

    /// The story, as far as it is told.
    pub fn teller(&self) -> Option<&Teller> {
        self.teller.as_deref()
    }

    /// For each moment that came during the last line: how many lines had been shown before it.
    pub fn told_after(&self) -> &[usize] {
        &self.told_after
    }

    /// Plays a whole script; the script with the output that it had this time.
    pub fn play(script: &Script) -> Result<Script, Failure> {
        Self::new().play_all(script)
    }

    pub fn play_all(&mut self, script: &Script) -> Result<Script, Failure> {
        let mut played = script.clone();
        for line in &mut played.lines {
            line.golden = self.play_line(line)?;
        }
        self.finish()?;
        Ok(played)
    }

    /// The world as it is now; `None` before the first command that needs it.
    pub fn world(&self) -> Option<&World> {
        self.world.as_ref()
    }

    pub fn view(&self) -> &ClusterView {
        &self.view
    }

    /// The visible facts so far, by their place in the trace: those that change the view, packets aside, and
    /// those at which a moment of the story comes.
    pub fn visible(&self) -> &[usize] {
        &self.visible
    }

    /// How many facts there were after each step of the world, in order; what a line does itself, and the
    /// time that passes at the end of `run`, is no step.
    pub fn step_ends(&self) -> &[usize] {
        &self.steps
    }

    /// What names in the script mean now, and what can be asked of the run; `None` before the first command
    /// that needs a world.
    pub fn look(&self) -> Option<Sight<'_>> {
        self.sight().ok()
    }

    /// The invariant that is broken, and not yet expected.
    pub fn broken(&self) -> Option<(&'static str, &str)> {
        let broke = self.broke.as_ref()?;
        Some((broke.broken.invariant.name, &broke.broken.why))
    }

    /// Carries out one line; what it showed.
    pub fn play_line(&mut self, line: &Line) -> Result<Vec<String>, Failure> {
        let Some(command) = &line.command else {
            return Ok(Vec::new());
        };
        let expects = matches!(command, Command::Expect(Expectation::Broken(..)));
        if !expects {
            if !command.only_waits() && !command.is_setup() {
                // Whatever is broken by now was broken by what went before.
                self.look_at_everything();
            }
            self.fail_if_broken()?;
        }
        self.line = line.number;
        self.told_after.clear();
        self.play_command(command).map_err(|why| self.failure(why))?;
        Ok(std::mem::take(&mut self.output))
    }

    /// The script is over: nothing may be broken, and every disk is looked at.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.fail_if_broken()?;
        self.look_at_everything();
        self.fail_if_broken()?;
        if let Some(mut teller) = self.teller.take() {
            if let Ok(sight) = self.sight() {
                teller.end(sight.world.elapsed_ms(), sight);
            }
            self.teller = Some(teller);
        }
        Ok(())
    }

    fn fail_if_broken(&mut self) -> Result<(), Failure> {
        match self.broke.take() {
            None => Ok(()),
            Some(Break { broken, step, ms, .. }) => Err(Failure {
                line: self.line,
                step,
                ms,
                why: broken.to_string(),
                invariant: Some(broken.invariant.name),
            }),
        }
    }

    fn failure(&self, why: String) -> Failure {
        let world = self.world.as_ref();
        Failure {
            line: self.line,
            step: world.map_or(0, World::steps),
            ms: world.map_or(0, World::elapsed_ms),
            why,
            invariant: None,
        }
    }

    /// The run as it is, to ask it.
    pub(super) fn sight(&self) -> Result<Sight<'_>, String> {
        let world = self.world.as_ref().ok_or("nothing has happened yet")?;
        Ok(Sight {
            world,
            view: &self.view,
            clients: &self.clients,
        })
    }

    // ---- letting things happen

    /// The world, made at the first need.
    fn started(&mut self) -> Result<&mut World, String> {
        if self.world.is_none() {
            let world = World::new(&self.options).map_err(|error| error.to_string())?;
            self.world = Some(world);
            self.take_in();
        }
        self.world.as_mut().ok_or_else(|| "there is no world".to_owned())
    }

    /// One step, if there is one before `until`; false when there is none, or an invariant broke.
    fn step(&mut self, until: Millis) -> Result<bool, String> {
        if self.broke.is_some() {
            return Ok(false);
        }
        let world = self.started()?;
        if !world.step_until(until) {
            return Ok(false);
        }
        if let Some(why) = world.broken() {
            return Err(why.to_owned());
        }
        let now = world.now();
        let same = if self.same_ms.0 == now {
            self.same_ms.1 + 1
        } else {
            0
        };
        self.same_ms = (now, same);
        if same > MOST_STEPS_A_MS {
            return Err(format!("{MOST_STEPS_A_MS} steps, and no time has passed"));
        }
        self.take_in();
        self.steps.push(self.folded);
        self.compare()?;
        self.steps_since_whole += 1;
        if self.steps_since_whole >= WHOLE_EVERY {
            self.look_at_everything();
        }
        Ok(self.broke.is_none())
    }

    /// Folds what is new into the view, shows what is wanted, and lets the invariants look.
    fn take_in(&mut self) {
        let Some(world) = &self.world else { return };
        for (at, event) in (self.folded..).zip(world.trace().since(self.folded)) {
            let mut visible = self.view.apply(event);
            if !self.shown.is_empty() && self.shown.contains(pattern::name_of(&event.fact)) {
                self.output.push(tell(event));
            }
            if let Some(teller) = &mut self.teller {
                let sight = Sight {
                    world,
                    view: &self.view,
                    clients: &self.clients,
                };
                if teller.look(event, world.elapsed_ms(), at + 1, sight) {
                    self.told_after.push(self.output.len());
                    visible = true;
                }
            }
            if visible {
                self.visible.push(at);
            }
        }
        let facts = self.folded..world.trace().len();
        self.folded = facts.end;
        if let Some(checker) = &mut self.checker
            && let Err(broken) = checker.after_step(world, &self.view)
            && self.broke.is_none()
        {
            self.broke = Some(Break::now(world, broken, facts));
        }
    }

    /// The checks that read every disk; one that fails is looked for among the steps since the last.
    fn look_at_everything(&mut self) {
        self.steps_since_whole = 0;
        let (Some(world), Some(checker)) = (&self.world, &self.checker) else {
            return;
        };
        if self.broke.is_some() || self.has_broken || !self.looks_at_all {
            return;
        }
        if let Err(broken) = checker.whole(world) {
            let first = self.first_broken_step();
            let last = self.folded..self.folded;
            self.broke = Some(first.unwrap_or_else(|| Break::now(world, broken, last)));
        }
        self.remember();
    }

    /// From here the steps that follow can be run again; nothing may be done from outside in between.
    fn remember(&mut self) {
        if !FULL {
            return;
        }
        if let (Some(world), Some(checker), true) = (&self.world, &self.checker, self.looks_at_all) {
            self.checkpoint = Some(Box::new((world.clone(), checker.clone(), self.view.clone())));
        }
    }

    /// Runs the steps since the last look again, looking after each.
    fn first_broken_step(&self) -> Option<Break> {
        if !FULL {
            return None;
        }
        let (mut world, mut checker, mut view) = (**self.checkpoint.as_ref()?).clone();
        let last = self.world.as_ref()?.steps();
        let mut folded = world.trace().len();
        while world.steps() < last && world.step() {
            world.trace().since(folded).for_each(|event| {
                view.apply(event);
            });
            let facts = folded..world.trace().len();
            folded = facts.end;
            let _ = checker.after_step(&world, &view);
            if let Err(broken) = checker.whole(&world) {
                return Some(Break::now(&world, broken, facts));
            }
        }
        None
    }

    fn run(&mut self, ms: Millis) -> Result<(), String> {
        let until = self.started()?.now() + ms;
        while self.step(until)? {}
        if self.broke.is_none()
            && let Some(world) = &mut self.world
        {
            let rest = until - world.now();
            world.run_for(rest);
        }
        Ok(())
    }

    /// Until something visible has happened.
    fn step_to_visible(&mut self) -> Result<(), String> {
        let until = self.started()?.now() + PATIENCE_MS;
        let before = self.visible.len();
        while self.visible.len() == before {
            if !self.step(until)? {
                break;
            }
        }
        if self.visible.len() > before || self.broke.is_some() {
            return Ok(());
        }
        Err(format!(
            "nothing that can be seen happens within {PATIENCE_MS} ms"
        ))
    }

    fn step_until(&mut self, wanted: &Pattern, within: Millis) -> Result<(), String> {
        let until = self.started()?.now() + within;
        let mut at = self.folded;
        while self.step(until)? {
            let Some(world) = &self.world else { break };
            if world.trace().since(at).any(|event| wanted.matches(event)) {
                return Ok(());
            }
            at = self.folded;
        }
        if self.broke.is_some() {
            return Ok(());
        }
        Err(format!("no {wanted} within {within} ms"))
    }

    /// Until nothing is left to do: clients are done, replicas in sync and equal.
    fn settle(&mut self) -> Result<(), String> {
        let until = self.started()?.now() + PATIENCE_MS;
        let mut changed = usize::MAX;
        loop {
            let now = self.world.as_ref().map_or(0, World::now);
            if changed != self.folded {
                changed = self.folded;
                if self.is_settled().is_ok() {
                    break;
                }
            }
            if !self.step(until)? {
                let why = self.is_settled().err().unwrap_or_default();
                self.look_at_rest();
                if self.broke.is_some() {
                    return Ok(());
                }
                return Err(format!(
                    "after {PATIENCE_MS} ms the cluster has not come to rest: {why}"
                ));
            }
            debug_assert!(self.world.as_ref().is_some_and(|world| world.now() >= now));
        }
        self.look_at_rest();
        Ok(())
    }

    /// The checks of a cluster that rests, or has had the time to come to rest.
    fn look_at_rest(&mut self) {
        self.look_at_everything();
        if let (Some(world), Some(checker), None) = (&self.world, &self.checker, &self.broke)
            && let Err(broken) = checker.at_rest(world, &self.view)
        {
            self.broke = Some(Break::now(world, broken, self.folded..self.folded));
        }
    }

    fn is_settled(&self) -> Result<(), String> {
        let Some(world) = &self.world else { return Ok(()) };
        if let Some(busy) = world.clients().find(|client| !client.is_idle()) {
            return Err(format!("client {} is not done", busy.id));
        }
        if let Some(node) = world.brokers().find(|node| node.is_running() && !node.ready) {
            return Err(format!("broker {} is not ready", node.id));
        }
        for partition in world.partitions() {
            self.is_partition_settled(&partition.0, &partition.1)
                .map_err(|why| format!("{}: {why}", partition.0))?;
        }
        Ok(())
    }

    fn is_partition_settled(&self, partition: &TopicPartition, replicas: &[BrokerId]) -> Result<(), String> {
        let is_up = |id: &&BrokerId| self.view.brokers.get(id).is_some_and(|seen| seen.up);
        let leader = self.view.leader(partition).ok_or("nobody leads")?;
        let brokers = self.world.iter().flat_map(World::brokers);
        let told = |node: &BrokerNode| node.broker.as_ref()?.told_leader(partition);
        let mut up = brokers.filter(|node| node.is_running());
        if let Some(node) = up.find(|node| told(node) != Some(leader)) {
            return Err(format!(
                "broker {} does not know that broker {leader} leads",
                node.id
            ));
        }
        let led = self
            .view
            .replica(leader, partition)
            .ok_or("the leader has no replica")?;
        let RoleView::Leader { isr, .. } = &led.role else {
            return Err("nobody leads".to_owned());
        };
        for id in replicas.iter().filter(is_up) {
            let replica = self.view.replica(*id, partition);
            let replica = replica.ok_or_else(|| format!("broker {id} has no replica"))?;
            if !isr.contains(id) {
                return Err(format!("broker {id} is not in the ISR {isr:?}"));
            }
            if (replica.log_end, replica.high_watermark) != (led.log_end, led.log_end) {
                return Err(format!("broker {id} is not caught up"));
            }
        }
        Ok(())
    }
}

impl Break {
    fn now(world: &World, broken: Broken, facts: Range<usize>) -> Self {
        Self {
            broken,
            step: world.steps(),
            ms: world.elapsed_ms(),
            facts,
        }
    }
}

impl Default for Player {
    fn default() -> Self {
        Self::new()
    }
}

/// A fact as a line: when, of whom, what.
pub fn tell(event: &Event) -> String {
    let who = match event.id.node {
        0 => "world".to_owned(),
        COORDINATION => "coordination".to_owned(),
        node if node >= FIRST_CLIENT => format!("client {node}"),
        node => format!("broker {node}"),
    };
    format!("{:>6} ms  {who:<12}  {}", event.at_ms - EPOCH_MS, event.fact)
}
