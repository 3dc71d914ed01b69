//! What the stage shows: the file strip, or the steps of a look-up; and what a screen reader says of it.

use crate::annotate::Chosen;
use crate::close_up::CloseUp;
use crate::lab::Lab;
use crate::spot::Run;
use crate::steps::{self, StepView};
use crate::strip::{Piece, SegmentView};
use crate::world::World;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picture {
    Strip {
        segments: Vec<SegmentView>,
        close_up: Option<CloseUp>,
    },
    Steps {
        steps: Vec<StepView>,
        cost: Option<String>,
    },
}

impl Picture {
    pub fn of(lab: &Lab) -> Self {
        let Some(world) = lab.world() else {
            return Self::Strip {
                segments: Vec::new(),
                close_up: None,
            };
        };
        match &world.finding {
            Some(finding) if finding.shown > 0 => Self::Steps {
                steps: steps::views(finding, world.segments()),
                cost: (finding.shown == crate::finding::STEPS).then(|| finding.cost(world.segments())),
            },
            _ => Self::Strip {
                segments: world.segments_with_lost(),
                close_up: in_focus(lab, "close-up").then(|| close_up(lab, world)).flatten(),
            },
        }
    }

    /// Everything that the picture says, in the order in which it stands on the page.
    pub fn labels(&self) -> Vec<String> {
        match self {
            Self::Strip { segments, close_up } => {
                let segments = segments.iter().flat_map(segment_labels);
                segments
                    .chain(close_up.iter().flat_map(close_up_labels))
                    .collect()
            }
            Self::Steps { steps, cost } => {
                let steps = steps.iter().flat_map(step_labels);
                steps.chain(cost.clone()).collect()
            }
        }
    }
}

/// The last batch or index entry, whichever the story means.
fn close_up(lab: &Lab, world: &World) -> Option<CloseUp> {
    let last = world.segments().last()?;
    let segment = last.base;
    let chosen = if in_focus(lab, "entry:last") {
        let at = last.entries.len().checked_sub(1)?;
        Chosen::Entry { segment, at }
    } else {
        let position = last.batches.last()?.position;
        Chosen::Batch { segment, position }
    };
    CloseUp::of(world.host(), chosen)
}

fn close_up_labels(close_up: &CloseUp) -> Vec<String> {
    let mut labels: Vec<String> = close_up.parts.iter().map(|part| part.label()).collect();
    labels.push(close_up.title.clone());
    labels
}

fn segment_labels(segment: &SegmentView) -> Vec<String> {
    let mut labels = vec![segment.label()];
    labels.extend(segment.pieces().iter().map(Piece::label));
    labels.extend(segment.entries.iter().map(|entry| entry.label()));
    labels.extend(segment.times.iter().map(|time| time.label()));
    labels
}

fn step_labels(step: &StepView) -> Vec<String> {
    let mut labels = vec![step.title.clone()];
    for row in &step.rows {
        labels.extend(row.title.clone());
        labels.extend(row.cells.iter().map(|cell| cell.label()));
    }
    labels
}

/// Whether the story wants the reader's eye there.
pub fn in_focus(lab: &Lab, what: &str) -> bool {
    let focus = match lab.spot.run {
        Run::Story => lab.scene.moment(lab.spot.at).map(|moment| &moment.focus),
        Run::Own(_) => None,
    };
    focus.is_some_and(|focus| focus.iter().any(|name| name == what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Wish;
    use crate::scene::Scene;

    #[test]
    fn each_moment_has_a_picture_with_words() {
        let mut lab = Scene::load().and_then(Lab::new).unwrap();
        let mut pictures = Vec::new();
        while lab.is_story() {
            let labels = Picture::of(&lab).labels();
            assert!(!labels.is_empty() && labels.iter().all(|label| !label.is_empty()));
            pictures.push(labels);
            lab = lab.after(Wish::Step);
        }
        pictures.dedup();
        assert!(
            pictures.len() + 2 > lab.scene.moments(),
            "nearly every step changes the picture"
        );
    }

    #[test]
    fn steps_appear_one_by_one() {
        let mut lab = Scene::load().and_then(Lab::new).unwrap();
        let at = lab
            .scene
            .story
            .moments
            .iter()
            .position(|moment| moment.name == "question")
            .unwrap();
        lab = lab.after(Wish::GoTo(at));
        assert!(matches!(Picture::of(&lab), Picture::Strip { .. }));
        for shown in 1..=3 {
            lab = lab.after(Wish::Step);
            let Picture::Steps { steps, cost } = Picture::of(&lab) else {
                panic!("no steps");
            };
            let seen = steps.iter().filter(|step| !step.is_ahead()).count();
            assert_eq!((seen, cost.is_some()), (shown, shown == 3));
        }
    }
}
