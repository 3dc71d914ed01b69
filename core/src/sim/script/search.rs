//! Many random worlds: what they exercised, and the shortest script that still shows a failure.

use std::fmt;

use super::player::{Failure, Player};
use super::{Script, random};
use crate::ordered::OrderedMap;
use crate::sim::invariants::ALL_CAUGHT_UP;
use crate::sim::script::pattern::name_of;
use crate::trace::{ControlFact, Event, Fact, WorldFact};

/// Times that a fact was seen over all worlds.
pub type Exercised = OrderedMap<String, u64>;

/// What a search of many worlds must have met, or it was no search: every fault, and what a cluster does
/// about them.
pub const MUST_SEE: &[&str] = &[
    "BatchRetried",
    "BrokerCrashed",
    "BrokerCrashed (power lost)",
    "BrokerPaused",
    "BrokerResumed",
    "BrokerStarted",
    "BrokerStopped",
    "ClientKilled",
    "ClockSkewed",
    "CommitFailed",
    "Committed",
    "ControllerElected",
    "ControllerResigned",
    "CoordinationCrashed",
    "CoordinatorLoaded",
    "CoordinatorLost",
    "DirectoryFailed",
    "DiskFilled",
    "DiskSlowed",
    "Elected",
    "Elected (unclean)",
    "FollowerTruncates",
    "HighWatermarkMoved",
    "IsrChanged",
    "IsrProposed",
    "LeadershipTaken",
    "LinkCut",
    "LinkHealed",
    "LogTruncated",
    "PacketDelayed",
    "PacketDuplicated",
    "PacketLost",
    "PacketLost (dropped)",
    "PartitionsAssigned",
    "PartitionsLost",
    "PartitionsRevoked",
    "RebalanceStarted",
    "RecordsAcknowledged",
    "RecordsProcessed",
    "RecordsReturned",
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

impl Found {
    /// The name of the file that [`Display`](fmt::Display) fills.
    pub fn file_name(&self) -> String {
        format!("sim-seed-{}", self.seed)
    }
}

/// A script that fails in the same way, behind a remark that says of which version, seed and step.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = env!("CARGO_PKG_VERSION");
        let Failure { step, ms, why, .. } = &self.failure;
        let why = why.replace('\n', " ");
        writeln!(
            f,
            "# highwater {version}, seed {}, step {step}, {ms} ms: {why}",
            self.seed
        )?;
        write!(f, "{}", self.script)
    }
}

/// Plays the world of one seed.
pub fn play_seed(seed: u64, exercised: &mut Exercised) -> Result<u64, Box<Found>> {
    play_script(seed, &random::script(seed), exercised)
}

fn play_script(seed: u64, text: &str, exercised: &mut Exercised) -> Result<u64, Box<Found>> {
    match play(text) {
        Ok(player) => {
            let world = player.world();
            for event in world.iter().flat_map(|world| world.trace().iter()) {
                count(exercised, event);
            }
            Ok(world.map_or(0, |world| world.trace().hash()))
        }
        Err(failure) => {
            let script = shrink(text, &failure);
            Err(Box::new(Found {
                seed,
                failure: *failure,
                script,
            }))
        }
    }
}

/// Counts a fact under its name, and what is worth counting apart.
fn count(exercised: &mut Exercised, event: &Event) {
    let name = name_of(&event.fact);
    let apart = match &event.fact {
        Fact::World(WorldFact::BrokerCrashed { power_lost: true, .. }) => Some("power lost"),
        Fact::World(WorldFact::PacketLost { why, .. }) if why == "dropped" => Some("dropped"),
        Fact::Control(ControlFact::Elected { unclean: true, .. }) => Some("unclean"),
        _ => None,
    };
    if let Some(apart) = apart {
        *exercised.entry(format!("{name} ({apart})")).or_insert(0) += 1;
    }
    *exercised.entry(name.to_owned()).or_insert(0) += 1;
}

/// Facts that must be seen and were not.
pub fn missing(exercised: &Exercised) -> Vec<&'static str> {
    let seen = |name: &&str| exercised.get(*name).is_some_and(|&count| count > 0);
    MUST_SEE.iter().copied().filter(|name| !seen(name)).collect()
}

/// Plays with every invariant, and with the view compared with what is, after each step.
fn play(text: &str) -> Result<Player, Box<Failure>> {
    let mut player = Player::new().comparing();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::{Mutation, with};

    #[test]
    fn what_is_found_is_short_and_fails_again_when_its_file_is_played() {
        let mistake = Mutation::AcknowledgedTooEarly;
        let found = with(mistake, || {
            let first = (1..)
                .find_map(|seed| play_script(seed, &random::short_script(seed), &mut Exercised::new()).err());
            first.unwrap()
        });
        let Found {
            seed,
            failure,
            script,
        } = &*found;
        assert!(script.lines().count() < random::short_script(*seed).lines().count());
        let file = found.to_string();
        let head = file.lines().next().unwrap();
        let version = env!("CARGO_PKG_VERSION");
        assert!(head.starts_with(&format!(
            "# highwater {version}, seed {seed}, step {}, ",
            failure.step
        )));
        assert!(head.contains(failure.invariant.unwrap()), "{head}");
        let again = with(mistake, || play(&file).unwrap_err());
        assert_eq!(again.invariant, failure.invariant);
        assert!(play(&file).is_ok(), "it is the mistake that is found");
    }
}
