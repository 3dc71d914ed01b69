//! One run of a script: played once, and then looked at from any of its facts.
//!
//! A place in a run is a number of facts. The view there is folded from the nearest checkpoint, so that
//! going back costs no more than going on. What a reader does at a place is done in another run, which
//! begins with the same lines up to there and goes on by itself ([`Run::until`], [`Run::then`]).
//!
//! A simulated world cannot be copied here. Runs that go on share the one that they have come to, each
//! knowing how far it goes; the latest drives it on, and one that goes on from an earlier place plays its
//! lines again in a world of its own.
//!
//! Invariants
//! - a run never changes; one that goes on is another
//! - the lines of a run, written out, are a script that `highwater sim` plays to the same facts

use std::cell::{Ref, RefCell};
use std::ops::Deref;
use std::rc::Rc;

use highwater_core::sim::World;
use highwater_core::sim::host::EPOCH_MS;
use highwater_core::sim::script::command::{Command, Expectation, Line, Script};
use highwater_core::sim::script::player::{Look, Player};
use highwater_core::sim::story::Teller;
use highwater_core::stage::{self, Picture, Stage, StageOptions};
use highwater_core::trace::{Event, Fact, ProducerFact, WorldFact};
use highwater_core::types::{Millis, TopicPartition};
use highwater_core::view::ClusterView;

/// Facts between two checkpoints.
const CHECKPOINT_EVERY: usize = 256;

/// A script that was played.
#[derive(Clone, Debug)]
pub struct Run {
    source: Source,
    lines: Vec<Rc<Played>>,
    /// The view before fact 0, before fact 256, and so on.
    checkpoints: Vec<Rc<ClusterView>>,
    partition: TopicPartition,
    picture: Picture,
    breaks: Vec<Break>,
}

/// What has played it.
#[derive(Clone, Debug)]
enum Source {
    /// To the end of a story: nobody drives it on.
    Told(Rc<Player>),
    Live(Rc<RefCell<Live>>),
}

/// A player that is driven on.
#[derive(Debug)]
struct Live {
    player: Player,
    /// Lines that it has played; `None` when one has failed, and nobody can go on from there.
    lines: Option<usize>,
}

/// A fact, lent by whoever has it.
pub enum Lent<'a> {
    Told(&'a Event),
    Live(Ref<'a, Event>),
}

impl Deref for Lent<'_> {
    type Target = Event;

    fn deref(&self) -> &Event {
        match self {
            Self::Told(event) => event,
            Self::Live(event) => event,
        }
    }
}

/// An invariant that broke.
#[derive(Clone, Debug)]
struct Break {
    /// Facts at the end of the step that broke it.
    facts: usize,
    name: &'static str,
    why: String,
}

/// A line, and what came of it.
#[derive(Debug)]
struct Played {
    command: Command,
    /// Facts before it, and after it.
    facts: usize,
    until: usize,
    /// Those that change what is seen, by their number in the run.
    visible: Vec<usize>,
    /// How many facts there were after each step of the world.
    ends: Vec<usize>,
}

impl Run {
    /// Plays the script to its end, and tells the story of it if there is one.
    pub fn play(script: &Script, teller: Option<Teller>) -> Result<Self, String> {
        let picture = teller
            .as_ref()
            .map_or(Picture::default(), |teller| teller.story().picture);
        let mut player = player();
        if let Some(teller) = teller {
            player = player.telling(teller);
        }
        let commands = script.lines.iter().filter_map(|line| line.command.clone());
        let mut past = Past::default();
        past.play(&mut player, commands.collect())?;
        player.finish().map_err(|failure| failure.to_string())?;
        let partition = stage::subject(player.view()).ok_or("the script makes no topic")?;
        Ok(past.run(Source::Told(Rc::new(player)), partition, picture))
    }

