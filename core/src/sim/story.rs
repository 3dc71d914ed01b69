//! Stories: what a run is told as, moment by moment.
//!
//! A story stands in a text file of lines `word rest`; a line that begins with a blank goes on with
//! the one before, `#` begins a remark, and a line that begins with `|` is what the moment above it
//! said when the story was last written, as in scripts:
//!
//! ```text
//! title    The promise that was kept
//! question What does acks=all promise?
//! picture  producer                        if it is no partition's replicas that are to be seen
//!
//! moment   told
//! when     RecordsAcknowledged acks=-1     the first fact like this, after the moment before
//! say      The producer is told that {count record} of its own are safe.
//! | The producer is told that 3 records of its own are safe.
//! focus    row:{leader t-0} promises       at most three
//! button   Crash the leader
//! ask      What will the next leader have?
//! accept   {end.leo leader:t-0 t-0}        the right answer, as the run gives it
//! choice   {count} = all of them | Everyone in the ISR had them before the answer.
//! choice   0 = none of them | That would be so under acks=1.
//! ```
//!
//! A story beside a script (`acks/kept` and `acks/kept.story`) is told of that script's run: see
//! [`teller`]. Scenes whose world is no cluster have a moment's actions in the story itself (`do`), and
//! find the values of its fields themselves.
//!
//! Fields in braces are filled from the run; so no number of a run stands in a story, and a story that
//! is told of another run says what happened there.
//!
//! Invariants
//! - a moment has a sentence of at most [`MOST_WORDS`] words (before its fields are filled) and at most
//!   [`MOST_FOCUS`] elements in focus
//! - an asked question has an accepted answer and at least two choices, each with its reason

pub mod predict;
pub mod teller;
pub mod template;

use std::borrow::Borrow;
use thiserror::Error;

pub use predict::{Ask, Choice, Offered, Prediction};
pub use teller::{Teller, Told};
pub use template::fill;

use crate::sim::script::Pattern;
use crate::stage::Picture;
use crate::trace::Event;

pub const MOST_WORDS: usize = 40;
pub const MOST_FOCUS: usize = 3;

/// A scene's story.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Story {
    pub title: String,
    pub question: String,
    pub picture: Picture,
    pub moments: Vec<Moment>,
}

/// One moment: what happens, and what is said then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// One word, by which other moments speak of it.
    pub name: String,
    /// What happens, in the scene's words, where no script says it.
    pub steps: Vec<String>,
    /// The fact that must follow from it; values may have fields of earlier moments.
    pub when: Option<Pattern>,
    pub say: String,
    pub focus: Vec<String>,
    /// What the main button says; it goes to the next moment.
    pub button: String,
    pub ask: Option<Ask>,
    /// What it said when the story was last written.
    pub golden: Vec<String>,
}

/// A line of a story file that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line} of the story: {why}")]
pub struct BadStory {
    /// Counted from 1.
    pub line: usize,
    pub why: String,
}

impl Story {
    pub fn parse(text: &str) -> Result<Self, BadStory> {
        let mut story = Self::default();
        let mut last = 0;
        for Entry { line, word, rest } in entries(text) {
            let bad = |why: String| BadStory { line, why };
            if word == "moment" {
                story.end_of_moment().map_err(bad)?;
            }
            story.take(word, &rest).map_err(bad)?;
            if let Some(moment) = story.moments.last() {
                moment.check().map_err(bad)?;
            }
            last = line;
        }
        let ended = story.end_of_moment();
        ended.map_err(|why| BadStory { line: last, why })?;
        Ok(story)
    }

    fn take(&mut self, word: &str, rest: &str) -> Result<(), String> {
        match word {
            "title" => self.title = rest.to_owned(),
            "question" => self.question = rest.to_owned(),
            "picture" => {
                self.picture = Picture::named(rest).ok_or_else(|| {
                    format!("there is no picture `{rest}`: write `replicas`, `tree` or `producer`")
                })?;
            }
            "moment" => self.begin_moment(rest)?,
            _ => {
                let moment = self.moments.last_mut();
                let moment = moment.ok_or_else(|| {
                    format!("`{word}` comes before the first moment: write `moment NAME` above it")
                })?;
                moment.take(word, rest)?;
            }
        }
        Ok(())
    }

