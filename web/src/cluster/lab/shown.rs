//! What is seen at the reader's place: sides, sentence, button, prediction, and where that is.

use std::rc::Rc;

use highwater_core::sim::story::Prediction;
use highwater_core::stage::Stage;

use super::{ClusterLab, Place, SideView};
use crate::cluster::own::Own;
use crate::cluster::run::Run;
use crate::cluster::timeline::Stop;
use crate::cluster::{Picture, focus, outcome, pace};

impl ClusterLab {
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
                    let heading = &self.scene.info.sides[side].heading;
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
        if let (Some(first), Some(note)) = (shown.first_mut(), own.compared(&self.scene.runs[own.side])) {
            first.note = Some(note);
        }
        if self.beside {
            let run = &self.scene.runs[own.side];
            let facts = run.facts_at(stop.ms);
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
            note: match run.picture() {
                Picture::Replicas | Picture::Tree => outcome::outcome(run, facts, &stage),
                Picture::Producer => None,
            },
            stage,
        }
    }

    /// The sentence of the moment; in a run of one's own, how the cluster stands.
    pub fn sentence(&self) -> String {
        match self.told() {
            Some(told) => told.say.clone().unwrap_or_else(|why| why),
            None => self.own().map_or_else(String::new, |own| self.own_sentence(own)),
        }
    }

    fn own_sentence(&self, own: &Own) -> String {
        let step = self.step_now();
        let since = pace::duration(own.ms_at(step) - own.run.ms_at(own.from));
        let stands = own.stage_at(step).map(|stage| outcome::standing(&stage));
        format!(
            "On your own, {since} after the story: {}",
            stands.unwrap_or_default()
        )
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

    /// Who has what in the group, here.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn matrix(&self) -> Option<crate::cluster::matrix::Matrix> {
        let (run, facts) = self.run_here()?;
        Some(crate::cluster::matrix::Matrix::of(run, facts))
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
}
