//! What the reader has done: one value, changed by one function.
//!
//! A reader is in the story, at one of its moments, or on their own: then there are only actions, the
//! story's so far and after them the reader's. *Back* moves in time and takes nothing away; *Undo*
//! returns to before the reader's last action.

use std::rc::Rc;

use highwater_core::error::DiskError;

use crate::actions::{Action, Settings};
use crate::annotate::Chosen;
use crate::free_play;
use crate::link;
use crate::scene::{Prediction, Scene};
use crate::spot::{MOST_ACTIONS, Run, Spot};
use crate::world::World;

/// The state of the page, but for what passes with a hover or a key.
#[derive(Clone, Debug)]
pub struct Lab {
    pub scene: Scene,
    pub spot: Spot,
    /// One for each place that `at` may have.
    worlds: Rc<Vec<World>>,
    undo: Vec<Spot>,
    pub chosen: Option<Chosen>,
    /// The reader's answers, by moment.
    pub guesses: Vec<Option<usize>>,
    /// Something to be said besides the sentence.
    pub notice: Option<String>,
}

/// What the reader wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    Step,
    Back,
    GoTo(usize),
    Guess(usize),
    /// Leave the story for free play.
    Explore,
    /// Return to the story's first moment.
    Story,
    Act(Action),
    Set(Settings),
    Undo,
    Choose(Option<Chosen>),
    /// A link's text, as behind the `#`.
    Open(String),
}

impl Lab {
    /// The scene's first moment.
    pub fn new(scene: Scene) -> Result<Self, String> {
        let spot = Spot::start();
        let worlds = worlds(&scene, &spot).map_err(|error| error.to_string())?;
        Ok(Self {
            guesses: vec![None; scene.moments()],
            scene,
            spot,
            worlds: Rc::new(worlds),
            undo: Vec::new(),
            chosen: None,
            notice: None,
        })
    }

    pub fn world(&self) -> Option<&World> {
        self.worlds.get(self.spot.at)
    }

    pub fn is_story(&self) -> bool {
        self.spot.run == Run::Story
    }

    /// The last place that `at` may have.
    pub fn last(&self) -> usize {
        self.worlds.len().saturating_sub(1)
    }

    pub fn can_undo(&self) -> bool {
        !self.undo.is_empty()
    }

    /// The sentence of this place.
    pub fn sentence(&self) -> String {
        let Some(world) = self.world() else {
            return String::new();
        };
        match &self.spot.run {
            Run::Story => self.scene.sentence(self.spot.at, world),
            Run::Own(actions) => {
                free_play::sentence(world, self.spot.at.checked_sub(1).and_then(|at| actions.get(at)))
            }
        }
    }

    pub fn prediction(&self) -> Option<Prediction> {
        match self.spot.run {
            Run::Story => self.scene.prediction(self.spot.at, &self.worlds),
            Run::Own(_) => None,
        }
    }

    /// What became of the guess at the moment before.
    pub fn verdict(&self) -> Option<String> {
        let before = self.spot.at.checked_sub(1).filter(|_| self.is_story())?;
        let guess = (*self.guesses.get(before)?)?;
        self.scene.prediction(before, &self.worlds)?.verdict(guess)
    }

