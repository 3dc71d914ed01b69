//! Jumping ahead to the next thing of a kind.

use highwater_core::stage::{PromiseState, Stage};
use highwater_core::types::Millis;

use super::timeline::Stop;

/// A search looks so far ahead, in the cluster's time.
pub const WITHIN_MS: Millis = 60_000;
/// Visible changes in one slice: the page is never kept waiting.
pub const STEPS_A_SLICE: usize = 3;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JumpTo {
    LeaderChange,
    HighWatermark,
    Isr,
    /// A promise that is no more kept.
    Loss,
    /// An invariant that does not hold.
    Broken,
}

/// Whether it has happened between the two stops, as far as the stage shows it.
pub fn is_there(to: JumpTo, before: &Stop, now: &Stop) -> bool {
    let pairs = before.sides.iter().zip(&now.sides);
    pairs
        .map(|(before, now)| (&*before.stage, &*now.stage))
        .any(|(before, now)| match to {
            JumpTo::LeaderChange => leader(before) != leader(now) && leader(now).is_some(),
            JumpTo::HighWatermark => high_watermarks(before) != high_watermarks(now),
            JumpTo::Isr => before.isrs != now.isrs,
            JumpTo::Loss => not_kept(now) > not_kept(before),
            // No stage shows it: the run knows.
            JumpTo::Broken => false,
        })
}

/// The sentence's beginning, when there is none.
pub fn none_of(to: JumpTo) -> &'static str {
    match to {
        JumpTo::LeaderChange => "No change of leader",
        JumpTo::HighWatermark => "No move of a high watermark",
        JumpTo::Isr => "No change of the ISR",
        JumpTo::Loss => "No loss",
        JumpTo::Broken => "No broken invariant",
    }
}

fn leader(stage: &Stage) -> Option<(i32, i32)> {
    let crowned = stage.rows.iter().filter(|row| row.is_crowned());
    crowned.map(|row| (row.epoch, row.broker)).max()
}

fn high_watermarks(stage: &Stage) -> Vec<(i32, i64)> {
    let rows = stage.rows.iter();
    rows.map(|row| (row.broker, row.high_watermark)).collect()
}

fn not_kept(stage: &Stage) -> usize {
    let promises = stage.promises.iter();
    promises
        .filter(|promise| promise.state != PromiseState::Kept)
        .count()
}
