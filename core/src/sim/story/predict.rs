//! Predictions: a question before the run goes on, whose right answer the run gives.
//!
//! Invariants
//! - which choice is right is decided by the run alone: the one whose value is the accepted value
//! - every choice has its reason, shown when it was the reader's

use super::template::fill;

/// A question before the next moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    pub question: String,
    /// The value that the right choice has.
    pub accept: String,
    pub choices: Vec<Choice>,
}

/// A choice as the story has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// What is compared with the accepted value.
    pub value: String,
    /// What the reader is offered; the value, if nothing else is said.
    pub answer: String,
    /// Why it is wrong, when it is.
    pub reason: String,
}

/// A question, its choices, and which of them the run proves right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    pub question: String,
    pub choices: Vec<Offered>,
    pub accepted: usize,
}

/// A choice, filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    pub answer: String,
    pub reason: String,
}

impl Choice {
    /// Reads `value = answer | reason` or `value | reason`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (said, reason) = text
            .split_once('|')
            .ok_or("a choice gives its reason: write `answer | reason`")?;
        let (value, answer) = said.split_once(" = ").unwrap_or((said, said));
        Ok(Self {
            value: value.trim().to_owned(),
            answer: answer.trim().to_owned(),
            reason: reason.trim().to_owned(),
        })
    }
}

impl Ask {
    /// The question and what is offered, before anybody knows what is right.
    pub fn offer(&self, field: impl Fn(&str) -> Option<String>) -> Result<(String, Vec<String>), String> {
        let mut answers: Vec<String> = Vec::new();
        for choice in &self.choices {
            let answer = fill(&choice.answer, &field)?;
            if !answers.contains(&answer) {
                answers.push(answer);
            }
        }
        Ok((fill(&self.question, &field)?, answers))
    }

    /// The question of this run; `Err` names a field that has no value (yet). Choices that come to the
    /// same value here are one; a right answer that no choice has is offered too.
    pub fn predict(&self, field: impl Fn(&str) -> Option<String>) -> Result<Prediction, String> {
        let fill = |template: &str| fill(template, &field);
        let accept = fill(&self.accept)?;
        let mut values: Vec<String> = Vec::new();
        let mut choices = Vec::new();
        for choice in &self.choices {
            let value = fill(&choice.value)?;
            if values.contains(&value) {
                continue;
            }
            values.push(value);
            choices.push(Offered {
                answer: fill(&choice.answer)?,
                reason: fill(&choice.reason)?,
            });
        }
        let accepted = values.iter().position(|value| *value == accept);
        let accepted = accepted.unwrap_or_else(|| {
            choices.push(Offered {
                answer: accept,
                reason: String::new(),
            });
            choices.len() - 1
        });
        Ok(Prediction {
            question: fill(&self.question)?,
            choices,
            accepted,
        })
    }
}

impl Prediction {
    pub fn right(&self) -> &Offered {
        &self.choices[self.accepted]
    }

    /// What is said of a guess once the answer is known.
    pub fn verdict(&self, guess: usize) -> Option<String> {
        let guessed = self.choices.get(guess)?;
        if guess == self.accepted {
            return Some(format!("You said “{}”, and so it is.", guessed.answer));
        }
        let right = &self.right().answer;
        Some(format!(
            "You said “{}”; it is “{right}”. {}",
            guessed.answer, guessed.reason
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask() -> Ask {
        let choice = |text| Choice::parse(text).unwrap();
        Ask {
            question: "How many of {count}?".to_owned(),
            accept: "{end.left}".to_owned(),
            choices: vec![
                choice("{count} = all of them | they were stored"),
                choice("0 = none | they were not"),
            ],
        }
    }

    fn given(count: &'static str, left: &'static str) -> impl Fn(&str) -> Option<String> {
        move |name| match name {
            "count" => Some(count.to_owned()),
            "end.left" => Some(left.to_owned()),
            _ => None,
        }
    }

    #[test]
    fn the_run_decides_which_choice_is_right() {
        let all = ask().predict(given("3", "3")).unwrap();
        assert_eq!(all.question, "How many of 3?");
        assert_eq!(all.right().answer, "all of them");
        let none = ask().predict(given("3", "0")).unwrap();
        assert_eq!(none.right().answer, "none");
        assert_eq!(
            none.verdict(0).unwrap(),
            "You said “all of them”; it is “none”. they were stored"
        );
        assert_eq!(none.verdict(1).unwrap(), "You said “none”, and so it is.");
        assert_eq!(none.verdict(2), None);
    }

    #[test]
    fn an_answer_that_nobody_thought_of_is_offered_and_equal_choices_are_one() {
        let some = ask().predict(given("3", "2")).unwrap();
        assert_eq!((some.choices.len(), &*some.right().answer), (3, "2"));
        let nothing = ask().predict(given("0", "0")).unwrap();
        assert_eq!(nothing.choices.len(), 1);
    }

    #[test]
    fn until_the_run_has_given_the_answer_there_is_none() {
        let field = |name: &str| (name == "count").then(|| "3".to_owned());
        assert_eq!(ask().predict(field), Err("end.left".to_owned()));
    }
}
