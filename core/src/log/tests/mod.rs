//! What a log does, seen from outside, on the in-memory disk.

mod behaviour;
mod fixtures;
#[cfg(not(target_arch = "wasm32"))]
mod model;
mod power;
mod recovery;
mod remembered;
mod truncation;
