//! The sentence, its one button, and time.

use highwater_core::sim::story::Prediction;
use yew::prelude::*;

use super::{Do, Passing, Shown, press, timeline};

pub fn view(shown: &Shown, send: &Callback<Do>, passing: &Passing) -> Html {
    html! {
        <footer>
            <div class="say">
                <div class="words" aria-live="polite">
                    if let Some(notice) = &shown.notice {
                        <p class="notice" role="alert">{ notice }</p>
                    }
                    if let Some(verdict) = &shown.verdict {
                        <p class="verdict">{ verdict }</p>
                    }
                    <p id="sentence">{ &shown.sentence }</p>
                    if let Some(prediction) = &shown.prediction {
                        <p class="ask">{ &prediction.question }</p>
                    }
                </div>
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

fn choices(prediction: &Prediction, guessed: Option<usize>, send: &Callback<Do>) -> Html {
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