    /// Why an action cannot happen now.
    pub fn why_not(&self, action: &Action) -> Option<&'static str> {
        if let Run::Own(actions) = &self.spot.run
            && actions.len() >= MOST_ACTIONS
        {
            return Some("That was much: undo something, or begin again.");
        }
        self.world().and_then(|world| world.why_not(action))
    }

    /// What follows from a wish.
    pub fn after(&self, wish: Wish) -> Self {
        let mut next = self.clone();
        next.notice = None;
        match wish {
            Wish::Step => next.step(),
            Wish::Back => next.go_to(self.spot.at.saturating_sub(1)),
            Wish::GoTo(at) => next.go_to(at),
            Wish::Guess(choice) => {
                if let Some(guess) = next.guesses.get_mut(self.spot.at) {
                    *guess = Some(choice);
                }
                next.step();
            }
            Wish::Explore => next.explore(None),
            Wish::Act(action) => next.explore(Some(action)),
            Wish::Story => next.change(Spot {
                settings: self.spot.settings,
                ..Spot::start()
            }),
            Wish::Set(settings) => next.change(Spot {
                settings,
                ..self.spot.clone()
            }),
            Wish::Undo => {
                if let Some(spot) = next.undo.pop() {
                    next.show(spot);
                }
            }
            Wish::Choose(chosen) => next.chosen = chosen,
            Wish::Open(text) => next.open(&text),
        }
        next
    }

    fn step(&mut self) {
        let at_end = self.spot.at == self.last();
        if !self.is_story() && at_end && self.world().is_some_and(free_play::is_stepping) {
            self.explore(Some(Action::Reveal));
        } else if self.is_story() && at_end {
            self.explore(None);
        } else {
            self.go_to(self.spot.at + 1);
        }
    }

    fn go_to(&mut self, at: usize) {
        self.spot.at = at.min(self.last());
        self.forget_gone_choice();
    }

    /// Goes on alone from here, with an action if there is one. What had come after is left; *Undo*
    /// brings it back.
    fn explore(&mut self, action: Option<Action>) {
        let mut actions = match &self.spot.run {
            Run::Story => self.scene.script(self.spot.at),
            Run::Own(actions) if action.is_none() => actions.clone(),
            Run::Own(actions) => actions.iter().take(self.spot.at).copied().collect(),
        };
        if action.is_some_and(|action| self.why_not(&action).is_some()) {
            return;
        }
        actions.extend(action);
        self.change(Spot {
            settings: self.spot.settings,
            at: actions.len(),
            run: Run::Own(actions),
        });
    }

    /// Goes to another run; *Undo* returns from it.
    fn change(&mut self, spot: Spot) {
        if spot == self.spot {
            return;
        }
        let before = self.spot.clone();
        if self.show(spot) {
            self.undo.push(before);
        }
    }

    fn show(&mut self, spot: Spot) -> bool {
        match worlds(&self.scene, &spot) {
            Ok(worlds) => {
                self.worlds = Rc::new(worlds);
                self.spot = spot;
                self.go_to(self.spot.at);
                true
            }
            Err(error) => {
                self.notice = Some(format!("This cannot be run: {error}."));
                false
            }
        }
    }

    /// What is chosen may not be there at this place.
    fn forget_gone_choice(&mut self) {
        let world = self.worlds.get(self.spot.at);
        let is_there =
            |chosen| world.is_some_and(|world| crate::annotate::annotate(world.host(), chosen).is_some());
        self.chosen = self.chosen.filter(|chosen| is_there(*chosen));
    }

    fn open(&mut self, text: &str) {
        match link::read(text) {
            Ok(spot) => {
                self.show(spot);
            }
            Err(why) => {
                self.show(Spot::start());
                self.notice = Some(format!("The link cannot be opened: {why}. This is the start."));
            }
        }
    }
}

