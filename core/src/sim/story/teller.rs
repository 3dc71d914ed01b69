//! Telling a story of a run: each fact is shown to the teller, with the run as it is then.
//!
//! The teller waits for the next moment's fact. When it comes, it takes down everything that any
//! sentence of the story wants to know of this moment, so that sentences can be filled later, whatever
//! has happened since. A field is, in this order:
//!
//! | field | value |
//! |---|---|
//! | `leo leader:t-0 t-0` | a question to the run as it is at the moment |
//! | `count`, `at`, `ms` | a field of the moment's fact |
//! | `since told` | milliseconds from that moment to this one |
//! | `count record` | the same with the noun, which gets its s: `3 records` |
//! | `told.count`, `next.leader t-0`, `end.leo 1 t-0` | any of these at that moment, at the next one, or when the script is over |
//!
//! In a question a word may itself be a field of a fact: `leo died.broker t-0`.
//!
//! Invariants
//! - moments are told in their order; one that does not come keeps back those after it
//! - what was told does not change

use super::predict::{Offered, Prediction};
use super::template::{self, counted, fill, in_prose};
use super::{Moment, Story};
use crate::ordered::OrderedMap;
use crate::sim::script::{Query, Sight, pattern};
use crate::trace::Event;
use crate::types::Millis;
use crate::view::ClusterView;

/// Stands for the moment after the one that is told, and for the end of the run.
const NEXT: &str = "next";
const END: &str = "end";

/// A moment of this run.
#[derive(Clone, Debug)]
pub struct Told {
    /// Which one, counted from 0.
    pub moment: usize,
    pub at_ms: Millis,
    /// Facts of the run up to the one that it waited for, that one included.
    pub facts: usize,
    /// Facts up to the moment before, 0 for the first: what was cut off since is still on stage.
    pub cut_since: usize,
    /// The sentence; `Err` says which field has no value in this run.
    pub say: Result<String, String>,
    pub focus: Vec<String>,
    /// What the main button says.
    pub button: String,
    /// The cluster as it was then.
    pub view: ClusterView,
}

/// A story and how far it is told.
#[derive(Clone, Debug)]
pub struct Teller {
    story: Story,
    told: Vec<Told>,
    /// The fields of the facts that the moments waited for.
    facts: Vec<Vec<(String, String)>>,
    /// What to take down of each moment, and behind the last of the end.
    wanted: Vec<Vec<String>>,
    /// What was taken down; `Err` says why it could not be.
    values: OrderedMap<(usize, String), Result<String, String>>,
}

impl Teller {
    /// Of a story beside a script; `Err` says what such a story may not have.
    pub fn new(story: Story) -> Result<Self, String> {
        for moment in &story.moments {
            let name = &moment.name;
            if moment.when.is_none() {
                return Err(format!("moment {name} waits for no fact: write a line `when`"));
            }
            if !moment.steps.is_empty() {
                return Err(format!(
                    "moment {name} has a line `do`: what happens is the script's affair"
                ));
            }
        }
        let mut teller = Self {
            wanted: vec![Vec::new(); story.moments.len() + 1],
            story,
            told: Vec::new(),
            facts: Vec::new(),
            values: OrderedMap::new(),
        };
        let moments = teller.story.moments.clone();
        for (at, moment) in moments.iter().enumerate() {
            for template in templates(moment) {
                for field in template::fields(&template) {
                    let (of, rest) = teller.split(at, field);
                    teller.want(of, rest);
                }
            }
        }
        Ok(teller)
    }

    pub fn story(&self) -> &Story {
        &self.story
    }

    pub fn told(&self) -> &[Told] {
        &self.told
    }

    /// The moment that is waited for.
    pub fn awaited(&self) -> Option<&Moment> {
        self.story.moments.get(self.told.len())
    }