    /// The run that goes on with this.
    pub fn then(&self, command: Command) -> Result<Self, String> {
        let Source::Live(live) = &self.source else {
            return self.until(self.facts())?.then(command);
        };
        if live.borrow().lines != Some(self.lines.len()) {
            let commands = self.lines.iter().map(|line| line.command.clone());
            return self.again(commands.collect())?.then(command);
        }
        let mut past = Past {
            lines: self.lines.clone(),
            checkpoints: self.checkpoints.clone(),
            breaks: self.breaks.clone(),
        };
        let mut driven = live.borrow_mut();
        driven.lines = None;
        past.play(&mut driven.player, vec![command])?;
        driven.lines = Some(past.lines.len());
        drop(driven);
        Ok(past.run(self.source.clone(), self.partition.clone(), self.picture))
    }

    /// A run of its own that is the same up to the place, to the end of the step that it lies in.
    pub fn until(&self, facts: usize) -> Result<Self, String> {
        self.again(self.commands_until(facts))
    }

    /// Its lines.
    pub fn commands(&self) -> Vec<Command> {
        self.merged(0)
    }

    /// These lines in place of its own, from the start.
    pub fn instead(&self, commands: Vec<Command>) -> Result<Self, String> {
        self.again(commands)
    }

    /// These lines, some of this run's, in a world of their own.
    fn again(&self, commands: Vec<Command>) -> Result<Self, String> {
        let mut player = player();
        let mut past = Past::default();
        past.play(&mut player, commands)?;
        let live = Live {
            player,
            lines: Some(past.lines.len()),
        };
        // The topic may not be made yet.
        let partition = self.partition.clone();
        Ok(past.run(Source::Live(Rc::new(RefCell::new(live))), partition, self.picture))
    }

    pub fn picture(&self) -> Picture {
        self.picture
    }

    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// The last place.
    pub fn facts(&self) -> usize {
        self.lines.last().map_or(0, |line| line.until)
    }

    /// The line that a fact came of.
    fn line_of(&self, at: usize) -> Option<&Played> {
        let begun = self.lines.partition_point(|line| line.facts <= at);
        self.lines.get(begun.checked_sub(1)?).map(|line| &**line)
    }

