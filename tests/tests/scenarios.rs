//! Plays every script of `tests/scenarios`, tells the stories that lie beside them, and compares what
//! they show and say with what stands in the files.
//!
//! `HIGHWATER_WRITE=1 cargo test -p highwater-tests --test scenarios` writes what they show now.

use std::fs;
use std::path::{Path, PathBuf};

use highwater_core::sim::script::Command;
use highwater_core::sim::script::player::Look;
use highwater_core::sim::story::{MOST_WORDS, Moment};
use highwater_core::sim::{Player, Script, Story, Teller};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let found = scripts(&root);
    let mut trials = Vec::new();
    for path in &found {
        let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
        let of = path.clone();
        trials.push(Trial::test(name.clone(), move || play(&of)));
        let of = path.clone();
        trials.push(Trial::test(
            format!("{name} is read as it is written"),
            move || written_commands_are_the_same(&of),
        ));
        trials.push(Trial::test(format!("{name}.story keeps the rules"), {
            let of = story_of(path);
            move || keeps_the_rules(&of)
        }));
    }
    for changed in CHANGED {
        let (root, name) = (root.clone(), changed.script);
        let name = format!("{name}.story has another right answer with another fault");
        trials.push(Trial::test(name, move || changes_with_the_fault(&root, changed)));
    }
    trials.push(Trial::test("there_are_scripts", move || {
        if found.is_empty() {
            Err("no script was found".into())
        } else {
            Ok(())
        }
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Every file without an ending below the directory.
fn scripts(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(scripts(&path));
        } else if path.extension().is_none() {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn story_of(script: &Path) -> PathBuf {
    script.with_extension("story")
}

/// A script's text, and its story's.
fn read(path: &Path) -> Result<(String, String), Failed> {
    let story = story_of(path);
    let text = fs::read_to_string(&story).map_err(|error| format!("{}: {error}", story.display()))?;
    Ok((fs::read_to_string(path)?, text))
}

fn play(path: &Path) -> Result<(), Failed> {
    let (script, story) = read(path)?;
    let parsed = Script::parse(&script).map_err(|bad| bad.to_string())?;
    let teller = Teller::new(Story::parse(&story).map_err(|bad| bad.to_string())?)?;
    let mut player = Player::new().comparing().telling(teller);
    let played = player.play_all(&parsed);
    let played = played.map_err(|failure| failure.to_string())?.to_string();
    let teller = player.teller().ok_or("there is no teller")?;
    is_told_to_its_end(teller)?;
    let said: Vec<Vec<String>> = (0..teller.told().len()).map(|at| teller.golden(at)).collect();
    let told = Story::with_golden(&story, &said);
    let writes = std::env::var_os("HIGHWATER_WRITE").is_some();
    for (path, now, then) in [(path, played, script), (&story_of(path), told, story)] {
        if now != then && writes {
            fs::write(path, now)?;
        } else {
            is_the_same(&now, &then)?;
        }
    }
    Ok(())
}

/// Every moment has come, every field has a value, every question a right answer that it offered.
fn is_told_to_its_end(teller: &Teller) -> Result<(), Failed> {
    if let Some(moment) = teller.awaited() {
        let when = moment.when.as_ref().map(ToString::to_string);
        return Err(format!("moment {} does not come: {when:?}", moment.name).into());
    }
    for (at, told) in teller.told().iter().enumerate() {
        let moment = &teller.story().moments[at];
        let sentence = told.say.clone()?;
        if sentence.split_whitespace().count() > MOST_WORDS {
            return Err(format!("more than {MOST_WORDS} words: {sentence}").into());
        }
        if let Some(element) = told.focus.iter().find(|element| element.contains(['{', ' '])) {
            return Err(format!("moment {}: `{element}` is no element", moment.name).into());
        }
        if let (Some(ask), Some(prediction)) = (&moment.ask, teller.prediction(at)?)
            && prediction.choices.len() != ask.choices.len()
        {
            return Err(format!(
                "moment {}: the choices are not those that are offered, or two are one: {prediction:?}",
                moment.name
            )
            .into());
        }
    }
    Ok(())
}

fn is_the_same(now: &str, then: &str) -> Result<(), Failed> {
    if now == then {
        return Ok(());
    }
    let differs = now.lines().zip(then.lines()).find(|(now, then)| now != then);
    let (now, then) = differs.unwrap_or(("", "(one is longer)"));
    Err(format!("it shows `{now}` where the file has `{then}`; HIGHWATER_WRITE=1 writes it anew").into())
}

/// What is done in a script is a script of its own when it is written out.
fn written_commands_are_the_same(path: &Path) -> Result<(), Failed> {
    let script = Script::parse(&fs::read_to_string(path)?).map_err(|bad| bad.to_string())?;
    let commands = || script.lines.iter().filter_map(|line| line.command.clone());
    let written = Script::of(commands()).to_string();
    let again = Script::parse(&written).map_err(|bad| format!("{bad}\n{written}"))?;
    if again
        .lines
        .iter()
        .filter_map(|line| line.command.clone())
        .eq(commands())
    {
        Ok(())
    } else {
        Err(format!("it is another script when it is written:\n{written}").into())
    }
}

/// A fault or a setting changed in a script, and the moment whose question has another right answer then.
struct Changed {
    script: &'static str,
    /// What stands in it, and what takes its place.
    changes: &'static [(&'static str, &'static str)],
    moment: &'static str,
    right: [&'static str; 2],
}

const CHANGED: &[Changed] = &[
    Changed {
        script: "acks/one_is_lost_with_the_leader",
        changes: &[
            ("delay 5s Fetch from 2 to 1\ndelay 5s Fetch from 3 to 1\n", ""),
            (
                "produce orders-0 1 acks=1\nstep until RecordsAcknowledged\n",
                "produce orders-0 1 acks=1\nrun 1s\n",
            ),
        ],
        moment: "died",
        right: ["no", "yes, for it was acknowledged"],
    },
    Changed {
        script: "acks/none_before_append",
        changes: &[("step until PacketSent what=Produce\n", "run 1s\n")],
        moment: "died",
        right: ["none", "all of it"],
    },
    Changed {
        script: "acks/all_before_answer",
        changes: &[("idempotence=false", "idempotence=true")],
        moment: "died",
        right: ["twice", "once"],
    },
    Changed {
        script: "election/unclean_on_loses",
        changes: &[("election.enable=true", "election.enable=false")],
        moment: "died",
        right: ["none", "all of them"],
    },
    Changed {
        script: "choice/available",
        changes: &[("acks=1", "acks=all"), ("insync.replicas=1", "insync.replicas=2")],
        moment: "told",
        right: ["only what was replicated", "all of them"],
    },
    Changed {
        script: "truncation/high_watermark_diverges",
        changes: &[("=high-watermark", "=leader-epoch")],
        moment: "new",
        right: [
            "nowhere: it keeps all that it has",
            "where its record and the new one part",
        ],
    },
];

/// The right answer is the run's: with another fault it is another.
fn changes_with_the_fault(root: &Path, changed: &Changed) -> Result<(), Failed> {
    let (text, story) = read(&root.join(changed.script))?;
    let mut other = text.clone();
    for (from, to) in changed.changes {
        if !other.contains(from) {
            return Err(format!("`{from}` is not in {}", changed.script).into());
        }
        other = other.replace(from, to);
    }
    for (text, right) in [text, other].into_iter().zip(changed.right) {
        let script = Script::parse(&text).map_err(|bad| bad.to_string())?;
        // What the script expects holds with its own faults only.
        let commands = script.lines.into_iter().filter_map(|line| line.command);
        let commands = commands.filter(|command| !matches!(command, Command::Expect(_)));
        let teller = Teller::new(Story::parse(&story).map_err(|bad| bad.to_string())?)?;
        let mut player = Player::new().looking(Look::Nowhere).telling(teller);
        let played = player.play_all(&Script::of(commands));
        played.map_err(|failure| failure.to_string())?;
        let teller = player.teller().ok_or("there is no teller")?;
        let mut moments = teller.story().moments.iter();
        let at = moments.position(|moment| moment.name == changed.moment);
        let prediction = teller.prediction(at.ok_or("there is no such moment")?)?;
        let found = prediction.ok_or("it asks nothing")?;
        if found.right().answer != right {
            return Err(format!("`{}` is right, not `{right}`, in\n{text}", found.right().answer).into());
        }
    }
    Ok(())
}

/// What the lab's stage of a cluster can put in focus, before the colon.
const ELEMENTS: &[&str] = &[
    "broker",
    "row",
    "promises",
    "client",
    "controller",
    "tree",
    "session",
    "node",
    "watches",
    "isr",
    "link",
    "way",
    "queue",
    "requests",
    "memory",
    "tally",
];

/// What can be seen without playing: no number and no broker's name stands in what is said.
fn keeps_the_rules(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let story = Story::parse(&text).map_err(|bad| bad.to_string())?;
    if story.title.is_empty() || !story.question.ends_with('?') || story.moments.len() < 2 {
        return Err("a story has a title, a question and at least two moments".into());
    }
    for said in [&story.title, &story.question]
        .into_iter()
        .chain(story.moments.iter().flat_map(sayings))
    {
        let outside = without_fields(said);
        let kept = WITH_DIGITS
            .iter()
            .fold(outside, |text, name| text.replace(name, ""));
        if kept.contains(|c: char| c.is_ascii_digit()) {
            return Err(format!("a number stands literally in `{said}`").into());
        }
    }
    for element in story.moments.iter().flat_map(|moment| &moment.focus) {
        let kind = element.split(':').next().unwrap_or_default();
        if !ELEMENTS.contains(&kind) {
            return Err(format!("`{element}` is nothing that a stage shows: {ELEMENTS:?}").into());
        }
    }
    Ok(())
}

/// Names that have a digit, and are names all the same.
const WITH_DIGITS: &[&str] = &["acks=0", "acks=1"];

fn sayings(moment: &Moment) -> Vec<&String> {
    let mut said = vec![&moment.say, &moment.button];
    if let Some(ask) = &moment.ask {
        said.push(&ask.question);
        said.extend(
            ask.choices
                .iter()
                .flat_map(|choice| [&choice.answer, &choice.reason]),
        );
    }
    said
}

fn without_fields(text: &str) -> String {
    let mut outside = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        outside.push_str(before);
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    outside + rest
}
