//! Groups as their members see them: what each request hears, in the order in which things happen.

mod admin;
mod joining;
mod members;
mod offsets;
#[cfg(not(target_arch = "wasm32"))]
mod schedules;
mod static_members;

pub use members::*;