    /// A fact, counted from 0.
    pub fn event(&self, at: usize) -> Option<Lent<'_>> {
        let is_there = at < self.facts();
        match &self.source {
            _ if !is_there => None,
            Source::Told(player) => player.world()?.trace().get(at).map(Lent::Told),
            Source::Live(live) => {
                let found = Ref::filter_map(live.borrow(), |live| live.player.world()?.trace().get(at));
                found.ok().map(Lent::Live)
            }
        }
    }

    /// Virtual time since the run began, when so many facts were there.
    pub fn ms_at(&self, facts: usize) -> Millis {
        let last = facts.checked_sub(1).and_then(|last| self.event(last));
        last.map_or(0, |event| event.at_ms - EPOCH_MS)
    }

    /// How many facts there are by that time.
    pub fn facts_at(&self, ms: Millis) -> usize {
        let later = |at: &usize| self.ms_at(at + 1) > ms;
        (0..self.facts()).find(later).unwrap_or(self.facts())
    }

    /// Looks into the world as it is now: at the run's end, if the run has just been played.
    pub fn with_world<R>(&self, look: impl FnOnce(&World) -> Option<R>) -> Option<R> {
        match &self.source {
            Source::Told(player) => look(player.world()?),
            Source::Live(live) => look(live.borrow().player.world()?),
        }
    }

    /// The invariants that broke before the place, each with what was seen.
    pub fn broken_until(&self, facts: usize) -> impl Iterator<Item = (&'static str, &str)> {
        let so_far = self.breaks.iter().filter(move |broke| broke.facts <= facts);
        so_far.map(|broke| (broke.name, &*broke.why))
    }

    /// Whether the fact changes what is seen.
    pub fn is_visible(&self, at: usize) -> bool {
        if self.picture == Picture::Producer {
            return self.event(at).is_some_and(|event| moves_records(&event.fact));
        }
        if self.picture == Picture::Tree && self.event(at).is_some_and(|event| alters_tree(&event.fact)) {
            return true;
        }
        let line = self.line_of(at);
        line.is_some_and(|line| line.visible.binary_search(&at).is_ok())
    }

    /// The story that is told of the run.
    pub fn teller(&self) -> Option<&Teller> {
        match &self.source {
            Source::Told(player) => player.teller(),
            Source::Live(_) => None,
        }
    }

    /// The cluster as it was after so many facts.
    pub fn view_at(&self, facts: usize) -> ClusterView {
        let facts = facts.min(self.facts());
        let nearest = (facts / CHECKPOINT_EVERY).min(self.checkpoints.len().saturating_sub(1));
        let checkpoint = self.checkpoints.get(nearest);
        let mut view = checkpoint.map_or_else(ClusterView::default, |view| (**view).clone());
        for at in nearest * CHECKPOINT_EVERY..facts {
            if let Some(event) = self.event(at) {
                view.apply(&event);
            }
        }
        view
    }

    /// The stage after so many facts; what was cut off since the fact `cut_since` is still on it.
    pub fn stage_at(&self, facts: usize, cut_since: usize) -> Stage {
        Stage::of(&self.view_at(facts), &self.options(cut_since))
    }

    pub fn options(&self, cut_since: usize) -> StageOptions {
        StageOptions {
            partition: self.partition.clone(),
            most_columns: stage::MOST_COLUMNS,
            cut_since,
            picture: self.picture,
        }
    }

    /// The run as a script, which says, too, what its last line has broken.
    pub fn script(&self) -> Script {
        let mut commands = self.merged(0);
        let last = self
            .lines
            .last()
            .filter(|line| !matches!(line.command, Command::Expect(_)));
        let broken = self.breaks.last().filter(|_| last.is_some());
        if let Some(broken) = broken.filter(|broken| broken.facts == self.facts()) {
            commands.push(Command::Expect(Expectation::Broken(broken.name.to_owned(), None)));
        }
        Script::of(commands)
    }

    /// Lines so far.
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// What was done from that line on, in words; what is only expected is left out.
    pub fn actions_from(&self, line: usize) -> Vec<String> {
        let merged = self.merged(line).into_iter();
        let actions = merged.filter(|command| !matches!(command, Command::Expect(_)));
        actions.map(|command| command.to_string()).collect()
    }

    /// The lines from that one on; steps in a row as one line.
    fn merged(&self, from: usize) -> Vec<Command> {
        let mut all: Vec<Command> = Vec::new();
        for line in self.lines.iter().skip(from) {
            let is_step = matches!(line.command, Command::Step(_) | Command::StepVisible);
            let steps = line.ends.len() as u64;
            match all.last_mut() {
                Some(Command::Step(before)) if is_step => *before += steps,
                _ if is_step => all.push(Command::Step(steps)),
                _ => all.push(line.command.clone()),
            }
        }
        all
    }

    /// Hash of the first facts: equal beginnings have equal ones.
    pub fn hash_until(&self, facts: usize) -> u64 {
        let hash = self.with_world(|world| Some(world.trace().hash_until(facts)));
        hash.unwrap_or_default()
    }

    /// The lines that lead to the place; of one that only waits, as many steps as it took to get there.
    fn commands_until(&self, facts: usize) -> Vec<Command> {
        let mut commands = Vec::new();
        for line in &self.lines {
            let next = line.until;
            let begins_later = line.facts >= facts && facts > 0 && !line.command.is_setup();
            if begins_later && next > line.facts {
                break;
            }
            if next <= facts || !waits(&line.command) {
                commands.push(line.command.clone());
                continue;
            }
            let whole = line.ends.partition_point(|&end| end < facts);
            commands.push(Command::Step(whole as u64 + 1));
            break;
        }
        commands
    }
}

/// What there is of a run that goes on.
#[derive(Default)]
struct Past {
    lines: Vec<Rc<Played>>,
    checkpoints: Vec<Rc<ClusterView>>,
    breaks: Vec<Break>,
}

