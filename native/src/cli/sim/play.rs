//! Plays one script: its lines, what they show, and its story if there is one beside it.
//!
//! What is told begins with a mark: `|` what the script shows, `>` a moment of the story, `?` its
//! question, `!` the question's answer, as soon as the run has given it.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use highwater_core::sim::script::{Line, Player, Script};
use highwater_core::sim::story::{Prediction, Told};
use highwater_core::sim::{Story, Teller, World};
use highwater_core::stage::{self, Picture, Stage, StageOptions};
use highwater_core::types::TopicPartition;
use highwater_core::view::ClusterView;
use serde_json::json;

use super::{Arguments, Failure};
use crate::output;

pub fn play(path: &Path, arguments: &Arguments) -> Result<(), Failure> {
    let text = read(path)?;
    let named = |bad: &dyn std::fmt::Display, path: &Path| format!("{}: {bad}", path.display());
    let script = Script::parse(&text).map_err(|bad| named(&bad, path))?;
    let mut player = Player::new();
    let beside = story_beside(path);
    if beside.exists() {
        let story = Story::parse(&read(&beside)?).map_err(|bad| named(&bad, &beside))?;
        player = player.telling(Teller::new(story).map_err(|bad| named(&bad, &beside))?);
    }
    // With disks to write there is more to do than to tell.
    let out: Box<dyn Write> = match arguments.dump_dir {
        Some(_) => Box::new(output::Said),
        None => Box::new(output::stdout()),
    };
    let mut terminal = Terminal {
        arguments,
        out,
        facts: 0,
        told: 0,
        unanswered: Vec::new(),
    };
    terminal.title(&player)?;
    for line in &script.lines {
        terminal.announce(line)?;
        let shown = player.play_line(line);
        terminal.show(&player, line, shown.as_deref().unwrap_or_default())?;
        shown.map_err(|failure| named(&failure, path))?;
    }
    player.finish().map_err(|failure| named(&failure, path))?;
    terminal.answers(&player)?;
    terminal.what_did_not_come(&player)?;
    if let (Some(dir), Some(world)) = (&arguments.dump_dir, player.world()) {
        dump(world, dir)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Failure> {
    Ok(fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?)
}

/// `acks/kept.story` for `acks/kept`.
fn story_beside(script: &Path) -> PathBuf {
    let mut name = script.as_os_str().to_owned();
    name.push(".story");
    name.into()
}

/// The terminal, and what is told there already.
struct Terminal<'a, W> {
    arguments: &'a Arguments,
    out: W,
    facts: usize,
    told: usize,
    /// Moments whose question the run has not answered yet.
    unanswered: Vec<usize>,
}

impl<W: Write> Terminal<'_, W> {
    fn title(&mut self, player: &Player) -> io::Result<()> {
        match player.teller() {
            Some(teller) if !self.arguments.json => {
                let story = teller.story();
                writeln!(self.out, "> {}\n> {}\n", story.title, story.question)
            }
            _ => Ok(()),
        }
    }

    /// The line, before it is carried out.
    fn announce(&mut self, line: &Line) -> io::Result<()> {
        if !self.arguments.json {
            writeln!(self.out, "{}", line.text)?;
        }
        if line.command.is_some() {
            self.wait()?;
        }
        Ok(())
    }

    /// What the line has shown, and the moments that came with it.
    fn show(&mut self, player: &Player, line: &Line, shown: &[String]) -> Result<(), Failure> {
        let told = player.teller().map_or(&[][..], Teller::told);
        let new = &told[self.told.min(told.len())..];
        self.told = told.len();
        if self.arguments.json {
            self.show_json(player, new)?;
        } else {
            let mut lines = shown.iter();
            let mut after = 0;
            for (told, &before) in new.iter().zip(player.told_after()) {
                for shown in lines.by_ref().take(before - after) {
                    writeln!(self.out, "| {shown}")?;
                }
                after = before;
                self.moment(player, told)?;
            }
            lines.try_for_each(|shown| writeln!(self.out, "| {shown}"))?;
            if self.arguments.describe && line.command.is_some() {
                self.describe(picture(player), player.view(), player.view().memory.facts)?;
            }
        }
        self.unanswered.extend(new.iter().map(|told| told.moment));
        self.answers(player)
    }

    fn moment(&mut self, player: &Player, told: &Told) -> io::Result<()> {
        match &told.say {
            Ok(sentence) => writeln!(self.out, "> {sentence}")?,
            Err(why) => writeln!(self.out, "> ({why})")?,
        }
        if self.arguments.describe {
            self.describe(picture(player), &told.view, told.cut_since)?;
        }
        let asked = player.teller().and_then(|teller| teller.question(told.moment));
        if let Some((question, answers)) = asked {
            writeln!(self.out, "? {question}")?;
            let mut answers = answers.iter();
            answers.try_for_each(|answer| writeln!(self.out, "?   {answer}"))?;
        }
        self.wait()
    }

    /// The stage in words, a line for each of its elements.
    fn describe(&mut self, picture: Picture, view: &ClusterView, cut_since: usize) -> io::Result<()> {
        for said in described(picture, view, cut_since) {
            writeln!(self.out, "  {said}")?;
        }
        Ok(())
    }

    fn show_json(&mut self, player: &Player, new: &[Told]) -> Result<(), Failure> {
        let mut new = new.iter().peekable();
        let Some(world) = player.world() else {
            return Ok(());
        };
        let visible = player.visible();
        for event in world.trace().since(self.facts) {
            let mut told = serde_json::to_value(event)?;
            // Whether it changes what an onlooker sees.
            told["visible"] = visible.binary_search(&self.facts).is_ok().into();
            writeln!(self.out, "{told}")?;
            self.facts += 1;
            while let Some(told) = new.next_if(|told| told.facts <= self.facts) {
                writeln!(self.out, "{}", self.moment_as_json(player, told))?;
                self.wait()?;
            }
        }
        Ok(())
    }

    fn moment_as_json(&self, player: &Player, told: &Told) -> serde_json::Value {
        let moments = player.teller().map(|teller| &teller.story().moments);
        let name = moments.and_then(|moments| moments.get(told.moment));
        let mut moment = json!({
            "name": name.map(|moment| &moment.name),
            "ms": told.at_ms,
            "say": told.say.as_ref().ok(),
            "focus": told.focus,
        });
        if self.arguments.describe {
            moment["view"] = json!(told.view);
            moment["stage"] = json!(described(picture(player), &told.view, told.cut_since));
        }
        json!({ "moment": moment })
    }

    /// Questions that the run has answered by now.
    fn answers(&mut self, player: &Player) -> Result<(), Failure> {
        let Some(teller) = player.teller() else {
            return Ok(());
        };
        for moment in std::mem::take(&mut self.unanswered) {
            match teller.prediction(moment) {
                Ok(Some(prediction)) => self.answer(&prediction)?,
                Ok(None) => {}
                Err(_) => self.unanswered.push(moment),
            }
        }
        Ok(())
    }

    fn answer(&mut self, prediction: &Prediction) -> io::Result<()> {
        let question = &prediction.question;
        if self.arguments.json {
            let right = &prediction.right().answer;
            return writeln!(
                self.out,
                "{}",
                json!({ "answered": { "question": question, "right": right } })
            );
        }
        writeln!(self.out, "! {question} {}.", prediction.right().answer)?;
        let choices = prediction.choices.iter().enumerate();
        for (_, choice) in choices.filter(|(at, _)| *at != prediction.accepted) {
            writeln!(self.out, "!   not {}: {}", choice.answer, choice.reason)?;
        }
        Ok(())
    }

    /// A story that was not told to its end says where it stopped.
    fn what_did_not_come(&mut self, player: &Player) -> Result<(), Failure> {
        let awaited = player.teller().and_then(Teller::awaited);
        let when = awaited.and_then(|moment| moment.when.as_ref());
        match (awaited, when) {
            (Some(moment), Some(when)) => Err(format!(
                "the story stops before its moment {}: there was no {when}",
                moment.name
            )
            .into()),
            _ => Ok(()),
        }
    }

    fn wait(&mut self) -> io::Result<()> {
        if self.arguments.step {
            self.out.flush()?;
            io::stdin().lock().read_line(&mut String::new())?;
        }
        Ok(())
    }
}

