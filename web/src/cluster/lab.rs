//! What the reader has done in a cluster's scene: one value, changed by one function.
//!
//! A reader is in the story, at one of its stops, or in a run of their own. *Back* moves in time and takes
//! nothing away; *Undo* returns to before the reader's last action; every run of one's own is kept, and can
//! be returned to.
//!
//! Invariants
//! - nothing is changed: [`ClusterLab::after`] answers another lab, which shares what is the same
//! - where a stop is reached makes no difference to what is seen there

mod away;
mod open;
mod playing;
mod search;
mod shown;

use std::rc::Rc;

use highwater_core::sim::script::command::Script;
use highwater_core::sim::story::{Story, Teller, Told};
use highwater_core::stage::Stage;

use super::jump::JumpTo;
use super::opened::{self, Opened};
use super::own::Own;
use super::pace;
use super::run::Run;
use super::scenes::{self, SceneInfo};
use super::timeline::{Beat, Stop, Timeline};
use super::tune;

/// A scene's runs and places: what does not change.
#[derive(Debug)]
struct Scene {
    info: SceneInfo,
    runs: Vec<Rc<Run>>,
    timeline: Timeline,
    screen_ms: Vec<f64>,
}

/// Where the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Story { stop: usize },
    Own { branch: usize, stop: usize },
}

/// What *Undo* returns to.
#[derive(Clone, Debug)]
struct Before {
    at: At,
    branches: Vec<Rc<Own>>,
}

/// A search that goes on in slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Search {
    to: JumpTo,
    until_ms: i64,
}

/// A scene, and what the reader has done in it.
#[derive(Clone, Debug)]
pub struct ClusterLab {
    scene: Rc<Scene>,
    at: At,
    /// A fact between two stops, when the reader looks at single events.
    event: Option<usize>,
    branches: Vec<Rc<Own>>,
    undo: Vec<Before>,
    guesses: Vec<Option<usize>>,
    beside: bool,
    search: Option<Search>,
    /// Bytes of this place.
    opened: Option<Rc<Opened>>,
    /// Something to be said besides the sentence.
    pub notice: Option<String>,
}

/// What the reader wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To the next visible change, and to the one before.
    Step,
    Back,
    /// The same by single facts.
    Event,
    EventBack,
    NextMoment,
    PreviousMoment,
    GoTo(usize),
    Guess(usize),
    /// Leave the story for free play.
    Explore,
    /// Return to the story, where it was left.
    Story,
    /// Do this, in the words of scripts.
    Act(String),
    Undo,
    /// Return to a run of one's own.
    Branch(usize),
    /// Show the original beside one's own run, or no more.
    Beside(bool),
    /// To the next change of that kind; `Searching` goes on with it.
    Jump(JumpTo),
    Searching,
    /// A link's text, as behind the `#`.
    Open(String),
    /// Show the bytes behind an element of that side, as its key names it.
    Choose(usize, String),
    /// Show them no more.
    Close,
}

/// A side that is shown.
#[derive(Clone, Debug)]
pub struct SideView {
    pub heading: String,
    pub stage: Rc<Stage>,
    /// *was -> now -> cost*, once something was done to the cluster.
    pub note: Option<String>,
}

/// Where the reader is, for the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub step: usize,
    pub last_step: usize,
    /// The moment that is told, or was told last.
    pub moment: Option<usize>,
    pub moments: usize,
    /// The step at which each moment comes.
    pub moment_steps: Vec<usize>,
}

impl ClusterLab {
    /// The first moment of the gallery's scene of that name.
    pub fn new(name: &str) -> Result<Self, String> {
        let info = scenes::find(name).ok_or_else(|| format!("there is no scene `{name}`"))?;
        Self::of(info.clone())
    }

    /// The scene's first moment.
    pub fn of(info: SceneInfo) -> Result<Self, String> {
        let runs = info.sides.iter().map(|side| {
            let script = Script::parse(&side.script).map_err(|bad| bad.to_string())?;
            let story = Story::parse(&side.story).map_err(|bad| bad.to_string())?;
            Ok(Rc::new(Run::play(&script, Some(Teller::new(story)?))?))
        });
        let runs: Vec<Rc<Run>> = runs.collect::<Result<_, String>>()?;
        let timeline = Timeline::of(&runs, info.order);
        if timeline.stops.is_empty() {
            return Err(format!("the story of `{}` has no moment", info.name));
        }
        let scene = Scene {
            info,
            runs,
            screen_ms: pace::screen_ms(&timeline.stops),
            timeline,
        };
        Ok(Self {
            guesses: vec![None; scene.timeline.beats.len()],
            scene: Rc::new(scene),
            at: At::Story { stop: 0 },
            event: None,
            branches: Vec::new(),
            undo: Vec::new(),
            beside: false,
            search: None,
            opened: None,
            notice: None,
        })
    }

