//! Fifty small worlds and the hash of each one's facts: the same story on every machine (rule R4).
//!
//! The list stands beside this file. The test here compares it with what this target tells: a debug build, an
//! optimized one, `wasm32`. `HIGHWATER_WRITE=1 cargo test -p highwater-tests --test simulation` writes it
//! anew after a change of what brokers do or tell.

use std::fmt::Write;

use super::player::{Failure, Look, Player};
use super::{BadScript, Script, random};
use crate::sim::World;

/// The worlds of the list.
pub const SEEDS: std::ops::RangeInclusive<u64> = 1..=50;
/// The list: a line for each, with its seed, events, facts and the hash of these.
pub const LIST: &str = include_str!("hashes.txt");

/// The line of a seed, as it comes out here.
pub fn line(seed: u64) -> Result<String, Box<Failure>> {
    let script =
        Script::parse(&random::short_script(seed)).map_err(|BadScript { line, why, .. }| Failure {
            line,
            step: 0,
            ms: 0,
            why,
            invariant: None,
        })?;
    let mut player = Player::new().looking(Look::Nowhere);
    player.play_all(&script)?;
    let world = player.world();
    let (steps, trace) = (world.map_or(0, World::steps), world.map(World::trace));
    let (facts, hash) = trace.map_or((0, 0), |trace| (trace.len(), trace.hash()));
    Ok(format!("{seed:>2} {steps:>6} {facts:>6} {hash:016x}"))
}

/// The whole list, as it comes out here.
pub fn list() -> Result<String, Box<Failure>> {
    let mut list = String::new();
    for seed in SEEDS {
        let _ = writeln!(list, "{}", line(seed)?);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_worlds_are_the_same_on_every_machine() {
        let here = list().unwrap_or_else(|failure| panic!("{failure}"));
        let lines = || here.lines().zip(LIST.lines());
        let differ: Vec<_> = lines().filter(|(here, listed)| here != listed).collect();
        assert!(
            here == LIST,
            "{differ:#?}: if this is meant, HIGHWATER_WRITE=1 writes the list anew"
        );
    }
}
