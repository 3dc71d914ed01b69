//! The sentence, its one button, and time.

use highwater_core::record::Codec;
use highwater_lab::actions::{Action, Batches};
use highwater_lab::finding::STEPS;
use highwater_lab::lab::{Lab, Wish};
use highwater_lab::scene::Prediction;
use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use super::app::Wishes;

/// What the main button appends in free play; the sentence of controls has other sizes.
const APPEND: Batches = Batches {
    count: 1,
    records: 6,
    value_bytes: 20,
    codec: Codec::None,
};

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
    if !world.is_up() {
        return ("Start again".to_owned(), Wish::Act(Action::Start));
    }
    if world
        .finding
        .as_ref()
        .is_some_and(|finding| finding.shown < STEPS)
    {
        return ("Show the next step".to_owned(), Wish::Step);
    }
    ("Append a batch".to_owned(), Wish::Act(Action::Append(APPEND)))
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
    let unit = if lab.is_story() { "moment" } else { "action" };
    let finding = lab.world().and_then(|world| world.finding.as_ref());
    let more_to_see = lab.is_story() || finding.is_some_and(|finding| finding.shown < STEPS);
    let at_end = lab.spot.at == lab.last() && !more_to_see;
    html! {
        <div class="time">
            <button id="back" onclick={send(Wish::Back)} disabled={lab.spot.at == 0} aria-label="Back">
                <span aria-hidden="true">{ "◂" }</span><span class="wide">{ " Back" }</span>
            </button>
            <input type="range" min="0" max={lab.last().to_string()} value={lab.spot.at.to_string()}
                aria-label="Timeline" aria-valuetext={format!("{unit} {}", lab.spot.at)} oninput={seek} />
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