    pub fn info(&self) -> &SceneInfo {
        &self.scene.info
    }

    pub fn is_story(&self) -> bool {
        matches!(self.at, At::Story { .. })
    }

    pub fn can_undo(&self) -> bool {
        !self.undo.is_empty()
    }

    /// A search goes on: ask for [`Wish::Searching`] when there is time.
    pub fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    fn own(&self) -> Option<&Rc<Own>> {
        match self.at {
            At::Own { branch, .. } => self.branches.get(branch),
            At::Story { .. } => None,
        }
    }

    fn stops(&self) -> &[Stop] {
        match self.own() {
            Some(own) => &own.stops,
            None => &self.scene.timeline.stops,
        }
    }

    fn step_now(&self) -> usize {
        let (At::Story { stop } | At::Own { stop, .. }) = self.at;
        stop.min(self.stops().len().saturating_sub(1))
    }

    fn stop(&self) -> Option<&Stop> {
        self.stops().get(self.step_now())
    }

    /// The beat that is told, or was told last.
    fn beat(&self) -> Option<(usize, &Beat)> {
        if !self.is_story() {
            return None;
        }
        let at = self.stop()?.beat;
        Some((at, self.scene.timeline.beats.get(at)?))
    }

    fn told(&self) -> Option<&Told> {
        let (_, beat) = self.beat()?;
        let teller = self.scene.runs.get(beat.side)?.teller()?;
        teller.told().get(beat.moment)
    }

    /// The run that moves here, and how far it is.
    pub(super) fn run_here(&self) -> Option<(&Run, usize)> {
        let stop = self.stop()?;
        let facts = self
            .event
            .or(stop.sides.get(stop.moved).map(|glance| glance.facts))?;
        let run = match self.own() {
            Some(own) => &own.run,
            None => self.scene.runs.get(stop.moved)?,
        };
        Some((run, facts))
    }

    // ---- what follows from a wish

    pub fn after(&self, wish: Wish) -> Self {
        let mut next = self.clone();
        next.notice = None;
        next.opened = None;
        if wish != Wish::Searching {
            next.search = None;
        }
        if !matches!(
            wish,
            Wish::Event | Wish::EventBack | Wish::Choose(..) | Wish::Close
        ) {
            next.event = None;
        }
        match wish {
            Wish::Step => next.step(),
            Wish::Back if self.event.is_some() => {}
            Wish::Back => next.go_to(self.step_now().saturating_sub(1)),
            Wish::Event => next.by_event(1),
            Wish::EventBack => next.by_event(-1),
            Wish::NextMoment => next.next_moment(),
            Wish::PreviousMoment => next.previous_moment(),
            Wish::GoTo(step) => next.go_to(step),
            Wish::Guess(choice) => next.take_guess(choice),
            Wish::Explore => next.explore(None),
            Wish::Act(words) => next.explore(Some(&words)),
            Wish::Story => next.return_to_story(),
            Wish::Undo => next.take_back(),
            Wish::Branch(branch) => next.go_to_branch(branch),
            Wish::Beside(beside) => next.beside = beside,
            Wish::Jump(to) => next.jump(to),
            Wish::Searching => next.go_on_searching(),
            Wish::Open(text) => next.open(&text),
            Wish::Choose(side, key) => next.choose(side, &key),
            Wish::Close => {}
        }
        next
    }

    fn go_to(&mut self, step: usize) {
        let step = step.min(self.stops().len().saturating_sub(1));
        let (At::Story { stop } | At::Own { stop, .. }) = &mut self.at;
        *stop = step;
    }

    fn step(&mut self) {
        if !self.at_end() {
            self.go_to(self.step_now() + 1);
        } else if self.is_story() {
            self.explore(None);
        } else {
            self.extend(|own| own.stepping());
        }
    }

    /// Lets the present run of one's own go on, and goes to its end.
    fn extend(&mut self, on: impl FnOnce(&Own) -> Result<Own, String>) -> bool {
        let At::Own { branch, .. } = self.at else {
            return false;
        };
        match on(&self.branches[branch]) {
            Ok(own) => {
                let stop = own.last();
                self.branches[branch] = Rc::new(own);
                self.at = At::Own { branch, stop };
                true
            }
            Err(why) => {
                self.notice = Some(format!("This cannot be: {why}."));
                false
            }
        }
    }

    fn by_event(&mut self, by: isize) {
        let Some((run, facts)) = self.run_here() else {
            return;
        };
        let to = facts.saturating_add_signed(by).min(run.facts());
        let Some(stop) = self.stop() else { return };
        let moved = stop.moved;
        let at = |stop: &Stop| stop.sides.get(moved).map_or(0, |glance| glance.facts);
        let stops = self.stops();
        // The stop that is reached, or the last before the fact.
        let step = stops
            .iter()
            .rposition(|stop| stop.moved == moved && at(stop) <= to);
        let Some(step) = step else { return };
        let is_stop = at(&stops[step]) == to;
        self.go_to(step);
        self.event = (!is_stop).then_some(to);
    }

