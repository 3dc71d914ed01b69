//! Stories: what a run is told as, moment by moment.
//!
//! A story stands in a text file of lines `word rest`; a line that begins with a blank goes on with
//! the one before, `#` begins a remark:
//!
//! ```text
//! title    A log grows
//! question How is one record found?
//!
//! moment   first-batch
//! do       append 1 6 20          what happens; the scene knows the words
//! when     BatchAppended          a fact that must then be among those that followed
//! say      One batch of {batch.records} records ...
//! focus    batch:last             at most three
//! button   Add more
//! ask      Where will the log end?
//! accept   {next.log.end}         the right answer, as of the next moment
//! choice   {log.end} | why this is wrong, if it is
//! ```
//!
//! Fields in braces are filled from the run; so no number of a run stands in a story, and a story that
//! is told of another run says what happened there.
//!
//! Invariants
//! - a moment has a sentence of at most [`MOST_WORDS`] words (before its fields are filled) and at most
//!   [`MOST_FOCUS`] elements in focus
//! - an asked question has an accepted answer and at least two choices, each with its reason

use thiserror::Error;

use crate::trace::{Event, Fact};

pub const MOST_WORDS: usize = 40;
pub const MOST_FOCUS: usize = 3;

/// A scene's story.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Story {
    pub title: String,
    pub question: String,
    pub moments: Vec<Moment>,
}

/// One moment: what happens, and what is said then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    pub name: String,
    /// What happens, in the scene's words.
    pub steps: Vec<String>,
    /// Name of a fact that must follow from it.
    pub when: Option<String>,
    pub say: String,
    pub focus: Vec<String>,
    /// What the main button says; it goes to the next moment.
    pub button: String,
    pub ask: Option<Ask>,
}

/// A question before the next moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    pub question: String,
    pub accept: String,
    pub choices: Vec<Choice>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    pub answer: String,
    /// Why it is wrong, when it is.
    pub reason: String,
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
        for (line, word, rest) in entries(text) {
            let bad = |why: String| BadStory { line, why };
            story.take(word, &rest).map_err(bad)?;
            if let Some(moment) = story.moments.last() {
                moment.check().map_err(bad)?;
            }
        }
        Ok(story)
    }

    fn take(&mut self, word: &str, rest: &str) -> Result<(), String> {
        match word {
            "title" => self.title = rest.to_owned(),
            "question" => self.question = rest.to_owned(),
            "moment" => self.moments.push(Moment {
                name: rest.to_owned(),
                ..Moment::default()
            }),
            _ => {
                let moment = self.moments.last_mut();
                let moment = moment.ok_or_else(|| format!("`{word}` comes before the first moment"))?;
                moment.take(word, rest)?;
            }
        }
        Ok(())
    }
}

impl Moment {
    fn take(&mut self, word: &str, rest: &str) -> Result<(), String> {
        match word {
            "do" => self.steps.push(rest.to_owned()),
            "when" => self.when = Some(rest.to_owned()),
            "say" => self.say = rest.to_owned(),
            "focus" => self.focus = rest.split_whitespace().map(str::to_owned).collect(),
            "button" => self.button = rest.to_owned(),
            "ask" => {
                self.ask = Some(Ask {
                    question: rest.to_owned(),
                    ..Ask::default()
                });
            }
            "accept" => self.asked(word)?.accept = rest.to_owned(),
            "choice" => {
                let (answer, reason) = rest.split_once('|').ok_or("a choice is `answer | reason`")?;
                self.asked(word)?.choices.push(Choice {
                    answer: answer.trim().to_owned(),
                    reason: reason.trim().to_owned(),
                });
            }
            _ => return Err(format!("`{word}` is not a word of stories")),
        }
        Ok(())
    }

    fn asked(&mut self, word: &str) -> Result<&mut Ask, String> {
        self.ask
            .as_mut()
            .ok_or_else(|| format!("`{word}` comes before `ask`"))
    }

    fn check(&self) -> Result<(), String> {
        if self.focus.len() > MOST_FOCUS {
            return Err(format!("more than {MOST_FOCUS} elements in focus"));
        }
        if self.say.split_whitespace().count() > MOST_WORDS {
            return Err(format!("more than {MOST_WORDS} words"));
        }
        Ok(())
    }

    /// Whether the fact that the moment waits for is among these.
    pub fn happened(&self, facts: &[Event]) -> bool {
        let is_it = |name: &String| facts.iter().any(|event| fact_name(&event.fact) == *name);
        self.when.as_ref().is_none_or(is_it)
    }
}

/// Words and what follows them, with the number of their line.
fn entries(text: &str) -> Vec<(usize, &str, String)> {
    let mut entries: Vec<(usize, &str, String)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let goes_on = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match entries.last_mut() {
            Some((_, _, rest)) if goes_on => {
                rest.push(' ');
                rest.push_str(line);
            }
            _ => {
                let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
                entries.push((at + 1, word, rest.trim().to_owned()));
            }
        }
    }
    entries
}

/// The variant's name, as in `Fact::SegmentRolled`.
pub fn fact_name(fact: &Fact) -> String {
    let text = format!("{fact:?}");
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    text[..end].to_owned()
}

/// Puts values in the place of `{fields}`; `Err` names a field that has none.
pub fn fill(template: &str, field: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| "a brace is not closed".to_owned())?;
        text.push_str(&field(name).ok_or_else(|| name.to_owned())?);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORY: &str = "title Two lines
# a remark
moment first
do append 1
do append 2
when BatchWritten
say One {thing}
  and another
focus a b
ask Which?
accept {next.a}
choice {a} | because
";

    #[test]
    fn a_story_is_read() {
        let story = Story::parse(STORY).unwrap();
        assert_eq!(story.title, "Two lines");
        let moment = &story.moments[0];
        assert_eq!(moment.steps, ["append 1", "append 2"]);
        assert_eq!(moment.say, "One {thing} and another");
        assert_eq!(moment.focus, ["a", "b"]);
        let ask = moment.ask.as_ref().unwrap();
        assert_eq!(
            (ask.accept.as_str(), ask.choices[0].reason.as_str()),
            ("{next.a}", "because")
        );
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, line) in [
            ("say too early", 1),
            ("moment a\nfocus 1 2 3 4", 2),
            ("moment a\nchoice x | y", 2),
            ("moment a\nask b\nchoice x", 3),
            ("moment a\n\nwonder", 3),
        ] {
            assert_eq!(Story::parse(text).unwrap_err().line, line, "{text}");
        }
        let long = format!("moment a\nsay {}", "word ".repeat(41));
        assert_eq!(Story::parse(&long).unwrap_err().why, "more than 40 words");
    }

    #[test]
    fn fields_are_filled_or_named() {
        let field = |name: &str| (name == "a").then(|| "7".to_owned());
        assert_eq!(fill("x {a} y {a}", field), Ok("x 7 y 7".to_owned()));
        assert_eq!(fill("{b}", field), Err("b".to_owned()));
        assert!(fill("{a", field).is_err());
    }

    #[test]
    fn a_moment_waits_for_its_fact() {
        let moment = &Story::parse(STORY).unwrap().moments[0];
        assert!(!moment.happened(&[]));
        let fact = Fact::BatchWritten {
            partition: crate::types::TopicPartition::new("t", 0),
            log_end: 1,
        };
        assert_eq!(fact_name(&fact), "BatchWritten");
    }
}
