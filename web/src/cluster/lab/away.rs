//! What a reader takes away from a place, and what can be done there: link, script, faults, other runs.

use super::{At, ClusterLab};
use crate::cluster::link::{self, Spot};
use crate::cluster::offer::{self, Offer};
use crate::cluster::tune::{self, Dial};
use crate::cluster::{Picture, svg};

impl ClusterLab {
    /// A link to this place.
    pub fn link(&self) -> String {
        let moment = self.beat().and_then(|(_, beat)| {
            let teller = self.scene.runs.get(beat.side)?.teller()?;
            Some(teller.story().moments.get(beat.moment)?.name.clone())
        });
        link::write(&Spot {
            scene: self.scene.info.name.to_string(),
            moment: moment.unwrap_or_default(),
            at: self.step_now(),
            own: self.own().map(|own| own.spot()),
            hash: self.hash(),
        })
    }

    pub(super) fn hash(&self) -> u64 {
        let here = self.run_here();
        here.map_or(0, |(run, facts)| run.hash_until(facts))
    }

    /// What is seen here, as an SVG.
    pub fn svg(&self) -> String {
        svg::picture(&self.scene.info.title, &self.sentence(), &self.sides())
    }

    /// The run as a script, which `highwater sim` plays.
    pub fn script(&self) -> String {
        match self.own() {
            Some(own) => own.run.script().to_string(),
            None => {
                let side = self.stop().map_or(0, |stop| stop.moved);
                self.scene.info.sides[side].script.to_string()
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

    /// What is shown.
    pub fn picture(&self) -> Picture {
        self.run_here()
            .map_or(Picture::default(), |(run, _)| run.picture())
    }

    /// What can be set otherwise here.
    pub fn dials(&self) -> Vec<Dial> {
        let here = self.run_here();
        here.map_or(Vec::new(), |(run, _)| tune::dials(run))
    }

    /// The runs of one's own, and whether each is the one that is shown.
    pub fn branches(&self) -> Vec<(String, bool)> {
        let is_here = |at: usize| matches!(self.at, At::Own { branch, .. } if branch == at);
        let branches = self.branches.iter().enumerate();
        branches.map(|(at, own)| (own.label(), is_here(at))).collect()
    }
}
