//! Maps and sets in the order of their keys, as all of the core uses them.
//!
//! Natively they are the standard library's trees: a broker may have ten thousand partitions. In the
//! page they are sorted vectors: each tree of other types is tens of kilobytes of code to load, and
//! a scene has a handful of entries in each. What can be seen of the two is the same (the order,
//! the answers, what is serialized), so a run has the same trace on both.
//!
//! Source: the interface of `std::collections::{BTreeMap, BTreeSet}`, though not all of it.

#[cfg(any(test, target_arch = "wasm32"))]
mod map;
#[cfg(any(test, target_arch = "wasm32"))]
mod set;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

#[cfg(target_arch = "wasm32")]
pub use self::{map::SortedMap as OrderedMap, set::SortedSet as OrderedSet};
#[cfg(not(target_arch = "wasm32"))]
pub use std::collections::{BTreeMap as OrderedMap, BTreeSet as OrderedSet};
