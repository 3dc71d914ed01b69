//! A scene in the column of a page: the picture, the sentence, one button and the way back. There may be
//! several on a page, so nothing here has an id, and keys are taken only while the focus is inside.

use web_sys::Element;
use yew::prelude::*;

use super::footer;
use super::{Do, Shown, press, use_measured};
use crate::page::browser;

/// Where a figure stands, in its page and in its run.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The element that it is mounted in; none while it is drawn as text.
    pub root: Option<Element>,
    /// In px, as long as nothing else is known.
    pub width: u32,
    /// Where it begins: the link of a place, or the number of a moment.
    pub link: AttrValue,
    pub moment: usize,
}

/// The figure's width in px, followed.
#[hook]
pub fn use_width(place: &Place) -> u32 {
    let place = place.clone();
    use_measured(move || {
        let now = place.root.as_ref().map(|root| root.client_width().max(0) as u32);
        now.filter(|width| *width > 0).unwrap_or(place.width)
    })
}

/// A figure that is drawn here: the picture, and below it what is said.
pub fn view(shown: &Shown, send: &Callback<Do>, place: &Place, picture: Html) -> Html {
    let body = html! {
        <>
            { picture }
            <div class="words" aria-live="polite">{ footer::words(shown) }</div>
        </>
    };
    framed(shown, send, place, body)
}

/// A figure that was drawn with its words; what became of the reader's guess is said here.
pub fn turned(shown: &Shown, send: &Callback<Do>, place: &Place, drawn: Html) -> Html {
    let body = html! {
        <>
            { drawn }
            <div aria-live="polite">
                if let Some(verdict) = &shown.verdict {
                    <p class="verdict">{ verdict }</p>
                }
            </div>
        </>
    };
    framed(shown, send, place, body)
}

fn framed(shown: &Shown, send: &Callback<Do>, place: &Place, body: Html) -> Html {
    if let Some(root) = &place.root {
        browser::remember_link(root, &shown.link);
        let moment = shown.dots.iter().rposition(|dot| *dot <= shown.at);
        browser::remember_moment(root, moment.unwrap_or_default());
    }
    let take = {
        let send = send.clone();
        Callback::from(move |event: KeyboardEvent| take(&event, &send))
    };
    html! {
        <div class="figure-of-page" onkeydown={take}>
            { body }
            // In a picture of a figure the stylesheet hides them, and keeps their room.
            <div class="turn">{ buttons(shown, send) }</div>
        </div>
    }
}

fn buttons(shown: &Shown, send: &Callback<Do>) -> Html {
    let last = shown.dots.last().is_none_or(|last| shown.at >= *last);
    let on = match &shown.prediction {
        Some(prediction) => footer::choices(prediction, shown.guessed, send),
        None if last => {
            html! { <button class="main" onclick={press(send, Do::GoTo(0))}>{ "Again" }</button> }
        }
        None => html! { <button class="main" onclick={press(send, Do::Main)}>{ &shown.button }</button> },
    };
    html! {
        <>
            <button class="back" onclick={press(send, Do::PreviousMoment)} disabled={shown.at == 0} aria-label="Back">
                <span aria-hidden="true">{ "◂" }</span>
            </button>
            { on }
            <span class="place">{ &shown.place }</span>
        </>
    }
}

/// Keys while the focus is inside; the page around, which turns at arrow keys, does not see them.
fn take(event: &KeyboardEvent, send: &Callback<Do>) {
    if browser::is_taken(event) || browser::rove(event) {
        return;
    }
    match event.key().as_str() {
        "." | "ArrowRight" => send.emit(Do::Step),
        "," | "ArrowLeft" => send.emit(Do::Back),
        "Escape" => send.emit(Do::Close),
        _ => return,
    }
    browser::handled(event);
}
