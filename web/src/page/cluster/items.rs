//! What can be pointed at, in pictures that are made of boxes.

use yew::prelude::*;

/// What all of a picture's elements have in common: a key, a text, and whether the story has its eye on them.
pub struct Items<'a> {
    pub focus: &'a dyn Fn(&str) -> bool,
}

impl Items<'_> {
    /// `tab`: Tab leads to this one.
    pub fn item(&self, class: &str, key: String, say: String, tab: bool, content: Html) -> Html {
        let focus = if (self.focus)(&key) { " focus" } else { "" };
        html! {
            <div class={format!("{class}{focus}")} role="img" aria-label={say} data-say={key} data-rove=""
                tabindex={if tab { "0" } else { "-1" }}>{ content }</div>
        }
    }
}
