//! One run of a script: played once, and then looked at from any of its facts.
//!
//! A place in a run is a number of facts. The view there is folded from the nearest checkpoint, so that
//! going back costs no more than going on. What a reader does at a place is done in another run, which
//! begins with the same lines up to there and goes on by itself ([`Run::until`], [`Run::then`]).
//!
//! Invariants
//! - a run never changes; one that goes on is another
//! - the lines of a run, written out, are a script that `highwater sim` plays to the same facts

use std::rc::Rc;

use highwater_core::sim::host::EPOCH_MS;
use highwater_core::sim::script::Sight;
use highwater_core::sim::script::command::{Command, Expectation, Line, Script};
use highwater_core::sim::script::player::{Look, Player};
use highwater_core::sim::story::Teller;
use highwater_core::stage::{self, Stage, StageOptions};
use highwater_core::trace::Event;
use highwater_core::types::{Millis, TopicPartition};
use highwater_core::view::ClusterView;

/// Facts between two checkpoints.
const CHECKPOINT_EVERY: usize = 256;

/// A script that was played.
#[derive(Clone, Debug)]
pub struct Run {
    player: Rc<Player>,
    lines: Vec<Played>,
    /// The view before fact 0, before fact 256, and so on.
    checkpoints: Rc<Vec<ClusterView>>,
    partition: TopicPartition,
}

/// A line, and how far the run was before it.
#[derive(Clone, Debug)]
struct Played {
    command: Command,
    facts: usize,
    steps: usize,
}

impl Run {
    /// Plays the script to its end, and tells the story of it if there is one.
    pub fn play(script: &Script, teller: Option<Teller>) -> Result<Self, String> {
        let mut player = player();
        if let Some(teller) = teller {
            player = player.telling(teller);
        }
        let commands = script.lines.iter().filter_map(|line| line.command.clone());
        Self::carry_on(player, Vec::new(), Vec::new(), commands.collect())
    }

    /// The run that goes on with this.
    pub fn then(&self, command: Command) -> Result<Self, String> {
        let (player, lines) = ((*self.player).clone(), self.lines.clone());
        Self::carry_on(player, lines, (*self.checkpoints).clone(), vec![command])
    }

    /// A run of its own that is the same up to the place, to the end of the step that it lies in.
    pub fn until(&self, facts: usize) -> Result<Self, String> {
        let commands = self.commands_until(facts);
        Self::carry_on(player(), Vec::new(), Vec::new(), commands)
    }

    fn carry_on(
        mut player: Player,
        mut lines: Vec<Played>,
        checkpoints: Vec<ClusterView>,
        commands: Vec<Command>,
    ) -> Result<Self, String> {
        for command in commands {
            // What breaks is expected, in the script's own words: the run is to be seen to its end.
            let broken = player.broken().map(|(name, _)| name.to_owned());
            if let Some(name) = broken
                && !matches!(&command, Command::Expect(Expectation::Broken(..)))
            {
                carry_out(
                    &mut player,
                    &mut lines,
                    Command::Expect(Expectation::Broken(name, None)),
                )?;
            }
            carry_out(&mut player, &mut lines, command)?;
        }
        if player.teller().is_some() {
            player.finish().map_err(|failure| failure.to_string())?;
        }
        let partition = stage::subject(player.view()).ok_or("the script makes no topic")?;
        let mut run = Self {
            player: Rc::new(player),
            lines,
            checkpoints: Rc::default(),
            partition,
        };
        run.checkpoints = Rc::new(run.fold(checkpoints));
        Ok(run)
    }

    /// The checkpoints, with those that are still missing behind these.
    fn fold(&self, mut checkpoints: Vec<ClusterView>) -> Vec<ClusterView> {
        let mut view = checkpoints.pop().unwrap_or_default();
        for at in checkpoints.len() * CHECKPOINT_EVERY..self.facts() {
            if at % CHECKPOINT_EVERY == 0 {
                checkpoints.push(view.clone());
            }
            if let Some(event) = self.event(at) {
                view.apply(event);
            }
        }
        checkpoints
    }

    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// The last place.
    pub fn facts(&self) -> usize {
        self.player.world().map_or(0, |world| world.trace().len())
    }