fn worlds(scene: &Scene, spot: &Spot) -> Result<Vec<World>, DiskError> {
    let Run::Own(actions) = &spot.run else {
        return scene.worlds(spot.settings);
    };
    let mut worlds = vec![World::new(spot.settings)?];
    for action in actions {
        if let Some(last) = worlds.last() {
            worlds.push(last.after(action));
        }
    }
    Ok(worlds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab() -> Lab {
        Scene::load().and_then(Lab::new).unwrap()
    }

    fn find_moment(lab: &Lab, name: &str) -> usize {
        lab.scene
            .story
            .moments
            .iter()
            .position(|moment| moment.name == name)
            .unwrap()
    }

    #[test]
    fn the_story_goes_to_its_end_and_back() {
        let mut lab = lab();
        let mut seen = Vec::new();
        while lab.is_story() {
            seen.push(lab.sentence());
            lab = lab.after(Wish::Step);
        }
        assert_eq!(seen.len(), lab.scene.moments());
        lab = lab.after(Wish::Undo);
        for sentence in seen.iter().rev() {
            assert_eq!(lab.sentence(), *sentence);
            lab = lab.after(Wish::Back);
        }
        assert_eq!(lab.spot, Spot::start());
    }

    #[test]
    fn a_guess_is_judged_at_the_next_moment() {
        let mut lab = lab();
        lab = lab.after(Wish::GoTo(find_moment(&lab, "question")));
        let prediction = lab.prediction().unwrap();
        let wrong = (prediction.accepted + 1) % prediction.choices.len();
        lab = lab.after(Wish::Guess(wrong));
        let verdict = lab.verdict().unwrap();
        assert!(verdict.contains(&prediction.choices[wrong].reason), "{verdict}");
        lab = lab.after(Wish::Back).after(Wish::Guess(prediction.accepted));
        assert!(lab.verdict().unwrap().contains("so it is"));
    }

    #[test]
    fn back_moves_in_time_and_undo_takes_an_action_back() {
        let lab = lab().after(Wish::GoTo(3)).after(Wish::Act(Action::Roll));
        assert!(!lab.is_story() && lab.spot.at == lab.last());
        let back = lab.after(Wish::Back);
        assert_eq!(back.last(), lab.last(), "nothing is taken away");
        assert_eq!(back.after(Wish::Step).spot, lab.spot);
        let undone = back.after(Wish::Undo);
        assert!(undone.is_story() && undone.spot.at == 3);
        // An action from further back leaves what came after, until it is undone.
        let other = back.after(Wish::Act(Action::Flush));
        assert_eq!(other.after(Wish::Undo).spot, back.spot);
    }

    #[test]
    fn a_look_up_is_stepped_through_in_free_play() {
        let mut lab = lab()
            .after(Wish::GoTo(3))
            .after(Wish::Act(Action::FindOffset(20)));
        for shown in 1..=3 {
            lab = lab.after(Wish::Step);
            assert_eq!(lab.world().unwrap().finding.as_ref().unwrap().shown, shown);
        }
        let done = lab.after(Wish::Step);
        assert_eq!(done.spot, lab.spot);
    }

    #[test]
    fn a_setting_replays_the_same_appends() {
        let lab = lab().after(Wish::GoTo(3));
        let entries = |lab: &Lab| {
            lab.world()
                .unwrap()
                .segments()
                .iter()
                .map(|s| s.entries.len())
                .sum::<usize>()
        };
        let batches = |lab: &Lab| {
            lab.world()
                .unwrap()
                .segments()
                .iter()
                .map(|s| s.batches.len())
                .sum::<usize>()
        };
        let sparser = lab.after(Wish::Set(Settings {
            index_interval_bytes: 1024,
            ..Settings::default()
        }));
        assert!(entries(&sparser) < entries(&lab));
        assert_eq!((batches(&sparser), sparser.spot.at), (batches(&lab), 3));
    }

    #[test]
    fn what_cannot_happen_changes_nothing() {
        let lab = lab().after(Wish::Act(Action::Start));
        assert_eq!(lab.spot, Spot::start());
    }

    #[test]
    fn a_damaged_link_opens_the_start_and_says_why() {
        let good = link::write(&lab().after(Wish::GoTo(5)).spot);
        let opened = lab().after(Wish::Open(good.clone()));
        assert_eq!((opened.spot.at, opened.notice.clone()), (5, None));
        let damaged = opened.after(Wish::Open(good.replace("at=5", "at=6")));
        assert_eq!(damaged.spot, Spot::start());
        assert!(damaged.notice.unwrap().contains("checksum"));
    }
}
