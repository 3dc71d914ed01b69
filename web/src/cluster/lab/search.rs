//! Looking ahead in slices, so that the page is never kept waiting.

use super::{ClusterLab, Search};
use crate::cluster::jump::{self, JumpTo};
use crate::cluster::pace;
use crate::cluster::timeline::Stop;

impl ClusterLab {
    pub(super) fn jump(&mut self, to: JumpTo) {
        let (now, stops) = (self.step_now(), self.stops());
        let found = (now + 1..stops.len()).find(|&next| self.has_come(to, &stops[next - 1], &stops[next]));
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

    /// Whether it has happened between the two stops.
    pub(super) fn has_come(&self, to: JumpTo, before: &Stop, now: &Stop) -> bool {
        let broken = |stop: &Stop| -> usize {
            let sides = stop.sides.iter().enumerate();
            let counts = sides.filter_map(|(side, glance)| {
                let run = match self.own() {
                    Some(own) => &own.run,
                    None => self.scene.runs.get(side)?,
                };
                Some(run.broken_until(glance.facts).count())
            });
            counts.sum()
        };
        match to {
            JumpTo::Broken => broken(now) > broken(before),
            to => jump::is_there(to, before, now),
        }
    }

    /// One slice of a search in a run of one's own.
    pub(super) fn go_on_searching(&mut self) {
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
            if self.has_come(search.to, &before, now) {
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
}
