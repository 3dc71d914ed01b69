//! Opening a link: exactly, or at its moment, or at the start.

use std::rc::Rc;

use super::{At, ClusterLab};
use crate::cluster::link::{self, Spot};
use crate::cluster::own::Own;

impl ClusterLab {
    pub(super) fn open(&mut self, text: &str) {
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

    pub(super) fn stop_of_moment(&self, name: &str) -> Option<usize> {
        let beats = self.scene.timeline.beats.iter();
        let mut named = beats.filter(|beat| {
            let teller = self.scene.runs[beat.side].teller();
            let moment = teller.and_then(|teller| teller.story().moments.get(beat.moment));
            moment.is_some_and(|moment| moment.name == name)
        });
        named.next().map(|beat| beat.stop)
    }
}