/// What the story shows.
fn picture(player: &Player) -> Picture {
    player
        .teller()
        .map_or(Picture::default(), |teller| teller.story().picture)
}

/// Every element of the stage, and nothing before there is a partition, unless the tree is to be seen.
fn described(picture: Picture, view: &ClusterView, cut_since: usize) -> Vec<String> {
    let none_yet = || (picture == Picture::Tree).then(|| TopicPartition::new("", 0));
    let options = stage::subject(view)
        .or_else(none_yet)
        .map(|partition| StageOptions {
            partition,
            most_columns: stage::MOST_COLUMNS,
            cut_since,
            picture,
        });
    options.map_or(Vec::new(), |options| Stage::of(view, &options).describe())
}

/// The disks as directories `broker-N`, which Kafka's own tools can read.
fn dump(world: &World, dir: &Path) -> Result<(), Failure> {
    for node in world.brokers() {
        for (number, path, _) in node.disk.files() {
            let to = dir.join(format!("broker-{}", node.id)).join(&path);
            let bytes = node.disk.read_file(number, &path)?;
            let written = match to.parent() {
                Some(parent) => fs::create_dir_all(parent).and_then(|()| fs::write(&to, bytes)),
                None => Ok(()),
            };
            written.map_err(|error| format!("{}: {error}", to.display()))?;
        }
    }
    Ok(())
}
