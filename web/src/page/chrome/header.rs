//! The line on top: what the scene is, and what is always at hand.

use yew::prelude::*;

use super::{Do, Passing, Shown, press};
use crate::page::browser;

pub fn view(shown: &Shown, send: &Callback<Do>, passing: &Passing) -> Html {
    let copy = {
        let link = shown.link.clone();
        Callback::from(move |_| browser::copy_link(&link))
    };
    let (other, wish) = if shown.is_story {
        ("Explore", Do::Explore)
    } else {
        ("Story", Do::Story)
    };
    let keys = {
        let keys = passing.keys.setter();
        Callback::from(move |_| keys.set(true))
    };
    let present = {
        let present = passing.present.clone();
        Callback::from(move |_| present.set(!*present))
    };
    html! {
        <header class={classes!(shown.opening.then_some("opening"))}>
            <h1>{ &shown.title }</h1>
            <p class="question">{ &shown.question }</p>
            <span class="place">{ &shown.place }</span>
            <div class="tools" role="toolbar" aria-label="Page" data-group="">
                <button data-rove="" onclick={copy}>{ "Copy link" }</button>
                <Theme />
                <button id="keys" data-rove="" tabindex="-1" onclick={keys}>{ "Keys" }</button>
                <button id="present" data-rove="" tabindex="-1" onclick={present}
                    aria-pressed={passing.present.to_string()}>{ "Present" }</button>
                <button data-rove="" tabindex="-1" onclick={press(send, wish)}>{ other }</button>
            </div>
        </header>
    }
}

/// As the system wishes, light, dark: one after the other.
#[component]
fn Theme() -> Html {
    let theme = use_state(|| 0_usize);
    const THEMES: [(Option<&str>, &str); 3] =
        [(None, "auto"), (Some("light"), "light"), (Some("dark"), "dark")];
    let next = {
        let theme = theme.clone();
        Callback::from(move |_| {
            let next = (*theme + 1) % THEMES.len();
            browser::set_theme(THEMES[next].0);
            theme.set(next);
        })
    };
    html! { <button data-rove="" tabindex="-1" onclick={next}>{ format!("Theme: {}", THEMES[*theme].1) }</button> }
}
