//! Events in, decisions out, against a tree that serves reads, multis and watches.

mod events;
mod losses;
pub(crate) mod office;
mod others;
mod passes;
#[cfg(not(target_arch = "wasm32"))]
mod random;