    fn begin_moment(&mut self, name: &str) -> Result<(), String> {
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '.') {
            return Err(format!(
                "`{name}` is no name of a moment: write one word without a dot"
            ));
        }
        if self.moments.iter().any(|moment| moment.name == name) {
            return Err(format!(
                "there is a moment {name} already: give this one another name"
            ));
        }
        self.moments.push(Moment {
            name: name.to_owned(),
            ..Moment::default()
        });
        Ok(())
    }

    /// What can be missed only when all of a moment's lines are read.
    fn end_of_moment(&self) -> Result<(), String> {
        let Some(moment) = self.moments.last() else {
            return Ok(());
        };
        let name = &moment.name;
        if moment.say.is_empty() {
            return Err(format!("moment {name} says nothing: write a line `say`"));
        }
        match &moment.ask {
            Some(ask) if ask.accept.is_empty() => Err(format!(
                "the question of moment {name} has no right answer: write a line `accept`"
            )),
            Some(ask) if ask.choices.len() < 2 => Err(format!(
                "the question of moment {name} has fewer than two answers: write lines `choice`"
            )),
            _ => Ok(()),
        }
    }

    /// The story's text, with what each moment said this time in place of what it said before.
    pub fn with_golden(text: &str, said: &[Vec<String>]) -> String {
        let mut lines: Vec<String> = Vec::new();
        let mut said = said.iter();
        let mut open: Option<&Vec<String>> = None;
        let close = |lines: &mut Vec<String>, open: Option<&Vec<String>>| {
            let end = lines
                .iter()
                .rposition(|line| !is_idle(line))
                .map_or(0, |at| at + 1);
            let golden = open.into_iter().flatten().map(|said| format!("| {said}"));
            lines.splice(end..end, golden);
        };
        for line in text.lines().filter(|line| !line.starts_with('|')) {
            if line
                .strip_prefix("moment")
                .is_some_and(|rest| rest.starts_with(char::is_whitespace))
            {
                close(&mut lines, open);
                open = said.next();
            }
            lines.push(line.to_owned());
        }
        close(&mut lines, open);
        lines.join("\n") + "\n"
    }
}

impl Moment {
    fn take(&mut self, word: &str, rest: &str) -> Result<(), String> {
        match word {
            "do" => self.steps.push(rest.to_owned()),
            "when" => self.when = Some(Pattern::parse(rest)?),
            "say" => self.say = rest.to_owned(),
            "focus" => self.focus = template::words(rest),
            "button" => self.button = rest.to_owned(),
            "ask" => {
                self.ask = Some(Ask {
                    question: rest.to_owned(),
                    ..Ask::default()
                });
            }
            "accept" => self.asked(word)?.accept = rest.to_owned(),
            "choice" => {
                let choice = Choice::parse(rest)?;
                self.asked(word)?.choices.push(choice);
            }
            "|" => self.golden.push(rest.to_owned()),
            _ => return Err(format!("`{word}` is not a word of stories: the book lists them")),
        }
        Ok(())
    }

    fn asked(&mut self, word: &str) -> Result<&mut Ask, String> {
        self.ask
            .as_mut()
            .ok_or_else(|| format!("`{word}` comes before `ask`: write the question first"))
    }

    fn check(&self) -> Result<(), String> {
        if self.focus.len() > MOST_FOCUS {
            return Err(format!(
                "more than {MOST_FOCUS} elements in focus: leave some out"
            ));
        }
        if template::words(&self.say).len() > MOST_WORDS {
            return Err(format!("more than {MOST_WORDS} words: say less"));
        }
        Ok(())
    }

    /// Whether the fact that the moment waits for is among these.
    pub fn happened<E: Borrow<Event>>(&self, facts: &[E]) -> bool {
        let is_among = |when: &Pattern| facts.iter().any(|event| when.matches(event.borrow()));
        self.when.as_ref().is_none_or(is_among)
    }
}

/// A word and what follows it, with the number of its line.
struct Entry<'a> {
    line: usize,
    word: &'a str,
    rest: String,
}