impl Past {
    fn play(&mut self, player: &mut Player, commands: Vec<Command>) -> Result<(), String> {
        for command in commands {
            // What breaks is expected, in the script's own words: the run is to be seen to its end.
            let broken = player.broken().map(|(name, _)| name.to_owned());
            if let Some(name) = broken
                && !matches!(&command, Command::Expect(Expectation::Broken(..)))
            {
                self.carry_out(player, Command::Expect(Expectation::Broken(name, None)))?;
            }
            self.carry_out(player, command)?;
            self.breaks.extend(player.broken().map(|(name, why)| Break {
                facts: facts_of(player),
                name,
                why: why.to_owned(),
            }));
        }
        Ok(())
    }

    fn carry_out(&mut self, player: &mut Player, command: Command) -> Result<(), String> {
        let facts = facts_of(player);
        let (visible, steps) = (player.visible().len(), player.step_ends().len());
        let line = Line {
            number: self.lines.len() + 1,
            text: command.to_string(),
            command: Some(command.clone()),
            golden: Vec::new(),
        };
        player.play_line(&line).map_err(|failure| failure.why)?;
        let until = facts_of(player);
        self.lines.push(Rc::new(Played {
            command,
            facts,
            until,
            visible: player.visible()[visible..].to_vec(),
            ends: player.step_ends()[steps..].to_vec(),
        }));
        Ok(())
    }

    fn run(self, source: Source, partition: TopicPartition, picture: Picture) -> Run {
        let mut run = Run {
            source,
            lines: self.lines,
            checkpoints: self.checkpoints,
            partition,
            picture,
            breaks: self.breaks,
        };
        run.fold();
        run
    }
}

impl Run {
    /// Adds the checkpoints that are still missing.
    fn fold(&mut self) {
        let known = self.checkpoints.len().saturating_sub(1);
        let mut view = match self.checkpoints.pop() {
            Some(last) => Rc::unwrap_or_clone(last),
            None => ClusterView::default(),
        };
        for at in known * CHECKPOINT_EVERY..self.facts() {
            if at % CHECKPOINT_EVERY == 0 {
                self.checkpoints.push(Rc::new(view.clone()));
            }
            if let Some(event) = self.event(at) {
                view.apply(&event);
            }
        }
        if self.checkpoints.is_empty() {
            self.checkpoints.push(Rc::new(view));
        }
    }
}

fn facts_of(player: &Player) -> usize {
    player.world().map_or(0, |world| world.trace().len())
}

/// Invariants are looked at where a step touches them: what needs every disk read is left to the tests.
fn player() -> Player {
    Player::new().looking(Look::AtWhatIsTouched)
}

/// Whether records come into a batch or into `send`'s wait, or batches go out or end. How a single record comes
/// through its stages is told by a story.
fn moves_records(fact: &Fact) -> bool {
    match fact {
        Fact::World(WorldFact::RecordsGiven { .. }) => true,
        Fact::Producer(fact) => matches!(
            fact,
            ProducerFact::RecordBlocked { .. }
                | ProducerFact::RecordAppended { .. }
                | ProducerFact::RecordFailed { .. }
                | ProducerFact::RequestSent { .. }
                | ProducerFact::BatchAcknowledged { .. }
                | ProducerFact::BatchRetried { .. }
                | ProducerFact::BatchSplit { .. }
                | ProducerFact::BatchFailed { .. }
        ),
        _ => false,
    }
}

/// Whether sessions, their nodes or who watches may be others then.
fn alters_tree(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::SessionOpened { .. }
            | Fact::SessionResumed { .. }
            | Fact::SessionDisconnected { .. }
            | Fact::SessionClosed { .. }
            | Fact::SessionExpired { .. }
            | Fact::WatchSet { .. }
            | Fact::WatchFired { .. }
            | Fact::CoordinationChanged { .. }
    )
}

/// Whether what the line does can be had in single steps.
fn waits(command: &Command) -> bool {
    matches!(
        command,
        Command::Step(_)
            | Command::StepVisible
            | Command::StepUntil(..)
            | Command::Run(_)
            | Command::Settle
            | Command::Packet { .. }
    )
}
