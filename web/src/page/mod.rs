//! The page's parts: [`app`] holds the state and puts the others together.

mod app;
mod browser;
mod bytes;
mod close_up;
mod controls;
mod footer;
mod header;
mod keys;
mod marks;
mod stage;
mod steps;
mod strip;

use web_sys::Element;

/// Puts a scene into an element.
type Mount = fn(Element);

/// The scenes by the name that an element asks for with `data-scene`.
const SCENES: &[(&str, Mount)] = &[(highwater_lab::scene::NAME, app::mount)];

pub fn start() {
    browser::tell_of_panics();
    for (element, wanted) in browser::scenes() {
        match SCENES.iter().find(|(name, _)| *name == wanted) {
            Some((_, mount)) => mount(element),
            None => element.set_text_content(Some(&format!("There is no scene `{wanted}`."))),
        }
    }
}
