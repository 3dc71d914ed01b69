//! The page's parts: [`app`] holds the state and puts the others together.

mod app;
mod browser;
mod bytes;
mod controls;
mod footer;
mod header;
mod keys;
mod stage;
mod steps;
mod strip;

pub fn start() {
    browser::tell_of_panics();
    yew::Renderer::<app::App>::new().render();
}
