//! Many random worlds: what they exercised, and the shortest script that still shows a failure.

use std::collections::BTreeMap;

use super::player::{Failure, Player};
use super::{Script, random};
use crate::sim::invariants::ALL_CAUGHT_UP;
use crate::sim::script::pattern::name_of;

/// Times that a fact was seen over all worlds.
pub type Exercised = BTreeMap<String, u64>;

/// Facts that a search of many worlds must have met, or it was no search.
pub const MUST_SEE: &[&str] = &[
    "BrokerCrashed",
    "BrokerPaused",
    "ControllerElected",
    "CoordinationCrashed",
    "FollowerTruncates",
    "HighWatermarkMoved",
    "IsrChanged",
    "IsrProposed",
    "LeadershipTaken",
    "LinkCut",
    "LogTruncated",
    "PacketLost",
    "ProduceRetried",
    "RecordsAcknowledged",
    "RecordsRead",
    "SessionExpired",
];

/// A world that went wrong.
#[derive(Clone, Debug)]
pub struct Found {
    pub seed: u64,
    pub failure: Failure,
    /// The script with nothing in it that the failure does not need.
    pub script: String,
}

/// Plays the world of one seed.
pub fn play_seed(seed: u64, exercised: &mut Exercised) -> Result<u64, Box<Found>> {
    let text = random::script(seed);
    match play(&text) {
        Ok(player) => {
            let world = player.world();
            for event in world.iter().flat_map(|world| world.trace().iter()) {
                *exercised.entry(name_of(&event.fact)).or_insert(0) += 1;
            }
            Ok(world.map_or(0, |world| world.trace().hash()))
        }
        Err(failure) => {
            let script = shrink(&text, &failure);
            Err(Box::new(Found {
                seed,
                failure: *failure,
                script,
            }))
        }
    }
}

/// Steps that a world of the seed took, with nothing looked at.
pub fn steps_without_invariants(seed: u64) -> u64 {
    let Ok(script) = Script::parse(&random::script(seed)) else {
        return 0;
    };
    let mut player = Player::new().without_invariants();
    // A failure ends the run, and what was done until then counts.
    let _ = player.play_all(&script);
    player.world().map_or(0, crate::sim::World::steps)
}

/// Facts that must be seen and were not.
pub fn missing(exercised: &Exercised) -> Vec<&'static str> {
    let seen = |name: &&str| exercised.get(*name).is_some_and(|&count| count > 0);
    MUST_SEE.iter().copied().filter(|name| !seen(name)).collect()
}

fn play(text: &str) -> Result<Player, Box<Failure>> {
    let mut player = Player::new();
    let script = Script::parse(text).map_err(|bad| {
        Box::new(Failure {
            line: bad.line,
            step: 0,
            ms: 0,
            why: bad.why,
            invariant: None,
        })
    })?;
    player.play_all(&script)?;
    Ok(player)
}

/// Leaves out line after line, as long as the same thing goes wrong.
fn shrink(text: &str, failure: &Failure) -> String {
    let mut lines: Vec<&str> = text.lines().take(failure.line).collect();
    if !fails_alike(&lines, failure) {
        lines = text.lines().collect();
    }
    // Without the end of all faults anything fails to come to rest.
    let end: Vec<&str> = match lines.iter().rposition(|line| *line == "heal") {
        Some(at) if failure.invariant.is_none_or(|name| name == ALL_CAUGHT_UP.name) => lines.split_off(at),
        _ => Vec::new(),
    };
    let fails_alike =
        |lines: &[&str], failure: &Failure| fails_alike(&[lines, end.as_slice()].concat(), failure);
    let mut size = lines.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at + size <= lines.len() {
            let mut shorter = lines.clone();
            shorter.drain(at..at + size);
            if fails_alike(&shorter, failure) {
                lines = shorter;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    lines.extend(&end);
    lines.join("\n") + "\n"
}

fn fails_alike(lines: &[&str], failure: &Failure) -> bool {
    // Without the setup the world would be another one.
    if !lines.iter().any(|line| line.starts_with("seed ")) {
        return false;
    }
    let found = play(&(lines.join("\n") + "\n")).err();
    found.is_some_and(|found| match failure.invariant {
        Some(_) => found.invariant == failure.invariant,
        None => found.invariant.is_none() && kind(&found.why) == kind(&failure.why),
    })
}

/// A failure's text without its numbers.
fn kind(why: &str) -> String {
    why.chars().filter(|c| !c.is_ascii_digit()).collect()
}
