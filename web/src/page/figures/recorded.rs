//! A figure of what the page cannot play: the build has played it, and brings a picture of each moment.

use std::rc::Rc;

use highwater_core::sim::story::{Offered, Prediction};
use yew::prelude::*;

use super::super::chrome::figure::{self, Place};
use super::super::chrome::{Do, Shown};
use super::super::kept::{Kept, Playable};

/// A moment as the build has drawn it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Picture and words.
    pub html: String,
    pub button: String,
    pub ask: Option<Prediction>,
}

impl Frame {
    /// The question in one line of an attribute: question, accepted choice, and what is offered.
    pub fn asked(&self) -> Option<String> {
        let Prediction {
            question,
            choices,
            accepted,
        } = self.ask.as_ref()?;
        let offered = choices
            .iter()
            .map(|choice| format!("\n{}\t{}", choice.answer, choice.reason));
        Some(format!("{accepted}\t{question}{}", offered.collect::<String>()))
    }

    /// Reads it again.
    pub fn asking(text: &str) -> Option<Prediction> {
        let mut lines = text.lines().filter_map(|line| line.split_once('\t'));
        let (accepted, question) = lines.next()?;
        let offered = lines.map(|(answer, reason)| Offered {
            answer: answer.to_owned(),
            reason: reason.to_owned(),
        });
        Some(Prediction {
            question: question.to_owned(),
            accepted: accepted.parse().ok()?,
            choices: offered.collect(),
        })
    }
}

/// Where the reader is.
#[derive(Clone)]
struct Turned {
    frames: Rc<Vec<Frame>>,
    at: usize,
    guesses: Rc<Vec<Option<usize>>>,
}

impl Playable for Turned {
    type Wish = Do;

    fn after(&self, wish: Do) -> Self {
        let mut next = self.clone();
        let last = self.frames.len().saturating_sub(1);
        next.at = match wish {
            Do::Step | Do::Main | Do::NextMoment => self.at + 1,
            Do::Back | Do::PreviousMoment => self.at.saturating_sub(1),
            Do::GoTo(at) => at,
            Do::Guess(choice) => {
                let mut guesses = (*self.guesses).clone();
                if let Some(guess) = guesses.get_mut(self.at) {
                    *guess = Some(choice);
                }
                next.guesses = Rc::new(guesses);
                self.at + 1
            }
            _ => self.at,
        }
        .min(last);
        next
    }

    fn open(link: String) -> Do {
        Do::GoTo(link.parse().unwrap_or_default())
    }
}

#[derive(Clone, PartialEq, Properties)]
pub struct Props {
    pub frames: Rc<Vec<Frame>>,
    pub place: Place,
}

#[component]
pub fn Recorded(props: &Props) -> Html {
    let Props { frames, place } = props;
    let state = use_reducer(|| {
        let turned = Turned {
            at: place.moment.min(frames.len().saturating_sub(1)),
            guesses: Rc::new(vec![None; frames.len()]),
            frames: frames.clone(),
        };
        Kept::first(Ok(turned), &place.link)
    });
    let send = {
        let wishes = state.dispatcher();
        Callback::from(move |wish: Do| wishes.dispatch(wish))
    };
    let Ok(Turned { frames, at, guesses }) = &state.0 else {
        return Html::default();
    };
    let Some(frame) = frames.get(*at) else {
        return Html::default();
    };
    let verdict = at.checked_sub(1).and_then(|before| {
        let guess = (*guesses.get(before)?)?;
        frames.get(before)?.ask.as_ref()?.verdict(guess)
    });
    let shown = Shown {
        place: format!("moment {} of {}", at + 1, frames.len()),
        link: at.to_string(),
        verdict,
        prediction: frame.ask.clone(),
        guessed: guesses.get(*at).copied().flatten(),
        button: frame.button.clone(),
        at: *at,
        last: frames.len() - 1,
        dots: (0..frames.len()).collect(),
        is_story: true,
        ..Shown::default()
    };
    figure::turned(
        &shown,
        &send,
        place,
        Html::from_html_unchecked(frame.html.clone().into()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_as_it_was_written() {
        let offered = |answer: &str, reason: &str| Offered {
            answer: answer.to_owned(),
            reason: reason.to_owned(),
        };
        let frame = Frame {
            ask: Some(Prediction {
                question: "Who?".to_owned(),
                choices: vec![offered("one", "because"), offered("none", "")],
                accepted: 1,
            }),
            ..Frame::default()
        };
        let text = frame.asked().unwrap();
        assert_eq!(Frame::asking(&text), frame.ask);
        assert_eq!(Frame::asking(""), None);
    }
}
