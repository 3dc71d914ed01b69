//! A place in a run.

use crate::actions::{Action, Settings};

/// Actions of one run.
pub const MOST_ACTIONS: usize = 200;

/// Where in which run: what a link carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    pub settings: Settings,
    pub run: Run,
    /// A moment, or how many actions have happened.
    pub at: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    Story,
    Own(Vec<Action>),
}

impl Spot {
    pub fn start() -> Self {
        Self {
            settings: Settings::default(),
            run: Run::Story,
            at: 0,
        }
    }
}