    /// Takes in the run's next fact; `sight` is the run with it. True if a moment has come.
    pub fn look(&mut self, event: &Event, elapsed_ms: Millis, facts: usize, sight: Sight) -> bool {
        if !self.is_awaited(event) {
            return false;
        }
        let at = self.told.len();
        self.facts.push(pattern::fields(event));
        for field in self.wanted[at].clone() {
            let value = self.evaluate(at, &field, elapsed_ms, sight);
            self.values.insert((at, field), value);
        }
        let moment = self.story.moments[at].clone();
        let focus = moment.focus.iter();
        let focus = focus.map(|element| self.filled(at, element).unwrap_or_else(|_| element.clone()));
        let told = Told {
            moment: at,
            at_ms: elapsed_ms,
            facts,
            cut_since: self.told.last().map_or(0, |before| before.facts),
            say: self.filled(at, &moment.say),
            focus: focus.collect(),
            button: self.filled(at, &moment.button).unwrap_or_default(),
            view: sight.view.clone(),
        };
        self.told.push(told);
        true
    }

    /// The script is over.
    pub fn end(&mut self, elapsed_ms: Millis, sight: Sight) {
        let at = self.story.moments.len();
        for field in self.wanted[at].clone() {
            let value = self.evaluate(at, &field, elapsed_ms, sight);
            self.values.insert((at, field), value);
        }
    }

    /// The moment's question; `Ok(None)` when it asks nothing, `Err` names a field that this run has
    /// not, or not yet.
    pub fn prediction(&self, moment: usize) -> Result<Option<Prediction>, String> {
        let Some(ask) = self
            .story
            .moments
            .get(moment)
            .and_then(|moment| moment.ask.as_ref())
        else {
            return Ok(None);
        };
        let predicted = ask.predict(|field| self.value(moment, field).ok());
        predicted
            .map(Some)
            .map_err(|field| self.why_missing(moment, &field))
    }

    /// The moment's question and the answers that are offered; `None` when it asks nothing.
    pub fn question(&self, moment: usize) -> Option<(String, Vec<String>)> {
        let ask = self.story.moments.get(moment)?.ask.as_ref()?;
        ask.offer(|field| self.value(moment, field).ok()).ok()
    }

    /// What a told moment says, with its question and whether each answer was right (`+`) or not: the
    /// lines behind `|` in the story's file.
    pub fn golden(&self, moment: usize) -> Vec<String> {
        let Some(told) = self.told.get(moment) else {
            return Vec::new();
        };
        let said = match &told.say {
            Ok(sentence) => sentence.clone(),
            Err(why) => why.clone(),
        };
        let mut lines = vec![said];
        match self.prediction(moment) {
            Ok(None) => {}
            Err(why) => lines.push(why),
            Ok(Some(prediction)) => {
                lines.push(format!("? {}", prediction.question));
                for (at, Offered { answer, reason }) in prediction.choices.iter().enumerate() {
                    let mark = if at == prediction.accepted { '+' } else { '-' };
                    lines.push(format!("{mark} {answer}: {reason}"));
                }
            }
        }
        lines
    }

    fn is_awaited(&self, event: &Event) -> bool {
        let at = self.told.len();
        let Some(when) = self.story.moments.get(at).and_then(|moment| moment.when.as_ref()) else {
            return false;
        };
        // Most facts differ in their name already.
        pattern::name_of(&event.fact) == when.name
            && when
                .with_values(|value| self.raw(at, value))
                .is_ok_and(|when| when.matches(event))
    }

    fn want(&mut self, of: usize, field: String) {
        if let Some(wanted) = self.wanted.get_mut(of)
            && !wanted.contains(&field)
        {
            wanted.push(field);
        }
    }

    /// Of which moment a field speaks that stands at `at`, and what it wants to know of it.
    fn split(&self, at: usize, field: &str) -> (usize, String) {
        if let Some((name, rest)) = field.split_once('.') {
            let found = match name {
                NEXT => Some(at + 1),
                END => Some(self.story.moments.len()),
                name => self.number(name),
            };
            if let Some(of) = found {
                return (of, rest.to_owned());
            }
        }
        (at, field.to_owned())
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.story.moments.iter().position(|moment| moment.name == name)
    }