    fn next_moment(&mut self) {
        let Some((at, _)) = self.beat() else {
            return self.step();
        };
        match self.scene.timeline.beats.get(at + 1) {
            Some(beat) => self.go_to(beat.stop),
            None => self.explore(None),
        }
    }

    fn previous_moment(&mut self) {
        let Some((at, beat)) = self.beat() else {
            return self.go_to(0);
        };
        let to = match self.step_now() > beat.stop {
            true => beat.stop,
            false => self.scene.timeline.beats[at.saturating_sub(1)].stop,
        };
        self.go_to(to);
    }

    fn take_guess(&mut self, choice: usize) {
        let Some((at, _)) = self.beat() else { return };
        if let Some(guess) = self.guesses.get_mut(at) {
            *guess = Some(choice);
        }
        self.next_moment();
    }

    fn choose(&mut self, side: usize, key: &str) {
        let opened = self.side_here(side);
        let opened = opened.and_then(|(run, facts)| opened::open(run, facts, key));
        if opened.is_none() {
            self.notice = Some("Of this there are no bytes to show here.".to_owned());
        }
        self.opened = opened.map(Rc::new);
    }

    /// What the reader has opened here.
    pub fn opened(&self) -> Option<Rc<Opened>> {
        self.opened.clone()
    }

    /// A side's run, and how far it is.
    fn side_here(&self, side: usize) -> Option<(&Run, usize)> {
        let stop = self.stop()?;
        if side == stop.moved {
            return self.run_here();
        }
        match self.own() {
            Some(own) => {
                let run = self.scene.runs.get(own.side)?;
                Some((run, run.facts_at(stop.ms)))
            }
            None => Some((self.scene.runs.get(side)?, stop.sides.get(side)?.facts)),
        }
    }

    fn before(&self) -> Before {
        Before {
            at: self.at,
            branches: self.branches.clone(),
        }
    }

    /// Goes on alone from here, and does something if there is something to do.
    fn explore(&mut self, words: Option<&str>) {
        let before = self.before();
        let (step, is_at_end) = (self.step_now(), self.at_end());
        let is_turned = words.is_some_and(|words| words.starts_with(tune::WORD));
        let gone = match (self.own(), words) {
            (_, Some(words)) if words.starts_with(tune::WORD) => self.turn(words),
            (Some(_), None) => return,
            (Some(own), Some(words)) => own.doing_at(step, words),
            (None, words) => self.leave_story(words),
        };
        match gone {
            Ok(own) => {
                let stop = own.last();
                match self.at {
                    At::Own { branch, .. } if is_at_end && !is_turned => {
                        self.branches[branch] = Rc::new(own);
                        self.at = At::Own { branch, stop };
                    }
                    _ => {
                        self.branches.push(Rc::new(own));
                        let branch = self.branches.len() - 1;
                        self.at = At::Own { branch, stop };
                    }
                }
                self.undo.push(before);
            }
            Err(why) => self.notice = Some(format!("This cannot be done: {why}.")),
        }
    }

    /// Another run of one's own, from the start.
    fn turn(&self, words: &str) -> Result<Own, String> {
        let own = match self.own() {
            Some(own) => (**own).clone(),
            None => self.leave_story(None)?,
        };
        own.turning(
            &self.scene.runs[own.side],
            words.strip_prefix(tune::WORD).unwrap_or(words),
        )
    }

    fn leave_story(&self, words: Option<&str>) -> Result<Own, String> {
        let stop = self.stop().ok_or("there is nothing to leave")?;
        let glance = stop.sides.get(stop.moved).ok_or("that side is not shown")?;
        let own = Own::leaving(&self.scene.runs[stop.moved], stop.moved, glance.facts)?;
        words.map_or(Ok(own.clone()), |words| own.doing(words))
    }

    /// To the stop of the story at which the reader's run left it.
    fn return_to_story(&mut self) {
        let Some(own) = self.own() else { return };
        let (side, from) = (own.side, own.from);
        let before = self.before();
        let is_there = |stop: &Stop| {
            let glance = stop.sides.get(side);
            stop.moved == side && glance.is_some_and(|glance| glance.facts <= from)
        };
        let stop = self.scene.timeline.stops.iter().rposition(is_there);
        self.at = At::Story {
            stop: stop.unwrap_or_default(),
        };
        self.undo.push(before);
    }

    fn take_back(&mut self) {
        if let Some(before) = self.undo.pop() {
            (self.at, self.branches) = (before.at, before.branches);
        }
    }

    fn go_to_branch(&mut self, branch: usize) {
        let Some(own) = self.branches.get(branch) else {
            return;
        };
        let stop = own.last();
        let before = self.before();
        self.at = At::Own { branch, stop };
        self.undo.push(before);
    }
}

#[cfg(test)]
mod tests;
