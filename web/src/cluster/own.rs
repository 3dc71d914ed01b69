//! A run of the reader's own: it leaves the story somewhere, and goes on with what the reader does.
//!
//! Its stops are those of the run from there on. The last one is not the end: a step beyond it lets the
//! cluster go on to its next visible change.

use std::rc::Rc;

use highwater_core::sim::script::command::Command;
use highwater_core::stage::{Picture, Stage};
use highwater_core::trace::{Fact, WorldFact};
use highwater_core::types::Millis;

use super::link::OwnSpot;
use super::offer;
use super::run::Run;
use super::timeline::{self, SideStop, Stop};
use super::tune;

/// Changes that do not alter the picture are passed over, so many at most.
const MOST_PASSED_OVER: usize = 200;

/// The reader's run.
#[derive(Clone, Debug)]
pub struct Own {
    pub run: Rc<Run>,
    /// The side of the scene that it comes from.
    pub side: usize,
    /// Where it left that side's run.
    pub from: usize,
    pub stops: Rc<Vec<Stop>>,
    /// Lines of the run that are the story's.
    story_lines: usize,
    /// What was set otherwise, from the start on: `linger.ms=0`.
    turned: Vec<String>,
}

impl Own {
    /// Leaves the side's run at the place, with nothing done yet.
    pub fn leaving(run: &Run, side: usize, from: usize) -> Result<Self, String> {
        let run = run.until(from)?;
        let mut own = Self {
            side,
            // A step is left only at its end.
            from: run.facts(),
            story_lines: run.lines(),
            run: Rc::new(run),
            stops: Rc::default(),
            turned: Vec::new(),
        };
        own.find_stops();
        Ok(own)
    }

    /// The run that a link tells of.
    pub fn opened(run: &Run, spot: &OwnSpot) -> Result<Self, String> {
        let own = Self::leaving(run, spot.side, spot.from)?;
        let mut actions = spot.actions.iter();
        actions.try_fold(own, |own, words| match words.strip_prefix(tune::WORD) {
            Some(words) => own.turning(run, words),
            None => own.doing(words),
        })
    }

    pub fn spot(&self) -> OwnSpot {
        OwnSpot {
            side: self.side,
            from: self.from,
            actions: self
                .turns()
                .chain(self.run.actions_from(self.story_lines))
                .collect(),
        }
    }

    /// What was turned, as actions.
    fn turns(&self) -> impl Iterator<Item = String> {
        self.turned.iter().map(|words| format!("{}{words}", tune::WORD))
    }

    /// The story's run from the start with one thing more set otherwise; what else was done is not done there.
    pub fn turning(&self, told: &Run, words: &str) -> Result<Self, String> {
        let key = |words: &str| words.split('=').next().map(str::to_owned);
        let mut turned = self.turned.clone();
        turned.retain(|before| key(before) != key(words));
        turned.push(words.to_owned());
        let run = tune::turn(told, &turned)?;
        let is_given = |at: &usize| {
            let event = run.event(*at);
            event.is_some_and(|event| matches!(event.fact, Fact::World(WorldFact::RecordsGiven { .. })))
        };
        let given = (0..run.facts()).rev().find(is_given);
        let mut own = Self {
            side: self.side,
            // What was given last is to be compared.
            from: given.map_or(run.facts(), |at| at + 1),
            story_lines: run.lines(),
            run: Rc::new(run),
            stops: Rc::default(),
            turned,
        };
        own.find_stops();
        Ok(own)
    }

    /// What the turning has cost and spared, against the story's own run.
    pub fn compared(&self, told: &Run) -> Option<String> {
        let is_turned = !self.turned.is_empty();
        is_turned.then(|| tune::compared(&tune::tally(&self.run), &tune::tally(told)))
    }

    /// The same with one thing more done, at its end.
    pub fn doing(&self, words: &str) -> Result<Self, String> {
        self.going_on(offer::command(words)?)
    }

    /// The same up to the stop, and then this.
    pub fn doing_at(&self, stop: usize, words: &str) -> Result<Self, String> {
        if stop >= self.last() {
            return self.doing(words);
        }
        let command = offer::command(words)?;
        let until = self.facts_at(stop);
        let mut earlier = Self {
            run: Rc::new(self.run.until(until)?),
            stops: Rc::default(),
            ..self.clone()
        };
        earlier.find_stops();
        earlier.going_on(command)
    }

    /// The same with the cluster gone on to its next visible change.
    pub fn stepping(&self) -> Result<Self, String> {
        let mut next = self.clone();
        for _ in 0..MOST_PASSED_OVER {
            next = next.going_on(match self.run.picture() {
                Picture::Replicas | Picture::Tree => Command::StepVisible,
                // No change of the replicas, perhaps, but one of the producer.
                Picture::Producer => Command::Step(1),
            })?;
            if next.stops.len() > self.stops.len() {
                return Ok(next);
            }
        }
        Err("nothing more is seen to happen".to_owned())
    }

    fn going_on(&self, command: Command) -> Result<Self, String> {
        let mut next = Self {
            run: Rc::new(self.run.then(command)?),
            ..self.clone()
        };
        next.find_stops();
        Ok(next)
    }

    /// Adds the stops that are still missing.
    fn find_stops(&mut self) {
        let (run, from) = (self.run.clone(), self.from);
        let stops = Rc::make_mut(&mut self.stops);
        let known = stops.last().map(|last: &Stop| last.sides[0].facts);
        let new = timeline::stops(&run, known.unwrap_or(from), run.facts()).into_iter();
        stops.extend(new.skip(usize::from(known.is_some())).map(own_stop));
    }

    pub fn facts_at(&self, stop: usize) -> usize {
        self.glance(stop).map_or(self.from, |stop| stop.sides[0].facts)
    }

    pub fn stage_at(&self, stop: usize) -> Option<Rc<Stage>> {
        self.glance(stop).map(|stop| stop.sides[0].stage.clone())
    }

    pub fn ms_at(&self, stop: usize) -> Millis {
        self.glance(stop).map_or(0, |stop| stop.ms)
    }

    fn glance(&self, stop: usize) -> Option<&Stop> {
        self.stops.get(stop).or(self.stops.last())
    }

    pub fn last(&self) -> usize {
        self.stops.len().saturating_sub(1)
    }

    /// What was done, for a list: `crash 2, restart 2`.
    pub fn label(&self) -> String {
        let done = self
            .turned
            .iter()
            .cloned()
            .chain(self.run.actions_from(self.story_lines));
        let done: Vec<String> = done.filter(|words| !words.starts_with("step")).collect();
        match done.is_empty() {
            true => "nothing done yet".to_owned(),
            false => done.join(", "),
        }
    }
}

fn own_stop(stop: SideStop) -> Stop {
    Stop {
        sides: vec![stop.glance],
        moved: 0,
        ms: stop.ms,
        beat: 0,
    }
}