    /// A value as it was taken down.
    fn value(&self, at: usize, field: &str) -> Result<String, String> {
        let (of, rest) = self.split(at, field);
        match self.values.get(&(of, rest)) {
            Some(Ok(value)) => Ok(in_prose(value)),
            Some(Err(why)) => Err(why.clone()),
            None => Err("it is not known yet".to_owned()),
        }
    }

    fn filled(&self, at: usize, template: &str) -> Result<String, String> {
        fill(template, |field| self.value(at, field).ok()).map_err(|field| self.why_missing(at, &field))
    }

    /// A pattern's value, whose fields stay as facts write them.
    fn raw(&self, at: usize, template: &str) -> Result<String, String> {
        let value = |field: &str| {
            let (of, rest) = self.split(at, field);
            self.values.get(&(of, rest))?.as_ref().ok().cloned()
        };
        fill(template, value)
    }

    fn why_missing(&self, at: usize, field: &str) -> String {
        let why = self.value(at, field).err().unwrap_or_default();
        format!("{{{field}}} has no value: {why}")
    }

    // ---- what a field is

    fn evaluate(&self, at: usize, field: &str, now: Millis, sight: Sight) -> Result<String, String> {
        let words: Vec<&str> = field.split_whitespace().collect();
        let (&first, rest) = words.split_first().ok_or("there is nothing between the braces")?;
        // A question goes first: a fact may have a field of the name, as `isr`.
        let asked = rest.iter().map(|word| self.named_by_fact(at, word));
        let asked: Vec<String> = std::iter::once(first.to_owned()).chain(asked).collect();
        if let Some(answer) = answer(&asked, sight) {
            return answer;
        }
        if let Some(value) = self.of_fact(at, first) {
            return with_noun(value, rest);
        }
        if first == "since" {
            let (&name, rest) = rest.split_first().ok_or("say since which moment")?;
            let then = self.number(name).and_then(|of| self.told.get(of));
            let then = then.ok_or_else(|| format!("moment {name} has not come"))?;
            return with_noun((now - then.at_ms).to_string(), rest);
        }
        Err(format!(
            "`{field}` is no field of the moment's fact, and no question that can be asked"
        ))
    }

    /// A field of the fact that the moment waited for.
    fn of_fact(&self, at: usize, field: &str) -> Option<String> {
        let fields = self.facts.get(at)?;
        let found = fields.iter().find(|(name, _)| name == field);
        found.map(|(_, value)| value.clone())
    }

    /// A word of a question, with a fact's field in its place if it is one.
    fn named_by_fact(&self, at: usize, word: &str) -> String {
        let (of, field) = self.split(at, word);
        self.of_fact(of, &field).unwrap_or_else(|| word.to_owned())
    }
}

/// The answer to the words, if they are a question; the last of them may be the noun.
fn answer(words: &[String], sight: Sight) -> Option<Result<String, String>> {
    if let Ok(query) = Query::parse(&words.join(" ")) {
        return Some(sight.answer(&query));
    }
    let (noun, words) = words.split_last()?;
    let query = Query::parse(&words.join(" ")).ok()?;
    Some(sight.answer(&query).map(|answer| counted(&answer, noun)))
}

fn with_noun(value: String, words: &[&str]) -> Result<String, String> {
    match words {
        [] => Ok(value),
        [noun] => Ok(counted(&value, noun)),
        [_, more, ..] => Err(format!("`{more}` is more than a field takes")),
    }
}

/// Everything in a moment that may have fields.
fn templates(moment: &Moment) -> Vec<String> {
    let mut templates = vec![moment.say.clone(), moment.button.clone()];
    templates.extend(moment.focus.iter().cloned());
    if let Some(when) = &moment.when {
        let values = when.conditions.iter();
        templates.extend(values.map(|condition| condition.value.clone()));
    }
    if let Some(ask) = &moment.ask {
        templates.extend([ask.question.clone(), ask.accept.clone()]);
        for choice in &ask.choices {
            templates.extend([choice.value.clone(), choice.answer.clone(), choice.reason.clone()]);
        }
    }
    templates
}
