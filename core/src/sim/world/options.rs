//! What a world is made of.

use crate::types::{BrokerId, Millis};

/// Everything that decides a run, but for what is done to it later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldOptions {
    pub seed: u64,
    /// Numbered from 1.
    pub brokers: BrokerId,
    /// `key=value`, for every broker; later ones win.
    pub settings: Vec<String>,
    /// How long a packet takes: at least, and at most.
    pub delay_ms: (Millis, Millis),
}

impl Default for WorldOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            brokers: 3,
            settings: Vec::new(),
            delay_ms: (1, 3),
        }
    }
}
