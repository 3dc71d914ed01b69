//! The same records again with other settings of their producer: what a reader turns, and what it changes.
//!
//! What is turned is done to the script, which is then played from its start: nothing in a run that has
//! begun could have been set otherwise. What is expected in the script is left out, since it may not hold.

use highwater_core::sim::script::command::{Command, Script};
use highwater_core::types::Millis;
use highwater_core::view::Tally;

use super::run::Run;

/// An action begins so in links: `tune linger.ms=0`.
pub const WORD: &str = "tune ";
/// The time between two records; it is no setting of Kafka's.
const EVERY: &str = "every";

/// Something that can be turned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dial {
    pub name: &'static str,
    pub now: String,
    pub values: Vec<String>,
}

const DIALS: [(&str, &str, &[&str]); 5] = [
    ("batch.size", "16384", &["0", "300", "600", "1200", "16384"]),
    ("linger.ms", "5", &["0", "5", "20", "50"]),
    ("buffer.memory", "33554432", &["1800", "3600", "33554432"]),
    ("compression.type", "none", &["none", "lz4"]),
    (EVERY, "", &["1ms", "2ms", "5ms", "10ms"]),
];

/// The producer that is turned, and how it is set: the one that sends most at a rate.
struct Turned<'a> {
    name: &'a str,
    settings: &'a [(String, String)],
    every_ms: Millis,
}

fn turned(commands: &[Command]) -> Option<Turned<'_>> {
    let sent = commands.iter().filter_map(|command| match command {
        Command::Produce(sending, Ok(by)) if sending.every_ms > 0 => Some((sending, by)),
        _ => None,
    });
    let (sending, name) = sent.max_by_key(|(sending, _)| sending.count)?;
    let settings = commands.iter().find_map(|command| match command {
        Command::Producer(named, options) if named == name => Some(&options.settings),
        _ => None,
    })?;
    Some(Turned {
        name,
        settings,
        every_ms: sending.every_ms,
    })
}

/// What can be turned in the run, each with its present value; nothing where no producer sends at a rate.
pub fn dials(run: &Run) -> Vec<Dial> {
    let commands = run.commands();
    let Some(turned) = turned(&commands) else {
        return Vec::new();
    };
    let dial = |(name, default, values): (&'static str, &str, &[&str])| {
        let set = turned.settings.iter().rev().find(|(key, _)| key == name);
        let now = match set {
            _ if name == EVERY => format!("{}ms", turned.every_ms),
            Some((_, value)) => value.clone(),
            None => default.to_owned(),
        };
        let mut values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        if !values.contains(&now) {
            values.insert(0, now.clone());
        }
        Dial { name, now, values }
    };
    DIALS.into_iter().map(dial).collect()
}

/// The run with these turned: `linger.ms=0`.
pub fn turn(run: &Run, words: &[String]) -> Result<Run, String> {
    let mut commands = run.commands();
    commands.retain(|command| !matches!(command, Command::Expect(_) | Command::Show(_)));
    for words in words {
        set(&mut commands, words)?;
    }
    // Read again, so that a setting that nobody knows is refused here.
    let script = Script::parse(&Script::of(commands).to_string()).map_err(|bad| bad.why)?;
    run.instead(script.lines.into_iter().filter_map(|line| line.command).collect())
}

fn set(commands: &mut [Command], words: &str) -> Result<(), String> {
    let (key, value) = words.split_once('=').ok_or("a value is missing")?;
    let name = turned(commands)
        .ok_or("no producer sends at a rate")?
        .name
        .to_owned();
    for command in commands {
        match command {
            Command::Producer(named, options) if *named == name && key != EVERY => {
                options.settings.retain(|(known, _)| known != key);
                options.settings.push((key.to_owned(), value.to_owned()));
            }
            Command::Produce(sending, Ok(by)) if *by == name && key == EVERY && sending.every_ms > 0 => {
                let ms = value.strip_suffix("ms").and_then(|ms| ms.parse().ok());
                sending.every_ms = ms.ok_or_else(|| format!("`{value}` is no time"))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// What became of the records that were given last in the whole run.
pub fn tally(run: &Run) -> Tally {
    let view = run.view_at(run.facts());
    let last = view.given_to.and_then(|client| view.producers.get(&client));
    last.map_or(Tally::default(), |producer| producer.tally)
}

/// `requests: 7, was 24; longest wait: 18 ms, was 6 ms; …`.
pub fn compared(now: &Tally, was: &Tally) -> String {
    let mean = |tally: &Tally| tally.sum_ms / Millis::try_from(tally.acknowledged.max(1)).unwrap_or(1);
    format!(
        "At the end, requests: {}, was {}; a record waits {} ms on average, was {}; the longest wait: {} ms, was {}; failed: {}, was {}",
        now.requests,
        was.requests,
        mean(now),
        mean(was),
        now.longest_ms,
        was.longest_ms,
        now.failed,
        was.failed
    )
}
