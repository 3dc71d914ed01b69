//! The facts that led to a place: what happened, to whom, because of what, and where in the source it was
//! decided.

use highwater_core::sim::host::EPOCH_MS;
use highwater_core::sim::script::pattern;
use highwater_core::trace::NodeId;
use highwater_core::types::Millis;

use super::lab::ClusterLab;

/// So many are shown, the last ones.
const MOST: usize = 12;

/// A fact, for a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactView {
    /// Which one of the run, counted from 0.
    pub at: usize,
    /// Since the run began.
    pub ms: Millis,
    /// To whom it happened; `world` when it is no node on the stage: packets, faults.
    pub who: String,
    pub text: String,
    /// `HighWatermarkMoved`.
    pub name: String,
    /// The file, as its copy beside the page is called, and the line, counted from 1; `None` when the run
    /// was not made by this build.
    pub site: Option<(String, u32)>,
    /// What it follows from.
    pub because: Option<String>,
}

impl ClusterLab {
    /// The last facts up to here, the latest last.
    pub fn facts_here(&self) -> Vec<FactView> {
        let Some((run, facts)) = self.run_here() else {
            return Vec::new();
        };
        let sides = self.sides();
        let name = |node: NodeId| {
            let figures = sides.iter().flat_map(|side| &side.stage.figures);
            let mut named = figures.filter(|figure| figure.node == node);
            named
                .next()
                .map_or("world".to_owned(), |figure| figure.name.clone())
        };
        let view = |at: usize| {
            let event = run.event(at)?;
            let because = (0..at)
                .rev()
                .filter_map(|before| run.event(before))
                .find(|before| before.id == event.cause);
            Some(FactView {
                at,
                ms: event.at_ms - EPOCH_MS,
                who: name(event.id.node),
                text: event.fact.to_string(),
                name: pattern::name_of(&event.fact),
                site: event
                    .site
                    .0
                    .map(|site| (site.file().replace('\\', "/"), site.line())),
                because: because.map(|cause| cause.fact.to_string()),
            })
        };
        (facts.saturating_sub(MOST)..facts).filter_map(view).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SCENES, Wish};
    use super::*;

    #[test]
    fn the_last_facts_of_each_moment_have_their_place_in_the_source() {
        for scene in SCENES {
            let mut lab = ClusterLab::new(scene.name).unwrap();
            while lab.is_story() {
                let facts = lab.facts_here();
                assert!(!facts.is_empty() && facts.len() <= MOST);
                assert!(facts.is_sorted_by_key(|fact| fact.at));
                for fact in facts {
                    let (file, line) = fact.site.expect("this build made it");
                    assert!(file.starts_with("core/src/") && line > 0, "{}: {file}", fact.name);
                    assert!(!fact.who.is_empty() && !fact.text.is_empty());
                }
                lab = lab.after(Wish::NextMoment);
            }
        }
    }
}
