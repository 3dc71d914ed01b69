//! The scene's story: its moments as worlds, its sentences filled, its predictions answered by the run.

use std::rc::Rc;

use highwater_core::error::DiskError;
use highwater_core::sim::Story;
pub use highwater_core::sim::story::Prediction;
use highwater_core::sim::story::{Ask, Moment, fill};

use crate::actions::{Action, Settings};
use crate::fields;
use crate::world::World;

/// The scene's name in links.
pub const NAME: &str = "log-grows";
/// The lab's own.
pub const STORY: &str = include_str!("scenes/log_grows.story");

/// The story with the actions of its moments.
#[derive(Clone, Debug)]
pub struct Scene {
    pub story: Rc<Story>,
    /// Of each moment.
    actions: Rc<Vec<Vec<Action>>>,
}

impl Scene {
    /// The lab's own.
    pub fn load() -> Result<Self, String> {
        Self::of(STORY)
    }

    /// Of a story's text.
    pub fn of(text: &str) -> Result<Self, String> {
        let story = Story::parse(text).map_err(|error| error.to_string())?;
        let actions = story.moments.iter().map(|moment| {
            let actions = moment.steps.iter().map(|step| step.parse());
            actions.collect::<Result<Vec<Action>, String>>()
        });
        Ok(Self {
            actions: Rc::new(actions.collect::<Result<_, _>>()?),
            story: Rc::new(story),
        })
    }

    pub fn moments(&self) -> usize {
        self.story.moments.len()
    }

    pub fn moment(&self, at: usize) -> Option<&Moment> {
        self.story.moments.get(at)
    }

    /// Everything that has happened when the moment is reached.
    pub fn script(&self, moment: usize) -> Vec<Action> {
        self.actions.iter().take(moment + 1).flatten().copied().collect()
    }

    /// The world at each moment.
    pub fn worlds(&self, settings: Settings) -> Result<Vec<World>, DiskError> {
        let mut world = World::new(settings)?;
        let mut worlds = Vec::with_capacity(self.moments());
        for actions in self.actions.iter() {
            let mut facts = Vec::new();
            for action in actions {
                world = world.after(action);
                facts.append(&mut world.facts);
            }
            world.facts = facts;
            worlds.push(world.clone());
        }
        Ok(worlds)
    }

    /// The moment's sentence; where a changed setting has taken a value away, it says so.
    pub fn sentence(&self, at: usize, world: &World) -> String {
        let Some(moment) = self.moment(at) else {
            return String::new();
        };
        if let Some(refused) = &world.refused {
            return refused.clone();
        }
        if !moment.happened(&world.facts) {
            return match at {
                1 => "With these settings no index entry was needed yet: too few bytes came. Change a value, or go on.",
                _ => "With these settings this does not happen here. Change a value, or go on.",
            }
            .to_owned();
        }
        fill(&moment.say, |name| fields::value(world, name)).unwrap_or_else(|_| {
            "With these settings there is nothing to see here. Change a value, or go on.".to_owned()
        })
    }

    /// The moment's question about what the next world will be.
    pub fn prediction(&self, at: usize, worlds: &[World]) -> Option<Prediction> {
        let ask = self.moment(at)?.ask.as_ref()?;
        predict(ask, worlds.get(at)?, worlds.get(at + 1)?)
    }
}

