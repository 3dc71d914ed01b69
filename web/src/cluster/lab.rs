//! What the reader has done in a cluster's scene: one value, changed by one function.
//!
//! A reader is in the story, at one of its stops, or in a run of their own. *Back* moves in time and takes
//! nothing away; *Undo* returns to before the reader's last action; every run of one's own is kept, and can
//! be returned to.
//!
//! Invariants
//! - nothing is changed: [`ClusterLab::after`] answers another lab, which shares what is the same
//! - where a stop is reached makes no difference to what is seen there

use std::rc::Rc;

use highwater_core::sim::script::command::Script;
use highwater_core::sim::story::{Prediction, Story, Teller, Told};
use highwater_core::stage::Stage;

use super::flight::{self, Flight, Stretch};
use super::focus;
use super::jump::{self, JumpTo};
use super::link::{self, Spot};
use super::offer::{self, Offer};
use super::outcome;
use super::own::Own;
use super::pace;
use super::run::Run;
use super::scenes::{self, SceneInfo};
use super::timeline::{Beat, Stop, Timeline};

/// A scene's runs and places: what does not change.
#[derive(Debug)]
struct Scene {
    info: &'static SceneInfo,
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
    /// The scene's first moment.
    pub fn new(name: &str) -> Result<Self, String> {
        let info = scenes::find(name).ok_or_else(|| format!("there is no scene `{name}`"))?;
        let runs = info.sides.iter().map(|side| {
            let script = Script::parse(side.script).map_err(|bad| bad.to_string())?;
            let story = Story::parse(side.story).map_err(|bad| bad.to_string())?;
            Ok(Rc::new(Run::play(&script, Some(Teller::new(story)?))?))
        });
        let runs: Vec<Rc<Run>> = runs.collect::<Result<_, String>>()?;
        let timeline = Timeline::of(&runs, info.order);
        if timeline.stops.is_empty() {
            return Err(format!("the story of `{name}` has no moment"));
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
            notice: None,
        })
    }

    pub fn info(&self) -> &'static SceneInfo {
        self.scene.info
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
    fn run_here(&self) -> Option<(&Run, usize)> {
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

    // ---- what is shown

    /// The sides that are shown here.
    pub fn sides(&self) -> Vec<SideView> {
        let Some(stop) = self.stop() else {
            return Vec::new();
        };
        match self.own() {
            Some(own) => self.own_sides(own, stop),
            None => {
                let glances = stop.sides.iter().enumerate();
                let shown = glances.map(|(side, glance)| {
                    let run = &self.scene.runs[side];
                    let is_here = side == stop.moved;
                    let heading = self.scene.info.sides[side].heading;
                    self.side(run, glance.facts, &glance.stage, heading, is_here)
                });
                shown.collect()
            }
        }
    }

    fn own_sides(&self, own: &Own, stop: &Stop) -> Vec<SideView> {
        let mut shown: Vec<SideView> = stop
            .sides
            .iter()
            .map(|glance| self.side(&own.run, glance.facts, &glance.stage, "Your run", true))
            .collect();
        if self.beside {
            let run = &self.scene.runs[own.side];
            let facts = (0..run.facts())
                .take_while(|&at| run.ms_at(at + 1) <= stop.ms)
                .count();
            let stage = Rc::new(run.stage_at(facts, facts));
            shown.push(self.side(run, facts, &stage, "The story's run, at the same time", false));
        }
        shown
    }

    fn side(&self, run: &Run, facts: usize, stage: &Rc<Stage>, heading: &str, is_here: bool) -> SideView {
        let (facts, stage) = match self.event.filter(|_| is_here) {
            Some(event) => (event, Rc::new(run.stage_at(event, facts).sharing(stage))),
            None => (facts, stage.clone()),
        };
        SideView {
            heading: heading.to_owned(),
            note: outcome::outcome(run, facts, &stage),
            stage,
        }
    }

    /// The sentence of the moment; in a run of one's own, what has just happened.
    pub fn sentence(&self) -> String {
        match self.told() {
            Some(told) => told.say.clone().unwrap_or_else(|why| why),
            None => self.change().unwrap_or_default(),
        }
    }

    /// The fact that was seen last, where it is not the moment's own.
    pub fn change(&self) -> Option<String> {
        if self.event.is_none() && self.is_beat() {
            return None;
        }
        let (run, facts) = self.run_here()?;
        let event = run.event(facts.checked_sub(1)?)?;
        Some(event.fact.to_string())
    }

    fn is_beat(&self) -> bool {
        self.beat().is_some_and(|(_, beat)| beat.stop == self.step_now())
    }

    /// What the main button says; it goes to the next moment.
    pub fn button(&self) -> String {
        let is_last = self
            .beat()
            .is_none_or(|(at, _)| at + 1 == self.scene.timeline.beats.len());
        match self.told() {
            Some(told) if !told.button.is_empty() => told.button.clone(),
            None => "Step".to_owned(),
            Some(_) if is_last => "Try it yourself".to_owned(),
            Some(_) => "Go on".to_owned(),
        }
    }

    /// Whether the element, or the group that it belongs to, is in focus on that side.
    pub fn in_focus(&self, side: usize, key: &str) -> bool {
        let Some((_, beat)) = self.beat() else {
            return true;
        };
        let Some(told) = self.told() else { return true };
        if told.focus.is_empty() {
            return true;
        }
        (beat.side == side || beat.of_both) && told.focus.iter().any(|element| focus::has(element, key))
    }

    /// The elements in focus, as the story names them.
    pub fn focus(&self) -> Vec<String> {
        self.told().map_or(Vec::new(), |told| told.focus.clone())
    }

    /// The side that speaks here.
    pub fn speaks(&self) -> usize {
        self.beat().map_or(0, |(_, beat)| beat.side)
    }

    /// The question of the moment, with the answers that are offered.
    pub fn prediction(&self) -> Option<Prediction> {
        let (at, _) = self.beat()?;
        self.prediction_of(at)
    }

    fn prediction_of(&self, beat: usize) -> Option<Prediction> {
        let beat = self.scene.timeline.beats.get(beat)?;
        let teller = self.scene.runs.get(beat.side)?.teller()?;
        teller.prediction(beat.moment).ok()?
    }

    /// The reader's answer to the question of this moment.
    pub fn guess(&self) -> Option<usize> {
        let (at, _) = self.beat()?;
        self.guesses.get(at).copied().flatten()
    }

    /// What became of the last guess; said from the next moment of that side on, until the one after.
    pub fn verdict(&self) -> Option<String> {
        let (at, beat) = self.beat()?;
        let asked = (0..at).rev().find(|&before| {
            let before = self.scene.timeline.beats[before];
            before.side == beat.side || before.of_both
        })?;
        let guess = self.guesses.get(asked).copied().flatten()?;
        self.prediction_of(asked)?.verdict(guess)
    }

    pub fn place(&self) -> Place {
        let beats = match self.is_story() {
            true => &self.scene.timeline.beats[..],
            false => &[],
        };
        Place {
            step: self.step_now(),
            last_step: self.stops().len().saturating_sub(1),
            moment: self.beat().map(|(at, _)| at),
            moments: beats.len(),
            moment_steps: beats.iter().map(|beat| beat.stop).collect(),
        }
    }

    /// The last place of the story, or of the reader's run.
    pub fn at_end(&self) -> bool {
        self.step_now() + 1 >= self.stops().len()
    }

    /// The foot line: promises and invariants.
    pub fn summary(&self) -> String {
        let said = self.sides();
        let lines: Vec<String> = said.iter().map(|side| outcome::summary(&side.stage)).collect();
        match &lines[..] {
            [left, right] => format!("left: {left} \u{b7} right: {right}"),
            lines => lines.join(""),
        }
    }

    /// Why this leader and no other, of the last election here: a line for each replica.
    pub fn why_this_leader(&self) -> Vec<String> {
        let here = self.run_here();
        here.map_or(Vec::new(), |(run, facts)| outcome::why_this_leader(run, facts))
    }

    // ---- playing

    /// Screen time of a step of the story.
    pub fn play_ms(&self, step: usize) -> f64 {
        match self.own() {
            None => self.scene.screen_ms.get(step).copied().unwrap_or_default(),
            Some(own) => pace::screen_ms(&own.stops).get(step).copied().unwrap_or_default(),
        }
    }

    /// What is said of the time between a step and the one before it, if much of it is left out.
    pub fn quiet(&self, step: usize) -> Option<String> {
        let stops = self.stops();
        pace::quiet(stops.get(step.checked_sub(1)?)?, stops.get(step)?)
    }

    /// The messages that are in the air on a side between a step and the next.
    pub fn flights(&self, side: usize, step: usize) -> Vec<Flight> {
        let stops = self.stops();
        let (Some(from), Some(to)) = (stops.get(step), stops.get(step + 1)) else {
            return Vec::new();
        };
        let (Some(a), Some(b)) = (from.sides.get(side), to.sides.get(side)) else {
            return Vec::new();
        };
        let run = match self.own() {
            Some(own) => &own.run,
            None => &self.scene.runs[side],
        };
        let stretch = Stretch {
            facts: (a.facts, b.facts),
            screen_ms: (self.play_ms(step), self.play_ms(step + 1)),
        };
        flight::flights(run, stretch)
    }

    // ---- taking it away

    /// A link to this place.
    pub fn link(&self) -> String {
        let moment = self.beat().and_then(|(_, beat)| {
            let teller = self.scene.runs.get(beat.side)?.teller()?;
            Some(teller.story().moments.get(beat.moment)?.name.clone())
        });
        link::write(&Spot {
            scene: self.scene.info.name.to_owned(),
            moment: moment.unwrap_or_default(),
            at: self.step_now(),
            own: self.own().map(|own| own.spot()),
            hash: self.hash(),
        })
    }

    fn hash(&self) -> u64 {
        let here = self.run_here();
        here.map_or(0, |(run, facts)| run.hash_until(facts))
    }

    /// The run as a script, which `highwater sim` plays.
    pub fn script(&self) -> String {
        match self.own() {
            Some(own) => own.run.script().to_string(),
            None => {
                let side = self.stop().map_or(0, |stop| stop.moved);
                self.scene.info.sides[side].script.to_owned()
            }
        }
    }

    /// What can be done here.
    pub fn offers(&self) -> Vec<Offer> {
        let here = self.run_here();
        here.map_or(Vec::new(), |(run, facts)| {
            offer::offers(&run.view_at(facts), run.partition())
        })
    }

    /// The runs of one's own, and whether each is the one that is shown.
    pub fn branches(&self) -> Vec<(String, bool)> {
        let is_here = |at: usize| matches!(self.at, At::Own { branch, .. } if branch == at);
        let branches = self.branches.iter().enumerate();
        branches.map(|(at, own)| (own.label(), is_here(at))).collect()
    }

    // ---- what follows from a wish

    pub fn after(&self, wish: Wish) -> Self {
        let mut next = self.clone();
        next.notice = None;
        if wish != Wish::Searching {
            next.search = None;
        }
        if !matches!(wish, Wish::Event | Wish::EventBack) {
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
        let gone = match (self.own(), words) {
            (Some(_), None) => return,
            (Some(own), Some(words)) => own.doing_at(step, words),
            (None, words) => self.leave_story(words),
        };
        match gone {
            Ok(own) => {
                let stop = own.last();
                match self.at {
                    At::Own { branch, .. } if is_at_end => {
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

    // ---- searching

    fn jump(&mut self, to: JumpTo) {
        let (now, stops) = (self.step_now(), self.stops());
        let found = (now + 1..stops.len()).find(|&next| jump::is_there(to, &stops[next - 1], &stops[next]));
        match (found, self.stop().map(|stop| stop.ms)) {
            (Some(step), _) => self.go_to(step),
            (None, _) if self.is_story() => {
                self.notice = Some(format!("{} comes in the rest of this story.", jump::none_of(to)));
            }
            (None, ms) => {
                self.go_to(usize::MAX);
                self.search = Some(Search {
                    to,
                    until_ms: ms.unwrap_or_default() + jump::WITHIN_MS,
                });
                self.go_on_searching();
            }
        }
    }

    /// One slice of a search in a run of one's own.
    fn go_on_searching(&mut self) {
        let Some(search) = self.search else { return };
        for _ in 0..jump::STEPS_A_SLICE {
            let before = self.stop().cloned();
            if !self.extend(|own| own.stepping()) {
                self.search = None;
                return;
            }
            let (Some(before), Some(now)) = (before, self.stop()) else {
                return;
            };
            if jump::is_there(search.to, &before, now) {
                self.search = None;
                return;
            }
            if now.ms > search.until_ms {
                self.search = None;
                let none = jump::none_of(search.to);
                self.notice = Some(format!(
                    "{none} comes within {}.",
                    pace::duration(jump::WITHIN_MS)
                ));
                return;
            }
        }
    }

    // ---- links

    fn open(&mut self, text: &str) {
        let opened = link::read(text).and_then(|spot| {
            if spot.scene == self.scene.info.name {
                Ok(spot)
            } else {
                Err(format!("it is of the scene `{}`", spot.scene))
            }
        });
        match opened {
            Err(why) => self.at_start(&format!("The link cannot be opened: {why}. This is the start.")),
            Ok(spot) => self.open_spot(&spot),
        }
    }

    fn at_start(&mut self, why: &str) {
        self.at = At::Story { stop: 0 };
        self.notice = Some(why.to_owned());
    }

    fn open_spot(&mut self, spot: &Spot) {
        let before = self.before();
        match &spot.own {
            None => self.at = At::Story { stop: spot.at },
            Some(own) => {
                let run = self.scene.runs.get(own.side);
                let opened = run.ok_or("there is no such side".to_owned());
                match opened.and_then(|run| Own::opened(run, own)) {
                    Ok(own) => {
                        self.branches.push(Rc::new(own));
                        let branch = self.branches.len() - 1;
                        self.at = At::Own {
                            branch,
                            stop: spot.at,
                        };
                    }
                    Err(why) => {
                        return self.at_start(&format!(
                            "The link's run cannot be played: {why}. This is the start."
                        ));
                    }
                }
            }
        }
        let is_there = spot.at < self.stops().len();
        if is_there && self.hash() == spot.hash {
            return;
        }
        (self.at, self.branches) = (before.at, before.branches);
        match self.stop_of_moment(&spot.moment) {
            Some(stop) => {
                self.at = At::Story { stop };
                self.notice =
                    Some("The run has changed since the link was made: this is its moment.".to_owned());
            }
            None => self.at_start("The run has changed since the link was made: this is the start."),
        }
    }

    fn stop_of_moment(&self, name: &str) -> Option<usize> {
        let beats = self.scene.timeline.beats.iter();
        let mut named = beats.filter(|beat| {
            let teller = self.scene.runs[beat.side].teller();
            let moment = teller.and_then(|teller| teller.story().moments.get(beat.moment));
            moment.is_some_and(|moment| moment.name == name)
        });
        named.next().map(|beat| beat.stop)
    }
}

#[cfg(test)]
mod tests;
