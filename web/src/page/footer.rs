//! The sentence, its one button, and time.

use highwater_lab::free_play;
use highwater_lab::lab::{Lab, Wish};
use highwater_lab::scene::Prediction;
use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use super::app::Wishes;

pub fn view(lab: &Lab, wishes: &Wishes, playing: &UseStateHandle<bool>) -> Html {
    let prediction = lab.prediction();
    html! {
        <footer>
            <div class="say">
                <div class="words" aria-live="polite">
                    if let Some(notice) = &lab.notice {
                        <p class="notice" role="alert">{ notice }</p>
                    }
                    if let Some(verdict) = lab.verdict() {
                        <p class="verdict">{ verdict }</p>
                    }
                    <p id="sentence">{ lab.sentence() }</p>
                    if let Some(prediction) = &prediction {
                        <p class="ask">{ &prediction.question }</p>
                    }
                </div>
                { main_button(lab, wishes, prediction.as_ref()) }
            </div>
            { time(lab, wishes, playing) }
        </footer>
    }
}

fn main_button(lab: &Lab, wishes: &Wishes, prediction: Option<&Prediction>) -> Html {
    let send = |wish: Wish| {
        let wishes = wishes.clone();
        Callback::from(move |_| wishes.dispatch(wish.clone()))
    };
    if let Some(prediction) = prediction {
        let choices = prediction.choices.iter().enumerate().map(|(at, choice)| {
            let tab = if at == 0 { "0" } else { "-1" };
            let guessed = lab.guesses.get(lab.spot.at).copied().flatten() == Some(at);
            html! {
                <button class={classes!("main", guessed.then_some("guessed"))} data-rove="" tabindex={tab}
                    onclick={send(Wish::Guess(at))}>{ &choice.answer }</button>
            }
        });
        return html! {
            <div class="choices" role="group" aria-label="Your answer" data-group="">
                { for choices }
            </div>
        };
    }
    let (text, wish) = match lab.scene.moment(lab.spot.at).filter(|_| lab.is_story()) {
        Some(moment) => (moment.button.clone(), Wish::Step),
        None => own_button(lab),
    };
    html! { <button class="main" id="main" onclick={send(wish)}>{ text }</button> }
}

fn own_button(lab: &Lab) -> (String, Wish) {
    let Some(world) = lab.world() else {
        return ("Begin again".to_owned(), Wish::Story);
    };
    if lab.spot.at < lab.last() {
        return ("Step on".to_owned(), Wish::Step);
    }
    let (text, action) = free_play::button(world);
    (text.to_owned(), Wish::Act(action))
}

fn time(lab: &Lab, wishes: &Wishes, playing: &UseStateHandle<bool>) -> Html {
    let send = |wish: Wish| {
        let wishes = wishes.clone();
        Callback::from(move |_: MouseEvent| wishes.dispatch(wish.clone()))
    };
    let seek = {
        let wishes = wishes.clone();
        Callback::from(move |event: InputEvent| {
            let input = event
                .target()
                .and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
            if let Some(at) = input.and_then(|input| input.value().parse().ok()) {
                wishes.dispatch(Wish::GoTo(at));
            }
        })
    };
    let play = {
        let playing = playing.clone();
        Callback::from(move |_: MouseEvent| playing.set(!*playing))
    };
    let place = if lab.is_story() {
        format!("moment {} of {}", lab.spot.at + 1, lab.scene.moments())
    } else {
        format!("action {} of {}", lab.spot.at, lab.last())
    };
    let more_to_see = lab.is_story() || lab.world().is_some_and(free_play::is_stepping);
    let at_end = lab.spot.at == lab.last() && !more_to_see;
    html! {
        <div class="time">
            <button id="back" onclick={send(Wish::Back)} disabled={lab.spot.at == 0} aria-label="Back">
                <span aria-hidden="true">{ "◂" }</span><span class="wide">{ " Back" }</span>
            </button>
            <input type="range" min="0" max={lab.last().to_string()} value={lab.spot.at.to_string()}
                aria-label="Timeline" aria-valuetext={place} oninput={seek} />
            <button id="step" onclick={send(Wish::Step)} disabled={at_end} aria-label="Step">
                <span class="wide">{ "Step " }</span><span aria-hidden="true">{ "▸" }</span>
            </button>
            if lab.is_story() {
                <button id="play" onclick={play} aria-pressed={playing.to_string()}>
                    { if **playing { "Pause" } else { "Play" } }
                </button>
            }
            if lab.can_undo() {
                <button id="undo" onclick={send(Wish::Undo)}>{ "Undo" }</button>
            }
        </div>
    }
}
