//! A scene that plays: when each step is on the screen, and what is in the air meanwhile.

use super::ClusterLab;
use crate::cluster::flight::{self, Flight, Stretch};
use crate::cluster::{Picture, pace};

impl ClusterLab {
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
        if self.picture() == Picture::Producer {
            return Vec::new();
        }
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
}
