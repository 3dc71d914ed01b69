//! A run of the reader's own: it leaves the story somewhere, and goes on with what the reader does.
//!
//! Its stops are those of the run from there on. The last one is not the end: a step beyond it lets the
//! cluster go on to its next visible change.

use std::rc::Rc;

use highwater_core::sim::script::command::Command;
use highwater_core::stage::Stage;
use highwater_core::types::Millis;

use super::link::OwnSpot;
use super::offer;
use super::run::Run;
use super::timeline::{self, SideStop, Stop};

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
        };
        own.find_stops();
        Ok(own)
    }

    /// The run that a link tells of.
    pub fn opened(run: &Run, spot: &OwnSpot) -> Result<Self, String> {
        let own = Self::leaving(run, spot.side, spot.from)?;
        let mut actions = spot.actions.iter();
        actions.try_fold(own, |own, words| own.doing(words))
    }

    pub fn spot(&self) -> OwnSpot {
        OwnSpot {
            side: self.side,
            from: self.from,
            actions: self.run.actions_from(self.story_lines),
        }
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
            next = next.going_on(Command::StepVisible)?;
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
        let done = self.run.actions_from(self.story_lines);
        let done: Vec<String> = done
            .into_iter()
            .filter(|words| !words.starts_with("step"))
            .collect();
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
