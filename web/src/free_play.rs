//! What is said, and what the main button does, where no story tells it.

use highwater_core::record::Codec;

use crate::actions::{Action, Batches};
use crate::finding::STEPS;
use crate::steps;
use crate::world::World;

/// What the main button appends; the sentence of controls has other sizes.
const APPEND: Batches = Batches {
    count: 1,
    records: 6,
    value_bytes: 20,
    codec: Codec::None,
};

/// A look-up has steps that are not shown yet.
pub fn is_stepping(world: &World) -> bool {
    world
        .finding
        .as_ref()
        .is_some_and(|finding| finding.shown < STEPS)
}

/// The main button at the end of a run.
pub fn button(world: &World) -> (&'static str, Action) {
    if !world.is_up() {
        ("Start again", Action::Start)
    } else if is_stepping(world) {
        ("Show the next step", Action::Reveal)
    } else {
        ("Append a batch", Action::Append(APPEND))
    }
}

/// Why something did not happen, or the last fact.
pub fn sentence(world: &World, action: Option<&Action>) -> String {
    if let Some(refused) = &world.refused {
        return refused.clone();
    }
    if let (Some(finding), Some(Action::FindOffset(_) | Action::FindTime(_) | Action::Reveal)) =
        (&world.finding, action)
    {
        return match finding.shown {
            0 => format!("Looking for {}: step to see how.", finding.target()),
            shown => steps::views(finding, world.segments())
                .get(shown - 1)
                .map_or_else(String::new, |view| format!("{}.", view.title)),
        };
    }
    match (world.facts.last(), action) {
        (Some(event), _) => format!("{}.", event.fact),
        (None, Some(Action::LosePower | Action::Tear)) => format!(
            "The power is gone; {} with it.",
            crate::say::count(world.lost.len(), "batch")
        ),
        (None, Some(action)) => format!("Done: {}.", action.title()),
        (None, None) => "An empty log: append something.".to_owned(),
    }
}