    /// A fact, counted from 0.
    pub fn event(&self, at: usize) -> Option<&Event> {
        self.player.world()?.trace().get(at)
    }

    /// Virtual time since the run began, when so many facts were there.
    pub fn ms_at(&self, facts: usize) -> Millis {
        let last = facts.checked_sub(1).and_then(|last| self.event(last));
        last.map_or(0, |event| event.at_ms - EPOCH_MS)
    }

    /// The facts that change what is seen, by their number.
    pub fn visible(&self) -> &[usize] {
        self.player.visible()
    }

    /// The story that is told of the run.
    pub fn teller(&self) -> Option<&Teller> {
        self.player.teller()
    }

    /// Names and questions, at the run's end.
    pub fn sight(&self) -> Option<Sight<'_>> {
        self.player.look()
    }

    /// The cluster as it was after so many facts.
    pub fn view_at(&self, facts: usize) -> ClusterView {
        let facts = facts.min(self.facts());
        let nearest = (facts / CHECKPOINT_EVERY).min(self.checkpoints.len().saturating_sub(1));
        let mut view = self.checkpoints.get(nearest).cloned().unwrap_or_default();
        for at in nearest * CHECKPOINT_EVERY..facts {
            if let Some(event) = self.event(at) {
                view.apply(event);
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
        }
    }

    /// The run as a script.
    pub fn script(&self) -> Script {
        Script::of(self.merged(0))
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
        for (at, played) in self.lines.iter().enumerate().skip(from) {
            let is_step = matches!(played.command, Command::Step(_) | Command::StepVisible);
            let next = self.lines.get(at + 1);
            let steps = next.map_or(self.player.step_ends().len(), |next| next.steps) - played.steps;
            match all.last_mut() {
                Some(Command::Step(before)) if is_step => *before += steps as u64,
                _ if is_step => all.push(Command::Step(steps as u64)),
                _ => all.push(played.command.clone()),
            }
        }
        all
    }

    /// Hash of the first facts: equal beginnings have equal ones.
    pub fn hash_until(&self, facts: usize) -> u64 {
        let world = self.player.world();
        world.map_or(0, |world| world.trace().hash_until(facts))
    }

    /// The lines that lead to the place; of one that only waits, as many steps as it took to get there.
    fn commands_until(&self, facts: usize) -> Vec<Command> {
        let mut commands = Vec::new();
        for (at, played) in self.lines.iter().enumerate() {
            let next = self.lines.get(at + 1).map_or(self.facts(), |next| next.facts);
            let begins_later = played.facts >= facts && facts > 0 && !played.command.is_setup();
            if begins_later && next > played.facts {
                break;
            }
            if next <= facts || !waits(&played.command) {
                commands.push(played.command.clone());
                continue;
            }
            let ends = self.player.step_ends().get(played.steps..).unwrap_or_default();
            let whole = ends.partition_point(|&end| end < facts);
            commands.push(Command::Step(whole as u64 + 1));
            break;
        }
        commands
    }
}

/// Invariants are looked at where a step touches them: what needs every disk read is left to the tests.
fn player() -> Player {
    Player::new().looking(Look::AtWhatIsTouched)
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

fn carry_out(player: &mut Player, lines: &mut Vec<Played>, command: Command) -> Result<(), String> {
    let facts = player.world().map_or(0, |world| world.trace().len());
    let steps = player.step_ends().len();
    let line = Line {
        number: lines.len() + 1,
        text: command.to_string(),
        command: Some(command.clone()),
        golden: Vec::new(),
    };
    player.play_line(&line).map_err(|failure| failure.why)?;
    lines.push(Played {
        command,
        facts,
        steps,
    });
    Ok(())
}
