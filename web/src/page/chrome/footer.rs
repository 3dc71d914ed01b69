//! The sentence, its one button, and time.

use highwater_core::sim::story::Prediction;
use highwater_lab::terms::{self, Piece};
use yew::prelude::*;

use super::{Do, Passing, Shown, press, timeline};
use crate::page::browser;

pub fn view(shown: &Shown, send: &Callback<Do>, passing: &Passing) -> Html {
    html! {
        <footer>
            <div class="say">
                <div class="words" aria-live="polite">{ words(shown) }</div>
                if let Some(prediction) = &shown.prediction {
                    { choices(prediction, shown.guessed, send) }
                } else {
                    <button class="main" id="main" onclick={press(send, Do::Main)}>{ &shown.button }</button>
                }
            </div>
            { timeline::view(shown, send, passing) }
        </footer>
    }
}

/// What is said here.
pub fn words(shown: &Shown) -> Html {
    html! {
        <>
            if let Some(notice) = &shown.notice {
                <p class="notice" role="alert">{ notice }</p>
            }
            if let Some(verdict) = &shown.verdict {
                <p class="verdict">{ verdict }</p>
            }
            <p class="sentence">{ explained(&shown.sentence) }</p>
            if let Some(prediction) = &shown.prediction {
                <p class="ask">{ &prediction.question }</p>
            }
        </>
    }
}

/// The sentence, its terms linked to the glossary if the page says where that is.
fn explained(sentence: &str) -> Html {
    let Some(glossary) = browser::glossary() else {
        return sentence.into();
    };
    let piece = |piece: &Piece<'_>| match piece.entry {
        Some(entry) => html! { <a class="term" href={format!("{glossary}#{entry}")}>{ piece.text }</a> },
        None => piece.text.into(),
    };
    terms::pieces(sentence).iter().map(piece).collect()
}

pub fn choices(prediction: &Prediction, guessed: Option<usize>, send: &Callback<Do>) -> Html {
    let choice = |(at, choice): (usize, &highwater_core::sim::story::Offered)| {
        let tab = if at == 0 { "0" } else { "-1" };
        let guessed = (guessed == Some(at)).then_some("guessed");
        html! {
            <button class={classes!("main", guessed)} data-rove="" tabindex={tab}
                onclick={press(send, Do::Guess(at))}>{ &choice.answer }</button>
        }
    };
    html! {
        <div class="choices" role="group" aria-label="Your answer" data-group="">
            { for prediction.choices.iter().enumerate().map(choice) }
        </div>
    }
}