/// Whether nothing is said in the line.
fn is_idle(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry> = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !is_idle(line)) {
        let goes_on = line.starts_with([' ', '\t']);
        let line = line.trim();
        match entries.last_mut() {
            Some(entry) if goes_on => {
                entry.rest.push(' ');
                entry.rest.push_str(line);
            }
            _ => {
                let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
                entries.push(Entry {
                    line: at + 1,
                    word,
                    rest: rest.trim().to_owned(),
                });
            }
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Fact;

    const STORY: &str = "title Two lines
# a remark
moment first
do append 1
do append 2
when BatchWritten log_end>=1
say One {thing}
  and another
focus a b:{leo 1 t-0}
ask Which?
accept {next.a}
choice {a} | because
choice 0 = none | for this reason
| One 1 and another

# the next
moment second
say Two
";

    #[test]
    fn a_story_is_read() {
        let story = Story::parse(STORY).unwrap();
        assert_eq!(story.title, "Two lines");
        let moment = &story.moments[0];
        assert_eq!(moment.steps, ["append 1", "append 2"]);
        assert_eq!(moment.say, "One {thing} and another");
        assert_eq!(moment.focus, ["a", "b:{leo 1 t-0}"]);
        assert_eq!(moment.golden, ["One 1 and another"]);
        let ask = moment.ask.as_ref().unwrap();
        assert_eq!(
            (ask.accept.as_str(), ask.choices[0].reason.as_str()),
            ("{next.a}", "because")
        );
        assert_eq!((&*ask.choices[1].value, &*ask.choices[1].answer), ("0", "none"));
    }

    #[test]
    fn a_bad_line_is_named_with_what_to_do() {
        for (text, line, to_do) in [
            ("say too early", 1, "write `moment NAME` above it"),
            ("moment a\nfocus 1 2 3 4", 2, "leave some out"),
            ("moment a\nchoice x | y", 2, "write the question first"),
            ("moment a\nask b\nchoice x", 3, "write `answer | reason`"),
            ("moment a\n\nwonder", 3, "the book lists them"),
            ("moment a b", 1, "write one word without a dot"),
            ("moment a\nsay x\nmoment a", 3, "another name"),
            ("moment a\nmoment b", 2, "write a line `say`"),
            ("moment a\nsay x\nask y", 3, "write a line `accept`"),
            ("moment a\nsay x\nask y\naccept z", 4, "write lines `choice`"),
            ("moment a\nwhen Nothing", 2, "no fact named Nothing"),
        ] {
            let bad = Story::parse(text).unwrap_err();
            assert_eq!(bad.line, line, "{text}");
            assert!(bad.why.contains(to_do), "{text}: {bad}");
        }
        let long = format!("moment a\nsay {}", "word ".repeat(41));
        assert_eq!(
            Story::parse(&long).unwrap_err().why,
            "more than 40 words: say less"
        );
    }

    #[test]
    fn what_was_said_takes_the_place_of_what_was_said_before() {
        let said = [
            vec!["One 2 and another".to_owned(), "Which?".to_owned()],
            vec!["Two".to_owned()],
        ];
        let written = Story::with_golden(STORY, &said);
        let expected = STORY
            .replace("| One 1 and another\n", "| One 2 and another\n| Which?\n")
            .replace("say Two\n", "say Two\n| Two\n");
        assert_eq!(written, expected);
        assert_eq!(Story::with_golden(&written, &said), written);
    }

    #[test]
    fn a_moment_waits_for_its_fact() {
        let story = Story::parse(STORY).unwrap();
        let written = |log_end| Event {
            id: crate::trace::EventId::NONE,
            cause: crate::trace::EventId::NONE,
            at_ms: 0,
            fact: Fact::BatchWritten {
                partition: crate::types::TopicPartition::new("t", 0),
                log_end,
            },
            site: crate::trace::Site::default(),
        };
        assert!(!story.moments[0].happened::<Event>(&[]));
        assert!(!story.moments[0].happened(&[written(0)]));
        assert!(story.moments[0].happened(&[written(0), written(1)]));
        assert!(story.moments[1].happened::<Event>(&[]));
    }
}