fn predict(ask: &Ask, now: &World, next: &World) -> Option<Prediction> {
    let value = |name: &str| match name.strip_prefix("next.") {
        Some(name) => fields::value(next, name),
        None => fields::value(now, name),
    };
    ask.predict(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_core::sim::story::{MOST_FOCUS, MOST_WORDS};

    fn all_settings() -> Vec<Settings> {
        let mut all = Vec::new();
        for index_interval_bytes in Settings::INDEX_INTERVALS {
            for segment_bytes in Settings::SEGMENTS {
                all.push(Settings {
                    index_interval_bytes,
                    segment_bytes,
                });
            }
        }
        all
    }

    /// The lab's own, and those of the book's figures, by name.
    fn all() -> Vec<(String, Scene)> {
        let figures = concat!(env!("CARGO_MANIFEST_DIR"), "/../book/figures");
        let mut all = vec![(NAME.to_owned(), Scene::load().unwrap())];
        for entry in std::fs::read_dir(figures).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "story") {
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                let text = std::fs::read_to_string(path).unwrap();
                let scene = Scene::of(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
                all.push((name, scene));
            }
        }
        all
    }

    #[test]
    fn each_moment_happens_and_its_sentence_has_all_its_values() {
        for (name, scene) in all() {
            println!("{name}");
            let worlds = scene.worlds(Settings::default()).unwrap();
            for (at, (moment, world)) in scene.story.moments.iter().zip(&worlds).enumerate() {
                let name = format!("{name}, {}", moment.name);
                assert_eq!(world.refused, None, "{name}");
                assert!(moment.happened(&world.facts), "{name}");
                let sentence = fill(&moment.say, |field| fields::value(world, field))
                    .unwrap_or_else(|field| panic!("{name}: no value for {field}"));
                assert_eq!(sentence, scene.sentence(at, world));
                let words = sentence.split_whitespace().count();
                assert!(words <= MOST_WORDS, "{name}: {words} words");
                assert!(!moment.button.is_empty() && moment.focus.len() <= MOST_FOCUS);
                println!("{}. {sentence}", at + 1);
                if moment.ask.is_some() {
                    assert!(scene.prediction(at, &worlds).is_some(), "{name}");
                }
            }
        }
    }

    #[test]
    fn no_number_stands_literally_in_a_sentence() {
        for (name, scene) in all() {
            for moment in &scene.story.moments {
                let mut texts = vec![moment.say.clone()];
                if let Some(ask) = &moment.ask {
                    texts.push(ask.question.clone());
                    texts.extend(ask.choices.iter().map(|choice| choice.reason.clone()));
                }
                for text in texts {
                    assert!(!text.contains(|c: char| c.is_ascii_digit()), "{name}: {text}");
                }
            }
        }
    }

    #[test]
    fn predictions_are_answered_by_the_run_and_give_reasons() {
        let scene = Scene::load().unwrap();
        let worlds = scene.worlds(Settings::default()).unwrap();
        let asked: Vec<Prediction> = (0..scene.moments())
            .filter_map(|at| scene.prediction(at, &worlds))
            .collect();
        assert_eq!(asked.len(), 2);
        for prediction in &asked {
            assert!(prediction.choices.len() >= 3, "{prediction:?}");
            for (at, choice) in prediction.choices.iter().enumerate() {
                let verdict = prediction.verdict(at).unwrap();
                assert!(verdict.contains(&choice.reason) || at == prediction.accepted);
                assert!(at == prediction.accepted || !choice.reason.is_empty());
            }
        }
    }

    #[test]
    fn a_changed_setting_changes_the_accepted_answer() {
        let scene = Scene::load().unwrap();
        let at = scene
            .story
            .moments
            .iter()
            .position(|moment| moment.name == "question")
            .unwrap();
        let accepted = |index_interval_bytes| {
            let settings = Settings {
                index_interval_bytes,
                ..Settings::default()
            };
            let worlds = scene.worlds(settings).unwrap();
            let prediction = scene.prediction(at, &worlds).unwrap();
            let next = fields::value(&worlds[at + 1], "find.headers").unwrap();
            let answer = prediction.choices[prediction.accepted].answer.clone();
            assert_eq!(answer, next);
            answer
        };
        assert_ne!(accepted(512), accepted(4096));
    }

    #[test]
    fn whatever_the_settings_a_story_is_told_to_its_end() {
        for (name, scene) in all() {
            // A figure need not be tried as thoroughly as the scene.
            let every = if name == NAME { 1 } else { 6 };
            for settings in all_settings().into_iter().step_by(every) {
                let worlds = scene.worlds(settings).unwrap();
                for (at, world) in worlds.iter().enumerate() {
                    assert!(!scene.sentence(at, world).is_empty(), "{name}: {settings:?}");
                    assert_eq!(world.refused, None, "{name}: {settings:?} {at}");
                }
            }
        }
    }
}
