//! Time: one step on or back, any place of the run, and a dot for each moment of the story.

use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use super::{Do, Passing, Shown, press};

pub fn view(shown: &Shown, send: &Callback<Do>, passing: &Passing) -> Html {
    let seek = {
        let send = send.clone();
        Callback::from(move |event: InputEvent| {
            let input = event
                .target()
                .and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
            if let Some(at) = input.and_then(|input| input.value().parse().ok()) {
                send.emit(Do::GoTo(at));
            }
        })
    };
    html! {
        <div class="time">
            <button id="back" onclick={press(send, Do::Back)} disabled={shown.at == 0} aria-label="Back">
                <span aria-hidden="true">{ "◂" }</span><span class="wide">{ " Back" }</span>
            </button>
            <div class="line-of-time">
                { dots(shown) }
                <input type="range" min="0" max={shown.last.to_string()} value={shown.at.to_string()}
                    aria-label="Timeline" aria-valuetext={shown.place.clone()} oninput={seek} />
            </div>
            <button id="step" onclick={press(send, Do::Step)} disabled={!shown.can_step} aria-label="Step">
                <span class="wide">{ "Step " }</span><span aria-hidden="true">{ "▸" }</span>
            </button>
            if shown.can_play {
                <button id="play" onclick={press(send, Do::Play)} aria-pressed={passing.playing.to_string()}>
                    { if *passing.playing { "Pause" } else { "Play" } }
                </button>
            }
            if shown.can_undo {
                <button id="undo" onclick={press(send, Do::Undo)}>{ "Undo" }</button>
            }
            if let Some(summary) = &shown.summary {
                <span class="summary">{ summary }</span>
            }
        </div>
    }
}

/// Drawn behind the slider, whose thumb goes from the line's one end to the other.
fn dots(shown: &Shown) -> Html {
    let percent = |at: usize| {
        let hundredths = 10_000 * at / shown.last.max(1);
        format!("{}.{:02}%", hundredths / 100, hundredths % 100)
    };
    let now = percent(shown.at);
    html! {
        <svg class="dots" width="100%" height="44" aria-hidden="true">
            <line x1="0%" x2="100%" y1="22" y2="22" />
            <line class="past" x1="0%" x2={now} y1="22" y2="22" />
            { for shown.dots.iter().map(|at| html! {
                <circle class={(*at <= shown.at).then_some("past")} cx={percent(*at)} cy="22" r="4.5" />
            }) }
        </svg>
    }
}
