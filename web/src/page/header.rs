//! The line on top: what the scene is, and what is always at hand.

use highwater_lab::lab::{Lab, Wish};
use highwater_lab::link;
use yew::prelude::*;

use super::app::Wishes;
use super::browser;

pub fn view(lab: &Lab, wishes: &Wishes, keys: UseStateSetter<bool>) -> Html {
    let story = &lab.scene.story;
    let place = if lab.is_story() {
        format!("moment {} of {}", lab.spot.at + 1, lab.scene.moments())
    } else {
        format!("on your own, {} of {}", lab.spot.at, lab.last())
    };
    let copy = {
        let link = link::write(&lab.spot);
        Callback::from(move |_| browser::copy_link(&link))
    };
    let (other, wish) = if lab.is_story() {
        ("Explore", Wish::Explore)
    } else {
        ("Story", Wish::Story)
    };
    let switch = {
        let wishes = wishes.clone();
        Callback::from(move |_| wishes.dispatch(wish.clone()))
    };
    let opening = (lab.is_story() && lab.spot.at == 0).then_some("opening");
    html! {
        <header class={classes!(opening)}>
            <h1>{ &story.title }</h1>
            <p class="question">{ &story.question }</p>
            <span class="place">{ place }</span>
            <div class="tools" role="toolbar" aria-label="Page" data-group="">
                <button data-rove="" onclick={copy}>{ "Copy link" }</button>
                <Theme />
                <button id="keys" data-rove="" tabindex="-1" onclick={Callback::from(move |_| keys.set(true))}>{ "Keys" }</button>
                <button data-rove="" tabindex="-1" onclick={switch}>{ other }</button>
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
